//! Samples of the network of a lab at requested instants.

use anabranch_core::{LinkId, Rate, Time};
use anabranch_links::Totals;

/// The counters of a path in the forward direction, including IP headers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathCount {
    /// Bytes that entered the first link.
    pub sent: u64,
    /// Bytes that reached the end of the path.
    pub delivered: u64,
    /// Bytes for which there was no room, or that were lost on the way.
    pub lost: u64,
    /// Number of packets that reached the end of the path.
    pub packets: u64,
    /// Number of these packets that were marked.
    pub marked: u64,
    /// Sum of the delays of these packets, in picoseconds.
    pub delays: u128,
    /// Longest of these delays, in picoseconds.
    pub most_delay: u64,
}

/// The state of a link at an instant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkState {
    /// The link.
    pub link: LinkId,
    /// Counters of the link at the instant.
    pub totals: Totals,
    /// Backlog in bytes.
    pub backlog: u64,
    /// Greatest number of packets that waited at a time since the instant before.
    pub peak_packets: u32,
    /// Capacity; infinite for a link without a limit.
    pub capacity: Rate,
}

/// The state of the network at an instant.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// The instant.
    pub time: Time,
    /// The links in use, in the order of the plan's network.
    pub links: Vec<LinkState>,
    /// Counters of each path.
    pub paths: Vec<PathCount>,
    /// Number of packets that links had taken in at the instant.
    pub hops: u64,
}
