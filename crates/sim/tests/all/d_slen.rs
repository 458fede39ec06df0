//! d-SLEN where its portions, its ties and its queues are put to the test.

use crate::common::{MEGA, network, plan, run, timed};
use anabranch_proto::Protocol;

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
    let gauge = outcome.samples.gauges.last().unwrap();
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
    let last = outcome.samples.gauges.last().unwrap();
    assert!(last.overload < 1e-5 && last.residual < 1e-2, "{last:?}");
}
