//! The restarts of agents that an agent has heard of; they determine its generation.
//!
//! Agents that have heard of the same restarts, in any order, are in the same generation. No generation comes again,
//! since epochs only grow.

use std::collections::BTreeMap;

use crate::message::AgentId;

/// Greatest number of agents in a network.
const MOST_AGENTS: usize = 1 << 16;

/// The last epoch of each agent that has restarted.
#[derive(Debug, Default)]
pub(crate) struct Returns {
    epochs: BTreeMap<AgentId, u64>,
    generation: u64,
}

impl Returns {
    /// Records that an agent has restarted with this epoch; returns whether that is news.
    pub fn add(&mut self, agent: AgentId, epoch: u64) -> bool {
        let known = self.epochs.get(&agent).copied();
        if known.is_some_and(|known| epoch <= known) || (known.is_none() && self.epochs.len() >= MOST_AGENTS) {
            return false;
        }
        self.epochs.insert(agent, epoch);
        let old = known.map_or(0, |known| mixed(agent, known));
        self.generation = self.generation.wrapping_sub(old).wrapping_add(mixed(agent, epoch));
        true
    }

    /// The generation that these restarts determine.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// All agents that have restarted, each with its last epoch.
    pub fn all(&self) -> impl Iterator<Item = (AgentId, u64)> {
        self.epochs.iter().map(|(&agent, &epoch)| (agent, epoch))
    }
}

/// A number for an agent and epoch, unique except for a chance of one in 2^64: the finaliser of SplitMix64, applied
/// twice.
fn mixed(agent: AgentId, epoch: u64) -> u64 {
    scrambled(scrambled(u64::from(agent.0).wrapping_add(1)) ^ epoch)
}

fn scrambled(number: u64) -> u64 {
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generation_is_what_was_heard_in_whatever_order() {
        let heard = |all: &[(u32, u64)]| {
            let mut returns = Returns::default();
            for &(agent, epoch) in all {
                returns.add(AgentId(agent), epoch);
            }
            returns.generation()
        };
        assert_eq!(heard(&[(1, 5), (2, 7), (1, 6)]), heard(&[(2, 7), (1, 6), (1, 5), (1, 6)]));
        let others = [heard(&[]), heard(&[(1, 5)]), heard(&[(2, 5)]), heard(&[(1, 6)]), heard(&[(1, 5), (2, 5)])];
        assert!((0..5).all(|one| (0..one).all(|other| others[one] != others[other])));
    }
}
