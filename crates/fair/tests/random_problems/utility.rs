//! Thousands of random problems: every answer is the greatest utility to 1e-6, by a certificate that shares nothing
//! with the solver; and writing the problem in another order changes nothing.

use std::sync::Arc;

use crate::common::{Kind, PLAIN, RICH, SINGLE, WIDE, assert_close, problem, random_parts, renumbered};
use anabranch_fair::{Problem, UtilityError, alpha_fair, certify_prices};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// To which every answer is exact.
const EXACT: f64 = 1e-6;

fn assert_optimal(seeds: u64, kind: Kind, alpha: f64) {
    for seed in 0..seeds {
        let problem = problem(seed, kind);
        let solved = alpha_fair(&problem, alpha).unwrap();
        let certificate = certify_prices(&problem, alpha, &solved.path_rates, &solved.link_prices, EXACT);
        let found = (certificate.residual, certificate.worst, certificate.gap, certificate.overload);
        assert!(certificate.holds() && solved.converged, "seed {seed}, alpha {alpha}: {found:?}");
    }
}

#[test]
fn proportional_rates_and_prices_are_the_optimum() {
    assert_optimal(2_000, PLAIN, 1.0);
    assert_optimal(2_000, RICH, 1.0);
    assert_optimal(1_000, SINGLE, 1.0);
}

#[test]
fn rates_and_prices_of_other_alphas_are_the_optimum() {
    for alpha in [0.5, 2.0] {
        assert_optimal(1_000, PLAIN, alpha);
        assert_optimal(1_000, RICH, alpha);
        assert_optimal(500, SINGLE, alpha);
    }
    assert_optimal(500, SINGLE, 8.0);
}

#[test]
fn numbers_of_very_different_size_are_solved_or_owned_to_be_not() {
    for (alpha, least) in [(0.5, 290), (1.0, 280), (2.0, 240), (8.0, 0), (32.0, 0)] {
        let mut optimal = 0;
        for seed in 0..300 {
            let problem = problem(seed, WIDE);
            let solved = match alpha_fair(&problem, alpha) {
                Ok(solved) => solved,
                Err(UtilityError::Range { .. }) => continue,
                Err(error) => panic!("seed {seed}: {error}"),
            };
            let certificate = certify_prices(&problem, alpha, &solved.path_rates, &solved.link_prices, EXACT);
            assert!(certificate.is_feasible(), "seed {seed}, alpha {alpha}: {}", certificate.overload);
            optimal += usize::from(certificate.holds());
        }
        assert!(optimal >= least, "alpha {alpha}: {optimal} of 300");
    }
}

/// A problem with capacities of 0.1 to 10 and weights of 1e-6 to 1e6.
fn light_beside_heavy(seed: u64) -> Arc<Problem> {
    let mut parts = random_parts(seed, PLAIN);
    let mut rng = ChaCha8Rng::seed_from_u64(seed + 1_000_000);
    parts.capacity.fill_with(|| rng.random_range(0.1..10.0));
    parts.weight.fill_with(|| 10f64.powf(rng.random_range(-6.0..6.0)));
    Arc::new(Problem::new(parts).unwrap())
}

#[test]
fn a_light_connection_gets_its_rate_beside_one_a_million_million_times_as_heavy() {
    for (alpha, seeds) in [(1.0, 100..200), (2.0, 200..300), (8.0, 180..212), (16.0, 237..240)] {
        for seed in seeds {
            let problem = light_beside_heavy(seed);
            let solved = alpha_fair(&problem, alpha).unwrap();
            let certificate = certify_prices(&problem, alpha, &solved.path_rates, &solved.link_prices, EXACT);
            let found = (certificate.residual, certificate.worst, certificate.gap, certificate.overload);
            assert!(certificate.holds() && solved.converged, "seed {seed}, alpha {alpha}: {found:?}");
        }
    }
}

#[test]
fn the_order_of_connections_paths_and_links_does_not_matter() {
    for seed in 0..500 {
        let parts = random_parts(seed, if seed % 2 == 0 { PLAIN } else { RICH });
        let (other, places) = renumbered(&parts, seed);
        let rates = |parts| alpha_fair(&Arc::new(Problem::new(parts).unwrap()), 1.0).unwrap().connection_rates;
        let (one, two) = (rates(parts), rates(other));
        // Rates of paths may differ: only those of connections are unique.
        let back: Vec<f64> = places.connection.iter().map(|&new| two[new as usize]).collect();
        assert_close(&back, &one, 1e-6, seed);
    }
}

#[test]
fn the_same_problem_gives_the_same_bits() {
    for seed in 0..50 {
        let solve = || alpha_fair(&problem(seed, RICH), 2.0).unwrap();
        assert_eq!(solve(), solve());
    }
}
