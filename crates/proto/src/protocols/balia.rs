//! BALIA, balanced linked adaptation: between LIA and OLIA, as fast to respond as friendliness allows [peng2016].
//!
//! ```text
//! increase  = rate / (rtt total^2)  (1 + alpha) / 2  (4 + alpha) / 5     for each packet acknowledged
//! decreased = window - window / 2 min(alpha, 1.5)                        at least 1
//! alpha     = largest rate / rate
//! ```
//!
//! A rate is a window divided by its round trip; total is the sum of all rates.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::control::ConnectionView;
use crate::protocols::capabilities::Capabilities;
pub use crate::window::links;
use crate::window::{Aimd, Coupling, Flow, WindowControl, known};

/// What the protocol can serve.
pub const CAPABILITIES: Capabilities = Capabilities::WINDOWS;

/// The most halves of a window that a loss takes.
const MOST_HALVES: f64 = 1.5;

/// Parameters of BALIA.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "BaliaParameters")]
#[serde(deny_unknown_fields, default)]
pub struct Parameters {
    /// Value of alpha at a loss: "real" as in the paper, or "whole" as in Linux, where 1.9 becomes 1.
    pub alpha: Alpha,
}

/// Value of alpha at a loss.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Alpha {
    /// The quotient of the rates.
    #[default]
    Real,
    /// The integer part of the quotient.
    Whole,
}

/// Creates the control of a connection.
pub fn source(parameters: &Parameters, connection: &ConnectionView) -> Box<dyn WindowControl> {
    let balia = Balia { alpha: parameters.alpha };
    Box::new(Aimd::new(connection.subflows, connection.first_window, balia))
}

struct Balia {
    alpha: Alpha,
}

/// Rate of the fastest subflow, relative to this one; at least 1.
fn alpha(flows: &[Flow], subflow: usize) -> f64 {
    known(flows).map(Flow::rate).fold(0.0, f64::max) / flows[subflow].rate()
}

impl Coupling for Balia {
    fn increase(&self, flows: &[Flow], subflow: usize) -> f64 {
        let own = flows[subflow];
        let total: f64 = known(flows).map(Flow::rate).sum();
        let alpha = alpha(flows, subflow);
        own.rate() / (own.rtt * total * total) * (1.0 + alpha) * (4.0 + alpha) / 10.0
    }

    fn decreased(&self, flows: &[Flow], subflow: usize) -> f64 {
        let own = flows[subflow];
        let alpha = if own.is_known() { alpha(flows, subflow) } else { 1.0 };
        let alpha = if self.alpha == Alpha::Whole { alpha.floor() } else { alpha };
        own.window - own.window / 2.0 * alpha.min(MOST_HALVES)
    }

    fn floor(&self) -> f64 {
        1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::window::testing::{WIFI_AND_3G, flow, is_near, is_within, settled};

    const REAL: Balia = Balia { alpha: Alpha::Real };

    /// Increases and decreases of two subflows with round trips of 50 and 100 ms.
    fn steps(balia: &Balia, windows: [f64; 2]) -> [f64; 4] {
        let flows = [flow(windows[0], 0.05), flow(windows[1], 0.1)];
        let down = |i: usize| windows[i] - balia.decreased(&flows, i);
        [balia.increase(&flows, 0), balia.increase(&flows, 1), down(0), down(1)]
    }

    fn assert_near(got: &[f64], wanted: &[f64]) {
        assert!(got.iter().zip(wanted).all(|(&a, &b)| is_near(a, b)), "{got:?}");
    }

    #[test]
    fn equal_rates_are_halved() {
        // Rates 200 and 200, alpha 1: 200 / (0.05 400^2) = 0.025 and 200 / (0.1 400^2) = 0.0125.
        assert_near(&steps(&REAL, [10.0, 20.0]), &[0.025, 0.0125, 5.0, 10.0]);
    }

    #[test]
    fn the_slower_subflow_loses_three_quarters() {
        // Rates 200 and 50, alpha 1 and 4: 200 / (0.05 250^2) = 0.064 and 50 / (0.1 250^2) 5/2 8/5 = 0.032.
        // Half of 10, and half of 5 one and a half times.
        assert_near(&steps(&REAL, [10.0, 5.0]), &[0.064, 0.032, 5.0, 3.75]);
    }

    #[test]
    fn the_whole_part_of_alpha_is_milder() {
        // Rates 200 and 150, alpha 4/3: 15 / 2 4/3 = 10, or 7.5 with alpha 1.
        assert!(is_near(steps(&REAL, [10.0, 15.0])[3], 10.0));
        assert!(is_near(steps(&Balia { alpha: Alpha::Whole }, [10.0, 15.0])[3], 7.5));
    }

    #[test]
    fn alone_it_is_reno() {
        let mut flows = [flow(10.0, 0.05), flow(5.0, 0.1)];
        flows[0].is_open = false;
        assert!(is_near(REAL.increase(&flows, 1), 0.2) && is_near(REAL.decreased(&flows, 1), 2.5));
        flows[1].rtt = 0.0;
        assert!(is_near(REAL.decreased(&flows, 1), 2.5));
    }

    #[test]
    fn it_gets_what_the_best_path_alone_would() {
        // sqrt(2 / 0.04) / 0.01 = 707.1 in all, much less of it from 3G than LIA takes.
        let rates = settled(&REAL, &WIFI_AND_3G);
        assert!(is_within(rates[0], 667.7, 1e-3) && is_within(rates[1], 39.5, 2e-3), "{rates:?}");
    }
}
