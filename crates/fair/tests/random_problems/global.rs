//! Thousands of random problems: the prices of the levels prove each answer, by a check that shares nothing with the
//! solver; and neither the order nor the unit of the numbers changes it.

use std::sync::Arc;

use crate::common::{Kind, PLAIN, RICH, SINGLE, WIDE, assert_close, problem, random_parts, renumbered};
use anabranch_fair::{Problem, ProblemParts, certify, certify_levels, global_max_min, max_min};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

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

/// A problem of the same rates without reserved parts: each connection has a link of its own besides, with a path that
/// carries what would bring all reserved parts to the same multiple of the weight.
fn without_reserved(parts: &ProblemParts) -> (ProblemParts, Vec<f64>) {
    let mut other = ProblemParts { reserved: vec![], ..parts.clone() };
    let reserved = |c: usize| parts.reserved[c].min(parts.demand[c]);
    let most = (0..parts.weight.len()).map(|c| reserved(c) / parts.weight[c]).fold(0.0, f64::max);
    let own: Vec<f64> = (0..parts.weight.len()).map(|c| (most * parts.weight[c] - reserved(c)).max(0.0)).collect();
    for (c, &own) in own.iter().enumerate() {
        other.path_links.push(other.capacity.len() as u32);
        other.capacity.push(own);
        other.path_offsets.push(other.path_links.len());
        other.path_connection.push(c as u32);
        other.demand[c] += own;
        if !other.coefficient.is_empty() {
            other.coefficient.push(1.0);
        }
    }
    (other, own)
}

/// What each connection could have alone on its widest path.
fn widest(parts: &ProblemParts) -> Vec<f64> {
    let mut widest = vec![0.0f64; parts.weight.len()];
    for (path, &c) in parts.path_connection.iter().enumerate() {
        let links = &parts.path_links[parts.path_offsets[path]..parts.path_offsets[path + 1]];
        let narrowest = links.iter().map(|&l| parts.capacity[l as usize]).fold(f64::INFINITY, f64::min);
        let own = &mut widest[c as usize];
        *own = own.max(if narrowest.is_finite() { narrowest } else { 0.0 });
    }
    widest
}

#[test]
fn reserved_parts_are_those_of_a_problem_in_which_links_of_their_own_carry_the_rest() {
    let (mut short, mut met, mut lost) = (0, 0, 0);
    for seed in 0..1000 {
        // Without coefficients, which may cost digits.
        let mut parts = ProblemParts { coefficient: vec![], ..random_parts(seed, RICH) };
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let part = [0.05, 0.3, 1.0][seed as usize % 3];
        parts.reserved = widest(&parts).iter().map(|w| f64::from(rng.random_range(0..3)) / 2.0 * part * w).collect();
        let (other, own) = without_reserved(&parts);
        let problem = Arc::new(Problem::new(parts.clone()).unwrap());
        let found = global_max_min(&problem);
        let certificate = certify_levels(&problem, &found.path_rates, &found.levels, EXACT);
        // The last digits of a large reserved part may count for a small rate.
        let bottlenecks = certify(&problem, &found.path_rates, EXACT);
        let residual = certificate.residual.max(bottlenecks.residual);
        assert!(found.converged && certificate.is_feasible() && residual < 1e-3, "seed {seed}: {certificate:?}");
        lost += usize::from(residual > EXACT);
        // Nobody has anything beyond a reserved part before it is clear which are not met: they are those that fall short
        // of it as their demand, with the reserved parts as weights.
        let alone = Arc::new(Problem::new(reserved_alone(&parts)).unwrap());
        let first = global_max_min(&alone).connection_rates;
        let rates = &found.connection_rates;
        let largest = parts.capacity.iter().copied().filter(|c| c.is_finite()).fold(0.0, f64::max);
        let is_near = |a: f64, b: f64, size: f64| (a - b).abs() <= EXACT * size + 1e-11 * largest;
        let is_short = |c: usize| first[c] < alone.demand(c) * (1.0 - 1e-9);
        for c in 0..problem.connections() {
            let is_right = if is_short(c) {
                is_near(rates[c], first[c], first[c])
            } else {
                rates[c] >= problem.reserved(c) * (1.0 - EXACT) - 1e-11 * largest
            };
            assert!(is_right, "seed {seed}, connection {c}: {} for {}", rates[c], first[c]);
        }
        if (0..problem.connections()).any(is_short) {
            short += 1;
            continue;
        }
        met += 1;
        let wanted = global_max_min(&Arc::new(Problem::new(other).unwrap())).connection_rates;
        for c in 0..problem.connections() {
            let wanted = (wanted[c] - own[c]).max(0.0);
            assert!(is_near(rates[c], wanted, wanted + own[c]), "seed {seed}, connection {c}");
        }
    }
    assert!(short > 200 && met > 200 && lost <= 10, "{short} fall short, {met} do not, {lost} lost digits");
}

/// A problem in which each connection asks for its reserved part alone, which is its weight, too.
fn reserved_alone(parts: &ProblemParts) -> ProblemParts {
    let dead = |c: usize| parts.path_connection.iter().all(|&owner| owner as usize != c);
    let demand: Vec<f64> = (0..parts.weight.len()).map(|c| parts.reserved[c].min(parts.demand[c])).collect();
    let carried = |c: usize| if dead(c) { 0.0 } else { demand[c] };
    let weight = demand.iter().map(|&d| if d > 0.0 { d } else { 1.0 }).collect();
    ProblemParts { demand: (0..demand.len()).map(carried).collect(), weight, reserved: vec![], ..parts.clone() }
}
