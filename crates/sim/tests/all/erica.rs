//! ERICA: up to a tenth above fair rates, short queues with queue control, and nothing left of sessions that are gone.

use crate::common::random::{Pattern, random_plan};
use crate::common::{MEGA, MILLISECOND, network, plan, run, timed};
use anabranch_core::quantity::SpanText;
use anabranch_core::{Demands, Rate, Span};
use anabranch_plan::{Plan, Record};
use anabranch_proto::Protocol;
use anabranch_proto::protocols::erica;

fn protocol() -> Protocol {
    Protocol::named("erica").unwrap()
}

/// Links A, B, C of 10, 20, 30 Mbit/s in a row; sessions over A, B and C; A; B; C; B and C. The second leaves at 2 s.
fn three_links(demand: Option<f64>) -> Plan {
    let links = network(&[("0", "1", 10.0, 5.0), ("1", "2", 20.0, 5.0), ("2", "3", 30.0, 5.0)]);
    let sessions: [&[&[&str]]; 5] =
        [&[&["0", "1", "2", "3"]], &[&["0", "1"]], &[&["1", "2"]], &[&["2", "3"]], &[&["1", "2", "3"]]];
    let mut plan = plan(links, &sessions, protocol(), 4.0);
    timed(&mut plan, &[(0.0, None), (0.0, Some(2.0)), (0.0, None), (0.0, None), (0.0, None)]);
    let mut all = plan.demands.connections().to_vec();
    all[4].demand = demand.map(|mbps| Rate(mbps * MEGA));
    plan.demands = Demands::new(&plan.network, all).unwrap();
    plan.run.sample = Span(20 * MILLISECOND);
    plan
}

#[test]
fn three_links_are_shared_as_worked_by_hand_and_up_to_a_tenth_more() {
    // A gives its two 5 each. B has 15 left for two, 7.5 each; C has 30 - 5 - 7.5 = 17.5 left for one. With 4 for the
    // fifth, B has 11 left and C 21. Without the second, B is the narrowest, 20 / 3 each; or 8 each beside 4.
    for (demand, before, after) in [
        (None, [5.0, 5.0, 7.5, 17.5, 7.5], [20.0 / 3.0, 0.0, 20.0 / 3.0, 50.0 / 3.0, 20.0 / 3.0]),
        (Some(4.0), [5.0, 5.0, 11.0, 21.0, 4.0], [8.0, 0.0, 8.0, 18.0, 4.0]),
    ] {
        let samples = run(&three_links(demand)).samples;
        for (times, wanted) in [(75..99, before), (175..199, after)] {
            for now in times {
                let rates: Vec<f64> =
                    samples.connection_granted_bps[5 * now..5 * now + 5].iter().map(|r| r / MEGA).collect();
                let is_near = rates.iter().zip(&wanted).all(|(got, fair)| (0.93 * fair..=1.13 * fair).contains(got));
                assert!(is_near, "{now}: {rates:?} is not {wanted:?} and up to a tenth more");
                let loads = [rates[0] + rates[1], rates[0] + rates[2] + rates[4], rates[0] + rates[3] + rates[4]];
                assert!(
                    loads.iter().zip([10.0, 20.0, 30.0]).all(|(load, most)| *load < 1.12 * most),
                    "{now}: {loads:?}"
                );
            }
        }
    }
}

/// How rates were in the last 40 round trips of a random network.
struct Course {
    /// The greatest load of a link by what is granted, relative, in 99 of 100 samples.
    load: f64,
    /// The mean error of rates.
    mean: f64,
    /// The part of rates that are 5 % below to 15 % above fair.
    near: f64,
}

fn course(seed: u64, pattern: Pattern) -> Course {
    // Without data, RM packets alone make a session active: there are four in each interval, however low its rate.
    let parameters = erica::Parameters { longest: SpanText(Span::ms(5)), ..Default::default() };
    let (mut plan, own) = random_plan(seed, 1, pattern, Protocol::Erica(parameters), 120);
    plan.run.sample = Span(own.round_trip / 4);
    plan.run.duration = Span(own.quiet_from + 119 * own.round_trip);
    plan.run.record = Record { connections: true, fairness: true, links: true, ..Record::default() };
    let samples = run(&plan).samples;
    let (count, from) = (plan.transfers.len(), samples.time_s.len() - 160);
    let pairs = samples.connection_granted_bps.iter().zip(&samples.connection_fair_bps).skip(from * count);
    let errors: Vec<f64> =
        pairs.filter(|(_, fair)| !fair.is_nan()).map(|(granted, fair)| (granted - fair) / fair).collect();
    let of_links =
        |now: &[f64]| now.iter().zip(plan.network.links()).map(|(g, l)| g / l.capacity.0).fold(0.0, f64::max);
    let loads = samples.link_granted_bps.chunks(plan.links.len()).skip(from).map(of_links).collect();
    let near = errors.iter().filter(|error| (-0.05..=0.15).contains(*error)).count();
    Course {
        load: crate::common::random::percentiles(loads)[2],
        mean: errors.iter().sum::<f64>() / errors.len() as f64,
        near: near as f64 / errors.len() as f64,
    }
}

#[test]
fn on_random_networks_links_are_up_to_a_tenth_over_and_rates_mostly_within_the_band() {
    for pattern in crate::common::random::PATTERNS {
        for seed in 0..6 {
            let Course { load, mean, near } = course(seed, pattern);
            println!("{pattern:?} {seed}: load {load:.3}, mean error {mean:.3}, {near:.3} of rates near");
            assert!((0.0..0.1).contains(&mean) && near > 0.93, "{pattern:?} {seed}: {mean} {near}");
            assert!(load < 1.1 + 1e-9, "{pattern:?} {seed}: {load}");
        }
    }
}

/// What waits at the end behind a link of 10 Mbit/s with two sessions, in bytes, and what both are granted in Mbit/s.
fn backlog(parameters: erica::Parameters) -> (u64, f64) {
    let path: &[&[&str]] = &[&["a", "b"]];
    let plan = plan(network(&[("a", "b", 10.0, 5.0)]), &[path; 2], Protocol::Erica(parameters), 10.0);
    let samples = run(&plan).samples;
    let rates = &samples.connection_granted_bps;
    let last = samples.link_backlog_bytes.len() - plan.links.len();
    (samples.link_backlog_bytes[last], rates[rates.len() - 2..].iter().sum::<f64>() / MEGA)
}

#[test]
fn queue_control_holds_queues_where_they_should_be() {
    let (controlled, load) = backlog(erica::Parameters { queue_control: true, ..Default::default() });
    // 5 ms of 10 Mbit/s are 6,250 bytes.
    assert!((2_000..12_500).contains(&controlled) && (9.0..11.0).contains(&load), "{controlled} {load}");
    // If a tenth of the capacity is left, what has gathered at first drains; if all of it is shared, that stays.
    let (little, load) = backlog(erica::Parameters { utilisation: 0.9, ..Default::default() });
    assert!(little <= 5_000 && (9.0..=9.9).contains(&load), "{little} {load}");
    let (much, load) = backlog(erica::Parameters::default());
    assert!(much > 12_500 && (10.0..=11.0).contains(&load), "{much} {load}");
}

#[test]
fn links_rest_when_all_have_left() {
    let hops = [1.0, 9.0].map(|seconds| {
        let path: &[&[&str]] = &[&["a", "b"]];
        let mut plan = plan(network(&[("a", "b", 10.0, 5.0)]), &[path; 2], protocol(), seconds);
        timed(&mut plan, &[(0.0, Some(0.5)), (0.0, Some(0.6))]);
        plan.run.sample = Span(plan.run.duration.0 + 1);
        let outcome = run(&plan);
        assert_eq!((outcome.links_not_clear, outcome.under_way), (0, 0));
        (outcome.hops, outcome.events)
    });
    assert_eq!(hops[0], hops[1]);
}
