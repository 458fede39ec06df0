//! What window protocols decide: how many packets of a subflow may be under way, and at which pace they go.
//!
//! The endpoint (`transport`) finds out what was acknowledged, marked and lost, and asks how large windows are. A control
//! is made for a connection and sees all of its subflows: coupled multipath control needs no other interface.

mod aimd;
mod hystart;
mod marked_rate;
#[cfg(test)]
mod marked_rate_tests;
mod no_links;
mod recent;
mod round_trips;
mod snapshot;
#[cfg(test)]
pub(crate) mod testing;

use anabranch_core::{Rate, Time};

pub use aimd::{Aimd, Coupling, Flow, known};
pub use hystart::HyStart;
pub use marked_rate::{MarkedRate, MarkedRateSettings, NextRate};
pub use no_links::links;
pub use recent::Recent;
pub use round_trips::{RoundTrips, backlog};
pub use snapshot::SubflowSnapshot;

/// No window is larger, in packets: whatever acknowledgements say, windows and rates stay numbers.
pub const MOST_WINDOW: f64 = (1u64 << 30) as f64;

/// Paces are no slower and no faster, in packets a second.
pub const PACES: std::ops::RangeInclusive<f64> = 1e-3..=1e12;

/// What an acknowledgement has brought.
#[derive(Clone, Copy, Debug)]
pub struct Acked {
    /// The present.
    pub now: Time,
    /// Packets acknowledged for the first time.
    pub packets: u32,
    /// Packets that links had marked (ECN), of those that the sink has told of since the last time.
    pub marked: u32,
    /// The round trip of the newest of these packets in seconds; `None` if it cannot be told.
    pub rtt: Option<f64>,
    /// The smoothed round trip in seconds, this one included; 0 before the first.
    pub smoothed: f64,
    /// Packets under way before and after.
    pub in_flight: (u32, u32),
    /// Whether the window held the subflow back when it last sent, so that it may grow.
    pub is_limited: bool,
    /// Whether all that was under way at the end of the last round is now acknowledged or lost.
    pub ends_round: bool,
    /// Whether packets that were under way at the last loss or mark still are.
    pub is_recovering: bool,
    /// How fast packets have been delivered.
    pub delivery: Option<Delivery>,
}

/// How fast packets were delivered between two acknowledgements, about a round trip apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Delivery {
    /// In packets a second.
    pub rate: f64,
    /// Packets delivered on this subflow up to when the newest acknowledged one was sent.
    pub before: u64,
    /// Packets delivered on this subflow by now.
    pub delivered: u64,
    /// Whether the source had too little to send, so that the path may carry more.
    pub is_limited_by_source: bool,
}

/// Why a window is to fall.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Packets were lost: later ones have arrived.
    Loss,
    /// Links have marked packets.
    Mark,
    /// No acknowledgement came for long: all is lost.
    Timeout,
}

/// The deciding part of a source that keeps windows: one for each connection, over all of its subflows.
///
/// Windows are in packets, 1 to [`MOST_WINDOW`].
pub trait WindowControl: Send {
    /// A subflow may be used from now on; it begins anew.
    fn open(&mut self, subflow: usize, now: Time);

    /// A subflow is used no longer.
    fn close(&mut self, subflow: usize);

    /// Which subflows share links, by a number for each; 0 for all until it is told otherwise.
    fn regroup(&mut self, groups: &[u32]) {
        let _ = groups;
    }

    /// What the path of a subflow can carry changes: the least capacity of its links, as far as the source knows, or what
    /// the next loop sends at if that is less; over 0, and infinite if neither is known.
    fn on_capacity(&mut self, subflow: usize, capacity: Rate) {
        let _ = (subflow, capacity);
    }

    /// Packets of a subflow were acknowledged.
    fn on_ack(&mut self, subflow: usize, acked: &Acked);

    /// Packets of a subflow were lost or marked: called at most once for what is under way at a time, with how many that
    /// were before the loss was known.
    fn on_signal(&mut self, subflow: usize, signal: Signal, in_flight: u32, now: Time);

    /// A subflow has sent nothing for longer than a retransmission timeout.
    fn on_idle(&mut self, subflow: usize) {
        let _ = subflow;
    }

    /// How many packets may be under way.
    fn window(&self, subflow: usize) -> f64;

    /// How fast they may be sent; `None` as soon as the window lets them.
    fn pace(&self, subflow: usize) -> Option<Rate> {
        let _ = subflow;
        None
    }

    /// How an open subflow stands, for controls elsewhere that are coupled with it; `None` if none ever is.
    fn snapshot(&self, subflow: usize) -> Option<SubflowSnapshot> {
        let _ = subflow;
        None
    }

    /// Somebody else sends on a subflow, never this one: it now stands so, or is gone.
    fn set_remote(&mut self, subflow: usize, snapshot: Option<SubflowSnapshot>) {
        let _ = (subflow, snapshot);
    }

    /// The smoothed share of marked packets that it goes by, 0 to 1; `None` if it keeps none.
    fn marked_share(&self, subflow: usize) -> Option<f64> {
        let _ = subflow;
        None
    }
}
