//! Proportional and alpha fairness over many paths: the rates of the greatest utility, with link prices.
//!
//! ```text
//! maximise    sum over connections of  weight * U(rate / weight)      U(y) = log y              alpha = 1
//! subject to  coefficient * rate summed over the paths on l <= capacity[l]   y^(1-alpha)/(1-alpha)  other alpha
//!             rate of a connection <= its demand
//! ```
//!
//! Alpha 1 is proportional fairness [kelly1998], and other alphas are those of [mo2000]; the greater alpha is, the
//! nearer the rates are to max-min fairness. The utility is that of the level (rate divided by weight), multiplied by
//! the weight: a connection of weight 2 is worth two connections of weight 1 that have half of its rate each. The
//! marginal utility is `level^-alpha`. So connections on one link have equal levels for every alpha, alpha 1 gives
//! `weight * log rate`, and large alphas approach the weighted max-min fairness of the other solvers. differs: [mo2000]
//! multiplies the utility of the rate by the weight, which is `weight^alpha` here; the two agree for alpha 1.
//!
//! The result contains a price for each link, in `(unit of rate)^-alpha` for a unit of rate. Rates of connections are
//! unique, and so are the path prices of connections whose demand is not met. Rates of paths and prices of links need
//! not be unique; the solver then returns one optimal choice. A link of capacity 0 has an infinite price. The method is
//! [`interior`] in doubles; where doubles do not find the optimum, it uses numbers of twice the digits
//! ([`mod@optimum`]).

mod cholesky;
mod interior;
mod optimum;
mod point;
mod real;
mod scaled;
mod start;
mod system;
mod wide;

use std::sync::Arc;

use thiserror::Error;

use crate::problem::{Problem, trim};
use interior::Solved;
use optimum::{Attempt, FOUND, optimum};
use scaled::{Guess, Scaled};

/// The rates of the greatest utility and the prices of links.
#[derive(Clone, Debug, PartialEq)]
pub struct Priced {
    /// Rate of each path, in the order and unit of the problem.
    pub path_rates: Vec<f64>,
    /// Rate of each connection: the sum over its paths.
    pub connection_rates: Vec<f64>,
    /// Price of each link for a unit of rate; infinite for capacity 0.
    pub link_prices: Vec<f64>,
    /// The number of steps of the method.
    pub steps: usize,
    /// Whether the method reports convergence; [`crate::certify_prices()`] checks the result.
    pub converged: bool,
}

/// The reason why a utility cannot be maximised.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum UtilityError {
    /// An alpha out of its range.
    #[error("alpha is {0}; it must be 0.1 to 100 (1 is proportional fairness, large alphas approach max-min)")]
    Alpha(f64),
    /// Prices out of the range of numbers.
    #[error(
        "alpha is {alpha}: the prices would span 1e{least:.0} to 1e{most:.0}, more than numbers can hold; take a smaller \
         alpha, or count rates in another unit"
    )]
    Range {
        /// The alpha that the caller gave.
        alpha: f64,
        /// The power of ten of the least price of a unit of rate.
        least: f64,
        /// The power of ten of the greatest price of a unit of rate.
        most: f64,
    },
}

/// The valid range of alpha.
const ALPHAS: std::ops::RangeInclusive<f64> = 0.1..=100.0;

/// The greatest power of ten that prices and payments may reach.
const MOST_POWER: f64 = 250.0;

/// A subflow or price below this part of its reference value is rounding, and is set to 0.
const NOTHING: f64 = 1e-11;

/// Computes weighted alpha-fair rates within the demands; `alpha` 1 is proportional fairness.
///
/// # Errors
/// Returns an error if alpha is out of its range, or too large for the range of the numbers.
pub fn alpha_fair(problem: &Arc<Problem>, alpha: f64) -> Result<Priced, UtilityError> {
    if !ALPHAS.contains(&alpha) {
        return Err(UtilityError::Alpha(alpha));
    }
    let scaled = Scaled::new(problem, alpha, Guess::Filled);
    check_range(&scaled)?;
    let Attempt { scaled, solved } = optimum(problem, scaled);
    let (mut path_rates, link_prices) = unscale(problem, &scaled, &solved);
    trim(problem, &mut path_rates);
    let connection_rates = problem.sum_by_connection(&path_rates);
    let converged = solved.error <= FOUND;
    Ok(Priced { path_rates, connection_rates, link_prices, steps: solved.steps, converged })
}

/// Refuses utilities whose prices or payments exceed the range of numbers.
fn check_range(scaled: &Scaled) -> Result<(), UtilityError> {
    let powers = || scaled.level.iter().map(|level| -scaled.alpha * level.log10());
    let least = powers().fold(f64::INFINITY, f64::min);
    let most = powers().fold(f64::NEG_INFINITY, f64::max);
    let money = (scaled.unit_ln - scaled.least_ln) / std::f64::consts::LN_10;
    let is_wide = least < -MOST_POWER || most > MOST_POWER || money > MOST_POWER;
    if scaled.groups() > 0 && is_wide {
        return Err(UtilityError::Range { alpha: scaled.alpha, least, most });
    }
    Ok(())
}

/// Rates of the paths and prices of the links in the problem's units; values that are only rounding become 0.
fn unscale(problem: &Problem, scaled: &Scaled, solved: &Solved<f64>) -> (Vec<f64>, Vec<f64>) {
    let point = &solved.point;
    let eta = scaled.sums(&point.xi);
    let mut path_rates = vec![0.0; problem.paths()];
    let mut counts = vec![false; scaled.link.len()];
    for (g, eta) in eta.iter().enumerate() {
        let offer = point.offer(g);
        for p in scaled.paths_of(g) {
            let is_used = point.xi[p] > NOTHING * eta || point.z[p] <= NOTHING * offer;
            path_rates[scaled.path[p] as usize] = if is_used { point.xi[p] * scaled.guess[g] } else { 0.0 };
            for &(row, a) in scaled.uses_of(p) {
                let row = row as usize;
                counts[row] |= a * point.kappa[row] > NOTHING * offer || point.s[row] <= NOTHING;
            }
        }
    }
    let is_closed = |l: usize| problem.capacity(l) == 0.0;
    let mut link_prices: Vec<f64> =
        (0..problem.links()).map(|l| if is_closed(l) { f64::INFINITY } else { 0.0 }).collect();
    for (row, &l) in scaled.link.iter().enumerate().filter(|(row, _)| counts[*row]) {
        let unit = (scaled.unit_ln - problem.capacity(l as usize).ln()).exp();
        link_prices[l as usize] = point.kappa[row] * unit;
    }
    (path_rates, link_prices)
}

#[cfg(test)]
mod tests;
