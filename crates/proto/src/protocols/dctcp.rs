//! DCTCP: reduces its window by half of the share of marked packets [bensley2017, alizadeh2010].
//!
//! ```text
//! share  = (1 - gain) share + gain F      once a round; F: marked of the packets acknowledged in it
//! mark:    window (1 - share / 2), at most once in a round
//! loss:    window / 2
//! else:    as Reno
//! ```
//!
//! It needs links that mark early: a step at K packets (`ecn-step`) makes a queue of about K. The share is 1 before the
//! first round, so the first mark halves the window.
//!
//! Packets are ECT(1), as those of scalable controls are, whatever `ecn` of the run says: a DualPI2 queue treats them
//! so [deschepper2023]. Where no link marks, DCTCP is Reno. The sink counts marks exactly, so no echo of marks is
//! needed.

use anabranch_core::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::control::ConnectionView;
use crate::protocols::capabilities::{Capabilities, Paths, Sources};
use crate::protocols::range;
pub use crate::window::links;
use crate::window::{Acked, MOST_WINDOW, Signal, WindowControl};

/// What the protocol can serve.
pub const CAPABILITIES: Capabilities =
    Capabilities { paths: Paths::Each, sources: Sources::ScalableWindows, ..Capabilities::WINDOWS };

/// The least window in packets, except right after a timeout.
const LEAST: f64 = 2.0;

/// Parameters of DCTCP.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "DctcpParameters")]
#[serde(deny_unknown_fields, default)]
pub struct Parameters {
    /// Weight of the latest round in the share of marked packets (g), 1e-3 to 1.
    #[serde(deserialize_with = "gain")]
    #[schemars(range(min = 1e-3, max = 1))]
    pub gain: f64,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { gain: 1.0 / 16.0 }
    }
}

fn gain<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    range::number(1e-3..=1.0, deserializer)
}

/// Creates the control of a connection.
pub fn source(parameters: &Parameters, connection: &ConnectionView) -> Box<dyn WindowControl> {
    Box::new(Dctcp::new(parameters.gain, connection.first_window))
}

#[derive(Clone, Debug)]
struct Dctcp {
    gain: f64,
    first: f64,
    window: f64,
    threshold: f64,
    /// Smoothed share of marked packets.
    share: f64,
    /// Packets acknowledged in this round.
    acknowledged: u32,
    marked: u32,
}

impl Dctcp {
    fn new(gain: f64, first: f64) -> Self {
        Self { gain, first, window: first, threshold: f64::INFINITY, share: 1.0, acknowledged: 0, marked: 0 }
    }

    fn end_round(&mut self) {
        if self.acknowledged > 0 {
            let marked = f64::from(self.marked.min(self.acknowledged)) / f64::from(self.acknowledged);
            self.share += self.gain * (marked - self.share);
        }
        (self.acknowledged, self.marked) = (0, 0);
    }
}

impl WindowControl for Dctcp {
    fn open(&mut self, _: usize, _: Time) {
        *self = Self::new(self.gain, self.first);
    }

    fn close(&mut self, _: usize) {}

    fn on_ack(&mut self, _: usize, acked: &Acked) {
        self.acknowledged = self.acknowledged.saturating_add(acked.packets);
        self.marked = self.marked.saturating_add(acked.marked);
        if acked.ends_round {
            self.end_round();
        }
        if acked.is_recovering || !acked.is_limited {
            return;
        }
        let packets = f64::from(acked.packets);
        self.window += if self.window < self.threshold { packets } else { packets / self.window };
        self.window = self.window.min(MOST_WINDOW);
    }

    fn on_signal(&mut self, _: usize, signal: Signal, in_flight: u32, _: Time) {
        let part = if signal == Signal::Mark { self.share / 2.0 } else { 0.5 };
        // An unused window says nothing of the path.
        let used = self.window.min(f64::from(in_flight.max(1)) + 1.0);
        self.threshold = (used * (1.0 - part)).max(LEAST);
        self.window = if signal == Signal::Timeout { 1.0 } else { self.threshold };
    }

    fn on_idle(&mut self, _: usize) {
        self.window = self.window.min(self.first);
    }

    fn window(&self, _: usize) -> f64 {
        self.window
    }

    fn marked_share(&self, _: usize) -> Option<f64> {
        Some(self.share)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::window::testing::{acked, is_near};

    fn round(packets: u32, marked: u32) -> Acked {
        Acked { packets, marked, ends_round: true, is_recovering: true, ..acked(1.0, 0.1) }
    }

    #[test]
    fn the_share_follows_that_of_marked_packets() {
        let mut dctcp = Dctcp { share: 0.2, window: 50.0, threshold: 50.0, ..Dctcp::new(1.0 / 16.0, 10.0) };
        // 15/16 0.2 + 1/16 0.5 = 0.21875, and 50 (1 - 0.21875 / 2) = 44.53125.
        dctcp.on_ack(0, &round(50, 25));
        assert!(is_near(dctcp.share, 0.21875));
        dctcp.on_signal(0, Signal::Mark, 50, Time(0));
        assert!(is_near(dctcp.window(0), 44.53125));
        // Without marks it fades, and never comes to nothing by rounding.
        (0..100).for_each(|_| dctcp.on_ack(0, &round(50, 0)));
        assert!(is_near(dctcp.share, 0.21875 * f64::powi(15.0 / 16.0, 100)));
    }

    #[test]
    fn the_first_mark_and_any_loss_halve_and_end_slow_start() {
        for signal in [Signal::Mark, Signal::Loss] {
            let mut dctcp = Dctcp::new(1.0 / 16.0, 10.0);
            dctcp.on_ack(0, &Acked { packets: 10, ..acked(0.1, 0.1) });
            assert!(is_near(dctcp.window(0), 20.0));
            dctcp.on_signal(0, signal, 20, Time(0));
            assert!(is_near(dctcp.window(0), 10.0));
            dctcp.on_ack(0, &Acked { packets: 5, ..acked(0.3, 0.1) });
            assert!(is_near(dctcp.window(0), 10.5));
        }
        let mut dctcp = Dctcp::new(1.0 / 16.0, 10.0);
        dctcp.on_signal(0, Signal::Timeout, 10, Time(0));
        assert!(is_near(dctcp.window(0), 1.0) && is_near(dctcp.threshold, 5.0));
    }
}
