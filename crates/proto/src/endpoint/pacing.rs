//! Pacing: when a source with a given rate sends its next packet.

use anabranch_core::units::BIT_PICOSECONDS;
use anabranch_core::{Bytes, Rate, Time};

/// The pace of one subflow: a packet of b bytes at rate r is followed by the next after 8 b / r.
///
/// A change of rate takes effect at once and counts from the last packet on. At rate 0 nothing is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pace {
    rate: f64,
    /// Time of the last packet, and its bits; `None` before the first packet, which may go at any time.
    last: Option<(Time, f64)>,
}

impl Pace {
    /// The rate at which the subflow may send.
    pub fn rate(&self) -> Rate {
        Rate(self.rate)
    }

    /// Sets the rate, which is finite and not negative.
    pub fn set_rate(&mut self, rate: Rate) {
        self.rate = rate.0;
    }

    /// Records that a packet was sent.
    pub fn on_sent(&mut self, now: Time, size: Bytes) {
        self.last = Some((now, size.0 as f64 * BIT_PICOSECONDS));
    }

    /// Adds bytes that were sent outside of the pace to the wait for the next packet.
    pub fn charge(&mut self, size: Bytes) {
        if let Some((_, work)) = &mut self.last {
            *work += size.0 as f64 * BIT_PICOSECONDS;
        }
    }

    /// Time at which the next packet may go, `now` at the earliest; `None` at rate 0.
    pub fn next(&self, now: Time) -> Option<Time> {
        if self.rate <= 0.0 {
            return None;
        }
        let Some((sent, work)) = self.last else { return Some(now) };
        // The conversion saturates at 213 days, later than any run ends.
        let gap = ((work / self.rate + 0.5) as u64).max(1);
        Some(Time(sent.0.saturating_add(gap).max(now.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anabranch_core::units::MILLISECOND;

    #[test]
    fn a_packet_follows_after_its_bits_at_the_rate() {
        // 1,000 bytes at 8 Mbit/s take 1 ms.
        let mut pace = Pace::default();
        assert_eq!(pace.next(Time(7)), None);
        pace.set_rate(Rate(8e6));
        assert_eq!(pace.next(Time(7)), Some(Time(7)));
        pace.on_sent(Time(0), Bytes(1000));
        assert_eq!(pace.next(Time(7)), Some(Time(MILLISECOND)));
    }

    #[test]
    fn a_change_of_rate_counts_from_the_last_packet() {
        let mut pace = Pace::default();
        pace.set_rate(Rate(8e6));
        pace.on_sent(Time(0), Bytes(1000));
        // Twice the rate, half the gap; at a rate so high that the time has passed, at once.
        pace.set_rate(Rate(16e6));
        assert_eq!(pace.next(Time(7)), Some(Time(MILLISECOND / 2)));
        pace.set_rate(Rate(80e6));
        assert_eq!(pace.next(Time(MILLISECOND / 2)), Some(Time(MILLISECOND / 2)));
        // At any rate time goes on.
        pace.set_rate(Rate(1e30));
        assert_eq!(pace.next(Time(0)), Some(Time(1)));
        // At a thousandth of a bit per second, later than time can be told.
        pace.set_rate(Rate(1e-9));
        assert_eq!(pace.next(Time(7)), Some(Time(u64::MAX)));
    }
}
