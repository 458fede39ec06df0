//! The progress of a fetch, for display.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use crate::paths::PathReport;
use crate::session::Session;

/// The state of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceStanding {
    /// The source is being connected.
    Awaited,
    /// The source reads the file to compute its digests.
    Preparing,
    /// The source has a file; the fetch waits for what others have, to decide which file it is for.
    Waiting,
    /// The source sends.
    Sending,
    /// The source is lost, and will be connected again.
    Lost(String),
    /// The source is refused, and is not connected again.
    Refused(String),
}

/// The progress of a path to a source.
#[derive(Clone, Debug, PartialEq)]
pub struct PathProgress {
    /// Addresses of the path, for readers.
    pub label: String,
    /// Whether the path is open now.
    pub is_open: bool,
    /// Bytes that came over it: payload of UDP from sharers, bytes of the file from mirrors.
    pub received_bytes: u64,
    /// Round trip in seconds; at a mirror the time in which it accepted the connection.
    pub rtt_s: f64,
}

/// The progress of a source.
#[derive(Clone, Debug, PartialEq)]
pub struct SourceProgress {
    /// Name of the source for readers.
    pub label: String,
    /// Whether it is a web server, and not a sharer.
    pub is_mirror: bool,
    /// Whether it sends parts of files, if it is a web server that has said so.
    pub takes_ranges: Option<bool>,
    /// State of the source.
    pub standing: SourceStanding,
    /// Correct bytes that this source was the first to bring.
    pub brought: u64,
    /// Time for which nothing came from the source although chunks were requested of it.
    pub silence: Duration,
    /// Number of times that the source was lost after it had been ready.
    pub losses: u32,
    /// Progress of the paths of its last connection.
    pub paths: Vec<PathProgress>,
}

impl From<PathReport> for PathProgress {
    fn from(report: PathReport) -> Self {
        let PathReport { label, is_open, received_bytes, rtt_s, .. } = report;
        Self { label, is_open, received_bytes, rtt_s }
    }
}

/// The state of a fetch.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct State {
    /// Size of the file in bytes; `None` until it is known.
    pub size: Option<u64>,
    /// Bytes that were on the disk before the fetch.
    pub was_there: u64,
    /// Whether chunks of several mirrors are put together, of which nothing shows that they have the same file but its
    /// size.
    pub agree_in_size_alone: bool,
    /// Progress of each source.
    pub sources: Vec<SourceProgress>,
}

/// The progress of a fetch, which any thread may read.
#[derive(Debug, Default)]
pub struct Progress(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    state: State,
    /// Session with each sharer, while it lasts.
    sessions: Vec<Weak<Session>>,
    /// Lanes to mirrors: the source and the path of each, and its counter.
    lanes: Vec<(usize, usize, Arc<AtomicU64>)>,
}

impl Progress {
    /// Creates the progress of a fetch from sharers and web servers with these labels.
    pub fn new(sharers: impl IntoIterator<Item = String>, mirrors: impl IntoIterator<Item = String>) -> Self {
        let source = |label, is_mirror| SourceProgress {
            label,
            is_mirror,
            takes_ranges: None,
            standing: SourceStanding::Awaited,
            brought: 0,
            silence: Duration::ZERO,
            losses: 0,
            paths: Vec::new(),
        };
        let sharers = sharers.into_iter().map(|label| source(label, false));
        let sources: Vec<_> = sharers.chain(mirrors.into_iter().map(|label| source(label, true))).collect();
        let sessions = sources.iter().map(|_| Weak::new()).collect();
        Self(Mutex::new(Inner { state: State { sources, ..State::default() }, sessions, lanes: Vec::new() }))
    }

    /// The present state of the fetch.
    pub fn state(&self) -> State {
        self.look();
        self.lock().state.clone()
    }

    /// Updates the reports of paths; the last report stays for paths that are gone at the next update.
    pub(super) fn look(&self) {
        let Inner { state, sessions, lanes } = &mut *self.lock();
        for (source, session) in state.sources.iter_mut().zip(sessions) {
            if let Some(session) = session.upgrade() {
                source.paths = session.paths().into_iter().map(PathProgress::from).collect();
            }
        }
        for (source, path, received) in lanes {
            state.sources[*source].paths[*path].received_bytes = received.load(Ordering::Relaxed);
        }
    }

    /// Adds a path to a mirror; returns its number there.
    pub(super) fn add_lane(&self, source: usize, received: Arc<AtomicU64>) -> usize {
        let Inner { state, lanes, .. } = &mut *self.lock();
        let paths = &mut state.sources[source].paths;
        paths.push(PathProgress { label: "not connected".to_owned(), is_open: false, received_bytes: 0, rtt_s: 0.0 });
        lanes.push((source, paths.len() - 1, received));
        paths.len() - 1
    }

    /// Records that a path to a mirror is open, with its addresses and its round trip; or closed.
    pub(super) fn lane(&self, source: usize, path: usize, open: Option<(&str, Duration)>) {
        let path = &mut self.lock().state.sources[source].paths[path];
        path.is_open = open.is_some();
        if let Some((label, round_trip)) = open {
            label.clone_into(&mut path.label);
            path.rtt_s = round_trip.as_secs_f64();
        }
    }

    /// Records whether a mirror sends parts of files.
    pub(super) fn takes_ranges(&self, source: usize, takes_ranges: bool) {
        self.lock().state.sources[source].takes_ranges = Some(takes_ranges);
    }

    /// Records for how long a source has been silent.
    pub(super) fn silent(&self, source: usize, silence: Duration) {
        self.lock().state.sources[source].silence = silence;
    }

    /// Counts the loss of a source that had been ready.
    pub(super) fn lost(&self, source: usize) {
        self.lock().state.sources[source].losses += 1;
    }

    /// Records that a source sends over this session.
    pub(super) fn connected(&self, source: usize, session: &Arc<Session>) {
        self.lock().sessions[source] = Arc::downgrade(session);
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records the size of the file.
    pub(super) fn begins(&self, size: u64) {
        self.lock().state.size = Some(size);
    }

    /// Records the number of bytes that were on the disk before.
    pub(super) fn was_there(&self, bytes: u64) {
        self.lock().state.was_there = bytes;
    }

    /// Records that mirrors whose chunks are put together agree in the size of the file alone.
    pub(super) fn agree_in_size_alone(&self) {
        self.lock().state.agree_in_size_alone = true;
    }

    /// Whether anything of the file is on the disk.
    pub(super) fn has_some(&self) -> bool {
        let state = &self.lock().state;
        state.was_there > 0 || state.sources.iter().any(|source| source.brought > 0)
    }

    /// Sets the state of a source.
    pub(super) fn stands(&self, source: usize, standing: SourceStanding) {
        self.lock().state.sources[source].standing = standing;
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
