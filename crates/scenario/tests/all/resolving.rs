//! Everything written out: reading it gives the same plan.

use std::sync::Arc;

use anabranch_core::{Connection, Demands, Network, NetworkBuilder, Position, Rate, Span, Time};
use anabranch_plan::Plan;
use proptest::prelude::*;

use crate::{PAIR, network, trace, under_d_slen};
use anabranch_scenario::{NetworkSource, Scenario};

/// The plan and the whole text of a scenario, and the plan of that text.
fn both_plans(text: &str, from_file: Option<&Network>, extra: Option<&Demands>) -> (Plan, String, Plan) {
    let scenario = Scenario::parse(&under_d_slen(text)).unwrap();
    let net = match scenario.network().unwrap() {
        NetworkSource::Inline(network) => network,
        NetworkSource::File(_) => from_file.expect("the network is handed over").clone(),
    };
    let first = scenario.plan(Arc::new(net), extra, &trace, &|_| true).unwrap();
    let whole = scenario.resolved(&first, extra, &trace).unwrap();
    let again = Scenario::parse(&whole).unwrap_or_else(|error| panic!("{error}\n{whole}"));
    // Nothing is left to read elsewhere.
    assert_eq!(again.demands_file(), None);
    let nothing = |_: &str| Err("there is no other file".to_owned());
    let second = again.plan(Arc::new(network(&again).unwrap()), None, &nothing, &|_| true).unwrap();
    (first, whole, second)
}

fn assert_same(first: &Plan, second: &Plan) {
    assert_eq!(first.network.nodes(), second.network.nodes());
    assert_eq!(first.network.links(), second.network.links());
    assert_eq!(first.links, second.links);
    assert_eq!(first.demands, second.demands);
    assert_eq!(first.paths, second.paths);
    assert_eq!(first.transfers, second.transfers);
    assert_eq!(first.demand_changes, second.demand_changes);
    assert_eq!(first.path_times, second.path_times);
    assert_eq!(first.fetches, second.fetches);
    assert_eq!(first.relays, second.relays);
    assert_eq!(first.assistance, second.assistance);
    let drawn_by = |plan: &Plan| plan.filters.as_ref().map(|filters| *filters.identities.parameters());
    assert_eq!(drawn_by(first), drawn_by(second));
    assert_eq!(first.protocols, second.protocols);
    assert_eq!(first.run, second.run);
}

/// Links whose twins do not stand beside them, as some files have them.
fn read_elsewhere() -> (Network, Demands) {
    let mut builder = NetworkBuilder::new();
    let [a, b, c] = ["a", "b \"b\"", "c"]
        .map(|name| builder.node(name, Some(Position { longitude: 0.1, latitude: -0.3 })).unwrap());
    let mut link = |from, to, bps| builder.link(None, from, to, Rate(bps), Span(12_345_678_901_234_567)).unwrap();
    let there = [link(a, b, 1e6 / 3.0), link(b, c, f64::INFINITY)];
    let back = [link(b, a, 1e9), link(c, b, 5e6)];
    builder.twins(there[0], back[0]).unwrap();
    builder.twins(there[1], back[1]).unwrap();
    let network = builder.build();
    let (start, stop) = (Time(9_007_199_254_740_993), Some(Time(9_007_199_254_740_995)));
    let connections = vec![
        Connection { demand: Some(Rate(1e7 / 3.0)), start, stop, ..Connection::new("x", a, c) },
        Connection { weight: 0.1, qos: 1.0 / 3.0, ..Connection::new("a>c", a, b) },
    ];
    let demands = Demands::new(&network, connections).unwrap();
    (network, demands)
}

#[test]
fn a_small_scenario_is_written_out() {
    let (first, whole, second) = both_plans(PAIR, None, None);
    assert_same(&first, &second);
    for line in ["seed = 1", "duration = \"10 s\"", "sample = \"20 ms\"", "packet = \"1 kB\"", "queue = \"unlimited\""]
    {
        assert!(whole.contains(line), "{line}\n{whole}");
    }
}

#[test]
fn files_and_traces_stand_in_the_whole_text() {
    let (network, extra) = read_elsewhere();
    let text = r#"
[network]
file = "network.gml"
[demands]
file = "demands.csv"
[defaults.link]
trace = "trace.csv"
queue = "10 packets"
[defaults.connection]
amount = { pareto = { mean = "600 kB", shape = 1.5 } }
paths = { least = 1, most = 2 }
protocol.vo-le-tran = { gain = 0.1, most = 3000 }
[[connection]]
source = "c"
target = "a"
demand = "7 Mbit/s"
demand_changes = [{ at = "1 s", demand = "5 Mbit/s" }, { at = "2 s", demand = "6 Mbit/s" }]
[[connection]]
source = "a"
target = "c"
demand = "7 Mbit/s"
[[traffic]]
count = 5
demand = "1 Mbit/s"
arrivals = { poisson = "1 ms" }
"#;
    // The connection without a limit is on a link that changes to one without.
    let text =
        text.replace("trace = \"trace.csv\"\n", "capacity_changes = [{ at = \"1 s\", capacity = \"1 kbit/s\" }]\n");
    let (first, whole, second) = both_plans(&text, Some(&network), Some(&extra));
    assert_same(&first, &second);
    assert!(!whole.contains("network.gml") && !whole.contains("demands.csv"), "{whole}");
    assert_eq!(first.demands.connections()[3].name, "a>c#2");

    let traced = format!("{PAIR}demand = \"1 Mbit/s\"\n[defaults.link]\ntrace = \"trace.csv\"\n");
    let (first, whole, second) = both_plans(&traced, None, None);
    assert_same(&first, &second);
    assert!(!whole.contains("trace.csv"), "{whole}");
}

#[test]
fn opportunities_stand_once_in_the_whole_text_if_they_hold_for_all() {
    let own = "[[link]]\nsource = \"b\"\ntarget = \"c\"\ncapacity = \"1 Mbit/s\"\n";
    let text = format!(
        "{PAIR}{own}trace = {{ file = \"finite.csv\", repeat = true }}\n{own}trace = {{ opportunities_ms = [1] }}\n\
        [defaults.link]\ntrace = {{ file = \"lte.down\", bin = \"7 ms\" }}\n"
    );
    let (first, whole, second) = both_plans(&text, None, None);
    assert_same(&first, &second);
    assert_eq!(whole.matches("opportunities_ms = [0, 3, 10, 30, 40]").count(), 1, "{whole}");
    assert!(!whole.contains("file =") && whole.contains("bin = \"7 ms\""), "{whole}");
}

#[test]
fn a_rule_stands_with_its_seed() {
    let text = "[network]\ngenerate.transit-stub = { preset = \"ludena2021\", hosts = 1 }\n[demands]\nrule = \"hot-spots:1 Gbit/s\"\n\
        [defaults.connection]\nprotocol = \"d-slen\"\npaths = 1\n[run]\nseed = 9\nrecord = []\n";
    let (first, whole, second) = both_plans(text, None, None);
    assert_same(&first, &second);
    assert!(whole.contains("seed = 9") && whole.contains("transit = \"50 Mbit/s\""), "{whole}");
}

#[test]
fn shapes_shares_and_headroom_are_kept_and_not_invented() {
    let text = "[network]\ngenerate.transit-stub = { shape = { transit_domains = 1, transit_nodes = 2, stubs = 1, stub_nodes = 3 } }\n\
        [defaults.link]\nshares = { slbn = 0.5 }\n[demands]\nrule = \"hot-spots:1 Gbit/s\"\n\
        [defaults.connection]\nprotocol = { slbn = { headroom = 0.03 } }\n";
    let (first, whole, second) = both_plans(text, None, None);
    assert_same(&first, &second);
    assert!(
        whole.contains("slbn = 0.5") && whole.contains("headroom = 0.03") && whole.contains("stub_nodes = 3"),
        "{whole}"
    );
    let (_, plain, _) = both_plans(PAIR, None, None);
    assert!(!plain.contains("shares") && !plain.contains("headroom"), "{plain}");
}

#[test]
fn filters_stand_with_their_seed() {
    let (first, whole, second) =
        both_plans(&format!("{PAIR}[filters]\nones = \"growing\"\n[run]\nseed = 9\n"), None, None);
    assert_same(&first, &second);
    let table = whole.split("[filters]\n").nth(1).unwrap();
    assert!(table.starts_with("bits = 256\nones = \"growing\"\ntables = 8\nmost_fill = 0.7\nseed = 9\n"), "{whole}");
}

#[test]
fn distinct_sources_and_departures_are_written_out() {
    let text = "[network]\ngenerate.ring.nodes = 5\n[[traffic]]\ncount = 5\ndistinct = \"sources\"\n\
        arrivals = { uniform = \"500 ms\" }\ndepartures = { from = \"300 ms\", uniform = \"1 s\" }\n";
    let (first, whole, second) = both_plans(text, None, None);
    assert_same(&first, &second);
    assert!(whole.contains("distinct = \"sources\"") && whole.contains("from = \"300 ms\""), "{whole}");
}

#[test]
fn numbers_of_paths_that_protocols_give_are_written_out() {
    for common in ["slbn", "d-slen"] {
        let text = format!(
            "[network]\ngenerate.ring.nodes = 5\n[demands]\nrule = \"uniform:1 Mbit/s\"\n\
            [[connection]]\nsource = \"n0\"\ntarget = \"n2\"\n\
            [[connection]]\nsource = \"n0\"\ntarget = \"n2\"\nprotocol = \"slbn\"\n\
            [[traffic]]\ncount = 2\nprotocol = \"d-slen\"\n\
            [[traffic]]\nname = \"u\"\ncount = 2\nprotocol = \"slbn\"\n\
            [defaults.connection]\nprotocol = \"{common}\"\n"
        );
        let (first, whole, second) = both_plans(&text, None, None);
        assert_same(&first, &second);
        assert_eq!(whole.matches("paths = ").count(), 5, "{whole}");
    }
}

#[test]
fn formulas_are_written_out_as_they_stand() {
    let text =
        format!("{PAIR}[[connection]]\nsource = \"a\"\ntarget = \"b\"\nprotocol.formulas = {{ increase = 0.01 }}\n");
    let (first, whole, second) = both_plans(&text, None, None);
    assert_same(&first, &second);
    assert!(whole.contains("increase = \"0.01\"") && whole.contains("decreased = \"window / 2\""), "{whole}");
    // Its subflows do not look at each other, so one path is the usual number.
    assert!(whole.contains("paths = 1\n"), "{whole}");
    let (_, whole, _) = both_plans(&text.replace("0.01", "\"1 / sum(window)\""), None, None);
    assert!(whole.contains("paths = 4\n"), "{whole}");
}

#[test]
fn times_of_paths_are_written_out() {
    let times =
        "path_times = [{}, { start = \"50 s\" }, { start = \"100 s\", stop = \"250 s\" }, { stop = \"9 s\" }]\n";
    let text = format!(
        "[network]\ngenerate.grid = {{ rows = 3, columns = 3 }}\n[defaults.connection]\nprotocol = \"lia\"\n\
        [[connection]]\nsource = \"n0.0\"\ntarget = \"n2.2\"\n{times}"
    );
    let (first, whole, second) = both_plans(&text, None, None);
    assert_same(&first, &second);
    assert_eq!(second.path_times.len(), 3, "{whole}");
}

#[test]
fn loops_are_written_out() {
    for marking in ["\"never\"", "\"backlog\"", "{ backlog = \"2 ms\" }", "{ share = 0.4 }"] {
        for given in ["", "[relays]\nbuffer = \"9 kB\"\ntold = \"sent\"\n", &format!("[relays]\nmarking = {marking}\n")]
        {
            let text = format!(
                "[network]\ngenerate.ring.nodes = 5\n{given}[defaults.connection]\nprotocol = \"reno\"\namount = \"9 kB\"\n\
                 [[connection]]\nsource = \"n0\"\ntarget = \"n2\"\nrelays = [\"n1\"]\nloops = [\"lgcc\", \"reno\"]\n\
                 [[connection]]\nsource = \"n2\"\ntarget = \"n3\"\nafter = [{{ connection = \"n0>n2/2\", weight = 2 }}]\n"
            );
            let (first, _, second) = both_plans(&text, None, None);
            assert_eq!(first.relays.len(), 2);
            assert_same(&first, &second);
        }
    }
}

#[test]
fn sources_and_assistance_are_written_out() {
    let text = "[network]\ngenerate.ring.nodes = 5\n[defaults.connection]\nprotocol = \"nmcc\"\n\
        [[connection]]\nsources = [\"n0\", { node = \"n1\", start = \"1 s\", stop = \"1.5 s\" }]\ntarget = \"n3\"\n\
        [[traffic]]\ncount = 4\nfrom = [\"n0\", \"n1\", \"n2\"]\nto = [\"n3\", \"n4\"]\nsources = 2\n\
        [assistance]\nsharing = \"nodes\"\nwithout = [\"n0-n1\"]\nfailures_after = \"10 ms\"\nrendezvous = \"n2\"\n\
        manager = \"n4\"\n";
    let (first, whole, second) = both_plans(text, None, None);
    assert_same(&first, &second);
    assert_eq!((second.fetches.len(), second.fetches[0].servers.len(), second.assistance.without.len()), (5, 2, 1));
    assert!(second.fetches.iter().all(|fetch| fetch.set_up > Span(0)), "{whole}");
}

fn amounts() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("\"unlimited\"".to_owned()),
        (1..1u64 << 53).prop_map(|b| format!("\"{b} B\"")),
        (1..1u64 << 30, 1..1u64 << 30).prop_map(|(a, b)| format!("{{ uniform = [\"{a} B\", \"{} B\"] }}", a + b)),
        (1..1u64 << 53).prop_map(|b| format!("{{ exponential = \"{b} B\" }}")),
        (1..1u64 << 40, 1.01..9.0).prop_map(|(b, s)| format!("{{ pareto = {{ mean = \"{b} B\", shape = {s:?} }} }}")),
        (1..1u64 << 40, 0.0..9.0).prop_map(|(b, s)| format!("{{ lognormal = {{ mean = \"{b} B\", sigma = {s:?} }} }}")),
    ]
}

fn arrivals() -> impl Strategy<Value = String> {
    let picoseconds = 1..=1u64 << 62;
    prop_oneof![
        Just("\"at once\"".to_owned()),
        picoseconds.clone().prop_map(|ps| format!("{{ uniform = \"{ps} ps\" }}")),
        picoseconds.prop_map(|ps| format!("{{ poisson = \"{ps} ps\" }}")),
    ]
}

/// A connection that fetches, and what the network tells.
fn fetched() -> impl Strategy<Value = String> {
    let picoseconds = || 0..1u64 << 62;
    let second = prop_oneof![
        Just(String::new()),
        Just(", \"n1\"".to_owned()),
        (picoseconds(), 1..1u64 << 62)
            .prop_map(|(at, more)| format!(", {{ node = \"n1\", start = \"{at} ps\", stop = \"{} ps\" }}", at + more)),
    ];
    let told = prop_oneof![
        Just(String::new()),
        Just("[assistance]\nsharing = \"nodes\"\n".to_owned()),
        picoseconds().prop_map(|after| {
            format!("[assistance]\nfailures_after = \"{after} ps\"\nrendezvous = \"n0\"\nmanager = \"n3\"\n")
        }),
    ];
    (second, told, 1..4usize).prop_map(|(second, told, asked)| {
        format!(
            "[[connection]]\nsources = [\"n0\"{second}]\ntarget = \"n3\"\nprotocol = \"nmcc\"\n\
             [[traffic]]\nname = \"reader\"\ncount = 3\nsources = {asked}\nprotocol = \"nmcc\"\n{told}"
        )
    })
}

proptest! {
    #[test]
    fn what_is_written_out_gives_the_same_plan(
        rule in prop_oneof![Just("ring.nodes = 6"), Just("waxman.nodes = 9"), Just("grid = { rows = 2, columns = 3 }")],
        (amount, common, arrivals) in (amounts(), amounts(), arrivals()),
        (weight, loss, capacity) in (1e-3..1e3, 0.0..1.0, 1.0..1e15),
        (seed, duration) in (0..=i64::MAX, 1..=200 * 86_400 * 1_000_000_000_000u64),
        (at, least, more, packet) in (0..1u64 << 63, 1..3usize, 0..3usize, 40..=65_535u32),
        share in prop_oneof![Just(1.0), 1e-9..1.0],
        fetched in fetched(),
        opportunities in prop::option::of((prop::collection::vec(1..10_000u32, 1..9), 1500..=u32::MAX)),
    ) {
        let late = duration.min(86_400_000_000_000_000);
        let changes = match opportunities {
            None => format!("capacity_changes = [{{ at = \"{at} ps\", capacity = \"{capacity:?} bit/s\" }}]"),
            Some((mut times, bytes)) => {
                times.sort_unstable();
                let bin = duration / 1000 + 1_000_000_000;
                format!("trace = {{ opportunities_ms = {times:?}, opportunity = \"{bytes} B\", bin = \"{bin} ps\" }}")
            }
        };
        let text = format!(
            "[network]\ngenerate.{rule}\n\
            [[traffic]]\ncount = 7\namount = {amount}\narrivals = {arrivals}\nweight = {weight:?}\n\
            lifetime = {{ exponential = \"{duration} ps\" }}\npaths = {{ least = {least}, most = {} }}\n\
            [[connection]]\nsource = \"n0\"\ntarget = \"n3\"\nqos = 0.5\nstart = \"{at} ps\"\n\
            demand = \"3 bit/s\"\ndemand_changes = [{{ at = \"{at} ps\", demand = \"{capacity:?} bit/s\" }}]\n\
            [defaults.connection]\nprotocol = \"d-slen\"\namount = {common}\npacket = \"{packet} B\"\n\
            [defaults.link]\nfaults = {{ loss = {loss:?}, reorder = 0.5, late = \"{late} ps\" }}\n\
            {changes}\n\
            {fetched}\
            [run]\nseed = {seed}\nduration = \"{duration} ps\"\ncontrol_share = {share:?}\n", least + more
        )
        .replace("\"n0\"", if rule.starts_with("grid") { "\"n0.0\"" } else { "\"n0\"" })
        .replace("\"n1\"", if rule.starts_with("grid") { "\"n1.0\"" } else { "\"n1\"" })
        .replace("\"n3\"", if rule.starts_with("grid") { "\"n1.1\"" } else { "\"n3\"" })
        .replace("n0.0.0", "n0.0");
        let (first, whole, second) = both_plans(&text, None, None);
        assert_same(&first, &second);
        // Once whole, it stays as it is.
        let again = Scenario::parse(&whole).unwrap();
        prop_assert_eq!(again.resolved(&second, None, &trace).unwrap(), whole);
    }
}
