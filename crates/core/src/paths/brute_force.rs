//! Every path of small random networks, to check the searches against.

use proptest::prelude::*;

use crate::id::{LinkId, NodeId};
use crate::network::{Network, NetworkBuilder};
use crate::units::{Rate, Span};

/// A path with what it is compared by, in the order of comparing.
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

/// Networks of 2 to 7 nodes with up to 14 links, many parallel, and metrics with many ties and zeros.
pub(super) fn cases() -> impl Strategy<Value = Case> {
    let link = |nodes: u32| (0..nodes, 1..nodes, 0u32..4);
    let links = (2u32..=7).prop_flat_map(move |nodes| (Just(nodes), prop::collection::vec(link(nodes), 0..=14)));
    links.prop_map(|(nodes, links)| {
        let ends: Vec<_> = links.iter().map(|&(source, ahead, _)| (source, (source + ahead) % nodes)).collect();
        let metrics = links.into_iter().map(|(_, _, metric)| metric).collect();
        Case { network: network(nodes as usize, &ends), metrics }
    })
}

/// All pairs, each node with itself among them.
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
