//! LGC: a rate that grows as a population does, towards the capacity of its path, end to end [teymoori2016].
//!
//! ```text
//! rate += gamma rate (1 - rate / k - p)                              [teymoori2023, eq. 5]
//! gamma = near where |rate - target| is at most g1 target, far from g2 target on, in between between
//! target = k (1 - p)
//! ```
//!
//! k is the least capacity of the path's links as far as the source knows, p the smoothed share of marked packets. For
//! n connections over one link p becomes (n - 1) / n. The protocol needs links that mark by their backlog,
//! `discipline = "ecn-ramp"`.
//!
//! The step `near` applies up to 0.05 of the target from it, `far` from 0.15 on, as in LGCC.
//!
//! differs: the authors' kernel module takes the logarithm of both, as LGCC does, and samples only where most packets
//! are marked. Packets in flight are limited, as in LGCC.

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

/// Distance from the target, relative to it, up to which a rate is near (g1).
const NEAR_WITHIN: f64 = 0.05;

/// Distance from the target, relative to it, from which on a rate is far (g2).
const FAR_FROM: f64 = 0.15;

/// Parameters of LGC.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "LgcParameters")]
#[serde(deny_unknown_fields, default)]
pub struct Parameters {
    /// Step far from the target, 1e-3 to 1.
    #[serde(deserialize_with = "step")]
    #[schemars(range(min = 1e-3, max = 1))]
    pub far: f64,
    /// Step near the target, 1e-3 to 1.
    #[serde(deserialize_with = "step")]
    #[schemars(range(min = 1e-3, max = 1))]
    pub near: f64,
    /// Weight of the latest interval in the share of marked packets (alpha), 1e-3 to 1.
    #[serde(deserialize_with = "step")]
    #[schemars(range(min = 1e-3, max = 1))]
    pub alpha: f64,
    /// Whether packets in flight are limited; otherwise only the rate limits the source.
    pub windowed: bool,
    /// Time between two changes of the rate, 1 us to 10 s; the least round trip if not given.
    #[serde(deserialize_with = "range::interval", skip_serializing_if = "Option::is_none")]
    pub interval: Option<SpanText>,
    /// Time for which a round trip counts towards the least, 1 ms to 1 h; all time if not given.
    #[serde(deserialize_with = "range::rtt_window", skip_serializing_if = "Option::is_none")]
    pub rtt_window: Option<SpanText>,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { far: 0.3, near: 0.05, alpha: 0.05, windowed: true, interval: None, rtt_window: None }
    }
}

fn step<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    range::number(1e-3..=1.0, deserializer)
}

/// Creates the control of a connection.
pub fn source(parameters: &Parameters, connection: &ConnectionView) -> Box<dyn WindowControl> {
    let [interval, rtt_window] = [parameters.interval, parameters.rtt_window].map(|span| span.map(|span| span.0));
    let settings = MarkedRateSettings {
        weight: parameters.alpha,
        is_windowed: parameters.windowed,
        interval,
        rtt_window,
        omega: 1.0,
    };
    Box::new(MarkedRate::new(Lgc(parameters.clone()), settings, connection))
}

struct Lgc(Parameters);

impl NextRate for Lgc {
    fn next(&self, rate: f64, capacity: f64, p: f64) -> f64 {
        let target = self.rest(capacity, p);
        let distance = (rate - target).abs() / target;
        let part = ((distance - NEAR_WITHIN) / (FAR_FROM - NEAR_WITHIN)).clamp(0.0, 1.0);
        let gamma = self.0.near + part * (self.0.far - self.0.near);
        (rate + rate * gamma * (1.0 - rate / capacity - p)).max(0.0)
    }

    fn rest(&self, capacity: f64, p: f64) -> f64 {
        capacity * (1.0 - p)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_rate_grows_by_its_step_and_a_rate_at_its_target_stays() {
        // 1 of 100: 1 + 0.3 (1 - 0.01).
        let lgc = Lgc(Parameters::default());
        assert!((lgc.next(1.0, 100.0, 0.0) - 1.297).abs() < 1e-12);
        assert!((lgc.next(20.0, 100.0, 0.8) - 20.0).abs() < 1e-12);
    }

    #[test]
    fn near_its_target_it_steps_less() {
        // Target 20; 21 is 0.05 off: 21 + 21 x 0.05 (1 - 0.21 - 0.8). 22 is 0.1 off: step 0.175.
        let lgc = Lgc(Parameters::default());
        assert!((lgc.next(21.0, 100.0, 0.8) - (21.0 - 0.0105)).abs() < 1e-9);
        assert!((lgc.next(22.0, 100.0, 0.8) - (22.0 - 22.0 * 0.175 * 0.02)).abs() < 1e-9);
    }

    #[test]
    fn five_that_join_one_by_one_share_equally() {
        // Figure 4: step 1, first rate 0.01, the price of what is over [eq. 6]; 20 steps each: 1, 1/2, 1/3, 1/4, 1/5.
        let lgc = Lgc(Parameters { far: 1.0, near: 1.0, ..Parameters::default() });
        let (mut rates, mut p) = (Vec::new(), 0.0_f64);
        for flows in 1..=5_u32 {
            rates.push(0.01);
            for _ in 0..400 {
                p = (p + rates.iter().sum::<f64>() - 1.0).clamp(0.0, 1.0);
                for rate in &mut rates {
                    *rate = lgc.next(*rate, 1.0, p);
                }
            }
            let fair = 1.0 / f64::from(flows);
            assert!(rates.iter().all(|rate| (rate - fair).abs() < 0.01 * fair), "{rates:?}");
            assert!((p - (1.0 - fair)).abs() < 0.01, "{p}");
        }
    }
}
