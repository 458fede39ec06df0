//! Formulas in scenario files: arithmetic over the state of a connection's subflows, read once and then evaluated
//! without allocation.
//!
//! ```text
//! formula    = sum, or a comparison: sum < sum, with < <= > >=    1 if it holds, else 0
//! sum        = product, or sum + product, or sum - product
//! product    = signed, or product * signed, or product / signed
//! signed     = -signed, or power
//! power      = value, or value ^ signed                           so -x^2 is -(x^2), and 2^3^2 is 2^9
//! value      = number, variable, (formula), or function(formula, ...)
//! ```
//!
//! `names.rs` lists variables and functions. `sum(x)`, `largest(x)` and `smallest(x)` are over all subflows of the
//! connection that are in use and whose round trip is known. Their value is the same for each subflow, so each is
//! evaluated once, however deep it stands.

mod names;
mod program;
mod read;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde::ser::{Serialize, Serializer};

pub use names::Variable;
use program::Program;

/// The most characters of a formula.
pub const MOST_CHARACTERS: usize = 1000;

/// A formula as it was written, ready to be evaluated.
#[derive(Clone)]
pub struct Formula {
    text: String,
    program: Program,
}

/// The first mistake in a formula.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormulaError {
    /// Number of the character at which the mistake begins, from 1.
    pub character: usize,
    /// What is wrong, and what would do.
    pub reason: String,
}

impl Formula {
    /// Reads a formula.
    ///
    /// # Errors
    /// If it is none: the first mistake.
    pub fn new(text: &str) -> Result<Self, FormulaError> {
        read::program(text).map(|program| Self { text: text.to_owned(), program })
    }

    /// The text of the formula.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether the formula has a value over all subflows of a connection, such as `sum(window)`.
    pub fn couples(&self) -> bool {
        self.program.has_totals()
    }

    /// The value for the subflow `own`. `all` are the subflows over which sums and extremes are, and `of` is the value
    /// of a variable of a subflow. The result may be infinite or not a number.
    pub fn value(
        &self,
        own: usize,
        all: &(impl Iterator<Item = usize> + Clone),
        of: impl Fn(Variable, usize) -> f64,
    ) -> f64 {
        self.program.value(own, all, of)
    }
}

impl PartialEq for Formula {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl fmt::Debug for Formula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Formula").field(&self.text).finish()
    }
}

impl fmt::Display for FormulaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "character {} of the formula: {}", self.character, self.reason)
    }
}

impl std::error::Error for FormulaError {}

impl<'de> Deserialize<'de> for Formula {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextOrNumber)
    }
}

struct TextOrNumber;

impl Visitor<'_> for TextOrNumber {
    type Value = Formula;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a formula in quotes, such as \"1 / window\", or a number")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Formula, E> {
        Formula::new(text).map_err(E::custom)
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Formula, E> {
        Formula::new(&number.to_string()).map_err(E::custom)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Formula, E> {
        Formula::new(&number.to_string()).map_err(E::custom)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Formula, E> {
        Formula::new(&number.to_string()).map_err(E::custom)
    }
}

impl Serialize for Formula {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl JsonSchema for Formula {
    fn schema_name() -> Cow<'static, str> {
        "Formula".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [{ "type": "string", "maxLength": MOST_CHARACTERS }, { "type": "number" }],
            "description": "A formula over the state of subflows, or a number.",
            "examples": ["1 / window", "min(largest(rate / rtt) / sum(rate)^2, 1 / window)"]
        })
    }
}
