//! The paths of all connections: given in the file, or the shortest ones.

use std::collections::BTreeMap;

use anabranch_core::paths::{Progress, check_path, fewest_hops, links_along, links_named};
use anabranch_core::{ConnectionId, LinkId, Network, NodeId, PathError, Paths};
use toml::Spanned;

use super::Scenario;
use super::connections::{Connections, WantedPaths};
use crate::error::ScenarioError;
use crate::file::connection::PathChoice;

/// A function that gives the links of a path from its names; the text says in errors which path it is.
type Resolve = fn(&Network, &[String], &str) -> Result<Vec<LinkId>, PathError>;

impl Scenario {
    /// Finds the paths of all connections in their order; some connections may have none.
    pub(super) fn paths(
        &self,
        network: &Network,
        wants: &Connections,
        progress: Progress<'_>,
    ) -> Result<Paths, ScenarioError> {
        let connections = wants.demands.connections();
        let mut members: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (c, &wanted) in wants.paths.iter().enumerate() {
            if let WantedPaths::Shortest { count, .. } = wanted {
                members.entry(count).or_default().push(c);
            }
        }
        // For each number of paths the paths that were found, and how many of them are used.
        let mut found: BTreeMap<usize, (Paths, usize)> = BTreeMap::new();
        for (count, members) in members {
            let of = |&c: &usize| wants.sources(c).into_iter().map(move |source| (source, connections[c].target));
            let pairs: Vec<_> = members.iter().flat_map(of).collect();
            let searched = fewest_hops(network, &pairs, count, progress)
                .map_err(|e| self.error(wants.span(members[0]), e.to_string()))?;
            found.insert(count, (searched, 0));
        }
        let mut paths = Paths::new();
        for (c, &wanted) in wants.paths.iter().enumerate() {
            match wanted {
                WantedPaths::Shortest { count, .. } => {
                    let (searched, used) = found.get_mut(&count).expect("every number was searched for");
                    let pairs = *used..*used + wants.sources(c).len();
                    *used = pairs.end;
                    paths.push_connection(pairs.flat_map(|pair| searched.of(ConnectionId::new(pair))));
                }
                WantedPaths::Given(table) => paths.push_connection(self.given_paths(table, c, network, wants)?),
            }
        }
        Ok(paths)
    }

    /// Gives the paths of a `[[connection]]` table.
    fn given_paths(
        &self,
        table: usize,
        connection: usize,
        network: &Network,
        wants: &Connections,
    ) -> Result<Vec<Vec<LinkId>>, ScenarioError> {
        let table = self.file.connection[table].get_ref();
        let sources = wants.sources(connection);
        let connection = &wants.demands.connections()[connection];
        let (span, lists, resolve): (_, _, Resolve) = match (&table.links, &table.paths) {
            (Some(links), _) => (links.span(), links.get_ref(), links_named),
            (None, Some(nodes)) => match nodes.get_ref() {
                PathChoice::Nodes(paths) => (Spanned::span(nodes), paths, links_along),
                PathChoice::Shortest(_) => unreachable!("a number of paths is searched for"),
            },
            (None, None) => unreachable!("a table that gives paths has some"),
        };
        let resolved = |(i, names): (usize, &Vec<String>)| {
            let place = format!("connection `{}`, path {}", connection.name, i + 1);
            let path = resolve(network, names, &place).map_err(|e| e.to_string())?;
            let source = beginning(network, &path, &sources).map_err(|reason| format!("{place}: {reason}"))?;
            check_path(network, &path, source, connection.target, &place).map_err(|e| e.to_string())?;
            Ok(path)
        };
        let paths: Result<_, String> = lists.iter().enumerate().map(resolved).collect();
        paths.map_err(|reason| self.error(span, reason))
    }
}

/// A note about connections for which the file asks for more paths than the network has.
pub(super) fn missing_paths(wants: &Connections, paths: &Paths) -> Option<String> {
    let fewer = |(c, &wanted): (usize, &WantedPaths)| {
        let WantedPaths::Shortest { count, is_asked: true } = wanted else { return None };
        let (asked, found) = (count * wants.sources(c).len(), paths.of(ConnectionId::new(c)).count());
        (found < asked).then(|| (&wants.demands.connections()[c].name, asked, found))
    };
    let short: Vec<_> = wants.paths.iter().enumerate().filter_map(fewer).collect();
    let (name, asked, found) = *short.first()?;
    let has = |found| if found == 1 { "1 path was found".to_owned() } else { format!("{found} paths were found") };
    Some(match short.len() {
        1 => format!("connection `{name}` asks for {asked} paths, and {}: the network has no more", has(found)),
        many => format!(
            "{many} connections ask for more paths than the network has, such as `{name}`, which asks for {asked}: {}",
            has(found)
        ),
    })
}

/// The source at which a path begins, among several. For a single source [`check_path`] checks the beginning.
fn beginning(network: &Network, path: &[LinkId], sources: &[NodeId]) -> Result<NodeId, String> {
    let name = |node: &NodeId| format!("`{}`", network.node(*node).name);
    match path.first().map(|&link| network.link(link).source) {
        Some(node) if sources.contains(&node) => Ok(node),
        Some(node) if sources.len() > 1 => Err(format!(
            "it begins at node {}, not at one of the connection's sources {}; a path must join a source and the target",
            name(&node),
            sources.iter().map(name).collect::<Vec<_>>().join(", ")
        )),
        _ => Ok(sources[0]),
    }
}
