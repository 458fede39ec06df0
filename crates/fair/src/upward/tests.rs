//! Scenarios with answers known beforehand, and random problems checked by the certificate.

use super::*;
use crate::certify::{Bottleneck, certify};
use crate::problem::ProblemParts;
use crate::testing::parts as problem;

const NONE: f64 = f64::INFINITY;

/// [ludena2021, scenario 1]: links l1 to l10 of capacity 1, l8 of 3, numbered from 0.
fn scenario_1() -> ProblemParts {
    let mut capacity = [1.0; 10];
    capacity[7] = 3.0;
    let c1: &[&[u32]] = &[&[0, 2, 3, 5, 6], &[0, 2, 4], &[1, 5, 6]];
    let c3: &[&[u32]] = &[&[7, 8, 2, 3, 5], &[7, 9]];
    problem(&capacity, &[c1, &[&[7]], c3])
}

/// [ludena2021, scenario 2], only the five links that bind.
fn scenario_2() -> ProblemParts {
    problem(&[6.0, 9.0, 8.0, 4.0, 5.0], &[&[&[0], &[1]], &[&[1], &[2]], &[&[2], &[3]], &[&[2], &[4]]])
}

fn solve(parts: ProblemParts, stop: Stop) -> (Arc<Problem>, Allocation) {
    let problem = Arc::new(Problem::new(parts).unwrap());
    let allocation = upward_max_min(Arc::clone(&problem), &Start::Equal, stop, 100_000).unwrap();
    (problem, allocation)
}

fn assert_close(found: &[f64], wanted: &[f64], tolerance: f64) {
    let close = found.iter().zip(wanted).all(|(a, b)| (a - b).abs() <= tolerance);
    assert!(close && found.len() == wanted.len(), "{found:?} instead of {wanted:?}");
}

#[test]
fn scenario_1_comes_to_the_printed_rates() {
    let (_, allocation) = solve(scenario_1(), Stop::Change(1e-3));
    assert_eq!(allocation.passes, 12);
    assert_close(&allocation.connection_rates, &[1.20, 1.80, 1.20], 0.005);
    assert_close(&allocation.path_rates, &[0.4, 0.4, 0.4, 1.8, 0.2, 1.0], 0.005);
}

#[test]
fn scenario_2_comes_to_the_printed_rates_after_the_same_passes() {
    let (_, allocation) = solve(scenario_2(), Stop::Change(1e-3));
    assert_eq!(allocation.passes, 38);
    assert_close(&allocation.connection_rates, &[8.0077, 8.0049, 7.9937, 7.9937], 5e-5);
    assert_close(&allocation.path_rates, &[6.0, 2.01, 6.99, 1.01, 3.99, 4.0, 2.99, 5.0], 0.005);
}

#[test]
fn the_certificate_takes_both_scenarios_to_their_limits() {
    let (problem, allocation) = solve(scenario_1(), Stop::Certificate(1e-9));
    assert_close(&allocation.connection_rates, &[1.2, 1.8, 1.2], 1e-7);
    assert!(certify(&problem, &allocation.path_rates, 1e-8).holds());
    let (problem, allocation) = solve(scenario_2(), Stop::Certificate(1e-9));
    assert_close(&allocation.connection_rates, &[8.0; 4], 1e-7);
    assert!(certify(&problem, &allocation.path_rates, 1e-8).holds());
}

#[test]
fn iewf_comes_to_the_printed_rates_and_overloads() {
    let run = |parts| {
        let problem = Arc::new(Problem::new(parts).unwrap());
        let mut iewf = crate::Iewf::new(Arc::clone(&problem), &Start::Equal, 0.05).unwrap();
        assert!(iewf.run(Stop::Change(1e-3), 1000));
        let allocation = iewf.allocation(true, 1e-3);
        (allocation.passes, allocation.connection_rates.clone(), problem.loads(&allocation.path_rates), allocation)
    };
    let (passes, rates, loads, allocation) = run(scenario_1());
    assert_eq!(passes, 6);
    assert_close(&rates, &[1.20, 1.75, 1.25], 1e-9);
    assert_close(&allocation.path_rates, &[0.40, 0.40, 0.40, 1.75, 0.23, 1.02], 0.005);
    assert_close(&loads, &[0.80, 0.40, 1.03, 0.63, 0.40, 1.03, 0.80, 3.00, 0.23, 1.02], 0.005);
    let (passes, rates, loads, allocation) = run(scenario_2());
    assert_eq!(passes, 15);
    assert_close(&rates, &[8.15, 8.10, 7.95, 7.95], 1e-9);
    assert_close(&allocation.path_rates, &[6.03, 2.12, 6.90, 1.20, 3.90, 4.05, 2.93, 5.02], 0.005);
    assert_close(&loads, &[6.03, 9.02, 8.03, 4.05, 5.02], 0.0051);
}

#[test]
fn a_subflow_that_cannot_win_vanishes() {
    // A=1, B=10. c1 on A or B, c2 on A: c2 gets all of A, and c1 all of B.
    let (problem, allocation) = solve(problem(&[1.0, 10.0], &[&[&[0], &[1]], &[&[0]]]), Stop::Certificate(1e-6));
    assert_close(&allocation.path_rates, &[0.0, 10.0, 1.0], 1e-4);
    let certificate = certify(&problem, &allocation.path_rates, 1e-3);
    assert_eq!(certificate.bottlenecks, [Bottleneck::Link(0), Bottleneck::Link(1), Bottleneck::Link(0)]);
}

#[test]
fn a_run_in_stretches_comes_to_the_same_as_one() {
    for (small, large) in [(1, 1), (1, 50), (5, 3)] {
        let whole = solve(mixed(small, large), Stop::Certificate(1e-6)).1;
        let mut solver = CSlen::new(Arc::new(Problem::new(mixed(small, large)).unwrap()), &Start::Equal).unwrap();
        while !solver.run(Stop::Certificate(1e-6), solver.passes() + 1) {}
        assert_eq!((solver.passes(), solver.allocation(true, 1e-6).path_rates), (whole.passes, whole.path_rates));
    }
}

/// `small` connections on a link of 1 alone; each of `large` ones has that link and a link of 1000 of its own.
fn mixed(small: u32, large: u32) -> ProblemParts {
    let capacity: Vec<f64> = std::iter::once(1.0).chain((0..large).map(|_| 1000.0)).collect();
    let own: Vec<[u32; 1]> = (1..=large).map(|l| [l]).collect();
    let both: Vec<[&[u32]; 2]> = own.iter().map(|l| [&[0u32][..], &l[..]]).collect();
    let alone: &[&[u32]] = &[&[0]];
    let connections: Vec<&[&[u32]]> = both.iter().map(|paths| &paths[..]).chain((0..small).map(|_| alone)).collect();
    problem(&capacity, &connections)
}

#[test]
fn large_connections_leave_a_small_link_to_those_who_have_no_other() {
    for large in [1, 50] {
        let (problem, allocation) = solve(mixed(1, large), Stop::Certificate(1e-2));
        assert!(allocation.converged && certify(&problem, &allocation.path_rates, 1e-2).holds());
        assert!(allocation.connection_rates[large as usize] > 0.99, "{large}: {:?}", allocation.connection_rates);
        assert!(allocation.passes < 20, "{large}: {}", allocation.passes);
    }
}

#[test]
fn a_subflow_that_was_taken_out_comes_back_where_nothing_holds_it() {
    // Link 0 of 1 is for the second connection alone in the end. Taken out of link 1, whose only user it is, the first
    // has no bottleneck there.
    let parts = problem(&[1.0, 10.0, 1000.0], &[&[&[0], &[1], &[2]], &[&[0]]]);
    let mut solver = CSlen::new(Arc::new(Problem::new(parts).unwrap()), &Start::Equal).unwrap();
    assert!(solver.run(Stop::Certificate(1e-2), 100));
    let second = solver.problem.paths_of(0)[1] as usize;
    assert_close(&solver.path_rates()[second..=second], &[10.0], 1e-9);
    solver.vanishing.take_out_for_test(second, &mut solver.outcome.portions);
    solver.pass();
    assert_close(&solver.path_rates()[second..=second], &[0.0], 1e-300);
    assert!(solver.run(Stop::Certificate(1e-2), 100));
    assert_close(&solver.path_rates()[second..=second], &[10.0], 1e-9);
}

#[test]
fn a_tie_in_the_limit_is_told_by_the_certificate_and_not_by_small_changes() {
    // A=B=2, c1 on A or B, c2 on A: exactly (2, 2), approached like 1/n. The change falls below 1e-3 at pass 32 with
    // an error of 0.031; the certificate says how far it is: the 0.031 that c1 has on A are 0.016 of what c2 has.
    let tie = problem(&[2.0, 2.0], &[&[&[0], &[1]], &[&[0]]]);
    let (_, early) = solve(tie.clone(), Stop::Change(1e-3));
    assert_eq!(early.passes, 32);
    assert_close(&early.connection_rates, &[2.031, 1.969], 5e-4);
    assert!(early.residual > 0.015, "{}", early.residual);
    let (problem, late) = solve(tie, Stop::Certificate(1e-3));
    assert!(late.converged && certify(&problem, &late.path_rates, 1e-3).holds());
    // c1's share of A no longer counts once it is 1e-3 of c1's rate: 0.002.
    assert_close(&late.connection_rates, &[2.0, 2.0], 2.1e-3);
}

#[test]
fn weights_demands_and_coefficients_are_kept() {
    // 12 in proportion 1 : 2 with a third connection that asks for 3: 9 are left, 3 and 6.
    let mut parts = problem(&[12.0], &[&[&[0]], &[&[0]], &[&[0]]]);
    (parts.weight, parts.demand) = (vec![1.0, 2.0, 2.0], vec![NONE, NONE, 3.0]);
    let (_, allocation) = solve(parts, Stop::Certificate(1e-9));
    assert_close(&allocation.connection_rates, &[3.0, 6.0, 3.0], 1e-9);
    // Cross traffic of 5 %: two of them on link 0 and one back: x (2 + 0.05) = 1 for all.
    let mut parts = problem(&[1.0, 1.0], &[&[&[0, 1]], &[&[0, 1]], &[&[0, 1]]]);
    parts.coefficient = vec![1.0, 0.05, 1.0, 0.05, 0.05, 1.0];
    let (_, allocation) = solve(parts, Stop::Certificate(1e-9));
    assert_close(&allocation.connection_rates, &[1.0 / 2.05; 3], 1e-9);
}

#[test]
fn a_connection_may_have_hundreds_of_paths() {
    // 200 links of 1; the first connection has them all, each of 200 others has one.
    let links: Vec<[u32; 1]> = (0..200).map(|l| [l]).collect();
    let paths: Vec<&[u32]> = links.iter().map(|l| &l[..]).collect();
    let singles: Vec<Vec<&[u32]>> = paths.iter().map(|p| vec![*p]).collect();
    let mut connections: Vec<&[&[u32]]> = vec![&paths];
    connections.extend(singles.iter().map(|s| &s[..]));
    let (problem, allocation) = solve(problem(&[1.0; 200], &connections), Stop::Certificate(1e-3));
    assert!(allocation.converged && certify(&problem, &allocation.path_rates, 1e-3).holds());
    // By symmetry every path of the first has the same rate x, and the others have 1 - x. All links saturate, so all
    // levels are equal: 200 x = 1 - x.
    assert_close(&allocation.connection_rates[..1], &[200.0 / 201.0], 1e-3);
}

#[test]
fn the_degenerate_is_defined() {
    // A dead link, an empty demand, a connection without a path, links that nobody uses.
    let mut parts = problem(&[0.0, 6.0, 9.0], &[&[&[0, 1], &[1]], &[&[1]], &[], &[&[0]]]);
    parts.demand[1] = 0.0;
    let (problem, allocation) = solve(parts, Stop::Certificate(1e-9));
    assert_close(&allocation.path_rates, &[0.0, 6.0, 0.0, 0.0], 1e-9);
    assert!(certify(&problem, &allocation.path_rates, 1e-9).holds());
    let (_, nothing) = solve(ProblemParts { path_offsets: vec![0], ..Default::default() }, Stop::Certificate(1e-9));
    assert_eq!((nothing.passes, nothing.residual), (1, 0.0));
}

#[test]
fn starting_portions_decide_which_fair_allocation_is_found() {
    // Two connections on the same two links: whatever portions c1 starts with, both get 2, but split as they began.
    let parts = problem(&[2.0, 2.0], &[&[&[0], &[1]], &[&[0], &[1]]]);
    let problem = Arc::new(Problem::new(parts).unwrap());
    let solve = |start| upward_max_min(Arc::clone(&problem), &start, Stop::Certificate(1e-9), 10_000).unwrap();
    assert_close(&solve(Start::Equal).path_rates, &[1.0; 4], 1e-6);
    let tilted = solve(Start::Given(vec![3.0, 1.0, 1.0, 3.0]));
    assert_close(&tilted.connection_rates, &[2.0, 2.0], 1e-6);
    assert_close(&tilted.path_rates, &[1.5, 0.5, 0.5, 1.5], 1e-6);
    let geometric = solve(Start::Geometric(0.25));
    assert_close(&geometric.connection_rates, &[2.0, 2.0], 1e-6);
}

#[test]
fn starts_that_cannot_be_are_refused() {
    let problem = Arc::new(Problem::new(scenario_2()).unwrap());
    let said = |start| CSlen::new(Arc::clone(&problem), &start).err().unwrap().to_string();
    assert!(said(Start::Geometric(0.0)).contains("over 0 and at most 1"));
    assert!(said(Start::Given(vec![1.0])).contains("1 starting portions for 8 paths"));
    assert!(said(Start::Given(vec![-1.0; 8])).contains("path 0"));
    assert!(said(Start::Given(vec![0.0; 8])).contains("path 0: its starting portion is 0; it must be positive"));
    let iewf = |unit| crate::Iewf::new(Arc::clone(&problem), &Start::Equal, unit).err().unwrap().to_string();
    assert!(iewf(0.0).contains("must be positive"));
    assert!(iewf(1e-9).contains("give one of"));
}

#[test]
fn a_pass_is_the_same_whichever_links_are_watched_before() {
    // With demands that are met and without, so that both what grows too far and what nothing would stop are seen.
    for demand in [5.0, NONE] {
        let mut parts = scenario_2();
        parts.demand[0] = demand;
        let problem = Arc::new(Problem::new(parts).unwrap());
        let mut all = CSlen::new(Arc::clone(&problem), &Start::Equal).unwrap();
        all.pass();
        for watched in 0..1 << problem.links() {
            let mut some = CSlen::new(Arc::clone(&problem), &Start::Equal).unwrap();
            some.is_watched = (0..problem.links()).map(|link| watched >> link & 1 == 1).collect();
            some.incidence.watch(&some.is_watched);
            some.pass();
            assert_close(&some.outcome.rates, &all.outcome.rates, 1e-12);
            assert_close(&some.free, &all.free, 1e-12);
        }
    }
}

#[test]
fn a_link_that_fills_up_later_is_watched_then() {
    // A=10, B=7.6; c1 wants 8 and is on A or B, c2 to c4 are on A. In the first pass A saturates at 10 / 3.5 = 2.857,
    // half of which c1 has there, so 8 - 1.429 = 6.571 go over B, which has 14 % left. The second takes it to 7.44,
    // and in the third it would be 7.77: c1 leaves A to the others, and fills B.
    let mut parts = problem(&[10.0, 7.6], &[&[&[0], &[1]], &[&[0]], &[&[0]], &[&[0]]]);
    parts.demand[0] = 8.0;
    let mut solver = CSlen::new(Arc::new(Problem::new(parts).unwrap()), &Start::Equal).unwrap();
    solver.pass();
    assert_eq!(solver.is_watched, [true, false]);
    assert_close(&solver.free, &[0.0, 1.029], 1e-3);
    solver.pass();
    assert_close(&solver.outcome.rates[..2], &[0.562, 7.438], 1e-3);
    assert!(solver.run(Stop::Certificate(1e-3), 1000));
    assert_eq!(solver.is_watched, [true, true]);
    assert_close(&solver.outcome.totals, &[7.6, 10.0 / 3.0, 10.0 / 3.0, 10.0 / 3.0], 1e-2);
}
