//! The queue between connections and the writer of their logs.

use std::mem;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::record::Entry;

/// The most events that wait: more than fast connections have between two writings.
pub(super) const MOST_WAITING: usize = 1 << 16;

/// Time between two writings.
const PAUSE: Duration = Duration::from_millis(100);

/// Entries that wait for the writer, oldest first.
#[derive(Debug, Default)]
pub(super) struct Queue {
    inner: Mutex<Inner>,
    end: Condvar,
}

#[derive(Debug, Default)]
struct Inner {
    entries: Vec<Entry>,
    has_ended: bool,
}

impl Queue {
    /// Adds an entry; false if there are too many, and nothing is added.
    pub(super) fn offer(&self, entry: Entry) -> bool {
        let mut inner = self.lock();
        let has_room = inner.entries.len() < MOST_WAITING;
        if has_room && !inner.has_ended {
            inner.entries.push(entry);
        }
        has_room
    }

    /// Adds an entry of a kind of which each connection has some only, however many there are.
    pub(super) fn put(&self, entry: Entry) {
        let mut inner = self.lock();
        if !inner.has_ended {
            inner.entries.push(entry);
        }
    }

    /// Takes nothing more.
    pub(super) fn end(&self) {
        self.lock().has_ended = true;
        self.end.notify_all();
    }

    /// Waits a while, and exchanges the entries for those of an empty list; whether there will be no more.
    pub(super) fn take(&self, entries: &mut Vec<Entry>) -> bool {
        let inner = self.lock();
        let waited = self.end.wait_timeout_while(inner, PAUSE, |inner| !inner.has_ended);
        let mut inner = waited.unwrap_or_else(PoisonError::into_inner).0;
        mem::swap(&mut inner.entries, entries);
        inner.has_ended
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
