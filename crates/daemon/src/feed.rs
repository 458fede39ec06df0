//! The changes of an agent, numbered. The last ones are kept, and each reader goes through them at its own pace: a slow
//! one holds nothing back, and is told how many it missed.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use schemars::JsonSchema;
use serde::Serialize;
use tokio::sync::watch;

use crate::changes::Change;

/// Number of changes that are kept.
const MOST: usize = 4096;

/// A change with its number and its time.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Dated {
    /// Its number since the start of the agent, from 1 on.
    pub change: u64,
    /// Seconds since 1970.
    pub time_s: f64,
    /// What changed.
    #[serde(flatten)]
    pub what: Change,
}

/// The last changes.
#[derive(Clone, Debug)]
pub struct Feed(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    kept: Mutex<VecDeque<Arc<Dated>>>,
    /// The number of the last change; 0 before the first one.
    last: watch::Sender<u64>,
}

impl Default for Feed {
    fn default() -> Self {
        Self(Arc::new(Shared { kept: Mutex::default(), last: watch::Sender::new(0) }))
    }
}

/// What a reader hears.
#[derive(Clone, Debug, PartialEq)]
pub enum Heard {
    /// The next change.
    Change(Arc<Dated>),
    /// So many changes are not kept any longer; the next one is.
    Missed(u64),
}

impl Feed {
    /// Adds changes, and gives the number of the last one.
    pub(crate) fn add(&self, time_s: f64, changes: impl IntoIterator<Item = Change>) -> u64 {
        let mut kept = self.lock();
        let before = *self.0.last.borrow();
        let mut last = before;
        for what in changes {
            last += 1;
            kept.push_back(Arc::new(Dated { change: last, time_s, what }));
            if kept.len() > MOST {
                kept.pop_front();
            }
        }
        if last > before {
            self.0.last.send_replace(last);
        }
        last
    }

    /// The number of the last change; 0 before the first one.
    pub fn last(&self) -> u64 {
        *self.0.last.borrow()
    }

    /// A reader of the changes from now on.
    pub fn now(&self) -> Reader {
        self.after(self.last())
    }

    /// A reader of the changes after the one with this number. With a number that is yet to come it hears those after that.
    pub fn after(&self, change: u64) -> Reader {
        Reader { feed: self.clone(), after: change, last: self.0.last.subscribe() }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Arc<Dated>>> {
        self.0.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A reader of changes.
#[derive(Debug)]
pub struct Reader {
    feed: Feed,
    after: u64,
    last: watch::Receiver<u64>,
}

impl Reader {
    /// What comes next, if it is there already.
    pub fn next_now(&mut self) -> Option<Heard> {
        let kept = self.feed.lock();
        let first = kept.front()?.change;
        let wanted = self.after.saturating_add(1);
        if wanted < first {
            self.after = first - 1;
            return Some(Heard::Missed(first - wanted));
        }
        let change = kept.get(usize::try_from(wanted - first).ok()?)?;
        self.after = wanted;
        Some(Heard::Change(change.clone()))
    }

    /// What comes next; `None` if nothing can come any more.
    pub async fn next(&mut self) -> Option<Heard> {
        loop {
            self.last.mark_unchanged();
            if let Some(heard) = self.next_now() {
                return Some(heard);
            }
            self.last.changed().await.ok()?;
        }
    }

    /// The number of the last change that was read or missed.
    pub fn after(&self) -> u64 {
        self.after
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(reader: &mut Reader) -> (u64, Vec<u64>) {
        let (mut missed, mut all) = (0, Vec::new());
        while let Some(heard) = reader.next_now() {
            match heard {
                Heard::Missed(count) => missed += count,
                Heard::Change(dated) => all.push(dated.change),
            }
        }
        (missed, all)
    }

    fn some(count: u64) -> impl Iterator<Item = Change> {
        (0..count).map(|days| Change::Certificate { days })
    }

    #[test]
    fn a_reader_hears_each_change_once_and_a_slow_one_how_many_it_missed() {
        let feed = Feed::default();
        let mut slow = feed.now();
        assert_eq!(feed.add(1.0, some(3)), 3);
        let mut late = feed.now();
        assert_eq!(feed.add(2.0, some(2)), 5);
        assert_eq!(numbers(&mut late), (0, vec![4, 5]));
        assert_eq!(numbers(&mut late), (0, vec![]));
        feed.add(3.0, some(MOST as u64));
        // 4101 changes, of which the last 4096 are kept.
        let (missed, heard) = numbers(&mut slow);
        assert_eq!((missed, heard.len(), heard[0]), (5, MOST, 6));
        assert_eq!(slow.after(), feed.last());
        // From any number on, also one that is far away.
        assert_eq!(numbers(&mut feed.after(4100)), (0, vec![4101]));
        assert_eq!(numbers(&mut feed.after(u64::MAX)), (0, vec![]));
    }

    #[tokio::test]
    async fn a_reader_that_waits_hears_what_is_added_meanwhile() {
        let feed = Feed::default();
        let mut reader = feed.now();
        let waiting = tokio::spawn(async move { reader.next().await });
        tokio::task::yield_now().await;
        feed.add(1.0, some(1));
        let heard = waiting.await.unwrap();
        assert!(matches!(heard, Some(Heard::Change(dated)) if dated.change == 1), "it hears the first change");
    }
}
