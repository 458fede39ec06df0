//! How the network was at the instants that it was asked for.

use anabranch_core::{LinkId, Rate, Time};
use anabranch_links::Totals;

/// What happened to the packets of a path on their way there, IP headers and all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathCount {
    /// Bytes that entered its first link.
    pub sent: u64,
    /// Bytes that came to its end.
    pub delivered: u64,
    /// Bytes for which there was no room, or that were lost on the way.
    pub lost: u64,
    /// Packets that came to its end.
    pub packets: u64,
    /// Those of them that were marked.
    pub marked: u64,
    /// The sum of the times that they took, in picoseconds.
    pub delays: u128,
    /// The longest of these times, in picoseconds.
    pub most_delay: u64,
}

/// A link at an instant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkState {
    /// Which.
    pub link: LinkId,
    /// What happened by then.
    pub totals: Totals,
    /// Bytes that wait.
    pub backlog: u64,
    /// The most packets that waited at a time since the instant before.
    pub peak_packets: u32,
    /// What it can carry; infinite without limit.
    pub capacity: Rate,
}

/// The network at an instant.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// When.
    pub time: Time,
    /// The links in use, in the order of the plan's network.
    pub links: Vec<LinkState>,
    /// The paths.
    pub paths: Vec<PathCount>,
    /// Packets that links took in by then.
    pub hops: u64,
}
