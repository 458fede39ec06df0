//! A point of the interior-point method: all of its unknowns at once.

use super::real::Real;

/// A price is not told from 0 below this part of the marginal utility.
pub(super) const CHEAP: f64 = 1e-6;

/// All unknowns in scaled units, or a direction in which they change.
#[derive(Clone)]
pub(super) struct Point<T> {
    pub xi: Vec<T>,
    pub z: Vec<T>,
    pub kappa: Vec<T>,
    pub s: Vec<T>,
    pub v: Vec<T>,
    /// Of each group; 0 and infinite without a demand.
    pub mu: Vec<T>,
    pub left: Vec<T>,
}

impl<T: Real> Point<T> {
    /// What `group` pays for a unit of rate, or a small part of its marginal utility, if that is more.
    pub fn offer(&self, group: usize) -> T {
        (self.v[group] - self.mu[group]).max(T::from(CHEAP) * self.v[group])
    }
}
