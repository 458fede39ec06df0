//! Thousands of random problems: the prices of the levels prove each answer, by a check that shares nothing with the
//! solver; and neither the order nor the unit of the numbers changes it.

use std::sync::Arc;

use crate::common::{Kind, PLAIN, RICH, SINGLE, WIDE, assert_close, problem, random_parts, renumbered};
use anabranch_fair::{Problem, certify, certify_levels, global_max_min, max_min};

/// To which every answer is exact.
const EXACT: f64 = 1e-6;

/// Many paths for each connection.
const MANY: Kind = Kind { most_paths: 32, ..PLAIN };

/// Seeds whose answers are not proved; all are feasible.
fn unproved(seeds: u64, kind: Kind) -> Vec<u64> {
    let is_proved = |seed: &u64| {
        let problem = problem(*seed, kind);
        let found = global_max_min(&problem);
        let proof = certify_levels(&problem, &found.path_rates, &found.levels, EXACT);
        let is_feasible = proof.overload <= 1e-12 && proof.over_demand <= 1e-12 && proof.is_feasible();
        assert!(found.converged && is_feasible, "seed {seed}: {proof:?}");
        proof.holds()
    };
    (0..seeds).filter(|seed| !is_proved(seed)).collect()
}

#[test]
fn every_answer_is_proved_by_its_levels() {
    for (seeds, kind) in [(4_000, PLAIN), (1_000, SINGLE), (1_000, MANY)] {
        assert_eq!(unproved(seeds, kind), [0u64; 0]);
    }
    // Coefficients 50 apart, several in a row, may make prices lie so far apart that digits are lost.
    let lost = unproved(4_000, RICH);
    assert!(lost.len() <= 40, "{lost:?}");
}

#[test]
fn max_min_fair_rates_are_upward_max_min_fair_too() {
    let mut lost = vec![];
    for seed in 0..1_000 {
        let problem = problem(seed, if seed % 2 == 0 { PLAIN } else { RICH });
        let certificate = certify(&problem, &global_max_min(&problem).path_rates, EXACT);
        let is_rich = seed % 2 == 1;
        assert!(certificate.is_feasible() && (is_rich || certificate.holds()), "seed {seed}: {certificate:?}");
        if !certificate.holds() {
            lost.push((seed, certificate.residual));
        }
    }
    // With coefficients, the last digits of a rate on a large link may count for a small connection.
    assert!(lost.len() <= 3 && lost.iter().all(|(_, residual)| *residual < 1e-4), "{lost:?}");
}

#[test]
fn with_one_path_each_it_agrees_with_progressive_filling() {
    for seed in 0..1_000 {
        let problem = problem(seed, SINGLE);
        let filled = max_min(&problem).unwrap();
        assert_close(&global_max_min(&problem).path_rates, &filled.path_rates, 1e-9, seed);
    }
}

#[test]
fn the_order_of_connections_paths_and_links_does_not_matter() {
    for seed in 0..500 {
        let parts = random_parts(seed, RICH);
        let (other, places) = renumbered(&parts, seed);
        let rates = global_max_min(&Arc::new(Problem::new(parts).unwrap())).connection_rates;
        let found = global_max_min(&Arc::new(Problem::new(other).unwrap())).connection_rates;
        let moved: Vec<f64> = places.connection.iter().map(|&place| found[place as usize]).collect();
        assert_close(&moved, &rates, EXACT, seed);
    }
}

#[test]
fn another_unit_of_capacity_scales_the_rates() {
    for seed in 0..300 {
        let parts = random_parts(seed, RICH);
        let rates = global_max_min(&Arc::new(Problem::new(parts.clone()).unwrap())).connection_rates;
        for unit in [1e-6, 1e12] {
            let mut other = parts.clone();
            other.capacity.iter_mut().chain(&mut other.demand).for_each(|amount| *amount *= unit);
            let found = global_max_min(&Arc::new(Problem::new(other).unwrap())).connection_rates;
            let wanted: Vec<f64> = rates.iter().map(|rate| rate * unit).collect();
            assert_close(&found, &wanted, EXACT, seed);
        }
    }
}

#[test]
fn numbers_of_very_different_size_are_solved_or_owned_to_be_not() {
    // Capacities, weights and demands over 18 powers of ten, with coefficients: digits are lost in over a third.
    let proved = 500 - unproved(500, WIDE).len();
    assert!(proved >= 310, "{proved} of 500");
}
