//! The connections in order: first those of `[demands]`, then `[[connection]]`, then `[[traffic]]`.

use std::collections::HashSet;
use std::ops::Range;

use anabranch_core::names::FreeNames;
use anabranch_core::random::{Purpose, stream};
use anabranch_core::{Connection, ConnectionId, Demands, Network, NodeId, Rate, Span, Time};
use anabranch_plan::{DemandChange, Fetch, PathTime, Server, Transfer};
use anabranch_proto::Protocol;
use rand::{Rng, RngExt};
use toml::Spanned;

use super::path_times::{Timed, path_times};
use super::relays::After;
use super::sources::{check_protocol, fetch, source_names};
use super::traffic::{Drawn, Group, Misdrawn};
use super::{Scenario, generate};
use crate::error::ScenarioError;
use crate::file::connection::{ConnectionTable, ConnectionValues, DemandStep, DemandsTable, PathChoice, PathCount};
use crate::file::distribution::Amount;
use crate::file::traffic::TrafficTable;

/// The connections of a scenario, before their paths are found.
pub(super) struct Connections {
    pub demands: Demands,
    pub transfers: Vec<Transfer>,
    pub protocols: Vec<Protocol>,
    /// Changes of demands, in order of time.
    pub demand_changes: Vec<DemandChange>,
    /// Times of paths, in order of connections and paths.
    pub path_times: Vec<PathTime>,
    /// Fetches, in order of connections.
    pub fetches: Vec<Fetch>,
    /// Connections whose paths have times.
    pub timed: Vec<Timed>,
    /// Connections that send what arrives over other connections.
    pub after: Vec<After>,
    /// Source of the paths of each connection.
    pub paths: Vec<WantedPaths>,
    /// For each connection, the index in `spans` of its place in the file.
    pub places: Vec<u32>,
    pub spans: Vec<Range<usize>>,
    /// The first connection without a protocol, which has a stand-in here.
    pub unruled: Option<ConnectionId>,
}

/// Source of the paths of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WantedPaths {
    /// This number of shortest paths from each source; `is_asked` tells whether the file asks for just so many.
    Shortest { count: usize, is_asked: bool },
    /// The paths in the `[[connection]]` table of this number.
    Given(usize),
}

impl Connections {
    /// Nodes at which the paths of a connection begin.
    pub(super) fn sources(&self, connection: usize) -> Vec<NodeId> {
        let id = ConnectionId::new(connection);
        match self.fetches.binary_search_by_key(&id, |fetch| fetch.connection) {
            Ok(place) => self.fetches[place].servers.iter().map(|server| server.node).collect(),
            Err(_) => vec![self.demands.connections()[connection].source],
        }
    }

    /// Place of connection number `connection` in the file.
    pub(super) fn span(&self, connection: usize) -> Range<usize> {
        self.spans[self.places[connection] as usize].clone()
    }
}

impl Scenario {
    /// Draws the connections and checks them against the network.
    pub(super) fn wants(&self, network: &Network, extra: Option<&Demands>) -> Result<Connections, ScenarioError> {
        let mut list = ConnectionsBuilder::new(self, network);
        list.add_demands(extra)?;
        for (number, table) in self.file.connection.iter().enumerate() {
            list.add_table(number, table)?;
        }
        for (number, table) in self.file.traffic.iter().enumerate() {
            list.add_group(number, table)?;
        }
        Ok(list.wants())
    }
}

/// The builder that gathers connections.
struct ConnectionsBuilder<'a> {
    scenario: &'a Scenario,
    network: &'a Network,
    defaults: ConnectionValues,
    seed: u64,
    connections: Vec<Connection>,
    transfers: Vec<Transfer>,
    protocols: Vec<Protocol>,
    demand_changes: Vec<DemandChange>,
    path_times: Vec<PathTime>,
    fetches: Vec<Fetch>,
    timed: Vec<Timed>,
    after: Vec<After>,
    paths: Vec<WantedPaths>,
    places: Vec<u32>,
    spans: Vec<Range<usize>>,
    names: HashSet<String>,
    unruled: Option<ConnectionId>,
    /// Names that tables give.
    reserved: HashSet<&'a str>,
    free_names: FreeNames,
}

impl<'a> ConnectionsBuilder<'a> {
    fn new(scenario: &'a Scenario, network: &'a Network) -> Self {
        Self {
            scenario,
            network,
            defaults: scenario.file.defaults.connection.values(),
            seed: scenario.run().seed,
            connections: Vec::new(),
            transfers: Vec::new(),
            protocols: Vec::new(),
            demand_changes: Vec::new(),
            path_times: Vec::new(),
            fetches: Vec::new(),
            timed: Vec::new(),
            after: Vec::new(),
            paths: Vec::new(),
            places: Vec::new(),
            spans: Vec::new(),
            unruled: None,
            names: HashSet::new(),
            reserved: scenario.file.connection.iter().filter_map(|c| c.get_ref().name.as_deref()).collect(),
            free_names: FreeNames::new(),
        }
    }

    /// Sets the place of the next connections in the file.
    fn begin(&mut self, span: Range<usize>) {
        self.spans.push(span);
    }

    fn error(&self, message: impl Into<String>) -> ScenarioError {
        self.scenario.error(self.spans.last().cloned().unwrap_or(0..0), message)
    }

    /// Adds a connection after a check of it alone, so that an error has its place.
    fn add(&mut self, connection: Connection, transfer: Transfer, paths: WantedPaths) -> Result<(), ScenarioError> {
        let checked = Demands::new(self.network, vec![connection]).map_err(|e| self.error(e.to_string()))?;
        let connection = checked.connections()[0].clone();
        if !self.names.insert(connection.name.clone()) {
            let name = &connection.name;
            return Err(self.error(format!("connection `{name}`: the name is already taken; names must be unique")));
        }
        self.connections.push(connection);
        self.transfers.push(transfer);
        self.paths.push(paths);
        self.places.push(self.spans.len() as u32 - 1);
        Ok(())
    }

    /// Number of a protocol, or of the default protocol, among the protocols in use. Without either, the next connection
    /// is remembered: it can be solved but not run.
    fn protocol(&mut self, given: Option<&Protocol>) -> usize {
        let given = given.or(self.defaults.protocol.as_ref());
        if given.is_none() {
            self.unruled.get_or_insert(ConnectionId::new(self.connections.len()));
        }
        let protocol = given.cloned().unwrap_or_default();
        self.protocols.iter().position(|p| *p == protocol).unwrap_or_else(|| {
            self.protocols.push(protocol);
            self.protocols.len() - 1
        })
    }

    fn add_demands(&mut self, extra: Option<&Demands>) -> Result<(), ScenarioError> {
        let Some(table) = &self.scenario.file.demands else { return Ok(()) };
        self.begin(table.span());
        let made;
        let demands = match (table.get_ref(), extra) {
            (DemandsTable::File(_), Some(extra)) => extra,
            (DemandsTable::File(file), None) => return Err(self.error(format!("`{file}` was not read; hand it over"))),
            (DemandsTable::Rule(rule), _) => {
                made = generate::demands(rule, self.network, self.seed).map_err(|message| self.error(message))?;
                &made
            }
        };
        let protocol = self.protocol(None);
        for connection in demands.connections() {
            let transfer = self.transfer(None, protocol);
            let paths = self.count(None, protocol);
            self.add(connection.clone(), transfer, paths)?;
        }
        Ok(())
    }

    fn add_table(&mut self, number: usize, table: &Spanned<ConnectionTable>) -> Result<(), ScenarioError> {
        self.begin(table.span());
        let table = table.get_ref();
        let sources = source_names(table).map_err(|reason| self.error(format!("{}: {reason}", called(table))))?;
        let nodes = sources.iter().map(|name| self.node("source", name)).collect::<Result<Vec<_>, _>>()?;
        let target = self.node("target", &table.target)?;
        let name = match &table.name {
            Some(name) => name.clone(),
            None => self.free_name(format!("{}>{}", sources.join("+"), table.target)),
        };
        let protocol = self.protocol(table.protocol.as_ref());
        let id = ConnectionId::new(self.connections.len());
        let fetch = fetch(table, id, &nodes, target, &self.protocols[protocol])
            .map_err(|reason| self.error(format!("connection `{name}`: {reason}")))?;
        self.fetches.extend(fetch);
        let mut transfer = self.transfer(table.amount, protocol);
        transfer.packet = table.packet.map_or(transfer.packet, |packet| packet.0);
        let paths = match (&table.paths, &table.links) {
            (Some(_), Some(links)) => {
                let message =
                    format!("connection `{name}`: its paths are given both by nodes and by links; leave one out");
                return Err(self.scenario.error(links.span(), message));
            }
            (None, Some(_)) => WantedPaths::Given(number),
            (choice, None) => match choice.as_ref().map(Spanned::get_ref) {
                Some(PathChoice::Nodes(_)) => WantedPaths::Given(number),
                Some(PathChoice::Shortest(count)) => self.count(Some(*count), protocol),
                None => self.count(None, protocol),
            },
        };
        if table.after.is_some() {
            self.check_after(table, &name)?;
        }
        self.add_demand_changes(table, &name)?;
        if table.after.is_some() {
            self.after.push(After { connection: id, table: number });
        }
        self.add(connection(table, name, nodes[0], target), transfer, paths)?;
        self.add_path_times(table)
    }

    /// Checks that a connection with `after` sends only the data that arrive over other connections.
    fn check_after(&self, table: &ConnectionTable, name: &str) -> Result<(), ScenarioError> {
        let keys = [
            ("amount", table.amount.is_some()),
            ("demand", table.demand.is_some()),
            ("demand_changes", table.demand_changes.is_some()),
        ];
        let Some((key, _)) = keys.into_iter().find(|(_, is_given)| *is_given) else { return Ok(()) };
        Err(self.error(format!(
            "connection `{name}`: it sends what comes over others, and has `{key}`; give that to the first of them"
        )))
    }

    /// Adds the times of the paths of the last connection, which this table describes.
    fn add_path_times(&mut self, table: &ConnectionTable) -> Result<(), ScenarioError> {
        let Some(times) = &table.path_times else { return Ok(()) };
        let connection = &self.connections[self.connections.len() - 1];
        let id = ConnectionId::new(self.connections.len() - 1);
        let protocol = &self.protocols[self.transfers[id.index()].protocol];
        let found = path_times(times.get_ref(), connection, id, protocol).map_err(|reason| {
            self.scenario.error(times.span(), format!("connection `{}`: {reason}", connection.name))
        })?;
        self.path_times.extend(found);
        self.timed.push(Timed { connection: id, paths: times.get_ref().len(), span: times.span() });
        Ok(())
    }

    /// Adds the demand changes of the next connection, which has this table and name.
    fn add_demand_changes(&mut self, table: &ConnectionTable, name: &str) -> Result<(), ScenarioError> {
        let Some(changes) = &table.demand_changes else { return Ok(()) };
        if table.demand.is_none() {
            let message =
                format!("connection `{name}`: its demand changes, and it has none to begin with; add `demand`");
            return Err(self.scenario.error(changes.span(), message));
        }
        let connection = ConnectionId::new(self.connections.len());
        let change = |step: &DemandStep| DemandChange { time: step.time(), connection, demand: step.demand.0 };
        self.demand_changes.extend(changes.get_ref().iter().map(change));
        Ok(())
    }

    fn add_group(&mut self, number: usize, table: &Spanned<TrafficTable>) -> Result<(), ScenarioError> {
        self.begin(table.span());
        let group = Group { table: table.get_ref(), seed: self.seed, number: number as u32, defaults: &self.defaults };
        let drawn = group
            .draw(self.network)
            .map_err(|Misdrawn { span, message }| self.scenario.error(span.unwrap_or_else(|| table.span()), message))?;
        let protocol = self.protocol(table.get_ref().protocol.as_ref());
        let packet = table.get_ref().packet.unwrap_or(self.defaults.packet).0;
        for Drawn { connection, amount, paths, asked } in drawn {
            if !asked.is_empty() {
                check_protocol(&self.protocols[protocol]).map_err(|reason| self.error(reason))?;
                let server = |node| Server { node, start: Time(0), stop: None };
                let servers = asked.into_iter().map(server).collect();
                let connection = ConnectionId::new(self.connections.len());
                self.fetches.push(Fetch { connection, servers, set_up: Span(0) });
            }
            self.add(connection, Transfer { amount, packet, protocol }, paths)?;
        }
        Ok(())
    }

    fn node(&self, role: &str, name: &str) -> Result<NodeId, ScenarioError> {
        self.network.find_node(name).ok_or_else(|| {
            let hint = self.network.node_hint(name);
            self.error(format!("{role}: there is no node `{name}`{hint}; name one of the network's nodes"))
        })
    }

    /// A name that neither an earlier connection nor a later table has.
    fn free_name(&mut self, base: String) -> String {
        let (names, reserved) = (&self.names, &self.reserved);
        self.free_names.find(base, |name| names.contains(name) || reserved.contains(name))
    }

    /// The transfer of the next connection, with the default packet.
    fn transfer(&self, amount: Option<Amount>, protocol: usize) -> Transfer {
        let mut rng = stream(self.seed, Purpose::Amounts, self.connections.len() as u32);
        let amount = amount.unwrap_or(self.defaults.amount).draw(&mut rng);
        Transfer { amount, packet: self.defaults.packet.0, protocol }
    }

    /// Number of paths of the next connection, under the protocol of this number.
    fn count(&self, count: Option<PathCount>, protocol: usize) -> WantedPaths {
        let mut rng = stream(self.seed, Purpose::PathCounts, self.connections.len() as u32);
        shortest(count, &self.defaults, Some(&self.protocols[protocol]), &mut rng)
    }

    fn wants(mut self) -> Connections {
        let demands = Demands::new(self.network, self.connections).expect("each was checked, and names are unique");
        // Changes at equal times stay in the order of connections.
        self.demand_changes.sort_by_key(|change| change.time);
        let Self {
            transfers,
            protocols,
            demand_changes,
            path_times,
            fetches,
            timed,
            after,
            paths,
            places,
            spans,
            unruled,
            ..
        } = self;
        Connections {
            demands,
            transfers,
            protocols,
            demand_changes,
            path_times,
            fetches,
            timed,
            after,
            paths,
            places,
            spans,
            unruled,
        }
    }
}

/// The shortest paths of a connection under `protocol`, as many as its own number says, or else as usual.
pub(super) fn shortest(
    own: Option<PathCount>,
    defaults: &ConnectionValues,
    protocol: Option<&Protocol>,
    rng: &mut impl Rng,
) -> WantedPaths {
    let written = own.or(defaults.paths);
    // A resolved file has the usual number, too, so that does not tell whether anybody asks for it.
    let usual = PathCount::usual(protocol);
    let is_asked = matches!(written, Some(PathCount::Exactly(_))) && written != Some(usual);
    WantedPaths::Shortest { count: draw_count(written.unwrap_or(usual), rng), is_asked }
}

/// Draws a number of paths; a fixed number does not use `rng`.
fn draw_count(count: PathCount, rng: &mut impl Rng) -> usize {
    match count {
        PathCount::Exactly(count) => count,
        PathCount::Between(range) => rng.random_range(range.least..=range.most),
    }
}

/// Name of a table in errors before the connection has one.
fn called(table: &ConnectionTable) -> String {
    table
        .name
        .as_ref()
        .map_or_else(|| format!("connection to `{}`", table.target), |name| format!("connection `{name}`"))
}

fn connection(table: &ConnectionTable, name: String, source: NodeId, target: NodeId) -> Connection {
    Connection {
        demand: table.demand.map(|d| d.0),
        weight: table.weight,
        qos: table.qos,
        reserved: table.reserved.map_or(Rate(0.0), |r| r.0),
        start: Time(table.start.0.0),
        stop: table.stop.map(|s| Time(s.0.0)),
        ..Connection::new(name, source, target)
    }
}
