//! QI-RCP-like: RCP without the queue; a link follows the load alone [jain2007].
//!
//! Every interval T a link updates its rate R by its load y:
//!
//! ```text
//! R <- R (1 + kappa (g C - y) / (g C)),   between the least rate and g C
//! kappa = gain kappa*,   kappa* = T / (2 (T + d))
//! ```
//!
//! C is the capacity, g the share of it to be used, d the average round trip. This is the integral part of the law in
//! `piqi_rcp.rs`, and likewise a reconstruction; the remarks there on queues and data packets apply here too.

use anabranch_core::quantity::{RateText, SpanText};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::control::{ConnectionView, LinkControls, SourceControl};
use crate::protocols::capabilities::Capabilities;
use crate::protocols::piqi_rcp::{self, History};
use crate::protocols::rate_feedback;

/// What the protocol can serve.
pub const CAPABILITIES: Capabilities = rate_feedback::CAPABILITIES;

/// Parameters of QI-RCP-like.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "QiRcpParameters")]
#[serde(deny_unknown_fields, default)]
pub struct Parameters {
    /// Gain of the error in an interval, in units of kappa*; over 0 and at most 10.
    #[serde(deserialize_with = "rate_feedback::gain")]
    #[schemars(range(max = 10), extend("exclusiveMinimum" = 0))]
    pub gain: f64,
    /// Share of the capacity that is to be used (g); over 0 and at most 1.
    #[serde(deserialize_with = "rate_feedback::share")]
    #[schemars(range(max = 1), extend("exclusiveMinimum" = 0))]
    pub utilisation: f64,
    /// Time between updates of a link (T); 1 us to 100 s.
    #[serde(deserialize_with = "rate_feedback::span")]
    pub interval: SpanText,
    /// First rate of a link as a share of its capacity; over 0 and at most 1.
    #[serde(deserialize_with = "rate_feedback::share")]
    #[schemars(range(max = 1), extend("exclusiveMinimum" = 0))]
    pub start: f64,
    /// Average round trip that a link assumes at the beginning; 1 us to 100 s.
    #[serde(deserialize_with = "rate_feedback::span")]
    pub round_trip: SpanText,
    /// The least rate; 1 to 1e15 bit/s.
    #[serde(deserialize_with = "rate_feedback::least")]
    pub least: RateText,
    /// Time without a header after which a source sends a probe; 1 us to 100 s. Each data packet has a header.
    #[serde(deserialize_with = "rate_feedback::span")]
    pub spacing: SpanText,
}

impl Default for Parameters {
    fn default() -> Self {
        let piqi_rcp::Parameters { gain, utilisation, interval, start, round_trip, least, spacing, .. } =
            piqi_rcp::Parameters::default();
        Self { gain, utilisation, interval, start, round_trip, least, spacing }
    }
}

impl Parameters {
    /// Equivalent parameters of PIQI-RCP-like, without the proportional part.
    fn integral(&self) -> piqi_rcp::Parameters {
        let Self { gain, utilisation, interval, start, round_trip, least, spacing } = *self;
        let (proportional, history) = (0.0, History::ErrorDifference);
        piqi_rcp::Parameters { gain, proportional, history, utilisation, interval, start, round_trip, least, spacing }
    }
}

/// Creates the control of a source.
pub fn source(parameters: &Parameters, connection: &ConnectionView) -> Box<dyn SourceControl> {
    piqi_rcp::source(&parameters.integral(), connection)
}

/// Creates the controls of `count` links.
pub fn links(parameters: &Parameters, count: usize) -> Box<dyn LinkControls> {
    piqi_rcp::links(&parameters.integral(), count)
}
