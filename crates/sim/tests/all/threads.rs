//! A run on several threads is the run on one, to the last bit.

use crate::common::random::{Pattern, random_plan};
use crate::common::{MILLISECOND, network, plan};
use anabranch_core::{ConnectionId, Demands, Rate, Samples, Span, Time};
use anabranch_plan::opportunities::{Milliseconds, Opportunities};
use anabranch_plan::{ControlPlane, DemandChange, Filters, Limit, Plan, Record, way_back};
use anabranch_proto::Protocol;
use anabranch_proto::protocols::PROTOCOLS;
use anabranch_psi::{Identities, IdentityParameters, Ones, filter_of};
use anabranch_sim::{Progress, Threads, simulate_on, simulate_seen};

/// Network number `seed` with data packets, capacities that change, and everything recorded.
fn whole_plan(seed: u64, protocol: Protocol, control: ControlPlane) -> Plan {
    let (mut plan, own) = random_plan(seed, 1, Pattern::Churn, protocol, 3);
    plan.run.data = true;
    plan.run.control = control;
    plan.run.duration = Span(own.quiet_from + 6 * own.round_trip);
    plan.run.sample = Span(plan.run.duration.0 / 20);
    plan.run.warm_up = Span(plan.run.duration.0 / 3);
    let at = |part| Time(plan.run.duration.0 / part);
    plan.links.iter_mut().step_by(5).for_each(|l| l.changes = vec![(at(3), Rate(4e6)), (at(2), Rate(20e6))]);
    let opportunities = Opportunities { times: Milliseconds::new(vec![1, 1, 2, 5, 5, 9]).unwrap(), bytes: 1500 };
    let rates = opportunities.rates(Span(5 * MILLISECOND), plan.run.duration);
    for link in plan.links.iter_mut().skip(1).step_by(7) {
        link.changes.clone_from(&rates);
        link.opportunities = Some(opportunities.clone());
    }
    plan.run.record = Record {
        connections: true,
        subflows: true,
        windows: true,
        waits: true,
        links: true,
        grants: true,
        fairness: true,
        errors: true,
    };
    plan
}

#[test]
fn an_onlooker_sees_each_sample_once_and_changes_nothing() {
    for (seed, name) in [(1, "d-slen"), (2, "reno"), (3, "b-neck")] {
        let plan = whole_plan(seed, Protocol::named(name).unwrap(), ControlPlane::Separate);
        for threads in [1, 3] {
            let unseen = simulate_on(&plan, threads, &mut |_| true);
            let (mut seen, mut parts) = (0, Vec::new());
            let mut look = |all: &Samples| {
                parts.push(all.after(seen));
                seen = all.time_s.len();
            };
            let outcome = simulate_seen(&plan, threads, &mut |_| true, Some(&mut look));
            assert!(format!("{outcome:?}") == format!("{unseen:?}"), "{name} on {threads} threads");
            // A part for each of the 20 samples, each a row of every table; put together they are all that was recorded.
            assert_eq!(parts.len(), 20);
            let whole = &outcome.samples;
            let joined = |of: fn(&Samples) -> &Vec<f64>| parts.iter().flat_map(|p| of(p).clone()).collect::<Vec<_>>();
            assert_eq!(joined(|s| &s.time_s), whole.time_s);
            assert_eq!(joined(|s| &s.connection_granted_bps), whole.connection_granted_bps);
            assert_eq!(joined(|s| &s.link_carried_bps), whole.link_carried_bps);
            assert_eq!(parts.iter().map(|p| p.link_backlog_bytes.len()).sum::<usize>(), whole.link_backlog_bytes.len());
            assert_eq!(parts.iter().map(|p| p.link_errors_p50.len()).sum::<usize>(), 20);
        }
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    for (seed, (name, ..)) in (0..).zip(PROTOCOLS) {
        for control in [ControlPlane::Separate, ControlPlane::InBand] {
            let plan = whole_plan(seed, Protocol::named(name).unwrap(), control);
            let alone = format!("{:?}", simulate_on(&plan, 1, &mut |_| true));
            for threads in [2, 3, 7] {
                let mut together = simulate_on(&plan, threads, &mut |_| true);
                // There may be less than a part with work for each.
                let used = std::mem::replace(&mut together.threads, 1);
                assert!((2..=threads as u32).contains(&used), "{name} on {used} of {threads} threads");
                assert!(alone == format!("{together:?}"), "{name} on {threads} threads");
            }
        }
    }
}

/// The same with all else that a scenario may have and that is not random: demands that are links and change, capacities
/// that change, and control packets that share full queues with data, so that hops repair what these drop, and are held
/// back.
fn busy_plan(seed: u64, protocol: Protocol) -> Plan {
    let mut plan = whole_plan(seed, protocol, ControlPlane::InBand);
    let at = |part: u64| Time(plan.run.duration.0 / 8 * part);
    let mut all = plan.demands.connections().to_vec();
    for connection in all.iter_mut().step_by(3) {
        connection.demand = Some(Rate(2e6));
    }
    let change = |c: usize, part: u64, mbps: f64| DemandChange {
        time: at(part),
        connection: ConnectionId::new(c),
        demand: Rate(mbps * 1e6),
    };
    let changing = (0..all.len()).step_by(6);
    plan.demand_changes =
        changing.clone().map(|c| change(c, 2, 0.5)).chain(changing.map(|c| change(c, 5, 8.0))).collect();
    plan.demands = Demands::new(&plan.network, all).unwrap();
    for (l, link) in plan.links.iter_mut().enumerate() {
        link.limit = Limit { packets: Some(5), bytes: None };
        if l % 5 == 0 {
            link.changes = vec![(at(3), Rate(3e6)), (at(6), Rate(20e6))];
        }
    }
    plan.run.control_share = Some(0.01);
    plan
}

#[test]
fn nor_does_it_matter_with_changes_full_queues_and_repair() {
    for (seed, (name, ..)) in (100..).zip(PROTOCOLS) {
        let plan = busy_plan(seed, Protocol::named(name).unwrap());
        let outcome = simulate_on(&plan, 1, &mut |_| true);
        assert!(outcome.links.iter().any(|link| link.totals.dropped > 0), "{name}: no queue is full");
        let alone = format!("{outcome:?}");
        for threads in [2, 5] {
            let mut together = simulate_on(&plan, threads, &mut |_| true);
            let used = std::mem::replace(&mut together.threads, 1);
            assert!((2..=threads as u32).contains(&used), "{name} on {used} of {threads} threads");
            assert!(alone == format!("{together:?}"), "{name} on {threads} threads");
        }
    }
}

#[test]
fn no_thread_has_nothing_to_do() {
    // Of two nodes with as much to do each, two threads have one each; a third would have none.
    let path: &[&[&str]] = &[&["a", "b"]];
    let plan = plan(network(&[("a", "b", 10.0, 5.0)]), &[path], Protocol::default(), 0.1);
    let threads = [1, 2, 3].map(|threads| simulate_on(&plan, threads, &mut |_| true).threads);
    assert_eq!(threads, [1, 2, 2]);
}

#[test]
fn a_run_that_tries_both_ways_by_the_clock_is_the_same() {
    // Three million packet-hops, some thousands in each window of 20 ms: enough to try two threads and one in turn.
    let (near, far): (&[&[&str]], &[&[&str]]) = (&[&["a", "b"]], &[&["a", "b", "c"]]);
    let links = network(&[("a", "b", 1000.0, 20.0), ("b", "c", 1000.0, 20.0)]);
    let plan = plan(links, &[near, far, far], Protocol::default(), 15.0);
    let written = |threads: Threads| {
        let mut outcome = simulate_on(&plan, threads, &mut |_| true);
        assert!(matches!(outcome.threads, 1 | 2), "{}", outcome.threads);
        outcome.threads = 1;
        (outcome.hops, format!("{outcome:?}"))
    };
    let alone = written(Threads::Exactly(1));
    assert!(alone.0 > 3_000_000, "{} packet-hops", alone.0);
    assert!(written(Threads::AsPays(2)) == alone && written(Threads::Exactly(2)) == alone);
}

#[test]
fn a_run_with_little_to_do_has_one_thread() {
    let path: &[&[&str]] = &[&["a", "b"]];
    let plan = plan(network(&[("a", "b", 10.0, 5.0)]), &[path], Protocol::default(), 1.0);
    assert_eq!(simulate_on(&plan, Threads::AsPays(2), &mut |_| true).threads, 1);
}

#[test]
fn a_run_on_several_threads_can_be_called_off() {
    let plan = whole_plan(1, Protocol::default(), ControlPlane::Separate);
    // Often, since it depends on the moment: nobody may wait for one who has left.
    for (most, threads) in (0..20).map(|time| (1 + time % 2, 2 + time % 3)) {
        let mut told = Vec::new();
        let outcome = simulate_on(&plan, threads, &mut |Progress { events, .. }| {
            told.push(events);
            told.len() < most
        });
        // It is told once more at the end.
        assert!(!outcome.is_whole && told.len() == most + 1, "{told:?} {}", outcome.events);
    }
}

/// The same with data that go by filters with many false positives.
fn stray_plan(seed: u64, protocol: Protocol) -> Plan {
    let mut plan = busy_plan(seed, protocol);
    let own = IdentityParameters { bits: 32, ones: Ones::Each(2), tables: 1, most_fill: 0.9, seed };
    let identities = Identities::new(plan.network.links().len(), own).unwrap();
    let filter = |path: &[_]| filter_of(&plan.network, &identities, path).unwrap();
    let keeps_windows = plan.protocols[0].capabilities().keeps_windows();
    let there = (0..plan.paths.len()).map(|p| filter(plan.paths.path(p))).collect();
    let back = |p| keeps_windows.then(|| filter(&way_back(&plan.network, plan.paths.path(p))));
    let back = (0..plan.paths.len()).map(back).collect();
    plan.filters = Some(Filters { identities, there, back });
    plan
}

#[test]
fn nor_does_it_matter_where_packets_go_astray() {
    for (seed, (name, ..)) in (200..).zip(PROTOCOLS) {
        let protocol = Protocol::named(name).unwrap();
        if protocol.capabilities().has_headers() {
            continue;
        }
        let plan = stray_plan(seed, protocol);
        let outcome = simulate_on(&plan, 1, &mut |_| true);
        let strays: u64 = outcome.subflows.iter().map(|s| s.strays).sum();
        assert!(strays > 500, "{name}: {strays} strays");
        let alone = format!("{outcome:?}");
        for threads in [2, 3] {
            let mut together = simulate_on(&plan, threads, &mut |_| true);
            let used = std::mem::replace(&mut together.threads, 1);
            assert!((2..=threads as u32).contains(&used), "{name} on {used} of {threads} threads");
            assert!(alone == format!("{together:?}"), "{name} on {threads} threads");
        }
    }
}
