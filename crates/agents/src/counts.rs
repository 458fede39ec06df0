//! Counters of an agent, for its monitoring.

use std::ops::Add;

use schemars::JsonSchema;
use serde::Serialize;

/// Counters since the start of the agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Counts {
    /// Number of control packets that links counted.
    pub counted: u64,
    /// Number of control packets of an earlier generation.
    pub stale: u64,
    /// Number of control packets with an invalid path.
    pub lost: u64,
    /// Number of control packets that links refused to count.
    pub refused: u64,
    /// Number of control packets that were answered in place of a neighbour.
    pub overdue: u64,
    /// Number of answers to no packet, or to one that had been answered.
    pub unknown: u64,
    /// Number of false messages of neighbours.
    pub false_messages: u64,
    /// Number of times that a neighbour was given up.
    pub given_up: u64,
    /// Number of new generations that links began.
    pub renewals: u64,
    /// Number of sessions that ended because their application sent no message within its lease.
    pub lapsed: u64,
}

impl Add for Counts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            counted: self.counted + other.counted,
            stale: self.stale + other.stale,
            lost: self.lost + other.lost,
            refused: self.refused + other.refused,
            overdue: self.overdue + other.overdue,
            unknown: self.unknown + other.unknown,
            false_messages: self.false_messages + other.false_messages,
            given_up: self.given_up + other.given_up,
            renewals: self.renewals + other.renewals,
            lapsed: self.lapsed + other.lapsed,
        }
    }
}
