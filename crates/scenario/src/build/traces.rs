//! Traces of links: each file is read once and becomes part of the settings of its links.

use std::collections::HashMap;

use anabranch_core::Span;
use anabranch_core::quantity::{BytesText, SpanText};
use anabranch_plan::opportunities::Milliseconds;
use toml::Spanned;

use super::links::MOST_CHANGES;
use super::{Read, Scenario};
use crate::file::link::{CapacityChange, LinkSettings};
use crate::file::trace::{TraceChoice, TraceTable};
use crate::trace::Trace;

/// The files of traces, each read once.
pub(super) struct Traces<'a> {
    read: Read<'a>,
    duration: Span,
    known: HashMap<String, Trace>,
}

impl Scenario {
    /// A cache in which no trace is read yet.
    pub(super) fn traces<'a>(&self, read: Read<'a>) -> Traces<'a> {
        Traces { read, duration: self.run().duration.0, known: HashMap::new() }
    }
}

impl Traces<'_> {
    /// The settings with the content of a trace: changes of capacity, or opportunities with their parameters.
    pub fn settled(&mut self, settings: &LinkSettings, table: &TraceTable) -> Result<LinkSettings, String> {
        match self.trace(table)? {
            Trace::Capacities(changes) => {
                let capacity_changes = Some(self.changes(changes, table)?);
                Ok(LinkSettings { capacity_changes, trace: None, ..settings.clone() })
            }
            Trace::Opportunities(times) => {
                let trace = TraceChoice::Table(self.opportunities(times, table)?);
                Ok(LinkSettings { trace: Some(Spanned::new(0..0, trace)), ..settings.clone() })
            }
        }
    }

    fn trace(&mut self, table: &TraceTable) -> Result<Trace, String> {
        match (&table.file, &table.opportunities_ms) {
            (Some(file), None) => self.file(file),
            (None, Some(times)) => Ok(Trace::Opportunities(times.clone())),
            (Some(_), Some(_)) => Err("there are both a `file` and `opportunities_ms`; leave one out".to_owned()),
            (None, None) => Err("there is no trace; name its `file`".to_owned()),
        }
    }

    fn file(&mut self, file: &str) -> Result<Trace, String> {
        if let Some(trace) = self.known.get(file) {
            return Ok(trace.clone());
        }
        let text = (self.read)(file)?;
        let trace = Trace::read(&text).map_err(|message| format!("{file}, {message}"))?;
        self.known.insert(file.to_owned(), trace.clone());
        Ok(trace)
    }

    fn opportunities(&self, times: Milliseconds, table: &TraceTable) -> Result<TraceTable, String> {
        if table.repeat.is_some() {
            return Err("opportunities always begin again; leave `repeat` out".to_owned());
        }
        let bins = self.duration.0 / table.bin().0;
        if bins >= MOST_CHANGES as u64 {
            return Err(format!("a run of {} has {bins} bins of {}; give a longer `bin`", self.duration, table.bin()));
        }
        Ok(TraceTable {
            file: None,
            opportunities_ms: Some(times),
            opportunity: Some(BytesText(table.opportunity())),
            bin: Some(SpanText(table.bin())),
            repeat: None,
        })
    }

    /// The changes of capacity of a trace, repeated if the table says so.
    fn changes(&self, changes: Vec<CapacityChange>, table: &TraceTable) -> Result<Vec<CapacityChange>, String> {
        if table.opportunity.is_some() || table.bin.is_some() {
            return Err(
                "`opportunity` and `bin` are for opportunities, and this is a trace of capacities; leave them out"
                    .to_owned(),
            );
        }
        if table.repeat == Some(true) { repeated(&changes, self.duration) } else { Ok(changes) }
    }
}

/// Repeats changes from the time of the last line on until the end of a run.
fn repeated(changes: &[CapacityChange], duration: Span) -> Result<Vec<CapacityChange>, String> {
    let period = changes.last().map_or(0, |last| last.at.0.0);
    if period == 0 {
        return Err("a trace begins again at the time of its last line; give it one later than 0 s".to_owned());
    }
    let rounds = duration.0 / period + 1;
    if rounds.saturating_mul(changes.len() as u64) > MOST_CHANGES as u64 {
        return Err(format!(
            "{rounds} times {} changes of capacity are over {MOST_CHANGES}; give fewer",
            changes.len()
        ));
    }
    let mut all: Vec<CapacityChange> = Vec::new();
    for round in 0..rounds {
        for change in changes {
            let at = SpanText(Span(round * period + change.at.0.0));
            // The first line replaces the last where both have the same time.
            all.pop_if(|last| last.at == at);
            all.push(CapacityChange { at, ..*change });
        }
    }
    Ok(all)
}
