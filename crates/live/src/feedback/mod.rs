//! What a receiving end tells the sending one besides acknowledgements: how many packets came marked on each path, and, where
//! it hands the data on, how fast it does. Where several send parts of the same, each tells how its subflows stand, and hears
//! that of the others.
//!
//! It goes in datagrams of the same connection, which may be lost: counts are those since a path began. A sender that
//! does not go by it hears it all the same, and thinks nothing of it. A receiver counts where the control that the two have
//! agreed on counts marks; who does not know such a control refuses it by name.

mod message;
mod receiver;
mod sender;
mod snapshots;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anabranch_proto::window::SubflowSnapshot;
use tokio::sync::Notify;

pub use self::message::{Marked, Message, MessageError, Others};
pub(crate) use self::snapshots::SentSnapshots;
pub use self::snapshots::Snapshots;
pub(crate) use self::{receiver::receive_feedback, sender::send_feedback};

/// How often it is told, if there is anything new.
const PERIOD: Duration = Duration::from_millis(5);

/// How often it is told if there is nothing new: the last message may be lost.
const REPEAT: Duration = Duration::from_millis(100);

/// A rate that changes by more than such a part of it is told at once.
#[cfg(target_os = "linux")]
const AT_ONCE: u64 = 10;

/// No rate is known.
const NO_RATE: u64 = u64::MAX;

/// How the subflows of the peer stand, as it has said last.
#[derive(Debug, Default)]
pub(crate) struct Peer(Mutex<Option<(Instant, Snapshots)>>);

impl Peer {
    /// It has said so now.
    fn set(&self, snapshots: Snapshots) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((Instant::now(), snapshots));
    }

    /// By the numbers of their paths; none if it has not said so for seconds.
    pub fn subflows(&self) -> Vec<(u32, SubflowSnapshot)> {
        let told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = told.as_ref().filter(|(at, _)| at.elapsed() < snapshots::STALE);
        fresh.map_or_else(Vec::new, |(_, snapshots)| snapshots.subflows.clone())
    }

    /// The sequence number of what it has said last; 0 if it has said nothing.
    pub fn heard(&self) -> u64 {
        let told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        told.as_ref().map_or(0, |(_, snapshots)| snapshots.sequence)
    }
}

/// What is to be told and done where data are handed on to a next loop.
#[derive(Debug)]
pub(crate) struct Guidance {
    onward_bps: AtomicU64,
    /// As bits of a float.
    share: AtomicU64,
    /// Told when the rate has changed so much that it is to be told at once.
    change: Notify,
}

impl Default for Guidance {
    fn default() -> Self {
        let (onward_bps, share) = (AtomicU64::new(NO_RATE), AtomicU64::new(0.0_f64.to_bits()));
        Self { onward_bps, share, change: Notify::new() }
    }
}

impl Guidance {
    /// The next loop sends at this rate, and this part of the packets that arrive is to be marked.
    #[cfg(target_os = "linux")]
    pub fn set(&self, onward_bps: Option<u64>, share: f64) {
        let onward_bps = onward_bps.unwrap_or(NO_RATE);
        let before = self.onward_bps.swap(onward_bps, Ordering::Relaxed);
        if onward_bps.abs_diff(before) > before / AT_ONCE {
            self.change.notify_one();
        }
        self.share.store(share.to_bits(), Ordering::Relaxed);
    }

    /// Until there is something to be told at once.
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
