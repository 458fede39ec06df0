//! Vegas: keeps a few packets of the connection in queues, which it infers from the round trip [brakmo1994].
//!
//! Once a round, with the least round trip of the round and the least of all round trips, the base:
//!
//! ```text
//! backlog = window (rtt - base) / rtt
//!
//! slow start:   backlog > gamma  ->  window = min(window, floor(window base / rtt) + 1), and slow start is over
//!               otherwise it doubles
//! then:         backlog < alpha  ->  window + 1
//!               backlog > beta   ->  window - 1
//! loss, mark:   window / 2, and nothing else until recovery is over
//! ```
//!
//! A connection alone on a link keeps alpha to beta packets in its queue, without loss if there is room for them. A
//! later connection takes the queue of others for part of the base, and gets more than they do. Reno takes nearly all
//! of the capacity from Vegas.
//!
//! differs: slow start is that of Linux; the paper doubles every other round trip and cuts an eighth. `denominator`
//! selects the backlog of Linux. A loss halves the window as in Linux, where the paper takes a quarter. After an idle
//! time the base is forgotten, as in Linux. A round with at most two samples changes the window as Reno does.

use anabranch_core::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::control::ConnectionView;
use crate::protocols::capabilities::{Capabilities, Paths};
use crate::protocols::range;
pub use crate::window::links;
use crate::window::{Acked, MOST_WINDOW, RoundTrips, Signal, WindowControl, backlog};

/// What the protocol can serve.
pub const CAPABILITIES: Capabilities = Capabilities { paths: Paths::Each, ..Capabilities::WINDOWS };

/// The least window in packets, except right after a timeout.
const LEAST: f64 = 2.0;

/// Number of samples up to which a round says nothing.
const TOO_FEW: u32 = 2;

/// Parameters of Vegas; packets are those that wait in queues.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "VegasParameters")]
#[serde(deny_unknown_fields, default)]
pub struct Parameters {
    /// The window grows with fewer packets than this (alpha), 0.1 to 1e4.
    #[serde(deserialize_with = "packets")]
    #[schemars(range(min = 0.1, max = 1e4))]
    pub alpha: f64,
    /// The window shrinks with more packets than this (beta), 0.1 to 1e4; alpha if that is more.
    #[serde(deserialize_with = "packets")]
    #[schemars(range(min = 0.1, max = 1e4))]
    pub beta: f64,
    /// Slow start ends with more packets than this (gamma), 0.1 to 1e4.
    #[serde(deserialize_with = "packets")]
    #[schemars(range(min = 0.1, max = 1e4))]
    pub gamma: f64,
    /// Divisor of the backlog: "rtt" as in the paper, or "base" as in Linux, which makes shorter queues.
    pub denominator: Denominator,
}

/// Divisor of the window times the queueing delay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Denominator {
    /// The round trip.
    #[default]
    Rtt,
    /// The least round trip.
    Base,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { alpha: 2.0, beta: 4.0, gamma: 1.0, denominator: Denominator::Rtt }
    }
}

fn packets<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    range::number(0.1..=1e4, deserializer)
}

/// Creates the control of a connection.
pub fn source(parameters: &Parameters, connection: &ConnectionView) -> Box<dyn WindowControl> {
    let first = connection.first_window;
    let parameters = Parameters { beta: parameters.beta.max(parameters.alpha), ..parameters.clone() };
    let trips = RoundTrips::default();
    Box::new(Vegas { parameters, first, window: 1.0, threshold: f64::INFINITY, trips })
}

struct Vegas {
    parameters: Parameters,
    first: f64,
    window: f64,
    threshold: f64,
    trips: RoundTrips,
}

impl Vegas {
    fn backlog(&self, rtt: f64, base: f64) -> f64 {
        match self.parameters.denominator {
            Denominator::Rtt => backlog(self.window, rtt, base),
            Denominator::Base => self.window * (rtt - base) / base,
        }
    }

    fn end_round(&mut self, acked: &Acked) {
        let Parameters { alpha, beta, gamma, .. } = self.parameters;
        let is_slow = self.window < self.threshold;
        if self.trips.samples() <= TOO_FEW {
            if !is_slow && acked.is_limited {
                self.window += f64::from(acked.packets) / self.window;
            }
            return;
        }
        let (rtt, base) = (self.trips.least(), self.trips.base());
        let backlog = self.backlog(rtt, base);
        if is_slow {
            if backlog > gamma {
                self.window = self.window.min((self.window * base / rtt).floor() + 1.0);
                self.threshold = self.threshold.min(self.window - 1.0);
            }
        } else if backlog > beta {
            self.window -= 1.0;
            self.threshold = self.threshold.min(self.window);
        } else if backlog < alpha && acked.is_limited {
            self.window += 1.0;
        }
    }
}

impl WindowControl for Vegas {
    fn open(&mut self, _: usize, _: Time) {
        (self.window, self.threshold, self.trips) = (self.first, f64::INFINITY, RoundTrips::default());
    }

    fn close(&mut self, _: usize) {}

    fn on_ack(&mut self, _: usize, acked: &Acked) {
        if let Some(rtt) = acked.rtt {
            self.trips.add(rtt);
        }
        if acked.is_recovering {
            self.trips.begin_round();
            return;
        }
        if acked.is_limited && self.window < self.threshold {
            self.window = (self.window + f64::from(acked.packets)).min(self.threshold);
        }
        if acked.ends_round {
            self.end_round(acked);
            self.window = self.window.max(LEAST);
            self.trips.begin_round();
        }
        self.window = self.window.min(MOST_WINDOW);
    }

    fn on_signal(&mut self, _: usize, signal: Signal, in_flight: u32, _: Time) {
        // Half of the packets in flight, if they are fewer than the window: an unused window says nothing of the path.
        let window = self.window.min(f64::from(in_flight.max(1)) + 1.0);
        self.threshold = (window / 2.0).max(LEAST);
        self.window = if signal == Signal::Timeout { 1.0 } else { self.threshold };
        self.trips.begin_round();
    }

    fn on_idle(&mut self, _: usize) {
        self.window = self.window.min(self.first);
        self.trips = RoundTrips::default();
    }

    fn window(&self, _: usize) -> f64 {
        self.window
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::alone;
    use crate::window::testing::{ToyLink, acked, is_near};

    fn vegas(window: f64, denominator: Denominator) -> Vegas {
        let parameters = Parameters { denominator, ..Parameters::default() };
        Vegas { parameters, first: 10.0, window, threshold: 2.0, trips: RoundTrips::default() }
    }

    /// A round of three samples.
    fn round(vegas: &mut Vegas, rtt: f64) {
        (1..=3).for_each(|sample| vegas.on_ack(0, &Acked { ends_round: sample == 3, ..acked(0.0, rtt) }));
    }

    #[test]
    fn the_backlog_in_both_ways() {
        // 50 packets, 8 of 108 ms in queues: 50 8 / 108 and 50 8 / 100.
        assert!(is_near(vegas(50.0, Denominator::Rtt).backlog(0.108, 0.1), 3.703_703_7));
        assert!(is_near(vegas(50.0, Denominator::Base).backlog(0.108, 0.1), 4.0));
    }

    #[test]
    fn the_window_moves_by_one_in_a_round() {
        let mut vegas = vegas(50.0, Denominator::Rtt);
        // Nothing waits; then 50 less than 51 8 / 108 = 3.8, which is enough; then 51 12 / 112 = 5.5, which is too much.
        for (rtt, window) in [(0.1, 51.0), (0.108, 51.0), (0.112, 50.0)] {
            round(&mut vegas, rtt);
            assert!(is_near(vegas.window, window), "{}", vegas.window);
        }
    }

    #[test]
    fn slow_start_ends_when_a_packet_waits() {
        let mut vegas = vegas(10.0, Denominator::Rtt);
        vegas.threshold = f64::INFINITY;
        round(&mut vegas, 0.1);
        assert!(is_near(vegas.window, 13.0));
        // 16 10 / 110 = 1.5 > 1: down to the whole part of 16 100 / 110 = 14.5, and one.
        round(&mut vegas, 0.11);
        assert!(is_near(vegas.window, 15.0) && vegas.window > vegas.threshold);
    }

    #[test]
    fn a_loss_halves_the_window_and_begins_the_round_anew() {
        let mut vegas = vegas(50.0, Denominator::Rtt);
        vegas.on_signal(0, Signal::Loss, 50, Time(0));
        vegas.on_ack(0, &Acked { is_recovering: true, ends_round: true, ..acked(0.0, 0.1) });
        assert!(is_near(vegas.window, 25.0) && vegas.trips.samples() == 0);
    }

    #[test]
    fn two_to_four_packets_wait_at_a_link_of_its_own() {
        // 1000 packets a second, 50 ms and a millisecond to send one: 51 packets without a queue.
        let link = ToyLink { rate: 1000.0, delay: 0.05, packet: 8000.0 };
        let mut control = source(&Parameters::default(), &alone());
        link.run(control.as_mut(), 20.0, |_| {});
        let waiting = control.window(0) - 51.0;
        assert!((2.0..=4.0).contains(&waiting), "{waiting}");
    }
}
