//! LGCC: a rate that grows as a population does, towards the capacity of the path or the rate of the next loop
//! [teymoori2023].
//!
//! ```text
//! target = k (1 - p)^(ln phi1 / ln phi2)                                          [eq. 15]
//! rate  += gamma rate (log_phi2(1 - p) - log_phi1(rate / k))     primal           [eq. 14]
//! rate   = target                                                dual             [eq. 15]
//! gamma  = near where |rate - target| is at most g1 target, far from g2 target on, in between between
//! ```
//!
//! k, the carrying capacity, is the least capacity of the path or the sending rate of the next loop; p is the smoothed
//! share of marked packets. `MarkedRate` keeps both. The protocol needs links that mark by their backlog,
//! `discipline = "ecn-ramp"`. Over a chain of loops (`relays`) each loop has its own rate, and acknowledgements carry a
//! change at the last loop to the first.
//!
//! The rate changes once an interval, by default the least round trip [teymoori2023, sec. IX-C]; where k falls, the
//! rate falls at once. `dual` is at its target whenever k changes, up or down [teymoori2023, sec. VII-B]: it jumps, so
//! it suits loops that no others share.
//!
//! Connections that end at one relay share its next loop. The relay takes their data by weight. It marks packets by the
//! backlog of each connection, or with the probability at which its rate rests at its share [eq. 22]. `omega` divides p
//! by a weight in both rules [eq. 11].
//!
//! differs: eq. 11 prints omega for the rate without logarithms; here it divides p in eqs. 14 and 15. The printed
//! interpolation of gamma jumps at both ends, and with the printed g2 = 0.015 below g1 = 0.05 it never applies; here it
//! is continuous, and g2 is 0.15 unless set. A rate at most doubles and never exceeds k, and packets in flight are
//! limited to the rate times the least round trip (`windowed`); without this limit, rates oscillate.
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

/// Parameters of LGCC; the defaults are those of the paper, except g2.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "LgccParameters")]
#[serde(deny_unknown_fields, default)]
pub struct Parameters {
    /// The way in which the rate approaches its target.
    pub algorithm: Algorithm,
    /// Step far from the target (`gamma_init`), 1e-3 to 1.
    #[serde(deserialize_with = "step")]
    #[schemars(range(min = 1e-3, max = 1))]
    pub far: f64,
    /// Step near the target (`gamma_conv`), 1e-3 to 1.
    #[serde(deserialize_with = "step")]
    #[schemars(range(min = 1e-3, max = 1))]
    pub near: f64,
    /// Distance from the target, relative to it, up to which the rate is near (g1), 0 to 1.
    #[serde(deserialize_with = "part")]
    #[schemars(range(min = 0, max = 1))]
    pub near_within: f64,
    /// Distance from the target, relative to it, from which on the rate is far (g2), 0 to 1.
    #[serde(deserialize_with = "part")]
    #[schemars(range(min = 0, max = 1))]
    pub far_from: f64,
    /// Base for rates (phi1), 1.01 to 1000.
    #[serde(deserialize_with = "base")]
    #[schemars(range(min = 1.01, max = 1000))]
    pub phi1: f64,
    /// Base for marks (phi2), 1.01 to 1000; smaller values cause fewer marks.
    #[serde(deserialize_with = "base")]
    #[schemars(range(min = 1.01, max = 1000))]
    pub phi2: f64,
    /// Weight of the latest interval in the share of marked packets (alpha), 1e-3 to 1.
    #[serde(deserialize_with = "step")]
    #[schemars(range(min = 1e-3, max = 1))]
    pub alpha: f64,
    /// Whether packets in flight are limited; otherwise only the rate limits the source, as printed.
    pub windowed: bool,
    /// Time between two changes of the rate, 1 us to 10 s; the least round trip if not given.
    #[serde(deserialize_with = "range::interval", skip_serializing_if = "Option::is_none")]
    pub interval: Option<SpanText>,
    /// Time for which a round trip counts towards the least, 1 ms to 1 h; all time if not given.
    #[serde(deserialize_with = "range::rtt_window", skip_serializing_if = "Option::is_none")]
    pub rtt_window: Option<SpanText>,
    /// Normalized weight of the connection at a relay that takes data of several (omega), by which the share of marked
    /// packets is divided; 1e-3 to 1, and 1 if not given.
    #[serde(deserialize_with = "step", skip_serializing_if = "is_whole")]
    #[schemars(range(min = 1e-3, max = 1))]
    pub omega: f64,
}

/// The way in which a rate approaches its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "LgccAlgorithm")]
#[serde(rename_all = "kebab-case")]
pub enum Algorithm {
    /// By steps, which are larger where the rate is far from the target.
    PrimalDual,
    /// By steps of one size, `far`.
    Primal,
    /// Immediately; for loops that no others share.
    Dual,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            algorithm: Algorithm::PrimalDual,
            far: 0.3,
            near: 0.05,
            near_within: 0.05,
            far_from: 0.15,
            phi1: 10.0,
            phi2: 5.0,
            alpha: 0.05,
            windowed: true,
            interval: None,
            rtt_window: None,
            omega: 1.0,
        }
    }
}

fn step<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    range::number(1e-3..=1.0, deserializer)
}

fn part<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    range::number(0.0..=1.0, deserializer)
}

fn base<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    range::number(1.01..=1000.0, deserializer)
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_whole(omega: &f64) -> bool {
    *omega >= 1.0
}

/// Share of marked packets at which the rate rests at a share of the capacity of the path [teymoori2023, eq. 22].
pub(super) fn marks_at(parameters: &Parameters, share: f64) -> f64 {
    parameters.omega * (1.0 - (share.ln() * parameters.phi2.ln() / parameters.phi1.ln()).exp())
}

/// Creates the control of a connection.
pub fn source(parameters: &Parameters, connection: &ConnectionView) -> Box<dyn WindowControl> {
    let [interval, rtt_window] = [parameters.interval, parameters.rtt_window].map(|span| span.map(|span| span.0));
    let settings = MarkedRateSettings {
        weight: parameters.alpha,
        is_windowed: parameters.windowed,
        interval,
        rtt_window,
        omega: parameters.omega,
    };
    Box::new(MarkedRate::new(Lgcc(parameters.clone()), settings, connection))
}

struct Lgcc(Parameters);

impl Lgcc {
    fn target(&self, capacity: f64, p: f64) -> f64 {
        capacity * ((1.0 - p).ln() * self.0.phi1.ln() / self.0.phi2.ln()).exp()
    }

    /// Step of a rate at this distance from its target, relative to the target.
    fn gamma(&self, distance: f64) -> f64 {
        let Parameters { near, far, near_within, far_from, .. } = self.0;
        if self.0.algorithm == Algorithm::Primal || distance >= far_from.max(near_within) {
            far
        } else if distance <= near_within {
            near
        } else {
            near + (distance - near_within) * (far - near) / (far_from - near_within)
        }
    }
}

impl NextRate for Lgcc {
    fn next(&self, rate: f64, capacity: f64, p: f64) -> f64 {
        let target = self.target(capacity, p);
        if self.0.algorithm == Algorithm::Dual {
            return target;
        }
        let growth = (1.0 - p).ln() / self.0.phi2.ln() - (rate / capacity).ln() / self.0.phi1.ln();
        (rate + rate * self.gamma((rate - target).abs() / target) * growth).max(0.0)
    }

    fn rest(&self, capacity: f64, p: f64) -> f64 {
        self.target(capacity, p)
    }

    fn jumps(&self) -> bool {
        self.0.algorithm == Algorithm::Dual
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lgcc(phi2: f64) -> Lgcc {
        Lgcc(Parameters { phi2, algorithm: Algorithm::Primal, ..Parameters::default() })
    }

    fn is_close(value: f64, wanted: f64) -> bool {
        (value / wanted - 1.0).abs() < 1e-6
    }

    #[test]
    fn a_step_and_its_target() {
        // 100 of 500 Mbit/s, half marked: 1 + 0.3 (log_3(0.5) - log_10(0.2)) = 1 + 0.3 (0.698970 - 0.630930).
        for (phi2, next, target) in [(3.0, 102.041_207, 116.961_2), (5.0, 108.048_9, 185.478)] {
            let lgcc = lgcc(phi2);
            assert!((lgcc.next(100e6, 500e6, 0.5) / 1e6 - next).abs() < 1e-3, "{}", lgcc.next(100e6, 500e6, 0.5));
            assert!((lgcc.target(500e6, 0.5) / 1e6 - target).abs() < 1e-3, "{}", lgcc.target(500e6, 0.5));
        }
    }

    #[test]
    fn the_share_that_makes_five_equal_depends_on_the_bases_alone() {
        // (1 - p)^(ln 10 / ln phi2) = 1/5, so p = 1 - 5^(-ln phi2 / ln 10).
        for (phi2, p) in [(2.0, 0.383_988), (3.0, 0.536_012), (5.0, 0.675_331), (10.0, 0.8)] {
            let rate = lgcc(phi2).target(1.0, p);
            assert!((rate - 0.2).abs() < 1e-5, "{phi2}: {rate}");
            assert!(is_close(lgcc(phi2).next(rate, 1.0, p), rate));
            assert!((marks_at(&lgcc(phi2).0, 0.2) - p).abs() < 1e-6);
        }
    }

    #[test]
    fn marks_for_a_share_make_the_rate_rest_there() {
        // Half of the capacity with phi2 = 5: 1 - 0.5^0.69897 = 0.383988, the 0.4 of figure 18. The whole: 0.
        let half = lgcc(5.0);
        assert!((marks_at(&half.0, 0.5) - 0.383_988).abs() < 1e-6 && marks_at(&half.0, 1.0).abs() < 1e-12);
        // omega = 0.25 divides what is marked, so a quarter of that has the same effect.
        let quarter = Parameters { omega: 0.25, ..half.0 };
        assert!((marks_at(&quarter, 0.5) - 0.095_997).abs() < 1e-6);
    }

    #[test]
    fn steps_are_larger_far_from_the_target_and_nowhere_jump() {
        // Between 0.05 and 0.15: at 0.1 the mean of 0.05 and 0.3.
        let lgcc = Lgcc(Parameters::default());
        let steps = [0.0, 0.05, 0.1, 0.15, 9.0].map(|distance| lgcc.gamma(distance));
        assert!(steps.iter().zip([0.05, 0.05, 0.175, 0.3, 0.3]).all(|(s, w)| (s - w).abs() < 1e-12), "{steps:?}");
        let printed = Lgcc(Parameters { far_from: 0.015, ..Parameters::default() });
        let steps = [0.01, 0.03, 0.049, 0.051].map(|distance| printed.gamma(distance));
        assert!(steps.iter().zip([0.05, 0.05, 0.05, 0.3]).all(|(s, w)| (s - w).abs() < 1e-12), "{steps:?}");
    }

    #[test]
    fn the_dual_jumps() {
        let dual = Lgcc(Parameters { algorithm: Algorithm::Dual, ..Parameters::default() });
        assert!(is_close(dual.next(1e6, 500e6, 0.0), 500e6));
    }
}
