//! Which paths may be used while links fail, by what connections are told of it.

use anabranch_core::{ConnectionId, Rate, Time};
use anabranch_plan::Plan;

use crate::plan;

/// A path of one link with a way back, these keys for each; failures are told a second later.
fn told(there: &str, back: &str) -> Plan {
    let link = |keys: &str| format!("[[link]]\ndelay = \"1 ms\"\ntwo_way = false\n{keys}\n");
    let there = link(&format!("name = \"there\"\nsource = \"a\"\ntarget = \"b\"\n{there}"));
    let back = link(&format!("source = \"b\"\ntarget = \"a\"\ntwin = \"there\"\n{back}"));
    let connection = "[[connection]]\nsource = \"a\"\ntarget = \"b\"\nprotocol = \"reno\"\n";
    plan(&format!("{there}{back}{connection}[assistance]\nfailures_after = \"1 s\"\n")).unwrap()
}

fn at(seconds: f64) -> Time {
    Time::from_seconds(seconds).unwrap()
}

fn usable(plan: &Plan, seconds: &[f64]) -> Vec<bool> {
    seconds.iter().map(|&seconds| plan.is_usable(ConnectionId(0), 0, at(seconds))).collect()
}

const UP: &str = "capacity = \"1 Mbit/s\"";

#[test]
fn a_path_is_left_while_a_link_there_or_back_has_failed() {
    let fails = "capacity = \"1 Mbit/s\"\n\
        capacity_changes = [{ at = \"2 s\", capacity = \"0 bit/s\" }, { at = \"5 s\", capacity = \"2 Mbit/s\" }]";
    for plan in [told(fails, UP), told(UP, fails)] {
        assert_eq!(usable(&plan, &[0.0, 2.9, 3.0, 5.9, 6.0]), [true, true, false, false, true]);
        assert_eq!(plan.told_failures(plan.paths.path(0)), [(at(3.0), false), (at(6.0), true)]);
    }
}

#[test]
fn what_has_failed_at_time_0_is_known_from_the_beginning() {
    let back_at_2 = "{ at = \"2 s\", capacity = \"1 Mbit/s\" }]";
    let never_up = format!("capacity = \"0 bit/s\"\ncapacity_changes = [{back_at_2}");
    let down_at_0 = format!("{UP}\ncapacity_changes = [{{ at = \"0 s\", capacity = \"0 bit/s\" }}, {back_at_2}");
    for plan in [told(&never_up, UP), told(&down_at_0, UP), told(UP, &down_at_0)] {
        assert_eq!(usable(&plan, &[0.0, 0.5, 1.0, 2.9, 3.0]), [false, false, false, false, true]);
        assert_eq!(plan.told_failures(plan.paths.path(0)), [(at(3.0), true)]);
    }
    let up_at_0 = "capacity = \"0 bit/s\"\ncapacity_changes = [{ at = \"0 s\", capacity = \"1 Mbit/s\" }]";
    assert_eq!(usable(&told(up_at_0, UP), &[0.0, 0.5, 1.0]), [true; 3]);
}

#[test]
fn only_failures_and_returns_are_told_and_once() {
    // Faster, slower, gone, still gone, back; and the way back with it.
    let changes = "capacity = \"1 Mbit/s\"\ncapacity_changes = [{ at = \"1 s\", capacity = \"3 Mbit/s\" }, \
        { at = \"2 s\", capacity = \"2 Mbit/s\" }, { at = \"3 s\", capacity = \"0 bit/s\" }, \
        { at = \"4 s\", capacity = \"0 bit/s\" }, { at = \"5 s\", capacity = \"1 Mbit/s\" }]";
    let plan = told(changes, changes);
    assert_eq!(plan.told_failures(plan.paths.path(0)), [(at(4.0), false), (at(6.0), true)]);
}

#[test]
fn a_pause_between_opportunities_is_no_failure() {
    // In bins of 1 ms most have the rate 0.
    let traced = format!("{UP}\ntrace = {{ opportunities_ms = [5, 3000], bin = \"1 ms\" }}");
    let plan = told(&traced, &traced);
    assert!(plan.links[0].changes.contains(&(Time::ms(5), Rate(0.0))));
    assert_eq!(usable(&plan, &[0.0, 1.5, 3.5]), [true; 3]);
    assert_eq!(plan.told_failures(plan.paths.path(0)), []);
}
