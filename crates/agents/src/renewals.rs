//! The renewals that an agent has heard of; they determine its generation.
//!
//! Agents that have heard of the same renewals, in any order, are in the same generation. No generation comes again,
//! since stamps only grow.

use std::collections::BTreeMap;

use crate::message::{AgentId, Payload, Stamp};

/// Greatest number of agents in a network.
const MOST_AGENTS: usize = 1 << 16;

/// The last renewal of each agent that has begun one.
#[derive(Debug, Default)]
pub(crate) struct Renewals {
    last: BTreeMap<AgentId, (Stamp, Vec<u8>)>,
    generation: u64,
}

impl Renewals {
    /// Whether a renewal of an agent is news.
    pub fn is_news(&self, agent: AgentId, stamp: Stamp) -> bool {
        match self.last.get(&agent) {
            Some((known, _)) => stamp > *known,
            None => self.last.len() < MOST_AGENTS,
        }
    }

    /// Records a renewal that is news, with its proof.
    pub fn add(&mut self, agent: AgentId, stamp: Stamp, proof: Vec<u8>) {
        let old = self.last.insert(agent, (stamp, proof)).map_or(0, |(known, _)| mixed(agent, known));
        self.generation = self.generation.wrapping_sub(old).wrapping_add(mixed(agent, stamp));
    }

    /// The generation that these renewals determine.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// The news of all renewals.
    pub fn all(&self) -> impl Iterator<Item = (AgentId, Payload)> {
        let news = |(&agent, (stamp, proof)): (&AgentId, &(Stamp, Vec<u8>))| {
            (agent, Payload::Renewal { agent, stamp: *stamp, proof: proof.clone() })
        };
        self.last.iter().map(news)
    }
}

/// A number for a renewal, unique except for a chance of one in 2^64: the finaliser of SplitMix64, applied three times.
fn mixed(agent: AgentId, stamp: Stamp) -> u64 {
    let agent = scrambled(u64::from(agent.0).wrapping_add(1));
    scrambled(scrambled(agent ^ stamp.epoch) ^ u64::from(stamp.round))
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
        let heard = |all: &[(u32, u64, u32)]| {
            let mut renewals = Renewals::default();
            for &(agent, epoch, round) in all {
                let (agent, stamp) = (AgentId(agent), Stamp { epoch, round });
                if renewals.is_news(agent, stamp) {
                    renewals.add(agent, stamp, Vec::new());
                }
            }
            renewals.generation()
        };
        assert_eq!(heard(&[(1, 5, 3), (2, 7, 0), (1, 6, 0)]), heard(&[(2, 7, 0), (1, 6, 0), (1, 5, 9), (1, 6, 0)]));
        let others = [&[][..], &[(1, 5, 0)], &[(2, 5, 0)], &[(1, 6, 0)], &[(1, 5, 1)], &[(1, 5, 0), (2, 5, 0)]];
        let others = others.map(heard);
        assert!((0..6).all(|one| (0..one).all(|other| others[one] != others[other])));
    }
}
