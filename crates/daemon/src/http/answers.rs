//! What routes answer beside the parts of [`crate::shown`].

use std::sync::Arc;

use anabranch_agents::Counts;
use schemars::JsonSchema;
use serde::Serialize;

use super::why::Why;
use crate::feed::Dated;
use crate::shown::{AskedFor, Enforcement, Link, Neighbour, Session};
use crate::topology::Item;
use crate::watch::Entry;

/// An agent, without its neighbours, links and sessions.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct About {
    /// The node of the agent.
    pub node: String,
    /// The protocol of the network.
    pub protocol: String,
    /// The version of anabranch.
    pub version: &'static str,
    /// The generation in which links count, in hexadecimal digits.
    pub generation: String,
    /// When the agent started, in seconds since 1970.
    pub start_s: f64,
    /// When this was so, in seconds since 1970.
    pub time_s: f64,
    /// The id of the last change that is in this.
    pub last: String,
    /// Whether the agent makes ready to end.
    pub is_draining: bool,
    /// Whether no link holds anything of a session.
    pub is_clear: bool,
    /// The end of the agent's certificate, in seconds since 1970.
    pub certificate_until_s: f64,
    /// Number of neighbours.
    pub neighbours: usize,
    /// Number of neighbours with a connection.
    pub neighbours_up: usize,
    /// Number of sessions.
    pub sessions: usize,
    /// The granted rates of all sessions together, in bit/s.
    pub rate_bps: f64,
    /// Numbers of what programs ask beside rates.
    pub asked_for: AskedFor,
    /// Number of control packets on their way.
    pub packets_in_flight: usize,
    /// Counters since the start.
    pub counts: Counts,
    /// How traffic is kept to rates, if it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enforcement: Option<Enforcement>,
}

/// The links that leave the node and have sessions.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Links {
    /// When this was so, in seconds since 1970.
    pub time_s: f64,
    /// The links.
    pub links: Vec<Link>,
}

/// Some of the published items.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Items")]
pub(super) struct Published {
    /// Number of all items that are published.
    pub count: usize,
    /// The items, in the order of their names.
    pub items: Vec<Item>,
    /// The `after` of the next question, if there are more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// The neighbours.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Neighbours {
    /// When this was so, in seconds since 1970.
    pub time_s: f64,
    /// The neighbours.
    pub neighbours: Vec<Neighbour>,
}

/// Some of the sessions.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Sessions")]
pub(super) struct Found {
    /// When this was so, in seconds since 1970.
    pub time_s: f64,
    /// The id of the last change that is in this.
    pub last: String,
    /// Number of all sessions that were asked for.
    pub count: usize,
    /// The sessions, in the order of their numbers.
    pub sessions: Vec<Arc<Session>>,
    /// The number with which `after` gives the next sessions; absent if there are no more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
}

/// A session, and why it has no more.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Explained {
    /// When this was so, in seconds since 1970.
    pub time_s: f64,
    /// The session.
    pub session: Arc<Session>,
    /// Why it has no more.
    pub why: Why,
}

/// The rates as they were.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct History {
    /// One entry a second; with many sessions there are fewer.
    pub entries: Vec<Entry>,
}

/// What has changed.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Changes")]
pub(super) struct Changed {
    /// The id of the last change that was told or missed; `since` continues after it.
    pub last: String,
    /// Number of changes that are not kept any longer. Absent if `since` is of an earlier start: then all can be different.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missed: Option<u64>,
    /// The changes, the earliest first.
    pub changes: Vec<Arc<Dated>>,
}
