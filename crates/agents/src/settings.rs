//! The settings of an agent.

use std::collections::BTreeSet;
use std::sync::Arc;

use anabranch_core::Span;
use anabranch_proto::Protocol;

use crate::links::LinkSettings;
use crate::message::AgentId;
use crate::proofs::{Proofs, Unproved};
use crate::pulse::Pulse;

/// The settings of an agent.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Number of the agent in the network.
    pub id: AgentId,
    /// Number of this start of the agent: greater than that of any earlier start, and not 0. A clock time is suitable.
    pub epoch: u64,
    /// The protocols of the network, in the same order at every agent.
    pub protocols: Vec<Protocol>,
    /// The links that leave the agent's node.
    pub links: Vec<LinkSettings>,
    /// The agents of neighbouring nodes.
    pub neighbours: Vec<AgentId>,
    /// Least time between two packets of a path.
    pub gap: Span,
    /// Time without a message after which an application counts as gone.
    pub lease: Span,
    /// Greatest number of applications at a time.
    pub clients: usize,
    /// Greatest number of messages that wait for a neighbour; with more the neighbour is given up.
    pub waiting: usize,
    /// Greatest number of packets of one neighbour, or of the agent's own sessions, that are on their way over the agent's
    /// links, and that wait for one neighbour. Sessions with more do without the path for a while.
    pub packets: usize,
    /// Time since the last sign of life of a neighbour after which the other agents hear that it is silent.
    pub silence: Span,
    /// Time since the last sign of life of a neighbour after which it is given up.
    pub patience: Span,
    /// Time after a renewal in which rates stay as they are: until all agents have heard of the hops that were silent when
    /// it began.
    pub hold: Span,
    /// Whether sources may still hold rates of an earlier start of the agent, so that rates stay as they are at first.
    pub has_run: bool,
    /// Time after which a packet that has not come back over the last link is answered; a fifth of it more for each link
    /// before.
    pub reply: Span,
    /// Proofs of renewals.
    pub proofs: Arc<dyn Proofs>,
    /// The links of the network, each by the agent that acts for it and its number: the agent takes news of these alone.
    /// `None` where the agents trust each other: then it takes news of the first 131,072 links.
    pub known: Option<Arc<BTreeSet<(AgentId, u32)>>>,
}

impl Settings {
    /// Usual settings of an agent without links and neighbours, whose word the other agents take.
    pub fn new(id: AgentId, epoch: u64, protocols: Vec<Protocol>) -> Self {
        Self {
            id,
            epoch,
            protocols,
            links: Vec::new(),
            neighbours: Vec::new(),
            gap: Span::ms(2),
            lease: Span::s(2),
            clients: 1024,
            waiting: 1 << 20,
            packets: 1 << 16,
            silence: Pulse::SILENCE,
            patience: Span::ms(1250),
            hold: Span::ms(700),
            has_run: true,
            reply: Span::s(10),
            proofs: Arc::new(Unproved),
            known: None,
        }
    }
}
