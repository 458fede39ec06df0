//! TCP Reno: slow start, one packet more in a round trip, half at a loss [rfc5681].
//!
//! ```text
//! increase  = 1 / window     for each packet acknowledged
//! decreased = window / 2
//! ```
//!
//! Losses are found by selective acknowledgements and time (`transport`), as in any TCP of today; the window stays as it is
//! until what was under way at the loss is acknowledged [rfc6675].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::control::ConnectionView;
use crate::protocols::terms::Terms;
pub use crate::window::links;
use crate::window::{Aimd, Coupling, Flow, WindowControl};

/// On what terms it serves.
pub const TERMS: Terms = Terms { many_paths: false, ..Terms::WINDOWS };

/// Parameters of Reno: none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RenoParameters")]
#[serde(deny_unknown_fields, default)]
pub struct Parameters {}

/// The control of a connection.
pub fn source(_: &Parameters, connection: &ConnectionView) -> Box<dyn WindowControl> {
    Box::new(Aimd::new(connection.subflows, connection.first_window, Reno))
}

struct Reno;

impl Coupling for Reno {
    fn increase(&self, flows: &[Flow], subflow: usize) -> f64 {
        1.0 / flows[subflow].window
    }
}
