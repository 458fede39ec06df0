//! `[filters]`: nodes that forward data by filters in packets.

use std::fmt;

use anabranch_psi::{IdentityParameters, Ones};
use schemars::JsonSchema;
use serde::de::{Deserializer, Error, Visitor};
use serde::{Deserialize, Serialize};

/// `[filters]`: each data packet carries a filter, which combines the identities of the links of its path. A node
/// forwards the packet over every link whose identity is in the filter, so copies may stray to links beside the path
/// [jokela2009].
/// [jokela2009].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FiltersTable {
    /// Bits of filters and of identities, 8 to 256.
    #[schemars(range(min = 8, max = 256))]
    pub bits: u32,
    /// Bits of an identity that are one, or `"growing"`.
    pub ones: OnesChoice,
    /// Number of identities of each link, 1 to 255; a filter is made of those for which the fewest packets stray.
    #[schemars(range(min = 1, max = 255))]
    pub tables: u32,
    /// Greatest share of ones in a filter that nodes forward, over 0 and at most 1.
    pub most_fill: f64,
    /// Seed of the identities; the seed of the run if left out.
    #[serde(deserialize_with = "seed")]
    #[schemars(range(max = 9_223_372_036_854_775_807_u64))]
    pub seed: Option<u64>,
}

/// The number of bits of an identity that are one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum OnesChoice {
    /// This number in each identity.
    Each(u32),
    /// One bit for each of the first `bits` links of the network, all different; two bits for the next links, and so
    /// on.
    Growing(Growing),
}

/// The word `"growing"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub enum Growing {
    /// More bits for later links.
    #[serde(rename = "growing")]
    Growing,
}

impl Default for FiltersTable {
    fn default() -> Self {
        let IdentityParameters { bits, ones, tables, most_fill, seed: _ } = IdentityParameters::default();
        let ones = match ones {
            Ones::Each(ones) => OnesChoice::Each(ones),
            Ones::Growing => OnesChoice::Growing(Growing::Growing),
        };
        Self { bits, ones, tables, most_fill, seed: None }
    }
}

impl FiltersTable {
    /// The parameters for drawing identities in a run with this seed; the draw checks whether they are possible.
    pub fn parameters(&self, run_seed: u64) -> IdentityParameters {
        let ones = match self.ones {
            OnesChoice::Each(ones) => Ones::Each(ones),
            OnesChoice::Growing(_) => Ones::Growing,
        };
        let (bits, tables, most_fill) = (self.bits, self.tables, self.most_fill);
        IdentityParameters { bits, ones, tables, most_fill, seed: self.seed.unwrap_or(run_seed) }
    }
}

impl<'de> Deserialize<'de> for OnesChoice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Written)
    }
}

struct Written;

impl Visitor<'_> for Written {
    type Value = OnesChoice;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("how many bits are one, or \"growing\"")
    }

    fn visit_i64<E: Error>(self, count: i64) -> Result<OnesChoice, E> {
        let ones = u32::try_from(count).ok().filter(|&ones| ones > 0);
        ones.map(OnesChoice::Each).ok_or_else(|| E::custom(format!("ones is {count}; it must be 1 or more")))
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<OnesChoice, E> {
        let is_known = word == "growing";
        let mistake = || E::custom(format!("ones is `{word}`; give a number, or \"growing\""));
        is_known.then_some(OnesChoice::Growing(Growing::Growing)).ok_or_else(mistake)
    }
}

fn seed<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    super::run::seed(deserializer).map(Some)
}
