//! Paths that begin later or end earlier than their connection, under every protocol that keeps windows.

use crate::common::{MEGA, network, plan, run, timed};
use anabranch_core::{Bytes, ConnectionId, Time};
use anabranch_plan::{Limit, PathTime, Plan};
use anabranch_proto::Protocol;
use anabranch_proto::protocols::PROTOCOLS;
use anabranch_sim::{Outcome, simulate_on};

fn all() -> impl Iterator<Item = Protocol> {
    let named = PROTOCOLS.iter().map(|(name, ..)| Protocol::named(name).unwrap());
    named.filter(|protocol| protocol.capabilities().keeps_windows() && protocol.capabilities().serves_many_paths())
}

/// A connection over two paths of 10 Mbit/s that have no link in common; sampled every 100 ms.
///
/// `times` are when each of them may be used, in seconds.
fn two_paths(protocol: Protocol, seconds: f64, times: [(f64, Option<f64>); 2]) -> Plan {
    let links = [("a", "x", 10.0, 10.0), ("x", "b", 100.0, 1.0), ("a", "y", 10.0, 10.0), ("y", "b", 100.0, 1.0)];
    let paths: &[&[&str]] = &[&["a", "x", "b"], &["a", "y", "b"]];
    let mut plan = plan(network(&links), &[paths], protocol, seconds);
    plan.links.iter_mut().for_each(|link| link.limit = Limit { packets: Some(50), bytes: None });
    plan.run.sample.0 = 100_000_000_000;
    let at = |seconds: f64| Time::from_seconds(seconds).unwrap();
    let time = |(path, (start, stop)): (usize, (f64, Option<f64>))| PathTime {
        connection: ConnectionId(0),
        path,
        start: at(start),
        stop: stop.map(at),
    };
    plan.run.record.windows = true;
    plan.path_times = times.into_iter().enumerate().map(time).collect();
    plan
}

/// The rows of samples from `from` on and before `until`, in seconds; the first is at 0.1 s.
fn rows(samples: &[f64], columns: usize, from: f64, until: f64) -> &[f64] {
    let row = |seconds: f64| columns * ((seconds * 10.0).round() as usize).saturating_sub(1);
    &samples[row(from).min(samples.len())..row(until).min(samples.len())]
}

/// What a subflow delivered between two times, in Mbit/s.
fn delivered(outcome: &Outcome, subflow: usize, from: f64, until: f64) -> f64 {
    // The sample at a time tells of what was delivered before it.
    let rows = rows(&outcome.samples.subflow_delivered_bps, 2, from + 0.1, until + 0.1);
    let own: Vec<f64> = rows.iter().skip(subflow).step_by(2).copied().collect();
    own.iter().sum::<f64>() / own.len() as f64 / MEGA
}

#[test]
fn a_path_that_begins_later_takes_its_share_then_and_nothing_before() {
    for protocol in all() {
        let plan = two_paths(protocol, 30.0, [(0.0, None), (5.0, None)]);
        let (outcome, name) = (run(&plan), plan.protocols[0].name());
        let granted = rows(&outcome.samples.subflow_granted_bps, 2, 0.0, 5.0);
        assert!(granted.iter().skip(1).step_by(2).all(|&rate| rate.abs() < 1e-9), "{name}: {granted:?}");
        assert!(delivered(&outcome, 1, 0.0, 5.0).abs() < 1e-9, "{name}");
        let window = |seconds: usize| outcome.samples.subflow_window_bytes[2 * (10 * seconds - 1) + 1];
        assert!(window(4).is_nan() && window(5) >= 1000.0, "{name}");
        assert!(delivered(&outcome, 0, 2.0, 5.0) > 8.0, "{name}: {}", delivered(&outcome, 0, 2.0, 5.0));
        // Both are alike: what is coupled may leave one of them for a while, but fills at least one.
        let late = [0, 1].map(|subflow| delivered(&outcome, subflow, 15.0, 30.0));
        assert!(late[1] > 2.0 && late[0] + late[1] > 12.0, "{name}: {late:?}");
    }
}

#[test]
fn fair_rates_are_those_over_the_paths_that_may_be_used() {
    let protocol = Protocol::named("lia").unwrap();
    let outcome = run(&two_paths(protocol, 9.0, [(2.0, Some(6.0)), (4.0, None)]));
    let fair = |from, until| rows(&outcome.samples.connection_fair_bps, 1, from, until);
    // No path, then one of 10 Mbit/s, two, and one again.
    for (from, until, mbps) in [(0.1, 2.0, 0.0), (2.0, 4.0, 10.0), (4.0, 6.0, 20.0), (6.0, 9.0, 10.0)] {
        assert!(fair(from, until).iter().all(|rate| (rate / MEGA - mbps).abs() < 1e-3), "{:?}", fair(from, until));
    }
    let present = &outcome.samples.present;
    assert_eq!((present[18], present[19]), (0, 1));
}

#[test]
fn a_path_that_ends_loses_no_byte() {
    for protocol in all() {
        let mut plan = two_paths(protocol, 60.0, [(0.0, Some(2.0)), (0.0, None)]);
        plan.transfers[0].amount = Some(Bytes(10_000_000));
        let (outcome, name) = (run(&plan), plan.protocols[0].name());
        let sum: u64 = outcome.subflows.iter().map(|subflow| subflow.delivered).sum();
        assert_eq!(sum, 10_000_000, "{name}");
        // 10 MB take 8 s at 10 Mbit/s, and no less than 7 s with 20 Mbit/s for 2 s, less what slow start takes.
        let done = outcome.connections[0].finished_s;
        assert!((6.0..14.0).contains(&done), "{name}: {done} s");
        let granted = rows(&outcome.samples.subflow_granted_bps, 2, 2.0, 60.0);
        assert!(granted.iter().step_by(2).all(|&rate| rate.abs() < 1e-9), "{name}");
        // What is in its queue still arrives: 50 packets at 10 Mbit/s, 40 ms, and 11 ms of delay.
        assert!(delivered(&outcome, 0, 2.2, 60.0).abs() < 1e-9, "{name}");
        assert_eq!(outcome.under_way, 0);
    }
}

#[test]
fn a_connection_without_a_path_waits_for_one() {
    for protocol in all() {
        let mut plan = two_paths(protocol, 40.0, [(0.5, Some(2.0)), (5.0, Some(30.0))]);
        plan.transfers[0].amount = Some(Bytes(10_000_000));
        let (outcome, name) = (run(&plan), plan.protocols[0].name());
        let sent: Vec<f64> = [(0.0, 0.5), (2.2, 5.0)].map(|(from, until)| delivered(&outcome, 0, from, until)).to_vec();
        assert!(sent.iter().all(|rate| rate.abs() < 1e-9), "{name}: {sent:?}");
        assert_eq!(outcome.subflows.iter().map(|subflow| subflow.delivered).sum::<u64>(), 10_000_000, "{name}");
        assert!(outcome.connections[0].finished_s > 5.0 && outcome.connections[0].left_s < 20.0, "{name}");
    }
}

#[test]
fn a_path_that_begins_when_all_is_over_changes_nothing() {
    for protocol in all() {
        let mut plan = two_paths(protocol, 10.0, [(0.0, None), (8.0, Some(9.0))]);
        plan.transfers[0].amount = Some(Bytes(100_000));
        let outcome = run(&plan);
        assert_eq!((outcome.subflows[0].delivered, outcome.subflows[1].sent), (100_000, 0));
        timed(&mut plan, &[(0.0, Some(0.01))]);
        let outcome = run(&plan);
        assert_eq!((outcome.subflows[1].sent, outcome.under_way), (0, 0), "{}", plan.protocols[0].name());
    }
}

#[test]
fn a_run_repeats_itself_on_two_threads() {
    for protocol in all() {
        let plan = two_paths(protocol, 6.0, [(0.0, Some(3.0)), (1.0, Some(5.0))]);
        let alone = format!("{:?}", run(&plan));
        let mut together = simulate_on(&plan, 2, &mut |_| true);
        assert_eq!(together.threads, 2);
        together.threads = 1;
        assert!(alone == format!("{together:?}"), "{}", plan.protocols[0].name());
    }
}
