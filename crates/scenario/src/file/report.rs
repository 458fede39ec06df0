//! The key `capacity_report` of a link: how late and how wrong controls learn its capacity.

use anabranch_core::Span;
use anabranch_core::quantity::SpanText;
use schemars::JsonSchema;
use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize};

use super::no_time;

/// Greatest relative standard deviation of reports.
const MOST_NOISE: f64 = 10.0;

/// `capacity_report`: delay and errors of the capacities that a link reports to controls and to the ABC discipline.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ReportTable {
    /// Time from a measurement of the capacity to its report.
    pub delay: SpanText,
    /// Relative standard deviation of reports, 0 to 10. The error of each report is drawn from a log-normal distribution
    /// with mean 1.
    #[serde(deserialize_with = "noise")]
    #[schemars(range(min = 0, max = 10))]
    pub noise: f64,
    /// Time between two measurements; the capacity is measured at each change if left out.
    #[serde(deserialize_with = "interval", skip_serializing_if = "Option::is_none")]
    pub interval: Option<SpanText>,
}

impl Default for ReportTable {
    fn default() -> Self {
        Self { delay: no_time(), noise: 0.0, interval: None }
    }
}

fn noise<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let value = f64::deserialize(deserializer)?;
    let is_good = (0.0..=MOST_NOISE).contains(&value);
    if is_good {
        Ok(value)
    } else {
        Err(D::Error::custom(format!("the noise is {value}; it must be 0 to {MOST_NOISE}")))
    }
}

fn interval<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<SpanText>, D::Error> {
    let span = SpanText::deserialize(deserializer)?;
    if span.0 >= Span::us(1) { Ok(Some(span)) } else { Err(D::Error::custom("the interval is below 1 us; give more")) }
}
