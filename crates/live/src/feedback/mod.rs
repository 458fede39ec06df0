//! Feedback of a receiving end to the sending end, besides acknowledgements.
//!
//! The receiving end reports how many packets were marked on each path and, where it sends the data on, at which rate.
//! Where several senders send parts of a file, each reports snapshots of its subflows, and receives those of the
//! others.
//!
//! Feedback travels in datagrams of the same connection, which may be lost: counts are those since a path began. A
//! sender that does not use it ignores it. A receiver counts marks where the agreed control uses them; a peer that does
//! not know such a control refuses it by name.

mod message;
mod receiver;
mod sender;
mod snapshots;
mod wire;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anabranch_proto::window::SubflowSnapshot;
use tokio::sync::Notify;

pub use self::message::{Marked, Message, MessageError, Others};
pub(crate) use self::snapshots::SentSnapshots;
pub use self::snapshots::Snapshots;
pub use self::wire::{Inbox, Wire};
pub(crate) use self::{receiver::receive_feedback, sender::send_feedback};

/// Time between messages with news.
const PERIOD: Duration = Duration::from_millis(5);

/// Time between messages without news, since the last message may be lost: after news, and at most.
const REPEAT: (Duration, Duration) = (Duration::from_millis(100), Duration::from_millis(1600));

/// A rate that changes by more than one part in this many is reported at once.
const AT_ONCE: u64 = 10;

/// Value in place of an unknown rate.
const NO_RATE: u64 = u64::MAX;

/// The latest snapshots of the peer's subflows, with their time of arrival.
#[derive(Debug, Default)]
pub(crate) struct Peer(Mutex<Option<(Instant, Snapshots)>>);

impl Peer {
    /// Sets snapshots that have just arrived.
    fn set(&self, snapshots: Snapshots) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((Instant::now(), snapshots));
    }

    /// Snapshots by the numbers of paths; empty if they are out of date.
    pub fn subflows(&self) -> Vec<(u32, SubflowSnapshot)> {
        let told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = told.as_ref().filter(|(at, _)| at.elapsed() < snapshots::STALE);
        fresh.map_or_else(Vec::new, |(_, snapshots)| snapshots.subflows.clone())
    }

    /// Sequence number of the latest snapshots; 0 before the first.
    pub fn heard(&self) -> u64 {
        let told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        told.as_ref().map_or(0, |(_, snapshots)| snapshots.sequence)
    }
}

/// Instructions for the feedback of a connection whose data are sent on over a next loop.
#[derive(Debug)]
pub struct Guidance {
    onward_bps: AtomicU64,
    /// Share of packets to mark, as the bits of a float.
    share: AtomicU64,
    /// Signal that the rate has changed so much that it must be reported at once.
    change: Notify,
}

impl Default for Guidance {
    fn default() -> Self {
        let (onward_bps, share) = (AtomicU64::new(NO_RATE), AtomicU64::new(0.0_f64.to_bits()));
        Self { onward_bps, share, change: Notify::new() }
    }
}

impl Guidance {
    /// Sets the rate of the next loop and the share of arriving packets to mark.
    pub fn set(&self, onward_bps: Option<u64>, share: f64) {
        let onward_bps = onward_bps.unwrap_or(NO_RATE);
        let before = self.onward_bps.swap(onward_bps, Ordering::Relaxed);
        if onward_bps.abs_diff(before) > before / AT_ONCE {
            self.change.notify_one();
        }
        self.share.store(share.to_bits(), Ordering::Relaxed);
    }

    /// Waits for a change that must be reported at once.
    async fn changed(&self) {
        self.change.notified().await;
    }

    fn onward_bps(&self) -> Option<u64> {
        Some(self.onward_bps.load(Ordering::Relaxed)).filter(|bps| *bps != NO_RATE)
    }

    fn share(&self) -> f64 {
        f64::from_bits(self.share.load(Ordering::Relaxed))
    }
}
