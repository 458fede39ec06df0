//! The scenario file as it is written: one type for each table, one field for each key.
//!
//! A single value is checked as it is read, so that a mistake has its place. Combinations of values are checked where
//! the network and the connections are built.

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
pub mod report;
pub mod run;
pub mod shares;
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

/// The greatest count that a file may contain.
const MOST_COUNT: usize = 10_000_000;

/// A scenario file.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "anabranch scenario")]
pub struct File {
    /// Title for headings.
    #[serde(default)]
    pub title: String,
    /// What the scenario shows and what to look at, in some sentences; pages show it first.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// A network in a separate file or made by a rule, instead of `node` and `link` tables.
    #[schemars(with = "Option<NetworkTable>")]
    pub network: Option<Spanned<NetworkTable>>,
    /// Duration of the run, what is simulated, and what is recorded.
    #[schemars(with = "Option<RunTable>")]
    pub run: Option<Spanned<RunTable>>,
    /// Default values for links and connections.
    #[serde(default)]
    pub defaults: Defaults,
    /// Information that the network gives senders.
    #[schemars(with = "Option<AssistanceTable>")]
    pub assistance: Option<Spanned<AssistanceTable>>,
    /// Settings of relays.
    #[schemars(with = "Option<RelaysTable>")]
    pub relays: Option<Spanned<RelaysTable>>,
    /// Filters in packets, by which nodes forward data and some packets stray; without this table, packets follow their
    /// paths.
    #[schemars(with = "Option<FiltersTable>")]
    pub filters: Option<Spanned<FiltersTable>>,
    /// Connections from a file or by a rule, before all others.
    #[schemars(with = "Option<DemandsTable>")]
    pub demands: Option<Spanned<DemandsTable>>,
    /// Nodes with a position, or without links; links create all other nodes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<NodeTable>")]
    pub node: Vec<Spanned<NodeTable>>,
    /// Links of the network.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<LinkTable>")]
    pub link: Vec<Spanned<LinkTable>>,
    /// Connections, one table each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<ConnectionTable>")]
    pub connection: Vec<Spanned<ConnectionTable>>,
    /// Many random connections, after all others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<TrafficTable>")]
    pub traffic: Vec<Spanned<TrafficTable>>,
}

/// `[defaults]`: default values.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Defaults {
    /// Values for every link without its own.
    #[schemars(with = "Option<LinkSettings>")]
    pub link: Option<Spanned<LinkSettings>>,
    /// Values for every connection without its own.
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

/// Checks that each time of a change is later than the last.
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

/// Reads a number of things that fits into memory.
fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<usize, D::Error> {
    let count = i64::deserialize(deserializer)?;
    let fits = usize::try_from(count).ok().filter(|&n| n <= MOST_COUNT);
    fits.ok_or_else(|| D::Error::custom(format!("it is {count}; it must be 0 to 10,000,000")))
}
