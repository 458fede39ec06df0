//! `after` of a connection: those that end where it begins, and that it goes on from.

use schemars::JsonSchema;
use serde::de::Deserializer;
use serde::{Deserialize, Serialize};

use super::words::text_or_table;

/// A connection that ends where this one begins, which sends on what comes over it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum AfterChoice {
    /// With the same weight as others.
    Equal(String),
    /// With a weight.
    Weighted(WeightedInput),
}

/// A connection that ends where another begins, and its weight there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WeightedInput {
    /// Which.
    pub connection: String,
    /// Its part of the next loop, relative to the others; over 0.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub weight: f64,
}

impl AfterChoice {
    /// Which connection.
    pub fn connection(&self) -> &str {
        match self {
            Self::Equal(name) => name,
            Self::Weighted(input) => &input.connection,
        }
    }

    /// Its weight.
    pub fn weight(&self) -> f64 {
        match self {
            Self::Equal(_) => 1.0,
            Self::Weighted(input) => input.weight,
        }
    }
}

impl From<WeightedInput> for AfterChoice {
    fn from(input: WeightedInput) -> Self {
        Self::Weighted(input)
    }
}

impl<'de> Deserialize<'de> for AfterChoice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let expected = "a connection such as \"a\", or { connection = \"a\", weight = 2 }";
        text_or_table::<_, WeightedInput, _>(deserializer, expected, |text| Ok(Self::Equal(text.to_owned())))
    }
}
