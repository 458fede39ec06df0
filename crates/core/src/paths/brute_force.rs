//! All paths of small random networks, as a reference for the searches.

use proptest::prelude::*;

use super::{Metric, Paths, Progress, SearchError};
use crate::id::{ConnectionId, LinkId, NodeId};
use crate::network::{Network, NetworkBuilder};
use crate::units::{Rate, Span};

/// A path with the values by which paths are compared, in the order of comparison.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Ranked {
    pub metric: u32,
    pub hops: usize,
    pub links: Vec<LinkId>,
}

/// A network with a metric for each link.
#[derive(Clone, Debug)]
pub(super) struct Case {
    pub network: Network,
    pub metrics: Vec<u32>,
}

/// One of the searches `k_shortest`, `equal_cost` and `disjoint`.
pub(super) type Search = fn(&Network, &[(NodeId, NodeId)], usize, &Metric, Progress<'_>) -> Result<Paths, SearchError>;

impl Case {
    /// The paths that `search` finds for each pair of nodes, with all paths of the pair.
    pub fn searched(&self, search: Search, count: usize) -> Vec<(Vec<Vec<LinkId>>, Vec<Ranked>)> {
        let Self { network, metrics } = self;
        let pairs = all_pairs(network);
        let paths = search(network, &pairs, count, &self.metric(), &|_| true).unwrap();
        let found = (0..pairs.len()).map(|pair| paths.of(ConnectionId::new(pair)).map(<[LinkId]>::to_vec).collect());
        found
            .zip(&pairs)
            .map(|(found, &(source, target))| (found, all_paths(network, metrics, source, target)))
            .collect()
    }

    pub fn metric(&self) -> Metric {
        Metric::Given(self.metrics.iter().map(|&m| f64::from(m)).collect())
    }
}

/// The paths that `search` finds from the first node to the last.
pub(super) fn first_to_last(search: Search, network: &Network, count: usize, metric: &Metric) -> Vec<Vec<u32>> {
    let ends = (NodeId(0), NodeId::new(network.nodes().len() - 1));
    let paths = search(network, &[ends], count, metric, &|_| true).unwrap();
    paths.of(ConnectionId(0)).map(|path| path.iter().map(|l| l.0).collect()).collect()
}

/// Fails if `search` finds a path against the direction of a link, or from a node to itself.
pub(super) fn assert_no_way_no_path(search: Search) {
    for network in [network(2, &[(1, 0)]), network(1, &[])] {
        assert!(first_to_last(search, &network, 2, &Metric::Hops).is_empty());
    }
}

/// One-way links between nodes given by number.
pub(super) fn network(nodes: usize, ends: &[(u32, u32)]) -> Network {
    let mut builder = NetworkBuilder::new();
    for node in 0..nodes {
        builder.node(&node.to_string(), None).unwrap();
    }
    for &(source, target) in ends {
        builder.link(None, NodeId(source), NodeId(target), Rate(1e9), Span(0)).unwrap();
    }
    builder.build()
}

/// Networks of 2 to 7 nodes with up to 14 links, many of them parallel, and metrics with many ties and zeros.
pub(super) fn cases() -> impl Strategy<Value = Case> {
    let link = |nodes: u32| (0..nodes, 1..nodes, 0u32..4);
    let links = (2u32..=7).prop_flat_map(move |nodes| (Just(nodes), prop::collection::vec(link(nodes), 0..=14)));
    links.prop_map(|(nodes, links)| {
        let ends: Vec<_> = links.iter().map(|&(source, ahead, _)| (source, (source + ahead) % nodes)).collect();
        let metrics = links.into_iter().map(|(_, _, metric)| metric).collect();
        Case { network: network(nodes as usize, &ends), metrics }
    })
}

/// All pairs of nodes, including each node with itself.
pub(super) fn all_pairs(network: &Network) -> Vec<(NodeId, NodeId)> {
    let nodes = || (0..network.nodes().len()).map(NodeId::new);
    nodes().flat_map(|source| nodes().map(move |target| (source, target))).collect()
}

/// Every loopless path from `source` to `target`, best first; none if they are the same node.
pub(super) fn all_paths(network: &Network, metrics: &[u32], source: NodeId, target: NodeId) -> Vec<Ranked> {
    let mut found = Vec::new();
    if source != target {
        extend(network, &mut vec![source], &mut Vec::new(), target, &mut found);
    }
    let metric = |links: &[LinkId]| links.iter().map(|l| metrics[l.index()]).sum();
    let rank = |links: Vec<LinkId>| Ranked { metric: metric(&links), hops: links.len(), links };
    let mut ranked: Vec<Ranked> = found.into_iter().map(rank).collect();
    ranked.sort();
    ranked
}

fn extend(
    network: &Network,
    nodes: &mut Vec<NodeId>,
    links: &mut Vec<LinkId>,
    target: NodeId,
    found: &mut Vec<Vec<LinkId>>,
) {
    let last = *nodes.last().expect("a path begins somewhere");
    if last == target {
        found.push(links.clone());
        return;
    }
    for &link in network.links_from(last) {
        let next = network.link(link).target;
        if !nodes.contains(&next) {
            nodes.push(next);
            links.push(link);
            extend(network, nodes, links, target, found);
            nodes.pop();
            links.pop();
        }
    }
}
