//! Thousands of random problems: every answer is checked by the certificate, by a literal reading of the pseudo-code,
//! or by the same problem written in another order.

mod common;
mod following;
mod global;
mod utility;

use std::sync::Arc;

use anabranch_fair::upward::upward_max_min;
use anabranch_fair::{CSlen, Iewf, Passes, Problem, ProblemParts, Start, Stop, certify, max_min};
use common::{PLAIN, RICH, SINGLE, WIDE, WIDE_SINGLE, assert_close, problem, random_parts, renumbered};

#[test]
fn every_answer_is_feasible_and_certified_at_the_residual_that_it_states() {
    for seed in 0..2_000 {
        let problem = problem(seed, if seed % 2 == 0 { PLAIN } else { RICH });
        let solved = upward_max_min(Arc::clone(&problem), &Start::Equal, Stop::Certificate(1e-2), 20_000).unwrap();
        let certificate = certify(&problem, &solved.path_rates, 1e-2);
        assert!(certificate.is_feasible(), "seed {seed}: overload {}", certificate.overload);
        assert!(solved.converged, "seed {seed}: residual {}", solved.residual);
        assert!(certificate.holds(), "seed {seed}: residual {}", certificate.residual);
        assert!((solved.residual - certificate.residual).abs() <= 1e-9, "seed {seed}: {}", solved.residual);
    }
}

#[test]
fn numbers_of_very_different_size_are_kept_apart() {
    for seed in 0..600 {
        let problem = problem(seed, WIDE);
        // Some converge like 1/n; what counts here is that rounding neither overloads nor misleads.
        let solved = upward_max_min(Arc::clone(&problem), &Start::Equal, Stop::Certificate(1e-2), 1_000).unwrap();
        let certificate = certify(&problem, &solved.path_rates, 1e-2);
        let found = (certificate.overload, certificate.residual);
        assert!(certificate.is_feasible() && solved.converged == certificate.holds(), "seed {seed}: {found:?}");
    }
    for seed in 0..2_000 {
        let problem = problem(seed, WIDE_SINGLE);
        let certificate = certify(&problem, &max_min(&problem).unwrap().path_rates, 1e-6);
        assert!(certificate.holds(), "seed {seed}: {} {}", certificate.overload, certificate.residual);
    }
}

#[test]
fn iewf_ends_finite_within_a_step_of_the_capacities() {
    for seed in 0..300 {
        let problem = problem(seed, RICH);
        let capacities = (0..problem.links()).map(|l| problem.capacity(l)).filter(|c| c.is_finite());
        let unit = capacities.fold(1.0, f64::max) / 100.0;
        let mut iewf = Iewf::new(Arc::clone(&problem), &Start::Equal, unit).unwrap();
        iewf.run(Stop::Change(1e-3), 20);
        let allocation = iewf.allocation(true, 1e-2);
        let certificate = certify(&problem, &allocation.path_rates, 1e-2);
        assert!(certificate.bad_rate.is_none() && certificate.over_demand <= 1e-9, "seed {seed}");
        for (link, load) in problem.loads(&allocation.path_rates).iter().enumerate() {
            // Each connection adds at most a unit by weight (3.7) and coefficient (2.5) in the step that fills a link.
            let most = problem.capacity(link) + unit * 3.7 * 2.5 * problem.connections() as f64;
            assert!(*load <= most, "seed {seed}, link {link}: {load}");
        }
    }
}

#[test]
fn geometric_and_given_starts_are_certified_too() {
    for seed in 0..300 {
        let problem = problem(seed, RICH);
        let given = (0..problem.paths()).map(|p| 1.0 + (p * 7 % 5) as f64).collect();
        for start in [Start::Geometric(0.3), Start::Given(given)] {
            let solved = upward_max_min(Arc::clone(&problem), &start, Stop::Certificate(1e-2), 20_000).unwrap();
            assert!(certify(&problem, &solved.path_rates, 1e-2).holds(), "seed {seed}, {start:?}");
        }
    }
}

#[test]
fn progressive_filling_is_fair_to_the_last_digit_and_agrees_with_c_slen() {
    for seed in 0..2_000 {
        let problem = problem(seed, SINGLE);
        let filled = max_min(&problem).unwrap();
        let certificate = certify(&problem, &filled.path_rates, 1e-9);
        assert!(certificate.holds(), "seed {seed}: {certificate:?}");
        // With one path each, every pass of c-SLEN is the answer.
        let solved = upward_max_min(Arc::clone(&problem), &Start::Equal, Stop::Certificate(1e-9), 2).unwrap();
        assert_close(&solved.path_rates, &filled.path_rates, 1e-9, seed);
    }
}

#[test]
fn a_pass_does_what_the_pseudo_code_says() {
    for seed in 0..400 {
        let parts = random_parts(seed, PLAIN);
        let problem = Arc::new(Problem::new(parts.clone()).unwrap());
        let mut solver = CSlen::new(Arc::clone(&problem), &Start::Equal).unwrap();
        let mut portions: Vec<f64> =
            (0..problem.paths()).map(|p| 1.0 / problem.paths_of(problem.connection(p)).len() as f64).collect();
        for _ in 0..5 {
            solver.pass();
            let rates = connection_rates(&problem, &portions);
            let totals = problem.sum_by_connection(&rates);
            for (path, portion) in portions.iter_mut().enumerate() {
                *portion = rates[path] / totals[problem.connection(path)];
            }
            assert_close(&solver.allocation(false, 0.0).path_rates, &rates, 1e-6, seed);
        }
    }
}

/// Function 1 of the paper, line by line, with the corrected saturation level.
fn connection_rates(problem: &Problem, portions: &[f64]) -> Vec<f64> {
    let mut portions = portions.to_vec();
    let mut rates = vec![0.0; portions.len()];
    let mut is_saturated: Vec<bool> = portions.iter().map(|&p| p == 0.0).collect();
    while is_saturated.contains(&false) {
        let loads = problem.loads(&rates);
        let growth = problem.loads(&portions);
        let level =
            |l: usize| if growth[l] > 0.0 { (problem.capacity(l) - loads[l]) / growth[l] } else { f64::INFINITY };
        let levels: Vec<f64> = (0..problem.links()).map(level).collect();
        let z = levels.iter().copied().fold(f64::INFINITY, f64::min).max(0.0);
        for (rate, portion) in rates.iter_mut().zip(&portions) {
            *rate += z * portion;
        }
        for path in 0..rates.len() {
            if problem.links_of(path).iter().any(|&l| levels[l as usize] <= z * (1.0 + 1e-12) + 1e-300) {
                is_saturated[path] = true;
                portions[path] = 0.0;
            }
        }
        let sums = problem.sum_by_connection(&portions);
        for (path, portion) in portions.iter_mut().enumerate() {
            if !is_saturated[path] {
                *portion /= sums[problem.connection(path)];
            }
        }
    }
    rates
}

#[test]
fn the_order_of_connections_paths_and_links_does_not_matter() {
    for seed in 0..500 {
        let parts = random_parts(seed, RICH);
        let (other, places) = renumbered(&parts, seed);
        let after_passes = |parts: ProblemParts| {
            let mut solver = CSlen::new(Arc::new(Problem::new(parts).unwrap()), &Start::Equal).unwrap();
            (0..20).for_each(|_| solver.pass());
            solver.allocation(false, 0.0)
        };
        let (one, two) = (after_passes(parts), after_passes(other));
        let back: Vec<f64> = places.path.iter().map(|&new| two.path_rates[new as usize]).collect();
        assert_close(&back, &one.path_rates, 1e-6, seed);
    }
}

#[test]
fn the_same_problem_gives_the_same_bits() {
    for seed in 0..50 {
        let solve = || upward_max_min(problem(seed, RICH), &Start::Equal, Stop::Certificate(1e-3), 500).unwrap();
        assert_eq!(solve(), solve());
    }
}
