//! Periodic updates without a timer: they are made up for when a packet arrives or leaves.

use anabranch_core::{Span, Time};

/// Greatest number of updates that are made up for at once. Earlier updates no longer matter.
const MOST: u64 = 1024;

/// The time of the next periodic update.
#[derive(Clone, Debug)]
pub(super) struct Periods {
    period: u64,
    next: Option<Time>,
}

impl Periods {
    /// Updates with this period; the first is due after one period.
    pub(super) fn new(period: Span) -> Self {
        let period = period.0.max(1);
        Self { period, next: Some(Time(period)) }
    }

    /// Skips all but the last 1,024 updates that are due.
    ///
    /// Packets neither arrived nor left since then. So the control has been at rest, or at a bound, for long: with the
    /// periods of the RFCs, 1,024 updates take 15 seconds.
    pub(super) fn skip_old(&mut self, now: Time) {
        if let Some(next) = self.next {
            let more = now.0.saturating_sub(next.0) / self.period;
            self.next = Some(Time(next.0 + more.saturating_sub(MOST) * self.period));
        }
    }

    /// The time of the next update, if it is due; the update then counts as made.
    pub(super) fn due(&mut self, now: Time) -> Option<Time> {
        let due = self.next.filter(|&next| next <= now)?;
        self.next = due.0.checked_add(self.period).map(Time);
        Some(due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(periods: &mut Periods, now: u64) -> Vec<u64> {
        periods.skip_old(Time(now));
        std::iter::from_fn(|| periods.due(Time(now))).map(|time| time.0).collect()
    }

    #[test]
    fn each_update_is_due_once() {
        let mut periods = Periods::new(Span(10));
        assert_eq!(all(&mut periods, 9), Vec::<u64>::new());
        assert_eq!(all(&mut periods, 30), [10, 20, 30]);
        assert_eq!(all(&mut periods, 30), Vec::<u64>::new());
        assert_eq!(all(&mut periods, 49), [40]);
    }

    #[test]
    fn a_long_time_leaves_the_last_updates_only() {
        let mut periods = Periods::new(Span(10));
        let times = all(&mut periods, 1_000_000_005);
        assert_eq!((times.len() as u64, times.last()), (MOST + 1, Some(&1_000_000_000)));
    }

    #[test]
    fn the_end_of_time_comes_once() {
        let mut periods = Periods::new(Span(1));
        assert_eq!(all(&mut periods, u64::MAX).last(), Some(&u64::MAX));
        assert_eq!(all(&mut periods, u64::MAX), Vec::<u64>::new());
    }
}
