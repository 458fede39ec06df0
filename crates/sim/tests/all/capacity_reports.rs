//! Controls that learn capacities late or wrong; the service of links stays as it is.

use anabranch_sim::Outcome;

use crate::common::scenario::{mistake, planned};
use crate::common::{MEGA, run};

fn outcome(text: &str) -> Outcome {
    let plan = planned(text).unwrap();
    let outcome = run(&plan);
    assert_eq!(mistake(&outcome), None, "{text}");
    outcome
}

/// A connection over a link of 10 Mbit/s with more keys, 10 ms there and back.
fn one(protocol: &str, keys: &str, run: &str) -> String {
    format!(
        "[[link]]\nsource = \"s\"\ntarget = \"d\"\ncapacity = \"10 Mbit/s\"\ndelay = \"5 ms\"\n{keys}\n\
         [[connection]]\nsource = \"s\"\ntarget = \"d\"\nprotocol = {protocol}\n[run]\n{run}\n"
    )
}

/// Mbit/s after the warm-up.
fn rate(outcome: &Outcome, seconds: f64) -> f64 {
    outcome.subflows[0].delivered_warm as f64 * 8.0 / seconds / MEGA
}

#[test]
fn a_rise_is_used_when_it_is_reported() {
    // 20 Mbit/s from 2 s on. From 2 to 4 s sources send 10 for the time of the delay, and 20 for the rest. The dual form
    // of LGCC is at its target at once.
    let dual = "{ lgcc = { algorithm = \"dual\" } }";
    for (protocol, delay, wanted) in [
        (dual, "", 20.0),
        (dual, "delay = \"1 s\"", 15.0),
        (dual, "delay = \"9 s\"", 10.0),
        ("\"d-slen\"", "delay = \"1 s\"", 15.0),
    ] {
        let keys = format!(
            "capacity_changes = [{{ at = \"2 s\", capacity = \"20 Mbit/s\" }}]\ncapacity_report = {{ {delay} }}\n\
             discipline = {{ ecn-ramp = {{ threshold = \"75 kB\" }} }}"
        );
        let outcome = outcome(&one(protocol, &keys, "duration = \"4 s\"\nwarm_up = \"2 s\""));
        let rate = rate(&outcome, 2.0);
        assert!((rate / wanted - 1.0).abs() < 0.08, "{protocol} {delay} {rate}");
    }
}

#[test]
fn a_fall_that_is_reported_late_makes_a_queue_of_the_difference() {
    // From 10 to 5 Mbit/s at 1 s, known 0.4 s later: 0.4 s times 5 Mbit/s are 250 kB.
    let keys = |report: &str| {
        format!("capacity_changes = [{{ at = \"1 s\", capacity = \"5 Mbit/s\" }}]\nqueue = \"unlimited\"\n{report}")
    };
    let protocol = "{ lgcc = { windowed = false } }";
    let peak = |report: &str| {
        let outcome = outcome(&one(protocol, &keys(report), "duration = \"2 s\""));
        outcome.links[0].totals.most_packets
    };
    let (late, at_once) = (peak("capacity_report = { delay = \"400 ms\" }"), peak(""));
    assert!((225..=275).contains(&late) && at_once < 25, "{late} {at_once}");
}

#[test]
fn the_abc_discipline_hears_reports_and_others_do_not() {
    // 20 Mbit/s from 1 s on, which ABC never hears of: it aims at 0.98 times 10 Mbit/s. A packet more in each round
    // trip makes that 9.8 / (1 - 1 / 13) with windows of 13 packets. PIE goes by the capacity itself.
    let abc = |report: &str| {
        let outcome = outcome(&one(
            "\"abc\"",
            &format!("discipline = \"abc\"\n{report}"),
            "duration = \"20 s\"\nwarm_up = \"2 s\"",
        ));
        rate(&outcome, 18.0)
    };
    let rise = "capacity_changes = [{ at = \"1 s\", capacity = \"20 Mbit/s\" }]";
    let (at_once, never) = (abc(rise), abc(&format!("{rise}\ncapacity_report = {{ delay = \"9000 s\" }}")));
    assert!((18.0..20.1).contains(&at_once) && (10.2..11.0).contains(&never), "{at_once} {never}");
    let pie = |report: &str| {
        let keys = format!(
            "discipline = \"pie\"\ncapacity_changes = [{{ at = \"2 s\", capacity = \"5 Mbit/s\" }}]\nqueue = \"unlimited\"\n{report}"
        );
        outcome(&one("\"reno\"", &keys, "duration = \"10 s\"")).subflows[0].delivered
    };
    assert_eq!(pie(""), pie("capacity_report = { delay = \"1 s\", noise = 1, interval = \"10 ms\" }"));
}

#[test]
fn errors_are_those_of_the_seed() {
    let delivered = |seed: u64, report: &str| {
        let run = format!("duration = \"5 s\"\nseed = {seed}");
        let keys = format!("discipline = {{ ecn-ramp = {{ threshold = \"75 kB\" }} }}\n{report}");
        outcome(&one("\"lgcc\"", &keys, &run)).subflows[0].delivered
    };
    let noisy = "capacity_report = { noise = 0.5, interval = \"100 ms\" }";
    assert_eq!(delivered(1, noisy), delivered(1, noisy));
    assert_ne!(delivered(1, noisy), delivered(2, noisy));
    assert_eq!(delivered(1, ""), delivered(1, "capacity_report = { interval = \"100 ms\" }"));
    // Where a report is below the capacity, the link idles.
    assert!(delivered(1, noisy) < delivered(1, ""));
}
