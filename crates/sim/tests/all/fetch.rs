//! Targets that ask several sources for data: what they get, and what happens when sources and paths fail.

use crate::common::scenario::{mistake, planned};
use crate::common::{MEGA, run};
use anabranch_proto::Protocol;
use anabranch_proto::protocols::PROTOCOLS;
use anabranch_sim::{Outcome, simulate_on};

/// Two sources of 10 Mbit/s each, and what a connection and the run say.
fn two_sources(connection: &str, rest: &str) -> String {
    format!(
        "[[link]]\nsource = \"p1\"\ntarget = \"s\"\ncapacity = \"10 Mbit/s\"\ndelay = \"5 ms\"\nqueue = \"30 packets\"\n\
         [[link]]\nsource = \"p2\"\ntarget = \"s\"\ncapacity = \"10 Mbit/s\"\ndelay = \"5 ms\"\nqueue = \"30 packets\"\n\
         [[connection]]\nname = \"film\"\ntarget = \"s\"\npaths = 1\n{connection}\n{rest}"
    )
}

fn outcome(text: &str) -> Outcome {
    let plan = planned(text).unwrap();
    let outcome = run(&plan);
    assert_eq!(mistake(&outcome), None, "{text}");
    outcome
}

/// Bytes that arrived for the first time, over all paths.
fn delivered(outcome: &Outcome) -> u64 {
    outcome.subflows.iter().map(|s| s.delivered).sum()
}

/// All protocols that keep windows, with one source or two as they serve.
fn fetching() -> impl Iterator<Item = (&'static str, &'static str)> {
    PROTOCOLS.iter().filter_map(|(name, ..)| {
        let capabilities = Protocol::named(name).unwrap().capabilities();
        let sources = if capabilities.serves_many_paths() { "[\"p1\", \"p2\"]" } else { "[\"p1\"]" };
        capabilities.keeps_windows().then_some((*name, sources))
    })
}

#[test]
fn every_window_protocol_fetches_all_and_no_more() {
    // 5 MB in packets of 1,000 bytes: 4 s over one path of 10 Mbit/s, 2 s over two.
    for (name, sources) in fetching() {
        let keys = format!("sources = {sources}\nprotocol = \"{name}\"\namount = \"5 MB\"");
        let outcome = outcome(&two_sources(&keys, "[run]\nduration = \"20 s\""));
        let (paths, took) = (outcome.subflows.len() as f64, outcome.connections[0].finished_s);
        assert_eq!(delivered(&outcome), 5_000_000, "{name}");
        assert!((4.0 / paths..6.0 / paths).contains(&took), "{name} took {took} s over {paths} paths");
        assert_eq!(outcome.under_way, 0, "{name} leaves something behind");
        for subflow in &outcome.subflows {
            assert_eq!(subflow.sent, subflow.delivered + subflow.lost + subflow.repeated, "{name}");
        }
    }
}

#[test]
fn requests_and_data_meet_their_fates_and_all_arrives() {
    // One in twenty lost each way, one in ten late, one in a hundred twice.
    let faults = "faults = { loss = 0.05, reorder = 0.1, late = \"20 ms\", duplicate = 0.01 }";
    for (name, sources) in fetching() {
        let keys = format!("sources = {sources}\nprotocol = \"{name}\"\namount = \"300 kB\"");
        let rest = format!("[defaults.link]\n{faults}\n[run]\nduration = \"600 s\"");
        let outcome = outcome(&two_sources(&keys, &rest));
        assert_eq!((delivered(&outcome), outcome.under_way), (300_000, 0), "{name}");
        for subflow in &outcome.subflows {
            // What came twice counts as repeated, however it came to be there.
            let (fates, once) = (subflow.delivered + subflow.lost + subflow.repeated, subflow.delivered + subflow.lost);
            assert!(once <= subflow.sent && subflow.sent <= fates, "{name}");
        }
    }
}

#[test]
fn without_a_loss_little_comes_twice() {
    // Queues of 200 packets hold what slow start brings of 200 kB, so nothing is lost. Only at the end a path asks for what
    // the other would bring later: up to ten packets of 1,000 bytes, and none where there is no other.
    for (name, sources) in fetching() {
        let keys = format!("sources = {sources}\nprotocol = \"{name}\"\namount = \"200 kB\"");
        let text = two_sources(&keys, "[run]\nduration = \"20 s\"").replace("30 packets", "200 packets");
        let subflows = outcome(&text).subflows;
        assert!(subflows.iter().all(|s| s.lost == 0), "{name}");
        let most = if subflows.len() > 1 { 10_000 } else { 0 };
        let repeated: u64 = subflows.iter().map(|s| s.repeated).sum();
        assert!(repeated <= most, "{name}: {repeated} B");
    }
}

#[test]
fn it_is_as_fast_as_all_paths_together() {
    // The most that fits through the network: 10 + 10 Mbit/s. 50 MB take 20 s; a tenth more for slow start and losses.
    let keys = "sources = [\"p1\", \"p2\"]\nprotocol = \"nmcc\"\namount = \"50 MB\"";
    let took = outcome(&two_sources(keys, "[run]\nduration = \"40 s\"")).connections[0].finished_s;
    assert!((20.0..22.0).contains(&took), "{took} s");
}

#[test]
fn a_source_that_dies_leaves_its_part_to_the_others() {
    // 10 MB: 4 s of both sources. One falls silent at 2 s: half is there, the rest takes 4 s from the other.
    let keys = "sources = [\"p1\", { node = \"p2\", stop = \"2 s\" }]\nprotocol = \"nmcc\"\namount = \"10 MB\"";
    let outcome = outcome(&two_sources(keys, "[run]\nduration = \"20 s\""));
    assert_eq!(delivered(&outcome), 10_000_000);
    let took = outcome.connections[0].finished_s;
    assert!((6.0..6.6).contains(&took), "{took} s");
}

#[test]
fn a_source_that_wakes_later_is_taken_up() {
    let keys = "sources = [\"p1\", { node = \"p2\", start = \"3 s\" }]\nprotocol = \"nmcc\"";
    let outcome = outcome(&two_sources(keys, "[run]\nduration = \"60 s\"\nwarm_up = \"20 s\""));
    let late = outcome.subflows[1].delivered_warm as f64 * 8.0 / 40.0 / MEGA;
    assert!(late > 9.0, "{late} Mbit/s");
}

/// Delivered by 10 MB when the link of the second source carries nothing from 2 to 30 s.
fn over_a_failure(assistance: &str) -> f64 {
    let changes =
        "capacity_changes = [{ at = \"2 s\", capacity = \"0 bit/s\" }, { at = \"30 s\", capacity = \"10 Mbit/s\" }]";
    let text = two_sources(
        "sources = [\"p1\", \"p2\"]\nprotocol = \"nmcc\"\namount = \"10 MB\"",
        "[run]\nduration = \"60 s\"",
    );
    let (before, after) = text.split_once("[[connection]]").unwrap();
    let outcome = outcome(&format!("{before}{changes}\n{assistance}\n[[connection]]{after}"));
    assert_eq!(delivered(&outcome), 10_000_000);
    outcome.connections[0].finished_s
}

#[test]
fn a_path_that_fails_leaves_its_part_to_the_others_told_or_not() {
    // As if its source died; who is told 10 ms later loses less.
    let (untold, told) = (over_a_failure(""), over_a_failure("[assistance]\nfailures_after = \"10 ms\""));
    assert!((6.0..6.6).contains(&untold) && (6.0..6.3).contains(&told), "{untold} s, {told} s");
}

#[test]
fn who_is_told_takes_a_path_up_again() {
    let changes =
        "capacity_changes = [{ at = \"2 s\", capacity = \"0 bit/s\" }, { at = \"4 s\", capacity = \"10 Mbit/s\" }]";
    let text =
        two_sources("sources = [\"p1\", \"p2\"]\nprotocol = \"nmcc\"", "[run]\nduration = \"12 s\"\nwarm_up = \"6 s\"");
    let (before, after) = text.split_once("[[connection]]").unwrap();
    let told = "[assistance]\nfailures_after = \"10 ms\"";
    let outcome = outcome(&format!("{before}{changes}\n{told}\n[[connection]]{after}"));
    let again = outcome.subflows[1].delivered_warm as f64 * 8.0 / 6.0 / MEGA;
    assert!(again > 9.0, "{again} Mbit/s");
}

#[test]
fn a_subscription_takes_its_way_first() {
    // s asks r (5 + 3 ms), r asks m (2 ms), m answers s (2 + 3 + 5 ms): 20 ms; then a packet takes 10 ms there and back,
    // and 0.8 ms and 32 us to be sent.
    let more = "[[link]]\nsource = \"p1\"\ntarget = \"r\"\ncapacity = \"10 Mbit/s\"\ndelay = \"3 ms\"\n\
                [[link]]\nsource = \"r\"\ntarget = \"m\"\ncapacity = \"10 Mbit/s\"\ndelay = \"2 ms\"\n";
    let keys = "sources = [\"p1\"]\nprotocol = \"reno\"\namount = \"1 kB\"";
    let took = |rest: &str| {
        let rest = format!("{more}[run]\nduration = \"1 s\"\ntransport = {{ jitter = 0 }}\n{rest}");
        outcome(&two_sources(keys, &rest)).connections[0].finished_s
    };
    let (plain, assisted) = (took(""), took("[assistance]\nrendezvous = \"r\"\nmanager = \"m\""));
    assert!((plain - 0.010_832).abs() < 1e-9, "{plain}");
    assert!((assisted - plain - 0.020).abs() < 1e-9, "{assisted}");
}

#[test]
fn any_number_of_threads_fetches_the_same_bits() {
    let link = |n: usize| {
        let next = (n + 1) % 6;
        let rest = "capacity = \"10 Mbit/s\"\ndelay = \"3 ms\"\nqueue = \"20 packets\"\n";
        format!("[[link]]\nsource = \"n{n}\"\ntarget = \"n{next}\"\n{rest}")
    };
    let connection = |n: usize| {
        let (one, two) = ((n + 2) % 6, (n + 3) % 6);
        let rest = "paths = 2\nprotocol = \"nmcc\"\n";
        format!("[[connection]]\nname = \"c{n}\"\nsources = [\"n{one}\", \"n{two}\"]\ntarget = \"n{n}\"\n{rest}")
    };
    let mut text: String = (0..6).map(link).chain((0..6).map(connection)).collect();
    text +=
        "[run]\nduration = \"1 s\"\nrecord = [\"connections\", \"subflows\", \"windows\", \"links\", \"fairness\"]\n";
    let plan = planned(&text).unwrap();
    let alone = format!("{:?}", simulate_on(&plan, 1, &mut |_| true));
    for threads in [2, 3] {
        let mut together = simulate_on(&plan, threads, &mut |_| true);
        assert!(std::mem::replace(&mut together.threads, 1) > 1);
        assert!(alone == format!("{together:?}"), "on {threads} threads");
    }
}

#[test]
fn groups_follow_the_paths_that_are_open() {
    // Two paths over the same link and one apart. NMCC halves the growth of the two and leaves the third alone; without
    // the network's help all three are one.
    let text = |protocol: &str| {
        format!(
            "[[link]]\nsource = \"p1\"\ntarget = \"x\"\ncapacity = \"100 Mbit/s\"\ndelay = \"1 ms\"\n\
             [[link]]\nsource = \"p2\"\ntarget = \"x\"\ncapacity = \"100 Mbit/s\"\ndelay = \"1 ms\"\n\
             [[link]]\nsource = \"x\"\ntarget = \"s\"\ncapacity = \"20 Mbit/s\"\ndelay = \"5 ms\"\nqueue = \"30 packets\"\n\
             [[link]]\nsource = \"p3\"\ntarget = \"s\"\ncapacity = \"20 Mbit/s\"\ndelay = \"5 ms\"\nqueue = \"30 packets\"\n\
             [[connection]]\nsources = [\"p1\", \"p2\", \"p3\"]\ntarget = \"s\"\npaths = 1\n{protocol}\n\
             [[connection]]\nname = \"beside\"\nsources = [\"p1\"]\ntarget = \"s\"\npaths = 1\nprotocol = \"reno\"\n\
             [[connection]]\nname = \"beside the third\"\nsources = [\"p3\"]\ntarget = \"s\"\npaths = 1\nprotocol = \"reno\"\n\
             [run]\nduration = \"300 s\"\nwarm_up = \"60 s\"\n"
        )
    };
    let share = |protocol: &str| {
        let outcome = outcome(&text(protocol));
        let of = |subflow: usize| outcome.subflows[subflow].delivered_warm as f64;
        ((of(0) + of(1)) / (of(0) + of(1) + of(3)), of(2) / (of(2) + of(4)))
    };
    let told = share("protocol = \"nmcc\"");
    let untold = share("protocol = { nmcc = { assistance = false } }");
    // m = 2 and 1, or 3 for all; windows go with the root of 1 / m where losses do not come in step.
    assert!((0.55..0.65).contains(&told.0) && (0.48..0.52).contains(&told.1), "{told:?}");
    assert!((0.50..0.59).contains(&untold.0) && (0.34..0.43).contains(&untold.1), "{untold:?}");
}
