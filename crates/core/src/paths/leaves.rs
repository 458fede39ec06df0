//! Shortest paths in networks with many hosts.
//!
//! A leaf has one neighbour, so no path passes through it. Paths between leaves are the paths between their neighbours,
//! with the links of the leaves at the ends, in the same order. The search runs on the other nodes alone, once for each
//! pair of them: with 36 hosts on each of 10,000 routers these are a 36th of the nodes.

use std::collections::HashMap;

use super::{Metric, Paths, Progress, SearchError, k_shortest};
use crate::{ConnectionId, LinkId, Network, NetworkBuilder, NodeId};

/// Finds the paths that [`k_shortest`] finds by hops for each pair; `progress` counts pairs of inner nodes.
///
/// # Errors
/// If the search was cancelled.
pub fn fewest_hops(
    network: &Network,
    pairs: &[(NodeId, NodeId)],
    count: usize,
    progress: Progress<'_>,
) -> Result<Paths, SearchError> {
    let inner = Inner::new(network);
    let mut numbers = HashMap::new();
    let mut searches = Vec::new();
    let ways: Vec<Option<Way>> = pairs.iter().map(|&pair| inner.way(network, pair)).collect();
    for way in ways.iter().flatten().filter(|way| way.from != way.to) {
        numbers.entry((way.from, way.to)).or_insert_with(|| {
            searches.push((inner.node(way.from), inner.node(way.to)));
            ConnectionId::new(searches.len() - 1)
        });
    }
    let found = k_shortest(&inner.network, &searches, count, &Metric::Hops, progress)?;
    let mut paths = Paths::new();
    for way in &ways {
        let own: Vec<Vec<LinkId>> = match way {
            None => Vec::new(),
            Some(way) if way.from == way.to => vec![way.path(&[], &inner.links)],
            Some(way) => found.of(numbers[&(way.from, way.to)]).map(|path| way.path(path, &inner.links)).collect(),
        };
        paths.push_connection(own);
    }
    Ok(paths)
}

/// The path of a pair: a pair of inner nodes, and the links to leaves at the ends.
struct Way {
    first: Option<LinkId>,
    from: NodeId,
    to: NodeId,
    last: Option<LinkId>,
}

impl Way {
    /// The whole path, from a path of inner links; `links` gives their numbers in the whole network.
    fn path(&self, inner: &[LinkId], links: &[LinkId]) -> Vec<LinkId> {
        let between = inner.iter().map(|link| links[link.index()]);
        self.first.into_iter().chain(between).chain(self.last).collect()
    }
}

/// The network without its leaves.
struct Inner {
    network: Network,
    /// For each node of the whole network its number among inner nodes; `None` for leaves.
    nodes: Vec<Option<NodeId>>,
    /// For each inner link its number in the whole network; both are in the same order, which determines the order of
    /// paths.
    links: Vec<LinkId>,
}

impl Inner {
    fn new(network: &Network) -> Self {
        let all = || (0..network.nodes().len()).map(NodeId::new);
        let neighbours: Vec<Option<NodeId>> = all().map(|node| only_neighbour(network, node)).collect();
        // Two nodes that have only each other as neighbours both stay.
        let is_leaf = |node: NodeId| neighbours[node.index()].is_some_and(|n| neighbours[n.index()].is_none());
        let mut builder = NetworkBuilder::new();
        let mut add = |node: NodeId| builder.node(&network.node(node).name, None).expect("names are unique");
        let nodes: Vec<Option<NodeId>> = all().map(|node| (!is_leaf(node)).then(|| add(node))).collect();
        let mut links = Vec::new();
        for (number, link) in network.links().iter().enumerate() {
            if let (Some(source), Some(target)) = (nodes[link.source.index()], nodes[link.target.index()]) {
                let added = builder.link(Some(&link.name), source, target, link.capacity, link.delay);
                added.expect("the link was checked");
                links.push(LinkId::new(number));
            }
        }
        Self { network: builder.build(), nodes, links }
    }

    fn node(&self, node: NodeId) -> NodeId {
        self.nodes[node.index()].expect("a way is between inner nodes")
    }

    fn is_leaf(&self, node: NodeId) -> bool {
        self.nodes[node.index()].is_none()
    }

    /// The path of a pair; `None` if there is no link from the source or to the target.
    fn way(&self, network: &Network, (source, target): (NodeId, NodeId)) -> Option<Way> {
        let mut way = Way { first: None, from: source, to: target, last: None };
        if self.is_leaf(source) {
            let first = *network.links_from(source).first()?;
            (way.first, way.from) = (Some(first), network.link(first).target);
        }
        if self.is_leaf(target) {
            let last = *network.links_into(target).first()?;
            (way.last, way.to) = (Some(last), network.link(last).source);
        }
        Some(way)
    }
}

/// The one neighbour of a node with at most one link in each direction.
fn only_neighbour(network: &Network, node: NodeId) -> Option<NodeId> {
    let (out, into) = (network.links_from(node), network.links_into(node));
    if out.len() > 1 || into.len() > 1 {
        return None;
    }
    let ahead = out.first().map(|&link| network.link(link).target);
    let behind = into.first().map(|&link| network.link(link).source);
    if ahead.is_some() && behind.is_some() && ahead != behind { None } else { ahead.or(behind) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Rate, Span};

    proptest! {
        #[test]
        fn leaves_change_no_path(links in prop::collection::vec((0..9usize, 0..9usize, any::<bool>()), 0..20), count in 1..5usize) {
            let mut builder = NetworkBuilder::new();
            let nodes: Vec<NodeId> = (0..9).map(|n| builder.node(&format!("n{n}"), None).unwrap()).collect();
            for (a, b, two_way) in links.into_iter().filter(|(a, b, _)| a != b) {
                let (source, target, capacity) = (nodes[a], nodes[b], Rate(1.0));
                builder.link(None, source, target, capacity, Span(0)).unwrap();
                if two_way {
                    builder.link(None, target, source, capacity, Span(0)).unwrap();
                }
            }
            let network = builder.build();
            let pairs: Vec<_> = nodes.iter().flat_map(|&a| nodes.iter().map(move |&b| (a, b))).filter(|(a, b)| a != b).collect();
            let expected = k_shortest(&network, &pairs, count, &Metric::Hops, &|_| true).unwrap();
            prop_assert_eq!(fewest_hops(&network, &pairs, count, &|_| true).unwrap(), expected);
        }
    }
}
