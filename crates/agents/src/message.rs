//! The messages between agents, and between agents and applications, with their limits.
//!
//! Messages between two agents are numbered and kept until the other agent has acknowledged them, over any number of
//! connections. A message consists of its length in two bytes, little-endian, and its fields in the encoding of
//! postcard.

use anabranch_proto::protocols::{d_slen, slbn};
use anabranch_proto::{Header, Position};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use thiserror::Error;

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

/// The fields of a control packet of a protocol that agents carry.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Fields {
    DSlen(d_slen::Probe),
    Slbn(slbn::Probe),
}

impl Fields {
    /// The fields of a header; `None` for a protocol that agents do not carry.
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

    /// Whether these can be what comes back of a packet `sent` over the link at a position.
    pub(crate) fn answer(&self, sent: &Self, position: Position) -> bool {
        match (self, sent) {
            (Self::DSlen(probe), Self::DSlen(sent)) => probe.answers(sent, position),
            (Self::Slbn(probe), Self::Slbn(sent)) => probe.answers(sent, position),
            _ => false,
        }
    }

    /// Position of the link that sets the rate of the path; one beyond the path if there is none yet.
    pub(crate) fn setter(&self) -> Position {
        match self {
            Self::DSlen(probe) => probe.setter,
            Self::Slbn(probe) => probe.setter,
        }
    }

    /// The packet with which links forget what they counted before this one.
    pub(crate) fn forgetting(&self) -> Self {
        match self {
            Self::DSlen(probe) => Self::DSlen(d_slen::Probe { is_leave: true, ..*probe }),
            Self::Slbn(probe) => Self::Slbn(slbn::Probe { kind: slbn::Kind::Leave, next: probe.held, ..*probe }),
        }
    }

    /// Whether the packet is the first of its path, which links have not counted yet.
    pub(crate) fn are_first(&self) -> bool {
        match self {
            Self::DSlen(probe) => probe.is_first(),
            Self::Slbn(probe) => probe.is_first(),
        }
    }
}

/// The fate of a packet on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fate {
    /// Every link so far has counted the packet.
    Counted,
    /// A link has not counted the packet, since the link is in another generation; the source will hear of that
    /// generation.
    Stale,
    /// The path does not exist.
    Lost,
    /// The neighbour to which the path goes on is away, or has answered falsely.
    Away,
    /// A link counts as many sessions as its agent allows those who send it the packet.
    Refused,
}

/// A control packet between agents.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Parcel {
    /// Number of the application, at the first agent of the path.
    pub client: ClientId,
    /// Number of times that the session had joined when the packet was sent.
    pub joining: u32,
    /// Number of the path in the session.
    pub path: u8,
    /// Number of the protocol among those of the network.
    pub protocol: u8,
    /// The links of the path.
    pub steps: Vec<Step>,
    /// The agent at the end of the path.
    pub end: AgentId,
    /// Number of links before those of the path, as the protocol counts them: 1 with a link for the demand, otherwise
    /// 0.
    pub before: u8,
    /// Index of the link that the packet comes to, or has crossed on the way back.
    pub at: u8,
    /// Whether the packet is on its way back.
    pub is_returning: bool,
    /// Number of links that the packet may cross: links from here on have not counted the session.
    pub reach: u8,
    /// Whether the packet will be sent back.
    pub wants_reply: bool,
    /// The generation in which the packet was sent: links count it in no other.
    pub generation: u64,
    /// The fate of the packet so far.
    pub fate: Fate,
    /// Least capacity that links have reported, in bit/s: an upper limit on grants.
    pub ceiling: f64,
    /// The fields of the protocol.
    pub fields: Fields,
}

impl Parcel {
    /// Position of the present link in the path, as the protocol counts.
    pub fn position(&self) -> Position {
        self.before + self.at
    }

    /// Whether an agent of this protocol can have sent the packet.
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

/// A request of an application to its agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Ask {
    /// A request for rates for a session, under one of the protocols of the network.
    Join {
        /// Number of the protocol.
        protocol: u8,
        /// Claim of the session relative to others.
        claim: f64,
        /// Reserved part of the rate in bit/s, which comes before the share of the rest.
        reserved: f64,
        /// Demand in bit/s; infinite for every rate that the session can get.
        demand: f64,
        /// For each path, its links and the agent at its end.
        paths: Vec<(Vec<Step>, AgentId)>,
    },
    /// A request for rates to another node, over paths that the agent finds.
    Open {
        /// The name of the node.
        target: String,
        /// Greatest number of paths.
        paths: u8,
        /// Number of the protocol.
        protocol: u8,
        /// Claim of the session relative to others.
        claim: f64,
        /// Reserved part of the rate in bit/s, which comes before the share of the rest.
        reserved: f64,
        /// Demand in bit/s; infinite for every rate that the session can get.
        demand: f64,
    },
    /// A change of the demand.
    Demand {
        /// The new demand in bit/s.
        demand: f64,
    },
    /// Other paths; the session leaves, and joins over these.
    Paths {
        /// For each path, its links and the agent at its end.
        paths: Vec<(Vec<Step>, AgentId)>,
    },
    /// The end of the session, which has nothing more to send.
    Leave,
    /// A sign that the application is still there.
    Here,
}

impl Ask {
    fn is_sound(&self) -> bool {
        let good = |(steps, _): &(Vec<Step>, AgentId)| (1..=MOST_LINKS).contains(&steps.len());
        let are_paths = |paths: &Vec<_>| (1..=MOST_PATHS).contains(&paths.len()) && paths.iter().all(good);
        let is_demand = |demand: f64| (0.0..=UNLIMITED).contains(&demand) || demand == f64::INFINITY;
        let is_claim = |claim: f64| claim.is_finite() && claim > 0.0;
        let is_reserved = |reserved: f64| (0.0..=UNLIMITED).contains(&reserved);
        match self {
            Self::Join { claim, reserved, demand, paths, .. } => {
                is_claim(*claim) && is_reserved(*reserved) && is_demand(*demand) && are_paths(paths)
            }
            Self::Open { target, paths, claim, reserved, demand, .. } => {
                target.len() <= MOST_NAME
                    && (1..=MOST_PATHS).contains(&usize::from(*paths))
                    && is_claim(*claim)
                    && is_reserved(*reserved)
                    && is_demand(*demand)
            }
            Self::Paths { paths } => are_paths(paths),
            Self::Demand { demand } => is_demand(*demand),
            Self::Leave | Self::Here => true,
        }
    }
}

/// An answer of an agent to an application.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Answer {
    /// The granted rates. The agent sends them repeatedly, as long as links answer.
    Granted {
        /// The rate of each path in bit/s.
        rates: Vec<f64>,
    },
    /// The paths of the session, now or from now on: the numbers of their links. Grants are for these.
    Paths {
        /// The links of each path.
        paths: Vec<Vec<u32>>,
    },
    /// The session has left: no link counts it any more.
    Left,
    /// The session gets no rates.
    Refused {
        /// The reason.
        reason: String,
        /// Whether the same request would be refused again later.
        is_lasting: bool,
    },
}

/// The refusal of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The reason.
    pub reason: String,
    /// Whether the same request would be refused again later.
    pub is_lasting: bool,
}

impl Refusal {
    /// A refusal that may be another answer later.
    pub fn passing(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), is_lasting: false }
    }

    /// A refusal of what is not possible at all.
    pub fn lasting(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), is_lasting: true }
    }
}

impl From<String> for Refusal {
    fn from(reason: String) -> Self {
        Self::lasting(reason)
    }
}

impl From<Refusal> for Answer {
    fn from(Refusal { reason, is_lasting }: Refusal) -> Self {
        Self::Refused { reason, is_lasting }
    }
}

impl Answer {
    fn is_sound(&self) -> bool {
        match self {
            Self::Granted { rates } => {
                rates.len() <= MOST_PATHS && rates.iter().all(|rate| rate.is_finite() && *rate >= 0.0)
            }
            Self::Paths { paths } => {
                paths.len() <= MOST_PATHS && paths.iter().all(|links| (1..=MOST_LINKS).contains(&links.len()))
            }
            Self::Left | Self::Refused { .. } => true,
        }
    }
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
            Self::Payload { payload: Payload::Renewal { proof, .. }, .. } | Self::Hello { proof, .. } => {
                proof.len() <= MOST_PROOF
            }
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
