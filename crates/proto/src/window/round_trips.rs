//! Round trips of a subflow for delay-based protocols: the least of all, and those of the present round.

/// Round trips of a subflow, in seconds.
#[derive(Clone, Copy, Debug)]
pub struct RoundTrips {
    base: f64,
    least: f64,
    sum: f64,
    samples: u32,
}

impl Default for RoundTrips {
    fn default() -> Self {
        Self { base: f64::INFINITY, least: f64::INFINITY, sum: 0.0, samples: 0 }
    }
}

impl RoundTrips {
    /// Adds a sample in seconds, over 0.
    pub fn add(&mut self, rtt: f64) {
        self.base = self.base.min(rtt);
        self.least = self.least.min(rtt);
        self.sum += rtt;
        self.samples += 1;
    }

    /// Begins a new round.
    pub fn begin_round(&mut self) {
        *self = Self { base: self.base, ..Self::default() };
    }

    /// Least round trip of all, in seconds.
    pub fn base(&self) -> f64 {
        self.base
    }

    /// Least round trip of this round, in seconds.
    pub fn least(&self) -> f64 {
        self.least
    }

    /// Mean round trip of this round in seconds, not less than the least of all; `None` without a sample.
    pub fn mean(&self) -> Option<f64> {
        (self.samples > 0).then(|| (self.sum / f64::from(self.samples)).max(self.base))
    }

    /// Number of samples in this round.
    pub fn samples(&self) -> u32 {
        self.samples
    }
}

/// Packets of a subflow that wait in queues: the window less the packets that a round trip without queues holds.
pub fn backlog(window: f64, rtt: f64, base: f64) -> f64 {
    window * (rtt - base) / rtt
}
