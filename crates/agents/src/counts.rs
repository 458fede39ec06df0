//! Counters of an agent, for its monitoring.

use std::ops::Add;

/// Counters since the start of the agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Number of control packets that links counted.
    pub counted: u64,
    /// Number of control packets of an earlier generation.
    pub stale: u64,
    /// Number of control packets with an invalid path.
    pub lost: u64,
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
            renewals: self.renewals + other.renewals,
            lapsed: self.lapsed + other.lapsed,
        }
    }
}
