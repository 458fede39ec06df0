//! EWTCP, equally weighted TCP: Reno on each subflow with a smaller increase [wischik2011, sec. 2].
//!
//! ```text
//! increase  = a / window     for each packet acknowledged,    a = 1 / n^2 with n subflows
//! decreased = window / 2
//! ```
//!
//! Windows are sqrt(2 a / p) where a share p of packets is lost, so n subflows over one link together get the rate of
//! one Reno connection. A subflow that has timed out carries nothing, so it does not count until it is acknowledged
//! again.
//!
//! differs: the paper is quoted with a = 1 / sqrt(n), which is too much with this increase; `weight` sets any other a.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::control::ConnectionView;
use crate::protocols::capabilities::Capabilities;
use crate::protocols::range;
pub use crate::window::links;
use crate::window::{Aimd, Coupling, Flow, WindowControl, known};

/// What the protocol can serve.
pub const CAPABILITIES: Capabilities = Capabilities::WINDOWS;

/// Parameters of EWTCP.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "EwtcpParameters")]
#[serde(deny_unknown_fields, default)]
pub struct Parameters {
    /// Packets by which each subflow grows in a round trip (a), 1e-6 to 100; 1/n^2 with n subflows if not given.
    #[serde(deserialize_with = "weight", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1e-6, max = 100))]
    pub weight: Option<f64>,
}

fn weight<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    range::number(1e-6..=100.0, deserializer).map(Some)
}

/// Creates the control of a connection.
pub fn source(parameters: &Parameters, connection: &ConnectionView) -> Box<dyn WindowControl> {
    let coupling = Ewtcp { weight: parameters.weight };
    Box::new(Aimd::new(connection.subflows, connection.first_window, coupling))
}

struct Ewtcp {
    weight: Option<f64>,
}

impl Coupling for Ewtcp {
    fn increase(&self, flows: &[Flow], subflow: usize) -> f64 {
        let count = || known(flows).filter(|flow| !flow.is_silent).count().max(1) as f64;
        let weight = self.weight.unwrap_or_else(|| count().powi(-2));
        weight / flows[subflow].window
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::window::testing::{WIFI_AND_3G, flow, is_near, is_within, settled};

    #[test]
    fn two_subflows_get_half_of_what_reno_would() {
        // (707.1 + 141.4) / 2.
        let total: f64 = settled(&Ewtcp { weight: None }, &WIFI_AND_3G).iter().sum();
        assert!(is_within(total, 424.3, 1e-3), "{total}");
        let total: f64 = settled(&Ewtcp { weight: Some(1.0) }, &WIFI_AND_3G).iter().sum();
        assert!(is_within(total, 848.5, 1e-3), "{total}");
    }

    #[test]
    fn subflows_count_that_are_known() {
        // 1/9 of 1/10 with two others, 1/4 once one is closed, all of it alone.
        let mut flows = [flow(10.0, 0.1), flow(5.0, 0.1), flow(5.0, 0.1)];
        let ewtcp = Ewtcp { weight: None };
        assert!(is_near(ewtcp.increase(&flows, 0), 1.0 / 90.0));
        flows[1].is_open = false;
        assert!(is_near(ewtcp.increase(&flows, 0), 1.0 / 40.0));
        flows[2].rtt = 0.0;
        assert!(is_near(ewtcp.increase(&flows, 0), 1.0 / 10.0));
    }

    #[test]
    fn a_subflow_that_has_timed_out_does_not_count_until_it_answers() {
        let mut flows = [flow(10.0, 0.1), flow(1.0, 0.1)];
        let ewtcp = Ewtcp { weight: None };
        for (is_silent, increase) in [(false, 1.0 / 40.0), (true, 1.0 / 10.0), (false, 1.0 / 40.0)] {
            flows[1].is_silent = is_silent;
            assert!(is_near(ewtcp.increase(&flows, 0), increase), "{is_silent}");
        }
    }
}
