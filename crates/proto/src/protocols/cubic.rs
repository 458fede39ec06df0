//! CUBIC: the window follows a cubic curve in time since the last loss, whatever the round trip [rfc9438].
//!
//! ```text
//! curve(t)  = C (t - K)^3 + most,    K = cbrt((most - window at t = 0) / C),    t since recovery from the last loss, in s
//! reno      = that window + the sum of alpha / window,    alpha = 3 (1 - beta) / (1 + beta), and 1 once reno >= prior
//!
//! window   <- reno                                                   if curve(t) < reno
//!             window + (target - window) / window                   otherwise
//! target    = curve(t + rtt), at least window and at most 1.5 window
//!
//! loss, mark:  prior = window,  most = window, or (1 + beta) / 2 window if window < most,  window <- beta window
//! ```
//!
//! These formulas apply to each packet acknowledged. `most` is where the curve is flat. It is less than the window at
//! the loss if that window is less than at the loss before, so that others get room (fast convergence). Where the curve
//! grows more slowly than Reno would, the window is that of Reno.
//!
//! Time in which the application sent too little does not count. The first slow start ends by `HyStart++`
//! (`hystart.rs`).

use anabranch_core::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::control::ConnectionView;
use crate::protocols::capabilities::{Capabilities, Paths};
use crate::protocols::range;
pub use crate::window::links;
use crate::window::{Acked, HyStart, MOST_WINDOW, Signal, WindowControl};

/// What the protocol can serve.
pub const CAPABILITIES: Capabilities = Capabilities { paths: Paths::Each, ..Capabilities::WINDOWS };

/// The least window after a loss, in packets.
const LEAST_AFTER_LOSS: f64 = 2.0;

/// Largest factor by which a window grows towards its curve.
const MOST_GROWTH: f64 = 1.5;

/// Parameters of CUBIC; the defaults are those of the RFC.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CubicParameters")]
#[serde(deny_unknown_fields, default)]
pub struct Parameters {
    /// Steepness of the curve in packets per cubic second (C), 1e-3 to 1e3 [rfc9438, sec. 5.1].
    #[serde(deserialize_with = "steepness")]
    #[schemars(range(min = 1e-3, max = 1e3))]
    pub c: f64,
    /// Part of the window that a loss leaves (beta), 0.1 to 0.95 [rfc9438, sec. 4.6].
    #[serde(deserialize_with = "rest")]
    #[schemars(range(min = 0.1, max = 0.95))]
    pub beta: f64,
    /// Whether a connection leaves room to others when it loses at smaller windows than before [rfc9438, sec. 4.7].
    pub fast_convergence: bool,
    /// Whether the first slow start ends when round trips grow [rfc9406].
    pub hystart: bool,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { c: 0.4, beta: 0.7, fast_convergence: true, hystart: true }
    }
}

fn steepness<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    range::number(1e-3..=1e3, deserializer)
}

fn rest<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    range::number(0.1..=0.95, deserializer)
}

/// Creates the control of a connection.
pub fn source(parameters: &Parameters, connection: &ConnectionView) -> Box<dyn WindowControl> {
    Box::new(Cubic::new(parameters.clone(), connection.first_window))
}

struct Cubic {
    parameters: Parameters,
    first: f64,
    window: f64,
    threshold: f64,
    /// Window where the curve is flat, and window at the last loss.
    most: f64,
    prior: f64,
    /// State of congestion avoidance; `None` until it begins.
    growth: Option<Growth>,
    /// Detection of the end of the first slow start, while that lasts.
    hystart: Option<HyStart>,
    /// Time of the last acknowledgement.
    last: Time,
}

/// State of congestion avoidance.
#[derive(Clone, Copy, Debug)]
struct Growth {
    curve: Curve,
    /// Beginning of the curve in seconds.
    since: f64,
    /// Window that Reno would have.
    reno: f64,
}

/// The cubic curve.
#[derive(Clone, Copy, Debug)]
struct Curve {
    c: f64,
    /// Window where the curve is flat, and the time of that point.
    most: f64,
    k: f64,
}

impl Curve {
    /// Creates the curve that begins at a window.
    fn new(c: f64, most: f64, window: f64) -> Self {
        let most = most.max(window);
        Self { c, most, k: ((most - window) / c).cbrt() }
    }

    /// Window of the curve after `seconds`.
    fn at(&self, seconds: f64) -> f64 {
        self.c * (seconds - self.k).powi(3) + self.most
    }
}

impl Cubic {
    fn new(parameters: Parameters, first: f64) -> Self {
        Self {
            parameters,
            first,
            window: 1.0,
            threshold: f64::INFINITY,
            most: 0.0,
            prior: 0.0,
            growth: None,
            hystart: None,
            last: Time(0),
        }
    }

    /// Grows the window in slow start, and returns the packets that are left for congestion avoidance.
    fn start_slowly(&mut self, acked: &Acked) -> f64 {
        let packets = f64::from(acked.packets);
        if self.window >= self.threshold {
            return packets;
        }
        let share = match &mut self.hystart {
            Some(hystart) => hystart.on_ack(acked.rtt, acked.ends_round),
            None => Some(1.0),
        };
        let Some(share) = share else {
            (self.threshold, self.prior, self.most) = (self.window, self.window, self.window);
            self.hystart = None;
            return packets;
        };
        let up = (share * packets).min(self.threshold - self.window);
        self.window = (self.window + up).min(MOST_WINDOW);
        packets - up / share
    }

    fn avoid_congestion(&mut self, packets: f64, seconds: f64, rtt: f64) {
        let Parameters { c, beta, .. } = self.parameters;
        let window = self.window;
        let begin = || Growth { curve: Curve::new(c, self.most, window), since: 0.0, reno: window };
        let was_under_way = self.growth.is_some();
        let growth = self.growth.get_or_insert_with(begin);
        if was_under_way {
            growth.since += seconds;
        }
        let alpha = if growth.reno >= self.prior { 1.0 } else { 3.0 * (1.0 - beta) / (1.0 + beta) };
        growth.reno = (growth.reno + alpha * packets / window).min(MOST_WINDOW);
        let next = if growth.curve.at(growth.since) < growth.reno {
            growth.reno.max(window)
        } else {
            let target = growth.curve.at(growth.since + rtt).clamp(window, MOST_GROWTH * window);
            window + (target - window) * (packets / window).min(1.0)
        };
        self.window = next.min(MOST_WINDOW);
    }
}

impl WindowControl for Cubic {
    fn open(&mut self, _: usize, now: Time) {
        let new = Self::new(self.parameters.clone(), self.first);
        let hystart = self.parameters.hystart.then(HyStart::default);
        *self = Self { window: self.first, hystart, last: now, ..new };
    }

    fn close(&mut self, _: usize) {}

    fn on_ack(&mut self, _: usize, acked: &Acked) {
        let seconds = acked.now.seconds() - self.last.seconds();
        self.last = acked.now;
        if acked.is_recovering || !acked.is_limited {
            return;
        }
        let packets = self.start_slowly(acked);
        if packets > 0.0 {
            self.avoid_congestion(packets, seconds, acked.smoothed);
        }
    }

    fn on_signal(&mut self, _: usize, signal: Signal, in_flight: u32, _: Time) {
        let Parameters { beta, fast_convergence, .. } = self.parameters;
        // An unused window says nothing of the path.
        let window = self.window.min(f64::from(in_flight.max(1)) + 1.0);
        self.prior = window;
        self.most = if fast_convergence && window < self.most { window * f64::midpoint(1.0, beta) } else { window };
        self.threshold = (beta * window).max(LEAST_AFTER_LOSS);
        self.window = match signal {
            Signal::Loss => self.threshold,
            Signal::Mark => (beta * window).max(1.0),
            Signal::Timeout => {
                // The curve is flat where slow start will end [rfc9438, sec. 4.8].
                self.most = 0.0;
                1.0
            }
        };
        self.growth = None;
        self.hystart = None;
    }

    fn on_idle(&mut self, _: usize) {
        self.window = self.window.min(self.first);
        self.growth = None;
    }

    fn window(&self, _: usize) -> f64 {
        self.window
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::alone;
    use crate::window::testing::{acked, is_near, is_within, mean_window};

    #[test]
    fn the_curve_is_flat_where_the_last_loss_was() {
        // K = cbrt(30 / 0.4) = cbrt(75) = 4.217163; 100 - 30, 100 - 0.4 3.217163^3 and so on.
        let curve = Curve::new(0.4, 100.0, 70.0);
        assert!(is_near(curve.k, 4.217_163));
        for (seconds, window) in [(0.0, 70.0), (1.0, 86.6808), (2.0, 95.6403), (6.0, 102.2667)] {
            assert!(is_near(curve.at(seconds), window), "{}", curve.at(seconds));
        }
    }

    #[test]
    fn a_second_loss_at_a_smaller_window_leaves_room() {
        let mut cubic = Cubic::new(Parameters::default(), 10.0);
        cubic.open(0, Time(0));
        cubic.window = 100.0;
        cubic.on_signal(0, Signal::Loss, 100, Time(0));
        assert!(is_near(cubic.window, 70.0) && is_near(cubic.most, 100.0));
        // 0.85 of 70; the test is against the most of before.
        cubic.on_signal(0, Signal::Loss, 70, Time(0));
        assert!(is_near(cubic.window, 49.0) && is_near(cubic.most, 59.5));
        // After a timeout slow start goes up to 0.7 of 49, and the curve begins flat there.
        cubic.on_signal(0, Signal::Timeout, 49, Time(0));
        assert!(is_near(cubic.window, 1.0) && is_near(cubic.threshold, 34.3));
        cubic.on_ack(0, &Acked { packets: 40, ..acked(1.0, 0.1) });
        let growth = cubic.growth.expect("slow start is over");
        assert!(is_near(growth.curve.most, 34.3) && is_near(growth.curve.k + 1.0, 1.0));
    }

    #[test]
    fn a_mark_lowers_the_window_as_a_loss_does() {
        let mut cubic = Cubic::new(Parameters::default(), 10.0);
        cubic.open(0, Time(0));
        cubic.on_signal(0, Signal::Mark, 10, Time(0));
        assert!(is_near(cubic.window, 7.0));
        // Down to one packet, where after a loss there would be two.
        cubic.window = 1.0;
        cubic.on_signal(0, Signal::Mark, 1, Time(0));
        assert!(is_near(cubic.window, 1.0) && is_near(cubic.threshold, 2.0));
    }

    #[test]
    fn mean_windows_are_those_of_the_rfc() {
        // One loss in 1 / p packets, round trips of 100 ms [rfc9438, table 2]: where the curve counts
        // 1.054 (rtt / p)^0.75 / rtt. With 10 ms it is Reno, 1.2 / sqrt(p).
        for (rtt, every, mean) in [(0.1, 10_000, 187.0), (0.1, 100_000, 1054.0), (0.01, 10_000, 120.0)] {
            let mut control = source(&Parameters::default(), &alone());
            let got = mean_window(control.as_mut(), rtt, 300 * every, |number| number % every == every - 1);
            assert!(is_within(got, mean, 0.1), "{got}");
        }
    }

    #[test]
    fn time_without_data_does_not_count() {
        let mut cubic = Cubic::new(Parameters::default(), 10.0);
        cubic.open(0, Time(0));
        cubic.window = 100.0;
        cubic.on_signal(0, Signal::Loss, 100, Time(0));
        cubic.on_ack(0, &acked(1.0, 0.1));
        cubic.on_ack(0, &Acked { is_limited: false, ..acked(99.0, 0.1) });
        cubic.on_ack(0, &acked(99.5, 0.1));
        assert!(is_near(cubic.growth.expect("it is past slow start").since, 0.5));
    }
}
