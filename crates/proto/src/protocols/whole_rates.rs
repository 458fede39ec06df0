//! Rates as whole numbers of bit/s, so that sums of them return to exactly zero, and counts of each rate.

use std::collections::BTreeMap;

use anabranch_core::Rate;

/// A rate above any capacity that does not overflow sums.
pub(super) const UNLIMITED: i64 = 1 << 61;

/// Relative distance from a whole number that a rate may have by rounding alone.
const ROUNDING: f64 = 1e-12;

/// A rate in whole bit/s: rounded down, but up where only rounding makes it less than a whole number.
pub(super) fn whole(rate: Rate) -> i64 {
    let next = rate.0.round();
    let is_next = (next - rate.0).abs() <= ROUNDING * rate.0;
    // Values too large for the type become its greatest number.
    (if is_next { next as i64 } else { rate.0 as i64 }).min(UNLIMITED)
}

/// The number of occurrences of each rate, in order: 12 bytes for each different rate, and the spare room of the tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RateCounts(BTreeMap<i64, u32>);

impl RateCounts {
    /// Adds an occurrence of a rate.
    pub fn insert(&mut self, rate: i64) {
        *self.0.entry(rate).or_default() += 1;
    }

    /// Removes an occurrence of a rate, if there is one.
    pub fn remove(&mut self, rate: i64) {
        let Some(count) = self.0.get_mut(&rate) else { return };
        *count -= 1;
        if *count == 0 {
            self.0.remove(&rate);
        }
    }

    /// The greatest rate.
    pub fn greatest(&self) -> Option<i64> {
        self.0.last_key_value().map(|(&rate, _)| rate)
    }

    /// The rates in ascending order with their numbers of occurrences.
    pub fn rising(&self) -> impl Iterator<Item = (i64, i64)> {
        self.0.iter().map(|(&rate, &count)| (rate, i64::from(count)))
    }

    /// Whether there are no rates.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_counted_in_order() {
        let mut counts = RateCounts::default();
        for rate in [5, 2, 5, 9] {
            counts.insert(rate);
        }
        for rate in [9, 7] {
            counts.remove(rate);
        }
        assert_eq!((counts.greatest(), counts.rising().collect::<Vec<_>>()), (Some(5), vec![(2, 1), (5, 2)]));
        for rate in [2, 5, 5] {
            counts.remove(rate);
        }
        assert!(counts.is_empty() && counts.greatest().is_none());
    }

    #[test]
    fn what_is_too_large_for_a_whole_number_is_unlimited() {
        assert_eq!([2.9, 1e300, f64::INFINITY].map(|bps| whole(Rate(bps))), [2, UNLIMITED, UNLIMITED]);
    }

    #[test]
    fn what_rounding_took_from_a_whole_number_is_given_back() {
        let rates = [1.003 * 1e6, 0.1 * 3.0 * 10.0, 1_002_999.5, 0.0].map(|bps| whole(Rate(bps)));
        assert_eq!(rates, [1_003_000, 3, 1_002_999, 0]);
    }
}
