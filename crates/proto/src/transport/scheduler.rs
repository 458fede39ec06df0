//! Which path takes the next packet, where several may.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which path takes the next packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scheduler {
    /// That with the shortest round trip; those of which none is known come first.
    #[default]
    LowestRtt,
    /// One after the other.
    RoundRobin,
    /// All: each path carries all data that is not known to have arrived.
    Redundant,
}
