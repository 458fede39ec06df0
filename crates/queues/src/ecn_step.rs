//! ECN step: marks a packet that finds K packets or more waiting, as switches for DCTCP do [bensley2017, sec. 3.1].
//!
//! This is RED with both thresholds at K and the queue itself as the average [alizadeh2010, sec. 3.1]. Packets that
//! cannot be marked are let in: only the limits of the link drop packets.

use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::discipline::{Discipline, Item, Limits};
use super::fifo::Fifo;
use super::marking::{Marking, Rule};
use super::read;

/// Parameters of the step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "EcnStepParameters")]
#[serde(deny_unknown_fields, default)]
pub struct Parameters {
    /// Number of waiting packets from which on arriving packets are marked (K); 1 or more. 65 is for 10 Gbit/s and 20
    /// for 1 Gbit/s [alizadeh2010].
    #[serde(deserialize_with = "read::count")]
    #[schemars(range(min = 1))]
    pub threshold: u32,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { threshold: 65 }
    }
}

pub(super) fn discipline(parameters: &Parameters, limits: Limits, _: ChaCha8Rng) -> Box<dyn Discipline> {
    Box::new(Marking::new(Step { threshold: parameters.threshold as usize }, limits))
}

/// The rule of the ECN step, which marks a packet that finds enough packets waiting.
struct Step {
    threshold: usize,
}

impl Rule for Step {
    fn mark(&mut self, item: &mut Item, waiting: &Fifo) {
        if waiting.len() >= self.threshold {
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
    fn the_packet_that_finds_the_threshold_is_marked() {
        // Packets 0 and 1 find 0 and 1 waiting, packet 2 finds 2 and packet 3 finds 3.
        let mut queue = Driven::new("ecn-step.threshold = 2", Limits::default());
        queue.offer(with_ecn(packets(0..4, 1500), Ecn::Ect0));
        assert_eq!(
            queue.send_all().iter().map(|item| item.ecn == Ecn::Ce).collect::<Vec<_>>(),
            [false, false, true, true]
        );
    }

    #[test]
    fn what_cannot_be_marked_is_let_in() {
        let mut queue = Driven::new("ecn-step.threshold = 1", Limits::default());
        queue.offer(packets(0..3, 1500));
        assert!(queue.send_all().iter().all(|item| item.ecn == Ecn::NotEct) && queue.dropped().is_empty());
    }
}
