//! Sizes and times that are fixed or drawn.

use anabranch_core::quantity::{BytesText, SpanText};
use anabranch_core::{Bytes, Span};
use rand::{Rng, RngExt};
use rand_distr::{Distribution as _, Exp1, StandardNormal};
use schemars::JsonSchema;
use serde::de::{DeserializeOwned, Deserializer, Error};
use serde::{Deserialize, Serialize};

use super::words::{MOST_DURATION, Unlimited, from_text, text_or_table};

/// A size or a time: fixed, or drawn anew each time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Distribution<T> {
    /// A fixed value.
    Fixed(T),
    /// A value drawn anew each time.
    Drawn(Drawn<T>),
}

/// The distribution of a size or a time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", bound(deserialize = "T: Drawable + Deserialize<'de>"))]
pub enum Drawn<T> {
    /// Uniform between the first value and the second.
    #[serde(deserialize_with = "ordered")]
    Uniform([T; 2]),
    /// Exponential with this mean.
    #[serde(deserialize_with = "positive")]
    Exponential(T),
    /// Pareto, with a heavy tail.
    Pareto(Pareto<T>),
    /// Log-normal: the logarithm has the normal distribution.
    Lognormal(Lognormal<T>),
}

/// The Pareto distribution.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, bound(deserialize = "T: Drawable + Deserialize<'de>"))]
pub struct Pareto<T> {
    /// Mean of the distribution.
    #[serde(deserialize_with = "positive")]
    pub mean: T,
    /// Exponent of the tail: it falls with this power of the value; over 1 and at most 1000.
    #[serde(deserialize_with = "shape")]
    #[schemars(range(max = 1000), extend("exclusiveMinimum" = 1))]
    pub shape: f64,
}

/// The log-normal distribution.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, bound(deserialize = "T: Drawable + Deserialize<'de>"))]
pub struct Lognormal<T> {
    /// Mean of the distribution.
    #[serde(deserialize_with = "positive")]
    pub mean: T,
    /// Standard deviation of the logarithm, 0 to 10.
    #[serde(deserialize_with = "sigma")]
    #[schemars(range(min = 0, max = 10))]
    pub sigma: f64,
}

/// A quantity that can be drawn: a whole number of bytes or picoseconds, 1 or more.
pub trait Drawable: Copy {
    /// The most that a draw gives.
    const MOST: u64;

    /// The value as a number of bytes or picoseconds.
    fn number(self) -> u64;
}

impl Drawable for BytesText {
    const MOST: u64 = 1 << 53;

    fn number(self) -> u64 {
        self.0.0
    }
}

impl Drawable for SpanText {
    // The longest run, 4800 h.
    const MOST: u64 = MOST_DURATION.0;

    fn number(self) -> u64 {
        self.0.0
    }
}

impl<T: Drawable> Distribution<T> {
    /// Draws a whole number of bytes or picoseconds, from 1 to the greatest permitted; a fixed value does not use
    /// `rng`.
    fn draw_number(&self, rng: &mut impl Rng) -> u64 {
        let drawn = match self {
            Self::Fixed(value) => return value.number(),
            Self::Drawn(drawn) => drawn,
        };
        let value = match *drawn {
            Drawn::Uniform([least, most]) => return rng.random_range(least.number()..=most.number()),
            Drawn::Exponential(mean) => mean.number() as f64 * exponential(rng),
            Drawn::Pareto(Pareto { mean, shape }) => {
                mean.number() as f64 * (shape - 1.0) / shape * (exponential(rng) / shape).exp()
            }
            Drawn::Lognormal(Lognormal { mean, sigma }) => {
                let normal: f64 = StandardNormal.sample(rng);
                mean.number() as f64 * (sigma * normal - sigma * sigma / 2.0).exp()
            }
        };
        (value.round() as u64).clamp(1, T::MOST)
    }
}

/// Draws from the exponential distribution with mean 1.
pub(crate) fn exponential(rng: &mut impl Rng) -> f64 {
    Exp1.sample(rng)
}

impl Distribution<BytesText> {
    /// Draws a size of 1 byte to 2^53.
    pub fn draw(&self, rng: &mut impl Rng) -> Bytes {
        Bytes(self.draw_number(rng))
    }
}

impl Distribution<SpanText> {
    /// Draws a time of 1 ps to 4800 h.
    pub fn draw(&self, rng: &mut impl Rng) -> Span {
        Span(self.draw_number(rng))
    }
}

impl<T> From<Drawn<T>> for Distribution<T> {
    fn from(drawn: Drawn<T>) -> Self {
        Self::Drawn(drawn)
    }
}

impl<'de, T: Drawable + DeserializeOwned> Deserialize<'de> for Distribution<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let expected = "a quantity in quotes, or a distribution such as { exponential = \"...\" }";
        text_or_table::<_, Drawn<T>, _>(deserializer, expected, |text| fixed(text).map(Self::Fixed))
    }
}

/// The amount of data that a connection sends: `"unlimited"`, a size, or a size drawn for each connection.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Amount {
    /// Data as long as the connection lasts.
    Unlimited(Unlimited),
    /// This amount.
    Limited(Distribution<BytesText>),
}

impl Default for Amount {
    fn default() -> Self {
        Self::Unlimited(Unlimited::Unlimited)
    }
}

impl Amount {
    /// Draws the amount; `None` if there is no limit.
    pub fn draw(&self, rng: &mut impl Rng) -> Option<Bytes> {
        match self {
            Self::Unlimited(_) => None,
            Self::Limited(distribution) => Some(distribution.draw(rng)),
        }
    }
}

impl From<Drawn<BytesText>> for Amount {
    fn from(drawn: Drawn<BytesText>) -> Self {
        Self::Limited(Distribution::Drawn(drawn))
    }
}

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let expected = "a size such as \"3 MB\", a distribution such as { exponential = \"3 MB\" }, or \"unlimited\"";
        text_or_table::<_, Drawn<BytesText>, _>(deserializer, expected, |text| match text {
            "unlimited" => Ok(Self::Unlimited(Unlimited::Unlimited)),
            _ => fixed(text).map(|size| Self::Limited(Distribution::Fixed(size))),
        })
    }
}

fn fixed<T: Drawable + DeserializeOwned>(text: &str) -> Result<T, String> {
    from_text(text).and_then(|value: T| within(value).ok_or_else(|| not_positive(text)))
}

fn within<T: Drawable>(value: T) -> Option<T> {
    (1..=T::MOST).contains(&value.number()).then_some(value)
}

fn not_positive(text: &str) -> String {
    format!("`{text}` cannot be; it must be over 0, and at most 2^53 bytes or 4800 h")
}

/// Reads a time that is over 0 and at most 4800 h.
pub(super) fn within_span<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SpanText, D::Error> {
    positive(deserializer)
}

fn positive<'de, D: Deserializer<'de>, T: Drawable + Deserialize<'de>>(deserializer: D) -> Result<T, D::Error> {
    let value = T::deserialize(deserializer)?;
    within(value).ok_or_else(|| D::Error::custom("it must be over 0, and at most 2^53 bytes or 4800 h"))
}

fn ordered<'de, D: Deserializer<'de>, T: Drawable + Deserialize<'de>>(deserializer: D) -> Result<[T; 2], D::Error> {
    let [least, most] = <[T; 2]>::deserialize(deserializer)?;
    if within(least).is_none() || within(most).is_none() || most.number() < least.number() {
        let must = "the two must be over 0, the least first, and at most 2^53 bytes or 4800 h";
        return Err(D::Error::custom(must));
    }
    Ok([least, most])
}

fn shape<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let value = f64::deserialize(deserializer)?;
    let good = value > 1.0 && value <= 1000.0;
    let message = || format!("shape is {value}; it must be over 1, or there is no mean, and at most 1000");
    if good { Ok(value) } else { Err(D::Error::custom(message())) }
}

fn sigma<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let value = f64::deserialize(deserializer)?;
    let good = (0.0..=10.0).contains(&value);
    if good { Ok(value) } else { Err(D::Error::custom(format!("sigma is {value}; it must be 0 to 10"))) }
}
