//! Round trips of a subflow as delay-based protocols need them: the least ever, and those of the present round.

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
    /// Takes a sample in; over 0.
    pub fn add(&mut self, rtt: f64) {
        self.base = self.base.min(rtt);
        self.least = self.least.min(rtt);
        self.sum += rtt;
        self.samples += 1;
    }

    /// A new round begins.
    pub fn begin_round(&mut self) {
        *self = Self { base: self.base, ..Self::default() };
    }

    /// The least of all.
    pub fn base(&self) -> f64 {
        self.base
    }

    /// The least of this round.
    pub fn least(&self) -> f64 {
        self.least
    }

    /// The mean of this round, not less than the least of all; `None` without a sample.
    pub fn mean(&self) -> Option<f64> {
        (self.samples > 0).then(|| (self.sum / f64::from(self.samples)).max(self.base))
    }

    /// How many there were in this round.
    pub fn samples(&self) -> u32 {
        self.samples
    }
}

/// Packets of a subflow that wait in queues: the window less what a round trip without queues would hold.
pub fn backlog(window: f64, rtt: f64, base: f64) -> f64 {
    window * (rtt - base) / rtt
}
