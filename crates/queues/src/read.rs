//! Readers for parameters that several disciplines have in files, with checks of their ranges.

use std::fmt::Display;

use anabranch_core::Bytes;
use anabranch_core::quantity::{BytesText, SpanText};
use anabranch_core::units::MICROSECOND;
use serde::de::{Deserialize, Deserializer, Error};

const SECONDS_100: u64 = 100_000_000_000_000;

/// Returns `value` if `is_good`; otherwise an error with the valid range.
fn checked<T: Display, E: Error>(value: T, is_good: bool, range: &str) -> Result<T, E> {
    if is_good { Ok(value) } else { Err(E::custom(format!("it is {value}; it must be {range}"))) }
}

/// Reads a time from 1 us to 100 s.
pub(super) fn span<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SpanText, D::Error> {
    let SpanText(value) = SpanText::deserialize(deserializer)?;
    checked(value, (MICROSECOND..=SECONDS_100).contains(&value.0), "1 us to 100 s").map(SpanText)
}

/// Reads a time of at most 100 s.
pub(super) fn span_or_none<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SpanText, D::Error> {
    let SpanText(value) = SpanText::deserialize(deserializer)?;
    checked(value, value.0 <= SECONDS_100, "0 s to 100 s").map(SpanText)
}

/// Reads a size from 1 B to 1 GB.
pub(super) fn size<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BytesText, D::Error> {
    let BytesText(Bytes(bytes)) = BytesText::deserialize(deserializer)?;
    checked(bytes, (1..=1_000_000_000).contains(&bytes), "1 B to 1 GB").map(|bytes| BytesText(Bytes(bytes)))
}

/// Reads a count of 1 or more.
pub(super) fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    let value = u32::deserialize(deserializer)?;
    checked(value, value > 0, "1 or more")
}

/// Reads a number that is over 0 and at most 1.
pub(super) fn share<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let value = f64::deserialize(deserializer)?;
    checked(value, value > 0.0 && value <= 1.0, "over 0 and at most 1")
}

/// Reads a probability that may be absent.
pub(super) fn some_probability<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    probability(deserializer).map(Some)
}

/// Reads a probability.
pub(super) fn probability<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let value = f64::deserialize(deserializer)?;
    checked(value, (0.0..=1.0).contains(&value), "0 to 1")
}

/// Reads a gain in 1/s from 0 to 1,000.
pub(super) fn gain<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let value = f64::deserialize(deserializer)?;
    checked(value, (0.0..=1e3).contains(&value), "0 to 1000")
}
