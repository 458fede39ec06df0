//! Windows and queues of protocols over the simulated transport, beside what is known of them.

use crate::common::{MEGA, MILLISECOND, assert_close, network, plan, run, timed};
use anabranch_core::Span;
use anabranch_plan::{Fairness, Faults, Limit, Plan};
use anabranch_proto::Protocol;
use anabranch_proto::protocols::copa;
use anabranch_sim::Outcome;

/// Connections over one link of so many Mbit/s, with a round trip of so many milliseconds without queues, and room for so
/// many packets of 1,000 bytes. They begin one after the other; the first two fifths of the run do not count.
fn one_link(protocols: &[&str], (capacity, round_trip): (f64, f64), room: u32, seconds: f64) -> Plan {
    let path: &[&[&str]] = &[&["a", "b", "c"]];
    let links = [("a", "b", 1e5, 0.5), ("b", "c", capacity, round_trip / 2.0 - 0.5)];
    let count = protocols.len();
    let mut plan = plan(network(&links), &vec![path; count], Protocol::named(protocols[0]).unwrap(), seconds);
    plan.protocols = protocols.iter().map(|name| Protocol::named(name).unwrap()).collect();
    plan.transfers.iter_mut().enumerate().for_each(|(number, transfer)| transfer.protocol = number);
    plan.links[2].limit = Limit { packets: Some(room), bytes: None };
    let starts: Vec<_> = (0..count).map(|number| (0.05 * number as f64, None)).collect();
    timed(&mut plan, &starts);
    plan.run.warm_up = Span(plan.run.duration.0 / 5 * 2);
    plan.run.sample = Span(5 * MILLISECOND);
    plan
}

/// What each connection delivered after the warm-up, in packets a second.
fn rates(plan: &Plan, outcome: &Outcome) -> Vec<f64> {
    let seconds = plan.run.duration.seconds() - plan.run.warm_up.seconds();
    outcome.subflows.iter().map(|s| s.delivered_warm as f64 / 1000.0 / seconds).collect()
}

/// Packets that wait at the bottleneck after the warm-up, beside the one that it sends: the mean and the most at samples,
/// and the share of samples at which none did.
fn waits(plan: &Plan, outcome: &Outcome) -> (f64, f64, f64) {
    let links = plan.links.len();
    let first = (plan.run.warm_up.0 / plan.run.sample.0) as usize;
    let backlog = outcome.samples.link_backlog_bytes.iter().skip(2 + first * links).step_by(links);
    let waits: Vec<f64> = backlog.map(|&bytes| (bytes as f64 / 1000.0 - 1.0).max(0.0)).collect();
    let share_empty = waits.iter().filter(|&&wait| wait == 0.0).count() as f64 / waits.len() as f64;
    let most = waits.iter().fold(0.0, |most: f64, &wait| most.max(wait));
    (waits.iter().sum::<f64>() / waits.len() as f64, most, share_empty)
}

/// The mean over five seeds of the window of one connection where a share of packets is lost, with a round trip of 0.1 s.
fn mean_window(protocol: &str, share: f64, capacity: f64, seconds: f64) -> f64 {
    let window = |seed| {
        let mut plan = one_link(&[protocol], (capacity, 100.0), 1_000_000, seconds);
        (plan.run.seed, plan.run.sample) = (seed, plan.run.duration);
        plan.links[2].data = Faults { loss: share, ..Faults::default() };
        0.1 * rates(&plan, &run(&plan))[0]
    };
    (1..=5).map(window).sum::<f64>() / 5.0
}

#[test]
fn fair_rates_are_those_that_the_plan_asks_for() {
    // Two links of 9, one connection over both and one over each: 4.5 each, or 3 and 6 and 6 where 1/3 = 1/6 + 1/6.
    let links = [("a", "b", 9.0, 5.0), ("b", "c", 9.0, 5.0)];
    let paths: [&[&[&str]]; 3] = [&[&["a", "b", "c"]], &[&["a", "b"]], &[&["b", "c"]]];
    let mut plan = plan(network(&links), &paths, Protocol::named("vegas").unwrap(), 1.0);
    for (fairness, wanted) in [(Fairness::MaxMin, [4.5, 4.5, 4.5]), (Fairness::Proportional, [3.0, 6.0, 6.0])] {
        plan.run.fairness = fairness;
        let rates = run(&plan).samples.connection_fair_bps;
        let rates: Vec<f64> = rates[rates.len() - 3..].iter().map(|bps| bps / MEGA).collect();
        assert_close(&rates, &wanted, 1e-6);
    }
}

#[test]
fn the_mean_window_of_reno_is_near_the_root_of_two_losses() {
    // sqrt(2 / p), less for the windows in which more than one packet is lost: 41.0 and 92.5 in a model of windows.
    for (share, seconds, modelled) in [(1e-3, 500.0, 41.0), (2e-4, 1000.0, 92.5)] {
        let window = mean_window("reno", share, 100.0, seconds);
        assert!((window / modelled - 1.0).abs() < 0.05, "{window} packets where {share} are lost");
        assert!((window / f64::sqrt(2.0 / share) - 1.0).abs() < 0.15);
    }
}

#[test]
fn the_mean_window_of_cubic_is_that_of_its_table() {
    // Its table has every 1/p-th packet lost [rfc9438, table 1]. With losses at random the mean is some 10 % larger: after
    // a long time without loss the window grows with the cube of it.
    let window = mean_window("cubic", 1e-4, 10_000.0, 500.0);
    assert!((0.9..1.25).contains(&(window / 187.0)), "{window} packets");
}

#[test]
fn reno_needs_a_queue_as_long_as_the_round_trip() {
    // 10 Mbit/s and 100 ms are 125 packets. Halved at 126, the mean is three quarters.
    for (room, least, most) in [(5, 0.70, 0.82), (125, 0.995, 1.0)] {
        let plan = one_link(&["reno"], (10.0, 100.0), room, 300.0);
        let used = rates(&plan, &run(&plan))[0] / 1250.0;
        assert!((least..=most).contains(&used), "{used} of the link is used with room for {room}");
    }
}

#[test]
fn two_renos_share_alike_in_the_long_run() {
    let plan = one_link(&["reno", "reno"], (10.0, 100.0), 125, 2000.0);
    let rates = rates(&plan, &run(&plan));
    assert!((rates[0] / (rates[0] + rates[1]) - 0.5).abs() < 0.05, "{rates:?}");
}

#[test]
fn two_to_four_packets_of_each_vegas_wait() {
    for count in [1, 2, 4] {
        let plan = one_link(&vec!["vegas"; count], (50.0, 40.0), 1000, 400.0);
        let outcome = run(&plan);
        let (mean, ..) = waits(&plan, &outcome);
        let each = mean / count as f64;
        assert!((2.0..=4.0).contains(&each), "{each} packets of each of {count}");
        assert!(rates(&plan, &outcome).iter().sum::<f64>() > 0.99 * 6250.0 && outcome.links[2].totals.dropped == 0);
    }
}

#[test]
fn one_bbr_keeps_the_queue_short_and_several_fill_one_round_trip() {
    // 50 Mbit/s and 40 ms are 250 packets.
    for (count, least, most) in [(1, 0.0, 30.0), (2, 150.0, 350.0), (4, 150.0, 350.0)] {
        let plan = one_link(&vec!["bbr"; count], (50.0, 40.0), 1000, 60.0);
        let outcome = run(&plan);
        let (mean, ..) = waits(&plan, &outcome);
        assert!((least..most).contains(&mean), "{mean} packets wait of {count}");
        assert!(rates(&plan, &outcome).iter().sum::<f64>() > 0.95 * 6250.0);
    }
}

#[test]
fn two_and_a_half_packets_of_each_copa_wait_and_the_queue_empties() {
    // On average 1.25 / delta of each with delta = 1/2, up to twice that, and now and then none [arun2018, sec. 3].
    let looking = [1, 2].into_iter().flat_map(|count| (1..=2).map(move |seed| (count, true, seed)));
    for (count, competitive, seed) in [1, 2, 4, 8].map(|count| (count, false, 1)).into_iter().chain(looking) {
        let mut plan = one_link(&vec!["copa"; count], (50.0, 40.0), 1000, 100.0);
        plan.protocols.fill(Protocol::Copa(copa::Parameters { competitive, ..copa::Parameters::default() }));
        plan.run.seed = seed;
        let outcome = run(&plan);
        let (mean, most, share_empty) = waits(&plan, &outcome);
        let each = mean / count as f64;
        assert!((2.2..2.8).contains(&each), "{each} packets of each of {count}, seed {seed}");
        assert!(most <= 6.0 * count as f64 && share_empty > 0.005, "{most} packets, {share_empty} of the time none");
        let rates = rates(&plan, &outcome);
        assert!(rates.iter().all(|rate| (rate * count as f64 / 6250.0 - 1.0).abs() < 0.05), "{rates:?}");
    }
}

#[test]
fn copa_competes_with_those_that_fill_queues() {
    for other in ["reno", "cubic"] {
        let plan = one_link(&["copa", other], (20.0, 40.0), 200, 200.0);
        let rates = rates(&plan, &run(&plan));
        let share = rates[0] / (rates[0] + rates[1]);
        assert!((0.2..0.8).contains(&share), "beside {other} it gets {share}");
    }
}
