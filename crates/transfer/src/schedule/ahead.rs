//! The number of bytes to request ahead, so that a source never waits for a request while its window grows.
//!
//! A request takes half a round trip to its source, and the requested data take as long to arrive. In slow start, each
//! round trip brings twice as much as the one before. So the requested bytes that have not arrived should be
//!
//! ```text
//! came * growth^2    growth = came / came before, from 1 to 2
//! ```
//!
//! where `came` is the number of bytes that arrived in the last round trip, and `came before` in the one before that.
//! One growth is for the round trip in which those bytes are in flight, and one for the next, about which nothing is
//! known yet. If bytes arrive at a constant rate, the bytes in flight suffice.

use std::collections::VecDeque;

use anabranch_core::Time;

use super::seconds;

/// Number of counts that are kept for a round trip.
const KEPT: f64 = 16.0;

/// Greatest growth of a source in a round trip: slow start doubles windows.
const MOST_GROWTH: f64 = 2.0;

/// The bytes that a source delivered over its last round trips.
#[derive(Clone, Debug, Default)]
pub(super) struct Ahead {
    /// Total bytes delivered at several times, the oldest first.
    counts: VecDeque<(Time, u64)>,
    /// Number of bytes to request ahead.
    bytes: f64,
}

impl Ahead {
    /// Records that `bytes` have arrived in total by now, and that a round trip takes `round_trip` seconds.
    pub(super) fn on_received(&mut self, bytes: u64, round_trip: f64, now: Time) {
        if self.counts.back().is_none_or(|&(last, _)| KEPT * seconds(last, now) >= round_trip) {
            self.counts.push_back((now, bytes));
        }
        // The oldest count needed is the last from before two round trips.
        while self.counts.get(1).is_some_and(|&(at, _)| seconds(at, now) >= 2.0 * round_trip) {
            self.counts.pop_front();
        }
        let had = |round_trips: f64| {
            let before = self.counts.iter().rev().find(|&&(at, _)| seconds(at, now) >= round_trips * round_trip);
            before.or(self.counts.front()).map_or(bytes, |&(_, count)| count)
        };
        let (came, before) = ((bytes - had(1.0)) as f64, (had(1.0) - had(2.0)) as f64);
        let growth = if before > 0.0 { (came / before).clamp(1.0, MOST_GROWTH) } else { MOST_GROWTH };
        self.bytes = came * growth * growth;
    }

    /// Number of chunks to request ahead, of `chunk_bytes` each.
    pub(super) fn chunks(&self, chunk_bytes: u64) -> usize {
        (self.bytes / chunk_bytes as f64).ceil() as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is asked for ahead when bytes have come as `bytes` says by each millisecond, with a round trip of 100 ms.
    fn ahead(bytes: impl Fn(u64) -> u64, until: u64) -> f64 {
        let mut ahead = Ahead::default();
        for ms in 0..=until {
            ahead.on_received(bytes(ms), 0.1, Time::ms(ms));
            assert!(ahead.counts.len() <= 2 * KEPT as usize + 2, "{}", ahead.counts.len());
        }
        ahead.bytes
    }

    #[test]
    fn what_comes_as_fast_as_ever_is_asked_for_once() {
        // 1,000 bytes a millisecond: 100,000 in a round trip.
        let bytes = ahead(|ms| 1000 * ms, 1000);
        // Counts are up to a sixteenth of a round trip old.
        assert!((100_000.0..120_000.0).contains(&bytes), "{bytes}");
    }

    #[test]
    fn what_doubles_is_asked_for_four_times() {
        // 1000 * 2^t after t round trips: in the last of ten come 512,000.
        let bytes = ahead(|ms| (1000.0 * (ms as f64 / 100.0).exp2()) as u64, 1000);
        assert!((4.0 * 512e3..4.6 * 512e3).contains(&bytes), "{bytes}");
    }

    #[test]
    fn a_source_of_which_nothing_comes_is_not_asked_ahead() {
        assert_eq!(ahead(|ms| 1000 * ms.min(200), 1000) as u64, 0);
    }
}
