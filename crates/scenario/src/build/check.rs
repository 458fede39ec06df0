//! Checks of scenarios that can be solved but not run.

use std::ops::Range;

use anabranch_core::units::Short;
use anabranch_core::{Bytes, Connection, ConnectionId, LinkId, Network, Paths, Rate, Span};
use anabranch_plan::Record;
use anabranch_plan::{CAPACITIES, ControlPlane, LEAST_ROUND_TRIP, LinkPlan, MOST_DELAY, RunPlan, Transfer};
use anabranch_proto::control::MOST_POSITIONS;
use toml::Spanned;

use super::Scenario;
use super::connections::Connections;
use super::network::first_ids;
use super::sources::check_sources;
use crate::error::ScenarioError;

/// The most paths and links that a run can number.
const MOST_IDS: usize = 1 << 27;

/// The most numbers that a run records at its samples.
const MOST_RECORDED: u64 = 200_000_000;

impl Scenario {
    /// Checks that initial and later capacities can be simulated.
    pub(super) fn check_capacities(&self, network: &Network, plans: &[LinkPlan]) -> Result<(), ScenarioError> {
        for (number, (link, plan)) in network.links().iter().zip(plans).enumerate() {
            let later = plan.changes.iter().map(|&(_, capacity)| capacity);
            let Some(bad) = std::iter::once(link.capacity).chain(later).find(|&c| !is_simulated(c)) else { continue };
            let message = format!(
                "link `{}`: capacity is {} bit/s; a run takes 0, 1 to 1e15, or \"unlimited\"",
                link.name,
                Short(bad.0)
            );
            return Err(self.error(self.link_span(LinkId::new(number)), message));
        }
        Ok(())
    }

    /// Checks that every connection has a protocol, unless programs send in place of the connections.
    pub(super) fn check_protocols(&self, wants: &Connections) -> Result<(), ScenarioError> {
        let Some(unruled) = wants.unruled.filter(|_| !self.carries_programs) else { return Ok(()) };
        // A file or a rule that makes no connection needs none.
        let Some(connection) = wants.demands.connections().get(unruled.index()) else { return Ok(()) };
        Err(self.error(
            wants.span(unruled.index()),
            format!(
                "connection `{}`: it has no protocol; add protocol = \"cubic\" (or d-slen, lia, ...) to its table or, for \
                 all connections, to [defaults.connection]; `anabranch list protocols` shows all",
                connection.name
            ),
        ))
    }

    /// Place of a link's table in the file.
    fn link_span(&self, link: LinkId) -> Range<usize> {
        if let Some(network) = &self.file.network {
            return network.span();
        }
        let made = self.file.link.iter().zip(first_ids(&self.file.link));
        made.take_while(|(_, first)| *first <= link).last().map_or(0..0, |(table, _)| table.span())
    }

    /// Checks that every connection has paths that packets can take there and back.
    pub(super) fn check_paths(
        &self,
        network: &Network,
        plans: &[LinkPlan],
        wants: &Connections,
        paths: &Paths,
    ) -> Result<(), ScenarioError> {
        let has_limit = network.links().iter().zip(plans).map(|(link, plan)| has_limit(link.capacity, plan)).collect();
        let run_table = self.run();
        let checks = Checks { network, plans, has_limit, run: run_table.plan() };
        for (c, connection) in wants.demands.connections().iter().enumerate() {
            let transfer = &wants.transfers[c];
            let protocol = &wants.protocols[transfer.protocol];
            let mistake =
                run_table.transport.mistake(transfer.packet).filter(|_| protocol.capabilities().keeps_windows());
            let count = paths.of(ConnectionId::new(c)).len();
            let checked = check_sources(protocol, wants.sources(c).len(), count)
                .and_then(|()| protocol.check(connection.claim(), connection.reserved, count))
                .and_then(|()| mistake.map_or(Ok(()), Err))
                .and_then(|()| checks.connection(connection, transfer, paths.of(ConnectionId::new(c))));
            checked
                .map_err(|reason| self.error(wants.span(c), format!("connection `{}`: {reason}", connection.name)))?;
        }
        Ok(())
    }

    /// Checks that the recorded samples fit into memory.
    pub(super) fn check_size(&self, network: &Network, paths: &Paths, run: &RunPlan) -> Result<(), ScenarioError> {
        let samples = run.duration.0 / run.sample.0 + 1;
        if paths.len() >= MOST_IDS || network.links().len() + 2 * paths.connections() >= MOST_IDS {
            let message =
                format!("there are {} paths; a run takes up to {MOST_IDS} of paths and of links", paths.len());
            return Err(self.error(0..0, message));
        }
        // A connection or subflow has its granted and delivered rate; a link has its fair load, capacity and queue as
        // well; errors are the seven numbers of two summaries, and the longest queue.
        let has_samples = run.record != Record { grants: run.record.grants, ..Record::default() };
        let counted = [
            (has_samples, 1),
            (run.record.connections, 2 * paths.connections()),
            (run.record.subflows, 2 * paths.len()),
            (run.record.windows, 4 * paths.len()),
            (run.record.links, 6 * network.links().len()),
            (run.record.fairness, paths.connections() + 3),
            (run.record.errors, 15),
        ];
        let values: usize = counted.iter().filter(|(is_recorded, _)| *is_recorded).map(|(_, count)| count).sum();
        if samples.saturating_mul(values as u64) <= MOST_RECORDED {
            return Ok(());
        }
        let message = format!(
            "{values} values at each of {samples} samples are over {MOST_RECORDED}; raise `sample` or record less"
        );
        Err(self.error(self.file.run.as_ref().map_or(0..0, Spanned::span), message))
    }
}

/// State for the checks of connections and their paths.
struct Checks<'a> {
    network: &'a Network,
    plans: &'a [LinkPlan],
    /// For each link, whether it always has a finite capacity.
    has_limit: Vec<bool>,
    run: RunPlan,
}

impl Checks<'_> {
    fn connection<'p>(
        &self,
        connection: &Connection,
        transfer: &Transfer,
        paths: impl ExactSizeIterator<Item = &'p [LinkId]>,
    ) -> Result<(), String> {
        if let Some(demand) = connection.demand.filter(|d| !CAPACITIES.contains(&d.0)) {
            return Err(format!("demand is {} bit/s; a run takes 1 to 1e15", Short(demand.0)));
        }
        if paths.len() == 0 {
            let ends = [connection.source, connection.target].map(|node| &self.network.node(node).name);
            return Err(format!("no path leads from `{}` to `{}`; add links, or name others", ends[0], ends[1]));
        }
        let largest = self.largest_packet(transfer);
        for path in paths {
            self.path(path, connection.demand.is_some(), largest)?;
        }
        Ok(())
    }

    /// The largest packet that waits in the queues of a connection's links.
    fn largest_packet(&self, transfer: &Transfer) -> Bytes {
        let data = if self.run.data { transfer.packet } else { Bytes(0) };
        let control = if self.run.control == ControlPlane::InBand { self.run.control_packet } else { Bytes(0) };
        data.max(control)
    }

    fn path(&self, path: &[LinkId], has_demand: bool, largest: Bytes) -> Result<(), String> {
        // A demand counts as one more link.
        let most = MOST_POSITIONS - usize::from(has_demand);
        if path.len() > most {
            return Err(format!("a path has {} links; a run takes up to {most}, so ask for fewer paths", path.len()));
        }
        for &link in path {
            let name = &self.network.link(link).name;
            if self.network.link(link).twin.is_none() {
                return Err(format!("link `{name}` has no way back for replies; make it two-way or give it a twin"));
            }
            if self.plans[link.index()].limit.bytes.is_some_and(|limit| limit < largest) {
                return Err(format!(
                    "the queue of link `{name}` does not hold a packet of {} B; enlarge it",
                    largest.0
                ));
            }
        }
        let link = |id: LinkId| self.network.link(id).delay.0;
        if let Some(&slow) = path.iter().find(|&&l| link(l).max(self.plans[l.index()].latest().0) > MOST_DELAY.0) {
            let name = &self.network.link(slow).name;
            return Err(format!("link `{name}` delays packets by more than {MOST_DELAY}; a run takes no more"));
        }
        let round_trip: u64 = path.iter().map(|&l| link(l) + self.network.link(l).twin.map_or(0, link)).sum();
        if round_trip < LEAST_ROUND_TRIP.0 {
            return Err(format!(
                "a path takes {} there and back; control packets go round it all the time, so give its links delays \
                 that make {LEAST_ROUND_TRIP} or more",
                Span(round_trip)
            ));
        }
        if !has_demand && !path.iter().any(|link| self.has_limit[link.index()]) {
            return Err("a path has no link that is always limited; give the connection a demand".to_owned());
        }
        Ok(())
    }
}

fn is_simulated(capacity: Rate) -> bool {
    capacity.0 == 0.0 || capacity.0 == f64::INFINITY || CAPACITIES.contains(&capacity.0)
}

/// Whether the capacity is finite at all times.
fn has_limit(capacity: Rate, plan: &LinkPlan) -> bool {
    capacity.0.is_finite() && plan.changes.iter().all(|(_, later)| later.0.is_finite())
}
