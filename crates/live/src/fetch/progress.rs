//! How far a fetch is, for whoever shows it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use anabranch_transfer::Root;

use crate::paths::PathReport;
use crate::session::Session;

/// How it stands with a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceStanding {
    /// It is being reached.
    Awaited,
    /// It reads the file, to know its digests.
    Preparing,
    /// It has a file; which one it is to be is known when all have said what they have.
    Waiting,
    /// It sends.
    Sending,
    /// It is lost, and will be reached again.
    Lost(String),
    /// It is out of the question.
    Refused(String),
}

/// How far a source is.
#[derive(Clone, Debug, PartialEq)]
pub struct SourceProgress {
    /// What people know it by.
    pub label: String,
    /// How it stands.
    pub standing: SourceStanding,
    /// Bytes that it brought first, and that were what they should be.
    pub brought: u64,
    /// The paths of its last connection.
    pub paths: Vec<PathReport>,
}

/// How far a fetch is.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct State {
    /// Size and hash of the file; `None` until they are known.
    pub file: Option<(u64, Root)>,
    /// Bytes that were there before.
    pub was_there: u64,
    /// Its sources.
    pub sources: Vec<SourceProgress>,
}

/// How far a fetch is, to look at from any thread.
#[derive(Debug, Default)]
pub struct Progress(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    state: State,
    /// For each source its connection, while it lasts.
    sessions: Vec<Weak<Session>>,
}

impl Progress {
    /// Nothing has come yet of these sources.
    pub fn new(labels: impl IntoIterator<Item = String>) -> Self {
        let source = |label| SourceProgress { label, standing: SourceStanding::Awaited, brought: 0, paths: Vec::new() };
        let sources: Vec<SourceProgress> = labels.into_iter().map(source).collect();
        let sessions = sources.iter().map(|_| Weak::new()).collect();
        Self(Mutex::new(Inner { state: State { sources, ..State::default() }, sessions }))
    }

    /// How far it is now.
    pub fn state(&self) -> State {
        self.look();
        self.lock().state.clone()
    }

    /// Looks at the paths: of those that are gone by the next look, this is what is told.
    pub(super) fn look(&self) {
        let Inner { state, sessions } = &mut *self.lock();
        for (source, session) in state.sources.iter_mut().zip(sessions) {
            if let Some(session) = session.upgrade() {
                source.paths = session.paths();
            }
        }
    }

    /// A source sends, over this connection.
    pub(super) fn connected(&self, source: usize, session: &Arc<Session>) {
        self.lock().sessions[source] = Arc::downgrade(session);
        self.stands(source, SourceStanding::Sending);
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// It is known which file it is.
    pub(super) fn begins(&self, size: u64, root: Root) {
        self.lock().state.file = Some((size, root));
    }

    /// Notes how many bytes were there before.
    pub(super) fn was_there(&self, bytes: u64) {
        self.lock().state.was_there = bytes;
    }

    /// How it stands with a source from now on; who is out of the question remains so.
    pub(super) fn stands(&self, source: usize, standing: SourceStanding) {
        let own = &mut self.lock().state.sources[source].standing;
        if !matches!(own, SourceStanding::Refused(_)) {
            *own = standing;
        }
    }

    /// A source brought something.
    pub(super) fn brought(&self, source: usize, bytes: u64) {
        self.lock().state.sources[source].brought += bytes;
    }

    /// For each source how many bytes it brought.
    pub(super) fn all_brought(&self) -> Vec<u64> {
        self.lock().state.sources.iter().map(|source| source.brought).collect()
    }

    /// Why none of the sources sends.
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
