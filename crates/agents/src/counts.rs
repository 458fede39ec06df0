//! What happened at an agent, for who watches over it.

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
