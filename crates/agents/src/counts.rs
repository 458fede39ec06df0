//! What happened at an agent, for who watches over it.

use std::ops::Add;

/// Counts since the agent began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Control packets that links counted.
    pub counted: u64,
    /// Control packets of an epoch that is over.
    pub stale: u64,
    /// Control packets with a path that is none.
    pub lost: u64,
    /// How often links began a new epoch.
    pub renewals: u64,
    /// Sessions that were taken away from applications that did not say that they were there.
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
