//! OLIA, opportunistic linked increases: a correction of LIA that leaves worse paths to others [khalili2012].
//!
//! ```text
//! increase  = (window / rtt^2) / (sum of window / rtt)^2 + alpha / window    for each packet acknowledged; may be negative
//! decreased = window / 2
//!
//! alpha =  1 / (n |B \ M|)   on a best path whose window is not among the largest
//!         -1 / (n |M|)       on a path with a largest window, if there is such a best path
//!          0                 otherwise
//! ```
//!
//! n is the number of subflows, M the set of those with the largest window, B the set of those with the largest l /
//! rtt^2. l is the number of packets acknowledged between the last two losses, or since the last loss if that is more:
//! an estimate of 1 / p without a delay.
//!
//! differs: as in the authors' code for Linux, l / rtt^2 ranks paths; it is the square of the rate that Reno would get.
//! The paper is quoted with l^2 / rtt, which we have not verified. Windows that differ only by rounding count as equal.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::control::ConnectionView;
use crate::protocols::capabilities::Capabilities;
pub use crate::window::links;
use crate::window::{Acked, Aimd, Coupling, Flow, WindowControl, known};

/// What the protocol can serve.
pub const CAPABILITIES: Capabilities = Capabilities::WINDOWS;

/// Relative distance from the largest window within which windows count as largest.
const SAME_WINDOW: f64 = 1e-9;

/// Relative distance from the best path within which paths count as best.
const SAME_RANK: f64 = 1e-6;

/// Parameters of OLIA: there are none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "OliaParameters")]
#[serde(deny_unknown_fields, default)]
pub struct Parameters {}

/// Creates the control of a connection.
pub fn source(_: &Parameters, connection: &ConnectionView) -> Box<dyn WindowControl> {
    let olia = Olia { runs: vec![Run::default(); connection.subflows] };
    Box::new(Aimd::new(connection.subflows, connection.first_window, olia))
}

/// Packets of a subflow acknowledged without a loss.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    /// Packets between the last two losses (l1).
    before: u64,
    /// Packets since the last loss (l2).
    since: u64,
}

struct Olia {
    runs: Vec<Run>,
}

impl Olia {
    /// Rank of a path: the packets between losses divided by the square of the round trip.
    fn worth(&self, flows: &[Flow], subflow: usize) -> f64 {
        self.rank(subflow) / flows[subflow].rtt.powi(2)
    }

    /// The term that shifts traffic from the largest windows to better paths.
    fn alpha(&self, flows: &[Flow], subflow: usize) -> f64 {
        let largest = known(flows).map(|flow| flow.window).fold(0.0, f64::max);
        let all = || (0..flows.len()).filter(|&i| flows[i].is_known());
        let best = all().map(|i| self.worth(flows, i)).fold(0.0, f64::max);
        let is_largest = |i: usize| flows[i].window >= largest * (1.0 - SAME_WINDOW);
        let is_poor_best = |i: usize| !is_largest(i) && self.worth(flows, i) >= best * (1.0 - SAME_RANK);
        let poor = all().filter(|&i| is_poor_best(i)).count();
        let count = all().count();
        if poor == 0 {
            0.0
        } else if is_poor_best(subflow) {
            1.0 / (count * poor) as f64
        } else if is_largest(subflow) {
            -1.0 / (count * all().filter(|&i| is_largest(i)).count()) as f64
        } else {
            0.0
        }
    }
}

impl Coupling for Olia {
    fn increase(&self, flows: &[Flow], subflow: usize) -> f64 {
        let own = flows[subflow];
        let rate: f64 = known(flows).map(Flow::rate).sum();
        own.rate() / own.rtt / (rate * rate) + self.alpha(flows, subflow) / own.window
    }

    fn on_open(&mut self, _: &[Flow], subflow: usize) {
        self.runs[subflow] = Run::default();
    }

    fn on_ack(&mut self, subflow: usize, acked: &Acked) {
        self.runs[subflow].since += u64::from(acked.packets);
    }

    fn on_signal(&mut self, _: &[Flow], subflow: usize, _: f64) {
        let run = &mut self.runs[subflow];
        if run.since > 0 {
            *run = Run { before: run.since, since: 0 };
        }
    }

    fn rank(&self, subflow: usize) -> f64 {
        let Run { before, since } = self.runs[subflow];
        before.max(since) as f64
    }

    fn set_rank(&mut self, subflow: usize, rank: f64) {
        self.runs[subflow] = Run { before: rank as u64, since: 0 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::window::testing::{acked, flow, is_near};

    fn olia(runs: &[u64]) -> Olia {
        Olia { runs: runs.iter().map(|&before| Run { before, since: 0 }).collect() }
    }

    #[test]
    fn the_larger_window_shrinks_for_the_better_path() {
        // 400 / 0.05^2 = 160000 and 900 / 0.1^2 = 90000: the first is best, the second has the larger window.
        // Increases (10 / 0.05^2) / 400^2 = 0.025 and (20 / 0.1^2) / 400^2 = 0.0125, alpha 1/2 and -1/2:
        // 0.025 + 0.5 / 10 and 0.0125 - 0.5 / 20.
        let flows = [flow(10.0, 0.05), flow(20.0, 0.1)];
        let olia = olia(&[400, 900]);
        assert!(is_near(olia.increase(&flows, 0), 0.075) && is_near(olia.increase(&flows, 1), -0.0125));
    }

    #[test]
    fn nothing_moves_where_the_best_path_has_the_largest_window() {
        // 1600 / 0.1^2 = 160000 as well: both are best, so one of them has the largest window, and the other grows.
        let flows = [flow(10.0, 0.05), flow(20.0, 0.1)];
        assert!(is_near(olia(&[400, 1600]).alpha(&flows, 0), 0.5));
        // Only the second is best.
        assert!([0, 1].iter().all(|&i| is_near(1.0 + olia(&[400, 1700]).alpha(&flows, i), 1.0)));
    }

    #[test]
    fn windows_that_differ_by_rounding_are_equally_large() {
        let flows = [flow(0.3, 0.1), flow(0.1 + 0.2, 0.1), flow(0.1, 0.1)];
        // The third is best: 1/3 for it, and half of that from each of the others.
        let alphas: Vec<f64> = (0..3).map(|i| olia(&[1, 1, 9]).alpha(&flows, i)).collect();
        assert!(is_near(alphas[0], -1.0 / 6.0) && is_near(alphas[1], -1.0 / 6.0) && is_near(alphas[2], 1.0 / 3.0));
    }

    #[test]
    fn packets_count_from_loss_to_loss() {
        let mut olia = olia(&[0]);
        let flows = [flow(10.0, 1.0)];
        for (packets, rank) in [(7, 7.0), (5, 7.0), (4, 5.0)] {
            olia.on_ack(0, &Acked { packets, ..acked(0.0, 1.0) });
            assert!(is_near(olia.worth(&flows, 0), rank));
            olia.on_signal(&[], 0, 10.0);
            // A second loss with nothing in between is none.
            olia.on_signal(&[], 0, 10.0);
        }
    }

    #[test]
    fn alone_it_is_reno() {
        let mut flows = [flow(10.0, 0.05), flow(20.0, 0.1)];
        flows[1].is_open = false;
        assert!(is_near(olia(&[1, 9]).increase(&flows, 0), 0.1));
    }
}
