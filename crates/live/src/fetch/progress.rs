//! The progress of a fetch, for display.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use anabranch_transfer::Root;

use crate::paths::PathReport;
use crate::session::Session;

/// The state of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceStanding {
    /// The source is being connected.
    Awaited,
    /// The source reads the file to compute its digests.
    Preparing,
    /// The source has a file; the fetch waits for the hashes of all sources to decide which file it is for.
    Waiting,
    /// The source sends.
    Sending,
    /// The source is lost, and will be connected again.
    Lost(String),
    /// The source is refused, and is not connected again.
    Refused(String),
}

/// The progress of a source.
#[derive(Clone, Debug, PartialEq)]
pub struct SourceProgress {
    /// Name of the source for readers.
    pub label: String,
    /// State of the source.
    pub standing: SourceStanding,
    /// Correct bytes that this source was the first to bring.
    pub brought: u64,
    /// Reports of the paths of its last connection.
    pub paths: Vec<PathReport>,
}

/// The state of a fetch.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct State {
    /// Size and hash of the file; `None` until they are known.
    pub file: Option<(u64, Root)>,
    /// Bytes that were on the disk before the fetch.
    pub was_there: u64,
    /// Progress of each source.
    pub sources: Vec<SourceProgress>,
}

/// The progress of a fetch, which any thread may read.
#[derive(Debug, Default)]
pub struct Progress(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    state: State,
    /// Session with each source, while it lasts.
    sessions: Vec<Weak<Session>>,
}

impl Progress {
    /// Creates the progress of a fetch from sources with these labels.
    pub fn new(labels: impl IntoIterator<Item = String>) -> Self {
        let source = |label| SourceProgress { label, standing: SourceStanding::Awaited, brought: 0, paths: Vec::new() };
        let sources: Vec<SourceProgress> = labels.into_iter().map(source).collect();
        let sessions = sources.iter().map(|_| Weak::new()).collect();
        Self(Mutex::new(Inner { state: State { sources, ..State::default() }, sessions }))
    }

    /// The present state of the fetch.
    pub fn state(&self) -> State {
        self.look();
        self.lock().state.clone()
    }

    /// Updates the reports of paths; the last report stays for paths that are gone at the next update.
    pub(super) fn look(&self) {
        let Inner { state, sessions } = &mut *self.lock();
        for (source, session) in state.sources.iter_mut().zip(sessions) {
            if let Some(session) = session.upgrade() {
                source.paths = session.paths();
            }
        }
    }

    /// Records that a source sends over this session.
    pub(super) fn connected(&self, source: usize, session: &Arc<Session>) {
        self.lock().sessions[source] = Arc::downgrade(session);
        self.stands(source, SourceStanding::Sending);
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records the size and the hash of the file.
    pub(super) fn begins(&self, size: u64, root: Root) {
        self.lock().state.file = Some((size, root));
    }

    /// Records the number of bytes that were on the disk before.
    pub(super) fn was_there(&self, bytes: u64) {
        self.lock().state.was_there = bytes;
    }

    /// Sets the state of a source; a refused source stays refused.
    pub(super) fn stands(&self, source: usize, standing: SourceStanding) {
        let own = &mut self.lock().state.sources[source].standing;
        if !matches!(own, SourceStanding::Refused(_)) {
            *own = standing;
        }
    }

    /// Adds bytes that a source brought.
    pub(super) fn brought(&self, source: usize, bytes: u64) {
        self.lock().state.sources[source].brought += bytes;
    }

    /// Bytes that each source brought.
    pub(super) fn all_brought(&self) -> Vec<u64> {
        self.lock().state.sources.iter().map(|source| source.brought).collect()
    }

    /// The reasons why no source sends.
    pub(super) fn reasons(&self) -> String {
        let reason = |source: &SourceProgress| match &source.standing {
            SourceStanding::Lost(why) | SourceStanding::Refused(why) => format!("{}: {why}", source.label),
            SourceStanding::Preparing => format!("{}: it still reads the file", source.label),
            SourceStanding::Waiting => format!("{}: it waits for what others have", source.label),
            SourceStanding::Awaited => format!("{}: it does not answer", source.label),
            SourceStanding::Sending => format!("{}: it sends", source.label),
        };
        self.lock().state.sources.iter().map(reason).collect::<Vec<_>>().join("; ")
    }
}
