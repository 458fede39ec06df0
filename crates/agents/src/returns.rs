//! Who has ended and come back, as far as an agent has heard: what it has heard makes the generation.
//!
//! Whoever has heard the same, in whatever order, is in the same generation; and no generation comes again, since epochs
//! only grow.

use std::collections::BTreeMap;

use crate::message::AgentId;

/// So many agents a network may have.
const MOST_AGENTS: usize = 1 << 16;

/// The last epoch of each agent that has come back.
#[derive(Debug, Default)]
pub(crate) struct Returns {
    epochs: BTreeMap<AgentId, u64>,
    generation: u64,
}

impl Returns {
    /// An agent has come back in this epoch; whether that is news.
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

    /// What all is in that has heard the same.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = (AgentId, u64)> {
        self.epochs.iter().map(|(&agent, &epoch)| (agent, epoch))
    }
}

/// A number that no other agent and epoch have, but by an accident of one in 2^64: the finaliser of SplitMix64, twice.
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
