//! `HyStart++`: leaves slow start when round trips grow, before packets are lost [rfc9406].
//!
//! ```text
//! doubt:   least of this round >= least of the last round + least of the last round / 8, at least 4 ms, at most 16 ms
//! ```
//!
//! In doubt windows grow a quarter as fast. If round trips fall below the one that raised the doubt, the doubt ends;
//! after five rounds of doubt slow start ends. Rounds with fewer than eight samples do not count.

/// Least number of samples in a round that counts.
const SAMPLES: u32 = 8;

/// Least growth of a round trip that raises doubt, in seconds.
const LEAST_GROWTH: f64 = 0.004;
/// Growth of a round trip that always raises doubt, in seconds.
const MOST_GROWTH: f64 = 0.016;

/// Between these limits, growth by one part in this many raises doubt.
const PARTS: f64 = 8.0;

/// Growth of windows in doubt, relative to normal slow start.
const DOUBTFUL: f64 = 0.25;

/// Rounds of doubt after which slow start ends.
const ROUNDS: u32 = 5;

/// The round trips of a subflow in slow start.
#[derive(Clone, Debug)]
pub struct HyStart {
    /// Least round trips of the last round and of this round, in seconds; infinite without a sample.
    last: f64,
    current: f64,
    samples: u32,
    doubt: Option<Doubt>,
}

/// The suspicion that the link is full.
#[derive(Clone, Copy, Debug)]
struct Doubt {
    /// The round trip that raised the doubt, in seconds.
    rtt: f64,
    /// Rounds since the doubt began.
    rounds: u32,
}

impl Default for HyStart {
    fn default() -> Self {
        Self { last: f64::INFINITY, current: f64::INFINITY, samples: 0, doubt: None }
    }
}

impl HyStart {
    /// Processes an acknowledgement. Returns the growth of the window for each packet acknowledged; `None` if slow
    /// start is over.
    pub fn on_ack(&mut self, rtt: Option<f64>, ends_round: bool) -> Option<f64> {
        if let Some(rtt) = rtt {
            self.current = self.current.min(rtt);
            self.samples += 1;
        }
        if self.samples >= SAMPLES {
            self.decide();
        }
        if ends_round {
            (self.last, self.current, self.samples) = (self.current, f64::INFINITY, 0);
            if let Some(doubt) = &mut self.doubt {
                doubt.rounds += 1;
                if doubt.rounds >= ROUNDS {
                    return None;
                }
            }
        }
        Some(if self.doubt.is_some() { DOUBTFUL } else { 1.0 })
    }

    fn decide(&mut self) {
        let growth = (self.last / PARTS).clamp(LEAST_GROWTH, MOST_GROWTH);
        match self.doubt {
            None if self.current >= self.last + growth => {
                self.doubt = Some(Doubt { rtt: self.current, rounds: 0 });
            }
            Some(doubt) if self.current < doubt.rtt => self.doubt = None,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A round of so many samples; gives by how much windows grew for each packet at its end.
    fn round(hystart: &mut HyStart, rtt: f64, samples: u32) -> Option<f64> {
        (1..=samples).map(|sample| hystart.on_ack(Some(rtt), sample == samples)).last().expect("there are samples")
    }

    #[test]
    fn five_rounds_of_longer_round_trips_end_slow_start() {
        let mut hystart = HyStart::default();
        assert_eq!(round(&mut hystart, 0.1, 10), Some(1.0));
        // An eighth of 100 ms is 12.5: 112 is not enough, and then 126 is: 112 + 14.
        assert_eq!(round(&mut hystart, 0.112, 10), Some(1.0));
        assert_eq!(round(&mut hystart, 0.1261, 10), Some(0.25));
        let rest: Vec<_> = (0..4).map(|_| round(&mut hystart, 0.13, 10)).collect();
        assert_eq!(rest, [Some(0.25), Some(0.25), Some(0.25), None]);
    }

    #[test]
    fn a_shorter_round_trip_ends_the_doubt() {
        let mut hystart = HyStart::default();
        round(&mut hystart, 0.01, 10);
        assert_eq!(round(&mut hystart, 0.014, 10), Some(0.25));
        assert_eq!(round(&mut hystart, 0.0139, 10), Some(1.0));
    }

    #[test]
    fn few_samples_say_nothing() {
        let mut hystart = HyStart::default();
        round(&mut hystart, 0.01, 8);
        assert_eq!(round(&mut hystart, 0.1, 7), Some(1.0));
    }
}
