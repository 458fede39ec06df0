//! Which subflow takes the next bytes: the one over which they arrive first [lim2017].

use std::time::Duration;

/// What is known of the connection of a subflow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    /// Smoothed round trip.
    pub rtt: Duration,
    /// Variation of the round trip.
    pub jitter: Duration,
    /// Window in bytes.
    pub window: u64,
    /// Bytes that wait before the window.
    pub queued: u64,
}

impl Pace {
    /// Time until the other end has this number of bytes more: round trips in which windows leave, and the last way.
    fn time_for(&self, bytes: u64) -> Duration {
        let windows = (self.queued + bytes) as f64 / self.window.max(1) as f64;
        self.rtt.mul_f64(1.0 + windows.max(0.0))
    }
}

/// Whether a subflow takes bytes now of which there are `backlog`, or leaves them for the fastest, which has no room now.
///
/// It leaves them if the fastest brings all of them before the subflow brings any.
pub fn takes(own: &Pace, fastest: &Pace, backlog: u64) -> bool {
    let change = own.jitter.max(fastest.jitter);
    fastest.time_for(backlog) >= own.time_for(0) + change
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pace(rtt: u64, window: u64) -> Pace {
        let [rtt, jitter] = [rtt, 2].map(Duration::from_millis);
        Pace { rtt, jitter, window, queued: 0 }
    }

    #[test]
    fn a_slow_subflow_takes_bytes_only_if_the_fastest_needs_longer_for_all_of_them() {
        // The fastest sends 100 kB in 20 ms: 210 kB in 62 ms, as long as the other needs for the first.
        let (fast, slow) = (pace(20, 100_000), pace(60, 100_000));
        assert!(!takes(&slow, &fast, 209_000) && takes(&slow, &fast, 210_000));
        // It takes fewer where the fastest has a queue, and more where it has one itself.
        assert!(takes(&slow, &Pace { queued: 100_000, ..fast }, 110_000));
        assert!(!takes(&Pace { queued: 50_000, ..slow }, &fast, 210_000));
    }
}
