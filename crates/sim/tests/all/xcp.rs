//! XCP against the authors' simulation and the experiments of its paper, and what becomes of its packets.

use crate::common::{MEGA, MILLISECOND, assert_close, network, plan, run, timed};
use anabranch_core::{Bytes, Rate, Span};
use anabranch_plan::{ControlPlane, Faults, Limit, Plan};
use anabranch_proto::Protocol;
use anabranch_sim::{Outcome, simulate_on};

fn xcp() -> Protocol {
    Protocol::named("xcp").unwrap()
}

/// Some connections over one link of 100 Mbit/s and 20 ms.
fn one_link(count: usize, seconds: f64) -> Plan {
    let path: &[&[&str]] = &[&["a", "b"]];
    plan(network(&[("a", "b", 100.0, 20.0)]), &vec![path; count], xcp(), seconds)
}

fn warm(plan: &mut Plan, seconds: f64) {
    plan.run.warm_up = Span::from_seconds(seconds).unwrap();
}

/// What connections delivered after the warm-up, in Mbit/s.
fn delivered(plan: &Plan, outcome: &Outcome) -> Vec<f64> {
    let seconds = plan.run.duration.seconds() - plan.run.warm_up.seconds();
    outcome.subflows.iter().map(|s| s.delivered_warm as f64 * 8.0 / MEGA / seconds).collect()
}

/// What part of its capacity a link sent after the warm-up.
fn used(plan: &Plan, outcome: &Outcome, link: usize) -> f64 {
    let seconds = plan.run.duration.seconds() - plan.run.warm_up.seconds();
    outcome.links[link].sent_warm as f64 * 8.0 / seconds / plan.network.links()[link].capacity.0
}

fn dropped(outcome: &Outcome) -> u64 {
    outcome.links.iter().map(|link| link.totals.dropped).sum()
}

/// Throughputs that ns-2 tells of its scenario "simple-xcp": time in seconds, Mbit/s of each connection, and how far ours
/// may be from them, relative. Ours is faster at the very beginning, and the third connection comes in a little later;
/// there the ends of the first intervals are drawn at random.
const TRACE: [(f64, [f64; 3], f64); 18] = [
    (0.15, [8.2, 0.0, 0.0], 0.15),
    (0.2, [12.9, 0.0, 0.0], 0.45),
    (0.25, [18.4, 0.0, 0.0], 0.25),
    (0.3, [19.8, 0.0, 0.0], 0.15),
    (0.5, [19.8, 0.0, 0.0], 0.05),
    (5.0, [19.3, 0.0, 0.0], 0.05),
    (10.2, [16.9, 2.4, 0.0], 0.05),
    (10.4, [14.1, 5.1, 0.0], 0.05),
    (10.6, [12.3, 7.1, 0.0], 0.05),
    (10.8, [11.2, 8.3, 0.0], 0.05),
    (11.0, [10.1, 9.0, 0.0], 0.05),
    (12.0, [9.8, 9.5, 0.0], 0.05),
    (15.0, [9.8, 9.5, 0.0], 0.05),
    (20.2, [8.6, 8.7, 1.8], 0.15),
    (20.5, [7.4, 7.2, 4.6], 0.1),
    (21.0, [6.7, 6.7, 6.0], 0.05),
    (23.0, [6.3, 6.6, 6.5], 0.05),
    (29.9, [6.3, 6.5, 6.6], 0.05),
];

#[test]
fn three_connections_go_as_in_the_authors_simulation() {
    let links = [("a", "r", 20.0, 10.0), ("b", "r", 20.0, 10.0), ("c", "r", 20.0, 10.0), ("r", "t", 20.0, 10.0)];
    let paths: [&[&[&str]]; 3] = [&[&["a", "r", "t"]], &[&["b", "r", "t"]], &[&["c", "r", "t"]]];
    let mut plan = plan(network(&links), &paths, xcp(), 30.0);
    timed(&mut plan, &[(0.0, None), (10.0, None), (20.0, None)]);
    plan.run.sample = Span::from_seconds(0.05).unwrap();
    // There a packet has 40 bytes of headers besides, which do not count.
    plan.transfers.iter_mut().for_each(|transfer| transfer.packet = Bytes(1040));
    let outcome = run(&plan);
    for (time, wanted, tolerance) in TRACE {
        let sample = (time / 0.05).round() as usize - 1;
        let rates = &outcome.samples.connection_granted_bps[3 * sample..][..3];
        for (rate, wanted) in rates.iter().zip(wanted) {
            let got = rate / MEGA * 1000.0 / 1040.0;
            assert!((got - wanted).abs() <= tolerance * wanted, "at {time} s {got}, not {wanted}");
        }
    }
    assert_eq!(dropped(&outcome), 0);
}

#[test]
fn any_number_of_connections_share_a_link_with_an_empty_queue() {
    for count in [1, 2, 5, 20] {
        let mut plan = one_link(count, 8.0);
        warm(&mut plan, 4.0);
        let outcome = run(&plan);
        let share = 100.0 / count as f64;
        assert_close(&delivered(&plan, &outcome), &vec![share; count], 0.002 * share);
        let peaks = outcome.samples.link_peak_packets.chunks(2).skip(50).map(|links| links[0]);
        assert!(peaks.clone().max() <= Some(8), "{count}: {:?}", peaks.max());
    }
}

#[test]
fn round_trips_do_not_matter() {
    // 30 connections over 30 Mbit/s, with round trips of 40, 50 .. 330 ms [katabi2002, sec. 5.3].
    let names: Vec<String> = (0..30).map(|n| format!("n{n}")).collect();
    let mut links = vec![("r", "t", 30.0, 10.0)];
    links.extend(names.iter().enumerate().map(|(n, name)| (name.as_str(), "r", 100.0, 10.0 + 5.0 * n as f64)));
    let nodes: Vec<[&str; 3]> = names.iter().map(|name| [name.as_str(), "r", "t"]).collect();
    let paths: Vec<[&[&str]; 1]> = nodes.iter().map(|nodes| [nodes.as_slice()]).collect();
    let connections: Vec<&[&[&str]]> = paths.iter().map(<[&[&str]; 1]>::as_slice).collect();
    let mut plan = plan(network(&links), &connections, xcp(), 60.0);
    warm(&mut plan, 30.0);
    let outcome = run(&plan);
    assert_close(&delivered(&plan, &outcome), &[1.0; 30], 0.02);
    assert_eq!(dropped(&outcome), 0);
}

#[test]
fn a_row_of_links_stays_in_use_without_drops() {
    // Nine links of 100 Mbit/s and 20 ms, the middle one of 50; 50 connections over all of them, and 50 over each
    // [katabi2002, sec. 5.2].
    let names: Vec<String> = (0..=9).map(|n| format!("n{n}")).collect();
    let mbps = |i: usize| if i == 4 { 50.0 } else { 100.0 };
    let links: Vec<(&str, &str, f64, f64)> = (0..9).map(|i| (&*names[i], &*names[i + 1], mbps(i), 20.0)).collect();
    let all: Vec<&str> = names.iter().map(String::as_str).collect();
    let ends: Vec<[&str; 2]> = links.iter().map(|link| [link.0, link.1]).collect();
    let long: &[&[&str]] = &[&all];
    let short: Vec<[&[&str]; 1]> = ends.iter().map(|ends| [ends.as_slice()]).collect();
    let short = short.iter().flat_map(|path| [path.as_slice(); 50]);
    let connections: Vec<&[&[&str]]> = [long; 50].into_iter().chain(short).collect();
    let mut plan = plan(network(&links), &connections, xcp(), 20.0);
    // Queues hold what the link carries in the longest round trip.
    for (link, own) in plan.network.links().iter().zip(&mut plan.links) {
        own.limit = Limit { packets: None, bytes: Some(Bytes((link.capacity.0 * 0.36 / 8.0) as u64)) };
    }
    warm(&mut plan, 10.0);
    let outcome = run(&plan);
    for link in (0..9).map(|i| 2 * i) {
        let used = used(&plan, &outcome, link);
        assert!(used > 0.9 && used < 1.001, "{link}: {used}");
    }
    assert_eq!(dropped(&outcome), 0);
}

#[test]
fn every_byte_is_delivered_or_lost_whatever_happens_to_packets() {
    let faults = Faults { loss: 0.02, duplicate: 0.05, reorder: 0.05, late: Span(MILLISECOND) };
    for (control, repair) in
        [(ControlPlane::Separate, true), (ControlPlane::InBand, true), (ControlPlane::InBand, false)]
    {
        let mut plan = one_link(3, 60.0);
        (plan.run.control, plan.run.repair) = (control, repair);
        for link in &mut plan.links {
            (link.data, link.control) = (faults, faults);
            link.limit = Limit { packets: Some(20), bytes: None };
        }
        // The last packet is not full.
        plan.transfers.iter_mut().for_each(|transfer| transfer.amount = Some(Bytes(200_500)));
        let outcome = run(&plan);
        for (subflow, connection) in outcome.subflows.iter().zip(&outcome.connections) {
            assert_eq!((subflow.sent, subflow.delivered + subflow.lost), (200_500, 200_500));
            assert!(subflow.lost > 0 && subflow.repeated > 0 && connection.finished_s.is_finite(), "{subflow:?}");
        }
        assert_eq!(outcome.under_way, 0);
    }
}

#[test]
fn transfers_that_cross_shards_are_the_same_to_the_last_bit() {
    for control in [ControlPlane::Separate, ControlPlane::InBand] {
        let links = [("a", "b", 10.0, 3.0), ("b", "c", 20.0, 4.0), ("c", "d", 10.0, 3.0)];
        let paths: [&[&[&str]]; 4] = [&[&["a", "b", "c", "d"]], &[&["d", "c", "b"]], &[&["b", "c"]], &[&["c", "d"]]];
        let mut plan = plan(network(&links), &paths, xcp(), 2.0);
        plan.run.control = control;
        plan.links.iter_mut().for_each(|link| link.limit = Limit { packets: Some(2), bytes: None });
        plan.transfers[0].amount = Some(Bytes(300_000));
        plan.transfers[3].amount = Some(Bytes(100_000));
        let alone = run(&plan);
        let mut together = simulate_on(&plan, 2, &mut |_| true);
        assert!(std::mem::replace(&mut together.threads, 1) > 1 && dropped(&alone) > 0, "{}", dropped(&alone));
        assert_eq!(format!("{alone:?}"), format!("{together:?}"));
    }
}

#[test]
fn without_data_nothing_is_sent() {
    let mut plan = one_link(2, 5.0);
    plan.run.data = false;
    timed(&mut plan, &[(0.0, None), (0.0, Some(2.0))]);
    let outcome = run(&plan);
    assert!(outcome.subflows.iter().all(|subflow| subflow.sent == 0) && outcome.hops == 0);
    assert!(outcome.connections[1].left_s.is_finite());
}

#[test]
fn a_small_demand_is_not_exceeded_even_if_it_is_less_than_a_window() {
    // 100 kbit/s are half a packet in a round trip of 40 ms; in ten seconds 125,000 bytes.
    let mut plan = one_link(2, 10.0);
    let mut all = plan.demands.connections().to_vec();
    all[0].demand = Some(Rate(1e5));
    plan.demands = anabranch_core::Demands::new(&plan.network, all).unwrap();
    let outcome = run(&plan);
    let sent = outcome.subflows[0].sent as f64;
    assert!((120_000.0..=126_000.0).contains(&sent), "{sent}");
}

#[test]
fn a_source_goes_on_after_all_that_was_under_way_is_lost() {
    let mut plan = one_link(1, 6.0);
    let at = |seconds| anabranch_core::Time::from_seconds(seconds).unwrap();
    plan.links[0].limit = Limit { packets: Some(100), bytes: None };
    plan.links[0].changes = vec![(at(1.0), Rate(0.0)), (at(2.0), Rate(100.0 * MEGA))];
    warm(&mut plan, 4.0);
    let outcome = run(&plan);
    assert!(used(&plan, &outcome, 0) > 0.95, "{}", used(&plan, &outcome, 0));
    assert!(outcome.subflows[0].lost > 0);
}
