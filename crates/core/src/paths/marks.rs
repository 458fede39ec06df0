//! Sets of nodes that are cleared in constant time: each node holds the number of the set it was last added to.

use crate::id::NodeId;

/// A set of nodes, reused from search to search.
pub(super) struct Marks {
    set_of: Vec<u32>,
    current: u32,
}

impl Marks {
    /// An empty set, for a network of this many nodes.
    pub fn new(nodes: usize) -> Self {
        Self { set_of: vec![0; nodes], current: 1 }
    }

    /// Removes all nodes.
    pub fn clear(&mut self) {
        if self.current == u32::MAX {
            self.set_of.fill(0);
            self.current = 0;
        }
        self.current += 1;
    }

    /// Adds `node`; returns whether it was absent before.
    pub fn insert(&mut self, node: NodeId) -> bool {
        let set = &mut self.set_of[node.index()];
        std::mem::replace(set, self.current) != self.current
    }

    /// Removes `node`.
    pub fn remove(&mut self, node: NodeId) {
        self.set_of[node.index()] = 0;
    }

    /// Whether the set contains `node`.
    pub fn contains(&self, node: NodeId) -> bool {
        self.set_of[node.index()] == self.current
    }
}
