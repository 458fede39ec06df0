//! Chains of random changes: an allocator has the rates of a fresh solve after each, with their proof.

use std::sync::Arc;

use anabranch_fair::{Allocator, Changes, Problem, certify_levels, global_max_min};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::common::{PLAIN, RICH, problem, random_parts};

/// To which rates are those of a fresh solve, relative to the greatest or to themselves.
const SAME: f64 = 1e-9;

/// To which proofs hold.
const EXACT: f64 = 1e-6;

const CHANGES: usize = 20;

/// Some of the connections or links, some of the time all of them.
fn some(count: usize, rng: &mut ChaCha8Rng) -> Vec<usize> {
    match rng.random_range(0..4) {
        0 => (0..count).collect(),
        1 => (0..3).map(|_| rng.random_range(0..count)).collect(),
        _ => vec![rng.random_range(0..count)],
    }
}

/// Demands and weights that change, links that change, fail, and come back as they were at first.
fn random_changes(now: &Problem, first: &Problem, rng: &mut ChaCha8Rng) -> Changes {
    let mut changes = Changes::default();
    let (links, connections) = (now.links(), now.connections());
    if rng.random_bool(0.5) {
        let mut demand: Vec<f64> = (0..connections).map(|c| now.demand(c)).collect();
        for c in some(connections, rng) {
            let is_limited =
                |&p: &u32| first.links_of(p as usize).iter().any(|&l| first.capacity(l as usize).is_finite());
            demand[c] = match rng.random_range(0..5) {
                0 => 0.0,
                1 if first.paths_of(c).iter().all(is_limited) => f64::INFINITY,
                _ => rng.random_range(0.01..5.0),
            };
        }
        changes.demand = Some(demand);
    }
    if rng.random_bool(0.3) {
        let mut weight: Vec<f64> = (0..connections).map(|c| now.weight(c)).collect();
        for c in some(connections, rng) {
            weight[c] = rng.random_range(0.3..4.0);
        }
        changes.weight = Some(weight);
    }
    if rng.random_bool(0.5) {
        let mut capacity: Vec<f64> = (0..links).map(|l| now.capacity(l)).collect();
        for l in some(links, rng) {
            capacity[l] = match rng.random_range(0..4) {
                0 => 0.0,
                1 | 2 => first.capacity(l),
                _ if first.capacity(l).is_finite() => first.capacity(l) * rng.random_range(0.2..3.0),
                _ => first.capacity(l),
            };
        }
        changes.capacity = Some(capacity);
    }
    changes
}

/// Greatest difference of rates, relative to the rate, or to a thousandth of the greatest.
fn difference(found: &[f64], wanted: &[f64]) -> f64 {
    let scale = wanted.iter().copied().fold(0.0, f64::max);
    let relative = |(a, b): (&f64, &f64)| (a - b).abs() / b.abs().max(1e-3 * scale).max(f64::MIN_POSITIVE);
    found.iter().zip(wanted).map(relative).fold(0.0, f64::max)
}

/// What came of chains of changes: how many there were, how many answers are not proved, and how many are proved but
/// not those of a fresh solve.
#[derive(Debug, Default)]
struct Tally {
    changes: usize,
    unproved: usize,
    other: usize,
}

fn tally(problems: impl Iterator<Item = (u64, Arc<Problem>)>) -> Tally {
    let mut tally = Tally::default();
    for (seed, first) in problems {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut allocator = Allocator::new(&first);
        for step in 0..CHANGES {
            let changes = random_changes(allocator.problem(), &first, &mut rng);
            allocator.update(changes).unwrap();
            let now = Arc::clone(allocator.problem());
            let fresh = global_max_min(&now).connection_rates;
            let found = allocator.levelled();
            let proof = certify_levels(&now, &found.path_rates, &found.levels, EXACT);
            assert!(found.converged && proof.is_feasible(), "seed {seed}, step {step}: {proof:?}");
            let is_same = |rates: &[f64]| difference(rates, &fresh) <= SAME;
            let same = is_same(&found.connection_rates) && is_same(&allocator.connection_rates());
            tally.changes += 1;
            tally.unproved += usize::from(!proof.holds());
            tally.other += usize::from(proof.holds() && !same);
        }
    }
    tally
}

/// Rich problems in which each path uses of its links as much as its rate.
fn rich(seed: u64) -> Arc<Problem> {
    let mut parts = random_parts(seed, RICH);
    parts.coefficient.clear();
    Arc::new(Problem::new(parts).unwrap())
}

#[test]
fn rates_after_any_change_are_those_of_a_fresh_solve() {
    let plain = (0..150).map(|seed| (seed, problem(seed, PLAIN)));
    let rich = (0..150).map(|seed| (seed, rich(seed)));
    let found = tally(plain.chain(rich));
    assert_eq!((found.unproved, found.other), (0, 0), "{found:?}");
}

#[test]
fn with_coefficients_rates_are_those_of_a_fresh_solve_but_for_digits_lost() {
    let found = tally((0..150).map(|seed| (seed, problem(seed, RICH))));
    assert!(found.unproved + found.other <= found.changes / 100, "{found:?}");
}
