//! ECN ramp: marks packets with a probability of the backlog divided by a threshold, for LGC and LGCC.
//!
//! ```text
//! p = min(1, bytes waiting / threshold)      [teymoori2023, eq. 17]
//! ```
//!
//! This is RED with a lower threshold of 0, a greatest probability of 1 and the queue itself as the average, but
//! without RED's count since the last mark: each packet is marked independently. So the share of marked packets tells
//! sources the backlog. Packets that cannot be marked are let in: only the limits of the link drop packets.

use anabranch_core::Bytes;
use anabranch_core::quantity::BytesText;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::discipline::{Discipline, Item, Limits};
use super::fifo::Fifo;
use super::marking::{Marking, Rule};
use super::read;

/// Parameters of the ramp.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "EcnRampParameters")]
#[serde(deny_unknown_fields, default)]
pub struct Parameters {
    /// Backlog in bytes, without the arriving packet, from which on all packets are marked (`max_th`); 1 B to 1 GB.
    #[serde(deserialize_with = "read::size")]
    pub threshold: BytesText,
}

impl Default for Parameters {
    /// The parameters of the paper's experiments.
    fn default() -> Self {
        Self { threshold: BytesText(Bytes(75_000)) }
    }
}

pub(super) fn discipline(parameters: &Parameters, limits: Limits, random: ChaCha8Rng) -> Box<dyn Discipline> {
    Box::new(Marking::new(Ramp { threshold: parameters.threshold.0.0 as f64, random }, limits))
}

/// The rule of the ECN ramp, which marks packets at random by the backlog.
struct Ramp {
    threshold: f64,
    random: ChaCha8Rng,
}

impl Rule for Ramp {
    fn mark(&mut self, item: &mut Item, waiting: &Fifo) {
        let share = waiting.bytes() as f64 / self.threshold;
        if share > 0.0 && self.random.random_bool(share.min(1.0)) {
            item.mark();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ecn;
    use crate::testing::{Driven, packets, with_ecn};

    #[test]
    fn marks_are_as_many_as_the_queue_is_long() {
        // A third of the threshold waits whenever a packet comes: of 3,000 packets 1,000 are marked, 26 more or less.
        let mut queue = Driven::new("ecn-ramp.threshold = \"45 kB\"", Limits::default());
        queue.offer(with_ecn(packets(0..10, 1500), Ecn::Ect1));
        queue.send_all();
        queue.offer(packets(0..10, 1500));
        let mut marked = 0;
        for number in 10..3010 {
            queue.offer(with_ecn(packets(number..number + 1, 1500), Ecn::Ect1));
            marked += i32::from(queue.send().unwrap().ecn == Ecn::Ce);
        }
        assert!((marked - 1000).abs() < 104, "{marked}");
    }

    #[test]
    fn all_are_marked_from_the_threshold_on_and_none_in_an_empty_queue() {
        let mut queue = Driven::new("ecn-ramp.threshold = \"3000 B\"", Limits::default());
        for number in 0..100 {
            queue.offer(with_ecn(packets(number..number + 1, 1500), Ecn::Ect0));
            assert_eq!(queue.send().unwrap().ecn, Ecn::Ect0);
        }
        queue.offer(with_ecn(packets(0..9, 1500), Ecn::Ect0));
        assert!(queue.send_all()[2..].iter().all(|item| item.ecn == Ecn::Ce));
    }

    #[test]
    fn what_cannot_be_marked_is_let_in() {
        let mut queue = Driven::new("ecn-ramp.threshold = \"1 B\"", Limits::default());
        queue.offer(packets(0..3, 1500));
        assert!(queue.send_all().iter().all(|item| item.ecn == Ecn::NotEct) && queue.dropped().is_empty());
    }
}
