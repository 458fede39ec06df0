//! Window protocols: their decisions on how many packets of a subflow may be in flight, and at which pace.
//!
//! The endpoint (`transport`) determines what was acknowledged, marked and lost, and asks for windows. A control is
//! made for a connection and sees all of its subflows: coupled multipath control needs no other interface.

mod aimd;
mod each_path;
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
pub use each_path::EachPath;
pub use hystart::HyStart;
pub use marked_rate::{MarkedRate, MarkedRateSettings, NextRate};
pub use no_links::links;
pub use recent::Recent;
pub use round_trips::{RoundTrips, backlog};
pub use snapshot::SubflowSnapshot;

/// The largest window in packets, so that windows and rates stay finite whatever acknowledgements say.
pub const MOST_WINDOW: f64 = (1u64 << 30) as f64;

/// The slowest and the fastest pace, in packets a second.
pub const PACES: std::ops::RangeInclusive<f64> = 1e-3..=1e12;

/// The contents of an acknowledgement.
#[derive(Clone, Copy, Debug)]
pub struct Acked {
    /// The present time.
    pub now: Time,
    /// Packets acknowledged for the first time.
    pub packets: u32,
    /// Number of packets that links had marked (ECN), as far as the sink newly reports.
    pub marked: u32,
    /// Round trip of the newest of these packets in seconds; `None` if it is unknown.
    pub rtt: Option<f64>,
    /// Smoothed round trip in seconds, this one included; 0 before the first.
    pub smoothed: f64,
    /// Packets in flight before and after.
    pub in_flight: (u32, u32),
    /// Whether the window limited the subflow when it last sent, so that it may grow.
    pub is_limited: bool,
    /// Whether all packets in flight at the end of the last round are now acknowledged or lost.
    pub ends_round: bool,
    /// Whether packets that were in flight at the last loss or mark still are.
    pub is_recovering: bool,
    /// Delivery rate; `None` if it is unknown.
    pub delivery: Option<Delivery>,
}

/// Delivery rate between two acknowledgements about a round trip apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Delivery {
    /// Rate in packets a second.
    pub rate: f64,
    /// Packets delivered on this subflow when the newest acknowledged packet was sent.
    pub before: u64,
    /// Packets delivered on this subflow by now.
    pub delivered: u64,
    /// Whether the source had too little to send, so that the path may carry more.
    pub is_limited_by_source: bool,
}

/// The reason why a window is to fall.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Packets were lost, since later packets have arrived.
    Loss,
    /// Links have marked packets.
    Mark,
    /// The timeout for acknowledgements expired: all packets in flight count as lost.
    Timeout,
}

/// The deciding part of a source that keeps windows: one for each connection, for all of its subflows.
///
/// Windows are in packets, 1 to [`MOST_WINDOW`].
pub trait WindowControl: Send {
    /// Opens a subflow in its initial state.
    fn open(&mut self, subflow: usize, now: Time);

    /// Closes a subflow.
    fn close(&mut self, subflow: usize);

    /// Sets which subflows share links, by a group number for each subflow; all are 0 at first.
    fn regroup(&mut self, groups: &[u32]) {
        let _ = groups;
    }

    /// Called when the capacity of a subflow's path changes. It is the least capacity of the links as far as the source
    /// knows, or the sending rate of the next loop if that is less. It is over 0, and infinite if neither is known.
    fn on_capacity(&mut self, subflow: usize, capacity: Rate) {
        let _ = (subflow, capacity);
    }

    /// Called when packets of a subflow were acknowledged.
    fn on_ack(&mut self, subflow: usize, acked: &Acked);

    /// Called when packets of a subflow were lost or marked, at most once for the packets in flight at a time.
    /// `in_flight` counts them before the loss was known.
    fn on_signal(&mut self, subflow: usize, signal: Signal, in_flight: u32, now: Time);

    /// Called when a subflow has sent nothing for longer than a retransmission timeout.
    fn on_idle(&mut self, subflow: usize) {
        let _ = subflow;
    }

    /// Congestion window of a subflow, in packets.
    fn window(&self, subflow: usize) -> f64;

    /// Pace of a subflow; `None` if packets may go as soon as the window permits.
    fn pace(&self, subflow: usize) -> Option<Rate> {
        let _ = subflow;
        None
    }

    /// State of an open subflow, for coupled controls elsewhere; `None` if the protocol is never coupled.
    fn snapshot(&self, subflow: usize) -> Option<SubflowSnapshot> {
        let _ = subflow;
        None
    }

    /// Sets the state of a remote subflow, on which another sender sends; `None` if it is gone. It is never a subflow
    /// of this sender.
    fn set_remote(&mut self, subflow: usize, snapshot: Option<SubflowSnapshot>) {
        let _ = (subflow, snapshot);
    }

    /// Smoothed share of marked packets, 0 to 1; `None` if the control keeps none.
    fn marked_share(&self, subflow: usize) -> Option<f64> {
        let _ = subflow;
        None
    }
}
