//! From the file as written to a checked scenario.

use std::collections::HashSet;
use std::ops::Range;

use anabranch_core::paths::{Metric, SearchError, check_path, k_shortest, links_along, links_named};
use anabranch_core::{Connection, Demands, LinkId, Network, NetworkBuilder, NodeId, Paths, Position, Time};
use thiserror::Error;
use toml::Spanned;

use crate::file::{ConnectionTable, File, LinkTable, NetworkFile, NodeTable, PathChoice};

/// Shortest paths for a connection that says nothing about its paths.
const DEFAULT_PATHS: usize = 4;

/// A mistake in a scenario file, with its place.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}, column {column}: {message}")]
pub struct ScenarioError {
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
    /// What is wrong, and what would do.
    pub message: String,
}

impl ScenarioError {
    fn at(text: &str, span: Option<Range<usize>>, message: impl Into<String>) -> Self {
        let before = &text[..span.map_or(0, |s| s.start).min(text.len())];
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|&c| c != '\n').count() + 1;
        Self { line, column, message: message.into() }
    }
}

/// Where the network of a scenario comes from.
#[derive(Clone, Debug)]
pub enum NetworkSource {
    /// The scenario file itself.
    Inline(Network),
    /// Another file, to be read by the caller.
    File(NetworkFile),
}

/// A scenario file that was read, and whose network may have to be read from elsewhere.
pub struct Scenario {
    text: String,
    file: File,
}

impl Scenario {
    /// Reads the text of a scenario file.
    ///
    /// # Errors
    /// The first mistake in form: syntax, an unknown key, a wrong type, a quantity without a unit.
    pub fn parse(text: &str) -> Result<Self, ScenarioError> {
        let file: File = toml::from_str(text)
            .map_err(|error| ScenarioError::at(text, error.span(), error.message().replace('\n', "; ")))?;
        Ok(Self { text: text.to_owned(), file })
    }

    /// For headings.
    pub fn title(&self) -> &str {
        &self.file.title
    }

    /// The network, or where to read it.
    ///
    /// # Errors
    /// A mistake in a node or a link, or none of them at all.
    pub fn network(&self) -> Result<NetworkSource, ScenarioError> {
        let inline = self.file.link.first().map(Spanned::span).or(self.file.node.first().map(Spanned::span));
        match (&self.file.network, inline) {
            (Some(_), Some(span)) => {
                Err(self
                    .error(span, "the network is in a file of its own ([network]), so no node or link may stand here"))
            }
            (Some(network), None) => Ok(NetworkSource::File(network.get_ref().clone())),
            (None, Some(_)) => self.inline_network().map(NetworkSource::Inline),
            (None, None) => {
                Err(self.error(0..0, "there is no network; add [[link]] tables or a [network] with a file"))
            }
        }
    }

    fn inline_network(&self) -> Result<Network, ScenarioError> {
        let mut builder = NetworkBuilder::new();
        for node in &self.file.node {
            let NodeTable { name, longitude, latitude } = node.get_ref();
            let position = match (longitude, latitude) {
                (None, None) => None,
                (Some(longitude), Some(latitude)) => Some(Position { longitude: *longitude, latitude: *latitude }),
                _ => {
                    let message = format!("node `{name}`: a position needs both longitude and latitude");
                    return Err(self.error(node.span(), message));
                }
            };
            builder.node(name, position).map_err(|e| self.error(node.span(), e.to_string()))?;
        }
        for link in &self.file.link {
            add_link(&mut builder, link.get_ref()).map_err(|e| self.error(link.span(), e.to_string()))?;
        }
        Ok(builder.build())
    }

    /// The connections, on the scenario's network.
    ///
    /// # Errors
    /// An unknown node, a repeated name, a number out of its range.
    pub fn demands(&self, network: &Network) -> Result<Demands, ScenarioError> {
        let mut taken: HashSet<String> = self.file.connection.iter().filter_map(|c| c.get_ref().name.clone()).collect();
        let mut connections = Vec::with_capacity(self.file.connection.len());
        for table in &self.file.connection {
            let span = table.span();
            let table = table.get_ref();
            let node = |name: &str, role: &str| {
                network.find_node(name).ok_or_else(|| {
                    let hint = network.node_hint(name);
                    let message = format!("{role}: there is no node `{name}`{hint}; name one of the network's nodes");
                    self.error(span.clone(), message)
                })
            };
            let (source, target) = (node(&table.source, "source")?, node(&table.target, "target")?);
            let name = table.name.clone().unwrap_or_else(|| free_name(&mut taken, &table.source, &table.target));
            connections.push(connection(table, name, source, target));
            // Checked one by one, so that the error has the place of its connection.
            Demands::new(network, connections[connections.len() - 1..].to_vec())
                .map_err(|e| self.error(span.clone(), e.to_string()))?;
        }
        let last = self.file.connection.last().map_or(0..0, Spanned::span);
        Demands::new(network, connections).map_err(|e| self.error(last, e.to_string()))
    }

    /// The paths of all connections: as given, or the shortest ones.
    ///
    /// # Errors
    /// A path that cannot be, or paths given both by nodes and by links.
    pub fn paths(&self, network: &Network, demands: &Demands) -> Result<Paths, ScenarioError> {
        let mut paths = Paths::new();
        for (table, connection) in self.file.connection.iter().zip(demands.connections()) {
            let own = self.paths_of(table, connection, network)?;
            paths.push_connection(own);
        }
        Ok(paths)
    }

    fn paths_of(
        &self,
        table: &Spanned<ConnectionTable>,
        connection: &Connection,
        network: &Network,
    ) -> Result<Vec<Vec<LinkId>>, ScenarioError> {
        let (nodes, links) = (&table.get_ref().paths, &table.get_ref().links);
        let (span, named, by_links): (_, &[Vec<String>], bool) = match (nodes, links) {
            (Some(_), Some(links)) => {
                let message = format!(
                    "connection `{}`: its paths are given both by nodes and by links; leave one out",
                    connection.name
                );
                return Err(self.error(links.span(), message));
            }
            (None, Some(links)) => (links.span(), links.get_ref(), true),
            (Some(choice), None) => match choice.get_ref() {
                PathChoice::Nodes(paths) => (choice.span(), paths, false),
                PathChoice::Shortest(count) => return self.shortest(connection, network, *count, choice.span()),
            },
            (None, None) => return self.shortest(connection, network, DEFAULT_PATHS, table.span()),
        };
        let mut found = Vec::with_capacity(named.len());
        for (i, names) in named.iter().enumerate() {
            let place = format!("connection `{}`, path {}", connection.name, i + 1);
            let path = if by_links { links_named(network, names, &place) } else { links_along(network, names, &place) };
            let path = path
                .and_then(|path| {
                    check_path(network, &path, connection.source, connection.target, &place).map(|()| path)
                })
                .map_err(|e| self.error(span.clone(), e.to_string()))?;
            found.push(path);
        }
        Ok(found)
    }

    fn shortest(
        &self,
        connection: &Connection,
        network: &Network,
        count: usize,
        span: Range<usize>,
    ) -> Result<Vec<Vec<LinkId>>, ScenarioError> {
        let pair = [(connection.source, connection.target)];
        let found = k_shortest(network, &pair, count, &Metric::Hops, &|_| true)
            .map_err(|e: SearchError| self.error(span, e.to_string()))?;
        Ok((0..found.len()).map(|p| found.path(p).to_vec()).collect())
    }

    fn error(&self, span: Range<usize>, message: impl Into<String>) -> ScenarioError {
        ScenarioError::at(&self.text, Some(span), message)
    }
}

fn add_link(builder: &mut NetworkBuilder, link: &LinkTable) -> Result<(), anabranch_core::NetworkError> {
    let mut end = |name: &str| match builder.find_node(name) {
        Some(id) => Ok(id),
        None => builder.node(name, None),
    };
    let (source, target) = (end(&link.source)?, end(&link.target)?);
    let (name, capacity, delay) = (link.name.as_deref(), link.capacity.0, link.delay.0);
    if link.two_way {
        builder.two_way(name, source, target, capacity, delay).map(|_| ())
    } else {
        builder.link(name, source, target, capacity, delay).map(|_| ())
    }
}

fn connection(table: &ConnectionTable, name: String, source: NodeId, target: NodeId) -> Connection {
    Connection {
        demand: table.demand.map(|d| d.0),
        weight: table.weight,
        qos: table.qos,
        start: Time(table.start.0.0),
        stop: table.stop.map(|s| Time(s.0.0)),
        ..Connection::new(name, source, target)
    }
}

/// `source>target`, with `#2` and so on where that is taken.
fn free_name(taken: &mut HashSet<String>, source: &str, target: &str) -> String {
    let base = format!("{source}>{target}");
    let numbered = (2..).map(|n| format!("{base}#{n}"));
    let free = std::iter::once(base.clone()).chain(numbered).find(|name| !taken.contains(name));
    let free = free.expect("some number is free");
    taken.insert(free.clone());
    free
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRIANGLE: &str = r#"
title = "A triangle"
[[node]]
name = "a"
longitude = 10.7
latitude = 59.9
[[link]]
source = "a"
target = "b"
capacity = "10 Mbit/s"
delay = "5 ms"
[[link]]
source = "b"
target = "c"
capacity = "4 Mbit/s"
[[link]]
name = "direct"
source = "a"
target = "c"
capacity = "1 Mbit/s"
two_way = false
[[connection]]
source = "a"
target = "c"
paths = [["a", "b", "c"], ["a", "c"]]
[[connection]]
name = "back"
source = "c"
target = "a"
demand = "2 Mbit/s"
"#;

    fn read(text: &str) -> Result<(Network, Demands, Paths), ScenarioError> {
        let scenario = Scenario::parse(text)?;
        let NetworkSource::Inline(network) = scenario.network()? else { panic!("the network is inline") };
        let demands = scenario.demands(&network)?;
        let paths = scenario.paths(&network, &demands)?;
        Ok((network, demands, paths))
    }

    #[test]
    fn a_scenario_is_read_whole() {
        let (network, demands, paths) = read(TRIANGLE).unwrap();
        let names: Vec<&str> = network.links().iter().map(|l| l.name.as_str()).collect();
        assert_eq!(names, ["a-b", "b-a", "b-c", "c-b", "direct"]);
        assert_eq!(demands.connections()[0].name, "a>c");
        assert_eq!(demands.connections()[1].demand, Some(anabranch_core::Rate(2e6)));
        // By hand: a-b-c, then the direct link. The way back has one path only, since the direct link is one-way.
        assert_eq!(paths.connection_offsets(), [0, 2, 3]);
        assert_eq!(paths.path(1), [LinkId(4)]);
    }

    #[test]
    fn mistakes_have_a_place_a_reason_and_a_remedy() {
        let said = |from: &str, to: &str| {
            assert!(TRIANGLE.contains(from));
            read(&TRIANGLE.replacen(from, to, 1)).unwrap_err().to_string()
        };
        let unit = said("\"10 Mbit/s\"", "\"10\"");
        assert!(unit.starts_with("line 10, column 12: ") && unit.contains("it has no unit"), "{unit}");
        assert!(said("\"10 Mbit/s\"", "10").contains("a rate in quotes"));
        assert!(said("delay =", "dealy =").contains("unknown field `dealy`, expected one of"));
        let path = said("\"a\", \"b\", \"c\"", "\"a\", \"bb\", \"c\"");
        assert!(path.starts_with("line 25, column 9: connection `a>c`, path 1: there is no node `bb`"), "{path}");
        assert!(said("[\"a\", \"c\"]]", "[\"a\", \"b\"]]").contains("ends at node `b`"));
        assert!(said("target = \"c\"\npaths", "target = \"d\"\npaths").contains("there is no node `d`"));
        assert!(said("latitude = 59.9", "latitude = 159.9").contains("off the globe"));
        assert!(said("latitude = 59.9", "").contains("needs both"));
        assert!(said("[[\"a\", \"b\", \"c\"], [\"a\", \"c\"]]", "0").contains("1 or more"));
        assert!(said("demand = \"2 Mbit/s\"", "weight = -1.0").contains("weight is -1"));
        assert!(read("title = \"x\"").unwrap_err().to_string().contains("there is no network"));
        assert!(read("title = ").is_err());
    }

    #[test]
    fn a_network_may_stand_in_a_file_of_its_own() {
        let scenario = Scenario::parse("[network]\nfile = \"abilene.gml\"\ncapacity = \"10 Gbit/s\"").unwrap();
        let NetworkSource::File(network) = scenario.network().unwrap() else { panic!("it is in a file") };
        assert_eq!(network.file, "abilene.gml");
        let both = format!("{TRIANGLE}\n[network]\nfile = \"x.gml\"");
        assert!(read(&both).unwrap_err().to_string().contains("no node or link may stand here"));
    }
}
