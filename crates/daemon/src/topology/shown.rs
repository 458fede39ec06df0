//! What programs are told of paths and items.

use anabranch_core::{LinkId, Network};
use anabranch_psi::{Filter, PathRecord};
use schemars::JsonSchema;
use serde::Serialize;

/// An answer to a program.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Answer {
    /// Paths of one request.
    Paths(Vec<PathShown>),
    /// The sources of an item.
    Sources(Vec<Source>),
    /// The name of an item that the program now publishes.
    Published(String),
}

/// The paths of a request.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Paths")]
pub(crate) struct PathsShown {
    /// The paths.
    paths: Vec<PathShown>,
}

/// A path over links that are up.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "FoundPath")]
pub(crate) struct PathShown {
    /// The node where it begins.
    pub from: String,
    /// The links in order.
    links: Vec<String>,
    /// The links of the way back; none if a link has no twin.
    back: Option<Vec<String>>,
    /// The group of the path: paths of a group share links, directly or through other paths.
    group: u32,
    /// The filter of packets over the path; none if it is too long for one.
    forward: Option<FilterShown>,
    /// The filter of packets over the way back.
    reverse: Option<FilterShown>,
}

/// A LIPSIN filter.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Filter")]
pub(crate) struct FilterShown {
    /// The table of its identities.
    table: u8,
    /// Its bits, in hexadecimal digits.
    bits: String,
}

/// A source of an item, with paths from it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Source")]
pub(crate) struct Source {
    /// The node where it is.
    pub node: String,
    /// The URL by which the item is fetched there.
    pub at: String,
    /// The paths to the node that asks: none if that is this node, or cannot be reached.
    pub paths: Vec<PathShown>,
}

/// A published item.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Item {
    /// Its name.
    pub item: String,
    /// Where it is.
    pub sources: Vec<ItemSource>,
}

/// A place where an item is.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct ItemSource {
    /// The node.
    pub node: String,
    /// The URL.
    pub at: String,
}

impl PathShown {
    pub fn of(record: &PathRecord, network: &Network) -> Self {
        let names = |links: &[LinkId]| links.iter().map(|&link| network.link(link).name.clone()).collect::<Vec<_>>();
        let filter = |filter: Option<Filter>| filter.map(|own| FilterShown { table: own.table, bits: own.bits.hex() });
        Self {
            from: network.node(record.publisher).name.clone(),
            links: names(&record.links),
            back: record.back.as_deref().map(names),
            group: record.group,
            forward: filter(record.forward),
            reverse: filter(record.reverse),
        }
    }
}
