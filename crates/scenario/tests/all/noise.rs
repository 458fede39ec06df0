//! Whatever is in the file, it is read or refused.

use proptest::prelude::*;

use crate::{TRIANGLE, network, trace};
use anabranch_scenario::Scenario;

/// Every key, on a network of three nodes.
const RUN: &str = r#"
[run]
duration = "2 s"
warm_up = "1 s"
sample = "10 ms"
seed = 3
control = "in-band"
control_packet = "64 B"
control_share = 0.01
repair = true
data = true
fairness = "proportional"
record = ["connections", "links"]
[defaults.link]
queue = "64 KiB"
faults = { loss = 0.1, duplicate = 0.2, reorder = 0.3, late = "1 ms" }
trace = "trace.csv"
[[link]]
source = "b"
target = "d"
capacity = "1 Mbit/s"
delay = "1 ms"
trace = { file = "lte.down", opportunity = "1504 B", bin = "10 ms" }
[[link]]
source = "a"
target = "d"
capacity = "1 Mbit/s"
delay = "1 ms"
trace = { opportunities_ms = [0, 3, 3, 17] }
[[link]]
source = "c"
target = "d"
capacity = "1 Mbit/s"
delay = "1 ms"
trace = { file = "finite.csv", repeat = true }
[defaults.connection]
protocol.d-slen = { variant = "paper" }
amount = { lognormal = { mean = "1 MB", sigma = 1.0 } }
paths = { least = 1, most = 2 }
[demands]
rule = "gravity:1 Mbit/s"
[[traffic]]
count = 5
from = ["a", "b"]
to = "?"
distinct = false
arrivals = { poisson = "1 ms" }
lifetime = { pareto = { mean = "1 s", shape = 2.5 } }
packet = "500 B"
[[traffic]]
name = "u"
count = 2
distinct = "sources"
departures = { from = "1 s", uniform = "100 ms" }
[[connection]]
source = "a"
target = "b"
demand = "1 Mbit/s"
demand_changes = [{ at = "1 s", demand = "2 Mbit/s" }, { at = "1.5 s", demand = "3 kbit/s" }]
[[connection]]
name = "timed"
source = "a"
target = "c"
protocol = "lia"
paths = [["a", "b", "c"], ["a", "c"]]
stop = "2 s"
path_times = [{ stop = "1 s" }, { start = "0.5 s", stop = "1.5 s" }]
[[connection]]
sources = ["a", { node = "b", start = "0.5 s", stop = "1 s" }]
target = "c"
protocol = { nmcc = { assistance = true } }
paths = [["b", "c"], ["a", "c"]]
[[traffic]]
name = "v"
count = 3
sources = 2
protocol = "nmcc"
[[connection]]
name = "film"
source = "a"
target = "c"
relays = ["b"]
paths = 1
loops = ["lgcc", { dctcp = { gain = 0.1 } }]
[[connection]]
source = "c"
target = "a"
protocol = "reno"
paths = 1
after = [{ connection = "film/2", weight = 2 }]
[relays]
buffer = "64 KiB"
marking = { backlog = "2 ms" }
[assistance]
sharing = "nodes"
without = ["direct"]
failures_after = "10 ms"
rendezvous = "b"
manager = "a"
"#;

/// Goes as far as the mistake lets it.
fn use_up(text: &str, sets: &[(String, String)]) {
    let Ok(scenario) = Scenario::parse_with(text, sets) else { return };
    // A few more digits would fill the memory.
    let tables = scenario.tables();
    let is_large = tables.network.is_some() || tables.traffic.iter().any(|t| t.get_ref().count > 1000);
    if is_large {
        return;
    }
    if let Ok(network) = network(&scenario)
        && let Ok(plan) = scenario.plan(network.into(), None, &trace, &|_| true)
    {
        scenario.resolved(&plan, None, &trace).expect("what has a plan can be written out");
    }
}

/// Pieces of which scenario files are made.
fn pieces() -> impl Strategy<Value = String> {
    let words = [
        "[",
        "]",
        "[[",
        "]]",
        "{",
        "}",
        "=",
        "\"",
        ",",
        ".",
        "\n",
        "#",
        "link",
        "connection",
        "traffic",
        "defaults",
        "run",
        "network",
        "generate",
        "ring",
        "nodes",
        "demands",
        "queue",
        "amount",
        "paths",
        "sources",
        "relays",
        "after",
        "loops",
        "marking",
        "told",
        "assistance",
        "sharing",
        "rendezvous",
        "protocol",
        "nmcc",
        "d-slen",
        "faults",
        "trace",
        "repeat",
        "opportunities_ms",
        "loss",
        "\"1 s\"",
        "\"10 Mbit/s\"",
        "\"unlimited\"",
        "\"a\"",
        "\"*\"",
        "0",
        "-1",
        "1.5",
        "nan",
        "inf",
        "1e400",
        "9223372036854775807",
        "true",
        "source",
        "target",
        "capacity",
        "count",
        "1979-05-27",
        "\u{e9}",
        "\u{1f980}",
        "\t",
    ];
    prop_oneof![4 => prop::sample::select(words.to_vec()).prop_map(str::to_owned), 1 => any::<String>()]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn a_mangled_scenario_is_read_or_refused(at in 0.0..1.0, removed in 0..30usize, inserted in prop::collection::vec(pieces(), 0..4)) {
        let whole: Vec<char> = format!("{TRIANGLE}{RUN}").chars().collect();
        let at = (at * whole.len() as f64) as usize;
        let behind = &whole[(at + removed).min(whole.len())..];
        let text: String = whole[..at].iter().collect::<String>() + &inserted.concat() + &behind.iter().collect::<String>();
        use_up(&text, &[]);
    }

    #[test]
    fn a_heap_of_pieces_is_read_or_refused(pieces in prop::collection::vec(pieces(), 0..40)) {
        use_up(&pieces.concat(), &[]);
    }

    #[test]
    fn any_path_and_value_is_set_or_refused(path in prop::collection::vec(pieces(), 1..8), value in pieces()) {
        let path = path.join(".");
        use_up(&format!("{TRIANGLE}{RUN}"), &[(path, value)]);
    }
}

#[test]
fn the_unmangled_scenario_can_be_run() {
    crate::plan(
        &format!("{TRIANGLE}{RUN}")
            .replace("two_way = false", "two_way = true")
            .replace("capacity = \"4 Mbit/s\"", "capacity = \"4 Mbit/s\"\ndelay = \"1 ms\"")
            .replace("\"trace.csv\"", "\"finite.csv\""),
    )
    .unwrap();
}
