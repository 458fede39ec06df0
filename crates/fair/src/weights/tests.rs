//! What the paper's figures show, and what may go wrong.

use super::*;

const OPEN: f64 = f64::INFINITY;

fn problem(capacity: &[f64], paths: &[(u32, &[u32])], demand: &[f64]) -> Problem {
    let mut parts = ProblemParts {
        capacity: capacity.to_vec(),
        path_offsets: vec![0],
        demand: demand.to_vec(),
        weight: vec![1.0; demand.len()],
        ..Default::default()
    };
    for (connection, links) in paths {
        parts.path_links.extend_from_slice(links);
        parts.path_offsets.push(parts.path_links.len());
        parts.path_connection.push(*connection);
    }
    Problem::new(parts).unwrap()
}

/// [cao2012, fig. 1(b)]: links of 9; each flow has a path of one hop and one of two.
fn triangle() -> Problem {
    let paths: [(u32, &[u32]); 6] = [(0, &[0]), (0, &[1, 2]), (1, &[1]), (1, &[2, 0]), (2, &[2]), (2, &[0, 1])];
    problem(&[9.0; 3], &paths, &[OPEN; 3])
}

/// [cao2012, fig. 2(a)]: links of 5, 10 and 6; flow 2 has one path on the first and one over the others.
fn figure_2a() -> Problem {
    problem(&[5.0, 10.0, 6.0], &[(0, &[0]), (1, &[0]), (1, &[1, 2]), (2, &[1]), (3, &[2])], &[OPEN; 4])
}

/// The unique optimum of figure 2(a), from the solver of the whole problem.
fn optimum_2a() -> Vec<f64> {
    alpha_fair(&Arc::new(figure_2a()), 1.0).unwrap().path_rates
}

/// The largest relative difference.
fn apart(found: &[f64], wanted: &[f64]) -> f64 {
    found.iter().zip(wanted).map(|(a, b)| (a / b - 1.0).abs()).fold(0.0, f64::max)
}

/// The first step after which all rates are within 1 % of figure 2(a)'s optimum, if they stay there until step 2,000.
fn settled(gamma: f64) -> Option<usize> {
    let (problem, wanted) = (figure_2a(), optimum_2a());
    let steps = Steps { gamma, rise: 1.0, floor: 1e-6 };
    let mut algorithm = WeightAdjustment::new(&problem, vec![1.0; 5], steps).unwrap();
    let mut since = None;
    for step in 1..=2_000 {
        algorithm.advance(&problem);
        let is_close = apart(&algorithm.trace().rates, &wanted) <= 0.01;
        since = if is_close { since.or(Some(step)) } else { None };
    }
    since
}

#[test]
fn algorithm_2_is_near_the_optimum_of_figure_2a_after_some_20_steps() {
    let (problem, wanted) = (figure_2a(), optimum_2a());
    let mut algorithm = WeightAllocation::new(&problem, &[1.0, 0.05, 0.95, 1.0, 1.0], 1e-12).unwrap();
    for _ in 0..20 {
        algorithm.advance(&problem);
    }
    assert!(apart(&algorithm.trace().rates, &wanted) <= 0.01, "{:?}", algorithm.trace());
    assert!(algorithm.run(&problem, 1e-9, 500) && algorithm.is_exact());
    let end = algorithm.trace();
    assert!(apart(&end.rates, &wanted) <= 1e-6, "{end:?}");
    assert!((end.path_prices[1] - end.path_prices[2]).abs() <= 1e-6, "{end:?}");
}

#[test]
fn algorithm_2_halves_the_two_hop_paths_of_figure_1b_at_each_step() {
    // With equal link prices a path of two hops costs twice as much as one of one, so it loses half of its weight
    // against the other: (k1, k2) become rates k1 / q and k2 / 2q.
    let problem = triangle();
    let mut algorithm = WeightAllocation::new(&problem, &[0.1, 0.9, 0.4, 0.6, 0.2, 0.8], 1e-12).unwrap();
    let mut before = [0.0; 3];
    // The paper's figure counts from 0, the rates of the first weights.
    for step in 0..45 {
        algorithm.advance(&problem);
        let rates = &algorithm.trace().rates;
        let two_hop = [rates[1], rates[3], rates[5]];
        if (8..20).contains(&step) {
            let halves = two_hop.iter().zip(before).all(|(now, before)| (now / before - 0.5).abs() < 0.01);
            assert!(halves, "step {step}: {two_hop:?} after {before:?}");
        }
        before = two_hop;
        let mean = (rates[0] + rates[2] + rates[4]) / 3.0;
        if step == 10 {
            assert!((mean - 8.97).abs() < 0.005, "{mean}");
        }
        if step == 20 {
            assert!((mean - 9.0).abs() < 0.0005, "{mean}");
        }
    }
    let end = &algorithm.trace().rates;
    assert!([0, 2, 4].iter().all(|&path| (end[path] / 9.0 - 1.0).abs() < 1e-6), "{end:?}");
    assert!([1, 3, 5].iter().all(|&path| end[path] < 1e-6), "{end:?}");
}

#[test]
fn algorithm_1_settles_with_small_steps_and_not_with_large_ones() {
    // Steps to 1 %: 414, 506, 153 and 56. With 0.005 a weight falls to the floor on the way.
    for (gamma, most) in [(0.002, 450), (0.005, 550), (0.01, 180), (0.02, 60)] {
        let since = settled(gamma);
        assert!(since.is_some_and(|step| step <= most), "gamma {gamma}: {since:?}");
    }
    assert_eq!(settled(0.03), None);
}

#[test]
fn a_weight_at_the_floor_comes_back() {
    // Figure 1(a) with a fourth flow on the first link drives flow 2 from it; without the fourth it comes back to 1.
    let paths: [(u32, &[u32]); 5] = [(0, &[0]), (1, &[0]), (1, &[1]), (2, &[1]), (3, &[0])];
    let steps = Steps { gamma: 0.01, rise: 1.0, floor: 1e-6 };
    let busy = problem(&[6.0, 9.0], &paths, &[OPEN; 4]);
    let mut algorithm = WeightAdjustment::new(&busy, vec![1.0; 5], steps).unwrap();
    (0..3_000).for_each(|_| algorithm.advance(&busy));
    assert!(algorithm.trace().weights[1] < 1e-5, "{:?}", algorithm.trace());
    let calm = problem(&[6.0, 9.0], &paths[..4], &[OPEN; 3]);
    let rates: Vec<f64> = algorithm.trace().rates[..4].iter().map(|rate| rate.max(1e-9)).collect();
    let mut algorithm = WeightAdjustment::new(&calm, rates, steps).unwrap();
    (0..3_000).for_each(|_| algorithm.advance(&calm));
    assert!(apart(&algorithm.trace().rates, &[5.0, 1.0, 4.0, 5.0]) < 0.01, "{:?}", algorithm.trace());
}

#[test]
fn demands_and_dead_links_count_in_both_algorithms() {
    // 10 for two with a demand of 2 for the first; the second path of the second is dead.
    let limited = problem(&[10.0, 0.0], &[(0, &[0]), (1, &[0]), (1, &[1])], &[2.0, OPEN]);
    let mut two = WeightAllocation::new(&limited, &[1.0, 1.0, 1.0], 1e-6).unwrap();
    (0..3).for_each(|_| two.advance(&limited));
    let found = two.trace();
    assert!((found.rates[0] - 2.0).abs() < 1e-9 && (found.rates[1] - 8.0).abs() < 1e-9 && found.rates[2] == 0.0);
    assert!(found.link_prices[1].is_infinite() && (found.path_prices[0] - 0.5).abs() < 1e-9, "{found:?}");
    let steps = Steps { gamma: 0.005, rise: 1.0, floor: 1e-6 };
    let mut one = WeightAdjustment::new(&limited, vec![1.0; 3], steps).unwrap();
    (0..5_000).for_each(|_| one.advance(&limited));
    assert!(apart(&one.trace().rates[..2], &[2.0, 8.0]) < 0.01, "{:?}", one.trace());
}

#[test]
fn whatever_the_steps_numbers_stay_finite() {
    for (gamma, rise) in [(1e30, 1e30), (1e-30, 1e30), (1.0, 1e-30), (1e-30, 1e-30)] {
        let problem = triangle();
        let steps = Steps { gamma, rise, floor: 1e-20 };
        let mut algorithm = WeightAdjustment::new(&problem, vec![1e100; 6], steps).unwrap();
        for _ in 0..200 {
            algorithm.advance(&problem);
            let trace = algorithm.trace();
            let all = [&trace.rates, &trace.weights, &trace.link_prices, &trace.path_prices];
            assert!(all.iter().all(|values| values.iter().all(|x| x.is_finite() && *x >= 0.0)), "{gamma} {trace:?}");
        }
    }
}

#[test]
fn parameters_out_of_range_are_refused() {
    let problem = triangle();
    let steps = Steps { gamma: 0.01, rise: 1.0, floor: 1e-6 };
    let said = |rates: Vec<f64>, steps| WeightAdjustment::new(&problem, rates, steps).err().unwrap().to_string();
    assert!(said(vec![1.0; 6], Steps { gamma: 0.0, ..steps }).starts_with("gamma is 0; it must be positive"));
    assert!(said(vec![1.0; 6], Steps { rise: f64::NAN, ..steps }).starts_with("rise is NaN"));
    assert!(said(vec![1.0; 6], Steps { floor: 0.0, ..steps }).starts_with("floor is 0; it must be 1e-20 to 1e-2"));
    assert_eq!(said(vec![1.0; 5], steps), "5 rates for 6 paths; give one for each");
    assert!(said(vec![0.0; 6], steps).starts_with("path 0: rates is 0; it must be positive"));
    let said = WeightAllocation::new(&problem, &[1.0; 6], 1.0).err().unwrap().to_string();
    assert!(said.starts_with("floor is 1; it must be"));
}
