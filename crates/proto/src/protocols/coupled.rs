//! Fully coupled windows: all subflows together are one Reno, which abandons worse paths [wischik2011, sec. 2].
//!
//! ```text
//! increase  = 1 / total            for each packet acknowledged
//! decreased = window - total / 2   at least 1
//! ```
//!
//! The total of all windows is sqrt(2 / p) with the least loss probability p of the paths. The other paths keep a
//! window of one packet to detect when they improve. Where the paths are equally good, the windows wander from one to
//! the other.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::control::ConnectionView;
use crate::protocols::capabilities::Capabilities;
pub use crate::window::links;
use crate::window::{Aimd, Coupling, Flow, WindowControl, known};

/// What the protocol can serve.
pub const CAPABILITIES: Capabilities = Capabilities::WINDOWS;

/// Parameters of fully coupled windows: there are none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CoupledParameters")]
#[serde(deny_unknown_fields, default)]
pub struct Parameters {}

/// Creates the control of a connection.
pub fn source(_: &Parameters, connection: &ConnectionView) -> Box<dyn WindowControl> {
    Box::new(Aimd::new(connection.subflows, connection.first_window, Coupled))
}

struct Coupled;

fn total(flows: &[Flow]) -> f64 {
    known(flows).map(|flow| flow.window).sum()
}

impl Coupling for Coupled {
    fn increase(&self, flows: &[Flow], _: usize) -> f64 {
        1.0 / total(flows)
    }

    fn decreased(&self, flows: &[Flow], subflow: usize) -> f64 {
        let own = flows[subflow];
        own.window - if own.is_known() { total(flows) } else { own.window } / 2.0
    }

    fn floor(&self) -> f64 {
        1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::window::testing::{WIFI_AND_3G, flow, is_near, is_within, settled};

    #[test]
    fn the_path_that_loses_least_gets_all() {
        // sqrt(200) packets in 100 ms on the one that loses 1 %.
        let rates = settled(&Coupled, &WIFI_AND_3G);
        assert!(rates[0] < 1.0 && is_within(rates[1], 141.4, 1e-2), "{rates:?}");
    }

    #[test]
    fn a_loss_halves_the_total() {
        // 12 and 8: half of 20 less than 12.
        let mut flows = [flow(12.0, 0.1), flow(8.0, 0.2)];
        assert!(is_near(Coupled.decreased(&flows, 0), 2.0) && is_near(Coupled.increase(&flows, 1), 0.05));
        // Alone it is Reno, also before its round trip is known.
        flows[1].is_open = false;
        assert!(is_near(Coupled.decreased(&flows, 0), 6.0) && is_near(Coupled.increase(&flows, 0), 1.0 / 12.0));
        flows[0].rtt = 0.0;
        assert!(is_near(Coupled.decreased(&flows, 0), 6.0));
    }
}
