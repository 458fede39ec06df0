//! Connections in loops: what comes over one goes on over the next, all of it and no faster than that takes it.

use crate::common::scenario::{mistake, planned};
use crate::common::{MEGA, run};
use anabranch_proto::Protocol;
use anabranch_proto::protocols::PROTOCOLS;
use anabranch_sim::{Outcome, simulate_on};
use std::fmt::Write;

fn outcome(text: &str) -> Outcome {
    let plan = planned(text).unwrap();
    let outcome = run(&plan);
    assert_eq!(mistake(&outcome), None, "{text}");
    outcome
}

/// A link of so many Mbit/s and 5 ms.
fn link(source: &str, target: &str, mbps: f64, keys: &str) -> String {
    format!(
        "[[link]]\nsource = \"{source}\"\ntarget = \"{target}\"\ncapacity = \"{mbps} Mbit/s\"\ndelay = \"5 ms\"\n\
         queue = \"50 packets\"\n{keys}\n"
    )
}

/// Two links of so many Mbit/s, with a relay between them.
fn chain(first: f64, second: f64, keys: &str, rest: &str) -> String {
    link("s", "r", first, "")
        + &link("r", "d", second, "")
        + &format!("[[connection]]\nname = \"film\"\nsource = \"s\"\ntarget = \"d\"\nrelays = [\"r\"]\n{keys}\n{rest}")
}

fn delivered(outcome: &Outcome) -> Vec<u64> {
    outcome.subflows.iter().map(|s| s.delivered).collect()
}

/// All protocols that keep windows.
fn windows() -> impl Iterator<Item = &'static str> {
    PROTOCOLS
        .iter()
        .map(|(name, ..)| *name)
        .filter(|name| Protocol::named(name).unwrap().capabilities().keeps_windows())
}

#[test]
fn every_window_protocol_brings_all_over_two_loops() {
    // 3 MB at 10 Mbit/s are 2.4 s, over both loops at once.
    for name in windows() {
        let keys = format!("protocol = \"{name}\"\npaths = 1\namount = \"3 MB\"");
        let outcome = outcome(&chain(20.0, 10.0, &keys, "[run]\nduration = \"20 s\""));
        assert_eq!((delivered(&outcome), outcome.under_way), (vec![3_000_000; 2], 0), "{name}");
        let took = outcome.connections[1].finished_s;
        assert!((2.4..3.6).contains(&took), "{name} took {took} s");
    }
}

#[test]
fn nothing_is_lost_on_the_way_where_links_lose() {
    let faults = "[defaults.link]\nfaults = { loss = 0.03, reorder = 0.1, late = \"20 ms\", duplicate = 0.01 }";
    for name in windows() {
        let keys = format!("protocol = \"{name}\"\npaths = 1\namount = \"200 kB\"");
        let rest = format!("[relays]\nbuffer = \"3 kB\"\n{faults}\n[run]\nduration = \"600 s\"");
        let outcome = outcome(&chain(10.0, 10.0, &keys, &rest));
        assert_eq!((delivered(&outcome), outcome.under_way), (vec![200_000; 2], 0), "{name}");
    }
}

#[test]
fn a_full_relay_stops_the_loop_before_and_starts_it_again() {
    // The second loop is a tenth as fast. Of 2 MB it has brought 1.25 after 10 s; 50 kB may wait at the relay, and 50
    // packets of 1,000 bytes on the second link, which count as taken: the first loop is that far ahead, and no further.
    let text = chain(
        10.0,
        1.0,
        "protocol = \"reno\"\namount = \"2 MB\"",
        "[relays]\nbuffer = \"50 kB\"\nmarking = \"never\"\n[run]\nduration = \"10 s\"",
    );
    let [first, second] = delivered(&outcome(&text))[..] else { panic!("it has two loops") };
    assert!((1_150_000..1_250_000).contains(&second), "{second}");
    assert!((40_000..=110_000).contains(&(first - second)), "{first} {second}");
    // All of it takes 16 s over the second, and the first ends with what there is room for.
    let text = text.replace("duration = \"10 s\"", "duration = \"30 s\"");
    let outcome = outcome(&text);
    let took = [0, 1].map(|c| outcome.connections[c].finished_s);
    assert!((16.0..17.0).contains(&took[1]) && (14.5..16.5).contains(&took[0]), "{took:?}");
}

#[test]
fn loops_that_end_in_one_share_it_by_weight() {
    // Two loops of 10 Mbit/s into one of 6: 3 and 3, or 2 and 4.
    let text = |after: &str| {
        link("a", "r", 10.0, "")
            + &link("b", "r", 10.0, "")
            + &link("r", "d", 6.0, "")
            + "[defaults.connection]\nprotocol = \"reno\"\n\
               [[connection]]\nname = \"a\"\nsource = \"a\"\ntarget = \"r\"\n\
               [[connection]]\nname = \"b\"\nsource = \"b\"\ntarget = \"r\"\n"
            + &format!("[[connection]]\nsource = \"r\"\ntarget = \"d\"\nafter = {after}\n")
            + "[relays]\nbuffer = \"60 kB\"\n[run]\nduration = \"60 s\"\nwarm_up = \"10 s\""
    };
    for (after, wanted) in
        [("[\"a\", \"b\"]", [3.0, 3.0, 6.0]), ("[\"a\", { connection = \"b\", weight = 2 }]", [2.0, 4.0, 6.0])]
    {
        let outcome = outcome(&text(after));
        let rates: Vec<f64> = outcome.subflows.iter().map(|s| s.delivered_warm as f64 * 8.0 / 50.0 / MEGA).collect();
        assert!(rates.iter().zip(wanted).all(|(rate, wanted)| (rate / wanted - 1.0).abs() < 0.03), "{rates:?}");
    }
}

/// Sources of 500 Mbit/s under a protocol, each with the relay where it ends, into the top loop at `t`; the sources that
/// end at `m` go there over one loop.
fn tree(protocol: &str, relays: &[&str], top: &str) -> String {
    let fast = |source: &str, target: &str| {
        format!("[[link]]\nsource = \"{source}\"\ntarget = \"{target}\"\ncapacity = \"500 Mbit/s\"\ndelay = \"1 ms\"\n")
    };
    let mut text = format!(
        "[defaults.connection]\nprotocol = {protocol}\npacket = \"1500 B\"\n[relays]\nmarking = \"weights\"\n\
         [defaults.link]\ndiscipline = {{ ecn-ramp = {{ threshold = \"75 kB\" }} }}\n\
         [run]\nduration = \"14 s\"\nwarm_up = \"2 s\"\n{}{}",
        fast("m", "t"),
        fast("t", "d")
    );
    for (number, relay) in relays.iter().enumerate() {
        text += &fast(&format!("s{number}"), relay);
        let _ = writeln!(text, "[[connection]]\nname = \"{number}\"\nsource = \"s{number}\"\ntarget = \"{relay}\"");
    }
    let at_m: Vec<String> = (0..relays.len()).filter(|&i| relays[i] == "m").map(|i| format!("\"{i}\"")).collect();
    let after = at_m.join(", ");
    let _ = writeln!(text, "[[connection]]\nname = \"mid\"\nsource = \"m\"\ntarget = \"t\"\nafter = [{after}]");
    text + &format!("[[connection]]\nname = \"top\"\nsource = \"t\"\ntarget = \"d\"\nafter = {top}\n")
}

#[test]
fn marks_by_weights_give_each_source_its_share_of_a_tree() {
    // Of 500 Mbit/s the middle loop has 3/4, for three sources, and the lone source 1/4. Or the lone source has a half, and
    // the three have a sixth each.
    let by_number = "[{ connection = \"mid\", weight = 3 }, \"3\"]";
    for (protocol, top, wanted) in [
        ("\"lgcc\"", by_number, [125.0; 4]),
        ("{ lgcc = { algorithm = \"dual\", omega = 0.5 } }", by_number, [125.0; 4]),
        ("\"lgc\"", by_number, [125.0; 4]),
        ("\"lgcc\"", "[\"mid\", \"3\"]", [83.3, 83.3, 83.3, 250.0]),
    ] {
        let outcome = outcome(&tree(protocol, &["m", "m", "m", "t"], top));
        let rates: Vec<f64> = outcome.subflows.iter().map(|s| s.delivered_warm as f64 * 8.0 / 12.0 / MEGA).collect();
        assert!(
            rates.iter().zip(wanted).all(|(rate, wanted)| (rate / wanted - 1.0).abs() < 0.05),
            "{protocol} {rates:?}"
        );
    }
}

/// The fair rates in Mbit/s at some seconds of: a from s to r, b that goes on from there to d, and c beside a.
fn fair_rates(keys: [&str; 3], seconds: &[f64]) -> Vec<Vec<f64>> {
    let connection = |name: &str, source: &str, target: &str, keys: &str| {
        format!("[[connection]]\nname = \"{name}\"\nsource = \"{source}\"\ntarget = \"{target}\"\n{keys}\n")
    };
    let text = link("s", "r", 10.0, "")
        + &link("r", "d", 6.0, "")
        + "[defaults.connection]\nprotocol = \"reno\"\n"
        + &connection("a", "s", "r", keys[0])
        + &connection("b", "r", "d", &format!("after = [\"a\"]\n{}", keys[1]))
        + &connection("c", "s", "r", keys[2])
        + "[run]\nduration = \"6 s\"\nsample = \"500 ms\"\nrecord = [\"fairness\"]";
    let samples = outcome(&text).samples;
    let at = |&time: &f64| {
        let sample = samples.time_s.iter().position(|&t| (t - time).abs() < 1e-9).unwrap();
        samples.connection_fair_bps[3 * sample..][..3].iter().map(|rate| (rate / MEGA * 1e3).round() / 1e3).collect()
    };
    seconds.iter().map(at).collect()
}

#[test]
fn fair_rates_of_a_chain_are_what_gets_through_it() {
    // While b is there, a and c have half of 10 each, and b what a has. Before and after, nothing of a gets through.
    let rates = fair_rates(["", "start = \"2 s\"\nstop = \"4 s\"", ""], &[1.0, 3.0, 5.0]);
    assert_eq!(rates[1], [5.0, 5.0, 5.0]);
    for rates in [&rates[0], &rates[2]] {
        assert!(rates[0] <= 0.0 && rates[1].is_nan() && (rates[2] - 10.0).abs() < 1e-9, "{rates:?}");
    }
    // The path of b is closed from 2 s on, and that of a from 4 s on; c begins at 5 s.
    let times = |stop: u32| format!("path_times = [{{ stop = \"{stop} s\" }}]");
    let rates = fair_rates([&times(4), &times(2), "start = \"5 s\""], &[1.0, 3.0, 4.5]);
    assert_eq!(rates[0][..2], [6.0, 6.0]);
    assert!(rates[1..].iter().all(|rates| rates[..2] == [0.0, 0.0]), "{rates:?}");
}

#[test]
fn each_loop_may_have_its_own_protocol() {
    let keys = "loops = [\"cubic\", \"bbr\"]\namount = \"3 MB\"";
    let outcome = outcome(&chain(20.0, 10.0, keys, "[run]\nduration = \"20 s\""));
    assert_eq!(delivered(&outcome), [3_000_000; 2]);
}

#[test]
fn a_chain_of_six_relays_is_as_fast_as_its_slowest_loop() {
    // Seven loops under five protocols; the fourth carries 8 Mbit/s. No relay has more than its buffer, of which what is on
    // the next link counts as taken.
    let nodes = ["s", "a", "b", "c", "d", "e", "f", "t"];
    let mbps = [20.0, 15.0, 12.0, 8.0, 10.0, 18.0, 25.0];
    let links: String = nodes.windows(2).zip(mbps).map(|(ends, mbps)| link(ends[0], ends[1], mbps, "")).collect();
    let outcome = outcome(&format!(
        "{links}[[connection]]\nsource = \"s\"\ntarget = \"t\"\nrelays = [\"a\", \"b\", \"c\", \"d\", \"e\", \"f\"]\n\
         loops = [\"cubic\", \"bbr\", \"lgcc\", \"reno\", \"vegas\", \"cubic\", \"bbr\"]\n\
         [relays]\nbuffer = \"50 kB\"\n[run]\nduration = \"20 s\"\nwarm_up = \"5 s\""
    ));
    let rates: Vec<f64> = outcome.subflows.iter().map(|s| s.delivered_warm as f64 * 8.0 / 15.0 / MEGA).collect();
    assert!(rates.iter().all(|rate| (7.6..=8.1).contains(rate)), "{rates:?}");
    let delivered = delivered(&outcome);
    assert!(delivered.windows(2).all(|pair| pair[0] - pair[1] <= 110_000), "{delivered:?}");
}

#[test]
fn a_chain_goes_on_after_an_outage_of_either_side() {
    // 3 MB at 10 Mbit/s are 2.4 s, and for 1 s one of the links carries nothing. Probes come less and less often.
    let outage =
        "capacity_changes = [{ at = \"1 s\", capacity = \"0 bit/s\" }, { at = \"2 s\", capacity = \"10 Mbit/s\" }]";
    for (first, second) in [(outage, ""), ("", outage)] {
        for name in windows() {
            let text = link("s", "r", 10.0, first)
                + &link("r", "d", 10.0, second)
                + &format!("[[connection]]\nsource = \"s\"\ntarget = \"d\"\nrelays = [\"r\"]\nprotocol = \"{name}\"\n")
                + "paths = 1\namount = \"3 MB\"\n[relays]\nbuffer = \"50 kB\"\n[run]\nduration = \"30 s\"";
            let outcome = outcome(&text);
            assert_eq!(delivered(&outcome), [3_000_000; 2], "{name}");
            let took = outcome.connections[1].finished_s;
            assert!((3.4..10.0).contains(&took), "{name} took {took} s");
        }
    }
}

/// A source at s, and to d a loop over each of two links of 20 Mbit/s from an ingress to an egress, beside Reno on the first.
fn ingress(middle: &str, keys: &str, rest: &str) -> String {
    link("s", "in", 100.0, "")
        + &link("in", "eg", 20.0, "name = \"up\"")
        + &link("in", "eg", 20.0, "name = \"down\"")
        + &link("eg", "d", 100.0, "")
        + &format!(
            "[[connection]]\nname = \"bulk\"\nsource = \"s\"\ntarget = \"d\"\nrelays = [\"in\", \"eg\"]\nloops = [\"reno\", {middle}, \"reno\"]\n{keys}\n"
        )
        + "[[connection]]\nname = \"one\"\nsource = \"in\"\ntarget = \"eg\"\nlinks = [[\"up\"]]\nprotocol = \"reno\"\n"
        + rest
}

#[test]
fn an_ingress_splits_what_others_send_over_several_paths() {
    // The middle loop has both links, one group each: it fills one, and has a half of the other beside Reno. Both loops
    // around it carry as much.
    let rest = "[run]\nduration = \"60 s\"\nwarm_up = \"10 s\"\nrecord = [\"fairness\"]\nsample = \"30 s\"";
    let outcome = outcome(&ingress("\"nmcc\"", "", rest));
    let rates: Vec<f64> = outcome.subflows.iter().map(|s| s.delivered_warm as f64 * 8.0 / 50.0 / MEGA).collect();
    let [first, up, down, last, one] = rates[..] else { panic!("the middle loop has two paths") };
    assert!((25.0..=31.0).contains(&(up + down)) && down > 18.5 && (8.0..=12.0).contains(&one), "{rates:?}");
    assert!([first, last].iter().all(|rate| (rate / (up + down) - 1.0).abs() < 0.01), "{rates:?}");
    // Fair to both: 20 and 20.
    let fair: Vec<f64> = outcome.samples.connection_fair_bps[4..8].iter().map(|rate| (rate / MEGA).round()).collect();
    assert_eq!(fair, [20.0; 4]);
}

#[test]
fn all_arrives_over_loops_of_several_paths_whatever_they_lose() {
    let faults = "[defaults.link]\nfaults = { loss = 0.02, reorder = 0.1, late = \"20 ms\", duplicate = 0.01 }";
    for middle in ["nmcc", "lia", "olia", "balia", "ewtcp", "coupled", "uncoupled", "wvegas"] {
        for scheduler in ["lowest-rtt", "redundant"] {
            let rest = format!(
                "[relays]\nbuffer = \"5 kB\"\n{faults}\n[run]\nduration = \"300 s\"\ntransport.scheduler = \"{scheduler}\""
            );
            let outcome = outcome(&ingress(&format!("\"{middle}\""), "amount = \"100 kB\"", &rest));
            let delivered = delivered(&outcome);
            let loops = [delivered[0], delivered[1] + delivered[2], delivered[3]];
            assert_eq!(loops, [100_000; 3], "{middle}, {scheduler}");
        }
    }
}

#[test]
fn a_loop_of_several_paths_goes_on_while_one_of_them_fails() {
    // From 20 to 30 s the second link carries nothing; the chain keeps what the first gives it, and all comes in order.
    let keys =
        "capacity_changes = [{ at = \"20 s\", capacity = \"0 bit/s\" }, { at = \"30 s\", capacity = \"20 Mbit/s\" }]";
    let rest = "[relays]\nbuffer = \"200 kB\"\n[assistance]\nfailures_after = \"100 ms\"\n[run]\nduration = \"40 s\"\nsample = \"1 s\"\n\
                record = [\"connections\"]";
    let text = ingress("\"nmcc\"", "", rest).replace("name = \"down\"", &format!("name = \"down\"\n{keys}"));
    let samples = outcome(&text).samples;
    let rate = |from: usize, until: usize| {
        (from..until).map(|second| samples.connection_delivered_bps[4 * second + 2]).sum::<f64>()
            / (until - from) as f64
            / MEGA
    };
    assert!(
        rate(10, 20) > 25.0 && (6.0..14.0).contains(&rate(22, 30)) && rate(34, 40) > 22.0,
        "{} {} {}",
        rate(10, 20),
        rate(22, 30),
        rate(34, 40)
    );
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let text = link("a", "r", 10.0, "")
        + &link("b", "r", 10.0, "")
        + &link("r", "q", 6.0, "discipline = \"ecn-ramp\"")
        + &link("q", "d", 5.0, "faults = { loss = 0.01 }")
        + "[defaults.connection]\nprotocol = \"lgcc\"\n\
           [[connection]]\nname = \"a\"\nsource = \"a\"\ntarget = \"r\"\n\
           [[connection]]\nname = \"b\"\nsource = \"b\"\ntarget = \"r\"\n\
           [[connection]]\nsource = \"r\"\ntarget = \"d\"\nrelays = [\"q\"]\nafter = [\"a\", \"b\"]\n\
           [run]\nduration = \"5 s\"";
    let plan = planned(&text).unwrap();
    let bits = |threads: usize| format!("{:?}", simulate_on(&plan, threads, &mut |_| true).subflows);
    let alone = bits(1);
    assert!([2, 3].iter().all(|&threads| bits(threads) == alone));
}
