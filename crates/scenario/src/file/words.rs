//! The common part of several tables: values that are text or a table, texts in place of numbers, bounds.

use std::fmt;
use std::marker::PhantomData;

use anabranch_core::quantity::{BytesText, RateText};
use anabranch_core::{Rate, Span};
use schemars::JsonSchema;
use serde::de::value::{Error as TextError, MapAccessDeserializer, StrDeserializer};
use serde::de::{DeserializeOwned, Deserializer, Error, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};

/// The longest run: 4800 h, which are 200 days.
pub const MOST_DURATION: Span = Span::s(200 * 86_400);

/// Sizes of a data packet in bytes.
pub(super) const PACKETS: std::ops::RangeInclusive<u64> = 40..=65_535;

/// The word `"unlimited"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Unlimited {
    /// No limit.
    #[serde(rename = "unlimited")]
    Unlimited,
}

/// The capacity of a link: a rate, or `"unlimited"`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Capacity {
    /// No limit.
    Unlimited(Unlimited),
    /// This rate.
    Limited(RateText),
}

impl Capacity {
    /// The capacity as a rate; infinite without a limit.
    pub fn rate(self) -> Rate {
        match self {
            Self::Unlimited(_) => Rate(f64::INFINITY),
            Self::Limited(rate) => rate.0,
        }
    }
}

impl From<Rate> for Capacity {
    fn from(rate: Rate) -> Self {
        if rate.0 == f64::INFINITY { Self::Unlimited(Unlimited::Unlimited) } else { Self::Limited(RateText(rate)) }
    }
}

impl<'de> Deserialize<'de> for Capacity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let expected = "a rate in quotes with its unit, such as \"10 Gbit/s\", or \"unlimited\"";
        text(deserializer, expected, |text| match text {
            "unlimited" => Ok(Self::Unlimited(Unlimited::Unlimited)),
            _ => from_text(text).map(Self::Limited),
        })
    }
}

/// The value of type `T` that `text` stands for in a file.
pub(super) fn from_text<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    let deserializer: StrDeserializer<'_, TextError> = text.into_deserializer();
    T::deserialize(deserializer).map_err(|e| e.to_string())
}

/// Reads a text by `read`, and accepts nothing else.
pub(super) fn text<'de, D: Deserializer<'de>, R>(
    deserializer: D,
    expected: &'static str,
    read: impl FnOnce(&str) -> Result<R, String>,
) -> Result<R, D::Error> {
    deserializer.deserialize_any(Text { expected, read })
}

struct Text<F> {
    expected: &'static str,
    read: F,
}

impl<R, F: FnOnce(&str) -> Result<R, String>> Visitor<'_> for Text<F> {
    type Value = R;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<R, E> {
        (self.read)(text).map_err(E::custom)
    }
}

/// Reads a text by `read`, or a table as a `T`.
pub(super) fn text_or_table<'de, D: Deserializer<'de>, T: Deserialize<'de> + Into<R>, R>(
    deserializer: D,
    expected: &'static str,
    read: impl FnOnce(&str) -> Result<R, String>,
) -> Result<R, D::Error> {
    deserializer.deserialize_any(TextOrTable { text: Text { expected, read }, table: PhantomData::<T> })
}

struct TextOrTable<F, T> {
    text: Text<F>,
    table: PhantomData<T>,
}

impl<'de, R, T: Deserialize<'de> + Into<R>, F: FnOnce(&str) -> Result<R, String>> Visitor<'de> for TextOrTable<F, T> {
    type Value = R;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text.expecting(f)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<R, E> {
        self.text.visit_str(text)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<R, A::Error> {
        whole_table::<T, A>(map).map(Into::into)
    }
}

/// Reads a table as a `T`, which may be an enum with one key.
pub(super) fn whole_table<'de, T: Deserialize<'de>, A: MapAccess<'de>>(mut map: A) -> Result<T, A::Error> {
    let value = T::deserialize(MapAccessDeserializer::new(&mut map))?;
    no_more_keys(map).map(|()| value)
}

/// Fails if a key is left in a table.
pub(super) fn no_more_keys<'de, A: MapAccess<'de>>(mut map: A) -> Result<(), A::Error> {
    match map.next_key::<String>()? {
        None => Ok(()),
        Some(key) => Err(A::Error::custom(format!("`{key}` is one key too many here; leave one out"))),
    }
}

/// Reads the size of a packet, `least` bytes or more.
pub(super) fn packet_size<'de, D: Deserializer<'de>>(deserializer: D, least: u64) -> Result<BytesText, D::Error> {
    let size = BytesText::deserialize(deserializer)?;
    let good = (least..=*PACKETS.end()).contains(&size.0.0);
    let message = || format!("a packet of {} B cannot be; it must have {least} B to {} B", size.0.0, PACKETS.end());
    if good { Ok(size) } else { Err(D::Error::custom(message())) }
}
