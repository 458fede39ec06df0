//! Rates as whole numbers of bit/s, so that sums of them return to exactly zero.

use anabranch_core::Rate;

/// More than any link carries, and less than would overflow.
pub(super) const UNLIMITED: i64 = 1 << 61;

/// A rate in whole bit/s.
pub(super) fn whole(rate: Rate) -> i64 {
    // Whatever is too large for the type becomes its greatest number.
    (rate.0 as i64).min(UNLIMITED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_large_for_a_whole_number_is_unlimited() {
        assert_eq!([2.9, 1e300, f64::INFINITY].map(|bps| whole(Rate(bps))), [2, UNLIMITED, UNLIMITED]);
    }
}
