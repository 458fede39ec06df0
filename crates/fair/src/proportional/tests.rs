//! Answers that one can work out in the head, and those of the papers.

use std::sync::Arc;

use super::*;
use crate::certify_prices::certify_prices;
use crate::testing::parts;

const NONE: f64 = f64::INFINITY;

/// Each connection with its paths.
fn problem(capacity: &[f64], connections: &[&[&[u32]]], demand: &[f64], weight: &[f64]) -> Arc<Problem> {
    let mut parts = parts(capacity, connections);
    if !demand.is_empty() {
        parts.demand = demand.to_vec();
    }
    if !weight.is_empty() {
        parts.weight = weight.to_vec();
    }
    Arc::new(Problem::new(parts).unwrap())
}

fn certified(problem: &Arc<Problem>, alpha: f64) -> Priced {
    let solved = alpha_fair(problem, alpha).unwrap();
    let certificate = certify_prices(problem, alpha, &solved.path_rates, &solved.link_prices, 1e-8);
    assert!(certificate.holds() && solved.converged, "{certificate:?}");
    solved
}

fn assert_close(found: &[f64], wanted: &[f64], tolerance: f64) {
    let close = found.iter().zip(wanted).all(|(a, b)| (a - b).abs() <= tolerance);
    assert!(close && found.len() == wanted.len(), "{found:?} instead of {wanted:?}");
}

#[test]
fn a_long_connection_gets_what_its_two_links_are_worth() {
    // One connection over two links of 1, one more on each. x for the long one, 1 - x for the others; each link's
    // price is 1 / (1 - x). 1 / x = 2 / (1 - x), so x = 1/3, prices 3/2.
    let line = problem(&[1.0, 1.0], &[&[&[0, 1]], &[&[0]], &[&[1]]], &[], &[]);
    let solved = certified(&line, 1.0);
    assert_close(&solved.connection_rates, &[1.0 / 3.0, 2.0 / 3.0, 2.0 / 3.0], 1e-9);
    assert_close(&solved.link_prices, &[1.5, 1.5], 1e-8);
    // Alpha 2: 1 / x^2 = 2 / (1 - x)^2, x = 1 / (1 + sqrt 2).
    let x = 1.0 / (1.0 + 2f64.sqrt());
    assert_close(&certified(&line, 2.0).connection_rates, &[x, 1.0 - x, 1.0 - x], 1e-9);
    // Alpha 1/2: 1 / sqrt x = 2 / sqrt(1 - x), x = 1/5.
    assert_close(&certified(&line, 0.5).connection_rates, &[0.2, 0.8, 0.8], 1e-9);
}

#[test]
fn large_alphas_come_to_max_min() {
    // Links of 10 and 4: the long connection is held to 2 at the second, so the short one gets 8 at the first. For
    // the long one x, x^-a = (4 - x)^-a + (10 - x)^-a: it lacks (8/2)^-a / (2 a) of 2, to first order.
    let line = problem(&[10.0, 4.0], &[&[&[0, 1]], &[&[0]], &[&[1]]], &[], &[]);
    for (alpha, tolerance) in [(4.0, 1e-3), (8.0, 3e-6), (16.0, 1e-9), (64.0, 1e-9)] {
        assert_close(&certified(&line, alpha).connection_rates, &[2.0, 8.0, 2.0], tolerance);
    }
}

#[test]
fn connections_on_one_link_have_equal_levels_for_every_alpha() {
    // 12 in proportion 1 : 2 : 3, price (rate / weight)^-alpha = 2^-alpha.
    let link = problem(&[12.0], &[&[&[0]], &[&[0]], &[&[0]]], &[], &[1.0, 2.0, 3.0]);
    for alpha in [0.1, 0.5, 1.0, 2.0, 10.0] {
        let solved = certified(&link, alpha);
        assert_close(&solved.connection_rates, &[2.0, 4.0, 6.0], 1e-9);
        assert_close(&solved.link_prices, &[2f64.powf(-alpha)], 1e-9);
    }
}

#[test]
fn a_connection_of_weight_two_is_worth_two_of_weight_one() {
    // On the links of the first test: two long connections beside one of weight 2, which gets as much as both.
    let two = problem(&[1.0, 1.0], &[&[&[0, 1]], &[&[0, 1]], &[&[0]], &[&[1]]], &[], &[]);
    let heavy = problem(&[1.0, 1.0], &[&[&[0, 1]], &[&[0]], &[&[1]]], &[], &[2.0, 1.0, 1.0]);
    for alpha in [0.5, 1.0, 3.0] {
        let (two, heavy) = (certified(&two, alpha).connection_rates, certified(&heavy, alpha).connection_rates);
        assert_close(&heavy, &[two[0] + two[1], two[2], two[3]], 1e-9);
    }
}

#[test]
fn the_second_flow_of_figure_1a_shifts_its_traffic() {
    // [cao2012, fig. 1(a), table II]: links of 6 and 9; flow 1 on the first, 2 on both, 3 on the second: 15 for three.
    let alone = certified(&problem(&[6.0, 9.0], &[&[&[0]], &[&[0], &[1]], &[&[1]]], &[], &[]), 1.0);
    assert_close(&alone.path_rates, &[5.0, 1.0, 4.0, 5.0], 1e-9);
    // Flow 4 on the first: two with 3 each there are better off without flow 2, which has 4.5 on the second.
    let top = certified(&problem(&[6.0, 9.0], &[&[&[0]], &[&[0], &[1]], &[&[1]], &[&[0]]], &[], &[]), 1.0);
    assert_close(&top.path_rates, &[3.0, 0.0, 4.5, 4.5, 3.0], 1e-9);
    // Flow 5 on the second instead: 15 for four, 3.75 each.
    let bottom = certified(&problem(&[6.0, 9.0], &[&[&[0]], &[&[0], &[1]], &[&[1]], &[&[1]]], &[], &[]), 1.0);
    assert_close(&bottom.path_rates, &[3.75, 2.25, 1.5, 3.75, 3.75], 1e-9);
}

#[test]
fn every_flow_of_figure_1b_takes_its_one_hop_path() {
    // [cao2012, fig. 1(b)]: each link has one flow's path of one hop and the others' of two. Prices 1/9; two hops 2/9.
    let flows: [&[&[u32]]; 3] = [&[&[0], &[1, 2]], &[&[1], &[2, 0]], &[&[2], &[0, 1]]];
    let solved = certified(&problem(&[9.0; 3], &flows, &[], &[]), 1.0);
    assert_close(&solved.path_rates, &[9.0, 0.0, 9.0, 0.0, 9.0, 0.0], 1e-9);
    assert_close(&solved.link_prices, &[1.0 / 9.0; 3], 1e-9);
}

#[test]
fn figure_2a_has_the_printed_optimum() {
    // [cao2012, sec. V.A] to the printed digits; the second path of flow 2 pays the links of 10 and of 6 as much as
    // the first pays the link of 5.
    let flows: [&[&[u32]]; 4] = [&[&[0]], &[&[0], &[1, 2]], &[&[1]], &[&[2]]];
    let solved = certified(&problem(&[5.0, 10.0, 6.0], &flows, &[], &[]), 1.0);
    assert_close(&solved.path_rates, &[3.1028, 1.8972, 1.2056, 8.7944, 4.7944], 5e-5);
    assert_close(&solved.link_prices, &[0.32229, 0.11371, 0.20858], 5e-6);
}

#[test]
fn demands_are_met_and_leave_the_rest() {
    // 10 for two with a demand of 2: 2 and 8. The price is 1/8, far below what the first would pay.
    let solved = certified(&problem(&[10.0], &[&[&[0]], &[&[0]]], &[2.0, NONE], &[]), 1.0);
    assert_close(&solved.connection_rates, &[2.0, 8.0], 1e-9);
    assert_close(&solved.link_prices, &[0.125], 1e-9);
    // Room for all: nothing has a price.
    let ample = certified(&problem(&[10.0], &[&[&[0]], &[&[0]]], &[2.0, 3.0], &[]), 1.0);
    assert_close(&ample.connection_rates, &[2.0, 3.0], 1e-9);
    assert_eq!(ample.link_prices, [0.0]);
}

#[test]
fn demands_far_below_all_others_are_met_and_move_nobody_under_any_alpha() {
    // Links of 10 and 4; 1e-9 goes over both, and leaves 10 and 4 to two each. For alpha 8 it would pay up to 1e72.
    let flows: [&[&[u32]]; 5] = [&[&[0, 1]], &[&[0]], &[&[0]], &[&[1]], &[&[1]]];
    let mixed = problem(&[10.0, 4.0], &flows, &[1e-9, NONE, NONE, NONE, NONE], &[]);
    for alpha in [0.5, 1.0, 8.0, 16.0] {
        let solved = certified(&mixed, alpha);
        assert_close(&solved.connection_rates, &[1e-9, 5.0, 5.0, 2.0, 2.0], 1e-8);
        assert_close(&solved.link_prices, &[5f64.powf(-alpha), 2f64.powf(-alpha)], 1e-8);
    }
}

#[test]
fn a_small_demand_that_takes_much_is_not_taken_to_be_met() {
    // A link of 10. A unit of the second takes a million of it, so it pays a million times what the first does:
    // alpha 1/2 gives x2^-1/2 = 1e6 x1^-1/2, x2 = 1e-12 x1, and x1 + 1e6 x2 = 10. Its demand of 5e-7 would fit.
    let mut both = parts(&[10.0], &[&[&[0]], &[&[0]]]);
    both.demand = vec![NONE, 5e-7];
    both.coefficient = vec![1.0, 1e6];
    let rates = certified(&Arc::new(Problem::new(both).unwrap()), 0.5).connection_rates;
    let x = 10.0 / (1.0 + 1e-6);
    assert_close(&[rates[0], rates[1] * 1e12], &[x, x], 1e-6);
}

#[test]
fn what_is_dead_or_endless_is_defined() {
    // A link of capacity 0: the first connection gets nothing at any price, the second goes around it. A demand of
    // 0, a connection without a path, a link without limit.
    let flows: [&[&[u32]]; 5] = [&[&[0]], &[&[0, 1], &[1]], &[&[1]], &[], &[&[2]]];
    let demand = [NONE, NONE, 0.0, NONE, 7.0];
    let solved = certified(&problem(&[0.0, 4.0, NONE], &flows, &demand, &[]), 1.0);
    assert_close(&solved.connection_rates, &[0.0, 4.0, 0.0, 0.0, 7.0], 1e-9);
    assert!(solved.link_prices[0].is_infinite());
    assert_close(&solved.link_prices[1..], &[0.25, 0.0], 1e-9);
    let nothing = certified(&problem(&[], &[], &[], &[]), 1.0);
    assert_eq!((nothing.path_rates.len(), nothing.link_prices.len()), (0, 0));
}

#[test]
fn alphas_out_of_range_and_prices_beyond_numbers_are_refused() {
    let link = problem(&[1e9], &[&[&[0]]], &[], &[]);
    for alpha in [0.0, -1.0, 0.09, 101.0, NONE, f64::NAN] {
        assert!(alpha_fair(&link, alpha).unwrap_err().to_string().contains("it must be 0.1 to 100"));
    }
    let said = alpha_fair(&link, 50.0).unwrap_err().to_string();
    assert!(said.contains("take a smaller alpha, or count rates in another unit"), "{said}");
}
