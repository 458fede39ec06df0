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
