//! The rates that an application has been granted, and their expiry.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anabranch_core::Rate;
#[cfg(any(test, target_os = "linux"))]
pub(crate) use anabranch_core::lease::FLOOR;
use anabranch_core::lease::valid_rate;

/// The rates for the paths of a connection, which expire.
///
/// A rate that is not repeated for the duration of the lease falls by half, and so on, since it is unknown what other
/// sessions have been granted meanwhile.
#[derive(Debug)]
pub struct Lease {
    lasts: Duration,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    rates: Vec<f64>,
    /// The links of each path, as far as the agent has told them.
    paths: Vec<Vec<u32>>,
    told: Instant,
    refusal: Option<String>,
    has_left: bool,
}

impl Lease {
    /// Creates a lease for this number of paths, without any rates.
    pub fn new(paths: usize, lasts: Duration) -> Self {
        let state =
            State { rates: vec![0.0; paths], paths: Vec::new(), told: Instant::now(), refusal: None, has_left: false };
        Self { lasts, state: Mutex::new(state) }
    }

    /// The rates that are valid at `now`.
    pub fn rates(&self, now: Instant) -> Vec<Rate> {
        let state = self.lock();
        let silence = now.saturating_duration_since(state.told);
        state.rates.iter().map(|&rate| valid_rate(Rate(rate), silence, self.lasts)).collect()
    }

    /// The rates that the agent reported last, however long ago.
    pub fn told(&self) -> Vec<Rate> {
        self.lock().rates.iter().map(|&rate| Rate(rate)).collect()
    }

    /// The links of each path, by their numbers in the network; empty before the agent has told them.
    pub fn paths(&self) -> Vec<Vec<u32>> {
        self.lock().paths.clone()
    }

    /// Whether rates have been reported since `time`.
    pub(super) fn told_since(&self, time: Instant) -> bool {
        self.lock().told > time
    }

    /// The reason why the session gets no rates, for good or for the moment; `None` if it was not refused, or was granted
    /// rates since.
    pub fn refusal(&self) -> Option<String> {
        self.lock().refusal.clone()
    }

    /// Whether the session has left.
    pub fn has_left(&self) -> bool {
        self.lock().has_left
    }

    pub(super) fn grant(&self, rates: &[f64], now: Instant) {
        let mut state = self.lock();
        if rates.len() == state.rates.len() {
            state.rates.copy_from_slice(rates);
            state.told = now;
            state.refusal = None;
        }
    }

    pub(super) fn take_paths(&self, paths: Vec<Vec<u32>>) {
        let mut state = self.lock();
        state.rates.resize(paths.len(), 0.0);
        state.paths = paths;
    }

    pub(super) fn refuse(&self, reason: String) {
        self.lock().refusal = Some(reason);
    }

    pub(super) fn leave(&self) {
        self.lock().has_left = true;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_that_are_not_told_again_fall_by_half_with_each_lease() {
        let second = Duration::from_secs(1);
        let lease = Lease::new(2, second);
        let now = Instant::now();
        assert_eq!(lease.rates(now), [FLOOR, FLOOR]);
        lease.grant(&[8e6, 0.0], now);
        for (seconds, rate) in [(0.9, 8e6), (1.1, 4e6), (3.1, 1e6), (100.0, FLOOR.0)] {
            assert_eq!(lease.rates(now + second.mul_f64(seconds)), [Rate(rate), FLOOR]);
        }
        assert_eq!(lease.told(), [Rate(8e6), Rate(0.0)]);
    }
}
