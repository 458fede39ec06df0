//! The key `after` of a connection: the connections that end where it begins, and whose data it sends on.

use schemars::JsonSchema;
use serde::de::Deserializer;
use serde::{Deserialize, Serialize};

use super::words::text_or_table;

/// A connection that ends where this connection begins; its data are sent on.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum AfterChoice {
    /// A connection of equal weight.
    Equal(String),
    /// A connection with a weight.
    Weighted(WeightedInput),
}

/// A connection that ends where another begins, with its weight there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WeightedInput {
    /// Name of the connection.
    pub connection: String,
    /// Share of the next loop, relative to the other connections; over 0.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub weight: f64,
}

impl AfterChoice {
    /// Name of the connection.
    pub fn connection(&self) -> &str {
        match self {
            Self::Equal(name) => name,
            Self::Weighted(input) => &input.connection,
        }
    }

    /// Weight of the connection.
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
