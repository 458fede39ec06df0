//! The numbers that the interior-point method computes with: doubles, or pairs of them.

use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, Neg, Sub, SubAssign};

/// A number type, with the tolerances that follow from its digits.
pub(super) trait Real:
    Copy
    + PartialOrd
    + From<f64>
    + Into<f64>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
    + DivAssign
    + Sum
{
    /// A pivot below this part of its diagonal entry is rounding error; some units in the last place.
    const ROUNDING: f64;

    /// The part that softens the linear system; about the square root of a unit in the last place.
    const SOFT: f64;

    /// The error of the linear system at which refinement ends; some units in the last place.
    const SOLVED: f64;

    fn sqrt(self) -> Self;

    /// The natural logarithm of a positive number.
    fn ln(self) -> Self;

    fn abs(self) -> Self {
        if self < Self::zero() { -self } else { self }
    }

    fn is_nan(self) -> bool {
        self.into().is_nan()
    }

    /// The greater of two; `self` unless `other` is greater.
    fn max(self, other: Self) -> Self {
        if other > self { other } else { self }
    }

    /// The lesser of two; `self` unless `other` is less.
    fn min(self, other: Self) -> Self {
        if other < self { other } else { self }
    }

    fn zero() -> Self {
        0.0.into()
    }

    fn one() -> Self {
        1.0.into()
    }
}

impl Real for f64 {
    const ROUNDING: f64 = 1e-15;
    const SOFT: f64 = 1e-8;
    const SOLVED: f64 = 1e-14;

    fn sqrt(self) -> Self {
        f64::sqrt(self)
    }

    fn ln(self) -> Self {
        f64::ln(self)
    }

    fn abs(self) -> Self {
        f64::abs(self)
    }

    fn is_nan(self) -> bool {
        f64::is_nan(self)
    }

    fn max(self, other: Self) -> Self {
        f64::max(self, other)
    }

    fn min(self, other: Self) -> Self {
        f64::min(self, other)
    }
}
