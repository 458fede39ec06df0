//! The optimum, from one guess of the rates after another.

use std::sync::Arc;

use super::interior::{self, Solved};
use super::scaled::{Guess, Scaled};
use super::unscale;
use crate::problem::Problem;

/// The solver's error at which an answer counts as found.
pub(super) const FOUND: f64 = 1e-7;

/// From one alpha to the next, on the long way to one that is too great to begin with.
const GENTLER: f64 = 1.3;

/// The optimum, from `first` or another guess; that is needed seldom, and only where numbers lie far apart.
pub(super) fn optimum(problem: &Arc<Problem>, first: Scaled) -> Attempt {
    let alpha = first.alpha;
    let mut best = Attempt::from(first);
    if best.solved.error > FOUND {
        best = best.or(Attempt::from(Scaled::new(problem, alpha, Guess::Claimed)));
    }
    if best.solved.error > FOUND && alpha > 1.0 {
        // A gentler utility is easier, and its rates are not far off: one step from half of alpha, or else many.
        best = best.or(by_gentler_utilities(problem, alpha, alpha / 2.0, 2.0));
    }
    if best.solved.error > FOUND && alpha > 1.0 {
        best = best.or(by_gentler_utilities(problem, alpha, 1.0, GENTLER));
    }
    best
}

/// The optimum by those of gentler utilities, each greater by `ratio` than the one before.
fn by_gentler_utilities(problem: &Arc<Problem>, alpha: f64, first: f64, ratio: f64) -> Attempt {
    let mut gentle = first;
    let mut attempt = Attempt::from(Scaled::new(problem, gentle, Guess::Filled));
    while gentle < alpha {
        gentle = (gentle * ratio).min(alpha);
        let (rates, _) = unscale(problem, &attempt.scaled, &attempt.solved);
        let steps = attempt.solved.steps;
        attempt = Attempt::from(Scaled::new(problem, gentle, Guess::Near(&rates)));
        attempt.solved.steps += steps;
    }
    attempt
}

/// What came of a guess.
pub(super) struct Attempt {
    pub scaled: Scaled,
    pub solved: Solved,
}

impl Attempt {
    fn from(scaled: Scaled) -> Self {
        let mut solved = interior::solve(&scaled);
        if !scaled.bears_out(&solved.point.left) {
            solved.error = f64::INFINITY;
        }
        Self { scaled, solved }
    }

    /// The better of two, with the steps of both.
    fn or(self, other: Self) -> Self {
        let steps = self.solved.steps + other.solved.steps;
        let mut better = if other.solved.error < self.solved.error { other } else { self };
        better.solved.steps = steps;
        better
    }
}
