//! Agents of explicit-rate protocols in real networks: they speak for links and for sources. No I/O, no time that passes.
//!
//! Routers know nothing of these protocols, so beside each there is an [`Agent`]. It has the controls of the links that
//! leave its node and those of the sources that are there, and hands control packets on to the agents of its neighbours,
//! along the paths of the data. Who sends data is an application; it asks the agent of its node for rates, keeps to them,
//! and says now and then that it is still there. An agent takes leave for those that do not.
//!
//! Links keep sums over packets that each say only what has changed. Two things keep these right:
//! - Hops lose nothing and repeat nothing, whatever becomes of the connection under them ([`message`]).
//! - An agent that ends takes packets and sums along, and nobody knows which. So when one comes back all sums are made
//!   anew: who hears of it tells its neighbours, links begin a new epoch, and sources join again. Packets carry the epoch
//!   in which each link has counted them; those of another epoch pass without being counted, and their sources, which see
//!   that from the replies, leave and join again.

mod agent;
mod counts;
mod hop;
mod links;
pub mod message;
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
