//! From the file as written to a checked scenario.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

use anabranch_core::names::FreeNames;
use anabranch_core::paths::{Metric, Progress, check_path, k_shortest, links_along, links_named};
use anabranch_core::{
    Connection, ConnectionId, Demands, LinkId, Network, NetworkBuilder, NodeId, PathError, Paths, Position, Time,
};
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
        let mut free_names = FreeNames::new();
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
            let made = || free_names.find(format!("{}>{}", table.source, table.target), |name| taken.contains(name));
            let name = table.name.clone().unwrap_or_else(made);
            taken.insert(name.clone());
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
    /// `progress` is told how many connections a search for shortest paths has finished, and calls it off with false.
    ///
    /// # Errors
    /// A path that cannot be, paths given both by nodes and by links, or a search that was called off.
    pub fn paths(&self, network: &Network, demands: &Demands, progress: Progress<'_>) -> Result<Paths, ScenarioError> {
        let connections = demands.connections();
        let mut own = Vec::with_capacity(connections.len());
        let mut wanted: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (c, (table, connection)) in self.file.connection.iter().zip(connections).enumerate() {
            own.push(match self.choice(table, connection)? {
                Choice::Given(given) => self.resolved(&given, connection, network)?,
                Choice::Shortest(count) => {
                    wanted.entry(count).or_default().push(c);
                    Vec::new()
                }
            });
        }
        for (count, members) in wanted {
            let pairs: Vec<_> = members.iter().map(|&c| (connections[c].source, connections[c].target)).collect();
            let found = k_shortest(network, &pairs, count, &Metric::Hops, progress)
                .map_err(|e| self.error(self.file.connection[members[0]].span(), e.to_string()))?;
            for (i, &c) in members.iter().enumerate() {
                own[c] = found.of(ConnectionId::new(i)).map(<[LinkId]>::to_vec).collect();
            }
        }
        let mut paths = Paths::new();
        for of_connection in own {
            paths.push_connection(of_connection);
        }
        Ok(paths)
    }

    fn choice<'a>(
        &self,
        table: &'a Spanned<ConnectionTable>,
        connection: &Connection,
    ) -> Result<Choice<'a>, ScenarioError> {
        let (nodes, links) = (&table.get_ref().paths, &table.get_ref().links);
        Ok(match (nodes, links) {
            (Some(_), Some(links)) => {
                let message = format!(
                    "connection `{}`: its paths are given both by nodes and by links; leave one out",
                    connection.name
                );
                return Err(self.error(links.span(), message));
            }
            (None, Some(links)) => {
                Choice::Given(Given { span: links.span(), paths: links.get_ref(), resolve: links_named })
            }
            (Some(choice), None) => match choice.get_ref() {
                PathChoice::Nodes(paths) => Choice::Given(Given { span: choice.span(), paths, resolve: links_along }),
                PathChoice::Shortest(count) => Choice::Shortest(*count),
            },
            (None, None) => Choice::Shortest(DEFAULT_PATHS),
        })
    }

    fn resolved(
        &self,
        given: &Given<'_>,
        connection: &Connection,
        network: &Network,
    ) -> Result<Vec<Vec<LinkId>>, ScenarioError> {
        let resolve = |(i, names): (usize, &Vec<String>)| {
            let place = format!("connection `{}`, path {}", connection.name, i + 1);
            let path = (given.resolve)(network, names, &place)?;
            check_path(network, &path, connection.source, connection.target, &place)?;
            Ok(path)
        };
        let paths: Result<_, PathError> = given.paths.iter().enumerate().map(resolve).collect();
        paths.map_err(|e| self.error(given.span.clone(), e.to_string()))
    }

    fn error(&self, span: Range<usize>, message: impl Into<String>) -> ScenarioError {
        ScenarioError::at(&self.text, Some(span), message)
    }
}

/// Where the paths of a connection come from.
enum Choice<'a> {
    Given(Given<'a>),
    /// So many shortest ones.
    Shortest(usize),
}

/// Paths by the names of their nodes or links, and their place in the file.
struct Given<'a> {
    span: Range<usize>,
    paths: &'a [Vec<String>],
    resolve: Resolve,
}

/// Gives the links of a path from its names; the text says whose path it is.
type Resolve = fn(&Network, &[String], &str) -> Result<Vec<LinkId>, PathError>;

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
        let paths = scenario.paths(&network, &demands, &|_| true)?;
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
        for count in ["0", "-1", "65537", "9223372036854775807"] {
            let said = said("[[\"a\", \"b\", \"c\"], [\"a\", \"c\"]]", count);
            assert_eq!(said, "line 25, column 9: the number of paths must be 1 to 65,536");
        }
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

    #[test]
    fn each_connection_has_as_many_paths_as_it_asks_for() {
        // From a to c there are two paths: the direct link, which is first, and a-b-c.
        let ask = |paths: &str| format!("[[connection]]\nsource = \"a\"\ntarget = \"c\"\n{paths}\n");
        let given = r#"paths = [["a", "b", "c"]]"#;
        let tables = ["paths = 1", "paths = 9", given, "", "paths = 1"].map(ask).concat();
        let (_, demands, paths) = read(&format!("{TRIANGLE}{tables}")).unwrap();
        assert_eq!(paths.connection_offsets(), [0, 2, 3, 4, 6, 7, 9, 10]);
        let direct = [LinkId(4)].as_slice();
        assert_eq!([3, 4, 7, 9].map(|p| paths.path(p)), [direct; 4]);
        assert_eq!(paths.path(6), [LinkId(0), LinkId(2)]);
        let names: Vec<&str> = demands.connections()[2..].iter().map(|c| c.name.as_str()).collect();
        assert_eq!(names, ["a>c#2", "a>c#3", "a>c#4", "a>c#5", "a>c#6"]);
    }

    #[test]
    fn a_search_can_be_called_off() {
        let scenario = Scenario::parse(TRIANGLE).unwrap();
        let NetworkSource::Inline(network) = scenario.network().unwrap() else { panic!("the network is inline") };
        let demands = scenario.demands(&network).unwrap();
        let said = scenario.paths(&network, &demands, &|_| false).unwrap_err().to_string();
        // At the first connection that has to be searched for.
        assert!(said.starts_with("line 26, column 1: ") && said.contains("called off"), "{said}");
    }

    #[test]
    fn twenty_thousand_connections_of_one_pair_have_names_of_their_own() {
        let mut text = "[[link]]\nsource = \"a\"\ntarget = \"b\"\ncapacity = \"1 Gbit/s\"\n".to_owned();
        text += "[[connection]]\nname = \"a>b#2\"\nsource = \"a\"\ntarget = \"b\"\n";
        text += &"[[connection]]\nsource = \"a\"\ntarget = \"b\"\npaths = 1\n".repeat(20_000);
        let (_, demands, paths) = read(&text).unwrap();
        let names: Vec<&str> = demands.connections().iter().map(|c| c.name.as_str()).collect();
        assert_eq!(names[..4], ["a>b#2", "a>b", "a>b#3", "a>b#4"]);
        assert_eq!(names[20_000], "a>b#20001");
        assert_eq!(paths.len(), 20_001);
    }
}
