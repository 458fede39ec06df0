//! Readers of numbers and times in files that must lie in a range.

use std::ops::RangeInclusive;

use anabranch_core::Span;
use anabranch_core::quantity::SpanText;
use anabranch_core::units::Short;
use serde::{Deserialize, Deserializer, de};

/// Reads a number in a range.
pub(super) fn number<'de, D: Deserializer<'de>>(range: RangeInclusive<f64>, deserializer: D) -> Result<f64, D::Error> {
    let value = f64::deserialize(deserializer)?;
    if range.contains(&value) {
        return Ok(value);
    }
    let (value, least, most) = (Short(value), Short(*range.start()), Short(*range.end()));
    Err(de::Error::custom(format!("it is {value}; it must be {least} to {most}")))
}

/// Reads a time between changes of a rate.
pub(super) fn interval<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<SpanText>, D::Error> {
    span(Span::us(1)..=Span::s(10), deserializer).map(Some)
}

/// Reads the time for which round trips count.
pub(super) fn rtt_window<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<SpanText>, D::Error> {
    span(Span::ms(1)..=Span::s(3600), deserializer).map(Some)
}

/// Reads a time in a range.
pub(super) fn span<'de, D: Deserializer<'de>>(
    range: RangeInclusive<Span>,
    deserializer: D,
) -> Result<SpanText, D::Error> {
    let value = SpanText::deserialize(deserializer)?;
    if range.contains(&value.0) {
        return Ok(value);
    }
    Err(de::Error::custom(format!("it is {}; it must be {} to {}", value.0, range.start(), range.end())))
}
