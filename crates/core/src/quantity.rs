//! Quantities in files: text with a unit, such as `"10 Gbit/s"`, written so that reading gives the same value.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error, Unexpected, Visitor};
use serde::ser::{Serialize, Serializer};

use crate::parse::{QuantityError, parse_bytes, parse_rate, parse_span};
use crate::units::{Bytes, Rate, Span};

/// A rate in a file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateText(pub Rate);

/// A time in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpanText(pub Span);

/// A size in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BytesText(pub Bytes);

/// The common operations of the three quantities.
trait Quantity: Sized {
    const NAME: &'static str;
    const EXPECTED: &'static str;
    const EXAMPLE: &'static str;

    fn read(text: &str) -> Result<Self, QuantityError>;
    /// The value as texts, from larger units to smaller ones; the last text is exact.
    fn texts(&self) -> Vec<String>;
    fn is(&self, other: &Self) -> bool;
}

impl Quantity for RateText {
    const NAME: &'static str = "Rate";
    const EXPECTED: &'static str = "a rate in quotes with its unit, such as \"10 Gbit/s\"";
    const EXAMPLE: &'static str = "10 Gbit/s";

    fn read(text: &str) -> Result<Self, QuantityError> {
        parse_rate(text).map(Self)
    }

    fn texts(&self) -> Vec<String> {
        vec![self.0.to_string(), format!("{} bit/s", self.0.0)]
    }

    fn is(&self, other: &Self) -> bool {
        self.0.0.to_bits() == other.0.0.to_bits()
    }
}

impl Quantity for SpanText {
    const NAME: &'static str = "Time";
    const EXPECTED: &'static str = "a time in quotes with its unit, such as \"5 ms\"";
    const EXAMPLE: &'static str = "5 ms";

    fn read(text: &str) -> Result<Self, QuantityError> {
        parse_span(text).map(Self)
    }

    fn texts(&self) -> Vec<String> {
        let seconds = format!("{} s", self.0.seconds());
        if self.0.0 == 0 { vec![seconds] } else { vec![self.0.to_string(), seconds, format!("{} ps", self.0.0)] }
    }

    fn is(&self, other: &Self) -> bool {
        self == other
    }
}

impl Quantity for BytesText {
    const NAME: &'static str = "Size";
    const EXPECTED: &'static str = "a size in quotes with its unit, such as \"64 KiB\"";
    const EXAMPLE: &'static str = "64 KiB";

    fn read(text: &str) -> Result<Self, QuantityError> {
        parse_bytes(text).map(Self)
    }

    fn texts(&self) -> Vec<String> {
        let bytes = self.0.0;
        let scaled = |size: u64, unit: &str| {
            (bytes >= size && bytes.is_multiple_of(size)).then(|| format!("{} {unit}", bytes / size))
        };
        let units = [(1_000_000_000, "GB"), (1 << 20, "MiB"), (1_000_000, "MB"), (1 << 10, "KiB"), (1000, "kB")];
        units.iter().filter_map(|&(size, unit)| scaled(size, unit)).chain([format!("{bytes} B")]).collect()
    }

    fn is(&self, other: &Self) -> bool {
        self == other
    }
}

/// A visitor that reads text, and refuses anything else with an example.
struct Text<T>(std::marker::PhantomData<T>);

impl<T: Quantity> Visitor<'_> for Text<T> {
    type Value = T;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(T::EXPECTED)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        T::read(text).map_err(E::custom)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<T, E> {
        Err(E::invalid_type(Unexpected::Signed(value), &self))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<T, E> {
        Err(E::invalid_type(Unexpected::Float(value), &self))
    }
}

fn schema<T: Quantity>() -> Schema {
    json_schema!({ "type": "string", "description": format!("{}.", T::EXPECTED), "examples": [T::EXAMPLE] })
}

macro_rules! in_files {
    ($($name:ident)*) => { $(
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(Text(std::marker::PhantomData))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let is_exact = |text: &String| Self::read(text).is_ok_and(|read| read.is(self));
                let texts = self.texts();
                let last = texts.last().expect("there is one text or more");
                f.write_str(texts.iter().find(|text| is_exact(text)).unwrap_or(last))
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                Self::NAME.into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                schema::<Self>()
            }
        }
    )* };
}

in_files!(RateText SpanText BytesText);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn written<T: Quantity>(value: &T) -> Option<String> {
        value.texts().into_iter().find(|text| T::read(text).is_ok_and(|read| read.is(value)))
    }

    #[test]
    fn a_quantity_is_written_in_the_unit_that_fits() {
        assert_eq!(written(&RateText(Rate(10e6))).unwrap(), "10 Mbit/s");
        assert_eq!(written(&SpanText(Span::us(2500))).unwrap(), "2.5 ms");
        assert_eq!(written(&SpanText(Span(0))).unwrap(), "0 s");
        assert_eq!(written(&BytesText(Bytes(65_536))).unwrap(), "64 KiB");
        assert_eq!(written(&BytesText(Bytes(1001))).unwrap(), "1001 B");
    }

    proptest! {
        #[test]
        fn what_is_written_reads_as_the_same(rate in 0.0..1e30, span in 0..u64::MAX / 2, bytes in 0..1u64 << 53) {
            prop_assert!(written(&RateText(Rate(rate))).is_some());
            prop_assert!(written(&BytesText(Bytes(bytes))).is_some());
            prop_assert!(written(&SpanText(Span(span))).is_some());
        }
    }
}
