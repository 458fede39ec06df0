//! Traces as files have them.

use anabranch_scenario::Trace;
use proptest::prelude::*;

fn refused(text: &str) -> String {
    Trace::read(text).expect_err("it has a mistake")
}

#[test]
fn the_first_line_tells_the_format() {
    let Ok(Trace::Opportunities(times)) = Trace::read("0\n5\n5\n17") else { panic!("it is read") };
    assert_eq!(times.as_slice(), [0, 5, 5, 17]);
    let Ok(Trace::Capacities(changes)) = Trace::read("\ntime_s, capacity_bps\n0,1e6\n\n2,0\n") else {
        panic!("it is read")
    };
    assert_eq!(changes.len(), 2);
}

#[test]
fn mistakes_are_told_by_their_line() {
    for (text, message) in [
        ("1\n\n3\n", "line 2: it is empty; leave it out"),
        ("1\n2\n\n", "line 3: it is empty"),
        ("1\n2.5\n", "line 2: `2.5` is not a whole number of milliseconds"),
        ("1\n-2\n", "line 2: `-2` is not"),
        ("1\n4294967296\n", "line 2: `4294967296` is not"),
        ("7\n7\n6\n", "line 3: 6 ms follows 7 ms; sort them"),
        ("0\n0\n", "line 2: the last opportunity is at 0 ms"),
        ("", "line 1: a trace begins with the line `time_s,capacity_bps`, or has"),
        ("1,2\n", "line 1: a trace begins with"),
        ("time_s,capacity_bps\n1,2e6\n1,3e6\n", "line 3: the time is not later"),
        ("time_s,capacity_bps\n1;2e6\n", "line 2: it does not have two columns"),
    ] {
        assert!(refused(text).starts_with(message), "{text:?}: {}", refused(text));
    }
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "[0-9,. \\n\\r\\te+-]{0,60}|\\PC{0,40}", head in "(time_s,capacity_bps\\n)?") {
        match Trace::read(&(head + &text)) {
            Err(reason) => prop_assert!(reason.starts_with("line "), "{}", reason),
            Ok(Trace::Capacities(changes)) => prop_assert!(changes.is_sorted_by_key(|change| change.at.0)),
            Ok(Trace::Opportunities(times)) => {
                prop_assert!(times.as_slice().is_sorted() && times.period() > 0);
                prop_assert_eq!(times.as_slice().len(), text.trim_start().lines().count());
            }
        }
    }

    #[test]
    fn opportunities_written_are_those_read(mut times in prop::collection::vec(any::<u32>(), 1..50), last in 1..=u32::MAX) {
        times.push(last);
        times.sort_unstable();
        let lines: Vec<String> = times.iter().map(u32::to_string).collect();
        let Ok(Trace::Opportunities(read)) = Trace::read(&lines.join("\n")) else { panic!("it is a trace") };
        prop_assert_eq!(read.as_slice(), &times);
    }
}
