//! A network under construction, after the check of its parameters.

use crate::id::{LinkId, NodeId};
use crate::network::{Network, NetworkBuilder};

use super::link::LinkKind;

/// A builder that cannot fail: generated names are unique and link kinds were checked.
#[derive(Default)]
pub(super) struct Draft {
    builder: NetworkBuilder,
}

impl Draft {
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// Reserves memory for this many more nodes and two-way links.
    pub(super) fn reserve(&mut self, nodes: usize, links: usize) {
        self.builder.reserve(nodes, 2 * links);
    }

    pub(super) fn node(&mut self, name: &str) -> NodeId {
        self.builder.node(name, None).expect("generated names are unique")
    }

    /// Adds `count` nodes, named by their numbers.
    pub(super) fn nodes(&mut self, count: usize, name: impl Fn(usize) -> String) -> Vec<NodeId> {
        (0..count).map(|n| self.node(&name(n))).collect()
    }

    /// Adds a two-way link; returns the id of the link from `a` to `b`. The link back has the next id.
    pub(super) fn join(&mut self, a: NodeId, b: NodeId, kind: LinkKind) -> LinkId {
        let (there, _) =
            self.builder.two_way(None, a, b, kind.capacity, kind.delay).expect("ends differ and kinds were checked");
        there
    }

    pub(super) fn build(self) -> Network {
        self.builder.build()
    }
}

/// Assertions about networks that the tests of generators share.
#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::network::{Link, Node};
    use crate::units::{Rate, Span};

    pub(in crate::generate) const GIGABIT: LinkKind = LinkKind { capacity: Rate(1e9), delay: Span::us(1) };

    pub(in crate::generate) fn is_connected(network: &Network) -> bool {
        network.parts().iter().all(|&part| part == 0)
    }

    /// The numbers of nodes and two-way links; asserts that every link has a twin of the same capacity and delay.
    pub(in crate::generate) fn size(network: &Network) -> (usize, usize) {
        for link in network.links() {
            let twin = network.link(link.twin.expect("generated links are two-way"));
            assert_eq!((twin.capacity, twin.delay), (link.capacity, link.delay));
        }
        (network.nodes().len(), network.links().len() / 2)
    }

    pub(in crate::generate) fn degree(network: &Network, node: NodeId) -> usize {
        network.links_from(node).len()
    }

    /// The nodes and links, to tell whether two networks are equal.
    pub(in crate::generate) fn shape(network: &Network) -> (&[Node], &[Link]) {
        (network.nodes(), network.links())
    }
}
