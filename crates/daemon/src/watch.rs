//! The state of the agent as time goes: the present one, its changes, and what it was.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anabranch_live::agents::{AgentHandle, AgentReport, processor_time};
use schemars::JsonSchema;
use serde::Serialize;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use crate::changes::{Change, changes};
use crate::feed::{Feed, Reader};
use crate::shown::{Names, State};

/// Time between two looks at the agent.
const LOOK: Duration = Duration::from_millis(250);

/// With many sessions a look takes longer: then the agent looks so seldom that looks take one part in this many.
const REST: u32 = 50;

/// The longest time between two looks.
const MOST_LOOK: Duration = Duration::from_secs(5);

/// Least time between two entries of the history; a little less than a second, as looks come late.
const RECORD: Duration = Duration::from_millis(950);

/// Time between two warnings, and the days before the end of a certificate of which the agent warns.
const DAY: Duration = Duration::from_hours(24);
const WARNING_DAYS: u64 = 14;

/// Greatest number of rates in the history, and of its entries.
const MOST_RATES: usize = 200_000;
const MOST_ENTRIES: usize = 3600;

/// What the rates were at a time.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Entry {
    /// Seconds since 1970.
    pub time_s: f64,
    /// The sessions, by their numbers, with their granted rates in bit/s.
    pub rates_bps: Vec<(u64, f64)>,
}

/// The state at a look.
#[derive(Clone, Debug)]
pub struct Present {
    /// The state.
    pub state: Arc<State>,
    /// Seconds since 1970.
    pub time_s: f64,
    /// The number of the last change that is in it.
    pub change: u64,
    /// The processor time that the look took, in seconds.
    pub took_s: f64,
}

/// A view of the agent that is kept up to date.
#[derive(Clone, Debug)]
pub struct Watch {
    present: watch::Sender<Present>,
    feed: Feed,
    start_s: f64,
    history: Arc<Mutex<History>>,
    status: watch::Sender<Status>,
}

/// What the agent knows of itself beside its report.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Status {
    /// Whether the agent makes ready to end.
    pub is_draining: bool,
    /// End of its certificate, in seconds since 1970.
    pub certificate_until_s: f64,
}

#[derive(Debug, Default)]
struct History {
    entries: VecDeque<Entry>,
    rates: usize,
}

impl History {
    fn add(&mut self, entry: Entry) {
        self.rates += entry.rates_bps.len();
        self.entries.push_back(entry);
        while self.entries.len() > MOST_ENTRIES || self.rates > MOST_RATES && self.entries.len() > 1 {
            self.rates -= self.entries.pop_front().map_or(0, |old| old.rates_bps.len());
        }
    }
}

impl Watch {
    /// Begins with a state.
    pub(crate) fn new(state: State, status: Status) -> Self {
        Self {
            present: watch::Sender::new(Present { state: Arc::new(state), time_s: now_s(), change: 0, took_s: 0.0 }),
            feed: Feed::default(),
            start_s: now_s(),
            history: Arc::default(),
            status: watch::Sender::new(status),
        }
    }

    /// The start of the agent, in seconds since 1970.
    pub fn start_s(&self) -> f64 {
        self.start_s
    }

    /// The state at the last look.
    pub fn state(&self) -> Arc<State> {
        self.present.borrow().state.clone()
    }

    /// The state at the last look, with its time and the number of its last change.
    pub fn present(&self) -> Present {
        self.present.borrow().clone()
    }

    /// Changes from now on.
    pub fn changes(&self) -> Reader {
        self.feed.now()
    }

    /// The last changes, to be read from any number on.
    pub fn feed(&self) -> &Feed {
        &self.feed
    }

    /// The rates since a time in seconds since 1970, one entry a second, as far back as is kept: an hour, or less if there
    /// are many sessions.
    pub fn history(&self, since_s: f64) -> Vec<Entry> {
        self.lock().entries.iter().filter(|entry| entry.time_s >= since_s).cloned().collect()
    }

    /// As [`Self::history`], with the rates of one session alone if one is named; the last `most` entries.
    pub fn history_of(&self, since_s: f64, session: Option<u64>, most: usize) -> Vec<Entry> {
        let history = self.lock();
        let first = history.entries.partition_point(|entry| entry.time_s < since_s);
        let first = first.max(history.entries.len().saturating_sub(most));
        let of = |entry: &Entry| match session {
            None => entry.clone(),
            Some(wanted) => {
                let found = entry.rates_bps.iter().copied().filter(|&(number, _)| number == wanted);
                Entry { time_s: entry.time_s, rates_bps: found.collect() }
            }
        };
        history.entries.range(first..).map(of).collect()
    }

    /// Changes what the agent knows of itself.
    pub(crate) fn set(&self, change: impl FnOnce(&mut Status)) {
        self.status.send_modify(change);
    }

    /// What the agent knows of itself.
    pub(crate) fn status(&self) -> Status {
        *self.status.borrow()
    }

    fn lock(&self) -> MutexGuard<'_, History> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells of a change that no look would find.
    pub(crate) fn tell(&self, change: Change) {
        let change = self.feed.add(now_s(), [change]);
        self.present.send_modify(|present| present.change = change);
    }

    /// Looks at the agent as long as it runs.
    pub(crate) async fn run(&self, agent: &AgentHandle, names: &Names) {
        let mut next = Instant::now();
        let (mut recorded, mut warned) = (None, None);
        let mut before: Option<AgentReport> = None;
        let is_due = |last: &mut Option<Instant>, after: Duration, now: Instant| {
            let is_due = last.is_none_or(|last| now.duration_since(last) >= after);
            if is_due {
                *last = Some(now);
            }
            is_due
        };
        loop {
            sleep_until(next).await;
            let Some(report) = agent.report().await else { return };
            let (now, begun) = (Instant::now(), processor_time());
            let old = self.state();
            let known = before.as_ref().map(|before| (before, &*old));
            let state = Arc::new(names.state(&report, self.status(), known));
            let time_s = now_s();
            if is_due(&mut recorded, RECORD, now) {
                let rates_bps = state.sessions.iter().map(|session| (session.number, session.rate_bps)).collect();
                self.lock().add(Entry { time_s, rates_bps });
            }
            let is_day = is_due(&mut warned, DAY, now);
            let warning = is_day.then(|| expiry(state.certificate_until_s - time_s)).flatten();
            let change = self.feed.add(time_s, changes(&old, &state).into_iter().chain(warning));
            let took = report.took + processor_time().saturating_sub(begun);
            before = Some(report);
            self.present.send_replace(Present { state, time_s, change, took_s: took.as_secs_f64() });
            next = now + LOOK.max(took * REST).min(MOST_LOOK);
        }
    }
}

/// A warning if a certificate expires soon.
fn expiry(left_s: f64) -> Option<Change> {
    let days = (left_s / 86400.0).max(0.0).floor() as u64;
    (days < WARNING_DAYS).then_some(Change::Certificate { days })
}

/// Seconds since 1970.
pub(crate) fn now_s() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_history_is_bounded_by_its_rates_and_its_entries() {
        let entry = |second: usize, sessions: u64| Entry {
            time_s: second as f64,
            rates_bps: (0..sessions).map(|number| (number, 1e6)).collect(),
        };
        let mut history = History::default();
        (0..MOST_ENTRIES + 10).for_each(|second| history.add(entry(second, 1)));
        assert_eq!((history.entries.len(), history.rates), (MOST_ENTRIES, MOST_ENTRIES));
        assert!((history.entries[0].time_s - 10.0).abs() < 1e-9);
        (0..30).for_each(|second| history.add(entry(second, 10_000)));
        assert_eq!((history.entries.len(), history.rates), (20, MOST_RATES));
        history.add(entry(0, 300_000));
        assert_eq!((history.entries.len(), history.rates), (1, 300_000));
    }
}
