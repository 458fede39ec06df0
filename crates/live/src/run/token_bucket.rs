//! A token bucket for the data of a source, which enforces its amount and its demand.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anabranch_core::Rate;
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep};

/// The most bytes that are granted at a time to the only sender of a connection.
pub(super) const PIECE: usize = 1 << 16;

/// Time whose bytes are granted to slow sources at once.
const TICK: Duration = Duration::from_millis(5);

/// The longest delay until a change of the rate takes effect.
const LONGEST: Duration = Duration::from_millis(50);

/// The data of a source, granted to its streams.
pub(super) struct TokenBucket {
    /// Rate in bytes a second, as the bits of a float.
    rate: AtomicU64,
    /// Data bytes of a packet: data are granted in whole packets, except the last.
    packet: f64,
    /// The most bytes that are granted at a time.
    most: f64,
    state: Mutex<State>,
}

struct State {
    left: u64,
    level: f64,
    at: Instant,
}

impl TokenBucket {
    /// Creates a bucket for an amount of bytes, granted in packets of size `packet`, at most `most` bytes at a time.
    pub fn new(amount: Option<u64>, packet: u64, most: u64) -> Self {
        let state = State { left: amount.unwrap_or(u64::MAX), level: 0.0, at: Instant::now() };
        Self {
            rate: AtomicU64::new(f64::INFINITY.to_bits()),
            packet: packet as f64,
            most: most as f64,
            state: Mutex::new(state),
        }
    }

    /// Sets the demand of the source.
    pub fn set(&self, rate: Rate) {
        self.rate.store((rate.0 / 8.0).to_bits(), Ordering::Relaxed);
    }

    /// Takes back bytes that were granted and have to be sent anew.
    pub async fn take_back(&self, bytes: u64) {
        let state = &mut *self.state.lock().await;
        state.left = state.left.saturating_add(bytes);
    }

    /// Whether all bytes are granted.
    pub async fn is_empty(&self) -> bool {
        self.state.lock().await.left == 0
    }

    /// Waits for the next bytes to send, and returns their number; 0 when all are granted.
    pub async fn take(&self) -> usize {
        let mut state = self.state.lock().await;
        loop {
            let rate = f64::from_bits(self.rate.load(Ordering::Relaxed));
            let in_tick = rate * TICK.as_secs_f64();
            let packets = in_tick.min(self.most) / self.packet;
            let usual = packets.floor().max(1.0) * self.packet;
            let wanted = usual.min(state.left as f64);
            let now = Instant::now();
            let come = rate * (now - state.at).as_secs_f64();
            // Data that a source could have sent before are not sent later in addition.
            state.level = if rate.is_finite() { (state.level + come).min(2.0 * usual.max(in_tick)) } else { usual };
            state.at = now;
            if state.level >= wanted {
                state.level -= wanted;
                state.left -= wanted as u64;
                return wanted as usize;
            }
            sleep(Duration::from_secs_f64((wanted - state.level) / rate).min(LONGEST)).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_source_gives_its_amount_and_no_more() {
        // 65 packets of 1,000 bytes are given out at a time, which is no more than a piece of 65,536.
        let tokens = TokenBucket::new(Some(65_010), 1000, PIECE as u64);
        assert_eq!((tokens.take().await, tokens.take().await, tokens.take().await), (65_000, 10, 0));
    }

    #[tokio::test]
    async fn what_is_taken_back_is_given_again() {
        let tokens = TokenBucket::new(Some(1500), 1000, 1000);
        assert_eq!((tokens.take().await, tokens.take().await, tokens.take().await), (1000, 500, 0));
        tokens.take_back(700).await;
        assert_eq!((tokens.take().await, tokens.take().await), (700, 0));
    }

    #[tokio::test]
    async fn many_small_grants_come_to_the_demand_though_timers_are_coarse() {
        // 80 Mbit/s are 10,000 packets of 1,000 bytes a second: 2,000 take 0.2 s. Two in a millisecond would take 1 s.
        let tokens = TokenBucket::new(None, 1000, 1000);
        tokens.set(Rate(8e7));
        let start = Instant::now();
        for _ in 0..2000 {
            assert_eq!(tokens.take().await, 1000);
        }
        let took = start.elapsed().as_secs_f64();
        assert!((0.15..0.7).contains(&took), "{took}");
    }

    #[tokio::test]
    async fn a_slow_source_gives_as_much_as_comes_to_it() {
        // 8 Mbit/s are 1,000,000 bytes a second: 5 ms bring 5,000 bytes, of which ten take 50 ms.
        let tokens = TokenBucket::new(None, 1000, PIECE as u64);
        tokens.set(Rate(8e6));
        let start = Instant::now();
        for _ in 0..10 {
            assert_eq!(tokens.take().await, 5000);
        }
        let took = start.elapsed().as_secs_f64();
        assert!(took > 0.045, "{took}");
    }
}
