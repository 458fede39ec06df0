//! Proofs of news.

use std::fmt;

use crate::message::AgentId;

/// Proofs that news come from an agent, so that no other can say them in its name.
pub trait Proofs: fmt::Debug + Send + Sync {
    /// The proof of a text of the agent that owns these proofs.
    fn prove(&self, text: &[u8]) -> Vec<u8>;

    /// Whether a text has this proof of an agent.
    fn check(&self, agent: AgentId, text: &[u8], proof: &[u8]) -> bool;

    /// Whether an agent can have started with this epoch, as far as clocks and its proof say. Clocks of agents differ, so
    /// nobody lies who passes on what this agent does not believe.
    fn is_timely(&self, epoch: u64, proof: &[u8]) -> bool;
}

/// No proofs: for agents of one program, which do not lie to each other.
#[derive(Clone, Copy, Debug)]
pub struct Unproved;

impl Proofs for Unproved {
    fn prove(&self, _: &[u8]) -> Vec<u8> {
        Vec::new()
    }

    fn check(&self, _: AgentId, _: &[u8], _: &[u8]) -> bool {
        true
    }

    fn is_timely(&self, _: u64, _: &[u8]) -> bool {
        true
    }
}
