//! Every mistake has a place, a reason and a remedy.

use crate::{PAIR, TRIANGLE, plan, read, refused};
use anabranch_scenario::Scenario;

#[test]
fn mistakes_have_a_place_a_reason_and_a_remedy() {
    let said = |from: &str, to: &str| {
        assert!(TRIANGLE.contains(from));
        read(&TRIANGLE.replacen(from, to, 1)).unwrap_err().to_string()
    };
    let unit = said("\"10 Mbit/s\"", "\"10\"");
    assert!(unit.starts_with("line 9, column 12: ") && unit.contains("it has no unit"), "{unit}");
    assert!(said("\"10 Mbit/s\"", "10").contains("a rate in quotes"));
    let key = said("delay =", "dela =");
    assert!(
        key.starts_with("line 10, column 1: there is no key `dela` here (did you mean `delay`?); there is name"),
        "{key}"
    );
    assert!(said("target = \"b\"\n", "").ends_with("the key `target` is missing; add it"));
    let path = said("\"a\", \"b\", \"c\"", "\"a\", \"bb\", \"c\"");
    assert!(path.starts_with("line 25, column 9: connection `a>c`, path 1: there is no node `bb`"), "{path}");
    assert!(said("[\"a\", \"c\"]]", "[\"a\", \"b\"]]").contains("ends at node `b`"));
    assert!(said("target = \"c\"\npaths", "target = \"d\"\npaths").contains("there is no node `d`"));
    assert!(said("latitude = 59.9", "latitude = 159.9").contains("off the globe"));
    assert!(said("latitude = 59.9", "").contains("needs both"));
    for count in ["0", "-1", "65537", "9223372036854775807"] {
        let said = said("[[\"a\", \"b\", \"c\"], [\"a\", \"c\"]]", count);
        assert_eq!(said, "line 25, column 9: the number of paths must be 1 to 65,536");
    }
    assert!(said("demand = \"2 Mbit/s\"", "weight = -1.0").contains("weight is -1"));
    assert!(said("two_way = false", "twin = \"a-b\"").contains("add two_way = false"));
    assert!(said("two_way = false", "two_way = false\ntwin = \"x\"").contains("no link of the name `x`"));
    assert!(said("two_way = false", "two_way = false\ntwin = \"direct\"").contains("must be opposite"));
    let links = said("paths = [[\"a\", \"b\", \"c\"], [\"a\", \"c\"]]", "paths = 2\nlinks = [[\"direct\"]]");
    assert!(links.starts_with("line 26, column 9: ") && links.contains("both by nodes and by links"), "{links}");
    assert!(read("title = \"x\"").unwrap_err().to_string().contains("there is no network"));
    assert!(read("title = ").is_err());
}

#[test]
fn traces_that_cannot_be_are_refused_where_they_stand() {
    assert_refused(&[
        ("[defaults.link]\ntrace = \"none.csv\"", "line 11, column 9", "there is no such file"),
        ("[defaults.link]\ntrace = \"bad.csv\"", "line 11, column 9", "bad.csv, line 3: the time is not later"),
        ("[defaults.link]\ntrace = \"bad.down\"", "line 11, column 9", "bad.down, line 2: it is empty; leave it out"),
        ("[defaults.link]\ntrace = 3", "line 11, column 9", "a file such as \"LTE.down\", or {"),
        ("[defaults.link]\ntrace = {}", "line 11, column 9", "there is no trace; name its `file`"),
        (
            "[defaults.link]\ntrace = { file = \"lte.down\", opportunities_ms = [1] }",
            "line 11, column 9",
            "both a `file` and `opportunities_ms`",
        ),
        ("[defaults.link]\ntrace = { opportunities_ms = [2, 1] }", "line 11, column 30", "number 2: 1 ms follows 2 ms"),
        ("[defaults.link]\ntrace = { opportunities_ms = [] }", "line 11, column 30", "there is no opportunity"),
        (
            "[defaults.link]\ntrace = { file = \"lte.down\", opportunity = \"0 B\" }",
            "line 11, column 44",
            "an opportunity of 0 B cannot be; it must be 1 B to",
        ),
        ("[defaults.link]\ntrace = { file = \"lte.down\", bin = \"0 s\" }", "line 11, column 36", "it must be over 0"),
        (
            "[defaults.link]\ntrace = { file = \"lte.down\", bin = \"10 ns\" }",
            "line 11, column 9",
            "a run of 10 s has 1000000000 bins of 10 ns; give a longer `bin`",
        ),
        (
            "[defaults.link]\ntrace = { file = \"lte.down\", repeat = true }",
            "line 11, column 9",
            "opportunities always begin again; leave `repeat` out",
        ),
        (
            "[defaults.link]\ntrace = { file = \"trace.csv\", bin = \"1 s\" }",
            "line 11, column 9",
            "`opportunity` and `bin` are for opportunities",
        ),
        (
            "[defaults.link]\ntrace = { file = \"empty.csv\", repeat = true }",
            "line 11, column 9",
            "begins again at the time of its last line; give it one later than 0 s",
        ),
        (
            "[defaults.link]\ntrace = { file = \"fine.csv\", repeat = true }",
            "line 11, column 9",
            "changes of capacity are over 100000000; give fewer",
        ),
        (
            "[defaults.link]\ntrace = \"trace.csv\"\ncapacity_changes = []",
            "line 11, column 9",
            "both `capacity_changes` and a `trace`",
        ),
    ]);
}

#[test]
fn values_that_cannot_be_are_refused_where_they_stand() {
    assert_refused(&[
        ("packet = \"39 B\"", "line 10, column 10", "a packet of 39 B cannot be; it must have 40 B to 65535 B"),
        ("amount = \"0 B\"", "line 10, column 10", "it must be over 0"),
        ("amount = 3", "line 10, column 10", "a size such as"),
        ("amount = { uniform = [\"2 MB\", \"1 MB\"] }", "line 10, column 22", "the least first"),
        ("amount = { pareto = { mean = \"1 MB\", shape = 1.0 } }", "line 10, column 46", "it must be over 1"),
        ("amount = { lognormal = { mean = \"1 MB\", sigma = 11 } }", "line 10, column 49", "it must be 0 to 10"),
        ("amount = { exponential = \"1 MB\", x = 1 }", "line 10, column 10", "one key too many"),
        ("amount = { exponentail = \"1 MB\" }", "line 10, column 12", "did you mean `exponential`?"),
        ("paths = { least = 3, most = 2 }", "line 10, column 9", "least no more than most"),
        ("amount = {}", "line 10, column 10", "a table, expected one key in it"),
        ("amount = { pareto = [\"1 MB\", 2] }", "line 10, column 21", "a list, expected a table in braces"),
        ("weight = \"a map\"", "line 10, column 10", "string \"a map\", expected a number"),
        ("protocol.d-slen = [\"paper\", 0, 0]", "line 10, column 19", "a list, expected a table in braces"),
        ("protocol = \"d-slem\"", "line 10, column 12", "did you mean `d-slen`?"),
        (
            "protocol.formulas = { increase = \"1 / windw\" }",
            "line 10, column 34",
            "character 5 of the formula: there is no variable `windw` (did you mean `window`?)",
        ),
        ("protocol.formulas = { increase = true }", "line 10, column 34", "a formula in quotes, such as"),
        ("protocol.formulas = { floor = 0 }", "line 10, column 31", "it must be 1 to 1000"),
        ("protocol.d-slen = { floor = 2.0 }", "line 10, column 29", "it must be 0 to 0.1"),
        (
            "demand_changes = [{ at = \"1 s\", demand = \"5 Mbit/s\" }]",
            "line 10, column 18",
            "connection `a>b`: its demand changes, and it has none to begin with; add `demand`",
        ),
        (
            "demand = \"1 Mbit/s\"\ndemand_changes = [{ at = \"1 s\", demand = \"0 bit/s\" }]",
            "line 11, column 42",
            "demand is 0 bit/s; a run takes 1 to 1e15",
        ),
        (
            "demand_changes = [{ at = \"1 s\", demand = \"2 Pbit/s\" }]",
            "line 10, column 42",
            "demand is 2000000000000000 bit/s; a run takes 1 to 1e15",
        ),
        ("demand_changes = [{ at = \"1 s\", demand = \"unlimited\" }]", "line 10, column 42", "a rate"),
        (
            "demand_changes = [{ at = \"2 s\", demand = \"1 Mbit/s\" }, { at = \"2 s\", demand = \"2 Mbit/s\" }]",
            "line 10, column 18",
            "a change at 2 s follows one at 2 s; each must be later than the last",
        ),
        ("[run]\nduration = \"0 s\"", "line 11, column 12", "it must be over 0"),
        ("[run]\nduration = \"4801 h\"", "line 11, column 12", "at most 4800 h"),
        ("[run]\nwarm_up = \"10 s\"", "line 10, column 1", "it must be shorter than the run"),
        ("[run]\nsample = \"0 ms\"", "line 11, column 10", "it must be over 0"),
        ("[run]\nseed = -2", "line 11, column 8", "it must be 0 to 9223372036854775807"),
        ("[run]\nrecord = [\"links\", \"flows\"]", "line 11, column 20", "there is no choice `flows` here"),
        ("[run]\ncontrol = \"inband\"", "line 11, column 11", "did you mean `in-band`?"),
        ("[run]\ncontrol = []", "line 11, column 11", "a list, expected one of separate, in-band, in quotes or"),
        ("[run]\ncontrol = { in-band = {} }", "line 11, column 23", "a table, expected the word alone, in quotes"),
        ("[run]\ncontrol_packet = \"0 B\"", "line 11, column 18", "it must have 1 B to 65535 B"),
        ("[run]\ncontrol_share = 0", "line 11, column 17", "control_share is 0; it must be over 0 and at most 1"),
        ("[run]\ncontrol_share = 1.01", "line 11, column 17", "it must be over 0 and at most 1"),
        ("[run]\ncontrol_share = nan", "line 11, column 17", "it must be over 0 and at most 1"),
        ("[defaults.link]\nqueue = \"0 packets\"", "line 11, column 9", "it must be 1 packet or 1 byte or more"),
        ("[defaults.link]\nqueue = \"many packets\"", "line 11, column 9", "write it like `100 packets`"),
        (
            "[defaults.link]\nqueue = \"many\"",
            "line 11, column 9",
            "write it like `64 KiB`, `100 packets`, `1 BDP` or `unlimited`",
        ),
        ("[defaults.link]\nqueue = 100", "line 11, column 9", "a size such as"),
        ("[defaults.link]\nshares = { reno = 0.5 }", "line 11, column 10", "Reno keeps windows"),
        ("[defaults.link]\nshares = { slbm = 0.5 }", "line 11, column 10", "no protocol `slbm`; did you mean `slbn`?"),
        (
            "[defaults.link]\nshares = { slbn = 0 }",
            "line 11, column 10",
            "`slbn` is 0; it must be over 0 and at most 1",
        ),
        ("[defaults.link]\nshares = { slbn = 1.5 }", "line 11, column 10", "it must be over 0 and at most 1"),
        ("[defaults.link]\nfaults = [0.25, 0, 0, \"0 s\"]", "line 11, column 10", "a list, expected a table in braces"),
        ("[defaults.link]\nfaults = { loss = 1 }", "line 11, column 19", "below 1"),
        ("[defaults.link]\nfaults = { duplicate = -0.5 }", "line 11, column 24", "a probability must be 0 to 1"),
        ("[defaults.link]\ncontrol_faults = { reorder = 0.5 }", "line 11, column 18", "add late = \"1 ms\""),
        (
            "[defaults.link]\ncapacity_changes = [{ at = \"1 s\", capacity = \"1 Mbit/s\" }, { at = \"1 s\", capacity = \"2 Mbit/s\" }]",
            "line 11, column 20",
            "each must be later than the last",
        ),
    ]);
}

#[test]
fn times_of_paths_that_cannot_be_are_refused_where_they_stand() {
    assert_refused(&[
        ("path_times = [{ at = \"1 s\" }]", "line 10, column 17", "there is no key `at` here"),
        (
            "path_times = [{}]",
            "line 10, column 14",
            "connection `a>b`: d-SLEN sets rates, and paths have times of their own only under a protocol that keeps \
             windows, such as LIA; name another protocol, or leave `path_times` out",
        ),
        (
            "protocol = \"lia\"\npath_times = [{}, {}]",
            "line 11, column 14",
            "connection `a>b`: `path_times` has 2 entries, and it has 1 path; write one for each path, {} for one without",
        ),
        (
            "protocol = \"lia\"\nstart = \"1 s\"\npath_times = [{ start = \"0.5 s\" }]",
            "line 12, column 14",
            "connection `a>b`: path 1: it begins at 500 ms, and its connection at 1 s; let it begin no earlier",
        ),
        (
            "protocol = \"lia\"\nstop = \"3 s\"\npath_times = [{ stop = \"4 s\" }]",
            "line 12, column 14",
            "connection `a>b`: path 1: it ends at 4 s, and its connection at 3 s; let it end no later",
        ),
        (
            "protocol = \"lia\"\npath_times = [{}, { start = \"4 s\", stop = \"4 s\" }]",
            "line 11, column 14",
            "connection `a>b`: path 2: it begins at 4 s and ends at 4 s; let it end later",
        ),
        (
            "protocol = \"lia\"\nstop = \"3 s\"\npath_times = [{ start = \"3 s\" }]",
            "line 12, column 14",
            "connection `a>b`: path 1: it begins at 3 s and ends at 3 s; let it end later",
        ),
    ]);
}

#[test]
fn settings_of_the_transport_that_cannot_be_are_refused_where_they_stand() {
    assert_refused(&[
        (
            "[run.transport]\nfirst_wait = \"0 s\"",
            "line 11, column 14: ",
            "first_wait is 0 ps; it must be 1 us or more",
        ),
        ("[run.transport]\nfirst_wait = \"999 ns\"", "line 11, column 14: ", "it must be 1 us or more"),
        ("[run.transport]\nleast_wait = \"-1 s\"", "line 11, column 14: ", "it must be finite and not negative"),
        ("[run.transport]\nleast_wait = \"9999 h\"", "line 11, column 14: ", ""),
        (
            "[run.transport]\nfirst_window = 0.5",
            "line 11, column 16: ",
            "first_window is 0.5; it must be 1 to 1048576 packets",
        ),
        ("[run.transport]\nfirst_window = nan", "line 11, column 16: ", "it must be 1 to 1048576 packets"),
        ("[run.transport]\nfirst_window = 1e7", "line 11, column 16: ", "it must be 1 to 1048576 packets"),
        (
            "[defaults.connection]\nprotocol.lia = { gain = 1 }",
            "line 11, column 18: ",
            "there is no key `gain` here; leave it out, there are none",
        ),
        ("[run.transport]\nack_every = 0", "line 11, column 13: ", "ack_every is 0; it must be 1 to 32"),
        ("[run.transport]\nack = \"0 B\"", "line 11, column 7: ", "it must have 1 B to 65535 B"),
        (
            "[run.transport]\njitter = -1",
            "line 11, column 10: ",
            "jitter is -1; it must be 0 to 1e6 transmission times",
        ),
        ("[run.transport]\njitter = inf", "line 11, column 10: ", "it must be 0 to 1e6 transmission times"),
        ("[run.transport]\nscheduler = \"fastest\"", "line 11, column 13: ", "there is no choice `fastest` here"),
        (
            "protocol = \"reno\"\n[run.transport]\nbuffer = \"999 B\"",
            "line 7, column 1",
            "connection `a>b`: buffer is 999 B, and packets have 1000 B; it must hold one",
        ),
    ]);
}

#[test]
fn demands_and_traffic_that_cannot_be_are_refused_where_they_stand() {
    assert_refused(&[
        ("[demands]\nrule = \"gravty:1 Gbit/s\"", "line 10, column 1", "did you mean `gravity`?"),
        ("[demands]\nrule = \"gravity\"", "line 10, column 1", "write it like `gravity:40 Gbit/s`"),
        ("[demands]\nrule = \"gravity:fast\"", "line 10, column 1", "it does not begin with a number"),
        ("[[traffic]]\ncount = 0", "line 11, column 9", "it must be 1 or more"),
        ("[[traffic]]\ncount = 1\nfrom = \"h*\"", "line 12, column 8", "name nodes such as `a`"),
        ("[[traffic]]\ncount = 1\nto = [\"c\"]", "line 12, column 6", "there is no node `c`"),
        ("[[traffic]]\ncount = 1\nto = [\"a\", \"a\"]", "line 12, column 6", "node `a` is named twice"),
        ("[[traffic]]\ncount = 1\nfrom = [\"a\"]\nto = [\"a\"]", "line 10, column 1", "no path leads from any node"),
        ("[[traffic]]\ncount = 2\ndistinct = true", "line 10, column 1", "make up at most 1 pairs"),
        ("[[traffic]]\ncount = 3\ndistinct = \"sources\"", "line 10, column 1", "there are 2 nodes to be the source"),
        ("[[traffic]]\ncount = 1\ndistinct = \"targets\"", "line 12, column 12", "it is true, false or \"sources\""),
        ("[[traffic]]\ncount = 1\ndistinct = 1", "line 12, column 12", "expected true, false or \"sources\""),
        (
            "[[traffic]]\ncount = 2\ndepartures = { from = \"1 s\", uniform = \"0 s\" }",
            "line 12, column 40",
            "it must be over 0",
        ),
        ("[[traffic]]\ncount = 2\ndepartures = { from = \"1 s\" }", "line 12, column 14", "`uniform` is missing"),
        (
            "[[traffic]]\ncount = 2\nlifetime = \"1 s\"\ndepartures = { from = \"1 s\", uniform = \"1 s\" }",
            "line 13, column 14",
            "both `departures` and a `lifetime`; leave one out",
        ),
        (
            "[[traffic]]\ncount = 2\nstart = \"2 s\"\ndepartures = { from = \"1 s\", uniform = \"1 s\" }",
            "line 13, column 14",
            "connection `t2` begins at 2 s, and all are to have ended by 2 s; let them end later or begin earlier",
        ),
        ("[[traffic]]\ncount = 2\narrivals = \"soon\"", "line 12, column 12", "arrivals cannot be `soon`"),
        ("[[traffic]]\ncount = 2\nlifetime = \"0 s\"", "line 12, column 12", "it must be over 0"),
        (
            "[[traffic]]\ncount = 2\nname = \"a>b\"\n[[traffic]]\ncount = 2\nname = \"a>b\"",
            "line 13",
            "the name is already taken",
        ),
        ("[[traffic]]\ncount = 2\nweight = -1", "line 10, column 1", "weight is -1"),
    ]);
}

/// Keys behind the pair, the place of the mistake, and the reason told.
fn assert_refused(mistakes: &[(&str, &str, &str)]) {
    for (keys, place, reason) in mistakes {
        let said = refused(&format!("{PAIR}{keys}\n"));
        assert!(said.starts_with(place) && said.contains(reason), "{keys}\n{said}");
    }
}

#[test]
fn what_can_be_solved_but_not_run_is_refused() {
    let said = |from: &str, to: &str, behind: &str| {
        assert!(PAIR.contains(from));
        let text = format!("{}{behind}\n", PAIR.replacen(from, to, 1));
        assert!(read(&text).is_ok(), "{text}");
        refused(&text)
    };
    let capacity = "capacity = \"8 Mbit/s\"";
    assert_eq!(
        said(capacity, "capacity = \"0.5 bit/s\"", ""),
        "line 1, column 1: link `l`: capacity is 0.5 bit/s; a run takes 0, 1 to 1e15, or \"unlimited\""
    );
    let changes = "[defaults.link]\ncapacity_changes = [{ at = \"1 s\", capacity = \"1e16 bit/s\" }]";
    assert!(said("", "", changes).contains("capacity is 1e16 bit/s"));
    assert!(
        said(capacity, &format!("{capacity}\ntwo_way = false"), "").contains("link `l` has no way back for replies")
    );
    assert!(said("", "", "demand = \"0 bit/s\"").contains("demand is 0 bit/s; a run takes 1 to 1e15"));
    assert!(said("", "", "weight = 0.0001").contains("weight times qos is 0.0001"));
    // Two links side by side make two paths.
    let beside = "[[link]]\nsource = \"a\"\ntarget = \"b\"\ncapacity = \"8 Mbit/s\"\ndelay = \"1 ms\"\n";
    let one_path = "connection `a>b`: it has 2 paths; SLBN serves one path, so it must have one (paths = 1)";
    let own = said("", "", &format!("protocol = \"slbn\"\npaths = 4\n{beside}"));
    assert_eq!(own, format!("line 7, column 1: {one_path}"));
    let common = said("", "", &format!("{beside}[defaults.connection]\nprotocol = \"slbn\"\npaths = 4"));
    assert_eq!(common, format!("line 7, column 1: {one_path}"));
    let traffic = format!("{beside}[[traffic]]\ncount = 3\nprotocol = \"slbn\"\npaths = {{ least = 2, most = 4 }}");
    assert!(said("", "", &traffic).starts_with("line 15, column 1: connection `t1`: it has 2 paths; SLBN serves"));
    assert!(said(capacity, "capacity = \"unlimited\"", "").contains("no link that is always limited"));
    let later = "[defaults.link]\ncapacity_changes = [{ at = \"1 s\", capacity = \"unlimited\" }]";
    assert!(said("", "", later).contains("no link that is always limited"));
    assert!(
        plan(
            &PAIR
                .replace(capacity, "capacity = \"unlimited\"\n")
                .replace("[[connection]]", "[[connection]]\ndemand = \"1 Mbit/s\"")
        )
        .is_ok()
    );
    assert!(said("delay = \"1 ms\"", "delay = \"499 ns\"", "").contains("a path takes 998 ns there and back"));
    assert!(plan(&PAIR.replace("1 ms", "500 ns")).is_ok());
    let lone = "[[node]]\nname = \"c\"\n[[connection]]\nsource = \"a\"\ntarget = \"c\"";
    assert!(said("", "", lone).contains("connection `a>c`: no path leads from `a` to `c`"));
    assert!(said("", "", "[defaults.link]\nqueue = \"999 B\"").contains("does not hold a packet of 1000 B"));
    let control = "[defaults.link]\nqueue = \"63 B\"\n[run]\ndata = false\ncontrol = \"in-band\"";
    assert!(said("", "", control).contains("does not hold a packet of 64 B"));
    let recorded = said("", "", "[run]\nsample = \"100 ns\"");
    // The time, 2 and 1 of the connection, 2 of its subflow, 5 of each of 2 links and 3 of the whole, at 10^8 samples and
    // at the beginning.
    assert!(recorded.starts_with("line 10, column 1: 21 values at each of 100000001 samples"), "{recorded}");
    assert!(plan(&format!("{PAIR}[run]\nsample = \"100 ns\"\nrecord = [\"grants\"]\n")).is_ok());
    // The time, seven numbers of the errors of connections, seven of those of bottlenecks, and the longest queue.
    let errors = said("", "", "[run]\nsample = \"100 ns\"\nrecord = [\"errors\"]");
    assert!(errors.starts_with("line 10, column 1: 16 values at each of"), "{errors}");
}

#[test]
fn a_path_has_at_most_128_links_and_a_demand_counts_as_one() {
    let line = |links: usize, demand: &str| {
        let link = |n: usize| {
            format!("[[link]]\nsource = \"n{n}\"\ntarget = \"n{}\"\ncapacity = \"1 Mbit/s\"\ndelay = \"1 ms\"\n", n + 1)
        };
        let links_text: String = (0..links).map(link).collect();
        format!("{links_text}[[connection]]\nsource = \"n0\"\ntarget = \"n{links}\"\n{demand}\n")
    };
    assert!(plan(&line(128, "")).is_ok());
    assert!(refused(&line(129, "")).contains("a path has 129 links; a run takes up to 128"));
    assert!(plan(&line(127, "demand = \"1 Mbit/s\"")).is_ok());
    assert!(refused(&line(128, "demand = \"1 Mbit/s\"")).contains("a run takes up to 127"));
}

#[test]
fn a_long_value_from_outside_is_repeated_in_part() {
    let long = format!("[{}]", "1, ".repeat(1000));
    let error = Scenario::parse_with("", &[("link.0.x".to_owned(), long)]).map(|_| ()).unwrap_err().to_string();
    assert!(error.len() < 400, "{error}");
}
