//! What a relay tells the loops before: the rate of the next loop, and marks while bytes wait for it [teymoori2023].
//!
//! differs: while little waits, a higher rate is told than that of the next loop. Senders in user space send in bursts, some
//! packets of which are marked at any rate, so that each loop rests below the rate that it is told. By the rule of the paper
//! three loops to a link of 100 Mbit/s bring 69 Mbit/s, and 79 so.

use std::sync::Arc;
use std::time::Duration;

use anabranch_core::Rate;
use anabranch_live::control::Group;
use anabranch_live::feedback::Guidance;
use anabranch_proto::transport::Told;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::Bundle;

/// Time between looks.
const LOOK: Duration = Duration::from_millis(5);

/// Round trips of a loop for which its sender remembers marks, and the one after which it hears of them.
const REMEMBERED: f64 = 21.0;

/// Bytes that may wait without a mark: two packets.
const LEAST: f64 = 2.0 * 1500.0;

/// Seconds of data of the next loop that are to wait for it, and how much more than its rate is told where none do.
const AHEAD: f64 = 0.005;
const MORE: f64 = 0.25;

/// Bits of a byte.
const BITS: f64 = 8.0;

/// A next loop: the rate on which the loops before may count, and the bytes that wait for it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Next {
    pub bps: Option<u64>,
    pub waiting: u64,
}

impl Next {
    /// A next loop of these controls.
    pub fn of<'a>(groups: impl IntoIterator<Item = &'a Arc<Group>>, waiting: u64) -> Self {
        let known = groups.into_iter().filter_map(|group| group.onward_bps(Told::Sent));
        Self { bps: known.reduce(u64::saturating_add), waiting }
    }

    /// This loop as it is for one of the loops before, which has this part of its rate.
    pub fn part(self, part: f64) -> Self {
        Self { bps: self.bps.map(|bps| (bps as f64 * part.clamp(0.0, 1.0)) as u64), ..self }
    }

    /// The rate that is told: more than that of the next loop while little waits for it. The loop before rests below what it is
    /// told as long as any packet of it is marked on its way, and would starve the next one.
    fn told(&self) -> Option<u64> {
        let bps = self.bps? as f64;
        let lack = 1.0 - (self.waiting as f64 / (bps / BITS * AHEAD)).min(1.0);
        Some((bps * (1.0 + MORE * lack)) as u64)
    }

    /// The part of packets to mark: all, where as much waits as goes on while the loop before, with this round trip, hears of
    /// marks and remembers them.
    fn share(&self, rtt: Duration) -> f64 {
        let Some(bps) = self.bps else { return 0.0 };
        let most = (bps as f64 / BITS * REMEMBERED * rtt.as_secs_f64()).max(LEAST);
        (self.waiting as f64 / most).min(1.0)
    }
}

/// Guides a line of a loop before, of whose lines this number carry data, with the round trip of the line; does not return.
pub(crate) async fn guide(guidance: &Guidance, look: impl Fn() -> (Next, usize, Duration)) {
    loop {
        let (next, lines, rtt) = look();
        guidance.set(next.told().map(|bps| bps / lines.max(1) as u64), next.share(rtt));
        sleep(LOOK).await;
    }
}

/// Sets the capacity of all lines of some bundles, those that come later too; does not return.
pub(crate) async fn set_capacities(mut known: watch::Receiver<Option<Rate>>, bundles: impl Fn() -> Vec<Arc<Bundle>>) {
    loop {
        let capacity = *known.borrow_and_update();
        if let Some(capacity) = capacity {
            for bundle in bundles() {
                // A line that carries nothing now may have all when it does.
                let each = Rate(capacity.0 / bundle.carrying().max(1) as f64);
                for line in bundle.lines() {
                    line.set_capacity(&bundle.group, each);
                }
                bundle.set_capacity(capacity);
            }
        }
        // Lines come and go; nobody who knows the capacity leaves before.
        let _ = timeout(4 * LOOK, known.changed()).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_is_told_while_little_waits() {
        // 5 ms of 80 Mbit/s are 50 kB.
        let told = |waiting| Next { bps: Some(80_000_000), waiting }.told();
        assert_eq!([0, 25_000, 50_000, 1_000_000].map(told), [100, 90, 80, 80].map(|mbps| Some(mbps * 1_000_000)));
        assert_eq!(Next::default().told(), None);
    }

    #[test]
    fn packets_are_marked_by_what_waits_relative_to_what_goes_on() {
        // 100 Mbit/s for 21 round trips of 10 ms are 2.625 MB.
        let is = |bps, waiting, wanted: f64| {
            let share = Next { bps, waiting }.share(Duration::from_millis(10));
            assert!((share - wanted).abs() < 1e-9, "{share}");
        };
        is(Some(100_000_000), 0, 0.0);
        is(Some(100_000_000), 262_500, 0.1);
        is(Some(100_000_000), 10_000_000, 1.0);
        // Two packets may wait however slow it is, and nothing is known of a loop that has not begun.
        is(Some(1), 1500, 0.5);
        is(None, 1_000_000, 0.0);
    }
}
