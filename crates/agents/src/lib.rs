//! Agents of explicit-rate protocols in real networks: they act for links and sources. The crate has no I/O and no
//! clock.
//!
//! Routers know nothing of these protocols, so beside each router there is an [`Agent`]. It has the controls of the
//! links that leave its node and those of the sources at the node, and passes control packets on to the agents of its
//! neighbours, along the paths of the data. An application sends data. It requests rates from the agent of its node,
//! keeps to them, and says from time to time that it is still there. The agent leaves on behalf of an application that
//! does not.
//!
//! Links keep sums over packets, each of which reports only a change. Two rules keep these sums right:
//! - As long as two neighbours are running, the hop between them neither loses nor repeats messages, whatever happens
//!   to the connections under it ([`message`]).
//! - An agent that ends loses packets and sums, and so does one that gives up a neighbour which is away for long; nobody
//!   knows which. So a *renewal* follows: all sums are computed anew. Agents tell each other about renewals, with a proof
//!   of whose they are, and those that an agent has heard of determine its generation. In a new generation its links
//!   discard their sums, and its sources join again, over the paths that work. A link counts only packets of its own
//!   generation. It is never in an earlier generation than an arriving packet, since the news that reached the packet's
//!   source came over the same hops before the packet. If it is in a later generation, the source will hear of it, and
//!   join again.
//!
//! Three rules bound what a neighbour can do that lies:
//! - What comes back over a link is compared with what was sent: only the links after it may have changed something, and
//!   only what is theirs. A neighbour that answers falsely, or not at all, is held off for some seconds, and the agent
//!   answers in its place.
//! - A link keeps the part of each neighbour in its sums. No neighbour can take away more than it brought, or bring more
//!   sessions than it may.
//! - Renewals that a neighbour causes are few: with each it comes closer to being held off.
//!
//! Four rules bound what a neighbour can do that sends much:
//! - A hop takes some thousands of messages at a time. The rest waits, and what waits is handed out in turns: the packets
//!   of one sender do not keep those of another from the hop (`waiting`).
//! - Each sender has a greatest number of packets on their way. The agent refuses more: the session does without the path
//!   for some seconds, all links forget it, and nobody is accused.
//! - News of a link pass once a second, the newest of them, and only of links of the network; news of an agent that does
//!   not hear sources pass twice a second.
//! - A packet crosses a node once, and only in its own generation; one without a reply has to take a session away.
//!
//! So a neighbour that lies can take rates from the sessions that cross it, and from those that share a link after it with
//! sessions that it pretends to have, as far as the greatest claims of a neighbour allow.

mod agent;
mod allowance;
mod counts;
mod hold;
mod hop;
mod in_flight;
mod link_states;
mod links;
pub mod message;
mod neighbours;
mod proofs;
mod pulse;
mod renewals;
mod rising;
mod session;
mod settings;
mod standing;
#[cfg(test)]
mod tests;
mod unheard;
mod view;
mod waiting;

pub use agent::{Action, Agent, Event};
pub use counts::Counts;
pub use links::LinkSettings;
pub use message::{
    AgentId, Answer, Ask, ClientId, Fields, HopMessage, Instance, LinkNews, MessageError, Parcel, Payload, Refusal,
    Stamp, Step, Unheard,
};
pub use proofs::{Proofs, Unproved};
pub use pulse::Pulse;
pub use settings::Settings;
pub use view::{Limit, LinkView, NeighbourState, NeighbourView, PathView, SessionState, SessionView, View};

use anabranch_proto::Protocol;
use anabranch_proto::protocols::d_slen;

/// Whether agents can carry the packets of a protocol. Its links must not hold state of single sessions, and its
/// packets must consist of numbers that can be checked.
pub fn serves(protocol: &Protocol) -> bool {
    match protocol {
        Protocol::DSlen(parameters) => parameters.variant == d_slen::Variant::Corrected,
        Protocol::Slbn(_) => true,
        _ => false,
    }
}
