//! Queue disciplines at links, under protocols that keep windows.

use crate::common::{MEGA, MILLISECOND, network, plan, run};
use anabranch_core::{Bytes, Span};
use anabranch_plan::{Limit, Plan};
use anabranch_proto::Protocol;
use anabranch_queues::{EcnStepParameters, QUEUES, QueueDiscipline};
use anabranch_sim::{Outcome, simulate_on};

/// Some connections over one link of 10 Mbit/s with a round trip of 20 ms, and room for 250 packets of 1,000 bytes.
fn one_link(count: usize, protocol: &str, queue: QueueDiscipline, seconds: f64) -> Plan {
    let path: &[&[&str]] = &[&["a", "b", "c"]];
    let links = [("a", "b", 1000.0, 1.0), ("b", "c", 10.0, 9.0)];
    let mut plan = plan(network(&links), &vec![path; count], Protocol::named(protocol).unwrap(), seconds);
    plan.links[2].limit = Limit { packets: Some(250), bytes: None };
    plan.links[2].discipline = Some(queue);
    plan.run.warm_up = Span(20_000 * MILLISECOND);
    plan.run.sample = Span(10 * MILLISECOND);
    plan
}

/// What all delivered after the warm-up, in Mbit/s.
fn delivered(plan: &Plan, outcome: &Outcome) -> f64 {
    let seconds = plan.run.duration.seconds() - plan.run.warm_up.seconds();
    outcome.subflows.iter().map(|s| s.delivered_warm).sum::<u64>() as f64 * 8.0 / seconds / MEGA
}

/// The mean of what waits at the link after the warm-up, as a delay in milliseconds.
fn mean_wait(plan: &Plan, outcome: &Outcome) -> f64 {
    let links = plan.links.len();
    let first = (plan.run.warm_up.0 / plan.run.sample.0) as usize;
    let waits: Vec<u64> =
        outcome.samples.link_backlog_bytes.iter().skip(2 + first * links).step_by(links).copied().collect();
    waits.iter().sum::<u64>() as f64 / waits.len() as f64 * 8.0 / (10.0 * MEGA) * 1e3
}

#[test]
fn whatever_the_discipline_the_link_is_used_and_all_arrives() {
    for (name, ..) in QUEUES {
        let queue = QueueDiscipline::named(name).unwrap();
        let plan = one_link(4, "reno", queue.clone(), 60.0);
        let rate = delivered(&plan, &run(&plan));
        assert!((8.0..=10.0).contains(&rate), "{name}: {rate} Mbit/s");
        let mut finite = one_link(4, "reno", queue, 300.0);
        finite.transfers.iter_mut().for_each(|transfer| transfer.amount = Some(Bytes(2_345_678)));
        let outcome = run(&finite);
        assert!(outcome.subflows.iter().all(|s| s.delivered == 2_345_678), "{name}: {:?}", outcome.subflows);
        assert_eq!(outcome.under_way, 0);
    }
}

#[test]
fn a_run_repeats_itself_on_any_number_of_threads() {
    for (name, ..) in QUEUES {
        let plan = one_link(3, "reno", QueueDiscipline::named(name).unwrap(), 22.0);
        let alone = format!("{:?}", run(&plan));
        let mut together = simulate_on(&plan, 2, &mut |_| true);
        together.threads = 1;
        assert!(alone == format!("{together:?}"), "{name}");
    }
}

#[test]
fn first_in_first_out_is_what_a_link_does_without_a_discipline() {
    let queue = QueueDiscipline::named("drop-tail").unwrap();
    let with = one_link(2, "reno", queue, 30.0);
    let mut without = with.clone();
    without.links[2].discipline = None;
    let (with, without) = (run(&with), run(&without));
    assert_eq!(with.subflows, without.subflows);
    let counts = |outcome: &Outcome| (outcome.links[2].totals.sent, outcome.links[2].totals.dropped);
    assert_eq!(counts(&with), counts(&without));
}

#[test]
fn delays_come_to_the_target() {
    // Mean waits within half of the target. Over a longer way, a single CUBIC leaves the link idle after each cut, and
    // waits are shorter: 100 ms and 5 ms of waiting become 74 ms.
    for (name, least, most) in [("codel", 2.5, 7.5), ("pie", 7.5, 22.5), ("dualpi2", 7.5, 22.5)] {
        for ecn in [false, true] {
            let mut plan = one_link(1, "cubic", QueueDiscipline::named(name).unwrap(), 120.0);
            plan.run.transport.ecn = ecn;
            let outcome = run(&plan);
            let wait = mean_wait(&plan, &outcome);
            assert!((least..=most).contains(&wait), "{name}, ECN {ecn}: {wait} ms");
            if ecn {
                assert!(outcome.links[2].totals.dropped < 200, "{name}: {:?}", outcome.links[2]);
            }
        }
    }
}

/// DCTCP connections over 1 Gbit/s and 300 us with packets of 1,500 bytes, marked from 20 packets on.
fn data_centre(count: usize, seed: u64) -> Plan {
    let path: &[&[&str]] = &[&["a", "b", "c"]];
    let links = [("a", "b", 10_000.0, 0.075), ("b", "c", 1000.0, 0.075)];
    let mut plan = plan(network(&links), &vec![path; count], Protocol::named("dctcp").unwrap(), 2.0);
    plan.transfers.iter_mut().for_each(|transfer| transfer.packet = Bytes(1500));
    plan.links[2].limit = Limit { packets: Some(500), bytes: None };
    plan.links[2].discipline = Some(QueueDiscipline::EcnStep(EcnStepParameters { threshold: 20 }));
    (plan.run.seed, plan.run.warm_up) = (seed, Span(500 * MILLISECOND));
    plan.run.sample = Span(MILLISECOND / 10);
    plan
}

#[test]
fn dctcp_keeps_the_queue_at_the_step_and_the_link_busy() {
    for (count, least, most) in [(1, 15.0, 21.0), (2, 14.0, 22.0), (10, 10.0, 29.0)] {
        let plan = data_centre(count, 1);
        let outcome = run(&plan);
        // A packet takes 12 us; waits are reckoned at 10 Mbit/s.
        let packets = mean_wait(&plan, &outcome) * 10.0 * MEGA / 1e3 / 12_000.0;
        assert!((least..=most).contains(&packets), "{count}: {packets} packets");
        assert!(delivered(&plan, &outcome) > 995.0 && outcome.links[2].totals.dropped == 0);
    }
}

#[test]
fn a_scalable_control_shares_with_a_classic_one_and_waits_for_less() {
    let mut plan = one_link(2, "cubic", QueueDiscipline::named("dualpi2").unwrap(), 120.0);
    plan.protocols.push(Protocol::named("dctcp").unwrap());
    plan.transfers[1].protocol = 1;
    plan.network = std::sync::Arc::new(network(&[("a", "b", 1000.0, 1.0), ("b", "c", 50.0, 9.0)]));
    let outcome = run(&plan);
    let rate = |s: usize| outcome.subflows[s].delivered_warm as f64;
    let wait = |s: usize| outcome.subflows[s].mean_delay_s - 0.01;
    assert!((0.5..2.0).contains(&(rate(0) / rate(1))));
    assert!(wait(1) < 0.002 && wait(0) > 0.005);
}
