//! The round-trip time of a path, and its timeout for acknowledgements [rfc6298].

use anabranch_core::Span;

/// Granularity of the clock in seconds: 1 ns.
const GRANULARITY: f64 = 1e-9;

/// Round-trip estimates of a path, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rtt {
    /// Smoothed round trip; 0 before the first sample.
    smoothed: f64,
    deviation: f64,
    latest: f64,
}

impl Rtt {
    /// Adds a sample in seconds.
    pub fn on_sample(&mut self, sample: f64) {
        self.latest = sample;
        if self.smoothed == 0.0 {
            self.smoothed = sample;
            self.deviation = sample / 2.0;
        } else {
            self.deviation += (f64::abs(self.smoothed - sample) - self.deviation) / 4.0;
            self.smoothed += (sample - self.smoothed) / 8.0;
        }
    }

    /// Smoothed round trip in seconds; 0 before the first sample.
    pub fn smoothed(&self) -> f64 {
        self.smoothed
    }

    /// Timeout for an acknowledgement; `None` before the first sample.
    pub fn patience(&self) -> Option<Span> {
        let wait = self.smoothed + (4.0 * self.deviation).max(GRANULARITY);
        if self.smoothed > 0.0 { Span::from_seconds(wait) } else { None }
    }

    /// Time after which a packet counts as lost if a later one has arrived: 1.125 round trips [rfc8985].
    pub fn reordering(&self) -> Span {
        Span::from_seconds(1.125 * self.smoothed.max(self.latest)).unwrap_or(Span(u64::MAX / 2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_is_the_smoothed_round_trip_and_four_deviations() {
        let mut rtt = Rtt::default();
        assert_eq!(rtt.patience(), None);
        // First sample R: smoothed R, deviation R / 2; so the wait is 3 R.
        rtt.on_sample(0.1);
        assert_eq!(rtt.patience(), Span::from_seconds(0.3));
        // Then deviation 3/4 50 + 1/4 |100 - 120| = 42.5 ms, smoothed 7/8 100 + 1/8 120 = 102.5 ms.
        rtt.on_sample(0.12);
        assert!((rtt.smoothed() - 0.1025).abs() < 1e-15);
        assert!((rtt.patience().unwrap().seconds() - 0.2725).abs() < 1e-12);
        assert!((rtt.reordering().seconds() - 0.135).abs() < 1e-12);
    }
}
