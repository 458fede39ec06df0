//! A meter of the rate at which packets left in a recent window.

use std::collections::VecDeque;

use anabranch_core::{Span, Time};

/// The packets of the last `window`, by time of departure.
#[derive(Clone, Debug)]
pub(super) struct Meter {
    window: Span,
    packets: VecDeque<(Time, u32)>,
    bytes: u64,
}

impl Meter {
    pub(super) fn new(window: Span) -> Self {
        Self { window, packets: VecDeque::new(), bytes: 0 }
    }

    /// Records the departure of a packet.
    pub(super) fn add(&mut self, now: Time, bytes: u32) {
        self.bytes += u64::from(bytes);
        self.packets.push_back((now, bytes));
    }

    /// Rate over the window that ends now, in bit/s.
    pub(super) fn rate(&mut self, now: Time) -> f64 {
        while let Some((_, bytes)) = self.packets.pop_front_if(|(at, _)| now.0.saturating_sub(at.0) >= self.window.0) {
            self.bytes -= u64::from(bytes);
        }
        8.0 * self.bytes as f64 / self.window.seconds()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_while_counts() {
        // 1,000 bytes at 0, 1 and 2 of a window of 2 ms: two of them in any, so 8 Mbit/s.
        let ms = 1_000_000_000;
        let mut meter = Meter::new(Span(2 * ms));
        meter.add(Time(0), 1000);
        assert!((meter.rate(Time(0)) - 4e6).abs() < 1e-6);
        meter.add(Time(ms), 1000);
        meter.add(Time(2 * ms), 1000);
        assert!((meter.rate(Time(2 * ms)) - 8e6).abs() < 1e-6);
        assert!(meter.rate(Time(9 * ms)).abs() < 1e-6);
    }
}
