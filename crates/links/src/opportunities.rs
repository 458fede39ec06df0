//! Links that may send only at given instants, as traces of cellular links record them [netravali2015].
//!
//! Packets leave in the order of arrival. An opportunity carries a number of bytes: several small packets, or a part of
//! a large packet, which leaves with its last byte. Its unused bytes are lost when nothing waits.

use anabranch_core::{Rate, Span, Time};
use anabranch_plan::opportunities::Opportunities;

/// A position in a trace that repeats.
#[derive(Clone, Debug)]
pub struct Place {
    trace: Opportunities,
    /// Start of the present round of the trace, in picoseconds.
    base: u64,
    /// Index of the opportunity in the trace, and its unused bytes.
    number: usize,
    left: u32,
    /// Bytes that no packet used.
    unused: u64,
}

impl Place {
    /// The start of a trace.
    pub fn new(trace: &Opportunities) -> Self {
        Self { base: 0, number: 0, left: trace.bytes, unused: 0, trace: trace.clone() }
    }

    /// Time of the first opportunity with bytes left, at `from` or later; the unused bytes of earlier opportunities are
    /// lost.
    pub fn next(&mut self, from: u64) -> u64 {
        if self.time() < from {
            self.skip_to(from);
        } else if self.left == 0 {
            self.advance();
        }
        self.time()
    }

    /// Departure of the last byte of a packet that may use opportunities at `from` or later.
    pub fn end(&mut self, from: u64, bytes: u32) -> u64 {
        self.next(from);
        let mut bytes = bytes;
        while bytes > self.left {
            bytes -= self.left;
            self.advance();
        }
        self.left -= bytes;
        self.time()
    }

    /// Bytes that no packet used since the last call.
    pub fn take_unused(&mut self) -> u64 {
        std::mem::take(&mut self.unused)
    }

    /// The rate over a window that ends with the present opportunity.
    pub fn rate(&self, now: Time, window: Span) -> Rate {
        self.trace.rate(now, window, self.passed() + 1)
    }

    fn time(&self) -> u64 {
        self.base.saturating_add(self.trace.times.at(self.number))
    }

    fn advance(&mut self) {
        self.left = self.trace.bytes;
        self.number += 1;
        if self.number == self.trace.times.as_slice().len() {
            self.number = 0;
            self.base = self.base.saturating_add(self.trace.times.period());
        }
    }

    /// Moves to the first opportunity at `from` or later. An opportunity at the end of a round comes before those at
    /// time 0 of the next.
    fn skip_to(&mut self, from: u64) {
        let (left, skipped) = (self.left, self.passed());
        let before = from.saturating_sub(1);
        let period = self.trace.times.period();
        self.base = before / period * period;
        self.number = self.trace.times.until(before - self.base);
        self.left = self.trace.bytes;
        if self.number == self.trace.times.as_slice().len() {
            self.number = 0;
            self.base = self.base.saturating_add(period);
        }
        let skipped = self.passed().saturating_sub(skipped);
        self.unused += u64::from(left) + skipped.saturating_sub(1) * u64::from(self.trace.bytes);
    }

    /// Number of opportunities of all rounds before the present one.
    fn passed(&self) -> u64 {
        let times = &self.trace.times;
        self.base / times.period() * times.as_slice().len() as u64 + self.number as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anabranch_core::units::MILLISECOND;
    use anabranch_plan::opportunities::Milliseconds;
    use proptest::prelude::*;

    fn place(times: &[u32]) -> Place {
        Place::new(&Opportunities { times: Milliseconds::new(times.to_vec()).unwrap(), bytes: 1500 })
    }

    /// In milliseconds.
    fn end(place: &mut Place, from: u64, bytes: u32) -> u64 {
        place.end(from * MILLISECOND, bytes) / MILLISECOND
    }

    #[test]
    fn small_packets_share_an_opportunity() {
        let mut place = place(&[2, 5]);
        // Twice 700 bytes fit into the first; 100 of the third do, and 600 leave with the second.
        assert_eq!([700, 700, 700].map(|bytes| end(&mut place, 1, bytes)), [2, 2, 5]);
        // 900 are left there.
        assert_eq!([900, 1].map(|bytes| end(&mut place, 3, bytes)), [5, 7]);
    }

    #[test]
    fn a_large_packet_leaves_with_its_last_byte() {
        let mut place = place(&[2, 3, 9]);
        // 3,100 bytes take two opportunities and 100 bytes of the third, which has 1,400 left.
        assert_eq!(end(&mut place, 1, 3100), 9);
        assert_eq!([1400, 1].map(|bytes| end(&mut place, 1, bytes)), [9, 11]);
    }

    #[test]
    fn opportunities_that_nobody_takes_are_lost() {
        let mut place = place(&[1, 2, 3, 10]);
        assert_eq!(end(&mut place, 1, 100), 1);
        // Neither the 1,400 bytes at 1 ms nor the opportunity at 2 ms can be taken at 3 ms.
        assert_eq!([1500, 1500].map(|bytes| end(&mut place, 3, bytes)), [3, 10]);
        // Rounds are from 10 to 20 ms and so on: at 38 ms the last of this one is ahead, at 40 ms two of them are.
        assert_eq!(end(&mut place, 38, 1500), 40);
        assert_eq!([1500, 1500].map(|bytes| end(&mut place, 41, bytes)), [41, 42]);
    }

    #[test]
    fn what_nobody_takes_is_counted() {
        let mut place = place(&[1, 2, 3, 10]);
        end(&mut place, 1, 100);
        // At 3 ms 1,400 bytes of the first and all of the second are gone; at 23 ms those of 10, 11, 12, 13, 20, 21 and
        // 22.
        place.next(3 * MILLISECOND);
        assert_eq!(place.take_unused(), 2900);
        end(&mut place, 3, 1500);
        place.next(23 * MILLISECOND);
        assert_eq!([place.take_unused(), place.take_unused()], [7 * 1500, 0]);
    }

    #[test]
    fn the_last_of_a_round_and_those_at_0_of_the_next_are_at_one_time() {
        let mut place = place(&[0, 0, 4]);
        // From 0 on: two at 0, one at 4 and two that begin the next round there.
        assert_eq!([1500; 6].map(|bytes| end(&mut place, 0, bytes)), [0, 0, 4, 4, 4, 8]);
        let mut place = self::place(&[0, 0, 4]);
        assert_eq!([1500; 4].map(|bytes| end(&mut place, 4, bytes)), [4, 4, 4, 8]);
    }

    #[test]
    fn the_next_opportunity_has_bytes_left() {
        let mut place = place(&[1, 2]);
        assert_eq!(place.next(0), MILLISECOND);
        assert_eq!(end(&mut place, 0, 1500), 1);
        assert_eq!(place.next(MILLISECOND), 2 * MILLISECOND);
        assert_eq!(place.next(2 * MILLISECOND + 1), 3 * MILLISECOND);
    }

    /// When packets leave that come at some milliseconds, by going through all opportunities one by one.
    fn one_by_one(times: &[u32], arrivals: &[(u64, u32)]) -> Vec<u64> {
        let last = u64::from(*times.last().unwrap());
        let mut all = (0..).flat_map(|round| times.iter().map(move |&time| round * last + u64::from(time)));
        let (mut left, mut ends) = (0, Vec::new());
        let mut time = 0;
        for &(arrival, bytes) in arrivals {
            let mut bytes = bytes;
            loop {
                let taken = if arrival < time { bytes.min(left) } else { 0 };
                (bytes, left) = (bytes - taken, left - taken);
                if bytes == 0 {
                    break ends.push(time);
                }
                (time, left) = (all.next().unwrap(), 1500);
            }
        }
        ends
    }

    /// One after the other.
    fn arrivals() -> impl Strategy<Value = Vec<(u64, u32)>> {
        let gaps = prop_oneof![3 => Just(0..1u64), 2 => Just(0..5), 1 => Just(0..100)];
        prop::collection::vec((gaps.prop_flat_map(|gap| gap), 1..4000u32), 1..60).prop_map(|mut all| {
            let mut now = 0;
            for (time, _) in &mut all {
                now += *time;
                *time = now;
            }
            all
        })
    }

    proptest! {
        #[test]
        fn a_backlogged_link_carries_all_its_opportunities(
            mut times in prop::collection::vec(1..40u32, 1..20), packets in prop::collection::vec(1..4000u32, 1..60),
        ) {
            times.sort_unstable();
            let (mut place, mut sent) = (place(&times), 0);
            let last = times[times.len() - 1];
            for bytes in packets {
                sent += u64::from(bytes);
                // The last byte is in the last of as many opportunities as these bytes fill.
                let (round, number) = ((sent - 1) / 1500 / times.len() as u64, (sent - 1) / 1500 % times.len() as u64);
                prop_assert_eq!(end(&mut place, 1, bytes), round * u64::from(last) + u64::from(times[number as usize]));
            }
        }

        #[test]
        fn packets_leave_as_if_all_opportunities_were_gone_through(
            mut times in prop::collection::vec(0..40u32, 1..20), last in 40..50u32, arrivals in arrivals(),
        ) {
            times.push(last);
            times.sort_unstable();
            let mut place = place(&times);
            let ends: Vec<u64> = arrivals.iter().map(|&(time, bytes)| {
                place.end(time * MILLISECOND + 1, bytes) / MILLISECOND
            }).collect();
            prop_assert_eq!(ends, one_by_one(&times, &arrivals));
        }
    }
}
