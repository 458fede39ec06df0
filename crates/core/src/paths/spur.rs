//! The best path from the end of a prefix to the target: the spur of Yen's algorithm.
//!
//! The best spur has the least cost, and among those the lexicographically first link ids. The search first follows
//! links that are tight for the bound, which nearly always succeeds. If nodes of the prefix are in its way, an A*
//! search [hart1968] finds the true cost, and the same walk then follows the links that are tight for that cost.

use std::cmp::Reverse;

use super::avoiding::Without;
use super::costed::{Costed, Queue, Step, UNREACHABLE};
use super::marks::Marks;
use crate::id::{LinkId, NodeId};

/// The set of spurs that a search may find.
#[derive(Clone, Copy)]
pub(super) struct Subspace<'a> {
    pub costed: &'a Costed,
    /// Lower bounds for the distances without `start`, each exact or that of the whole network.
    pub bounds: Without<'a>,
    pub start: NodeId,
    pub target: NodeId,
    /// Nodes that the path has visited, including `start`.
    pub prefix: &'a Marks,
    /// Links from `start` that other subspaces took.
    pub banned: &'a [LinkId],
}

impl<'a> Subspace<'a> {
    /// The steps that a spur may begin with.
    pub fn first_steps(self) -> impl Iterator<Item = &'a Step> {
        let allowed = move |step: &&Step| !self.prefix.contains(step.node) && !self.banned.contains(&step.link);
        self.costed.steps_from(self.start).iter().filter(allowed)
    }

    /// Lower bound on the cost of a spur, or [`UNREACHABLE`].
    pub fn bound(self) -> u64 {
        let through = |step: &Step| self.bounds.distance(step.node).saturating_add(step.cost);
        self.first_steps().map(through).min().unwrap_or(UNREACHABLE)
    }
}

/// The memory of the search for a spur, reused from search to search.
pub(super) struct SpurSearch {
    /// The cost from the start, for the nodes in `reached`.
    spent: Vec<u64>,
    reached: Marks,
    queue: Queue,
    walk: Walk,
}

impl SpurSearch {
    /// Memory for a network of this many nodes.
    pub fn new(nodes: usize) -> Self {
        Self { spent: vec![0; nodes], reached: Marks::new(nodes), queue: Queue::new(), walk: Walk::new(nodes) }
    }

    /// The cost and the links of the best spur of the subspace; `None` if it has none or the cost exceeds `limit`.
    ///
    /// `bound` is the lower bound of the subspace.
    pub fn best(&mut self, subspace: Subspace<'_>, bound: u64, limit: u64) -> Option<(u64, &[LinkId])> {
        let Subspace { costed, bounds, start, target, prefix, banned } = subspace;
        let tight_for_bound = |node: NodeId, step: &Step| {
            let left = if node == start { bound } else { bounds.distance(node) };
            bounds.distance(step.node).checked_add(step.cost) == Some(left)
                && !prefix.contains(step.node)
                && !(node == start && banned.contains(&step.link))
        };
        if self.walk.find(costed, start, target, tight_for_bound) {
            return Some((bound, self.walk.links()));
        }
        let cost = self.measure(subspace, limit)?;
        let (spent, reached) = (&self.spent, &self.reached);
        let tight = |node: NodeId, step: &Step| {
            let before = if node == start { 0 } else { spent[node.index()] };
            reached.contains(step.node)
                && spent[step.node.index()] == before + step.cost
                && spent[step.node.index()] + bounds.distance(step.node) <= cost
                && !(node == start && banned.contains(&step.link))
        };
        let found = self.walk.find(costed, start, target, tight);
        assert!(found, "a way of the least cost was measured");
        Some((cost, self.walk.links()))
    }

    /// The least cost of a spur, if it is within `limit`; `spent` is then exact on every spur of that cost.
    fn measure(&mut self, subspace: Subspace<'_>, limit: u64) -> Option<u64> {
        let Subspace { costed, bounds, target, prefix, .. } = subspace;
        self.queue.clear();
        self.reached.clear();
        for step in subspace.first_steps() {
            self.reach(step.node, step.cost, bounds.distance(step.node));
        }
        let mut most = limit;
        while let Some(Reverse((through, node))) = self.queue.pop() {
            if through > most {
                break;
            }
            let spent = self.spent[node.index()];
            if node == target {
                most = spent;
                continue;
            }
            if through > spent + bounds.distance(node) {
                continue;
            }
            for step in costed.steps_from(node).iter().filter(|step| !prefix.contains(step.node)) {
                self.reach(step.node, spent + step.cost, bounds.distance(step.node));
            }
        }
        (self.reached.contains(target) && self.spent[target.index()] <= most).then_some(most)
    }

    fn reach(&mut self, node: NodeId, spent: u64, bound: u64) {
        if bound != UNREACHABLE && (self.reached.insert(node) || spent < self.spent[node.index()]) {
            self.spent[node.index()] = spent;
            self.queue.push(Reverse((spent + bound, node)));
        }
    }
}

/// A depth-first search in the order of link ids.
struct Walk {
    /// The nodes on the present path, with the number of links tried at each.
    way: Vec<(NodeId, usize)>,
    links: Vec<LinkId>,
    seen: Marks,
}

impl Walk {
    fn new(nodes: usize) -> Self {
        Self { way: Vec::new(), links: Vec::new(), seen: Marks::new(nodes) }
    }

    /// Finds the first path from `start` to `target` along steps that are `tight`; returns whether there is one.
    ///
    /// Tight steps must not form a cycle. So whether a node leads to the target does not depend on the path to it, and
    /// each node is visited once.
    fn find(&mut self, costed: &Costed, start: NodeId, target: NodeId, tight: impl Fn(NodeId, &Step) -> bool) -> bool {
        self.seen.clear();
        self.links.clear();
        self.way.clear();
        self.way.push((start, 0));
        while let Some((node, tried)) = self.way.last_mut() {
            let untried = costed.steps_from(*node).iter().enumerate().skip(*tried);
            let mut possible = untried.filter(|(_, step)| !self.seen.contains(step.node) && tight(*node, step));
            let Some((at, step)) = possible.next() else {
                self.way.pop();
                self.links.pop();
                continue;
            };
            *tried = at + 1;
            self.links.push(step.link);
            if step.node == target {
                return true;
            }
            self.seen.insert(step.node);
            self.way.push((step.node, 0));
        }
        false
    }

    fn links(&self) -> &[LinkId] {
        &self.links
    }
}
