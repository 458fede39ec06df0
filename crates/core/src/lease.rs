//! The expiry of granted rates: a rate is valid for a lease, and falls unless it is repeated.

use std::time::Duration;

use crate::units::Rate;

/// The rate at which a path may always send: enough to detect whether it works.
pub const FLOOR: Rate = Rate(64e3);

/// The part of a granted rate that is valid after a silence: it falls by half with each lease, down to [`FLOOR`].
///
/// What other sessions have been granted during the silence is unknown.
pub fn valid_rate(granted: Rate, silence: Duration, lease: Duration) -> Rate {
    let over = silence.as_secs_f64() / lease.as_secs_f64();
    Rate((granted.0 * 0.5f64.powi(over.min(60.0) as i32)).max(FLOOR.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_falls_by_half_with_each_lease_down_to_the_floor() {
        let lease = Duration::from_secs(2);
        for (silence, rate) in [(0.0, 8e6), (1.9, 8e6), (2.1, 4e6), (6.1, 1e6), (1000.0, FLOOR.0)] {
            assert_eq!(valid_rate(Rate(8e6), Duration::from_secs_f64(silence), lease), Rate(rate));
        }
        assert_eq!(valid_rate(Rate(0.0), Duration::ZERO, lease), FLOOR);
    }
}
