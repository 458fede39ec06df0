//! The most that a client may send and receive: bytes wait for their time, and packets that come before theirs are dropped.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anabranch_core::Rate;
use tokio::time::{Instant, sleep_until};

/// The time for which bytes may come at once after silence.
const BURST: Duration = Duration::from_millis(50);

/// Bits of a byte.
const BITS: f64 = 8.0;

/// The most in one direction.
#[derive(Debug)]
pub(crate) struct Meter {
    rate: Rate,
    /// When what has passed is paid for.
    next: Mutex<Instant>,
}

/// The most in both directions.
#[derive(Debug)]
pub(crate) struct Meters {
    /// To the client.
    pub into: Meter,
    /// From the client.
    pub out: Meter,
}

/// Meters where there is a limit.
pub(crate) type Limits = Option<Arc<Meters>>;

impl Meters {
    /// Meters of a rate in each direction.
    pub fn new(rate: Rate) -> Self {
        Self { into: Meter::new(rate), out: Meter::new(rate) }
    }
}

impl Meter {
    fn new(rate: Rate) -> Self {
        Self { rate, next: Mutex::new(Instant::now()) }
    }

    fn lock(&self) -> MutexGuard<'_, Instant> {
        self.next.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until what has passed is paid for.
    pub async fn ready(&self) {
        loop {
            let at = *self.lock();
            if at <= Instant::now() {
                return;
            }
            sleep_until(at).await;
        }
    }

    /// Counts bytes that pass now; when they are paid for.
    pub fn note(&self, now: Instant, bytes: u64) -> Instant {
        let mut next = self.lock();
        let from = (*next).max(now.checked_sub(BURST).unwrap_or(now));
        *next = from + Duration::from_secs_f64(bytes as f64 * BITS / self.rate.0.max(1.0));
        *next
    }

    /// Whether a packet may pass now, which counts then.
    pub fn lets(&self, now: Instant, bytes: u64) -> bool {
        let may_pass = *self.lock() <= now;
        if may_pass {
            self.note(now, bytes);
        }
        may_pass
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_pass_at_the_rate_after_a_burst() {
        let meter = Meter::new(Rate(8e6));
        let begin = Instant::now() + Duration::from_secs(1);
        // 1 MB/s: 50 kB at once, and 450 kB in 0.45 s. Each piece waits until those before are paid for.
        let mut now = begin;
        for _ in 0..50 {
            now = now.max(meter.note(now, 10_000));
        }
        let took = now.duration_since(begin).as_secs_f64();
        assert!((took - 0.45).abs() < 1e-6, "{took}");
    }

    #[test]
    fn packets_before_their_time_are_dropped() {
        let meter = Meter::new(Rate(8e5));
        let begin = Instant::now() + Duration::from_secs(1);
        // 100 packets of 1000 bytes a second, and five at once. 1000 packets come in a second.
        let passed = (0..1000).filter(|ms| meter.lets(begin + Duration::from_millis(*ms), 1000)).count();
        assert!((104..=106).contains(&passed), "{passed}");
    }
}
