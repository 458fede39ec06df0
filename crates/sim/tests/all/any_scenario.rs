//! Whatever scenario is accepted runs: it does not panic, time goes on, and no number is no number.

use std::fmt::Write;

use crate::common::scenario::{mistake, planned};
use anabranch_proto::Protocol;
use anabranch_proto::protocols::{Capabilities, Claims, PROTOCOLS};
use anabranch_sim::simulate;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

/// So many events are enough to see what happens.
const MOST_EVENTS: u64 = 1 << 19;

fn rate() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => (1..100u32).prop_map(|mbps| format!("{mbps} Mbit/s")),
        2 => Just("1 bit/s".to_owned()),
        2 => Just("1e15 bit/s".to_owned()),
        2 => Just("0 bit/s".to_owned()),
        1 => Just("unlimited".to_owned()),
    ]
}

fn delay() -> impl Strategy<Value = String> {
    prop_oneof![19 => time(), 1 => Just("0 s".to_owned())]
}

fn time() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => (1..50u32).prop_map(|ms| format!("{ms} ms")),
        1 => Just("1 us".to_owned()),
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

/// A trace of opportunities: few or many, small or large.
fn opportunities() -> impl Strategy<Value = String> {
    (prop::collection::vec(1..30u32, 1..9), prop_oneof![Just(1u32), Just(1500), Just(u32::MAX)]).prop_map(
        |(mut times, bytes)| {
            times.sort_unstable();
            format!("trace = {{ opportunities_ms = {times:?}, opportunity = \"{bytes} B\" }}\n")
        },
    )
}

/// The keys of a link but for its ends.
fn link() -> impl Strategy<Value = String> {
    let queue = prop_oneof![Just("unlimited"), Just("1 packets"), Just("70 kB")];
    let extra = prop_oneof![
        2 => Just(String::new()),
        1 => faults().prop_map(|faults| format!("faults = {faults}\n")),
        1 => faults().prop_map(|faults| format!("control_faults = {faults}\n")),
        1 => rate().prop_map(|rate| format!("capacity_changes = [{{ at = \"30 ms\", capacity = \"{rate}\" }}, {{ at = \"60 ms\", capacity = \"2 Mbit/s\" }}]\n")),
        1 => opportunities(),
    ];
    (rate(), delay(), queue, extra).prop_map(|(rate, delay, queue, extra)| {
        format!("capacity = \"{rate}\"\ndelay = \"{delay}\"\nqueue = \"{queue}\"\n{extra}")
    })
}

/// Four nodes in a row, so that there is a way between any two, and up to five links more.
fn links() -> impl Strategy<Value = String> {
    let row = [link(), link(), link()];
    let more = prop::collection::vec((0..4u32, 1..4u32, link()), 0..5);
    (row, more).prop_map(|(row, more)| {
        let row = (0..).zip(row).map(|(from, keys)| (from, from + 1, keys));
        let more = more.into_iter().map(|(from, step, keys)| (from, (from + step) % 4, keys));
        row.chain(more).fold(String::new(), |mut text, (from, to, keys)| {
            write!(text, "[[link]]\nsource = \"n{from}\"\ntarget = \"n{to}\"\n{keys}").unwrap();
            text
        })
    })
}

/// A protocol as it is written, by its default parameters or others.
fn protocol() -> impl Strategy<Value = String> {
    let by_name = prop::sample::select(&PROTOCOLS[..]).prop_map(|(name, ..)| format!("\"{name}\""));
    let with_parameters = prop::sample::select(vec![
        "{ b-neck = { provisional = false } }",
        "{ d-slen = { variant = \"paper\" } }",
        "{ d-slen = { floor = 0, tie = 0 } }",
        "{ s-perc = { round = \"1 us\", variant = \"basic\" } }",
        "{ s-perc = { both_ways = true, control = 0.0001 } }",
        "{ slbn = { variant = \"paper\" } }",
        "{ rcp = { alpha = 10, beta = 10, interval = \"1 us\", round_trip = \"1 us\", spacing = \"1 us\", start = 1 } }",
        "{ piqi-rcp-like = { gain = 10, proportional = 10, interval = \"1 ms\", utilisation = 1e-300 } }",
        "{ piqi-rcp-like = { history = \"mean-rate\", interval = \"1 us\" } }",
        "{ vo-le-tran = { gain = 1, price = 0, most = \"1e15 bit/s\" } }",
    ]);
    prop_oneof![2 => by_name, 1 => with_parameters.prop_map(str::to_owned)]
}

/// What a protocol can serve that is written like this.
fn capabilities(written: &str) -> &'static Capabilities {
    let name = written.trim_start_matches("{ ").trim_matches('"').split(' ').next().unwrap();
    Protocol::named(name).unwrap().capabilities()
}

/// Whether data packets of a connection with these keys carry headers for links. No filter takes such packets along.
fn has_headers(keys: &str) -> bool {
    let protocol = keys.lines().find_map(|line| line.strip_prefix("protocol = ")).unwrap();
    capabilities(protocol).has_headers()
}

/// What `[[connection]]` and `[[traffic]]` have in common: a protocol, and claim and number of paths as it serves them.
fn served() -> impl Strategy<Value = String> {
    let weight = prop_oneof![Just(1.0), Just(1000.0), Just(0.001)];
    let extra = prop_oneof![
        3 => Just(""),
        1 => Just("amount = \"1 B\"\n"),
        1 => Just("amount = \"100 kB\"\npacket = \"65535 B\"\n"),
        1 => Just("packet = \"40 B\"\n"),
    ];
    (protocol(), 1..4u32, weight, extra, 0..60u32).prop_map(|(protocol, paths, weight, extra, start)| {
        let capabilities = capabilities(&protocol);
        let paths = if capabilities.serves_many_paths() { paths } else { 1 };
        let weight = if capabilities.claims == Claims::Equal { 1.0 } else { weight };
        format!("protocol = {protocol}\npaths = {paths}\nweight = {weight:?}\nstart = \"{start} ms\"\n{extra}")
    })
}

fn connection() -> impl Strategy<Value = String> {
    let demand = prop_oneof![Just("1 bit/s"), Just("3 Mbit/s"), Just("1e15 bit/s")];
    let changes = prop::collection::vec((1..40u32, demand.clone()), 1..4).prop_map(|steps| {
        let mut at = 0;
        let steps = steps.into_iter().map(|(later, demand)| {
            at += later;
            format!("{{ at = \"{at} ms\", demand = \"{demand}\" }}")
        });
        format!("demand_changes = [{}]\n", steps.collect::<Vec<_>>().join(", "))
    });
    let limit = (demand, prop::option::of(changes))
        .prop_map(|(demand, changes)| format!("demand = \"{demand}\"\n{}", changes.unwrap_or_default()));
    let stop = prop_oneof![Just(""), Just("stop = \"61 ms\"\n")];
    (0..4u32, 1..4u32, served(), prop::option::of(limit), stop).prop_map(|(from, step, served, limit, stop)| {
        let (to, limit) = ((from + step) % 4, limit.unwrap_or_default());
        format!("source = \"n{from}\"\ntarget = \"n{to}\"\n{served}{limit}{stop}")
    })
}

/// Connections drawn by the run itself, no more than there are nodes to begin or end at.
fn traffic() -> impl Strategy<Value = String> {
    let distinct = prop_oneof![Just(("true", 2)), Just(("\"sources\"", 4)), Just(("false", 6))];
    let ends = prop_oneof![
        Just(""),
        Just("departures = { from = \"50 ms\", uniform = \"20 ms\" }\n"),
        Just("departures = { from = \"90 ms\", uniform = \"1 h\" }\n"),
        Just("lifetime = { exponential = \"30 ms\" }\n"),
    ];
    let arrivals = prop_oneof![Just(""), Just("arrivals = { uniform = \"5 ms\" }\n")];
    (distinct, 1..7u32, served(), ends, arrivals).prop_map(|((distinct, most), count, served, ends, arrivals)| {
        format!("count = {}\ndistinct = {distinct}\n{served}{ends}{arrivals}", count.min(most))
    })
}

fn run() -> impl Strategy<Value = String> {
    let share = prop::option::of(prop_oneof![Just(1e-9), Just(0.01), Just(1.0)]);
    let share = share.prop_map(|share| share.map_or_else(String::new, |share| format!("control_share = {share:?}\n")));
    (any::<bool>(), share, any::<bool>(), any::<bool>(), 0..9u32).prop_map(|(in_band, share, repair, data, seed)| {
        let control = if in_band { "in-band" } else { "separate" };
        format!(
            "[run]\nduration = \"150 ms\"\nwarm_up = \"20 ms\"\nsample = \"10 ms\"\nseed = {seed}\ncontrol = \"{control}\"\n{share}repair = {repair}\ndata = {data}\nrecord = [\"connections\", \"subflows\", \"links\", \"grants\", \"fairness\"]\n"
        )
    })
}

/// Sometimes `[filters]`, of few bits so that packets go astray.
fn filters() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        4 => Just(""),
        1 => Just("[filters]\nbits = 16\nones = 2\ntables = 1\nmost_fill = 0.9\n"),
        1 => Just("[filters]\nbits = 8\nones = \"growing\"\n"),
    ]
}

fn scenario() -> impl Strategy<Value = String> {
    let connections = prop::collection::vec(connection(), 1..6);
    let all = (run(), filters(), links(), connections, prop::option::of(traffic()));
    all.prop_map(|(run, filters, links, connections, traffic)| {
        let headers = connections.iter().chain(&traffic).any(|keys| has_headers(keys));
        let mut text = run + if headers { "" } else { filters } + &links;
        for (number, keys) in connections.iter().enumerate() {
            write!(text, "[[connection]]\nname = \"c{number}\"\n{keys}").unwrap();
        }
        if let Some(keys) = traffic {
            write!(text, "[[traffic]]\n{keys}").unwrap();
        }
        text
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn what_is_accepted_runs(text in scenario()) {
        let Ok(plan) = planned(&text) else { return Ok(()) };
        let mut last = (0.0, 0);
        let outcome = simulate(&plan, &mut |progress| {
            assert!(progress.time_s > last.0 || progress.events - last.1 < 1 << 16, "time stands still");
            last = (progress.time_s, progress.events);
            progress.events < MOST_EVENTS
        });
        prop_assert_eq!(mistake(&outcome), None);
        prop_assert!(outcome.subflows.iter().all(|s| s.delivered + s.lost <= s.sent));
    }
}

#[test]
fn most_of_what_is_drawn_is_accepted() {
    let mut runner = TestRunner::deterministic();
    let draws = (0..300).map(|_| scenario().new_tree(&mut runner).unwrap().current());
    let refused: Vec<String> = draws.filter_map(|text| planned(&text).err()).collect();
    assert!(refused.len() <= 100, "{} of 300 are refused: {refused:#?}", refused.len());
}
