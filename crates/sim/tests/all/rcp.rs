//! RCP and its relatives: rates that settle, queues that do or do not empty, and flows that are served like jobs that
//! share a processor.

use std::ops::RangeInclusive;

use crate::common::{MEGA, MILLISECOND, last_rates, network, plan, run, timed};
use anabranch_core::random::{Purpose, stream};
use anabranch_core::{Bytes, Span};
use anabranch_plan::{Plan, Record};
use anabranch_proto::Protocol;
use anabranch_proto::protocols::{piqi_rcp, qi_rcp, rcp};
use anabranch_sim::Outcome;
use rand::RngExt;

/// RCP with the gains of its paper.
fn rcp() -> Protocol {
    Protocol::Rcp(rcp::Parameters::default())
}

/// RCP with more of one and less of the other.
fn quick_rcp() -> Protocol {
    Protocol::Rcp(rcp::Parameters { alpha: 0.4, beta: 0.226, ..Default::default() })
}

fn qi_rcp() -> Protocol {
    Protocol::QiRcp(qi_rcp::Parameters::default())
}

fn piqi_rcp(proportional: f64, history: piqi_rcp::History) -> Protocol {
    Protocol::PiqiRcp(piqi_rcp::Parameters { proportional, history, ..Default::default() })
}

fn all() -> [Protocol; 4] {
    [rcp(), quick_rcp(), qi_rcp(), piqi_rcp(0.5, piqi_rcp::History::ErrorDifference)]
}

/// Flows with round trips in ms, 2 at the least, that meet at a link of so many Mbit/s: link 0.
fn star(round_trips: &[f64], mbps: f64, packet: u64, protocol: Protocol, seconds: f64) -> Plan {
    let names: Vec<String> = (0..round_trips.len()).map(|n| format!("s{n}")).collect();
    let access = names.iter().zip(round_trips).map(|(name, ms)| (name.as_str(), "a", 100.0 * mbps, ms / 2.0 - 1.0));
    let links: Vec<_> = [("a", "b", mbps, 1.0)].into_iter().chain(access).collect();
    let paths: Vec<[&str; 3]> = names.iter().map(|name| [name.as_str(), "a", "b"]).collect();
    let own: Vec<[&[&str]; 1]> = paths.iter().map(|path| [path.as_slice()]).collect();
    let flows: Vec<&[&[&str]]> = own.iter().map(<[&[&str]; 1]>::as_slice).collect();
    let mut plan = plan(network(&links), &flows, protocol, seconds);
    plan.transfers.iter_mut().for_each(|transfer| transfer.packet = Bytes(packet));
    plan.run.record = Record { connections: true, links: true, ..Record::default() };
    plan
}

/// Round trips from 20 to 200 ms.
fn mixed(count: usize) -> Vec<f64> {
    let mut random = stream(1, Purpose::Delays, 0);
    (0..count).map(|_| random.random_range(20.0..200.0)).collect()
}

/// Flows that begin at random within 100 ms, so that they do not send in step for ever, and stay.
fn starts(count: usize, from: f64) -> Vec<(f64, Option<f64>)> {
    let mut random = stream(1, Purpose::TrafficArrivals, 0);
    (0..count).map(|_| (from + random.random_range(0.0..0.1), None)).collect()
}

#[test]
fn flows_share_a_link_equally_whatever_their_round_trips() {
    for protocol in all() {
        for count in [1, 4, 30] {
            for round_trips in [mixed(count), vec![60.0; count]] {
                let mut plan = star(&round_trips, 100.0, 500, protocol.clone(), 15.0);
                timed(&mut plan, &starts(count, 0.0));
                let outcome = run(&plan);
                let fair = 100.0 / count as f64;
                let worst = last_rates(&plan, &outcome).iter().map(|r| (r / fair - 1.0).abs()).fold(0.0, f64::max);
                assert!(worst < 0.03, "{}, {count} flows: off by {worst}", protocol.name());
                // What waits at the end, in ms; the others leave what there was in the beginning.
                let waits = *queues(&plan, &outcome).last().unwrap();
                assert!(waits < 1.0 || protocol.name() != "rcp", "{count} flows: {waits} ms");
            }
        }
    }
}

/// Of link 0 at each sample what was granted over it, as a share of its capacity.
fn loads(plan: &Plan, outcome: &Outcome) -> Vec<f64> {
    let capacity = plan.network.links()[0].capacity.0;
    outcome.samples.link_granted_bps.iter().step_by(plan.links.len()).map(|bps| bps / capacity).collect()
}

/// Of link 0 at each sample what waits, in ms.
fn queues(plan: &Plan, outcome: &Outcome) -> Vec<f64> {
    let capacity = plan.network.links()[0].capacity.0;
    let backlogs = outcome.samples.link_backlog_bytes.iter().step_by(plan.links.len());
    backlogs.map(|&bytes| bytes as f64 * 8.0 / capacity * 1e3).collect()
}

/// What became of 10 flows that were joined by 40 others.
#[derive(Debug)]
struct Step {
    /// Seconds until the load stayed within 5 % of the capacity.
    settled: f64,
    /// The greatest load, and the greatest queue in ms.
    load: f64,
    queue: f64,
    /// The least and the greatest load in the last 5 s.
    last: [f64; 2],
}

/// Lets 40 flows join 10 for so many seconds; the load has settled when it stays within `near` of the capacity.
fn step(round_trips: &[f64], protocol: Protocol, seconds: f64, near: f64) -> Step {
    let begin = 15.0;
    // Of packets sent in step RCP sees a queue: small ones make a small one.
    let packet = if protocol.name() == "rcp" { 200 } else { 500 };
    let mut plan = star(round_trips, 100.0, packet, protocol, begin + seconds);
    timed(&mut plan, &[starts(10, 0.0), starts(round_trips.len() - 10, begin)].concat());
    plan.run.sample = Span(10 * MILLISECOND);
    let outcome = run(&plan);
    let (loads, queues, times) = (loads(&plan, &outcome), queues(&plan, &outcome), &outcome.samples.time_s);
    let from = times.iter().position(|&time| time >= begin).unwrap();
    let last = &loads[loads.len() - 500..];
    Step {
        settled: loads.iter().rposition(|load| (load - 1.0).abs() > near).map_or(0.0, |k| times[k] - begin),
        load: loads[from..].iter().copied().fold(0.0, f64::max),
        queue: queues[from..].iter().copied().fold(0.0, f64::max),
        last: [last.iter().copied().fold(f64::MAX, f64::min), last.iter().copied().fold(0.0, f64::max)],
    }
}

#[test]
fn a_crowd_is_absorbed() {
    // All 50 send for a round trip what was right for 10, so that at worst 5 times as much comes as can go: of a fluid
    // that makes queues of 0.45 to 0.64 s. Rates wait in these queues with the data that bring them, so queues grow
    // longer. The queue takes RCP down to its least rate, from where it needs a round trip for every tenth. The round
    // trips that it knows are those of the queue, of 0.5 to 0.7 s, since hardly any data report others.
    let cases: [(Protocol, f64, f64, RangeInclusive<f64>); 4] = [
        (rcp(), 105.0, 0.05, 30.0..=95.0),
        (quick_rcp(), 25.0, 0.05, 5.0..=18.0),
        (qi_rcp(), 25.0, 0.05, 2.0..=10.0),
        // It leaves a queue, by which its rates come late, and they go on to swing by up to a tenth.
        (piqi_rcp(0.5, piqi_rcp::History::ErrorDifference), 25.0, 0.1, 0.3..=20.0),
    ];
    for (protocol, seconds, near, settled) in cases {
        for (mix, round_trips) in [("mixed", mixed(50)), ("equal", vec![100.0; 50])] {
            let (title, step) = (protocol.title(), step(&round_trips, protocol.clone(), seconds, near));
            println!("{title}, {mix}: {step:.2?}");
            assert!(
                settled.contains(&step.settled) && (350.0..1100.0).contains(&step.queue),
                "{title}, {mix}: {step:?}"
            );
            assert!(
                step.load < 5.1 && step.last[0] > 1.0 - near && step.last[1] < 1.0 + near,
                "{title}, {mix}: {step:?}"
            );
        }
    }
}

#[test]
fn the_mean_of_rates_is_a_slow_memory() {
    let slow = step(&mixed(50), piqi_rcp(0.5, piqi_rcp::History::MeanRate), 25.0, 0.05);
    println!("by the mean of rates: {slow:.2?}");
    // Of a fluid with constant round trips 8.7 s, and a queue of 3.9 s. Here the memory is as long as the round trips
    // that data packets report, which contain the wait in the queue: the longer the queue, the slower the rates fall.
    assert!(slow.settled > 6.0 && slow.queue > 3000.0, "{slow:?}");
}

#[test]
fn a_proportional_part_beyond_its_bound_swings_for_ever() {
    let swing = |proportional: f64| {
        let mut plan = star(&[20.0; 5], 20.0, 40, piqi_rcp(proportional, piqi_rcp::History::ErrorDifference), 10.0);
        plan.run.sample = Span(10 * MILLISECOND);
        let loads = loads(&plan, &run(&plan));
        let last = &loads[loads.len() - 200..];
        last.iter().copied().fold(0.0, f64::max) - last.iter().copied().fold(f64::MAX, f64::min)
    };
    let (stable, beyond) = (swing(0.5), swing(1.5));
    assert!(stable < 0.1 && beyond > 1.0, "{stable} {beyond}");
}

#[test]
fn links_sleep_when_nobody_is_there() {
    for protocol in all() {
        let events = |seconds: f64| {
            let mut plan = star(&[20.0, 50.0], 10.0, 1000, protocol.clone(), seconds);
            timed(&mut plan, &[(0.0, Some(1.0)), (0.5, Some(0.51))]);
            plan.run.record = Record::default();
            run(&plan).events
        };
        assert_eq!(events(100.0), events(1000.0), "{}", protocol.name());
    }
}

#[test]
fn without_data_all_are_offered_the_capacity() {
    for protocol in all() {
        let mut plan = star(&[20.0, 50.0], 10.0, 1000, protocol, 60.0);
        plan.run.data = false;
        crate::common::assert_close(&last_rates(&plan, &run(&plan)), &[10.0; 2], 1e-9);
    }
}

/// Flows of 25 packets of 1,000 bytes on average, Pareto of shape 1.2, that come at random over a link of 2.4 Gbit/s with
/// a round trip of 100 ms, and load it by 0.9.
fn jobs(protocol: Protocol, seconds: f64) -> Plan {
    let (mut arrivals, mut sizes) = (stream(1, Purpose::TrafficArrivals, 0), stream(1, Purpose::TrafficAmounts, 0));
    let (shape, mean, load) = (1.2, 25.0, 0.9);
    let (mut time, mut times, mut amounts) = (0.0, Vec::new(), Vec::new());
    loop {
        time -= (1.0 - arrivals.random::<f64>()).ln() * mean / (load * PACKETS);
        if time > seconds {
            break;
        }
        let packets = mean * (shape - 1.0) / shape * (1.0 - sizes.random::<f64>()).powf(-1.0 / shape);
        times.push((time, None));
        amounts.push(Bytes(1000 * packets.round() as u64));
    }
    let path: &[&[&str]] = &[&["a", "b"]];
    let links = network(&[("a", "b", PACKETS * 8000.0 / MEGA, 50.0)]);
    let mut plan = plan(links, &vec![path; times.len()], protocol, seconds + 2.0);
    timed(&mut plan, &times);
    for (transfer, amount) in plan.transfers.iter_mut().zip(amounts) {
        transfer.amount = Some(amount);
    }
    plan.run.record = Record::default();
    plan
}

/// What the link of [`jobs`] carries, in packets a second.
const PACKETS: f64 = 300_000.0;

/// For flows of 2^k to 2^(k+1) packets that came after `warm_up` seconds: how many there are, and their means of what
/// they took, of what a shared processor and of what slow start would take.
fn completion_times(plan: &Plan, outcome: &Outcome, warm_up: f64) -> Vec<(usize, [f64; 3])> {
    let mut classes = vec![(0, [0.0; 3]); 32];
    for ((transfer, flow), done) in plan.transfers.iter().zip(plan.demands.connections()).zip(&outcome.connections) {
        if flow.start.seconds() < warm_up || done.finished_s.is_infinite() {
            continue;
        }
        let packets = transfer.amount.unwrap().0 as f64 / 1000.0;
        let shared = 0.15 + packets / (PACKETS * 0.1);
        let slow_start = 0.1 * ((packets + 1.0).log2() + 0.5) + packets / PACKETS;
        let class: &mut (usize, [f64; 3]) = &mut classes[packets.log2() as usize];
        class.0 += 1;
        for (sum, time) in class.1.iter_mut().zip([done.finished_s - flow.start.seconds(), shared, slow_start]) {
            *sum += time;
        }
    }
    classes.into_iter().map(|(n, sums)| (n, sums.map(|sum| sum / n.max(1) as f64))).collect()
}

fn check_jobs(seconds: f64, warm_up: f64) {
    let plan = jobs(rcp(), seconds);
    let outcome = run(&plan);
    let classes = completion_times(&plan, &outcome, warm_up);
    for (k, (count, [took, shared, slow_start])) in classes.iter().enumerate().filter(|(_, class)| class.0 >= 30) {
        println!(
            "{:6} packets, {count:6} flows: {took:.3} s, shared {shared:.3} s, slow start {slow_start:.3} s",
            1 << k
        );
        // Up to 500 packets hardly more than the ideal, and three times as fast as slow start from 20 on.
        let most = if k < 9 { 1.1 } else { 1.4 };
        assert!(*took > 0.99 * shared && *took < most * shared, "{k}: {took} {shared}");
        assert!(k >= 11 || *took < slow_start / if (4..10).contains(&k) { 3.0 } else { 2.0 }, "{k}: {took}");
    }
}

#[test]
fn flows_are_served_like_jobs_that_share_a_processor() {
    check_jobs(20.0, 8.0);
}

#[test]
#[ignore = "a minute of 2.4 Gbit/s takes some seconds"]
fn flows_are_served_like_jobs_that_share_a_processor_for_a_minute() {
    check_jobs(60.0, 15.0);
}
