//! The file as it is written: one type for each table, one field for each key.
//!
//! What a value may be is checked as it is read, so that the mistake has its place; what two values may be together,
//! where the network and the connections are built.

pub mod after;
pub mod assistance;
mod by_key;
mod choice;
pub mod connection;
pub mod distribution;
pub mod filters;
pub mod link;
pub mod network;
pub mod relays;
pub mod run;
pub mod sources;
pub mod trace;
pub mod traffic;
pub mod transport;
pub mod words;

use anabranch_core::Span;
use anabranch_core::quantity::SpanText;
use schemars::JsonSchema;
use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize};
use toml::Spanned;

use assistance::AssistanceTable;
use connection::{ConnectionDefaults, ConnectionTable, DemandsTable};
use filters::FiltersTable;
use link::{LinkSettings, LinkTable, NodeTable};
use network::NetworkTable;
use relays::RelaysTable;
use run::RunTable;
use traffic::TrafficTable;

/// The greatest count that a file may ask for.
const MOST_COUNT: usize = 10_000_000;

/// A whole scenario file.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "anabranch scenario")]
pub struct File {
    /// For headings.
    #[serde(default)]
    pub title: String,
    /// A network in a file of its own or made by a rule, instead of `node` and `link` tables.
    #[schemars(with = "Option<NetworkTable>")]
    pub network: Option<Spanned<NetworkTable>>,
    /// How long, what is simulated, and what is recorded.
    #[schemars(with = "Option<RunTable>")]
    pub run: Option<Spanned<RunTable>>,
    /// What holds where nothing else is said.
    #[serde(default)]
    pub defaults: Defaults,
    /// What the network tells those that send.
    #[schemars(with = "Option<AssistanceTable>")]
    pub assistance: Option<Spanned<AssistanceTable>>,
    /// What holds at relays.
    #[schemars(with = "Option<RelaysTable>")]
    pub relays: Option<Spanned<RelaysTable>>,
    /// Nodes forward data by filters in packets, so that some go astray; if left out, packets follow their paths.
    #[schemars(with = "Option<FiltersTable>")]
    pub filters: Option<Spanned<FiltersTable>>,
    /// Connections from a file or by a rule, before all others.
    #[schemars(with = "Option<DemandsTable>")]
    pub demands: Option<Spanned<DemandsTable>>,
    /// Nodes with a position, or without links; others are made as links name them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<NodeTable>")]
    pub node: Vec<Spanned<NodeTable>>,
    /// Links.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<LinkTable>")]
    pub link: Vec<Spanned<LinkTable>>,
    /// Connections.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<ConnectionTable>")]
    pub connection: Vec<Spanned<ConnectionTable>>,
    /// Many random connections, after all others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<TrafficTable>")]
    pub traffic: Vec<Spanned<TrafficTable>>,
}

/// `[defaults]`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Defaults {
    /// For every link that does not say otherwise itself.
    #[schemars(with = "Option<LinkSettings>")]
    pub link: Option<Spanned<LinkSettings>>,
    /// For every connection that does not say otherwise itself.
    pub connection: ConnectionDefaults,
}

impl File {
    /// Reads the text of a file.
    pub(crate) fn parse(text: &str) -> Result<Self, toml::de::Error> {
        by_key::from_toml(text)
    }

    /// The run as it is written, or by default.
    pub fn run(&self) -> RunTable {
        self.run.as_ref().map(|run| run.get_ref().clone()).unwrap_or_default()
    }
}

fn no_time() -> SpanText {
    SpanText(Span(0))
}

fn yes() -> bool {
    true
}

fn one() -> f64 {
    1.0
}

/// Times of changes, each later than the last.
fn check_order<E: Error>(times: impl IntoIterator<Item = Span>) -> Result<(), E> {
    let mut last = None;
    for time in times {
        if let Some(last) = last.filter(|last| time <= *last) {
            return Err(E::custom(format!(
                "a change at {time} follows one at {last}; each must be later than the last"
            )));
        }
        last = Some(time);
    }
    Ok(())
}

/// A number of things that fits into the memory.
fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<usize, D::Error> {
    let count = i64::deserialize(deserializer)?;
    let fits = usize::try_from(count).ok().filter(|&n| n <= MOST_COUNT);
    fits.ok_or_else(|| D::Error::custom(format!("it is {count}; it must be 0 to 10,000,000")))
}
