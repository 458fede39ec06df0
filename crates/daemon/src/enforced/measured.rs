//! What the kernel counts at the paths of sessions, as rates.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anabranch_enforce::{Counters, EnforceError};

use super::{Kind, Links};
use crate::shown::{Measured, Total};

/// The time after which a command that the kernel refused counts as mended, if it refuses no other: all rates are told
/// again meanwhile.
const MENDED: Duration = Duration::from_secs(10);

/// The last two counts of each path, by its session and the numbers of its links.
#[derive(Default)]
pub(super) struct Meter {
    paths: BTreeMap<(String, Vec<u32>), Counted>,
    /// What sessions have sent on all paths that they had.
    totals: BTreeMap<String, Total>,
    refused: u64,
    /// The last refusal, and when it was seen.
    refusal: Option<(Instant, String)>,
}

struct Counted {
    at: Instant,
    bytes: u64,
    drops: u64,
    shown: Option<Measured>,
}

impl Meter {
    /// Takes counters of sessions whose paths have these links; what is wrong with them, if anything is.
    pub fn take(
        &mut self,
        counters: Result<Counters, EnforceError>,
        links: &Links,
        backend: Kind,
        now: Instant,
    ) -> Option<String> {
        let counters = match counters {
            Ok(counters) => counters,
            Err(error) => return Some(error.to_string()),
        };
        if counters.errors > self.refused {
            self.refusal = counters.last_error.map(|error| (now, error));
        }
        self.refused = counters.errors;
        self.refusal.take_if(|(seen, _)| now.saturating_duration_since(*seen) >= MENDED);
        let mut problem = self.refusal.as_ref().map(|(_, error)| error.clone());
        let before = std::mem::take(&mut self.paths);
        if backend == Kind::Print {
            return problem;
        }
        self.totals.retain(|session, _| links.contains_key(session));
        for (session, paths) in links {
            let rows = counters.sessions.get(session).into_iter().flatten();
            for (path, row) in paths.iter().zip(rows) {
                // Every class that is there has a rate.
                if row.rate_bps == 0 {
                    problem = Some(format!("the class of a path of `{session}` has gone; start the agent anew"));
                }
                let (key, at) = ((session.clone(), path.clone()), row.asked.unwrap_or(now));
                let old = before.get(&key);
                // A class that begins anew counts from 0.
                let since = |now: u64, old: Option<u64>| now.checked_sub(old.unwrap_or(0)).unwrap_or(now);
                let total = self.totals.entry(session.clone()).or_default();
                total.bytes += since(row.bytes, old.map(|old| old.bytes));
                total.drops += since(row.drops, old.map(|old| old.drops));
                let shown = old.and_then(|old| {
                    let seconds = at.saturating_duration_since(old.at).as_secs_f64();
                    let bytes = row.bytes.checked_sub(old.bytes).filter(|_| seconds > 0.0)?;
                    let rate_bps = bytes as f64 * 8.0 / seconds;
                    Some(Measured { rate_bps, bytes: row.bytes, drops: row.drops, waiting_bytes: row.backlog_bytes })
                });
                self.paths.insert(key, Counted { at, bytes: row.bytes, drops: row.drops, shown });
            }
        }
        problem
    }

    /// What is measured at a path.
    pub fn of(&self, session: &str, links: &[u32]) -> Option<Measured> {
        self.paths.get(&(session.to_owned(), links.to_vec()))?.shown
    }

    /// What a session has sent since it is kept to rates.
    pub fn total(&self, session: &str) -> Option<Total> {
        self.totals.get(session).copied()
    }

    /// The number of commands that the kernel refused so far.
    pub fn refused(&self) -> u64 {
        self.refused
    }
}

#[cfg(test)]
mod tests {
    use anabranch_enforce::ClassCounters;

    use super::*;

    #[test]
    fn rates_are_bytes_since_the_last_count() {
        let links = BTreeMap::from([("a".to_owned(), vec![vec![1, 2], vec![3]])]);
        let counters = |bytes: [u64; 2]| {
            let row = |bytes| ClassCounters { bytes, rate_bps: 64_000, backlog_bytes: 7, ..ClassCounters::default() };
            Ok(Counters { sessions: [("a".to_owned(), bytes.map(row).to_vec())].into(), ..Counters::default() })
        };
        let (mut meter, now) = (Meter::default(), Instant::now());
        assert_eq!(meter.take(counters([100, 500]), &links, Kind::Kernel, now), None);
        assert_eq!(meter.of("a", &[1, 2]), None);
        let later = now + Duration::from_secs(2);
        meter.take(counters([1100, 400]), &links, Kind::Kernel, later);
        // 1000 bytes in two seconds; the class of the second path has begun anew.
        let measured = Measured { rate_bps: 4000.0, bytes: 1100, drops: 0, waiting_bytes: 7 };
        assert_eq!((meter.of("a", &[1, 2]), meter.of("a", &[3])), (Some(measured), None));
        // Totals never fall: not by a class that begins anew, and not by a path that goes.
        assert_eq!(meter.total("a").unwrap().bytes, 1100 + 500 + 400);
        let other = BTreeMap::from([("a".to_owned(), vec![vec![3]])]);
        let row = ClassCounters { bytes: 450, rate_bps: 64_000, ..ClassCounters::default() };
        let counters = Counters { sessions: [("a".to_owned(), vec![row])].into(), ..Counters::default() };
        meter.take(Ok(counters), &other, Kind::Kernel, later);
        assert_eq!(meter.total("a").unwrap().bytes, 1100 + 500 + 400 + 50);
    }

    #[test]
    fn refusals_and_classes_that_have_gone_are_problems() {
        let links = BTreeMap::from([("a".to_owned(), vec![vec![1]])]);
        let sessions = BTreeMap::from([("a".to_owned(), vec![ClassCounters::default()])]);
        let (mut meter, now) = (Meter::default(), Instant::now());
        let gone = meter.take(Ok(Counters { sessions, ..Counters::default() }), &links, Kind::Kernel, now);
        assert!(gone.unwrap().contains("a path of `a` has gone"));
        let refused = || Counters { errors: 2, last_error: Some("no".to_owned()), ..Counters::default() };
        assert_eq!(meter.take(Ok(refused()), &links, Kind::Kernel, now), Some("no".to_owned()));
        // A refusal is a problem until all has been told again.
        let soon = now + MENDED / 2;
        assert_eq!(meter.take(Ok(refused()), &links, Kind::Kernel, soon), Some("no".to_owned()));
        assert_eq!(meter.take(Ok(refused()), &links, Kind::Kernel, now + MENDED), None);
        assert_eq!(meter.refused(), 2);
    }
}
