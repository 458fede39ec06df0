//! Weighted fair queueing, self-clocked: packets leave in the order of finish tags [golestani1994].
//!
//! ```text
//! F = max(V, F of the flow's previous packet) + bytes      V: F of the packet that left last
//! ```
//!
//! The tags of a flow that has packets waiting are above V and follow each other without gaps. So it is enough to know
//! the tag of each flow's first packet. The numbers of bytes sent by two flows that always have packets waiting differ
//! by at most a full packet of each [golestani1994].
//!
//! All flows have the same weight. Packets over the limit are dropped at the end of the longest queue, counted in
//! packets.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use anabranch_core::{Bytes, Rate, Time};
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::discipline::{Discipline, Item, Limits};
use super::flows::{Flows, Slot};

/// Weighted fair queueing has no parameters besides the limits of its link.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "WfqParameters")]
#[serde(deny_unknown_fields)]
pub struct Parameters {}

pub(super) fn discipline(_: &Parameters, limits: Limits, _: ChaCha8Rng) -> Box<dyn Discipline> {
    Box::new(Wfq { limits, flows: Flows::default(), finish: 0, firsts: BinaryHeap::new(), tagged: 0 })
}

struct Wfq {
    limits: Limits,
    flows: Flows,
    /// Tag of the packet that left last (V), in bytes.
    finish: u64,
    /// First packet of each flow: its tag, the order of tagging, and the flow. Packets with equal tags leave in the
    /// order of tagging.
    firsts: BinaryHeap<Reverse<(u64, u64, Slot)>>,
    /// Number of packets tagged so far.
    tagged: u64,
}

impl Wfq {
    /// Tags the first packet of a flow, if it has one, starting from `after`.
    fn tag(&mut self, slot: Slot, after: u64) {
        if let Some(bytes) = self.flows.next_bytes(slot) {
            self.firsts.push(Reverse((after.saturating_add(bytes), self.tagged, slot)));
            self.tagged += 1;
        }
    }
}

impl Discipline for Wfq {
    fn enqueue(&mut self, now: Time, item: Item, _: Rate, dropped: &mut Vec<Item>) {
        if let Some(slot) = self.flows.push(now, item, &self.limits, dropped) {
            self.tag(slot, self.finish);
        }
    }

    fn dequeue(&mut self, _: Time, _: Rate, _: &mut Vec<Item>) -> Option<Item> {
        let Reverse((finish, _, slot)) = self.firsts.pop()?;
        self.finish = finish;
        let item = self.flows.pop(slot);
        self.tag(slot, finish);
        item
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
    use crate::testing::{Driven, at_most, of_flow, packets};

    #[test]
    fn packets_leave_in_the_order_of_finish_tags() {
        // Flow 1 has two of 1,500 bytes: tags 1500, 3000. Flow 2 has four of 500: 500, 1000, 1500, 2000. At 1500 flow 1
        // was tagged first.
        let mut queue = Driven::new("wfq", Limits::default());
        queue.offer(of_flow(packets(10..12, 1500), 1));
        queue.offer(of_flow(packets(20..24, 500), 2));
        assert_eq!(queue.sent(), [20, 21, 10, 22, 23, 11]);
    }

    #[test]
    fn a_flow_that_was_away_has_nothing_to_catch_up() {
        // Flow 1 has sent 3,000 bytes when flow 2 comes: its tags are 4500 and 6000, as those of flow 1.
        let mut queue = Driven::new("wfq", Limits::default());
        queue.offer(of_flow(packets(10..14, 1500), 1));
        assert_eq!([queue.send(), queue.send()].map(|item| item.unwrap().packet), [10, 11]);
        queue.offer(of_flow(packets(20..22, 1500), 2));
        assert_eq!(queue.sent(), [12, 20, 13, 21]);
    }

    #[test]
    fn a_flow_that_sends_too_much_takes_no_room_from_others() {
        // Flow 1 sends ten packets for each of flow 2, and the link takes two in that time: each flow gets one.
        let mut queue = Driven::new("wfq", at_most(20));
        let mut sent = [0_u32; 3];
        for _ in 0..1000 {
            queue.offer(of_flow(packets(0..10, 1500), 1));
            queue.offer(of_flow(packets(0..1, 1500), 2));
            (0..2).for_each(|_| sent[queue.send().unwrap().flow as usize] += 1);
        }
        assert_eq!(sent, [0, 1000, 1000]);
        assert!(queue.drops.iter().all(|item| item.flow == 1));
    }
}
