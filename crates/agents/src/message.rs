//! What agents say to each other and to applications, and the limits on it.
//!
//! Between two agents messages are numbered and kept until the other has heard them, over as many connections as it takes.
//! A message is its length in two bytes, little-endian, and its fields as postcard writes them.

use anabranch_proto::protocols::{d_slen, slbn};
use anabranch_proto::{Header, Position};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The most bytes of a message after its length.
pub const MOST_MESSAGE: usize = 2048;

/// The most links of a path.
pub const MOST_LINKS: usize = 64;

/// The most paths of a session.
pub const MOST_PATHS: usize = 16;

/// What a link without a limit is taken to carry, in bit/s; no demand is more, but for none at all.
pub const UNLIMITED: f64 = 1e15;

/// An agent, by its number in the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct AgentId(pub u32);

/// An application, as its agent numbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ClientId(pub u64);

/// A link of a path: who speaks for it, and which of its links it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Step {
    /// The agent of the node that the link leaves.
    pub agent: AgentId,
    /// The link, by its number in the network.
    pub link: u32,
}

/// The fields of a control packet of a protocol that agents carry.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Fields {
    DSlen(d_slen::Probe),
    Slbn(slbn::Probe),
}

impl Fields {
    /// Those of a header; `None` of a protocol that agents do not carry.
    pub fn of(header: &Header) -> Option<Self> {
        match header {
            Header::DSlen(probe) => Some(Self::DSlen(*probe)),
            Header::Slbn(probe) => Some(Self::Slbn(*probe)),
            _ => None,
        }
    }

    /// The header with these fields.
    pub fn header(self) -> Header {
        match self {
            Self::DSlen(probe) => Header::DSlen(probe),
            Self::Slbn(probe) => Header::Slbn(probe),
        }
    }

    fn is_sound(&self, links: Position) -> bool {
        match self {
            Self::DSlen(probe) => probe.is_sound(links),
            Self::Slbn(probe) => probe.is_sound(links),
        }
    }
}

/// What has become of a packet on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fate {
    /// Every link so far has counted it.
    Counted,
    /// A link has not counted it, since it is in another generation; the source will hear of that.
    Stale,
    /// There is no such path.
    Lost,
}

/// A control packet between agents.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Parcel {
    /// The application, at the first agent of the path.
    pub client: ClientId,
    /// How often the session had joined when it was sent.
    pub joining: u32,
    /// Which path of the session.
    pub path: u8,
    /// Which protocol, of those that the network serves.
    pub protocol: u8,
    /// The links of the path.
    pub steps: Vec<Step>,
    /// The agent at the end of the path.
    pub end: AgentId,
    /// How many links stand before those, as the protocol counts them: that of a demand.
    pub before: u8,
    /// Which link it comes to, or has crossed on the way back.
    pub at: u8,
    /// Whether it is on its way back.
    pub is_returning: bool,
    /// Whether it is sent back.
    pub wants_reply: bool,
    /// The generation in which it was sent: links count it in no other.
    pub generation: u64,
    /// What has become of it.
    pub fate: Fate,
    /// The least capacity that links have told, in bit/s: no grant is more.
    pub ceiling: f64,
    /// What the protocol says.
    pub fields: Fields,
}

impl Parcel {
    /// Where the link that it is at stands in the path, as the protocol counts.
    pub fn position(&self) -> Position {
        self.before + self.at
    }

    /// Whether an agent of this protocol can have sent it.
    fn is_sound(&self) -> bool {
        let links = self.steps.len();
        (1..=MOST_LINKS).contains(&links)
            && usize::from(self.at) < links
            && self.before <= 1
            && usize::from(self.path) < MOST_PATHS
            && self.ceiling >= 0.0
            && self.are_fields_sound()
    }

    /// Whether its fields are within their limits, on a path of as many links as its own.
    pub fn are_fields_sound(&self) -> bool {
        self.fields.is_sound(self.before + self.steps.len() as Position)
    }
}

/// What goes from an agent to a neighbour.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Payload {
    /// A control packet.
    Parcel(Parcel),
    /// This agent has come back in this epoch.
    Returned {
        /// Who.
        agent: AgentId,
        /// Its epoch.
        epoch: u64,
    },
}

/// What agents say to each other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum HopMessage {
    /// First on every connection.
    Hello {
        /// The epoch of the sender.
        epoch: u64,
        /// Of the other's messages it has heard so many, and of which epoch they were; 0 and 0 if it has heard none.
        heard: u64,
        /// That epoch.
        of: u64,
    },
    /// Something, with its number; counted from 0 in each epoch.
    Payload {
        /// Its number.
        number: u64,
        /// What.
        payload: Payload,
    },
    /// So many have been heard.
    Heard {
        /// How many.
        count: u64,
    },
}

/// What an application asks of its agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Ask {
    /// Rates for a session, under one of the protocols that the network serves.
    Join {
        /// Which.
        protocol: u8,
        /// Its claim relative to others.
        claim: f64,
        /// The most that it can use in bit/s; infinite for all that it can get.
        demand: f64,
        /// For each path its links, and the agent at its end.
        paths: Vec<(Vec<Step>, AgentId)>,
    },
    /// It can use more or less.
    Demand {
        /// In bit/s.
        demand: f64,
    },
    /// It has nothing more to send.
    Leave,
    /// It is still there.
    Here,
}

impl Ask {
    fn is_sound(&self) -> bool {
        let is_demand = |demand: f64| (0.0..=UNLIMITED).contains(&demand) || demand == f64::INFINITY;
        match self {
            Self::Join { claim, demand, paths, .. } => {
                let good = |(steps, _): &(Vec<Step>, AgentId)| (1..=MOST_LINKS).contains(&steps.len());
                claim.is_finite()
                    && *claim > 0.0
                    && is_demand(*demand)
                    && (1..=MOST_PATHS).contains(&paths.len())
                    && paths.iter().all(good)
            }
            Self::Demand { demand } => is_demand(*demand),
            Self::Leave | Self::Here => true,
        }
    }
}

/// What an agent says to an application.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Answer {
    /// So fast it may send on each path, in bit/s. Told again and again, as long as links answer.
    Granted {
        /// Of each path.
        rates: Vec<f64>,
    },
    /// It has left: no link counts it any more.
    Left,
    /// There will be no rates.
    Refused {
        /// Why.
        reason: String,
    },
}

impl Answer {
    fn is_sound(&self) -> bool {
        match self {
            Self::Granted { rates } => {
                rates.len() <= MOST_PATHS && rates.iter().all(|rate| rate.is_finite() && *rate >= 0.0)
            }
            Self::Left | Self::Refused { .. } => true,
        }
    }
}

/// What is checked besides its form.
pub trait Message: Serialize + DeserializeOwned {
    /// Whether all its numbers are within their limits.
    fn is_sound(&self) -> bool;
}

impl Message for HopMessage {
    fn is_sound(&self) -> bool {
        match self {
            Self::Payload { payload: Payload::Parcel(parcel), .. } => parcel.is_sound(),
            _ => true,
        }
    }
}

impl Message for Ask {
    fn is_sound(&self) -> bool {
        self.is_sound()
    }
}

impl Message for Answer {
    fn is_sound(&self) -> bool {
        self.is_sound()
    }
}

/// Why bytes are not a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum MessageError {
    /// It is longer than messages may be.
    #[error("a message of {0} bytes; it may have {MOST_MESSAGE}")]
    TooLong(usize),
    /// Its fields cannot be read.
    #[error("a message that cannot be read; all agents need the same version")]
    Malformed,
    /// A number is not within its limits.
    #[error("a message with a number that cannot be")]
    Unsound,
}

/// A message with its length before it.
///
/// # Errors
/// If it is too long.
pub fn encode(message: &impl Message) -> Result<Vec<u8>, MessageError> {
    let body = postcard::to_stdvec(message).map_err(|_| MessageError::Malformed)?;
    let length = u16::try_from(body.len()).ok().filter(|&length| usize::from(length) <= MOST_MESSAGE);
    let length = length.ok_or(MessageError::TooLong(body.len()))?;
    Ok([&length.to_le_bytes()[..], &body].concat())
}

/// How many bytes of a message follow its length.
///
/// # Errors
/// If they are too many.
pub fn length(prefix: [u8; 2]) -> Result<usize, MessageError> {
    let length = usize::from(u16::from_le_bytes(prefix));
    if length <= MOST_MESSAGE { Ok(length) } else { Err(MessageError::TooLong(length)) }
}

/// The message in these bytes, which follow its length.
///
/// # Errors
/// If they are none, or say what cannot be.
pub fn decode<T: Message>(body: &[u8]) -> Result<T, MessageError> {
    let (message, rest) = postcard::take_from_bytes::<T>(body).map_err(|_| MessageError::Malformed)?;
    match () {
        () if !rest.is_empty() => Err(MessageError::Malformed),
        () if !message.is_sound() => Err(MessageError::Unsound),
        () => Ok(message),
    }
}
