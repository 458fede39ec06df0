//! LIA, linked increases: as fast as the best path alone would be, and no more aggressive than one Reno anywhere
//! [rfc6356].
//!
//! ```text
//! increase  = min(alpha / total, 1 / window)    for each packet acknowledged
//! decreased = window / 2
//! alpha     = total max(window / rtt^2) / (sum of window / rtt)^2     over all subflows [rfc6356, sec. 3]
//! ```
//!
//! total is the sum of all windows. On paths of equal round trips, windows become proportional to 1 / p where a share p
//! is lost.
//!
//! differs: [wischik2011] takes the least of such a quotient over all sets of subflows that contain this subflow. For
//! two subflows the result is equal; for more it may be less than that of RFC 6356, which is used here.
//!
//! Slow start is that of Reno, on each subflow separately. alpha is computed anew at each acknowledgement.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::control::ConnectionView;
use crate::protocols::capabilities::Capabilities;
pub use crate::window::links;
use crate::window::{Aimd, Coupling, Flow, WindowControl, known};

/// What the protocol can serve.
pub const CAPABILITIES: Capabilities = Capabilities::WINDOWS;

/// Parameters of LIA: there are none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "LiaParameters")]
#[serde(deny_unknown_fields, default)]
pub struct Parameters {}

/// Creates the control of a connection.
pub fn source(_: &Parameters, connection: &ConnectionView) -> Box<dyn WindowControl> {
    Box::new(Aimd::new(connection.subflows, connection.first_window, Lia))
}

struct Lia;

impl Coupling for Lia {
    fn increase(&self, flows: &[Flow], subflow: usize) -> f64 {
        let best = known(flows).map(|flow| flow.rate() / flow.rtt).fold(0.0, f64::max);
        let rate: f64 = known(flows).map(Flow::rate).sum();
        // The value is alpha / total, from which the total cancels out.
        (best / (rate * rate)).min(1.0 / flows[subflow].window)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::window::testing::{WIFI_AND_3G, flow, is_near, is_within, settled};

    #[test]
    fn the_increase_of_two_subflows() {
        // alpha = 30 (10 / 0.05^2) / (10 / 0.05 + 20 / 0.1)^2 = 30 4000 / 160000 = 0.75; 0.75 / 30 = 0.025 on both.
        let flows = [flow(10.0, 0.05), flow(20.0, 0.1)];
        assert!(is_near(Lia.increase(&flows, 0), 0.025) && is_near(Lia.increase(&flows, 1), 0.025));
    }

    #[test]
    fn alone_it_is_reno() {
        let mut flows = [flow(10.0, 0.05), flow(20.0, 0.1)];
        flows[1].is_open = false;
        assert!(is_near(Lia.increase(&flows, 0), 0.1));
        // So it is as long as the other's round trip is not known.
        flows[1] = flow(20.0, 0.0);
        assert!(is_near(Lia.increase(&flows, 0), 0.1));
    }

    #[test]
    fn it_gets_what_the_best_path_alone_would() {
        // sqrt(2 / 0.04) / 0.01 = 707.1, of which 3G gives all it has: sqrt(2 / 0.01) / 0.1 = 141.4.
        let rates = settled(&Lia, &WIFI_AND_3G);
        assert!(is_within(rates[0], 565.7, 1e-3) && is_within(rates[1], 141.4, 1e-3), "{rates:?}");
    }
}
