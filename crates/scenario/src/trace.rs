//! Traces of links in files: opportunities to send, or capacities by time.
//!
//! The first line tells the kind: `time_s,capacity_bps` heads a table of capacities, and a whole number is the first
//! opportunity.

use anabranch_core::quantity::SpanText;
use anabranch_core::{Rate, Span};
use anabranch_plan::opportunities::Milliseconds;

use crate::file::link::CapacityChange;

/// The first line of a table of capacities.
const HEADER: &str = "time_s,capacity_bps";

/// The content of a trace file.
#[derive(Clone, Debug, PartialEq)]
pub enum Trace {
    /// Times in milliseconds at which the link may send, one in a line [netravali2015].
    Opportunities(Milliseconds),
    /// Changes of the capacity with their times, each later than the last.
    Capacities(Vec<CapacityChange>),
}

impl Trace {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// The line of the first mistake, what is wrong, and how to correct it.
    pub fn read(text: &str) -> Result<Self, String> {
        let first = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
        if first.replace(' ', "") == HEADER {
            read_capacities(text).map(Self::Capacities)
        } else if first.starts_with(|c: char| c.is_ascii_digit()) && !first.contains([',', ' ', '\t']) {
            read_opportunities(text).map(Self::Opportunities)
        } else {
            Err(format!(
                "line 1: a trace begins with the line `{HEADER}`, or has a whole number of milliseconds in each line; \
                 add the one or give the other"
            ))
        }
    }
}

/// Reads a whole number of milliseconds from each line.
fn read_opportunities(text: &str) -> Result<Milliseconds, String> {
    let mut times = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let error = |reason: String| format!("line {}: {reason}", number + 1);
        let line = line.trim();
        if line.is_empty() {
            return Err(error("it is empty; leave it out".to_owned()));
        }
        let time = line.parse().map_err(|_| {
            error(format!("`{line}` is not a whole number of milliseconds from 0 to {}; write it like `15`", u32::MAX))
        })?;
        times.push(time);
    }
    Milliseconds::new(times).map_err(|(place, reason)| format!("line {}: {reason}", place + 1))
}

/// Reads a time in seconds and a capacity in bit/s from each line after the header.
fn read_capacities(text: &str) -> Result<Vec<CapacityChange>, String> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()).skip(1);
    let mut changes: Vec<CapacityChange> = Vec::new();
    for (number, line) in lines {
        let error = |reason: &str| format!("line {}: {reason}; write it like `1.5,10e6`", number + 1);
        let (time, capacity) = line.split_once(',').ok_or_else(|| error("it does not have two columns"))?;
        let time = time.trim().parse().ok().and_then(Span::from_seconds);
        let time = time.ok_or_else(|| error("the time is not a number of seconds from 0 to 213 days"))?;
        let capacity = capacity.trim().parse().ok().map(Rate).filter(|rate| rate.is_capacity());
        let capacity = capacity.ok_or_else(|| error("the capacity is not a number of bit/s, 0 or more"))?;
        if changes.last().is_some_and(|last| last.at.0 >= time) {
            return Err(format!("line {}: the time is not later than that of the line before; sort them", number + 1));
        }
        changes.push(CapacityChange { at: SpanText(time), capacity: capacity.into() });
    }
    Ok(changes)
}

#[cfg(test)]
mod tests {
    use super::*;
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
}
