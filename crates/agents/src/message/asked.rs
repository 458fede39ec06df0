//! What applications ask of their agent, and what it answers.

use serde::{Deserialize, Serialize};

use super::{AgentId, MOST_LINKS, MOST_NAME, MOST_PATHS, Message, Step, UNLIMITED};

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
