//! Rates that rise late and fall at once.
//!
//! A link that shares anew tells each session when the session's next packet passes. A session that gets more could hear
//! of it before the sessions that get less, and after a renewal the first sessions hear of shares as if they were alone.
//! So a rate that rises counts only when it has been granted for a while. Meanwhile the other sessions hear of theirs.
//! The rate that counts is the least that was granted in this time. Where control packets take long, as where many are
//! lost, a rate has to be granted for longer.

use std::collections::VecDeque;

use anabranch_core::{Span, Time, units::SECOND};

/// The least and the greatest time for which a higher rate has to be granted until it counts.
pub(crate) const RISE: Span = Span(SECOND / 5);
const MOST_RISE: Span = Span(SECOND);

/// Round trips of control packets for which it has to be granted.
const ROUND_TRIPS: u64 = 2;

/// The most steps of a rate that rises; beyond these a step waits for a later one.
const MOST_STEPS: usize = 64;

/// The longest round trip of late over all paths of an agent: of one second to two.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RoundTrips {
    before: Span,
    present: Span,
    since: Time,
}

impl RoundTrips {
    /// Notes the round trip of a control packet; returns the time for which rates have to be granted that rise.
    pub fn note(&mut self, now: Time, round_trip: Span) -> Span {
        let passed = now.0.saturating_sub(self.since.0);
        if passed >= SECOND {
            let before = if passed < 2 * SECOND { self.present } else { Span(0) };
            (self.before, self.present, self.since) = (before, Span(0), now);
        }
        self.present = self.present.max(round_trip);
        Span(self.present.max(self.before).0.saturating_mul(ROUND_TRIPS)).clamp(RISE, MOST_RISE)
    }
}

/// The granted rate of a path, in bit/s.
#[derive(Debug)]
pub(crate) struct Rising {
    /// The rate that counts.
    rate: f64,
    /// Time before which the rate stays as it is.
    held: Time,
    /// Time for which a higher rate has to be granted until it counts.
    rise: Span,
    /// The rates that may count at some time, the least first, each with the time since when no less was granted.
    steps: VecDeque<(Time, f64)>,
}

impl Default for Rising {
    /// A rate of 0.
    fn default() -> Self {
        Self { rate: 0.0, held: Time(0), rise: RISE, steps: VecDeque::from([(Time(0), 0.0)]) }
    }
}

impl Rising {
    /// Takes a rate that is granted now.
    pub fn grant(&mut self, now: Time, rate: f64) {
        let mut since = now;
        while let Some((time, _)) = self.steps.pop_back_if(|(_, least)| *least >= rate) {
            since = time;
        }
        if self.steps.len() >= MOST_STEPS {
            self.steps.pop_back();
        }
        self.steps.push_back((since, rate));
    }

    /// Sets the time for which a higher rate has to be granted until it counts.
    pub fn set_rise(&mut self, rise: Span) {
        self.rise = rise;
    }

    /// Keeps the rate as it is until a time; then it may fall, and rise a while later.
    pub fn hold(&mut self, until: Time) {
        self.held = self.held.max(until);
    }

    /// Bounds the rate at once.
    pub fn bound(&mut self, now: Time, most: f64) {
        self.rate = self.rate.min(most);
        if self.steps.back().is_some_and(|(_, rate)| *rate > most) {
            self.grant(now, most);
        }
    }

    /// The rate that counts.
    pub fn rate(&mut self, now: Time) -> f64 {
        let rise = self.rise;
        while self.steps.get(1).is_some_and(|(since, _)| *since + rise <= now) {
            self.steps.pop_front();
        }
        let least = self.steps.front().map_or(0.0, |(_, rate)| *rate);
        if now >= self.held && (least <= self.rate || now >= self.held + rise) {
            self.rate = least;
        }
        self.rate
    }

    /// The rate that counted last.
    pub fn last(&self) -> f64 {
        self.rate
    }

    /// When another rate counts, if nothing else is granted.
    pub fn next_at(&self) -> Option<Time> {
        let least = self.steps.front().map_or(0.0, |(_, rate)| *rate);
        let held = match () {
            () if least < self.rate => Some(self.held),
            () if least > self.rate => Some(self.held + self.rise),
            () => None,
        };
        held.or_else(|| self.steps.get(1).map(|(since, _)| *since + self.rise))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Time {
        Time(0) + Span::ms(ms)
    }

    #[test]
    fn a_rate_falls_at_once_and_rises_when_it_was_granted_for_a_while() {
        let mut rate = Rising::default();
        rate.grant(ms(1000), 8.0);
        assert_eq!((rate.rate(ms(1000)), rate.next_at()), (0.0, Some(ms(1200))));
        assert_eq!((rate.rate(ms(1200)), rate.next_at()), (8.0, None));
        rate.grant(ms(1300), 3.0);
        assert_eq!((rate.rate(ms(1300)), rate.next_at()), (3.0, None));
        // After a renewal: all of the link, and soon the share of it. Only the share ever counts.
        rate.grant(ms(1400), 10.0);
        rate.grant(ms(1420), 5.0);
        assert_eq!((rate.rate(ms(1599)), rate.next_at()), (3.0, Some(ms(1600))));
        assert_eq!((rate.rate(ms(1600)), rate.next_at()), (5.0, None));
        rate.bound(ms(1610), 0.0);
        assert_eq!((rate.rate(ms(1610)), rate.next_at()), (0.0, None));
    }

    #[test]
    fn a_rate_that_is_held_stays_and_then_falls_before_others_rise() {
        let mut rate = Rising::default();
        rate.grant(ms(0), 8.0);
        assert_eq!((rate.rate(ms(1000)), rate.next_at()), (8.0, None));
        rate.hold(ms(3000));
        rate.grant(ms(1010), 20.0);
        rate.grant(ms(1020), 3.0);
        rate.grant(ms(1030), 5.0);
        assert_eq!((rate.rate(ms(1040)), rate.next_at()), (8.0, Some(ms(3000))));
        // What was granted for a moment only does not count any more.
        assert_eq!((rate.rate(ms(3000)), rate.next_at()), (5.0, None));
        rate.hold(ms(5000));
        rate.grant(ms(4000), 9.0);
        assert_eq!((rate.rate(ms(5199)), rate.next_at()), (5.0, Some(ms(5200))));
        assert_eq!((rate.rate(ms(5200)), rate.next_at()), (9.0, None));
        // What is bounded falls at once.
        rate.hold(ms(7000));
        rate.bound(ms(6000), 4.0);
        assert_eq!((rate.rate(ms(6000)), rate.next_at()), (4.0, None));
    }

    #[test]
    fn a_rate_rises_later_where_control_packets_take_long() {
        let mut rate = Rising::default();
        let mut trips = RoundTrips::default();
        rate.grant(ms(1000), 8.0);
        let mut after = |at: u64, round_trip: u64| {
            rate.set_rise(trips.note(ms(at), Span::ms(round_trip)));
            rate.next_at().unwrap().0 / ms(1).0 - 1000
        };
        // Twice the longest of late, a fifth of a second at the least and a second at the most.
        assert_eq!([after(1000, 300), after(1500, 10), after(2100, 10)], [600; 3]);
        assert_eq!([after(3200, 10), after(3300, 5000)], [200, 1000]);
    }

    #[test]
    fn the_least_of_the_last_while_counts() {
        // Against the definition, with rates by chance.
        let (mut rate, mut all, mut state) = (Rising::default(), vec![(0, 0.0)], 7_u64);
        for step in 0..2000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let (time, granted) = (step * 9 + (state >> 61), (state >> 40) as f64 / 1e5);
            all.push((time, granted));
            rate.grant(ms(time), granted);
            let first = all.iter().rposition(|(since, _)| since + 200 <= time).unwrap_or(0);
            let least = all[first..].iter().map(|(_, rate)| *rate).fold(f64::INFINITY, f64::min);
            assert_eq!(rate.rate(ms(time)).to_bits(), least.to_bits(), "{step}");
        }
    }
}
