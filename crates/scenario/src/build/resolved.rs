//! The scenario with every value written out, so that it depends on no default and on no other file.

use anabranch_core::quantity::{RateText, SpanText};
use anabranch_core::{Connection, Demands, LinkId, Network, Span};
use anabranch_plan::Plan;
use toml::Spanned;

use super::connections::Connections;
use super::network::first_ids;
use super::traces::Traces;
use super::{Read, Scenario};
use crate::error::ScenarioError;
use crate::file::File;
use crate::file::connection::{ConnectionTable, PathChoice};
use crate::file::link::{LinkSettings, LinkTable, NodeTable, QueueLimit};
use crate::file::network::Generator;
use crate::file::relays::RelaysTable;
use crate::file::traffic::TrafficTable;

impl Scenario {
    /// The scenario as TOML with every default written out; reading it gives the same plan.
    ///
    /// Networks, demands and traces from files become tables; a rule stays as it is, with its seed. `plan` is what
    /// [`Self::plan`] made of the same arguments.
    ///
    /// # Errors
    /// The errors of [`Self::plan`] in connections and traces.
    pub fn resolved(&self, plan: &Plan, extra: Option<&Demands>, read: Read<'_>) -> Result<String, ScenarioError> {
        let network = &*plan.network;
        let wants = self.wants(network, extra)?;
        let mut file = self.file.clone();
        let mut run = self.run();
        run.sample = Some(SpanText(run.sample()));
        resolve_network(&mut file, network, run.seed);
        let seed = run.seed;
        file.filters.iter_mut().for_each(|table| table.get_mut().seed = table.get_ref().seed.or(Some(seed)));
        file.run = Some(unplaced(run));
        if !wants.after.is_empty() {
            file.relays.get_or_insert_with(|| unplaced(RelaysTable::default()));
        }
        self.resolve_links(&mut file, plan, &wants, &mut self.traces(read))?;
        self.resolve_connections(&mut file, network, &wants);
        file.traffic = self.file.traffic.iter().map(|t| unplaced(self.resolved_traffic(t.get_ref()))).collect();
        file.defaults.connection = self.file.defaults.connection.values().into();
        Ok(toml::to_string(&file).expect("a file that was read can be written"))
    }

    fn resolve_links(
        &self,
        file: &mut File,
        plan: &Plan,
        wants: &Connections,
        traces: &mut Traces<'_>,
    ) -> Result<(), ScenarioError> {
        let filled = |settings: LinkSettings| LinkSettings {
            queue: Some(settings.queue.unwrap_or_else(|| self.silent_limit(wants, settings.discipline.as_ref()))),
            faults: Some(settings.faults.unwrap_or_default()),
            control_faults: Some(settings.control_faults.unwrap_or_default()),
            ..settings
        };
        let defaults = self.link_defaults(traces)?;
        // Networks from files have become tables, one for each link, so the tables and the links of the plan agree.
        let firsts: Vec<usize> = first_ids(&file.link).map(LinkId::index).collect();
        for (table, first) in file.link.iter_mut().map(Spanned::get_mut).zip(firsts) {
            let own = self.settled(&table.settings(), traces)?;
            // A default that may be long is written once, in the defaults.
            table.capacity_changes.clone_from(&own.capacity_changes);
            table.trace.clone_from(&own.trace);
            let settings = filled(own.or(&defaults));
            table.queue = Some(QueueLimit::from(plan.links[first].limit));
            table.discipline = settings.discipline;
            table.faults = settings.faults;
            table.control_faults = settings.control_faults;
            table.shares = settings.shares;
            table.capacity_report = settings.capacity_report;
        }
        file.defaults.link = Some(unplaced(filled(defaults)));
        Ok(())
    }

    fn resolve_connections(&self, file: &mut File, network: &Network, wants: &Connections) {
        let values = self.file.defaults.connection.values();
        let connections = wants.demands.connections();
        let mut made = Vec::new();
        let first = wants.places.partition_point(|&place| place < u32::from(self.file.demands.is_some()));
        if self.demands_file().is_some() {
            file.demands = None;
            made.extend(connections[..first].iter().map(|c| connection_table(c, network)));
        }
        for (table, connection) in self.file.connection.iter().zip(&connections[first..]) {
            made.push(ConnectionTable { name: Some(connection.name.clone()), ..table.get_ref().clone() });
        }
        for table in &mut made {
            table.protocol = table.protocol.take().or_else(|| values.protocol.clone());
            if table.links.is_none() {
                let paths = values.paths_under(table.protocol.as_ref());
                table.paths.get_or_insert_with(|| unplaced(PathChoice::Shortest(paths)));
            }
            if table.after.is_none() {
                table.amount.get_or_insert(values.amount);
            }
            table.packet.get_or_insert(values.packet);
        }
        file.connection = made.into_iter().map(unplaced).collect();
    }

    fn resolved_traffic(&self, table: &TrafficTable) -> TrafficTable {
        let values = self.file.defaults.connection.values();
        let mut table = table.clone();
        table.protocol = table.protocol.or(values.protocol.clone());
        table.paths = Some(table.paths.unwrap_or_else(|| values.paths_under(table.protocol.as_ref())));
        table.amount.get_or_insert(values.amount);
        table.packet.get_or_insert(values.packet);
        table
    }
}

fn resolve_network(file: &mut File, network: &Network, seed: u64) {
    let Some(table) = file.network.as_mut().map(Spanned::get_mut) else { return };
    if table.file.is_some() {
        file.network = None;
        file.node = network
            .nodes()
            .iter()
            .map(|node| {
                let name = node.name.clone();
                let (longitude, latitude) = node.position.map(|p| (p.longitude, p.latitude)).unzip();
                unplaced(NodeTable { name, longitude, latitude })
            })
            .collect();
        file.link = link_tables(network);
        return;
    }
    table.seed.get_or_insert(seed);
    if let Some(Generator::TransitStub(rule)) = table.generate.as_mut().map(Spanned::get_mut) {
        *rule = rule.filled();
    }
}

/// A value that is written out, which has no place in the file.
fn unplaced<T>(value: T) -> Spanned<T> {
    Spanned::new(0..0, value)
}

/// A table for each link, in the order of ids.
fn link_tables(network: &Network) -> Vec<Spanned<LinkTable>> {
    let name = |node| network.node(node).name.clone();
    let links = network.links().iter().map(|link| LinkTable {
        name: Some(link.name.clone()),
        source: name(link.source),
        target: name(link.target),
        capacity: link.capacity.into(),
        delay: SpanText(link.delay),
        two_way: false,
        twin: link.twin.map(|twin| unplaced(network.link(twin).name.clone())),
        queue: None,
        discipline: None,
        faults: None,
        control_faults: None,
        capacity_changes: None,
        trace: None,
        shares: None,
        capacity_report: None,
    });
    links.map(unplaced).collect()
}

fn connection_table(connection: &Connection, network: &Network) -> ConnectionTable {
    let name = |node| network.node(node).name.clone();
    ConnectionTable {
        name: Some(connection.name.clone()),
        source: Some(name(connection.source)),
        sources: None,
        target: name(connection.target),
        demand: connection.demand.map(RateText),
        weight: connection.weight,
        qos: connection.qos,
        reserved: (connection.reserved.0 > 0.0).then_some(RateText(connection.reserved)),
        start: SpanText(Span(connection.start.0)),
        stop: connection.stop.map(|stop| SpanText(Span(stop.0))),
        paths: None,
        links: None,
        protocol: None,
        relays: None,
        loops: None,
        after: None,
        amount: None,
        packet: None,
        demand_changes: None,
        path_times: None,
    }
}
