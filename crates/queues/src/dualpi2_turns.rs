//! The scheduler of DualPI2, which chooses the queue that sends next [deschepper2023, app. A.1].

use anabranch_core::{Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::discipline::Item;
use super::fifo::Fifo;

/// The scheduler that chooses a queue when both have packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "DualPi2Scheduler")]
pub enum Scheduler {
    /// Weighted round robin: the low-latency queue sends, except for the share of classic packets.
    #[default]
    Weighted,
    /// The queue whose first packet has waited longer sends, after a shift in favour of low latency.
    TimeShift,
}

/// The state of the scheduler.
#[derive(Clone, Debug)]
pub(super) struct Turns {
    scheduler: Scheduler,
    classic_share: f64,
    time_shift: Span,
    /// Bytes by which classic packets are behind their share.
    owed: f64,
}

impl Turns {
    pub(super) fn new(scheduler: Scheduler, classic_share: f64, time_shift: Span) -> Self {
        Self { scheduler, classic_share, time_shift, owed: 0.0 }
    }

    /// Whether the low-latency queue sends next; the other queue sends if that one is empty.
    pub(super) fn is_for_low_latency(&self, now: Time, low_latency: &Fifo, classic: &Fifo) -> bool {
        if low_latency.is_empty() || classic.is_empty() {
            return classic.is_empty();
        }
        match self.scheduler {
            Scheduler::Weighted => self.owed <= 0.0,
            Scheduler::TimeShift => low_latency.wait(now).0.saturating_add(self.time_shift.0) >= classic.wait(now).0,
        }
    }

    /// Accounts for a sent packet, if both queues had packets.
    pub(super) fn account(&mut self, item: &Item, is_low_latency: bool, are_both_waiting: bool) {
        let bytes = f64::from(item.bytes);
        if !are_both_waiting {
            self.owed = 0.0;
        } else if is_low_latency {
            self.owed += bytes * self.classic_share;
        } else {
            self.owed -= bytes * (1.0 - self.classic_share);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::Ecn;
    use crate::testing::{Driven, at_most, ms, packets, with_ecn};

    fn order_of_a_hundred(queue: &str) -> Vec<bool> {
        let mut queue = Driven::new(queue, at_most(1000));
        queue.offer(with_ecn(packets(0..200, 1500), Ecn::Ect1));
        queue.now = ms(10.0);
        queue.offer(packets(200..400, 1500));
        queue.now = ms(10.1);
        (0..100).map(|_| queue.send().unwrap().packet >= 200).collect()
    }

    #[test]
    fn classic_packets_get_a_tenth_at_least() {
        // Owed 150 bytes after the first of low latency, a classic one follows and pays 1,350: nine more of the others.
        let order = order_of_a_hundred("dualpi2");
        let classic: Vec<_> = (0..100).filter(|&turn| order[turn]).collect();
        assert_eq!(classic, [1, 11, 21, 31, 41, 51, 61, 71, 81, 91]);
    }

    #[test]
    fn a_time_shift_lets_low_latency_go_first_until_classic_has_waited_so_much_longer() {
        // Low latency counts as having waited 10.1 + 30 ms, classic 0.1 ms.
        assert!(order_of_a_hundred("dualpi2.scheduler = \"time-shift\"").iter().all(|is_classic| !is_classic));
        let mut queue = Driven::new("dualpi2.scheduler = \"time-shift\"", at_most(1000));
        queue.offer(packets(0..1, 1500));
        queue.now = ms(30.1);
        queue.offer(with_ecn(packets(1..2, 1500), Ecn::Ect1));
        assert_eq!(queue.sent(), [0, 1]);
    }
}
