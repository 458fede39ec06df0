//! B-Neck is silent once all rates are found, and finds new ones when sessions come and go.

use std::sync::Arc;

use crate::common::random::{PATTERNS, Pattern, Rounds, course, lose_control, random_plan};
use crate::common::{MEGA, MILLISECOND, assert_close, network, plan, run, timed};
use anabranch_core::{Network, Rate, Span, Time};
use anabranch_plan::{Faults, Plan, Record};
use anabranch_proto::Protocol;
use anabranch_proto::protocols::b_neck;
use anabranch_sim::Outcome;

fn protocol(provisional: bool) -> Protocol {
    Protocol::BNeck(b_neck::Parameters { provisional, ..Default::default() })
}

/// A random plan without samples and data, whose events are those of control packets; it ends so many round trips after
/// the last change.
fn quiet_plan(seed: u64, pattern: Pattern, rounds: u64) -> (Plan, Rounds) {
    let (mut plan, own) = random_plan(seed, 1, pattern, protocol(true), 400);
    plan.run.duration = Span(own.quiet_from + rounds * own.round_trip);
    plan.run.sample = Span(plan.run.duration.0 + 1);
    plan.run.record = Record::default();
    (plan, own)
}

#[test]
fn once_rates_are_found_no_control_packet_is_under_way_and_none_is_sent() {
    for pattern in PATTERNS {
        for seed in 0..30 {
            let [early, late] = [40, 390].map(|rounds| run(&quiet_plan(seed, pattern, rounds).0));
            let told = |outcome: &Outcome| (outcome.under_way, outcome.hops, outcome.events);
            assert_eq!(early.under_way, 0, "{pattern:?} {seed}");
            // 350 round trips later nothing has happened.
            assert_eq!(told(&early), told(&late), "{pattern:?} {seed}");
        }
    }
}

/// Two sessions over a link of 10 Mbit/s and 5 ms; one comes at 1 s and leaves at 2 s.
fn one_comes_and_goes(provisional: bool, seconds: f64) -> Plan {
    let path: &[&[&str]] = &[&["a", "b"]];
    let mut plan = plan(network(&[("a", "b", 10.0, 5.0)]), &[path; 2], protocol(provisional), seconds);
    timed(&mut plan, &[(0.0, None), (1.0, Some(2.0))]);
    plan.run.data = false;
    plan.run.sample = Span(10 * MILLISECOND);
    plan
}

#[test]
fn a_session_that_comes_or_goes_wakes_the_others_and_silence_follows() {
    for provisional in [true, false] {
        let outcomes = [0.9, 0.999, 1.1, 1.9, 2.1, 3.0].map(|seconds| run(&one_comes_and_goes(provisional, seconds)));
        let hops = outcomes.each_ref().map(|outcome| outcome.hops);
        // Joining alone takes a round and a packet that says so; then nothing until the next second begins.
        assert_eq!(hops[0], 3);
        assert!(hops[1] == hops[0] && hops[2] > hops[1], "{hops:?}");
        assert!(hops[3] == hops[2] && hops[4] > hops[3] && hops[5] == hops[4], "{hops:?}");
        assert!(outcomes.iter().all(|outcome| outcome.under_way == 0));
        let rates: Vec<f64> = outcomes[5].samples.connection_granted_bps.iter().map(|bps| bps / MEGA).collect();
        for (sample, wanted) in [(90, [10.0, 0.0]), (110, [5.0, 5.0]), (190, [5.0, 5.0]), (210, [10.0, 0.0])] {
            assert_close(&rates[2 * sample - 2..2 * sample], &wanted, 1e-6);
        }
    }
}

#[test]
fn a_capacity_that_changes_in_silence_is_noticed_at_once() {
    let path: &[&[&str]] = &[&["a", "b", "c"]];
    let mut plan = plan(network(&[("a", "b", 10.0, 5.0), ("b", "c", 20.0, 5.0)]), &[path; 2], protocol(true), 4.0);
    plan.run.data = false;
    plan.run.sample = Span(5 * MILLISECOND);
    let (a_b, b_c) = (0, 2);
    let time = |ms: u64| Time(ms * MILLISECOND);
    plan.links[b_c].changes = vec![(time(1000), Rate(4e6)), (time(3000), Rate(40e6))];
    plan.links[a_b].changes = vec![(time(2000), Rate(3e6)), (time(3000), Rate(10e6))];
    let outcome = run(&plan);
    let at = |ms: usize| &outcome.samples.connection_granted_bps[2 * (ms / 5 - 1)..2 * (ms / 5)];
    // Half of a-b; of b-c, which tells its sessions in 5 ms and has answered them after a round trip of 20 ms more.
    for (ms, wanted) in [(1000, 5e6), (1020, 5e6), (1030, 2e6), (2000, 2e6)] {
        assert_close(at(ms), &[wanted; 2], 1.0);
    }
    // At their first link they are told in no time.
    for (ms, wanted) in [(2015, 2e6), (2025, 1.5e6), (3000, 1.5e6), (3025, 5e6), (4000, 5e6)] {
        assert_close(at(ms), &[wanted; 2], 1.0);
    }
    assert_eq!((outcome.under_way, outcome.links_not_clear > 0), (0, true));
}

/// Rates of subflows at the end.
fn last_grants(plan: &Plan, outcome: &Outcome) -> Vec<f64> {
    let mut rates = vec![0.0; plan.paths.len()];
    outcome.grants.iter().for_each(|grant| rates[grant.subflow as usize] = grant.rate.0 / MEGA);
    rates
}

#[test]
fn after_any_changes_of_capacities_rates_are_those_of_a_network_that_began_with_the_last() {
    for seed in 0..30 {
        let (mut plan, own) = quiet_plan(seed, Pattern::Churn, 390);
        plan.run.record.grants = true;
        let mut other = plan.clone();
        let at = |rounds: u64| Time(own.quiet_from + rounds * own.round_trip);
        // By number some links get 3 Mbit/s, some first less and then more, some fail for a while.
        let changes = |l: usize| match l % 5 {
            0 => vec![(at(100), 3.0)],
            1 => vec![(at(100), 2.0), (at(200), 30.0)],
            2 => vec![(at(150), 0.0), (at(200), 7.0)],
            _ => Vec::new(),
        };
        let mut capacities: Vec<Rate> = plan.network.links().iter().map(|link| link.capacity).collect();
        for (l, link) in plan.links.iter_mut().enumerate() {
            link.changes = changes(l).into_iter().map(|(time, mbps)| (time, Rate(mbps * MEGA))).collect();
            capacities[l] = link.changes.last().map_or(capacities[l], |&(_, rate)| rate);
        }
        other.network = Arc::new(Network::clone(&plan.network).with_capacities(&capacities).unwrap());
        let (outcome, wanted) = (run(&plan), run(&other));
        assert_eq!((outcome.under_way, outcome.bad_grants), (0, 0), "{seed}");
        assert_close(&last_grants(&plan, &outcome), &last_grants(&other, &wanted), 1e-5);
    }
}

#[test]
fn rates_that_are_not_final_are_granted_if_wanted() {
    // 10, 20 and 30 Mbit/s in a row; sessions over all, the first, the second, the third, the last two.
    let links = network(&[("0", "1", 10.0, 5.0), ("1", "2", 20.0, 5.0), ("2", "3", 30.0, 5.0)]);
    let sessions: [&[&[&str]]; 5] =
        [&[&["0", "1", "2", "3"]], &[&["0", "1"]], &[&["1", "2"]], &[&["2", "3"]], &[&["1", "2", "3"]]];
    let first = |provisional| {
        let plan = plan(links.clone(), &sessions, protocol(provisional), 1.0);
        let outcome = run(&plan);
        let grants: Vec<_> = outcome.grants.iter().filter(|grant| grant.subflow == 3).collect();
        (grants[0].time, grants.len(), grants[grants.len() - 1].rate.0 / MEGA)
    };
    let ((early, many, rate), (late, one, same)) = (first(true), first(false));
    // The fourth crosses one link, 10 ms there and back. Its first response is out of date, as the others have come
    // since; the second is not. Then it waits for the others until 17.5 are final.
    assert!(early < late && early < Time(21 * MILLISECOND) && many > 1 && one == 1, "{early:?} {late:?}");
    assert_close(&[rate, same], &[17.5; 2], 1e-6);
}

#[test]
fn hops_may_lose_repeat_and_reorder_control_packets_if_they_repair_it() {
    for pattern in PATTERNS {
        for seed in 0..10 {
            let (mut plan, rounds) = random_plan(seed, 1, pattern, protocol(true), 200);
            let (share, late) = (0.05, Span(20 * MILLISECOND));
            lose_control(&mut plan, Faults { loss: share, duplicate: share, reorder: share, late });
            let course = course(&plan, rounds);
            assert!(course.residual < 1e-6 && course.last_load < 1.0 + 1e-6, "{pattern:?} {seed}: {course:?}");
            assert_eq!((course.bad_grants, course.not_clear), (0, 0), "{pattern:?} {seed}");
        }
    }
}
