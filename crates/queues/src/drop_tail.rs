//! Drop-tail: packets leave in the order of arrival, and packets for which there is no room are dropped.
//!
//! ```text
//! let in if    packets waiting + 1 <= limit    or    bytes waiting + its bytes <= limit
//! ```
//!
//! The limit is the `queue` of the link, in packets or in bytes; without one, all packets are let in. Within a limit in
//! bytes a small packet may find room where a large one did not. Drop-tail never marks packets.
//!
//! Losses come in a row when the queue is full, and a source whose packets arrive just after a departure loses none:
//! with equal round trips, phase decides who loses packets, and not rate [floyd1992]. Jitter at sources (`jitter` of
//! the run's transport) breaks such patterns.

use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::discipline::{Discipline, Item, Limits};
use super::fifo::Fifo;
use super::marking::{Marking, Rule};

/// Drop-tail has no parameters besides the limits of its link.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "DropTailParameters")]
#[serde(deny_unknown_fields)]
pub struct Parameters {}

pub(super) fn discipline(_: &Parameters, limits: Limits, _: ChaCha8Rng) -> Box<dyn Discipline> {
    Box::new(Marking::new(Unmarked, limits))
}

/// The rule of drop-tail, which never marks a packet.
struct Unmarked;

impl Rule for Unmarked {
    fn mark(&mut self, _: &mut Item, _: &Fifo) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Driven, packets};
    use anabranch_core::Bytes;

    #[test]
    fn a_limit_in_packets_counts_packets() {
        let mut queue = Driven::new("drop-tail", Limits { packets: Some(2), bytes: None });
        queue.offer(packets(0..3, 1500));
        assert_eq!((queue.dropped(), queue.sent()), (vec![2], vec![0, 1]));
    }

    #[test]
    fn a_limit_in_bytes_leaves_room_for_a_smaller_packet() {
        // 1500 + 1000 > 2000, but 1500 + 500 is just 2000.
        let mut queue = Driven::new("drop-tail", Limits { packets: None, bytes: Some(Bytes(2000)) });
        queue.offer(packets(0..1, 1500));
        queue.offer(packets(1..2, 1000));
        queue.offer(packets(2..3, 500));
        assert_eq!((queue.dropped(), queue.sent()), (vec![1], vec![0, 2]));
    }
}
