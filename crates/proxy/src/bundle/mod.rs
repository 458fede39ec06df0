//! The lines of a proxy to its exit: connections of one path each, under one control, and the flows over them.
//!
//! Each end chooses the line for what it sends: bulk takes all that bring it sooner, small exchanges the fastest, and backup
//! lines carry what no other can. A line that falls silent is left at once.

pub(crate) mod carrier;
mod ends;
mod fit;
pub(crate) mod greeting;
pub(crate) mod guide;
pub(crate) mod line;
mod silence;
mod state;
pub(crate) mod terms;
pub(crate) mod turns;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use anabranch_core::Rate;
use anabranch_live::control::{Ceiling, Group};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use self::fit::Fit;
use self::line::Line;
use self::silence::Watch;

/// The most lines of a bundle.
pub(crate) const MOST_LINES: usize = 16;

/// Bytes that may wait in all flows, besides a few of each; and the part of what is free that one flow may take.
const MOST_WAITING: u64 = 256 << 20;
const SHARE: u64 = 8;

/// Time between looks at a bundle without lines.
const SELDOM: Duration = Duration::from_millis(100);

/// Bytes that wait in all flows of a program.
#[derive(Debug, Default)]
pub(crate) struct Store(AtomicU64);

impl Store {
    /// Counts a flow in which other bytes wait than before.
    fn change(&self, before: u64, now: u64) {
        if now >= before {
            self.0.fetch_add(now - before, Ordering::Relaxed);
        } else {
            self.0.fetch_sub(before - now, Ordering::Relaxed);
        }
    }

    /// Bytes that wait.
    pub fn waiting(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Whether twice as many bytes wait as may: flows that were promised room use it all at once.
    fn is_overfull(&self) -> bool {
        self.waiting() > 2 * MOST_WAITING
    }

    /// Bytes that may wait in a flow: a part of what is free, so that one leaves room for others.
    fn share(&self) -> u64 {
        MOST_WAITING.saturating_sub(self.waiting()) / SHARE
    }
}

/// The lines between a proxy and its exit, at one end.
pub(crate) struct Bundle {
    /// The control of all lines.
    pub group: Arc<Group>,
    lines: watch::Sender<Vec<Arc<Line>>>,
    fit: Fit,
}

impl Bundle {
    /// A bundle without lines, whose lines are watched until it is dropped. At the side of the client, `closes`, lines that
    /// stay silent are closed.
    pub fn new(group: Arc<Group>, closes: bool) -> Arc<Self> {
        let bundle = Arc::new(Self { group, lines: watch::channel(Vec::new()).0, fit: Fit::default() });
        tokio::spawn(watch_over(Arc::downgrade(&bundle), closes));
        bundle
    }

    /// Adds a line; one with the same number is its predecessor, and is closed. False if there are too many.
    pub fn add(&self, line: Arc<Line>) -> bool {
        let mut is_added = false;
        self.lines.send_modify(|lines| {
            lines.retain(|other| {
                let is_old = other.number == line.number;
                if is_old {
                    other.close();
                }
                !is_old
            });
            is_added = lines.len() < MOST_LINES;
            if is_added {
                lines.push(line);
            }
        });
        self.fit();
        is_added
    }

    /// The lines.
    pub fn lines(&self) -> Vec<Arc<Line>> {
        self.lines.borrow().clone()
    }

    /// Number of lines that carry data now.
    pub fn carrying(&self) -> usize {
        usable(self.lines.borrow().iter()).len()
    }

    /// Removes a line.
    pub fn remove(&self, line: &Arc<Line>) {
        self.lines.send_modify(|lines| lines.retain(|other| !Arc::ptr_eq(other, line)));
        self.fit();
    }

    /// Tells the control which lines share links, and what each may send: to be called after each change of their terms.
    pub fn fit(&self) {
        self.fit.tell(&self.group, || self.lines());
    }

    /// Sends no more over all lines than they carry together.
    pub fn set_capacity(&self, capacity: Rate) {
        self.fit.set_capacity(capacity);
        self.fit();
    }

    /// Sends no more over all lines and over each, by its number, than is granted.
    pub fn set_granted(&self, granted: Ceiling) {
        self.fit.set_granted(granted);
        self.fit();
    }
}

/// Looks at the lines of a bundle until it is dropped.
async fn watch_over(bundle: Weak<Bundle>, closes: bool) {
    let mut watch = Watch::new(closes);
    let mut next = Instant::now();
    loop {
        sleep_until(next).await;
        let Some(bundle) = bundle.upgrade() else { return };
        let lines = bundle.lines.borrow().clone();
        next = if lines.is_empty() { Instant::now() + SELDOM } else { watch.look(&lines) };
        // What an idle line may send is for the others, until they are doubted.
        bundle.fit();
    }
}

/// The lines that carry data now: those that are not doubted, and backup lines if there is no other; all where all are
/// doubted.
pub(crate) fn usable<'a>(lines: impl Iterator<Item = &'a Arc<Line>> + Clone) -> Vec<&'a Arc<Line>> {
    let least = lines.clone().map(|line| line.rank()).min();
    lines.filter(|line| Some(line.rank()) == least).collect()
}

/// The line over which a small message arrives first.
pub(crate) fn fastest<'a>(lines: impl Iterator<Item = &'a Arc<Line>> + Clone) -> Option<&'a Arc<Line>> {
    usable(lines).into_iter().min_by_key(|line| line.weighed(false).rtt)
}
