//! Links that fail, and connections that are told of it.

use crate::common::run;
use crate::common::scenario::{mistake, planned};
use anabranch_sim::Outcome;

/// LIA from a to b over two paths of 10 Mbit/s, for 4 s, where the link of the second there has these keys, and the one
/// back those.
fn two_paths(there: &str, back: &str, rest: &str) -> Outcome {
    let link = |name: &str, ends: [&str; 2], keys: &str| {
        format!(
            "[[link]]\nname = \"{name}\"\nsource = \"{}\"\ntarget = \"{}\"\ntwo_way = false\ndelay = \"5 ms\"\n\
             queue = \"30 packets\"\n{keys}\n",
            ends[0], ends[1]
        )
    };
    let text = [
        link("one", ["a", "b"], UP),
        link("two", ["a", "b"], there),
        link("one back", ["b", "a"], &format!("{UP}\ntwin = \"one\"")),
        link("two back", ["b", "a"], &format!("{back}\ntwin = \"two\"")),
        "[[connection]]\nsource = \"a\"\ntarget = \"b\"\nprotocol = \"lia\"\nlinks = [[\"one\"], [\"two\"]]\n"
            .to_owned(),
        "[run]\nduration = \"4 s\"\nsample = \"100 ms\"\nrecord = [\"windows\", \"fairness\"]\n".to_owned(),
        rest.to_owned(),
    ];
    let outcome = run(&planned(&text.concat()).unwrap());
    assert_eq!(mistake(&outcome), None);
    outcome
}

const UP: &str = "capacity = \"10 Mbit/s\"";
const TOLD: &str = "[assistance]\nfailures_after = \"10 ms\"\n";

/// Whether the second path was open at a sample of 100 ms each.
fn is_open(outcome: &Outcome, sample: usize) -> bool {
    !outcome.samples.subflow_window_bytes[2 * (sample - 1) + 1].is_nan()
}

#[test]
fn who_is_told_leaves_a_path_whose_way_back_has_failed() {
    let fails = "capacity_changes = [{ at = \"1.05 s\", capacity = \"0 bit/s\" }, { at = \"3.05 s\", capacity = \"10 Mbit/s\" }]";
    let back = format!("{UP}\n{fails}");
    let open = |outcome: &Outcome| [10, 11, 20, 30, 31].map(|sample| is_open(outcome, sample));
    assert_eq!(open(&two_paths(UP, &back, "")), [true; 5]);
    assert_eq!(open(&two_paths(UP, &back, TOLD)), [true, false, false, false, true]);
}

#[test]
fn who_is_told_sends_nothing_over_a_link_that_never_was_there() {
    let sent = |keys: &str, rest: &str| two_paths(keys, UP, rest).subflows[1].sent;
    let never = "capacity = \"0 bit/s\"";
    let gone = format!("{UP}\ncapacity_changes = [{{ at = \"0 s\", capacity = \"0 bit/s\" }}]");
    for keys in [never, &gone] {
        assert!(sent(keys, "") > 0);
        assert_eq!(sent(keys, "[assistance]\nfailures_after = \"1 s\"\n"), 0);
    }
}

#[test]
fn capacities_that_change_and_stay_over_0_are_told_to_nobody() {
    let changes: Vec<String> =
        (1..30).map(|n| format!("{{ at = \"{n}00 ms\", capacity = \"{} Mbit/s\" }}", 5 + n % 2)).collect();
    let keys = format!("{UP}\ncapacity_changes = [{}]", changes.join(", "));
    let events = [two_paths(&keys, UP, ""), two_paths(&keys, UP, TOLD)].map(|outcome| outcome.events);
    assert_eq!(events[0], events[1]);
}
