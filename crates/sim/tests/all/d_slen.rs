//! d-SLEN where its portions, its ties and its queues are put to the test.

use std::collections::BTreeSet;

use crate::common::{MEGA, last_gauge, network, plan, run, timed};
use anabranch_core::Rate;
use anabranch_plan::Plan;
use anabranch_proto::Protocol;
use anabranch_sim::Outcome;

/// c1 has paths over a link of 5 and one of 10 Mbit/s; 20 others share the latter until 19 of them leave after so many
/// round trips. Gives the round trips from then until c1 has its 7.5 to 1 %.
fn recovery(contention: u32) -> f64 {
    let links = [("s", "a", 5.0, 5.0), ("a", "t", 100.0, 5.0), ("s", "b", 10.0, 5.0), ("b", "t", 100.0, 5.0)];
    let both: &[&[&str]] = &[&["s", "a", "t"], &["s", "b", "t"]];
    let other: &[&[&str]] = &[&["s", "b", "t"]];
    let mut connections = vec![other; 21];
    connections[0] = both;
    let leave = f64::from(contention) * 0.02;
    let mut plan = plan(network(&links), &connections, Protocol::default(), leave + 3.0);
    let mut times = vec![(0.0, Some(leave)); 21];
    (times[0], times[1]) = ((0.0, None), (0.0, None));
    timed(&mut plan, &times);
    plan.run.data = false;
    let outcome = run(&plan);
    let (mut rates, mut late) = ([0.0; 2], leave);
    for grants in outcome.grants.chunk_by(|a, b| a.time == b.time) {
        for grant in grants.iter().filter(|g| g.subflow < 2) {
            rates[grant.subflow as usize] = grant.rate.0 / MEGA;
        }
        let time = grants[0].time.seconds();
        if time > leave && (rates[0] + rates[1] - 7.5).abs() > 0.075 {
            late = time;
        }
    }
    assert!((rates[0] + rates[1] - 7.5).abs() < 0.075, "{rates:?}");
    (late - leave) / 0.02
}

#[test]
fn a_path_that_was_starved_for_long_comes_back_as_fast_as_one_that_was_not() {
    for contention in [20, 100, 300, 1000] {
        let rounds = recovery(contention);
        assert!(rounds <= 30.0, "{rounds} round trips after {contention}");
    }
}

#[test]
fn equal_levels_do_not_flip_for_ever() {
    // Two links of 10 Mbit/s in a row, three connections over both: all levels tie.
    let path: &[&[&str]] = &[&["a", "b", "c"]];
    let plan = plan(network(&[("a", "b", 10.0, 5.0), ("b", "c", 10.0, 5.0)]), &[path; 3], Protocol::default(), 5.0);
    let outcome = run(&plan);
    assert!(outcome.grants.iter().all(|g| g.time.seconds() < 1.0), "{:?}", outcome.grants.last());
}

#[test]
fn a_chain_of_dependent_levels_takes_a_round_trip_for_each() {
    // Connection i shares link i - 1 with the one before and link i with the one after; capacities rise, so that each
    // level is known only when the one before is.
    let primes = [2.0, 3.0, 5.0, 7.0, 11.0, 13.0, 17.0, 19.0];
    let names: Vec<String> = (0..=primes.len()).map(|n| format!("n{n}")).collect();
    let links: Vec<_> = primes.iter().enumerate().map(|(i, &c)| (&*names[i], &*names[i + 1], c, 5.0)).collect();
    let nodes: Vec<Vec<&str>> =
        (0..primes.len() - 1).map(|i| vec![&*names[i], &*names[i + 1], &*names[i + 2]]).collect();
    let paths: Vec<[&[&str]; 1]> = nodes.iter().map(|n| [&n[..]]).collect();
    let connections: Vec<&[&[&str]]> = paths.iter().map(|p| &p[..]).collect();
    let mut plan = plan(network(&links), &connections, Protocol::default(), 2.0);
    plan.run.data = false;
    let outcome = run(&plan);
    // By hand: 1 and 1 on the link of 2 ... the link of 2 has connection 1 alone; 3 is shared by 1 and 2, and so on.
    let last = outcome.grants.last().unwrap().time.seconds() / 0.02;
    assert!(last <= 1.5 * primes.len() as f64 + 2.0, "{last}");
    let gauge = last_gauge(&outcome);
    assert!(gauge.residual < 1e-3 && gauge.overload < 1e-6, "{gauge:?}");
}

#[test]
fn queues_stay_as_short_as_the_subflows_are_many() {
    // Four hosts with two paths each through one link; the others leave at 2 s and come back at 3 s.
    let links = [("s", "m", 40.0, 2.0), ("m", "t", 20.0, 3.0), ("s", "n", 40.0, 4.0), ("n", "t", 10.0, 1.0)];
    let both: &[&[&str]] = &[&["s", "m", "t"], &["s", "n", "t"]];
    let mut plan = plan(network(&links), &[both; 6], Protocol::default(), 4.0);
    timed(&mut plan, &[(0.0, None), (0.0, Some(2.0)), (0.0, Some(2.0)), (3.0, None), (3.01, None), (3.02, None)]);
    let outcome = run(&plan);
    let most = outcome.links.iter().map(|l| l.totals.most_packets).max().unwrap();
    assert!(most <= 8, "{most}");
    let last = last_gauge(&outcome);
    assert!(last.overload < 1e-5 && last.residual < 1e-2, "{last:?}");
}

/// Connections over a fat tree, each with the nodes of its paths.
const FAT_TREE: [&[&str]; 13] = [
    &["h5.1.2 e5.1 a5.0 c0.2 a4.0 e4.0 h4.0.1", "h5.1.2 e5.1 a5.1 c1.0 a4.1 e4.0 h4.0.1"],
    &["h5.1.1 e5.1 a5.0 c0.0 a2.0 e2.2 h2.2.0", "h5.1.1 e5.1 a5.1 c1.1 a2.1 e2.2 h2.2.0"],
    &["h5.1.0 e5.1 a5.1 c1.0 a2.1 e2.2 h2.2.0"],
    &["h0.0.2 e0.0 a0.0 c0.0 a2.0 e2.0 h2.0.1"],
    &["h5.2.2 e5.2 a5.1 c1.0 a1.1 e1.1 h1.1.2"],
    &["h1.1.1 e1.1 a1.1 c1.0 a2.1 e2.2 h2.2.0"],
    &["h5.2.0 e5.2 a5.1 c1.0 a3.1 e3.0 h3.0.1"],
    &["h5.2.0 e5.2 a5.1 c1.1 a1.1 e1.0 h1.0.0"],
    &["h1.0.1 e1.0 a1.0 c0.0 a2.0 e2.2 h2.2.1"],
    &["h5.1.1 e5.1 a5.0 c0.2 a3.0 e3.2 h3.2.2", "h5.1.1 e5.1 a5.1 c1.1 a3.1 e3.2 h3.2.2"],
    &["h5.2.1 e5.2 a5.0 c0.0 a2.0 e2.0 h2.0.1"],
    &["h5.2.0 e5.2 a5.0 c0.0 a2.0 e2.2 h2.2.1"],
    &["h4.1.1 e4.1 a4.1 c1.0 a2.1 e2.2 h2.2.0"],
];

/// By how much the rate of a connection still changes in the last tenth of a run, relative to it; the greatest.
fn swing(plan: &Plan, outcome: &Outcome) -> f64 {
    let (count, rates) = (plan.transfers.len(), &outcome.samples.connection_granted_bps);
    let end = &rates[rates.len() - rates.len() / 10 / count * count..];
    let of = |c: usize| {
        let own = end.iter().skip(c).step_by(count);
        let (least, most) = own.fold((f64::INFINITY, 0.0), |(a, b): (f64, f64), &rate| (a.min(rate), b.max(rate)));
        (most - least) / most
    };
    (0..count).map(of).fold(0.0, f64::max)
}

#[test]
fn a_full_link_that_holds_back_one_of_many_does_not_make_it_swing_for_ever() {
    // The second path of the first connection has two links of equal level, e5.1-a5.1 and a5.1-c1.0. On the latter are
    // three others with lower levels from elsewhere. If they were counted there when it is full, the first would be told
    // a third of what it has, again and again.
    let paths: Vec<Vec<Vec<&str>>> = FAT_TREE.map(|own| own.iter().map(|p| p.split(' ').collect()).collect()).to_vec();
    let ends: BTreeSet<(&str, &str)> =
        paths.iter().flatten().flat_map(|p| p.windows(2)).map(|w| (w[0].min(w[1]), w[0].max(w[1]))).collect();
    let delay = |a: &str, b: &str| if a.starts_with('h') || b.starts_with('h') { 0.01 } else { 1.0 };
    let links: Vec<_> = ends.iter().map(|&(a, b)| (a, b, 10.0, delay(a, b))).collect();
    let slices: Vec<Vec<&[&str]>> = paths.iter().map(|own| own.iter().map(|p| &p[..]).collect()).collect();
    let connections: Vec<&[&[&str]]> = slices.iter().map(|own| &own[..]).collect();
    let mut plan = plan(network(&links), &connections, Protocol::default(), 20.0);
    plan.run.data = false;
    let outcome = run(&plan);
    let (swing, last) = (swing(&plan, &outcome), last_gauge(&outcome));
    assert!(swing < 1e-3 && last.residual < 1e-3, "{swing} {last:?}");
}

/// c1 has paths over links of 1 and 9 units in bit/s; 20 others share the latter until 19 of them leave after 500 round
/// trips. Gives the rates of c1 and of the one that stays, in units.
fn after_starvation(unit: f64) -> [f64; 2] {
    let links = [("s", "a", 1.0, 1.0), ("a", "t", 100.0, 1.0), ("s", "b", 9.0, 1.0), ("b", "t", 100.0, 1.0)];
    let other: &[&[&str]] = &[&["s", "b", "t"]];
    let mut connections = vec![other; 21];
    connections[0] = &[&["s", "a", "t"], &["s", "b", "t"]];
    let mut plan = plan(network(&links), &connections, Protocol::default(), 5.0);
    let capacities: Vec<Rate> = plan.network.links().iter().map(|l| Rate(l.capacity.0 / MEGA * unit)).collect();
    plan.network = (*plan.network).clone().with_capacities(&capacities).unwrap().into();
    let mut times = vec![(0.0, Some(2.0)); 21];
    (times[0], times[1]) = ((0.0, None), (0.0, None));
    timed(&mut plan, &times);
    plan.run.data = false;
    let outcome = run(&plan);
    let rates = &outcome.samples.connection_granted_bps;
    [0, 1].map(|c| rates[rates.len() - 21 + c] / unit)
}

#[test]
fn a_starved_path_comes_back_whatever_links_can_carry() {
    // 1 and 9 units make 5 each; c1 needs 4 of them from the path that had next to nothing.
    for unit in [10.0, 100e3, 100e6, 1e14] {
        let [first, second] = after_starvation(unit);
        assert!((first - 5.0).abs() < 0.005 && (second - 5.0).abs() < 0.005, "{unit}: {first} {second}");
    }
}

#[test]
fn a_connection_may_have_hundreds_of_paths() {
    // 300 links of 1 Mbit/s between s and t by their own middles; c1 may use all, and 299 others one each, the second to
    // the last. All have the 300 links' worth to share, but c1 can do no better than its own link: 1 each.
    let middles: Vec<String> = (0..300).map(|n| format!("m{n}")).collect();
    let links: Vec<_> =
        middles.iter().flat_map(|m| [("s", m.as_str(), 1.0, 1.0), (m.as_str(), "t", 10.0, 1.0)]).collect();
    let nodes: Vec<[&str; 3]> = middles.iter().map(|m| ["s", m.as_str(), "t"]).collect();
    let all: Vec<&[&str]> = nodes.iter().map(|n| &n[..]).collect();
    let ones: Vec<[&[&str]; 1]> = all[1..].iter().map(|&path| [path]).collect();
    let mut connections: Vec<&[&[&str]]> = vec![&all];
    connections.extend(ones.iter().map(|one| &one[..]));
    let mut plan = plan(network(&links), &connections, Protocol::default(), 4.0);
    // At 2 s a hundred of the others leave, and c1 has 100 links more.
    let mut times = vec![(0.0, None); 300];
    times[200..].fill((0.0, Some(2.0)));
    timed(&mut plan, &times);
    plan.run.data = false;
    let outcome = run(&plan);
    let rates: Vec<&[f64]> = outcome.samples.connection_granted_bps.chunks(300).collect();
    let at = |sample: usize, c: usize| rates[sample][c] / MEGA;
    assert!((at(48, 0) - 1.0).abs() < 0.01 && (at(48, 299) - 1.0).abs() < 0.01, "{} {}", at(48, 0), at(48, 299));
    assert!((at(99, 0) - 101.0).abs() < 0.5 && (at(99, 1) - 1.0).abs() < 0.01, "{} {}", at(99, 0), at(99, 1));
}
