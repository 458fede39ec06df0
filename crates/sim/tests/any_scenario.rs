//! Whatever scenario is accepted runs: it does not panic, time goes on, and no number is no number.

use std::fmt::Write;
use std::sync::Arc;

use anabranch_scenario::{NetworkSource, Scenario};
use anabranch_sim::{Outcome, simulate};
use proptest::prelude::*;

/// So many events are enough to see what happens.
const MOST_EVENTS: u64 = 1 << 19;

fn rate() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => (1..100u32).prop_map(|mbps| format!("{mbps} Mbit/s")),
        1 => Just("1 bit/s".to_owned()),
        1 => Just("1e15 bit/s".to_owned()),
        1 => Just("0 bit/s".to_owned()),
        1 => Just("unlimited".to_owned()),
    ]
}

fn time() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => (1..50u32).prop_map(|ms| format!("{ms} ms")),
        1 => Just("1 us".to_owned()),
        1 => Just("0 s".to_owned()),
        1 => Just("1 h".to_owned()),
    ]
}

fn share() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.0), Just(0.1), Just(0.9), 0.0..0.99]
}

fn faults() -> impl Strategy<Value = String> {
    (share(), share(), share(), time()).prop_map(|(loss, duplicate, reorder, late)| {
        format!("{{ loss = {loss:?}, duplicate = {duplicate:?}, reorder = {reorder:?}, late = \"{late}\" }}")
    })
}

fn link() -> impl Strategy<Value = String> {
    let queue = prop_oneof![Just("unlimited"), Just("1 packets"), Just("70 kB"), Just("0 packets")];
    let extra = prop_oneof![
        2 => Just(String::new()),
        1 => faults().prop_map(|faults| format!("faults = {faults}\n")),
        1 => faults().prop_map(|faults| format!("control_faults = {faults}\n")),
        1 => rate().prop_map(|rate| format!("capacity_changes = [{{ at = \"30 ms\", capacity = \"{rate}\" }}, {{ at = \"60 ms\", capacity = \"2 Mbit/s\" }}]\n")),
    ];
    (0..4u32, 1..4u32, rate(), time(), queue, extra).prop_map(|(from, step, rate, delay, queue, extra)| {
        let to = (from + step) % 4;
        format!(
            "[[link]]\nsource = \"n{from}\"\ntarget = \"n{to}\"\ncapacity = \"{rate}\"\ndelay = \"{delay}\"\nqueue = \"{queue}\"\n{extra}"
        )
    })
}

fn connection() -> impl Strategy<Value = String> {
    let protocol = prop_oneof![
        Just("\"d-slen\""),
        Just("{ d-slen = { variant = \"paper\" } }"),
        Just("{ d-slen = { floor = 0, tie = 0 } }"),
        Just("\"vo-le-tran\""),
        Just("\"bfyz\""),
        Just("\"charny\""),
        Just("\"perc\""),
        Just("{ s-perc = { round = \"1 us\", variant = \"basic\" } }"),
        Just("\"rcp\""),
        Just(
            "{ rcp = { alpha = 10, beta = 10, interval = \"1 us\", round_trip = \"1 us\", spacing = \"1 us\", start = 1 } }"
        ),
        Just("{ piqi-rcp = { gain = 10, proportional = 10, interval = \"1 ms\", utilization = 1e-300 } }"),
        Just("{ piqi-rcp = { history = \"mean-rate\", interval = \"1 us\" } }"),
        Just("\"qi-rcp\""),
        Just("\"xcp\""),
        Just("{ vo-le-tran = { gain = 1, price = 0, most = \"1e15 bit/s\" } }"),
    ];
    let extra = prop_oneof![
        Just(""),
        Just("demand = \"3 Mbit/s\"\n"),
        Just("amount = \"1 B\"\n"),
        Just("amount = \"100 kB\"\npacket = \"65535 B\"\n"),
        Just("weight = 1000\n"),
        Just("weight = 0.001\npacket = \"40 B\"\n"),
        Just("stop = \"61 ms\"\n"),
    ];
    (0..4u32, 1..4u32, protocol, 1..4u32, extra, 0..60u32).prop_map(|(from, step, protocol, paths, extra, start)| {
        let to = (from + step) % 4;
        format!(
            "[[connection]]\nsource = \"n{from}\"\ntarget = \"n{to}\"\nprotocol = {protocol}\npaths = {paths}\nstart = \"{start} ms\"\n{extra}"
        )
    })
}

fn scenario() -> impl Strategy<Value = String> {
    let run = (any::<bool>(), any::<bool>(), any::<bool>(), 0..9u32).prop_map(|(in_band, repair, data, seed)| {
        let control = if in_band { "in-band" } else { "separate" };
        format!(
            "[run]\nduration = \"150 ms\"\nwarm_up = \"20 ms\"\nsample = \"10 ms\"\nseed = {seed}\ncontrol = \"{control}\"\nrepair = {repair}\ndata = {data}\nrecord = [\"connections\", \"subflows\", \"links\", \"grants\", \"fairness\"]\n"
        )
    });
    let tables = (prop::collection::vec(link(), 2..8), prop::collection::vec(connection(), 1..6));
    (run, tables).prop_map(|(run, (links, connections))| {
        let mut text = run;
        for table in links.iter().chain(&connections) {
            write!(text, "{table}").unwrap();
        }
        text
    })
}

/// The first thing in an outcome that is not as numbers should be.
fn mistake(outcome: &Outcome) -> Option<&'static str> {
    let is_amount = |x: &f64| x.is_finite() && *x >= 0.0;
    let samples = &outcome.samples;
    let tables = [
        &samples.connection_granted_bps,
        &samples.connection_delivered_bps,
        &samples.subflow_granted_bps,
        &samples.subflow_delivered_bps,
        &samples.link_granted_bps,
        &samples.link_carried_bps,
        &samples.link_fair_bps,
    ];
    if !tables.iter().all(|table| table.iter().all(is_amount)) {
        return Some("a sample");
    }
    if !outcome.grants.iter().all(|g| is_amount(&g.rate.0)) {
        return Some("a grant");
    }
    if !samples.gauges.iter().all(|g| is_amount(&g.residual) && is_amount(&g.overload)) {
        return Some("a gauge");
    }
    if !samples.connection_fair_bps.iter().all(|x| x.is_nan() || is_amount(x)) {
        return Some("a fair rate");
    }
    let subflow = |s: &anabranch_sim::SubflowTotal| {
        is_amount(&s.mean_delay_s) && is_amount(&s.most_delay_s) && s.delivered + s.lost <= s.sent
    };
    (!outcome.subflows.iter().all(subflow)).then_some("a subflow's total")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn what_is_accepted_runs(text in scenario()) {
        let Ok(scenario) = Scenario::parse(&text) else { return Ok(()) };
        let Ok(NetworkSource::Inline(network)) = scenario.network() else { return Ok(()) };
        let Ok(plan) = scenario.plan(Arc::new(network), None, &|_| Err(String::new()), &|_| true) else {
            return Ok(());
        };
        let mut last = (0.0, 0);
        let outcome = simulate(&plan, &mut |progress| {
            assert!(progress.time_s > last.0 || progress.events - last.1 < 1 << 16, "time stands still");
            last = (progress.time_s, progress.events);
            progress.events < MOST_EVENTS
        });
        prop_assert_eq!(mistake(&outcome), None);
    }
}
