//! TCP Reno: slow start, one packet more in a round trip, half the window at a loss [rfc5681].
//!
//! ```text
//! increase  = 1 / window     for each packet acknowledged
//! decreased = window / 2
//! ```
//!
//! Losses are detected by selective acknowledgements and time (`transport`), as in any TCP of today. The window does
//! not change until the packets that were in flight at the loss are acknowledged [rfc6675].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::control::ConnectionView;
use crate::protocols::capabilities::{Capabilities, Paths};
pub use crate::window::links;
use crate::window::{Aimd, Coupling, Flow, WindowControl};

/// What the protocol can serve.
pub const CAPABILITIES: Capabilities = Capabilities { paths: Paths::Each, ..Capabilities::WINDOWS };

/// Parameters of Reno: there are none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RenoParameters")]
#[serde(deny_unknown_fields, default)]
pub struct Parameters {}

/// Creates the control of a connection.
pub fn source(_: &Parameters, connection: &ConnectionView) -> Box<dyn WindowControl> {
    Box::new(Aimd::new(connection.subflows, connection.first_window, Reno))
}

pub(super) struct Reno;

impl Coupling for Reno {
    fn increase(&self, flows: &[Flow], subflow: usize) -> f64 {
        1.0 / flows[subflow].window
    }
}

#[cfg(test)]
mod tests {
    use anabranch_core::random::{Purpose, stream};
    use rand::RngExt;

    use super::*;
    use crate::testing::alone;
    use crate::window::testing::{is_within, mean_window};

    #[test]
    fn the_mean_window_is_near_the_root_of_two_losses() {
        // sqrt(2 / p) is 44.7 and 100 with one halving at each loss; of losses under way at a halving no second counts,
        // and recovery does not add.
        for (loss, packets, mean) in [(1e-3, 4_000_000, 41.0), (2e-4, 20_000_000, 92.5)] {
            let mut control = source(&Parameters {}, &alone());
            let mut random = stream(1, Purpose::Faults, 0);
            let got = mean_window(control.as_mut(), 0.1, packets, |_| random.random_bool(loss));
            assert!(is_within(got, mean, 0.05), "{got}");
        }
    }
}
