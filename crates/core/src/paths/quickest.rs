//! The delays of the quickest paths between one node and all others [dijkstra1959].

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::{Network, NodeId, Span};

/// For each node the delay of the quickest path from `node` to it; `None` without a path.
pub fn quickest_from(network: &Network, node: NodeId) -> Vec<Option<Span>> {
    let next = |at| network.links_from(at).iter().map(|&link| network.link(link)).map(|link| (link.target, link.delay));
    spread(network, node, next)
}

/// For each node the delay of the quickest path from it to `node`; `None` without a path.
pub fn quickest_to(network: &Network, node: NodeId) -> Vec<Option<Span>> {
    let next = |at| network.links_into(at).iter().map(|&link| network.link(link)).map(|link| (link.source, link.delay));
    spread(network, node, next)
}

/// Searches from `start` over the neighbours that `next` gives, the nearest node first.
fn spread<N: Iterator<Item = (NodeId, Span)>>(
    network: &Network,
    start: NodeId,
    next: impl Fn(NodeId) -> N,
) -> Vec<Option<Span>> {
    let mut delays = vec![None; network.nodes().len()];
    let mut queue = BinaryHeap::from([Reverse((Span(0), start))]);
    while let Some(Reverse((delay, node))) = queue.pop() {
        if delays[node.index()].is_some() {
            continue;
        }
        delays[node.index()] = Some(delay);
        let further = |(node, link): (NodeId, Span)| Reverse((Span(delay.0.saturating_add(link.0)), node));
        queue.extend(next(node).filter(|(node, _)| delays[node.index()].is_none()).map(further));
    }
    delays
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::paths::{Metric, k_shortest};
    use crate::{ConnectionId, NetworkBuilder, Rate};

    proptest! {
        #[test]
        fn they_take_as_long_as_the_shortest_paths_by_delay(links in prop::collection::vec((0..7usize, 0..7usize, 0..9u64), 0..20)) {
            let mut builder = NetworkBuilder::new();
            let nodes: Vec<NodeId> = (0..7).map(|n| builder.node(&format!("n{n}"), None).unwrap()).collect();
            for (a, b, delay) in links.into_iter().filter(|(a, b, _)| a != b) {
                builder.link(None, nodes[a], nodes[b], Rate(1.0), Span(delay)).unwrap();
            }
            let network = builder.build();
            for &node in &nodes {
                let delay = |from: NodeId, to: NodeId| {
                    let paths = k_shortest(&network, &[(from, to)], 1, &Metric::Delay, &|_| true).unwrap();
                    let path = paths.of(ConnectionId(0)).next().or((from == to).then_some(&[]))?;
                    Some(Span(path.iter().map(|&link| network.link(link).delay.0).sum()))
                };
                let away: Vec<_> = nodes.iter().map(|&other| delay(node, other)).collect();
                let back: Vec<_> = nodes.iter().map(|&other| delay(other, node)).collect();
                prop_assert_eq!((quickest_from(&network, node), quickest_to(&network, node)), (away, back));
            }
        }
    }
}
