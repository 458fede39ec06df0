//! Agents of explicit-rate protocols in real networks: they speak for links and for sources. No I/O, no time that passes.
//!
//! Routers know nothing of these protocols, so beside each there is an [`Agent`]. It has the controls of the links that
//! leave its node and those of the sources that are there, and hands control packets on to the agents of its neighbours,
//! along the paths of the data. Who sends data is an application; it asks the agent of its node for rates, keeps to them,
//! and says now and then that it is still there. An agent takes leave for those that do not.
//!
//! Links keep sums over packets that each say only what has changed. Two things keep these right:
//! - As long as two neighbours are there, the hop between them loses nothing and repeats nothing, whatever becomes of the
//!   connections under it ([`message`]).
//! - An agent that ends takes packets and sums along, and nobody knows which. So when one comes back all sums are made
//!   anew. Agents tell each other who has come back; what an agent has heard of that makes its generation. In a new one
//!   its links forget all, and its sources join again. A link counts only packets of its own generation. It is never in an
//!   earlier one than a packet that comes to it: what its source had heard came over the same hops, before the packet. And
//!   where it is in a later one, the source will hear of it, and join again.

mod agent;
mod counts;
mod hop;
mod links;
pub mod message;
mod returns;
mod session;
#[cfg(test)]
mod tests;

pub use agent::{Action, Agent, Event, LinkSettings, Settings};
pub use counts::Counts;
pub use message::{AgentId, Answer, Ask, ClientId, Fields, HopMessage, MessageError, Parcel, Payload, Step};

use anabranch_proto::Protocol;
use anabranch_proto::protocols::d_slen;

/// Whether agents can carry the packets of a protocol: its links must know nothing of single sessions, and its packets be
/// numbers that can be checked.
pub fn serves(protocol: &Protocol) -> bool {
    match protocol {
        Protocol::DSlen(parameters) => parameters.variant == d_slen::Variant::Corrected,
        Protocol::Slbn(_) => true,
        _ => false,
    }
}
