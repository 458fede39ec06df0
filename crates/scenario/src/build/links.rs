//! What there is to know of each link besides the network: queues, faults, changes of capacity.

use std::collections::HashMap;
use std::ops::Range;

use anabranch_core::quantity::SpanText;
use anabranch_core::{Network, Rate, Span};
use toml::Spanned;

use super::network::first_ids;
use super::{Read, Scenario};
use crate::error::ScenarioError;
use crate::file::link::{CapacityChange, LinkSettings};
use crate::plan::LinkPlan;

/// Changes of capacity of all links together, so that a long trace for every link does not fill the memory.
const MOST_CHANGES: usize = 100_000_000;

/// The first line of a trace.
const TRACE_HEADER: &str = "time_s,capacity_bps";

impl Scenario {
    /// For each link its plan.
    pub(super) fn links(&self, network: &Network, read: Read<'_>) -> Result<Vec<LinkPlan>, ScenarioError> {
        let mut traces = Traces::new(read);
        let defaults = self.link_defaults(&mut traces)?;
        let links = network.links().len();
        let changes = defaults.capacity_changes.as_ref().map_or(0, Vec::len);
        if changes.saturating_mul(links) > MOST_CHANGES {
            let message = format!("{changes} changes of capacity for each of {links} links are too many; give fewer");
            return Err(self.error(self.link_defaults_span(), message));
        }
        let mut plans = vec![plan(&defaults); links];
        for (table, first) in self.file.link.iter().zip(first_ids(&self.file.link)) {
            let own = self.settled(&table.get_ref().settings(), &mut traces)?;
            let of_table = plan(&own.or(&defaults));
            if table.get_ref().two_way {
                plans[first.index() + 1] = of_table.clone();
            }
            plans[first.index()] = of_table;
        }
        Ok(plans)
    }

    /// `[defaults.link]`, with changes of capacity in place of a trace.
    pub(super) fn link_defaults(&self, traces: &mut Traces<'_>) -> Result<LinkSettings, ScenarioError> {
        let none = LinkSettings::default();
        self.settled(self.file.defaults.link.as_ref().map_or(&none, Spanned::get_ref), traces)
    }

    pub(super) fn link_defaults_span(&self) -> Range<usize> {
        self.file.defaults.link.as_ref().map_or(0..0, Spanned::span)
    }

    /// The same settings, with changes of capacity in place of a trace.
    pub(super) fn settled(
        &self,
        settings: &LinkSettings,
        traces: &mut Traces<'_>,
    ) -> Result<LinkSettings, ScenarioError> {
        let Some(trace) = &settings.trace else { return Ok(settings.clone()) };
        if settings.capacity_changes.is_some() {
            return Err(self.error(trace.span(), "there are both `capacity_changes` and a `trace`; leave one out"));
        }
        let changes = traces.changes(trace.get_ref()).map_err(|message| self.error(trace.span(), message))?;
        Ok(LinkSettings { capacity_changes: Some(changes), trace: None, ..settings.clone() })
    }
}

fn plan(settings: &LinkSettings) -> LinkPlan {
    let changes = settings.capacity_changes.iter().flatten();
    LinkPlan {
        limit: settings.queue.unwrap_or_default().limit(),
        discipline: settings.discipline.clone(),
        data: settings.faults.unwrap_or_default().faults(),
        control: settings.control_faults.unwrap_or_default().faults(),
        changes: changes.map(|change| (change.time(), change.capacity.rate())).collect(),
    }
}

/// The files of traces, each read once.
pub(super) struct Traces<'a> {
    read: Read<'a>,
    known: HashMap<String, Vec<CapacityChange>>,
}

impl<'a> Traces<'a> {
    pub(super) fn new(read: Read<'a>) -> Self {
        Self { read, known: HashMap::new() }
    }

    fn changes(&mut self, file: &str) -> Result<Vec<CapacityChange>, String> {
        if let Some(changes) = self.known.get(file) {
            return Ok(changes.clone());
        }
        let text = (self.read)(file)?;
        let changes = read_trace(&text).map_err(|message| format!("{file}, {message}"))?;
        self.known.insert(file.to_owned(), changes.clone());
        Ok(changes)
    }
}

/// Reads lines of a time in seconds and a capacity in bit/s, after a header.
fn read_trace(text: &str) -> Result<Vec<CapacityChange>, String> {
    let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let header = lines.next().map_or("", |(_, line)| line.trim());
    if header.replace(' ', "") != TRACE_HEADER {
        return Err(format!("line 1: a trace begins with the line `{TRACE_HEADER}`; add it"));
    }
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
