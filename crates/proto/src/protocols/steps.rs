//! Numbers in steps of 2^-60, whose sums return to exactly zero.
//!
//! A sum of doubles keeps a trace of numbers that were added and subtracted again. A sum of whole steps in 128 bits
//! does not, and 2^-60 is so fine that a millionth of a rate of 1 kbit/s still has all the digits of a double.

/// Number of steps in 1.
const STEPS: f64 = (1u64 << 60) as f64;

/// Doubles from this value on have no fraction.
const WHOLE: f64 = (1u64 << 52) as f64;

/// The highest rate in bit/s that is granted; ten thousand of them still add up in 128 bits.
pub(super) const MOST_RATE: f64 = 1e16;

/// Rounds a number from 0 to 1e20 to the nearest step.
pub(super) fn in_steps(value: f64) -> f64 {
    let steps = value * STEPS;
    // The sum has no room for a fraction, so that it is rounded.
    if steps < WHOLE { (steps + WHOLE - WHOLE) / STEPS } else { value }
}

/// Rounds a rate in bit/s down to its first 24 binary digits, as a single has them, in steps.
///
/// So a rate that hardly changes any more comes to rest, whether it is 1 kbit/s or 1 Tbit/s, and at most a part in
/// eight million of a link stays unused.
pub(super) fn rate_in_steps(bps: f64) -> f64 {
    const LAST: u64 = (1 << 29) - 1;
    let steps = f64::from_bits(bps.to_bits() & !LAST) * STEPS;
    // From 2^23 steps on, 24 digits have no fraction.
    if steps < WHOLE { (steps as u64) as f64 / STEPS } else { steps / STEPS }
}

/// Whether a number is a multiple of a step, at least 0 and at most `most`.
pub(super) fn is_in_steps(value: f64, most: f64) -> bool {
    (0.0..=most).contains(&value) && (value * STEPS).fract() == 0.0
}

/// The least number above 0.
pub(super) const LEAST: f64 = 1.0 / STEPS;

/// A sum of numbers in steps.
///
/// It wraps around rather than overflows, so that a subtraction restores it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sum(i128);

impl Sum {
    /// The number of steps.
    pub fn steps(self) -> i128 {
        self.0
    }

    /// A sum of this number of steps.
    pub fn of_steps(steps: i128) -> Self {
        Self(steps)
    }

    pub fn add(&mut self, value: f64) {
        self.0 = self.0.wrapping_add(steps(value));
    }

    pub fn subtract(&mut self, value: f64) {
        self.0 = self.0.wrapping_sub(steps(value));
    }

    /// The sum as a double, to its last digits where it is at least 0.
    #[inline]
    pub fn value(self) -> f64 {
        const UPPER: f64 = 2.0 * (1u64 << 63) as f64;
        let (upper, lower) = ((self.0 >> 64) as i64, self.0 as u64);
        (upper as f64 * UPPER + lower as f64) / STEPS
    }
}

/// Converts a number of at least 0 to steps. It moves the digits of the double, which is faster than a conversion to
/// 128 bits.
#[inline]
fn steps(value: f64) -> i128 {
    let bits = value.to_bits();
    let (exponent, digits) = ((bits >> 52) as i32, i128::from(bits & ((1 << 52) - 1) | 1 << 52));
    // The last digit of a double of this exponent stands for 2^(exponent - 1075).
    match exponent - (1075 - 60) {
        shift @ 0..75 => digits << shift,
        shift @ -52..0 => digits >> -shift,
        ..-52 => 0,
        _ => (value * STEPS) as i128,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn steps_are_fine_for_small_numbers_and_change_no_large_ones() {
        assert!((in_steps(1e-9) / 1e-9 - 1.0).abs() < 1e-9);
        assert_eq!([in_steps(1e15 / 3.0), in_steps(0.0)].map(f64::to_bits), [1e15 / 3.0, 0.0].map(f64::to_bits));
        assert!(is_in_steps(LEAST, 1.0) && !is_in_steps(0.7 * LEAST, 1.0));
        assert!(![f64::NAN, -LEAST, 2.0, f64::INFINITY].into_iter().any(|value| is_in_steps(value, 1.0)));
    }

    #[test]
    fn rates_that_are_nearly_equal_are_equal_and_none_is_rounded_up() {
        for scale in [1e-3, 1.0, 1e15] {
            let (rate, more) = (rate_in_steps(1.7 * scale), rate_in_steps(1.7 * scale * (1.0 + 1e-12)));
            assert_eq!(rate.to_bits(), more.to_bits());
            assert!(rate <= 1.7 * scale && rate > 1.7 * scale * (1.0 - 1.2e-7));
        }
        assert_eq!(rate_in_steps(0.0).to_bits(), 0);
    }

    #[test]
    fn a_sum_has_the_digits_of_a_double_whatever_its_size() {
        for exponent in -60..50 {
            let number = 2f64.powi(exponent) * if exponent < -8 { 1.0 } else { 1.999_999_9 };
            let number = in_steps(number);
            assert_eq!(steps(number), (number * STEPS) as i128, "2^{exponent}");
            let mut sum = Sum::default();
            sum.add(number);
            assert_eq!(sum.value().to_bits(), number.to_bits(), "2^{exponent}");
            sum.add(LEAST);
            assert!((sum.value() - number - LEAST).abs() <= f64::EPSILON * number, "2^{exponent}");
        }
        assert_eq!([0.0, f64::NAN, LEAST / 2.0].map(steps), [0; 3]);
        assert_eq!(steps(-1.0), -(1 << 60));
    }

    proptest! {
        #[test]
        fn what_is_added_and_taken_off_in_any_order_leaves_nothing(
            numbers in prop::collection::vec((-18.0..16.0f64, any::<u32>()), 0..50),
        ) {
            let mut numbers: Vec<(f64, u32)> = numbers.iter().map(|&(log, key)| (in_steps(10f64.powf(log)), key)).collect();
            let mut sum = Sum::default();
            for &(number, _) in &numbers {
                sum.add(number);
            }
            numbers.sort_by_key(|&(_, key)| key);
            for &(number, _) in &numbers {
                sum.subtract(number);
            }
            prop_assert_eq!(sum, Sum::default());
        }
    }
}
