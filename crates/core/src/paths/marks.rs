//! Sets of nodes that are emptied in no time: each node holds the number of the set it was last put into.

use crate::id::NodeId;

/// A set of nodes, reused from search to search.
pub(super) struct Marks {
    set_of: Vec<u32>,
    current: u32,
}

impl Marks {
    /// The empty set, for a network of so many nodes.
    pub fn new(nodes: usize) -> Self {
        Self { set_of: vec![0; nodes], current: 1 }
    }

    /// Takes all nodes out.
    pub fn clear(&mut self) {
        if self.current == u32::MAX {
            self.set_of.fill(0);
            self.current = 0;
        }
        self.current += 1;
    }

    /// Puts `node` in; whether it was not in before.
    pub fn insert(&mut self, node: NodeId) -> bool {
        let set = &mut self.set_of[node.index()];
        std::mem::replace(set, self.current) != self.current
    }

    /// Takes `node` out.
    pub fn remove(&mut self, node: NodeId) {
        self.set_of[node.index()] = 0;
    }

    /// Whether `node` is in.
    pub fn contains(&self, node: NodeId) -> bool {
        self.set_of[node.index()] == self.current
    }
}
