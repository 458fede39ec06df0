//! The messages between agents, and between agents and applications, with their limits.
//!
//! Messages between two agents are numbered and kept until the other agent has acknowledged them, over any number of
//! connections. A message consists of its length in two bytes, little-endian, and its fields in the encoding of
//! postcard.

mod asked;
mod parcel;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use asked::{Answer, Ask, Refusal};
pub use parcel::{Fate, Fields, Parcel};

/// Greatest size of a message after its length, in bytes.
pub const MOST_MESSAGE: usize = 8192;

/// Greatest size of the proof of a renewal, in bytes.
pub const MOST_PROOF: usize = 1536;

/// Greatest length of the name of a node, in bytes.
pub const MOST_NAME: usize = 256;

/// Greatest number of links of a path.
pub const MOST_LINKS: usize = 64;

/// Greatest number of paths of a session.
pub const MOST_PATHS: usize = 16;

/// Capacity that stands for an infinite one, in bit/s; also the greatest finite demand.
pub const UNLIMITED: f64 = 1e15;

/// The number of an agent in the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct AgentId(pub u32);

impl AgentId {
    /// The number of the agent at a node with this name, so that a network can grow without new numbers.
    pub fn of(node: &str) -> Self {
        Self(number_of(node))
    }
}

/// A number for a name: FNV-1a with 32 bits. Two names of a large network may have the same.
pub fn number_of(name: &str) -> u32 {
    name.bytes().fold(0x811c_9dc5, |number: u32, byte| (number ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

/// The number of an application at its agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ClientId(pub u64);

/// An instance of one end of a hop: greater than any before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Instance {
    /// The epoch of the agent: the number of its start.
    pub epoch: u64,
    /// The number of times that this start of the agent has given the hop up.
    pub hop: u32,
}

/// The number of a renewal that an agent begins: greater than any before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Stamp {
    /// The epoch of the agent: the number of its start.
    pub epoch: u64,
    /// The number of renewals that this start of the agent has begun.
    pub round: u32,
}

/// A link of a path, and the agent that acts for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Step {
    /// The agent of the node where the link begins.
    pub agent: AgentId,
    /// Number of the link in the network.
    pub link: u32,
}

/// A payload from an agent to a neighbour.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Payload {
    /// A control packet.
    Parcel(Parcel),
    /// News that an agent has begun a renewal: it has restarted, or packets were lost beside it.
    Renewal {
        /// The agent.
        agent: AgentId,
        /// The number of the renewal.
        stamp: Stamp,
        /// Proof that the news are the agent's own.
        proof: Vec<u8>,
    },
    /// News of the state of a link.
    Link(LinkNews),
    /// News that an agent does not hear sources.
    Unheard(Unheard),
}

/// News that an agent does not hear sources that may hold rates: a neighbour is silent, or the agent has just restarted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Unheard {
    /// The agent.
    pub agent: AgentId,
    /// The number of the news: greater than that of any before.
    pub stamp: Stamp,
    /// Time for which these sources may hold their rates, in milliseconds.
    pub rest_ms: u16,
    /// The part of that time which passed before these news could be told on, in milliseconds. Nothing proves it.
    pub late_ms: u16,
    /// Proof that the news are the agent's own.
    pub proof: Vec<u8>,
}

impl Unheard {
    /// What the proof is about.
    pub(crate) fn text(&self) -> Vec<u8> {
        let Self { agent, stamp, rest_ms, .. } = self;
        let numbers = [agent.0, stamp.round].map(u32::to_le_bytes).concat();
        [b"anabranch unheard 1\0", &numbers[..], &stamp.epoch.to_le_bytes(), &rest_ms.to_le_bytes()].concat()
    }
}

/// News of the state of a link, from the agent that acts for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkNews {
    /// The agent.
    pub agent: AgentId,
    /// Number of the link in the network.
    pub link: u32,
    /// The number of the news: greater than that of any before.
    pub stamp: Stamp,
    /// Capacity in bit/s; 0 if the link is down, infinite without a limit.
    pub capacity: f64,
    /// Proof that the news are the agent's own.
    pub proof: Vec<u8>,
}

impl LinkNews {
    /// What the proof is about.
    pub(crate) fn text(&self) -> Vec<u8> {
        let Self { agent, link, stamp, capacity, .. } = self;
        let numbers = [agent.0, *link, stamp.round].map(u32::to_le_bytes).concat();
        [b"anabranch link 1\0", &numbers[..], &stamp.epoch.to_le_bytes(), &capacity.to_le_bytes()].concat()
    }

    fn is_sound(&self) -> bool {
        ((0.0..=UNLIMITED).contains(&self.capacity) || self.capacity == f64::INFINITY) && self.proof.len() <= MOST_PROOF
    }
}

/// What the proof of a renewal is about.
pub(crate) fn renewal_text(agent: AgentId, stamp: Stamp) -> Vec<u8> {
    let numbers = [agent.0, stamp.round].map(u32::to_le_bytes).concat();
    [b"anabranch renewal 1\0", &numbers[..], &stamp.epoch.to_le_bytes()].concat()
}

/// A message between agents.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum HopMessage {
    /// The first message on every connection.
    Hello {
        /// The instance of the sender.
        own: Instance,
        /// Number of the other agent's messages that the sender has received; 0 if it has received none.
        heard: u64,
        /// The instance from which these messages came; zeros if there are none.
        of: Instance,
        /// Proof that the agent has this epoch.
        proof: Vec<u8>,
    },
    /// A numbered payload; numbers start from 0 in each epoch.
    Payload {
        /// The number.
        number: u64,
        /// The payload.
        payload: Payload,
    },
    /// An acknowledgement of messages.
    Heard {
        /// Number of messages received.
        count: u64,
    },
}

/// A message whose content is checked in addition to its form.
pub trait Message: Serialize + DeserializeOwned {
    /// Whether all numbers of the message are within their limits.
    fn is_sound(&self) -> bool;
}

impl Message for HopMessage {
    fn is_sound(&self) -> bool {
        match self {
            Self::Payload { payload: Payload::Parcel(parcel), .. } => parcel.is_sound(),
            Self::Payload { payload: Payload::Link(news), .. } => news.is_sound(),
            Self::Payload {
                payload: Payload::Renewal { proof, .. } | Payload::Unheard(Unheard { proof, .. }), ..
            }
            | Self::Hello { proof, .. } => proof.len() <= MOST_PROOF,
            _ => true,
        }
    }
}

/// The reason why bytes are not a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum MessageError {
    /// The message exceeds the greatest length.
    #[error("a message of {0} bytes; it may have {MOST_MESSAGE}")]
    TooLong(usize),
    /// The fields cannot be read.
    #[error("a message that cannot be read; all agents need the same version")]
    Malformed,
    /// A number is not within its limits.
    #[error("a message with a number that cannot be")]
    Unsound,
}

/// Encodes a message, preceded by its length.
///
/// # Errors
/// Returns an error if the message is too long.
pub fn encode(message: &impl Message) -> Result<Vec<u8>, MessageError> {
    let body = postcard::to_stdvec(message).map_err(|_| MessageError::Malformed)?;
    let length = u16::try_from(body.len()).ok().filter(|&length| usize::from(length) <= MOST_MESSAGE);
    let length = length.ok_or(MessageError::TooLong(body.len()))?;
    Ok([&length.to_le_bytes()[..], &body].concat())
}

/// Reads the length of a message: the number of bytes that follow.
///
/// # Errors
/// Returns an error if the message is too long.
pub fn length(prefix: [u8; 2]) -> Result<usize, MessageError> {
    let length = usize::from(u16::from_le_bytes(prefix));
    if length <= MOST_MESSAGE { Ok(length) } else { Err(MessageError::TooLong(length)) }
}

/// Decodes the bytes of a message that follow its length.
///
/// # Errors
/// Returns an error if the bytes are not a message, or a number is not within its limits.
pub fn decode<T: Message>(body: &[u8]) -> Result<T, MessageError> {
    let (message, rest) = postcard::take_from_bytes::<T>(body).map_err(|_| MessageError::Malformed)?;
    match () {
        () if !rest.is_empty() => Err(MessageError::Malformed),
        () if !message.is_sound() => Err(MessageError::Unsound),
        () => Ok(message),
    }
}
