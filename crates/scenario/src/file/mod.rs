//! The file as it is written: one type for each table, one field for each key.

use std::fmt;

use anabranch_core::paths::MOST_PATHS;
use serde::Deserialize;
use serde::de::{Deserializer, Error, SeqAccess, Visitor};
use toml::Spanned;

use anabranch_core::quantity::{RateText, SpanText};

/// A whole scenario file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// For headings.
    #[serde(default)]
    pub title: String,
    /// A network in a file of its own, instead of `node` and `link` tables.
    pub network: Option<Spanned<NetworkFile>>,
    /// Nodes with a position, or without links; others are made as links name them.
    #[serde(default)]
    pub node: Vec<Spanned<NodeTable>>,
    /// Links.
    #[serde(default)]
    pub link: Vec<Spanned<LinkTable>>,
    /// Connections.
    #[serde(default)]
    pub connection: Vec<Spanned<ConnectionTable>>,
}

/// `[network]`: a network in a file of its own.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetworkFile {
    /// Where it is, seen from the folder of the scenario file.
    pub file: String,
    /// For links without a capacity.
    pub capacity: Option<RateText>,
    /// For links without a delay: a time, or "coordinates" for the time that light takes in fibre.
    pub delay: Option<String>,
}

/// `[[node]]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeTable {
    /// Unique.
    pub name: String,
    /// In degrees, east positive.
    pub longitude: Option<f64>,
    /// In degrees, north positive.
    pub latitude: Option<f64>,
}

/// `[[link]]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkTable {
    /// Unique; made of its ends if left out. The way back of a named two-way link has a `~` behind the name.
    pub name: Option<String>,
    /// Node where it begins.
    pub source: String,
    /// Node where it ends.
    pub target: String,
    /// What it can carry.
    pub capacity: RateText,
    /// Propagation delay.
    #[serde(default = "no_delay")]
    pub delay: SpanText,
    /// Whether there is a way back, alike.
    #[serde(default = "yes")]
    pub two_way: bool,
}

/// `[[connection]]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConnectionTable {
    /// Unique; `source>target` if left out.
    pub name: Option<String>,
    /// Node where its traffic enters.
    pub source: String,
    /// Node where its traffic leaves.
    pub target: String,
    /// The most it can use; no limit if left out.
    pub demand: Option<RateText>,
    /// Its claim relative to others.
    #[serde(default = "one")]
    pub weight: f64,
    /// The factor, over 0 and at most 1, that lowers its claim.
    #[serde(default = "one")]
    pub qos: f64,
    /// When it begins.
    #[serde(default = "no_delay")]
    pub start: SpanText,
    /// When it ends; it stays if left out.
    pub stop: Option<SpanText>,
    /// Its paths by the nodes they visit, best first; or the number of shortest paths to use.
    pub paths: Option<Spanned<PathChoice>>,
    /// Its paths by the links they take, best first.
    pub links: Option<Spanned<Vec<Vec<String>>>>,
}

/// The paths of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathChoice {
    /// So many shortest loopless paths by hops, 1 to 65,536.
    Shortest(usize),
    /// The nodes of each path.
    Nodes(Vec<Vec<String>>),
}

impl<'de> Deserialize<'de> for PathChoice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Choice;

        impl<'de> Visitor<'de> for Choice {
            type Value = PathChoice;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "the number of shortest paths, or a list of paths such as [[\"a\", \"b\"], [\"a\", \"c\", \"b\"]]",
                )
            }

            fn visit_i64<E: Error>(self, count: i64) -> Result<PathChoice, E> {
                let count = usize::try_from(count).ok().filter(|n| (1..=MOST_PATHS).contains(n));
                count.map(PathChoice::Shortest).ok_or_else(|| E::custom("the number of paths must be 1 to 65,536"))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<PathChoice, A::Error> {
                let mut paths = Vec::new();
                while let Some(path) = seq.next_element()? {
                    paths.push(path);
                }
                Ok(PathChoice::Nodes(paths))
            }
        }

        deserializer.deserialize_any(Choice)
    }
}

fn no_delay() -> SpanText {
    SpanText(anabranch_core::Span(0))
}

fn yes() -> bool {
    true
}

fn one() -> f64 {
    1.0
}
