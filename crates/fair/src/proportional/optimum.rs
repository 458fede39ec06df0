//! The search for the optimum: from several first guesses of the rates, then in numbers of twice the digits.
//!
//! Doubles have 16 digits. Where weights or levels differ by many orders of magnitude, or alpha is large, the payment
//! of one connection is lost beside that of another, and no guess leads to the optimum. The method then computes in
//! pairs of doubles ([`Wide`]), first from the rates that doubles found, then from the first guesses. Such a step takes
//! some 20 times as long. [`WORK`] bounds the steps of each guess, so that all three take at most some ten seconds.
//! Networks that would get fewer than [`LEAST_STEPS`] keep the answer of doubles: those with more than some 280 links
//! on paths.

use std::sync::Arc;

use super::interior::{self, MOST_STEPS, Solved};
use super::real::Real;
use super::scaled::{Guess, Scaled};
use super::unscale;
use super::wide::Wide;
use crate::problem::{Problem, trim};

/// The solver's error at which an answer counts as found.
pub(super) const FOUND: f64 = 1e-7;

/// The ratio of successive alphas on the slow way to an alpha that is too great for the first step.
const GENTLER: f64 = 1.3;

/// Multiplications in twice the digits that one guess may cost; they take about three seconds.
const WORK: f64 = 2e8;

/// The least number of steps in twice the digits for which an attempt is worthwhile.
const LEAST_STEPS: usize = 50;

/// Finds the optimum from `first` or another guess. Other guesses are seldom needed, and only where numbers differ by
/// many orders of magnitude.
pub(super) fn optimum(problem: &Arc<Problem>, first: Scaled) -> Attempt {
    let alpha = first.alpha;
    let mut best = Attempt::from(first);
    if best.solved.error > FOUND {
        best = best.or(Attempt::from(Scaled::new(problem, alpha, Guess::Claimed)));
    }
    if best.solved.error > FOUND && alpha > 1.0 {
        // A gentler utility is easier, and its rates are not far off: one step from half of alpha, or otherwise many.
        best = best.or(by_gentler_utilities(problem, alpha, alpha / 2.0, 2.0));
    }
    if best.solved.error > FOUND && alpha > 1.0 {
        best = best.or(by_gentler_utilities(problem, alpha, 1.0, GENTLER));
    }
    if best.solved.error > FOUND { in_twice_the_digits(problem, best) } else { best }
}

/// Finds the optimum through gentler utilities, each greater by `ratio` than the one before.
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

/// Finds the optimum in twice the digits, from the rates of `best` or another guess; returns `best` if that would take
/// too long.
fn in_twice_the_digits(problem: &Arc<Problem>, mut best: Attempt) -> Attempt {
    let alpha = best.scaled.alpha;
    let (mut rates, _) = unscale(problem, &best.scaled, &best.solved);
    trim(problem, &mut rates);
    for guess in [Guess::Near(&rates), Guess::Claimed, Guess::Filled] {
        let scaled = Scaled::new(problem, alpha, guess);
        let most = ((WORK / scaled.work()) as usize).min(MOST_STEPS);
        if best.solved.error > FOUND && most >= LEAST_STEPS {
            best = best.or(Attempt::with::<Wide>(scaled, most));
        }
    }
    best
}

/// The result of a guess.
pub(super) struct Attempt {
    pub scaled: Scaled,
    pub solved: Solved<f64>,
}

impl Attempt {
    fn from(scaled: Scaled) -> Self {
        Self::with::<f64>(scaled, MOST_STEPS)
    }

    /// Solves in numbers of type `T`, in at most `most_steps` steps.
    fn with<T: Real>(scaled: Scaled, most_steps: usize) -> Self {
        let mut solved = interior::solve::<T>(&scaled, most_steps).into_doubles();
        if !scaled.bears_out(&solved.point.left) {
            solved.error = f64::INFINITY;
        }
        Self { scaled, solved }
    }

    /// The better of two attempts, with the sum of their steps.
    fn or(self, other: Self) -> Self {
        let steps = self.solved.steps + other.solved.steps;
        let mut better = if other.solved.error < self.solved.error { other } else { self };
        better.solved.steps = steps;
        better
    }
}
