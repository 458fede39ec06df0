//! The paths of each connection, as sequences of links, stored in two offset arrays.
//!
//! Users give paths (`given.rs`), or a search finds them: the k shortest, all of equal cost, or disjoint ones, by a
//! metric. Paths that share links form groups (`groups.rs`).

mod avoiding;
#[cfg(test)]
mod brute_force;
mod by_target;
mod costed;
mod disjoint;
mod equal_cost;
mod given;
mod groups;
mod k_shortest;
mod leaves;
mod marks;
mod metric;
mod quickest;
mod spur;

use thiserror::Error;

use crate::id::{ConnectionId, LinkId};
use crate::network::Network;

pub use by_target::{Progress, SearchError};
pub use disjoint::disjoint;
pub use equal_cost::equal_cost;
pub use given::{links_along, links_named};
pub use groups::{GroupSearch, Sharing, groups};
pub use k_shortest::k_shortest;
pub use leaves::fewest_hops;
pub use metric::{Metric, MetricError};
pub use quickest::{quickest_from, quickest_to};

/// Greatest number of paths for each connection, so that a mistake does not exhaust the memory.
pub const MOST_PATHS: usize = 65_536;

/// The reason why a path is invalid.
#[derive(Clone, Debug, PartialEq, Error)]
#[allow(missing_docs)]
pub enum PathError {
    #[error("{place}: there is no node `{node}`{hint}; declare it or correct the name")]
    UnknownNode { place: String, node: String, hint: String },
    #[error("{place}: there is no link `{link}`; declare it or correct the name")]
    UnknownLink { place: String, link: String },
    #[error("{place}: no link leads from node `{from}` to node `{to}`; a path must follow links without a gap")]
    NoLink { place: String, from: String, to: String },
    #[error("{place}: {count} parallel links lead from node `{from}` to node `{to}`; give the path by link names")]
    Ambiguous { place: String, from: String, to: String, count: usize },
    #[error(
        "{place}: link `{link}` begins at node `{at}`, but the path has come to node `{expected}`; a path must follow links without a gap"
    )]
    Gap { place: String, link: String, at: String, expected: String },
    #[error("{place}: it comes to node `{node}` twice; a path must be without a loop")]
    Loop { place: String, node: String },
    #[error(
        "{place}: it {what} at node `{at}`, not at the connection's {end} `{expected}`; a path must join source and target"
    )]
    WrongEnd { place: String, what: &'static str, at: String, end: &'static str, expected: String },
    #[error("{place}: it has no links; a path must have one or more")]
    Empty { place: String },
}

/// Paths in the order of their connections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paths {
    /// The offsets of the connections' paths: connection c has `connection_offsets[c]..connection_offsets[c + 1]`.
    connection_offsets: Vec<usize>,
    /// The offsets of the paths' links: path p has `links[path_offsets[p]..path_offsets[p + 1]]`.
    path_offsets: Vec<usize>,
    links: Vec<LinkId>,
}

impl Default for Paths {
    fn default() -> Self {
        Self { connection_offsets: vec![0], path_offsets: vec![0], links: Vec::new() }
    }
}

impl Paths {
    /// A list without connections; [`Self::push_connection`] adds each.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the next connection with its paths, best first; it may have none.
    pub fn push_connection<P: AsRef<[LinkId]>>(&mut self, paths: impl IntoIterator<Item = P>) {
        for path in paths {
            self.links.extend_from_slice(path.as_ref());
            self.path_offsets.push(self.links.len());
        }
        self.connection_offsets.push(self.path_offsets.len() - 1);
    }

    /// Number of connections.
    pub fn connections(&self) -> usize {
        self.connection_offsets.len() - 1
    }

    /// Total number of paths of all connections.
    pub fn len(&self) -> usize {
        self.path_offsets.len() - 1
    }

    /// Whether there is no path at all.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The links of path number `path`, counted over all connections.
    pub fn path(&self, path: usize) -> &[LinkId] {
        &self.links[self.path_offsets[path]..self.path_offsets[path + 1]]
    }

    /// The paths of a connection, best first.
    pub fn of(&self, connection: ConnectionId) -> impl ExactSizeIterator<Item = &[LinkId]> {
        let c = connection.index();
        (self.connection_offsets[c]..self.connection_offsets[c + 1]).map(|p| self.path(p))
    }

    /// The index of the first path of each connection, and the end of the last.
    pub fn connection_offsets(&self) -> &[usize] {
        &self.connection_offsets
    }

    /// The index of the first link of each path, and the end of the last.
    pub fn path_offsets(&self) -> &[usize] {
        &self.path_offsets
    }

    /// The links of all paths, one after the other.
    pub fn links(&self) -> &[LinkId] {
        &self.links
    }
}

/// Checks that `path` leads from `source` to `target` without a gap or a loop; `place` names it in the error.
///
/// # Errors
/// Returns the first fault of the path.
pub fn check_path(
    network: &Network,
    path: &[LinkId],
    source: crate::id::NodeId,
    target: crate::id::NodeId,
    place: &str,
) -> Result<(), PathError> {
    let place = || place.to_owned();
    let name = |node| network.node(node).name.clone();
    let (Some(&first), Some(&last)) = (path.first(), path.last()) else {
        return Err(PathError::Empty { place: place() });
    };
    let (begins, ends) = (network.link(first).source, network.link(last).target);
    let mut seen = std::collections::HashSet::from([begins]);
    let mut at = begins;
    for &link in path {
        let link = network.link(link);
        if link.source != at {
            let (link, begins) = (link.name.clone(), name(link.source));
            return Err(PathError::Gap { place: place(), link, at: begins, expected: name(at) });
        }
        at = link.target;
        if !seen.insert(at) {
            return Err(PathError::Loop { place: place(), node: name(at) });
        }
    }
    if begins != source {
        let (at, expected) = (name(begins), name(source));
        return Err(PathError::WrongEnd { place: place(), what: "begins", at, end: "source", expected });
    }
    if ends != target {
        let (at, expected) = (name(ends), name(target));
        return Err(PathError::WrongEnd { place: place(), what: "ends", at, end: "target", expected });
    }
    Ok(())
}
