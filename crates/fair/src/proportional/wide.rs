//! Numbers with twice a double's digits: the sum of two doubles, of which the second is the remainder of the first.
//!
//! They have some 31 decimal digits, and the exponents of doubles [joldes2017]. A sum or product of two doubles is held
//! exactly; all other results are right to a few units in the last place. Below about 1e-290 the second half is lost.
//! Infinite numbers and NaN behave as in doubles: the solver uses them for demands and links without a limit.

use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, Neg, Sub, SubAssign};

use super::real::Real;

/// The number `high + low`, where low is at most half a unit in the last place of high; 0 if high is infinite.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub(super) struct Wide {
    high: f64,
    low: f64,
}

/// The logarithm of 2.
const LN_2: Wide = Wide { high: std::f64::consts::LN_2, low: 2.319_046_813_846_299_6e-17 };

/// Terms of the logarithm's series, each at most 0.03 of the one before.
const TERMS: u32 = 22;

impl Wide {
    /// The sum of two doubles, where `large` is not the lesser in size.
    fn ordered_sum(large: f64, small: f64) -> Self {
        let high = large + small;
        Self::with(high, || small - (high - large))
    }

    /// The sum of two doubles.
    fn exact_sum(a: f64, b: f64) -> Self {
        let high = a + b;
        let part = high - a;
        Self::with(high, || (a - (high - part)) + (b - part))
    }

    /// The product of two doubles.
    fn exact_product(a: f64, b: f64) -> Self {
        let high = a * b;
        Self::with(high, || a.mul_add(b, -high))
    }

    /// A number with the remainder of its first half; the remainder is 0 where the first half is infinite.
    fn with(high: f64, low: impl FnOnce() -> f64) -> Self {
        Self { high, low: if high.is_finite() { low() } else { 0.0 } }
    }
}

impl From<f64> for Wide {
    fn from(value: f64) -> Self {
        Self { high: value, low: 0.0 }
    }
}

impl From<Wide> for f64 {
    fn from(value: Wide) -> Self {
        value.high
    }
}

impl Neg for Wide {
    type Output = Self;

    fn neg(self) -> Self {
        Self { high: -self.high, low: -self.low }
    }
}

impl Add for Wide {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        let (high, low) = (Self::exact_sum(self.high, other.high), Self::exact_sum(self.low, other.low));
        let sum = Self::ordered_sum(high.high, high.low + low.high);
        Self::ordered_sum(sum.high, sum.low + low.low)
    }
}

impl Sub for Wide {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        self + -other
    }
}

impl Mul for Wide {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        let product = Self::exact_product(self.high, other.high);
        if !product.high.is_finite() {
            return product;
        }
        Self::ordered_sum(product.high, product.low + (self.high * other.low + self.low * other.high))
    }
}

impl Div for Wide {
    type Output = Self;

    /// Long division, with three digits of the size of a double.
    fn div(self, other: Self) -> Self {
        let first = self.high / other.high;
        if !first.is_finite() || other.high.is_infinite() {
            return first.into();
        }
        let rest = self - other * first.into();
        let second = rest.high / other.high;
        let third = (rest - other * second.into()).high / other.high;
        Self::ordered_sum(first, second) + third.into()
    }
}

impl AddAssign for Wide {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl SubAssign for Wide {
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

impl DivAssign for Wide {
    fn div_assign(&mut self, other: Self) {
        *self = *self / other;
    }
}

impl Sum for Wide {
    fn sum<I: Iterator<Item = Self>>(numbers: I) -> Self {
        numbers.fold(0.0.into(), Add::add)
    }
}

impl Real for Wide {
    const ROUNDING: f64 = 1e-30;
    const SOFT: f64 = 1e-16;
    const SOLVED: f64 = 1e-28;

    /// One step of Newton's method from the root of the first half.
    fn sqrt(self) -> Self {
        let root = self.high.sqrt();
        if root == 0.0 || !root.is_finite() {
            return root.into();
        }
        let rest = self - Self::exact_product(root, root);
        Self::ordered_sum(root, rest.high / (2.0 * root))
    }

    /// The natural logarithm, as `k ln 2 + 2 artanh((m - 1) / (m + 1))` for `m * 2^k`, where m is 0.7 to 1.42.
    fn ln(self) -> Self {
        if !(self.high > 0.0 && self.high.is_finite()) {
            return self.high.ln().into();
        }
        let power = self.high.log2().round();
        // In two halves: 2^-k itself may be beyond the doubles where the number is among the least.
        let half = (power / 2.0).trunc();
        let near = self * (-half).exp2().into() * (half - power).exp2().into();
        let s = (near - Self::one()) / (near + Self::one());
        let square = s * s;
        let (mut sum, mut term) = (s, s);
        for odd in (1..TERMS).map(|i| f64::from(2 * i + 1)) {
            term = term * square;
            sum += term / odd.into();
        }
        LN_2 * power.into() + sum + sum
    }
}

#[cfg(test)]
mod tests;
