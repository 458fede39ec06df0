//! Uncoupled: Reno on each subflow independently [wischik2011, sec. 2].
//!
//! ```text
//! increase  = 1 / window     for each packet acknowledged
//! decreased = window / 2
//! ```
//!
//! Reno on several paths is the same; under this name a connection has 4 paths unless `paths` says otherwise. Where
//! several subflows cross one link, a connection gets as much of it as that number of connections.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::control::ConnectionView;
use crate::protocols::capabilities::Capabilities;
use crate::protocols::reno::Reno;
pub use crate::window::links;
use crate::window::{Aimd, WindowControl};

/// What the protocol can serve.
pub const CAPABILITIES: Capabilities = Capabilities::WINDOWS;

/// Parameters of uncoupled Reno: there are none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "UncoupledParameters")]
#[serde(deny_unknown_fields, default)]
pub struct Parameters {}

/// Creates the control of a connection.
pub fn source(_: &Parameters, connection: &ConnectionView) -> Box<dyn WindowControl> {
    Box::new(Aimd::new(connection.subflows, connection.first_window, Reno))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::window::testing::{WIFI_AND_3G, is_within, settled};

    #[test]
    fn each_subflow_gets_what_reno_would() {
        // Windows of sqrt(2 / p): sqrt(50) in 10 ms and sqrt(200) in 100 ms, 707.1 and 141.4 packets a second.
        let rates = settled(&Reno, &WIFI_AND_3G);
        assert!(is_within(rates[0], 707.1, 1e-3) && is_within(rates[1], 141.4, 1e-3), "{rates:?}");
    }
}
