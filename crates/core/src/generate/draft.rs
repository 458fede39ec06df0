//! A network being generated, after its parameters were checked.

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

    /// Makes room for so many more nodes and two-way links.
    pub(super) fn reserve(&mut self, nodes: usize, links: usize) {
        self.builder.reserve(nodes, 2 * links);
    }

    pub(super) fn node(&mut self, name: &str) -> NodeId {
        self.builder.node(name, None).expect("generated names are unique")
    }

    /// `count` nodes, named by their numbers.
    pub(super) fn nodes(&mut self, count: usize, name: impl Fn(usize) -> String) -> Vec<NodeId> {
        (0..count).map(|n| self.node(&name(n))).collect()
    }

    /// A two-way link; the id is that of the way from `a` to `b`, the way back has the next.
    pub(super) fn join(&mut self, a: NodeId, b: NodeId, kind: LinkKind) -> LinkId {
        let (there, _) =
            self.builder.two_way(None, a, b, kind.capacity, kind.delay).expect("ends differ and kinds were checked");
        there
    }

    pub(super) fn build(self) -> Network {
        self.builder.build()
    }
}

/// What the tests of generators ask of a network.
#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::network::{Link, Node};
    use crate::units::{Rate, Span};

    pub(in crate::generate) const GIGABIT: LinkKind = LinkKind { capacity: Rate(1e9), delay: Span::us(1) };

    pub(in crate::generate) fn is_connected(network: &Network) -> bool {
        network.parts().iter().all(|&part| part == 0)
    }

    /// Nodes and two-way links; every link has a twin of the same capacity and delay.
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

    /// Nodes and links, to tell whether two networks are the same.
    pub(in crate::generate) fn shape(network: &Network) -> (&[Node], &[Link]) {
        (network.nodes(), network.links())
    }
}
