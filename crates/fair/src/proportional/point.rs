//! A point of the interior-point method: all of its unknowns at once.

use super::real::Real;

/// A price below this part of the marginal utility is not distinguished from 0.
pub(super) const CHEAP: f64 = 1e-6;

/// All unknowns in scaled units, or a direction in which they change.
#[derive(Clone)]
pub(super) struct Point<T> {
    pub xi: Vec<T>,
    pub z: Vec<T>,
    pub kappa: Vec<T>,
    pub s: Vec<T>,
    pub v: Vec<T>,
    /// The price of each group's demand (0 without a demand), and the rest of the demand (infinite without one).
    pub mu: Vec<T>,
    pub left: Vec<T>,
}

impl<T: Real> Point<T> {
    /// The payment of `group` for a unit of rate, or a small part of its marginal utility, whichever is more.
    pub fn offer(&self, group: usize) -> T {
        (self.v[group] - self.mu[group]).max(T::from(CHEAP) * self.v[group])
    }
}
