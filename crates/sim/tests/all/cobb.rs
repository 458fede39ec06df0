//! COBB-like: exact where every session comes by in each period, after much too large rates at first; not elsewhere.

use crate::common::random::{Pattern, random_plan};
use crate::common::{MEGA, MILLISECOND, assert_close, network, plan, run, timed};
use anabranch_core::quantity::SpanText;
use anabranch_core::{Demands, Rate, Span};
use anabranch_plan::Record;
use anabranch_proto::Protocol;
use anabranch_proto::protocols::cobb;

#[test]
fn three_links_are_shared_as_worked_by_hand_after_far_too_much() {
    // A gives its two 5 each. B has 15 left for two, 7.5 each; C has 30 - 5 - 7.5 = 17.5 left for one.
    // Without the second and with 4 for the fifth: B has 16 for two, 8 each; C has 30 - 8 - 4 = 18.
    let links = network(&[("0", "1", 10.0, 5.0), ("1", "2", 20.0, 5.0), ("2", "3", 30.0, 5.0)]);
    let sessions: [&[&[&str]]; 5] =
        [&[&["0", "1", "2", "3"]], &[&["0", "1"]], &[&["1", "2"]], &[&["2", "3"]], &[&["1", "2", "3"]]];
    for (demand, wanted, after) in [
        (None, [5.0, 5.0, 7.5, 17.5, 7.5], [20.0 / 3.0, 0.0, 20.0 / 3.0, 50.0 / 3.0, 20.0 / 3.0]),
        (Some(4.0), [5.0, 5.0, 11.0, 21.0, 4.0], [8.0, 0.0, 8.0, 18.0, 4.0]),
    ] {
        let mut plan = plan(links.clone(), &sessions, Protocol::named("cobb-like").unwrap(), 8.0);
        timed(&mut plan, &[(0.0, None), (0.0, Some(4.0)), (0.0, None), (0.0, None), (0.0, None)]);
        let mut all = plan.demands.connections().to_vec();
        all[4].demand = demand.map(|mbps: f64| Rate(mbps * MEGA));
        plan.demands = Demands::new(&plan.network, all).unwrap();
        plan.run.sample = Span(5 * MILLISECOND);
        let outcome = run(&plan);
        let rates: Vec<f64> = outcome.samples.connection_granted_bps.iter().map(|bps| bps / MEGA).collect();
        assert_close(&rates[5 * 798..5 * 799], &wanted, 1e-6);
        assert_close(&rates[5 * 1599..], &after, 1e-6);
        // In the first round trip each is granted all there is: the first and the second 10 of A's 10 each.
        let first = rates.chunks(5).map(|now| now[0] + now[1]).fold(0.0, f64::max);
        assert!(first > 19.9, "{first}");
    }
}

/// The largest errors of granted rates over the last 20 round trips, and the most granted at a link, relative.
fn course(seed: u64, period: u64) -> (f64, f64) {
    let protocol = Protocol::CobbLike(cobb::Parameters { period: SpanText(Span(period)), ..Default::default() });
    let (mut plan, own) = random_plan(seed, 1, Pattern::AtOnce, protocol, 220);
    plan.run.sample = Span(own.round_trip / 4);
    plan.run.duration = Span(own.quiet_from + 219 * own.round_trip);
    plan.run.record = Record { connections: true, fairness: true, links: true, ..Record::default() };
    let samples = run(&plan).samples;
    let (count, last) = (plan.transfers.len(), samples.time_s.len() - 80);
    let pairs = samples.connection_granted_bps.iter().zip(&samples.connection_fair_bps).skip(last * count);
    let error = pairs.map(|(granted, fair)| (granted - fair).abs() / fair).fold(0.0, f64::max);
    let loads = samples.link_granted_bps.chunks(plan.links.len());
    let over = |now: &[f64]| now.iter().zip(plan.network.links()).map(|(g, l)| g / l.capacity.0).fold(0.0, f64::max);
    (error, loads.map(over).fold(0.0, f64::max))
}

#[test]
fn random_networks_are_shared_exactly_if_the_period_is_longer_than_round_trips() {
    for seed in 0..30 {
        // The longest round trip of these networks is shorter than 200 ms.
        let (error, load) = course(seed, 200 * MILLISECOND);
        assert!(error < 1e-6, "{seed}: {error}");
        assert!(load > 2.0, "{seed}: {load}");
    }
}

#[test]
fn where_it_is_shorter_rates_stay_far_too_large() {
    // Every third network has round trips of more than 70 ms.
    let errors: Vec<f64> = [2, 5, 8, 11].map(|seed| course(seed, 70 * MILLISECOND).0).to_vec();
    assert!(errors.iter().all(|&error| error > 0.5), "{errors:?}");
}
