//! Quantities in a file: text with a unit, such as `"10 Gbit/s"`.

use anabranch_core::parse::{parse_rate, parse_span};
use anabranch_core::{Rate, Span};
use serde::de::{Deserialize, Deserializer, Error, Unexpected, Visitor};

/// Reads text by `parse`; anything else is refused with the example.
struct Text<T> {
    parse: fn(&str) -> Result<T, String>,
    expected: &'static str,
}

impl<T> Visitor<'_> for Text<T> {
    type Value = T;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        (self.parse)(text).map_err(E::custom)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<T, E> {
        Err(E::invalid_type(Unexpected::Signed(value), &self))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<T, E> {
        Err(E::invalid_type(Unexpected::Float(value), &self))
    }
}

/// A rate in a file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateText(pub Rate);

/// A time in a file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpanText(pub Span);

impl<'de> Deserialize<'de> for RateText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let parse = |text: &str| parse_rate(text).map(RateText).map_err(|e| e.to_string());
        deserializer.deserialize_any(Text { parse, expected: "a rate in quotes with its unit, such as \"10 Gbit/s\"" })
    }
}

impl<'de> Deserialize<'de> for SpanText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let parse = |text: &str| parse_span(text).map(SpanText).map_err(|e| e.to_string());
        deserializer.deserialize_any(Text { parse, expected: "a time in quotes with its unit, such as \"5 ms\"" })
    }
}
