//! The plans of links besides the network: queues, faults, changes of capacity.

use std::ops::Range;

use anabranch_core::{Network, Span};
use anabranch_plan::opportunities::Opportunities;
use anabranch_plan::{Limit, LinkPlan};
use toml::Spanned;

use super::network::first_ids;
use super::reports::{Course, reports};
use super::traces::Traces;
use super::{Read, Scenario};
use crate::error::ScenarioError;
use crate::file::link::LinkSettings;
use crate::file::report::ReportTable;
use crate::file::shares::Shares;
use crate::file::trace::TraceTable;

/// The most changes of capacity of all links together, so that long traces do not fill memory.
pub(super) const MOST_CHANGES: usize = 100_000_000;

impl Scenario {
    /// Makes the plan of each link.
    pub(super) fn links(&self, network: &Network, read: Read<'_>) -> Result<Vec<LinkPlan>, ScenarioError> {
        let mut traces = self.traces(read);
        let duration = self.run().duration.0;
        let defaults = self.link_defaults(&mut traces)?;
        let common = plan(&defaults, duration);
        let links = network.links().len();
        let mut changes = common.changes.len().saturating_mul(links);
        if changes > MOST_CHANGES {
            return Err(self.error(self.link_defaults_span(), too_many(changes)));
        }
        let mut plans = vec![common; links];
        let mut tables = vec![defaults.capacity_report; links];
        for (table, first) in self.file.link.iter().zip(first_ids(&self.file.link)) {
            let own = self.settled(&table.get_ref().settings(), &mut traces)?;
            let own = own.or(&defaults);
            let of_table = plan(&own, duration);
            changes += of_table.changes.len();
            if changes > MOST_CHANGES {
                return Err(self.error(table.span(), too_many(changes)));
            }
            if table.get_ref().two_way {
                plans[first.index() + 1] = of_table.clone();
                tables[first.index() + 1] = own.capacity_report;
            }
            plans[first.index()] = of_table;
            tables[first.index()] = own.capacity_report;
        }
        self.report(network, &mut plans, &tables)?;
        Ok(plans)
    }

    /// Draws the reports of links that have a table for them, and a capacity.
    fn report(
        &self,
        network: &Network,
        plans: &mut [LinkPlan],
        tables: &[Option<ReportTable>],
    ) -> Result<(), ScenarioError> {
        let (duration, seed) = (self.run().duration.0, self.run().seed);
        let mut count = 0_usize;
        for (l, (plan, link)) in plans.iter_mut().zip(network.links()).enumerate() {
            let Some(table) = &tables[l] else { continue };
            if plan.changes.is_empty() && link.capacity.0.is_infinite() {
                continue;
            }
            let course = Course { first: link.capacity, changes: &plan.changes, duration };
            count = count.saturating_add(course.measurements(table));
            if count > MOST_CHANGES {
                let reason = format!(
                    "the capacities of links up to `{}` are reported {count} times, over {MOST_CHANGES}; give a longer \
                     `interval`",
                    link.name
                );
                return Err(self.error(self.link_defaults_span(), reason));
            }
            plan.reports = Some(reports(table, &course, seed, l as u32));
        }
        Ok(())
    }

    /// The settings of `[defaults.link]`, with the content of its trace file.
    pub(super) fn link_defaults(&self, traces: &mut Traces<'_>) -> Result<LinkSettings, ScenarioError> {
        let none = LinkSettings::default();
        self.settled(self.file.defaults.link.as_ref().map_or(&none, Spanned::get_ref), traces)
    }

    pub(super) fn link_defaults_span(&self) -> Range<usize> {
        self.file.defaults.link.as_ref().map_or(0..0, Spanned::span)
    }

    /// Adds the content of a trace file to settings.
    pub(super) fn settled(
        &self,
        settings: &LinkSettings,
        traces: &mut Traces<'_>,
    ) -> Result<LinkSettings, ScenarioError> {
        let Some(trace) = &settings.trace else { return Ok(settings.clone()) };
        if settings.capacity_changes.is_some() {
            return Err(self.error(trace.span(), "there are both `capacity_changes` and a `trace`; leave one out"));
        }
        traces.settled(settings, &trace.get_ref().table()).map_err(|message| self.error(trace.span(), message))
    }
}

fn too_many(changes: usize) -> String {
    format!(
        "with the {changes} changes of capacity up to here there are over {MOST_CHANGES}; give fewer, or traces a longer \
         `bin`"
    )
}

fn plan(settings: &LinkSettings, duration: Span) -> LinkPlan {
    let table = settings.trace.as_ref().map(|trace| trace.get_ref().table());
    let opportunities = table.as_ref().and_then(opportunities);
    let changes = match (&table, &opportunities) {
        (Some(table), Some(opportunities)) => opportunities.rates(table.bin(), duration),
        _ => settings.capacity_changes.iter().flatten().map(|change| (change.time(), change.capacity.rate())).collect(),
    };
    // The limit of the queue follows when the paths are known.
    LinkPlan {
        limit: Limit::default(),
        discipline: settings.discipline.clone(),
        data: settings.faults.unwrap_or_default().faults(),
        control: settings.control_faults.unwrap_or_default().faults(),
        changes,
        opportunities,
        shares: settings.shares.iter().flat_map(Shares::parts).collect(),
        reports: None,
    }
}

fn opportunities(table: &TraceTable) -> Option<Opportunities> {
    let times = table.opportunities_ms.clone()?;
    Some(Opportunities { times, bytes: table.opportunity().0 as u32 })
}
