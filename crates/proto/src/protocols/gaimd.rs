//! GAIMD: additive increase and multiplicative decrease with any a and b; by default smoother than Reno at about its
//! rate [yang2000].
//!
//! ```text
//! increase  = a / window     for each packet acknowledged, so a packets in a round trip
//! decreased = b window
//! a         = 4 (1 - b^2) / 3     makes it friendly to Reno where timeouts are what counts [yang2000]
//! ```
//!
//! Where windows form a regular saw-tooth, the mean is sqrt(a (1 + b) / (2 (1 - b) p)) [yang2000]. With a = 1 and b =
//! 1/2, which is Reno, that is sqrt(1.5 / p). With the default b = 7/8 and a = 5/16 it is a quarter more, and about a
//! fifth more where losses are random. A loss costs an eighth of the window where Reno loses half. So differences
//! between shares shrink by an eighth, too, and it takes five times as many losses to make them equal.
//!
//! Differs from the paper: a is 0.3125 for b = 7/8, which the paper rounds to 0.31.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::control::ConnectionView;
use crate::protocols::capabilities::{Capabilities, Paths};
use crate::protocols::range;
pub use crate::window::links;
use crate::window::{Aimd, Coupling, Flow, WindowControl};

/// What the protocol can serve.
pub const CAPABILITIES: Capabilities = Capabilities { paths: Paths::Each, ..Capabilities::WINDOWS };

/// Parameters of GAIMD.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "GaimdParameters")]
#[serde(deny_unknown_fields, default)]
pub struct Parameters {
    /// Packets by which the window grows in a round trip (a), 1e-3 to 100.
    #[serde(deserialize_with = "increase")]
    #[schemars(range(min = 1e-3, max = 100))]
    pub increase: f64,
    /// Part of the window that a loss leaves (b), 0.1 to 0.99.
    #[serde(deserialize_with = "kept")]
    #[schemars(range(min = 0.1, max = 0.99))]
    pub kept: f64,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { increase: 0.3125, kept: 0.875 }
    }
}

fn increase<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    range::number(1e-3..=100.0, deserializer)
}

fn kept<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    range::number(0.1..=0.99, deserializer)
}

/// Creates the control of a connection.
pub fn source(parameters: &Parameters, connection: &ConnectionView) -> Box<dyn WindowControl> {
    Box::new(Aimd::new(connection.subflows, connection.first_window, Gaimd(parameters.clone())))
}

struct Gaimd(Parameters);

impl Coupling for Gaimd {
    fn increase(&self, flows: &[Flow], subflow: usize) -> f64 {
        self.0.increase / flows[subflow].window
    }

    fn decreased(&self, flows: &[Flow], subflow: usize) -> f64 {
        self.0.kept * flows[subflow].window
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::window::testing::{flow, is_near, is_within, settled};

    #[test]
    fn ten_packets_become_eight_and_three_quarters_at_a_loss() {
        // 7/8 of 10; and before, each acknowledgement is worth 0.3125 / 10.
        let (gaimd, flows) = (Gaimd(Parameters::default()), [flow(10.0, 0.1)]);
        assert!(is_near(gaimd.decreased(&flows, 0), 8.75));
        assert!(is_near(gaimd.increase(&flows, 0), 0.03125));
    }

    #[test]
    fn without_chance_and_saw_teeth_it_settles_a_ninth_above_reno() {
        // Where gains and losses are in balance: sqrt(a / ((1 - b) p)). Here
        // sqrt(0.3125 / (0.125 0.01)) = 15.81 packets and sqrt(2 / 0.01) = 14.14, over 0.1 s.
        let rate = |increase, kept| settled(&Gaimd(Parameters { increase, kept }), &[(0.1, 0.01)])[0];
        assert!(is_within(rate(0.3125, 0.875), 158.1, 1e-3), "{}", rate(0.3125, 0.875));
        assert!(is_within(rate(1.0, 0.5), 141.4, 1e-3), "{}", rate(1.0, 0.5));
    }
}
