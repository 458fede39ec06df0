//! What is known of sessions beside their rates: whose they are, where they lead and how they are called.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anabranch_agents::{AgentId, ClientId};
use anabranch_core::{NodeId, Rate};
use schemars::JsonSchema;
use serde::Serialize;
use tokio::sync::watch;

/// A session as it was admitted.
#[derive(Clone, Debug)]
pub(crate) struct Admitted {
    /// The application; empty for the agent itself.
    pub application: String,
    pub target: NodeId,
    /// Greatest number of paths.
    pub paths: usize,
    pub weight: f64,
    pub reserved: f64,
    pub demand: f64,
    /// Greatest demand.
    pub most: f64,
}

/// The sessions of an agent and the links of the network, known to all its parts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Directory {
    entries: Arc<Mutex<Entries>>,
    links: watch::Sender<()>,
}

/// Numbers of what programs ask beside rates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct AskedFor {
    /// Items that are published.
    pub items: usize,
    /// Sources of these items.
    pub sources: usize,
    /// Programs that are told the sources of an item.
    pub finders: usize,
    /// Programs that are told paths.
    pub paths: usize,
}

#[derive(Debug, Default)]
pub(crate) struct Entries {
    pub admitted: BTreeMap<ClientId, Admitted>,
    /// The names of sessions that have one.
    pub names: BTreeMap<ClientId, String>,
    /// Numbers of requests that were refused: for good, and for the moment.
    pub refused: (u64, u64),
    /// Numbers of what programs ask beside rates.
    pub asked_for: AskedFor,
    /// The capacities of links of which the agent has heard, by their agents and numbers.
    pub capacities: BTreeMap<(AgentId, u32), Rate>,
}

impl Directory {
    /// The entries, which nobody else changes meanwhile.
    pub fn open(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells when links go or come.
    pub fn links(&self) -> watch::Receiver<()> {
        self.links.subscribe()
    }

    /// Says that a link has gone or come.
    pub fn tell_of_links(&self) {
        self.links.send_replace(());
    }
}
