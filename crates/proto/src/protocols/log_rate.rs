//! A logarithmic controller: a rate whose utility is its logarithm, for comparison with LGCC [teymoori2023, eq. 18].
//!
//! ```text
//! u += gamma (w / u - q),  u = rate / k,  q = -log_phi(1 - p)      once an interval
//! ```
//!
//! The controller uses k only as a maximum: a smaller k changes rates through marks alone, where LGCC's rate follows k.
//! At rest u = w / q, so for n connections over one link q becomes n w.
//!
//! differs: the paper prints gamma (1 / p), with which no rate comes to rest; U = log u gives 1 / u - p. A marking
//! probability is at most 1 and cannot be such a price, but its logarithm can [teymoori2021].

use anabranch_core::quantity::SpanText;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::control::ConnectionView;
use crate::protocols::capabilities::{Capabilities, Paths, Sources};
use crate::protocols::range;
pub use crate::window::links;
use crate::window::{MarkedRate, MarkedRateSettings, NextRate, WindowControl};

/// What the protocol can serve.
pub const CAPABILITIES: Capabilities = Capabilities {
    paths: Paths::One,
    sources: Sources::ScalableWindows,
    hears_capacities: true,
    ..Capabilities::WINDOWS
};

/// Parameters of the logarithmic controller.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "LogRateParameters")]
#[serde(deny_unknown_fields, default)]
pub struct Parameters {
    /// Step (gamma), 1e-4 to 1.
    #[serde(deserialize_with = "step")]
    #[schemars(range(min = 1e-4, max = 1))]
    pub step: f64,
    /// Price that the connection is willing to pay (w), 1e-3 to 10.
    #[serde(deserialize_with = "claim")]
    #[schemars(range(min = 1e-3, max = 10))]
    pub claim: f64,
    /// Base of prices (phi), 1.01 to 1000.
    #[serde(deserialize_with = "base")]
    #[schemars(range(min = 1.01, max = 1000))]
    pub phi: f64,
    /// Weight of the latest interval in the share of marked packets, 1e-3 to 1.
    #[serde(deserialize_with = "weight")]
    #[schemars(range(min = 1e-3, max = 1))]
    pub alpha: f64,
    /// Time between two changes of the rate, 1 us to 10 s; the least round trip if not given.
    #[serde(deserialize_with = "range::interval", skip_serializing_if = "Option::is_none")]
    pub interval: Option<SpanText>,
    /// Time for which a round trip counts towards the least, 1 ms to 1 h; all time if not given.
    #[serde(deserialize_with = "range::rtt_window", skip_serializing_if = "Option::is_none")]
    pub rtt_window: Option<SpanText>,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { step: 0.01, claim: 0.3, phi: 2.0, alpha: 0.05, interval: None, rtt_window: None }
    }
}

fn step<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    range::number(1e-4..=1.0, deserializer)
}

fn claim<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    range::number(1e-3..=10.0, deserializer)
}

fn base<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    range::number(1.01..=1000.0, deserializer)
}

fn weight<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    range::number(1e-3..=1.0, deserializer)
}

/// Creates the control of a connection.
pub fn source(parameters: &Parameters, connection: &ConnectionView) -> Box<dyn WindowControl> {
    let [interval, rtt_window] = [parameters.interval, parameters.rtt_window].map(|span| span.map(|span| span.0));
    let settings = MarkedRateSettings { weight: parameters.alpha, is_windowed: true, interval, rtt_window, omega: 1.0 };
    Box::new(MarkedRate::new(LogRate(parameters.clone()), settings, connection))
}

struct LogRate(Parameters);

impl LogRate {
    /// Price of a share of marked packets (q); 0 without marks.
    fn price(&self, p: f64) -> f64 {
        -(1.0 - p).ln() / self.0.phi.ln()
    }
}

/// Share of marked packets at which the rate rests at a share of the capacity of the path.
pub(super) fn marks_at(parameters: &Parameters, share: f64) -> f64 {
    if share < 1.0 { 1.0 - (-parameters.claim / share * parameters.phi.ln()).exp() } else { 0.0 }
}

impl NextRate for LogRate {
    fn next(&self, rate: f64, capacity: f64, p: f64) -> f64 {
        let share = rate / capacity;
        let price = self.price(p);
        // A step is at most half of the rate, since 1 / u is steep near 0.
        let step = self.0.step * (self.0.claim / share - price);
        (share + step.max(-0.5 * share)).max(0.0) * capacity
    }

    fn rest(&self, capacity: f64, p: f64) -> f64 {
        let price = self.price(p);
        if price > self.0.claim { capacity * self.0.claim / price } else { capacity }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_rests_where_the_price_is_what_it_pays() {
        // A quarter of the capacity: q = 0.3 / 0.25 = 1.2, p = 1 - 2^-1.2.
        let log = LogRate(Parameters::default());
        let p = 1.0 - f64::powf(2.0, -1.2);
        assert!((log.next(25.0, 100.0, p) - 25.0).abs() < 1e-9);
        assert!(log.next(20.0, 100.0, p) > 20.0 && log.next(30.0, 100.0, p) < 30.0);
        assert!((marks_at(&log.0, 0.25) - p).abs() < 1e-12 && marks_at(&log.0, 1.0) <= 0.0);
        assert!((log.rest(100.0, p) - 25.0).abs() < 1e-9 && (log.rest(100.0, 0.0) - 100.0).abs() < 1e-9);
    }

    #[test]
    fn a_rate_at_most_halves() {
        let log = LogRate(Parameters { step: 1.0, ..Parameters::default() });
        assert!((log.next(50.0, 100.0, 0.999) - 25.0).abs() < 1e-9);
    }
}
