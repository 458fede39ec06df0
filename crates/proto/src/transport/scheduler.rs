//! Schedulers: which of several paths takes the next packet.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The rule by which the next packet gets its path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scheduler {
    /// The path with the shortest round trip; paths without a known round trip come first.
    #[default]
    LowestRtt,
    /// All paths in turns.
    RoundRobin,
    /// All paths: each carries all data that are not acknowledged.
    Redundant,
}
