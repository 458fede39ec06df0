//! What a user says of the lines to an exit, which can change while they carry data.

use std::sync::{Arc, OnceLock, Weak};

use anabranch_live::control::Ceiling;
use tokio::sync::watch;

use super::Seen;
pub use crate::bundle::terms::{Terms, TermsError};

/// What a user says of the lines to an exit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Conditions {
    /// The terms of each line, by its number: first those over the interfaces of `via`, then the backups. A missing one is
    /// like others.
    pub lines: Vec<Terms>,
    /// The most that may be sent to the exit, over all lines and over each.
    pub granted: Ceiling,
}

/// What the lines to an exit have carried.
#[derive(Clone, Debug, Default)]
pub struct Counts(Arc<OnceLock<Weak<Seen>>>);

impl Counts {
    /// Bytes on links that each line has carried in both directions, by its number: none before the lines are kept.
    pub fn carried(&self) -> Vec<u64> {
        self.0.get().and_then(Weak::upgrade).map_or_else(Vec::new, |seen| seen.carried())
    }

    /// Counts the lines of an uplink.
    pub(super) fn begin(&self, seen: &Arc<Seen>) {
        // There is one uplink.
        let _ = self.0.set(Arc::downgrade(seen));
    }
}

/// The present conditions, which somebody else changes.
pub type Present = watch::Receiver<Conditions>;

impl Conditions {
    /// The terms of a line, which may be a backup by its place.
    pub(crate) fn of(&self, number: u8, is_backup: bool) -> Terms {
        let terms = self.lines.get(usize::from(number)).copied().unwrap_or_default();
        Terms { is_backup: terms.is_backup || is_backup, ..terms }
    }

    /// These conditions, with the handle by which they are changed.
    pub fn changing(self) -> (watch::Sender<Self>, Present) {
        watch::channel(self)
    }
}
