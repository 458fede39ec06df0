//! Distances to one target in the network without one node.
//!
//! The distance changes only for nodes whose shortest path leads through the excluded node, and these are its
//! descendants in the tree of shortest paths. With a numbering in which every subtree is a range, they take one search
//! of the subtree and a row of the size of the subtree; all other nodes keep their distance. Rows are computed when
//! they are first needed.

use std::cmp::Reverse;

use super::costed::{Costed, Distances, Queue, Step, UNREACHABLE};
use crate::id::NodeId;

/// Greatest number of entries (32 MiB a thread); beyond it no more rows are made, and the distance in the whole network
/// serves as a bound.
const MOST_ENTRIES: usize = 1 << 22;

/// Marks a node whose row has not been made yet.
const NO_ROW: usize = usize::MAX;

/// Distances to one target, in the whole network and without each of its nodes.
pub(super) struct Avoiding {
    distances: Distances,
    /// Whether the subtrees for this target are numbered, which happens when a row is first needed.
    is_numbered: bool,
    /// The number of each node in the order in which subtrees are ranges; `u32::MAX` if it cannot reach the target.
    number: Vec<u32>,
    /// The node of each number.
    numbered: Vec<NodeId>,
    /// The number of nodes in the subtree of each node, including the node itself.
    subtree: Vec<u32>,
    /// The index in `rows` at which the row of each node begins.
    row: Vec<usize>,
    rows: Vec<u64>,
    /// The number of each node's next child, during the numbering.
    next_child: Vec<u32>,
    queue: Queue,
}

/// Lower bounds for the distances in the network without one node; they are exact if its row could be made.
#[derive(Clone, Copy)]
pub(super) struct Without<'a> {
    everywhere: &'a [u64],
    number: &'a [u32],
    first: u32,
    row: &'a [u64],
}

impl Avoiding {
    /// Memory for a network of this many nodes; no distances are known before [`Self::measure`].
    pub fn new(nodes: usize) -> Self {
        Self {
            distances: Distances::new(nodes),
            is_numbered: false,
            number: vec![u32::MAX; nodes],
            numbered: Vec::with_capacity(nodes),
            subtree: vec![0; nodes],
            row: vec![NO_ROW; nodes],
            rows: Vec::new(),
            next_child: vec![0; nodes],
            queue: Queue::new(),
        }
    }

    /// Changes the target; `costed` must be the same each time.
    pub fn measure(&mut self, costed: &Costed, target: NodeId) {
        if !self.distances.measure(costed, target) {
            return;
        }
        self.is_numbered = false;
        self.rows.clear();
        self.row.fill(NO_ROW);
    }

    /// Numbers the nodes so that the target comes first and each subtree is a range that begins with its root.
    fn number_subtrees(&mut self, costed: &Costed) {
        self.is_numbered = true;
        self.number.fill(u32::MAX);
        self.subtree.fill(1);
        let order = self.distances.nearest_first();
        let target = order[0];
        for &node in order[1..].iter().rev() {
            let parent = next_node(costed, &self.distances, node);
            self.subtree[parent.index()] += self.subtree[node.index()];
        }
        self.number[target.index()] = 0;
        self.next_child[target.index()] = 1;
        for &node in &order[1..] {
            let parent = next_node(costed, &self.distances, node).index();
            let number = self.next_child[parent];
            self.next_child[parent] += self.subtree[node.index()];
            self.number[node.index()] = number;
            self.next_child[node.index()] = number + 1;
        }
        self.numbered.clear();
        self.numbered.resize(order.len(), target);
        for &node in order {
            self.numbered[self.number[node.index()] as usize] = node;
        }
    }

    /// Makes the row of `node`, if the node can reach the target, has no row yet, and there is room for one.
    pub fn prepare(&mut self, costed: &Costed, node: NodeId) {
        if !self.is_numbered {
            self.number_subtrees(costed);
        }
        let size = self.subtree[node.index()] as usize;
        let in_tree = self.distances.of(node) != UNREACHABLE;
        if !in_tree || self.row[node.index()] != NO_ROW || self.rows.len() + size > MOST_ENTRIES {
            return;
        }
        let start = self.rows.len();
        self.row[node.index()] = start;
        self.rows.resize(start + size, UNREACHABLE);
        let row = &mut self.rows[start..];
        let first = self.number[node.index()];
        let number = &self.number;
        let place = |other: NodeId| number[other.index()].wrapping_sub(first) as usize;

        // The node itself has place 0 and is excluded. The others begin with the paths that leave the subtree at once.
        let subtree = &self.numbered[first as usize..first as usize + size];
        for (&inside, nearest) in subtree.iter().zip(row.iter_mut()).skip(1) {
            let leaving = costed.steps_from(inside).iter().filter(|step| place(step.node) >= size);
            let distances = leaving.map(|step| self.distances.of(step.node).saturating_add(step.cost));
            *nearest = distances.min().unwrap_or(UNREACHABLE);
            if *nearest != UNREACHABLE {
                self.queue.push(Reverse((*nearest, inside)));
            }
        }
        while let Some(Reverse((distance, inside))) = self.queue.pop() {
            if distance > row[place(inside)] {
                continue;
            }
            for step in costed.steps_into(inside) {
                let at = place(step.node);
                if at > 0 && at < size && distance + step.cost < row[at] {
                    row[at] = distance + step.cost;
                    self.queue.push(Reverse((row[at], step.node)));
                }
            }
        }
    }

    /// The distances without `node`.
    pub fn without(&self, node: NodeId) -> Without<'_> {
        let start = self.row[node.index()];
        let row = if start == NO_ROW { &[] } else { &self.rows[start..start + self.subtree[node.index()] as usize] };
        let first = self.number[node.index()];
        Without { everywhere: self.distances.all(), number: &self.number, first, row }
    }
}

/// The next node on the shortest path of `node` with the lowest link id.
fn next_node(costed: &Costed, distances: &Distances, node: NodeId) -> NodeId {
    let tight = |step: &&Step| distances.of(step.node).checked_add(step.cost) == Some(distances.of(node));
    costed.steps_from(node).iter().find(tight).expect("a settled node has a shortest path").node
}

impl Without<'_> {
    /// The distance of `node` to the target, or [`UNREACHABLE`].
    #[inline]
    pub fn distance(&self, node: NodeId) -> u64 {
        let place = self.number[node.index()].wrapping_sub(self.first) as usize;
        self.row.get(place).copied().unwrap_or_else(|| self.everywhere[node.index()])
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::paths::brute_force::{Case, all_pairs, all_paths, cases};

    proptest! {
        #[test]
        fn a_row_holds_the_distances_past_its_node(case in cases()) {
            let Case { network, metrics } = case;
            // Positive, as the costs of a metric are.
            let metrics: Vec<u32> = metrics.iter().map(|m| m + 1).collect();
            let costed = Costed::new(&network, metrics.iter().map(|&m| u64::from(m)).collect());
            let mut avoiding = Avoiding::new(costed.nodes());
            for (target, out) in all_pairs(&network).into_iter().filter(|(target, out)| target != out) {
                avoiding.measure(&costed, target);
                avoiding.prepare(&costed, out);
                for node in (0..costed.nodes()).map(NodeId::new).filter(|&n| n != out && n != target) {
                    let mut paths = all_paths(&network, &metrics, node, target);
                    paths.retain(|path| path.links.iter().all(|&link| costed.target(link) != out));
                    let least = paths.iter().map(|path| u64::from(path.metric)).min();
                    prop_assert_eq!(avoiding.without(out).distance(node), least.unwrap_or(UNREACHABLE));
                }
            }
        }
    }
}
