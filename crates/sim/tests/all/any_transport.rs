//! Whatever `[run.transport]` and the connections under it say, it is refused or it runs: no panic, time goes on, and no
//! number is no number.

use std::fmt::Write;

use crate::common::scenario::planned;
use anabranch_plan::Plan;
use anabranch_proto::Protocol;
use anabranch_proto::protocols::PROTOCOLS;
use anabranch_sim::{Outcome, simulate};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

/// So many events are enough to see what happens.
const MOST_EVENTS: u64 = 1 << 19;

/// More at an instant than all first windows come to, over all links.
const MOST_AT_ONCE: u64 = 1 << 18;

/// Those that keep windows.
fn protocols() -> Vec<&'static str> {
    let keeps = |name: &&str| Protocol::named(name).unwrap().capabilities().keeps_windows();
    PROTOCOLS.iter().map(|(name, ..)| *name).filter(keeps).collect()
}

fn one_of(values: &'static [&'static str]) -> impl Strategy<Value = &'static str> {
    prop::sample::select(values)
}

/// `[run]` for a run of `duration`, and `[run.transport]`.
fn run(duration: &'static str, sample: &'static str) -> impl Strategy<Value = String> {
    let waits = (
        one_of(&["0 s", "1 ps", "200 ms", "4800 h"]),
        one_of(&["1 us", "1 us", "1 s", "1 s", "4800 h"]),
        one_of(&["0 s", "40 ms", "40 ms", "4800 h"]),
    );
    let sizes = (
        one_of(&["1", "1.5", "10", "5000"]),
        one_of(&["1", "2", "32"]),
        one_of(&["1 B", "40 B", "65535 B"]),
        prop::option::of(one_of(&["40 B", "1 kB", "65535 B", "1 MB", "1 TB"])),
    );
    let assistance = one_of(&[
        "",
        "[assistance]\nfailures_after = \"0 s\"\n",
        "[assistance]\nfailures_after = \"1 ms\"\nsharing = \"nodes\"\nrendezvous = \"x\"\nmanager = \"y\"\n",
        "[relays]\nbuffer = \"70 kB\"\nmarking = { share = 0.5 }\n",
        "[filters]\nbits = 8\nones = 1\ntables = 1\n",
    ]);
    let rest =
        (one_of(&["lowest-rtt", "round-robin", "redundant"]), one_of(&["0", "1", "1", "1e6"]), any::<bool>(), 0..9u32);
    (waits, sizes, rest, assistance).prop_map(move |(waits, sizes, (scheduler, jitter, ecn, seed), assistance)| {
        let buffer = sizes.3.map_or_else(String::new, |buffer| format!("buffer = \"{buffer}\"\n"));
        format!(
            "[run]\nduration = \"{duration}\"\nsample = \"{sample}\"\nseed = {seed}\n\
             record = [\"connections\", \"subflows\", \"windows\", \"links\", \"fairness\"]\n\
             [run.transport]\nleast_wait = \"{}\"\nfirst_wait = \"{}\"\nack_delay = \"{}\"\nfirst_window = {}\n\
             ack_every = {}\nack = \"{}\"\n{buffer}scheduler = \"{scheduler}\"\njitter = {jitter}\necn = {ecn}\n{assistance}",
            waits.0, waits.1, waits.2, sizes.0, sizes.1, sizes.2
        )
    })
}

/// The keys of a link but for its ends.
fn link(rates: &'static [&'static str], delays: &'static [&'static str]) -> impl Strategy<Value = String> {
    let queue = one_of(&["unlimited", "1 packets", "2 packets", "100 packets", "70 kB"]);
    let extra = one_of(&[
        "",
        "",
        "discipline = \"codel\"\n",
        "discipline = \"ecn-step\"\n",
        "trace = { opportunities_ms = [0, 1, 1, 9] }\n",
        "trace = { opportunities_ms = [30], opportunity = \"100 B\" }\ndiscipline = \"codel\"\n",
        "faults = { loss = 0.5, duplicate = 0.5 }\n",
        "faults = { reorder = 0.9, late = \"1 h\" }\n",
        "capacity_changes = [{ at = \"30 ms\", capacity = \"0 bit/s\" }]\n",
        "capacity_changes = [{ at = \"30 ms\", capacity = \"1 bit/s\" }, { at = \"40 ms\", capacity = \"1e15 bit/s\" }]\n",
    ]);
    (one_of(rates), one_of(delays), queue, extra).prop_map(|(rate, delay, queue, extra)| {
        format!("capacity = \"{rate}\"\ndelay = \"{delay}\"\nqueue = \"{queue}\"\n{extra}")
    })
}

/// The keys of a connection but for its ends.
fn connection() -> impl Strategy<Value = String> {
    let packet = one_of(&["40 B", "1000 B", "1000 B", "65535 B"]);
    let extra = one_of(&[
        "",
        "",
        "amount = \"1 B\"\n",
        "amount = \"300 kB\"\n",
        "demand = \"1 bit/s\"\n",
        "demand = \"1e15 bit/s\"\ndemand_changes = [{ at = \"10 ms\", demand = \"1 bit/s\" }]\n",
        "demand = \"1 bit/s\"\ndemand_changes = [{ at = \"10 ms\", demand = \"1e15 bit/s\" }]\n",
        "stop = \"60 ms\"\n",
    ]);
    let times = one_of(&[
        "",
        "",
        "path_times = [{ start = \"1 ps\" }, { stop = \"20 ms\" }]\n",
        "path_times = [{ start = \"20 ms\", stop = \"40 ms\" }, { start = \"50 ms\", stop = \"50.000001 ms\" }]\n",
    ]);
    // Who sends, and the node before y on the second way.
    let sources = prop::sample::select(vec![
        ("source = \"a\"\n", "\"a\", "),
        ("source = \"a\"\n", "\"a\", "),
        ("sources = [\"a\"]\n", "\"a\", "),
        ("sources = [\"a\", { node = \"y\", start = \"10 ms\", stop = \"30 ms\" }]\n", ""),
    ]);
    let loops = (prop::bool::weighted(0.3), prop::sample::select(protocols()));
    let drawn = (prop::sample::select(protocols()), packet, extra, times, sources, loops);
    drawn.prop_map(|(protocol, packet, extra, times, (sources, before), (is_divided, second))| {
        if is_divided {
            return format!(
                "source = \"a\"\nrelays = [\"x\"]\nloops = [\"{protocol}\", \"{second}\"]\n\
                 paths = [[\"a\", \"x\", \"b\"]]\npacket = \"{packet}\"\n{extra}"
            );
        }
        let many = Protocol::named(protocol).unwrap().capabilities().serves_many_paths();
        let second = if many { format!(", [{before}\"y\", \"b\"]") } else { String::new() };
        let times = if many { times } else { "" };
        format!(
            "{sources}protocol = \"{protocol}\"\npaths = [[\"a\", \"x\", \"b\"]{second}]\n\
             packet = \"{packet}\"\n{extra}{times}"
        )
    })
}

/// Two ways from a to b, one of which may take a million times as long as the other.
fn scenario(
    duration: &'static str,
    sample: &'static str,
    rates: &'static [&'static str],
    delays: &'static [&'static str],
) -> impl Strategy<Value = String> {
    let links = [link(rates, delays), link(rates, delays), link(rates, delays), link(rates, delays)];
    (run(duration, sample), links, prop::collection::vec(connection(), 1..4)).prop_map(|(run, links, connections)| {
        let mut text = run;
        for ((source, target), keys) in [("a", "x"), ("x", "b"), ("a", "y"), ("y", "b")].iter().zip(links) {
            write!(text, "[[link]]\nsource = \"{source}\"\ntarget = \"{target}\"\n{keys}").unwrap();
        }
        for (number, keys) in connections.iter().enumerate() {
            write!(text, "[[connection]]\nname = \"c{number}\"\ntarget = \"b\"\n{keys}").unwrap();
        }
        text
    })
}

/// All sorts of links for a moment.
fn short() -> impl Strategy<Value = String> {
    let rates: &[_] = &["0 bit/s", "1 bit/s", "3 Mbit/s", "10 Mbit/s", "80 Mbit/s", "1e15 bit/s", "unlimited"];
    scenario("150 ms", "10 ms", rates, &["1 us", "1 ms", "10 ms", "1 s", "24 h"])
}

/// Slow or long links for as long as a run may take.
fn long() -> impl Strategy<Value = String> {
    let rates: &[_] = &["0 bit/s", "1 bit/s", "100 bit/s", "1 kbit/s"];
    scenario("4800 h", "240 h", rates, &["1 ms", "1000 s", "24 h"])
}

/// The first thing in an outcome that is not as numbers should be.
fn mistake(plan: &Plan, outcome: &Outcome) -> Option<&'static str> {
    let samples = &outcome.samples;
    // No window is less than the least packet, and no round trip less than a microsecond.
    if !samples.subflow_window_bytes.iter().all(|x| x.is_nan() || (x.is_finite() && *x >= 40.0)) {
        return Some("a window");
    }
    if !samples.subflow_rtt_s.iter().all(|x| x.is_nan() || (x.is_finite() && *x > 0.9e-6)) {
        return Some("a round trip");
    }
    let whole = |(c, transfer): (usize, &anabranch_plan::Transfer)| {
        let own = outcome.subflows.iter().filter(|s| s.connection as usize == c);
        transfer.amount.is_none_or(|amount| own.map(|s| s.delivered).sum::<u64>() <= amount.0)
    };
    if !plan.transfers.iter().enumerate().all(whole) {
        return Some("an amount");
    }
    crate::common::scenario::mistake(outcome)
}

/// Runs a scenario, if it is accepted.
fn check(text: &str) {
    let Ok(plan) = planned(text) else { return };
    let mut last = (0.0, 0);
    let outcome = simulate(&plan, &mut |progress| {
        if progress.time_s > last.0 {
            last = (progress.time_s, progress.events);
        }
        assert!(progress.events - last.1 < MOST_AT_ONCE, "time stands still at {} s: {text}", last.0);
        progress.events < MOST_EVENTS
    });
    if let Some(mistake) = mistake(&plan, &outcome) {
        panic!("{mistake}: {text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn what_is_accepted_runs(text in short()) {
        check(&text);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn what_is_accepted_runs_for_200_days(text in long()) {
        check(&text);
    }
}

#[test]
fn most_of_what_is_drawn_is_accepted() {
    let mut runner = TestRunner::deterministic();
    let draws = (0..300).map(|_| short().new_tree(&mut runner).unwrap().current());
    let refused: Vec<String> = draws.filter_map(|text| planned(&text).err()).collect();
    assert!(refused.len() <= 75, "{} of 300 are refused: {refused:#?}", refused.len());
}

#[test]
fn absurd_runs_come_to_their_end() {
    // Duration, link of the first way, delay of the second, keys of the connection, and of the transport.
    let cases = [
        ("100 h", "capacity = \"0 bit/s\"\ndelay = \"1 ms\"", "1 ms", "", ""),
        ("4800 h", "capacity = \"1 bit/s\"\ndelay = \"1 ms\"", "1 ms", "packet = \"65535 B\"", "jitter = 1e6"),
        // Five round trips: windows double no more often.
        ("240 h", "capacity = \"1e15 bit/s\"\ndelay = \"24 h\"", "24 h", "", "first_wait = \"4800 h\""),
        ("10 s", "capacity = \"1 Mbit/s\"\ndelay = \"1 us\"", "1 s", "", "buffer = \"1000 B\""),
        ("4800 h", "capacity = \"1 Mbit/s\"\ndelay = \"1 ms\"", "1 ms", "demand = \"1 bit/s\"", "least_wait = \"0 s\""),
        ("1 s", "capacity = \"1 Mbit/s\"\ndelay = \"1 h\"", "1 h", "amount = \"1 MB\"", "first_window = 1048576"),
        ("1 s", "capacity = \"1 Mbit/s\"\ndelay = \"1 h\"", "1 ms", "amount = \"1 MB\"", "first_wait = \"1 us\""),
    ];
    for protocol in protocols() {
        let many = Protocol::named(protocol).unwrap().capabilities().serves_many_paths();
        let ways = if many { "[[\"a\", \"x\", \"b\"], [\"a\", \"y\", \"b\"]]" } else { "[[\"a\", \"x\", \"b\"]]" };
        for (duration, link, delay, connection, transport) in cases {
            let text = format!(
                "[run]\nduration = \"{duration}\"\nrecord = [\"connections\", \"subflows\", \"windows\", \"links\", \"fairness\"]\n\
                 [run.transport]\n{transport}\n\
                 [defaults.link]\nqueue = \"1 packets\"\n\
                 [[link]]\nsource = \"a\"\ntarget = \"x\"\n{link}\n\
                 [[link]]\nsource = \"x\"\ntarget = \"b\"\ncapacity = \"unlimited\"\n\
                 [[link]]\nsource = \"a\"\ntarget = \"y\"\n{link}\n\
                 [[link]]\nsource = \"y\"\ntarget = \"b\"\ncapacity = \"unlimited\"\ndelay = \"{delay}\"\n\
                 [[connection]]\nsource = \"a\"\ntarget = \"b\"\nprotocol = \"{protocol}\"\npaths = {ways}\n{connection}\n"
            );
            let plan = planned(&text).unwrap_or_else(|reason| panic!("{reason}: {text}"));
            let outcome = simulate(&plan, &mut |progress| progress.events < 1 << 24);
            assert!(outcome.is_whole, "it takes over {} events: {text}", outcome.events);
            assert_eq!(mistake(&plan, &outcome), None, "{text}");
        }
    }
}
