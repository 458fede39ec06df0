//! What every protocol that keeps windows must do: fill a link, share it, recover, repeat itself, and leave nothing behind.

use crate::common::{MEGA, MILLISECOND, network, plan, run, timed};
use anabranch_core::{Bytes, Connection, Demands, Rate, Span, Time};
use anabranch_plan::{Faults, Limit, Plan, Record};
use anabranch_proto::Protocol;
use anabranch_proto::protocols::PROTOCOLS;
use anabranch_proto::transport::Scheduler;
use anabranch_sim::{Outcome, simulate_on};

fn all() -> impl Iterator<Item = Protocol> {
    let named = PROTOCOLS.iter().map(|(name, ..)| Protocol::named(name).unwrap());
    named.filter(|protocol| protocol.capabilities().keeps_windows())
}

/// Some connections over one link of 10 Mbit/s and 20 ms with a queue of a round trip: 50 packets of 1,000 bytes.
fn one_link(count: usize, protocol: Protocol, seconds: f64) -> Plan {
    let path: &[&[&str]] = &[&["a", "b", "c"]];
    let links = [("a", "b", 1000.0, 1.0), ("b", "c", 10.0, 19.0)];
    let mut plan = plan(network(&links), &vec![path; count], protocol, seconds);
    plan.links[2].limit = Limit { packets: Some(50), bytes: None };
    plan
}

/// What each connection of one path delivered after the warm-up, in Mbit/s.
fn delivered(plan: &Plan, outcome: &Outcome) -> Vec<f64> {
    let seconds = plan.run.duration.seconds() - plan.run.warm_up.seconds();
    outcome.subflows.iter().map(|s| s.delivered_warm as f64 * 8.0 / seconds / MEGA).collect()
}

#[test]
fn it_fills_a_link() {
    for protocol in all() {
        let mut plan = one_link(1, protocol, 30.0);
        plan.run.warm_up = Span(10_000 * MILLISECOND);
        let rate = delivered(&plan, &run(&plan))[0];
        assert!((9.3..=10.0).contains(&rate), "{}: {rate} Mbit/s", plan.protocols[0].name());
    }
}

#[test]
fn it_shares_a_link() {
    for protocol in all() {
        let mut plan = one_link(2, protocol, 120.0);
        timed(&mut plan, &[(0.0, None), (0.3, None)]);
        plan.run.warm_up = Span(30_000 * MILLISECOND);
        let rates = delivered(&plan, &run(&plan));
        let (least, sum) = (rates[0].min(rates[1]), rates[0] + rates[1]);
        // Half each would be 0.5; who measures delays takes those of the first for the path's.
        assert!(least > 0.3 * sum && sum > 9.3, "{}: {rates:?} Mbit/s", plan.protocols[0].name());
    }
}

#[test]
fn it_recovers_from_an_outage() {
    for protocol in all() {
        let mut plan = one_link(1, protocol, 40.0);
        let at = |seconds: f64| Time::from_seconds(seconds).unwrap();
        plan.links[2].changes = vec![(at(5.0), Rate(0.0)), (at(8.0), Rate(10.0 * MEGA))];
        // Packets are tried 0.2, 0.6, 1.4, 3 and 6.2 s after it began, so the last of these comes through at 11.2 s.
        plan.run.warm_up = Span(12_000 * MILLISECOND);
        let rate = delivered(&plan, &run(&plan))[0];
        assert!(rate > 9.0, "{}: {rate} Mbit/s", plan.protocols[0].name());
    }
}

#[test]
fn an_outage_costs_half_the_window_however_long_it_is() {
    for name in ["reno", "cubic", "lia", "olia", "balia"] {
        let path: &[&[&str]] = &[&["a", "b", "c"]];
        let links = [("a", "b", 1000.0, 1.0), ("b", "c", 10.0, 99.0)];
        let mut plan = plan(network(&links), &[path], Protocol::named(name).unwrap(), 32.0);
        plan.links[2].limit = Limit { packets: Some(100), bytes: None };
        let at = |seconds: f64| Time::from_seconds(seconds).unwrap();
        plan.links[2].changes = vec![(at(20.0), Rate(0.0)), (at(23.0), Rate(10.0 * MEGA))];
        // The last try is at 26.4 s or so, six round trips before this. 10 Mbit/s and 200 ms are 250 packets.
        plan.run.warm_up = Span(28_000 * MILLISECOND);
        let rate = delivered(&plan, &run(&plan))[0];
        assert!(rate > 4.0, "{name}: {rate} Mbit/s");
    }
}

#[test]
fn a_transfer_arrives_whole_however_much_is_lost_and_leaves_nothing_behind() {
    for protocol in all() {
        let mut plan = one_link(2, protocol, 300.0);
        for link in &mut plan.links {
            link.data = Faults { loss: 0.02, duplicate: 0.02, reorder: 0.02, late: Span(3 * MILLISECOND) };
        }
        plan.transfers.iter_mut().for_each(|transfer| transfer.amount = Some(Bytes(1_234_567)));
        let outcome = run(&plan);
        for (subflow, connection) in outcome.subflows.iter().zip(&outcome.connections) {
            assert_eq!(subflow.delivered, 1_234_567, "{}", plan.protocols[0].name());
            assert!(connection.finished_s >= 0.98 && connection.left_s >= connection.finished_s + 0.02);
            assert!(connection.left_s < 200.0, "{}: {connection:?}", plan.protocols[0].name());
        }
        assert_eq!(outcome.under_way, 0);
        let mut longer = plan.clone();
        longer.run.duration = Span(2 * plan.run.duration.0);
        longer.run.sample = Span(2 * plan.run.sample.0);
        assert_eq!(run(&longer).hops, outcome.hops);
    }
}

#[test]
fn a_connection_that_is_told_to_stop_sends_no_more() {
    for protocol in all() {
        let mut plan = one_link(2, protocol, 3.0);
        timed(&mut plan, &[(0.0, Some(1.0)), (0.0, Some(0.0001))]);
        let outcome = run(&plan);
        assert_eq!(outcome.under_way, 0);
        assert!(outcome.connections.iter().all(|c| c.left_s <= 1.0 && c.finished_s.is_finite()));
    }
}

#[test]
fn it_sends_no_more_than_its_demand() {
    for protocol in all() {
        let mut plan = one_link(2, protocol, 20.0);
        let mut all: Vec<Connection> = plan.demands.connections().to_vec();
        all[0].demand = Some(Rate(2.0 * MEGA));
        plan.demands = Demands::new(&plan.network, all).unwrap();
        let rates = delivered(&plan, &run(&plan));
        assert!((1.5..=2.0).contains(&rates[0]) && rates[1] > 5.0, "{}: {rates:?}", plan.protocols[0].name());
    }
}

#[test]
fn it_repeats_itself_to_the_last_bit_on_any_number_of_threads() {
    for protocol in all() {
        let plan = one_link(4, protocol, 3.0);
        let alone = format!("{:?}", run(&plan));
        assert_eq!(alone, format!("{:?}", run(&plan)));
        let mut together = simulate_on(&plan, 2, &mut |_| true);
        together.threads = 1;
        assert!(alone == format!("{together:?}"), "{}", plan.protocols[0].name());
    }
}

#[test]
fn several_paths_are_all_used() {
    for protocol in all().filter(|protocol| protocol.capabilities().serves_many_paths()) {
        for scheduler in [Scheduler::LowestRtt, Scheduler::RoundRobin] {
            let links =
                [("a", "x", 10.0, 10.0), ("x", "b", 100.0, 1.0), ("a", "y", 10.0, 30.0), ("y", "b", 100.0, 1.0)];
            let paths: &[&[&str]] = &[&["a", "x", "b"], &["a", "y", "b"]];
            let mut plan = plan(network(&links), &[paths], protocol.clone(), 60.0);
            plan.links.iter_mut().for_each(|link| link.limit = Limit { packets: Some(80), bytes: None });
            plan.run.warm_up = Span(20_000 * MILLISECOND);
            plan.run.transport.scheduler = scheduler;
            let rates = delivered(&plan, &run(&plan));
            assert!(rates.iter().all(|&rate| rate > 2.0), "{}: {rates:?}", plan.protocols[0].name());
        }
    }
}

#[test]
fn a_connection_outlives_one_of_its_paths() {
    for protocol in all().filter(|protocol| protocol.capabilities().serves_many_paths()) {
        let links = [("a", "x", 10.0, 10.0), ("x", "b", 100.0, 1.0), ("a", "y", 10.0, 10.0), ("y", "b", 100.0, 1.0)];
        let paths: &[&[&str]] = &[&["a", "x", "b"], &["a", "y", "b"]];
        let mut plan = plan(network(&links), &[paths], protocol, 60.0);
        plan.links.iter_mut().for_each(|link| link.limit = Limit { packets: Some(50), bytes: None });
        plan.links[0].changes = vec![(Time::from_seconds(2.0).unwrap(), Rate(0.0))];
        plan.transfers[0].amount = Some(Bytes(10_000_000));
        let outcome = run(&plan);
        // 10 MB over what is left, 10 Mbit/s, take 8 s.
        let done = outcome.connections[0].finished_s;
        assert!(done < 14.0, "{}: {done} s", plan.protocols[0].name());
    }
}

#[test]
fn the_windows_of_reno_are_a_saw_tooth() {
    let mut plan = one_link(1, Protocol::named("reno").unwrap(), 60.0);
    timed(&mut plan, &[(0.0, Some(50.0))]);
    plan.run.record = Record { windows: true, ..Record::default() };
    plan.run.sample = Span(40 * MILLISECOND);
    let samples = run(&plan).samples;
    // It has no pace, and goes by no share of marked packets.
    assert_eq!((samples.subflow_pace_bps.len(), samples.subflow_marked_share.len()), (1500, 1500));
    assert!(samples.subflow_pace_bps.iter().chain(&samples.subflow_marked_share).all(|value| value.is_nan()));
    // 50 packets on the way and 50 in the queue: windows of 100 fall to 50 and grow by one in each round trip.
    let steady = &samples.subflow_window_bytes[500..1000];
    assert!(steady.iter().all(|bytes| (45_000.0..=105_000.0).contains(bytes)), "{steady:?}");
    let falls = steady.windows(2).filter(|two| two[1] < 0.6 * two[0]).count();
    // 50 round trips of 40 ms to 80 ms from one to the next, 3 s: some 7 in 20 s, and otherwise they rise.
    assert!((5..=9).contains(&falls), "{falls}: {steady:?}");
    assert_eq!(steady.windows(2).filter(|two| two[1] < two[0]).count(), falls);
    // The way there and back takes 40 ms, and the queue at most 40 ms more.
    let trips = &samples.subflow_rtt_s[500..1000];
    assert!(trips.iter().all(|seconds| (0.04..0.085).contains(seconds)), "{trips:?}");
    // Once it is over there is no window.
    let after = samples.subflow_window_bytes[1251..].iter().chain(&samples.subflow_rtt_s[1251..]);
    assert!(after.clone().count() > 400 && after.clone().all(|value| value.is_nan()));
}

#[test]
fn a_protocol_that_sets_rates_has_no_windows() {
    let mut plan = one_link(1, Protocol::named("d-slen").unwrap(), 1.0);
    plan.run.record = Record { windows: true, ..Record::default() };
    let samples = run(&plan).samples;
    assert_eq!((samples.subflow_window_bytes.len(), samples.subflow_rtt_s.len()), (100, 100));
    assert!(samples.subflow_window_bytes.iter().chain(&samples.subflow_rtt_s).all(|value| value.is_nan()));
}
