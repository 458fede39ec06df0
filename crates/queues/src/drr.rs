//! DRR, deficit round robin: flows take turns, each with a quantum of bytes [shreedhar1996].
//!
//! ```text
//! in its turn    deficit <- deficit + quantum
//!                while the first packet is no larger than the deficit: send it, deficit <- deficit - its bytes
//!                deficit <- 0 if nothing is left
//! ```
//!
//! So the numbers of bytes sent by flows that always have packets waiting differ by at most a quantum and a full
//! packet. With a quantum of at least a full packet every turn sends something.
//!
//! Packets over the limit are dropped at the end of the longest queue, counted in packets [shreedhar1996].

use std::collections::VecDeque;

use anabranch_core::quantity::BytesText;
use anabranch_core::{Bytes, Rate, Time};
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::discipline::{Discipline, Item, Limits};
use super::flows::{Flows, Slot};
use super::read;

/// Parameters of DRR.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "DrrParameters")]
#[serde(deny_unknown_fields, default)]
pub struct Parameters {
    /// Bytes that a flow may send in its turn, besides the rest of earlier turns; 1 B to 1 GB. A full packet or more.
    #[serde(deserialize_with = "read::size")]
    pub quantum: BytesText,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { quantum: BytesText(Bytes(1500)) }
    }
}

pub(super) fn discipline(parameters: &Parameters, limits: Limits, _: ChaCha8Rng) -> Box<dyn Discipline> {
    let quantum = parameters.quantum.0.0.max(1);
    Box::new(Drr {
        quantum,
        limits,
        flows: Flows::default(),
        active: VecDeque::new(),
        deficits: Vec::new(),
        has_begun: false,
    })
}

struct Drr {
    quantum: u64,
    limits: Limits,
    flows: Flows,
    /// All flows with packets, in the order of their turns.
    active: VecDeque<Slot>,
    /// Deficits in bytes, by slot.
    deficits: Vec<u64>,
    /// Whether the first flow has received the quantum of its turn.
    has_begun: bool,
}

impl Drr {
    /// Removes the next packet of the flow whose turn it is, if its deficit allows.
    fn send(&mut self, slot: Slot) -> Option<Item> {
        let deficit = &mut self.deficits[slot as usize];
        if !self.has_begun {
            *deficit += self.quantum;
            self.has_begun = true;
        }
        let bytes = self.flows.next_bytes(slot).filter(|bytes| bytes <= deficit)?;
        *deficit -= bytes;
        let item = self.flows.pop(slot);
        if self.flows.next_bytes(slot).is_none() {
            self.deficits[slot as usize] = 0;
            self.active.pop_front();
            self.has_begun = false;
        }
        item
    }

    /// Gives all flows at once the quanta of the turns in which none of them could send.
    fn skip_turns(&mut self) {
        let lacks = |slot: Slot| self.flows.next_bytes(slot).unwrap_or(0).saturating_sub(self.deficits[slot as usize]);
        let least = self.active.iter().map(|&slot| lacks(slot)).min().unwrap_or(0);
        let quanta = least.saturating_sub(1) / self.quantum * self.quantum;
        for &slot in &self.active {
            self.deficits[slot as usize] += quanta;
        }
    }
}

impl Discipline for Drr {
    fn enqueue(&mut self, now: Time, item: Item, _: Rate, dropped: &mut Vec<Item>) {
        if let Some(slot) = self.flows.push(now, item, &self.limits, dropped) {
            self.active.push_back(slot);
            self.deficits.resize(self.flows.slots(), 0);
        }
    }

    fn dequeue(&mut self, _: Time, _: Rate, _: &mut Vec<Item>) -> Option<Item> {
        let mut turns = 0;
        loop {
            let slot = *self.active.front()?;
            let item = self.send(slot);
            if item.is_some() {
                return item;
            }
            self.active.rotate_left(1);
            self.has_begun = false;
            turns += 1;
            if turns == self.active.len() {
                self.skip_turns();
            }
        }
    }

    fn backlog(&self) -> Bytes {
        Bytes(self.flows.bytes())
    }

    fn len(&self) -> usize {
        self.flows.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Driven, at_most, at_most_bytes, of_flow, packets};

    #[test]
    fn deficits_are_carried_over() {
        // Quantum 500. Flow 1 has 200, 750, 20; flow 2 has 500, 500.
        // Turns: 1 gets 500, sends 200, keeps 300. 2 sends 500. 1 has 800, sends 750 and 20, keeps 30. 2 sends 500.
        let mut queue = Driven::new("drr.quantum = \"500 B\"", Limits::default());
        for (packet, bytes) in [(0, 200), (1, 750), (2, 20)] {
            queue.offer(of_flow(packets(packet..packet + 1, bytes), 1));
        }
        queue.offer(of_flow(packets(10..12, 500), 2));
        assert_eq!(queue.sent(), [0, 10, 1, 2, 11]);
    }

    #[test]
    fn the_longest_queue_makes_room() {
        let mut queue = Driven::new("drr", at_most(4));
        queue.offer(of_flow(packets(10..13, 1500), 1));
        queue.offer(of_flow(packets(20..22, 1500), 2));
        // Five are one too many, and flow 1 has the most. At two and two, flow 3 takes one from either.
        assert_eq!(queue.dropped(), [12]);
        queue.offer(of_flow(packets(30..31, 1500), 3));
        assert_eq!(queue.drops.len(), 2);
        assert!(queue.drops[1].packet == 11 || queue.drops[1].packet == 21);
        assert_eq!(queue.queue.len(), 4);
    }

    #[test]
    fn a_flow_that_is_as_long_as_any_gives_up_its_own_packet() {
        let mut queue = Driven::new("drr", at_most_bytes(3000));
        queue.offer(of_flow(packets(10..11, 1500), 1));
        queue.offer(of_flow(packets(20..21, 1500), 2));
        queue.offer(of_flow(packets(30..31, 1500), 3));
        assert_eq!(queue.dropped(), [30]);
        queue.offer(of_flow(packets(40..41, 3001), 4));
        assert_eq!((queue.dropped(), queue.sent()), (vec![30, 40], vec![10, 20]));
    }

    #[test]
    fn a_quantum_of_a_byte_shares_as_evenly_and_takes_no_longer() {
        let mut queue = Driven::new("drr.quantum = \"1 B\"", Limits::default());
        queue.offer(of_flow(packets(0..3, 1_000_000_000), 1));
        queue.offer(of_flow(packets(10..13, 1_000_000_000), 2));
        assert_eq!(queue.sent(), [0, 10, 1, 11, 2, 12]);
    }
}
