//! A run on several threads is the run on one, to the last bit.

mod common;

use anabranch_core::{Rate, Span, Time};
use anabranch_proto::Protocol;
use anabranch_proto::protocols::PROTOCOLS;
use anabranch_scenario::plan::{ControlPlane, Plan, Record};
use anabranch_sim::{Progress, simulate_on};
use common::random::{Pattern, random_plan};

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
    plan.run.record =
        Record { connections: true, subflows: true, links: true, grants: true, fairness: true, errors: true };
    plan
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    for (seed, (name, ..)) in (0..).zip(PROTOCOLS) {
        for control in [ControlPlane::Separate, ControlPlane::InBand] {
            let plan = whole_plan(seed, Protocol::named(name).unwrap(), control);
            let alone = format!("{:?}", simulate_on(&plan, 1, &mut |_| true));
            for threads in [2, 3, 7] {
                let mut together = simulate_on(&plan, threads, &mut |_| true);
                assert_eq!(std::mem::replace(&mut together.threads, 1), threads as u32);
                assert!(alone == format!("{together:?}"), "{name} on {threads} threads");
            }
        }
    }
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
