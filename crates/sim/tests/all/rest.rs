//! Protocols for many paths come to rest at fair rates, on networks of all kinds, from kbit/s to Tbit/s.
//!
//! `ANABRANCH_REST_NETWORKS=300 cargo test --release -p anabranch-sim --test all rest:: -- --nocapture` takes 300 networks
//! instead of a few, and prints how they fared.

use std::thread;

use anabranch_core::{Rate, quantity::RateText};
use anabranch_plan::Plan;
use anabranch_proto::Protocol;
use anabranch_proto::protocols::vo_le_tran;
use anabranch_sim::Outcome;

use crate::common::random::{PATTERNS, fair_residual, mixed_plan, percentiles};
use crate::common::run;

/// Connections that stay and what they were granted at each sample.
struct Rest {
    /// By how much the rate of a connection still changes in the last tenth, relative to it; the greatest.
    swing: f64,
    /// How far the last rates are from fair, see `anabranch_fair::certify`.
    residual: f64,
    /// By how much links are overloaded at the end and were at any sample.
    overload: f64,
    peak: f64,
    /// Round trips until 95 % of the connections keep within 10 and 1 % of their last rates.
    near: f64,
    settled: f64,
}

/// How many networks: a few, or as many as asked for.
fn networks(few: u64) -> u64 {
    std::env::var("ANABRANCH_REST_NETWORKS").map_or(few, |text| text.parse().expect("a number of networks"))
}

/// Network number `seed` under a protocol for links of about so many bit/s, `rounds` round trips long.
fn rest(seed: u64, protocol: &dyn Fn(f64) -> Protocol, rounds: u64) -> Rest {
    let unit = [1e3, 1e6, 1e12][seed as usize % 3];
    let pattern = PATTERNS[(seed / 2 + seed / 12) as usize % 3];
    let (plan, own) = mixed_plan(seed, pattern, unit, protocol(unit), rounds);
    let outcome = run(&plan);
    assert_eq!(outcome.bad_grants, 0, "network {seed}");
    let rates: Vec<Vec<f64>> = staying_rates(&plan, &outcome);
    let swing = |own: &Vec<f64>| {
        let end = &own[own.len() - own.len() / 10..];
        let (least, most) = end.iter().fold((f64::INFINITY, 0.0), |(a, b): (f64, f64), &r| (a.min(r), b.max(r)));
        if most > 0.0 { (most - least) / most } else { 0.0 }
    };
    let sample = plan.run.sample.0 as f64;
    let settled = |share: f64| {
        let samples_off = |own: &Vec<f64>| {
            let last = own[own.len() - 1];
            own.iter().rposition(|rate| (rate - last).abs() > share * last).map_or(0, |at| at + 2)
        };
        let mut all: Vec<usize> = rates.iter().map(samples_off).collect();
        all.sort_unstable();
        let at = all[((all.len() - 1) as f64 * 0.95).ceil() as usize] as f64 * sample;
        (at - own.quiet_from as f64).max(0.0) / own.round_trip as f64
    };
    let overload = &outcome.samples.overload;
    Rest {
        swing: rates.iter().map(swing).fold(0.0, f64::max),
        residual: fair_residual(&plan, &outcome),
        overload: *overload.last().unwrap(),
        peak: overload.iter().copied().fold(0.0, f64::max),
        near: settled(0.1),
        settled: settled(0.01),
    }
}

/// Of each connection that stays what it was granted at each sample, in bit/s.
fn staying_rates(plan: &Plan, outcome: &Outcome) -> Vec<Vec<f64>> {
    let (connections, all) = (plan.demands.connections(), &outcome.samples.connection_granted_bps);
    let stays = (0..connections.len()).filter(|&c| connections[c].stop.is_none());
    stays.map(|c| all.iter().skip(c).step_by(connections.len()).copied().collect()).collect()
}

/// Networks number 0 to `count`, shared among two threads; prints how they fared.
fn all(count: u64, protocol: &(dyn Fn(f64) -> Protocol + Sync), rounds: u64) -> Vec<Rest> {
    let rests: Vec<Rest> = thread::scope(|scope| {
        let one = |seed| rest(seed, protocol, rounds);
        let parts = [0, 1].map(|part| scope.spawn(move || (part..count).step_by(2).map(one).collect::<Vec<_>>()));
        let [evens, odds] = parts.map(|part| part.join().unwrap());
        let mut odds = odds.into_iter();
        evens.into_iter().flat_map(|even| [Some(even), odds.next()]).flatten().collect()
    });
    let row = |name: &str, value: &dyn Fn(&Rest) -> f64| {
        let [median, p90, p99, most] = percentiles(rests.iter().map(value).collect());
        println!("{name}: median {median:.3e}, 90 % {p90:.3e}, 99 % {p99:.3e}, most {most:.3e}");
    };
    let (at_rest, fair) = (rests.iter().filter(|r| r.swing <= 1e-3), rests.iter().filter(|r| r.residual <= 0.02));
    println!("of {count} networks {} are at rest and {} are fair to 2 %", at_rest.count(), fair.count());
    row("swing in the last tenth", &|r| r.swing);
    row("residual", &|r| r.residual);
    row("overload at the end", &|r| r.overload);
    row("greatest overload at a sample", &|r| r.peak);
    row("round trips until 95 % of connections are within 10 %", &|r| r.near);
    row("round trips until 95 % of connections are within 1 %", &|r| r.settled);
    rests
}

#[test]
fn d_slen_rests_at_fair_rates_from_kilobits_to_terabits() {
    let rests = all(networks(6), &|_| Protocol::default(), 2000);
    for (seed, rest) in rests.iter().enumerate() {
        let (swing, residual, overload) = (rest.swing, rest.residual, rest.overload);
        assert!(swing <= 1e-3 && residual <= 0.02 && overload <= 1e-4, "{seed}: {swing} {residual} {overload}");
    }
}

#[test]
fn with_the_gain_that_is_reported_vo_le_tran_still_swings_on_most() {
    let in_unit = |unit| {
        let unit = RateText(Rate(unit));
        Protocol::VoLeTran(vo_le_tran::Parameters { unit, ..Default::default() })
    };
    let rests = all(networks(3), &in_unit, 2000);
    let at_rest = rests.iter().filter(|rest| rest.swing <= 1e-3).count();
    assert!(2 * at_rest < rests.len(), "{at_rest}");
}
