//! Control packets between agents.

use anabranch_proto::protocols::{d_slen, slbn};
use anabranch_proto::{Header, Position};
use serde::{Deserialize, Serialize};

use super::{AgentId, ClientId, MOST_LINKS, MOST_PATHS, Step};

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
    pub(super) fn is_sound(&self) -> bool {
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
