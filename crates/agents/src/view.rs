//! What an agent shows of itself to those who run it.

use std::sync::Arc;

use anabranch_core::Rate;

use crate::message::{AgentId, ClientId, Step};

/// What an agent shows of itself.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// The generation in which links count.
    pub generation: u64,
    /// The neighbours.
    pub neighbours: Vec<NeighbourView>,
    /// The sessions of the agent's applications.
    pub sessions: Vec<SessionView>,
    /// The links, for each protocol.
    pub links: Vec<LinkView>,
    /// Number of packets on their way.
    pub in_flight: usize,
}

/// The state of a neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NeighbourState {
    /// There is a connection.
    Up,
    /// There is no connection; messages wait for one.
    Waiting,
    /// There has been no connection for long, and nothing waits for one.
    GivenUp,
    /// The neighbour made trouble, and may not connect for a while.
    HeldOff,
}

/// A neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NeighbourView {
    /// The neighbour.
    pub id: AgentId,
    /// Its state.
    pub state: NeighbourState,
    /// Number of messages that it has not acknowledged.
    pub waiting: usize,
}

/// The state of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionState {
    /// Links count the session.
    Active,
    /// No path of the session works.
    Waiting,
    /// The session is leaving.
    Leaving,
}

/// A session.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionView {
    /// The application.
    pub client: ClientId,
    /// Its state.
    pub state: SessionState,
    /// Claim of the session relative to others.
    pub claim: f64,
    /// Reserved part of the rate.
    pub reserved: Rate,
    /// Demand; infinite for every rate that the session can get.
    pub demand: Rate,
    /// The paths.
    pub paths: Vec<PathView>,
}

/// A path of a session.
#[derive(Clone, Debug, PartialEq)]
pub struct PathView {
    /// The links in order.
    pub steps: Arc<[Step]>,
    /// The agent at the end.
    pub end: AgentId,
    /// The granted rate; `None` where the path does not work.
    pub rate: Option<Rate>,
    /// What limits the rate, as far as it is known.
    pub limit: Option<Limit>,
}

/// What limits the rate of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The demand of the session.
    Demand,
    /// A link of the path.
    Link(Step),
}

/// The sums of a link under a protocol.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkView {
    /// Number of the link in the network.
    pub link: u32,
    /// Number of the protocol.
    pub protocol: usize,
    /// The capacity that the protocol divides; infinite without a limit.
    pub capacity: Rate,
    /// Claims of all sessions, and of those that the link limits.
    pub claims: f64,
    /// Claims of the sessions that the link limits.
    pub claims_here: f64,
    /// Reserved parts of all sessions.
    pub reserved: Rate,
}
