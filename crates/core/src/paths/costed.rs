//! The network with a cost for each link, in a layout for searches.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::id::{LinkId, NodeId};
use crate::network::Network;

/// The distance of a node that cannot be reached.
pub(super) const UNREACHABLE: u64 = u64::MAX;

/// One link, seen from one of its ends.
pub(super) struct Step {
    pub cost: u64,
    pub link: LinkId,
    /// The node at the other end.
    pub node: NodeId,
}

/// The links at each node with their costs, side by side in memory.
pub(super) struct Costed {
    cost: Vec<u64>,
    /// Whether all links have the same positive cost.
    is_even: bool,
    ends: Vec<(NodeId, NodeId)>,
    /// The offsets of the nodes' steps: node n has `out_steps[out_offsets[n]..out_offsets[n + 1]]`, by link id;
    /// `into_*` likewise.
    out_offsets: Vec<u32>,
    out_steps: Vec<Step>,
    into_offsets: Vec<u32>,
    into_steps: Vec<Step>,
}

impl Costed {
    /// `network` with the given cost for each link.
    pub fn new(network: &Network, cost: Vec<u64>) -> Self {
        let nodes = || (0..network.nodes().len()).map(NodeId::new);
        let ahead = |&link: &LinkId| Step { cost: cost[link.index()], link, node: network.link(link).target };
        let behind = |&link: &LinkId| Step { cost: cost[link.index()], link, node: network.link(link).source };
        let (out_offsets, out_steps) = flatten(nodes().map(|n| network.links_from(n).iter().map(ahead)));
        let (into_offsets, into_steps) = flatten(nodes().map(|n| network.links_into(n).iter().map(behind)));
        let ends = network.links().iter().map(|l| (l.source, l.target)).collect();
        let is_even = cost.first().is_some_and(|first| *first > 0 && cost.iter().all(|other| other == first));
        Self { cost, is_even, ends, out_offsets, out_steps, into_offsets, into_steps }
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.out_offsets.len() - 1
    }

    /// Number of links.
    pub fn links(&self) -> usize {
        self.cost.len()
    }

    /// The cost of a link.
    pub fn cost(&self, link: LinkId) -> u64 {
        self.cost[link.index()]
    }

    /// The node where a link begins.
    pub fn source(&self, link: LinkId) -> NodeId {
        self.ends[link.index()].0
    }

    /// The node where a link ends.
    pub fn target(&self, link: LinkId) -> NodeId {
        self.ends[link.index()].1
    }

    /// The links that leave `node` in the order of their ids, with their targets.
    pub fn steps_from(&self, node: NodeId) -> &[Step] {
        let n = node.index();
        &self.out_steps[self.out_offsets[n] as usize..self.out_offsets[n + 1] as usize]
    }

    /// The links that end at `node` in the order of their ids, with their sources.
    pub fn steps_into(&self, node: NodeId) -> &[Step] {
        let n = node.index();
        &self.into_steps[self.into_offsets[n] as usize..self.into_offsets[n + 1] as usize]
    }
}

fn flatten<S: Iterator<Item = Step>>(groups: impl Iterator<Item = S>) -> (Vec<u32>, Vec<Step>) {
    let mut offsets = vec![0];
    let mut steps = Vec::new();
    for group in groups {
        steps.extend(group);
        offsets.push(u32::try_from(steps.len()).expect("link ids have 32 bits"));
    }
    (offsets, steps)
}

/// The nodes that a search has yet to visit, nearest first.
pub(super) type Queue = BinaryHeap<Reverse<(u64, NodeId)>>;

/// The distances of all nodes to one target [dijkstra1959]; the search is breadth-first if all links cost the same.
pub(super) struct Distances {
    target: Option<NodeId>,
    distance: Vec<u64>,
    settled: Vec<NodeId>,
    queue: Queue,
}

impl Distances {
    /// Memory for a network of this many nodes; no distances are known before [`Self::measure`].
    pub fn new(nodes: usize) -> Self {
        let (distance, settled) = (vec![UNREACHABLE; nodes], Vec::with_capacity(nodes));
        Self { target: None, distance, settled, queue: Queue::new() }
    }

    /// Measures the distance of every node to `target`; returns false if this was already the target.
    ///
    /// `costed` must be the same each time.
    pub fn measure(&mut self, costed: &Costed, target: NodeId) -> bool {
        if self.target.replace(target) == Some(target) {
            return false;
        }
        self.distance.fill(UNREACHABLE);
        self.settled.clear();
        self.distance[target.index()] = 0;
        if costed.is_even {
            self.spread_evenly(costed, target);
        } else {
            self.spread(costed, target);
        }
        true
    }

    /// Measures distances at equal costs: nodes settle in the order in which they are reached.
    fn spread_evenly(&mut self, costed: &Costed, target: NodeId) {
        self.settled.push(target);
        let mut next = 0;
        while let Some(&node) = self.settled.get(next) {
            next += 1;
            for step in costed.steps_into(node) {
                if self.distance[step.node.index()] == UNREACHABLE {
                    self.distance[step.node.index()] = self.distance[node.index()] + step.cost;
                    self.settled.push(step.node);
                }
            }
        }
    }

    fn spread(&mut self, costed: &Costed, target: NodeId) {
        self.queue.push(Reverse((0, target)));
        while let Some(Reverse((distance, node))) = self.queue.pop() {
            if distance > self.distance[node.index()] {
                continue;
            }
            self.settled.push(node);
            for step in costed.steps_into(node) {
                let through = distance + step.cost;
                if through < self.distance[step.node.index()] {
                    self.distance[step.node.index()] = through;
                    self.queue.push(Reverse((through, step.node)));
                }
            }
        }
    }

    /// The distance of `node` to the target, or [`UNREACHABLE`].
    pub fn of(&self, node: NodeId) -> u64 {
        self.distance[node.index()]
    }

    /// The distances of all nodes, by id.
    pub fn all(&self) -> &[u64] {
        &self.distance
    }

    /// The nodes from which the target can be reached, nearest first; the first is the target itself.
    pub fn nearest_first(&self) -> &[NodeId] {
        &self.settled
    }
}
