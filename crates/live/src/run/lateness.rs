//! The lateness of connection ends, caused by other work of this machine.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anabranch_core::Span;
use anabranch_emulator::{most_late, punctual};
use tokio::runtime::Runtime;

/// Time between tests.
const EVERY: Duration = Duration::from_millis(5);

/// Lateness of tokio's timers that does not count.
const GRAIN: Duration = Duration::from_millis(2);

/// The percentile of lateness that is reported.
const COUNTED: usize = 99;

/// A task among those of the connection ends, which records how late it is woken.
pub(super) struct Probe(Arc<Mutex<Vec<Duration>>>);

impl Probe {
    pub fn start(runtime: &Runtime) -> Self {
        let all = Arc::new(Mutex::new(Vec::new()));
        let own = all.clone();
        runtime.spawn(async move {
            let mut due = Instant::now();
            loop {
                due = Instant::now().max(due + EVERY);
                tokio::time::sleep_until(due.into()).await;
                let late = due.elapsed().saturating_sub(GRAIN);
                own.lock().unwrap_or_else(PoisonError::into_inner).extend(wakings(late));
            }
        });
        Self(all)
    }

    /// The 99th percentile of lateness, and the reason why it makes a run invalid, if it does.
    pub fn finish(self, least_round_trip: Span) -> (Span, Option<String>) {
        let mut all = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        all.sort_unstable();
        let place = (all.len() * COUNTED / 100).min(all.len().saturating_sub(1));
        let late = all.get(place).map_or(Span(0), |late| Span(late.as_nanos() as u64 * 1000));
        (late, fault(late, least_round_trip))
    }
}

/// A late waking with the wakings that were due until it came, so that each stands for an equal part of the run.
fn wakings(late: Duration) -> impl Iterator<Item = Duration> {
    let missed = late.as_nanos() / EVERY.as_nanos();
    std::iter::repeat_n(late, 1 + missed as usize)
}

fn fault(late: Span, least_round_trip: Span) -> Option<String> {
    let told = punctual(least_round_trip);
    (late > most_late(least_round_trip))
        .then(|| format!("the ends of connections were {late} late or more for a hundredth of the run; {told}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_whose_ends_are_late_is_invalid() {
        // 5 % of 20 ms is 1 ms.
        let (millisecond, round_trip) = (1_000_000_000, Span(20 * 1_000_000_000));
        assert_eq!(fault(Span(millisecond), round_trip), None);
        let said = fault(Span(3 * millisecond), round_trip).unwrap();
        assert!(said.contains("were 3 ms late") && said.contains("at most 1 ms"), "{said}");
    }

    #[test]
    fn a_run_that_halts_once_for_more_than_a_hundredth_of_its_time_is_invalid() {
        // Of 10 s, in which it is woken 2000 times.
        for (halt_ms, is_late) in [(90, false), (110, true)] {
            let mut all: Vec<_> = std::iter::repeat_n(Duration::ZERO, 1980).collect();
            all.extend(wakings(Duration::from_millis(halt_ms)));
            let (_, said) = Probe(Arc::new(Mutex::new(all))).finish(Span(20 * 1_000_000_000));
            assert_eq!(said.is_some(), is_late, "{halt_ms} ms: {said:?}");
        }
    }
}
