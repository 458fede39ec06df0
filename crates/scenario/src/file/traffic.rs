//! `[[traffic]]`: many random connections.

use std::fmt;

use anabranch_core::Time;
use anabranch_core::quantity::{BytesText, RateText, SpanText};
use anabranch_proto::Protocol;
use schemars::JsonSchema;
use serde::de::{Deserializer, Error, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use toml::Spanned;

use super::choice::ProtocolChoice;
use super::connection::{PathCount, packet};
use super::count;
use super::distribution::{Amount, Distribution, within_span};
use super::words::text_or_table;
use super::{no_time, one};

/// The most nodes from which a target fetches data.
const MOST_ASKED: usize = 64;

/// `[[traffic]]`: many random connections.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrafficTable {
    /// Beginning of the names of the connections; a number from 1 follows.
    #[serde(default = "t")]
    pub name: String,
    /// Number of connections, 1 to 10,000,000.
    #[serde(deserialize_with = "some")]
    #[schemars(range(min = 1, max = 10_000_000))]
    pub count: usize,
    /// Nodes where connections may begin; all nodes if left out.
    #[serde(rename = "from")]
    #[schemars(with = "Option<Nodes>")]
    pub sources: Option<Spanned<Nodes>>,
    /// Number of nodes of `sources` from which each target fetches data, 1 to 64, as with `sources` of a connection; if
    /// left out, one node sends without requests.
    #[serde(rename = "sources", default, deserialize_with = "asked")]
    #[schemars(range(min = 1, max = 64))]
    pub asked: Option<usize>,
    /// Nodes where connections may end; all nodes if left out.
    #[serde(rename = "to")]
    #[schemars(with = "Option<Nodes>")]
    pub targets: Option<Spanned<Nodes>>,
    /// Whether no node is an end of two connections, or the source of two.
    #[serde(default)]
    pub distinct: Distinct,
    /// Distribution of the start times, after `start`.
    #[serde(default)]
    pub arrivals: Arrivals,
    /// Earliest start of the first connection.
    #[serde(default = "no_time")]
    pub start: SpanText,
    /// Time from the start of each connection to its end. Without it, a connection ends when its amount has been sent.
    pub lifetime: Option<Distribution<SpanText>>,
    /// Distribution of the end times, instead of a lifetime.
    #[schemars(with = "Option<Departures>")]
    pub departures: Option<Spanned<Departures>>,
    /// Amount of data that each connection sends before it ends.
    pub amount: Option<Amount>,
    /// Number of shortest paths of each connection.
    pub paths: Option<PathCount>,
    /// Protocol of the connections.
    #[schemars(with = "Option<ProtocolChoice>")]
    pub protocol: Option<Protocol>,
    /// Size of data packets.
    #[serde(default, deserialize_with = "packet")]
    pub packet: Option<BytesText>,
    /// Demand: the most that each connection can use; no limit if left out.
    pub demand: Option<RateText>,
    /// Claim relative to other connections.
    #[serde(default = "one")]
    pub weight: f64,
    /// Factor over 0 and at most 1 that lowers the claim.
    #[serde(default = "one")]
    pub qos: f64,
    /// Part of the rate that comes before the share that follows from the claim; none if left out. Solvers and d-SLEN take
    /// it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reserved: Option<RateText>,
}

/// Nodes by name, or by a pattern in which `*` stands for any text and `?` for any character.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Nodes {
    /// A pattern such as `h*`.
    Pattern(String),
    /// A list of names.
    Names(Vec<String>),
}

fn asked<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<usize>, D::Error> {
    let count = i64::deserialize(deserializer)?;
    let fits = usize::try_from(count).ok().filter(|count| (1..=MOST_ASKED).contains(count));
    fits.map(Some).ok_or_else(|| D::Error::custom(format!("sources is {count}; it must be 1 to {MOST_ASKED}")))
}

impl<'de> Deserialize<'de> for Nodes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;

        impl<'de> Visitor<'de> for Either {
            type Value = Nodes;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of nodes, or a pattern such as \"h*\"")
            }

            fn visit_str<E: Error>(self, pattern: &str) -> Result<Nodes, E> {
                Ok(Nodes::Pattern(pattern.to_owned()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Nodes, A::Error> {
                let mut names = Vec::new();
                while let Some(name) = seq.next_element()? {
                    names.push(name);
                }
                Ok(Nodes::Names(names))
            }
        }

        deserializer.deserialize_any(Either)
    }
}

/// Nodes that two connections may not have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Distinct {
    /// Whether no node may be an end of two connections.
    Ends(bool),
    /// No node is the source of two connections.
    Sources(Sources),
}

/// The word `"sources"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub enum Sources {
    /// No node is the source of two connections.
    #[serde(rename = "sources")]
    Sources,
}

impl Default for Distinct {
    fn default() -> Self {
        Self::Ends(false)
    }
}

impl<'de> Deserialize<'de> for Distinct {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;

        impl Visitor<'_> for Either {
            type Value = Distinct;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("true, false or \"sources\"")
            }

            fn visit_bool<E: Error>(self, ends: bool) -> Result<Distinct, E> {
                Ok(Distinct::Ends(ends))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Distinct, E> {
                match text {
                    "sources" => Ok(Distinct::Sources(Sources::Sources)),
                    _ => Err(E::custom(format!("distinct cannot be `{text}`; it is true, false or \"sources\""))),
                }
            }
        }

        deserializer.deserialize_any(Either)
    }
}

/// The start times of connections.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Arrivals {
    /// All connections start together.
    AtOnce(AtOnce),
    /// Start times are drawn.
    Drawn(DrawnArrivals),
}

/// The words `"at once"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub enum AtOnce {
    /// All connections start together.
    #[serde(rename = "at once")]
    AtOnce,
}

/// The distribution of start times.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DrawnArrivals {
    /// Each start is uniform within this time.
    #[serde(deserialize_with = "within_span")]
    Uniform(SpanText),
    /// Starts follow one another at exponential intervals of this mean, as in a Poisson process.
    #[serde(deserialize_with = "within_span")]
    Poisson(SpanText),
}

impl Default for Arrivals {
    fn default() -> Self {
        Self::AtOnce(AtOnce::AtOnce)
    }
}

impl From<DrawnArrivals> for Arrivals {
    fn from(drawn: DrawnArrivals) -> Self {
        Self::Drawn(drawn)
    }
}

impl<'de> Deserialize<'de> for Arrivals {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let expected = "\"at once\", { uniform = \"5 us\" } or { poisson = \"10 ms\" }";
        text_or_table::<_, DrawnArrivals, _>(deserializer, expected, |text| match text {
            "at once" => Ok(Self::default()),
            _ => Err(format!("arrivals cannot be `{text}`; they are {expected}")),
        })
    }
}

/// Random ends of connections: each is drawn after `from`, or after the start of the connection if that is later.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Departures {
    /// Earliest end of the first connection, in the time of the run.
    pub from: SpanText,
    /// Length of the time after `from` in which ends are uniform.
    #[serde(deserialize_with = "within_span")]
    pub uniform: SpanText,
}

impl Departures {
    /// Latest end of the last connection.
    pub fn end(&self) -> Time {
        Time(self.from.0.0.saturating_add(self.uniform.0.0))
    }
}

fn t() -> String {
    "t".to_owned()
}

fn some<'de, D: Deserializer<'de>>(deserializer: D) -> Result<usize, D::Error> {
    match count(deserializer)? {
        0 => Err(D::Error::custom("it is 0; it must be 1 or more")),
        count => Ok(count),
    }
}
