//! Random pairs of nodes that are joined by a path.

use anabranch_core::{Network, NodeId};
use rand::{Rng, RngExt};

use crate::file::traffic::Distinct;

/// Draws of a pair before all possible pairs are listed.
const DRAWS: usize = 64;

/// Groups of distinct pairs drawn before the search is given up, since early pairs may leave no room for late ones.
const TRIES: usize = 100;

/// The nodes at which pairs may begin and end.
pub(super) struct Ends<'a> {
    pub network: &'a Network,
    /// Possible sources without repetition; `targets` has none either.
    pub sources: &'a [NodeId],
    pub targets: &'a [NodeId],
    /// Nodes that two pairs may not have in common.
    pub distinct: Distinct,
}

/// Draws `count` pairs of different nodes that are joined by a path, each such pair with the same probability.
///
/// # Errors
/// If there is no such pair, or there are not enough distinct ones.
pub(super) fn draw_ends(ends: &Ends<'_>, count: usize, rng: &mut impl Rng) -> Result<Vec<(NodeId, NodeId)>, String> {
    let joined = Joined::new(ends.network);
    if ends.distinct == Distinct::Ends(false) {
        let mut pool = Pool::new(ends, &joined);
        let pairs: Option<Vec<_>> = (0..count).map(|_| pool.draw(rng)).collect();
        return pairs.ok_or_else(|| {
            "no path leads from any node of `from` to another of `to`; name others, or add links".to_owned()
        });
    }
    ends.check_room(count)?;
    let tries = (0..TRIES).find_map(|_| {
        let mut pool = Pool::new(ends, &joined);
        (0..count).map(|_| pool.draw(rng).inspect(|&pair| pool.remove(pair, ends.distinct))).collect()
    });
    tries.ok_or_else(|| {
        format!("no {count} distinct pairs of nodes with a path were found in {TRIES} tries; ask for fewer")
    })
}

impl Ends<'_> {
    /// Checks that there are enough nodes: each pair needs two nodes to itself, or a source.
    fn check_room(&self, count: usize) -> Result<(), String> {
        let sources = self.sources.len();
        if let Distinct::Sources(_) = self.distinct {
            let message = || {
                format!(
                    "{count} connections do not fit, as there are {sources} nodes to be the source of one each; ask for \
                     fewer, or leave `distinct` out"
                )
            };
            return if count <= sources { Ok(()) } else { Err(message()) };
        }
        let mut named = vec![false; self.network.nodes().len()];
        let both = || self.sources.iter().chain(self.targets);
        let nodes = both().filter(|node| !std::mem::replace(&mut named[node.index()], true)).count();
        let most = self.sources.len().min(self.targets.len()).min(nodes / 2);
        let message = || format!("{count} distinct connections do not fit, as the nodes make up at most {most} pairs");
        if count <= most { Ok(()) } else { Err(format!("{}; ask for fewer, or leave `distinct` out", message())) }
    }
}

/// The pairs that can still be drawn.
struct Pool<'a> {
    joined: &'a Joined<'a>,
    sources: Vec<NodeId>,
    targets: Vec<NodeId>,
    /// For each node whether it can no longer be a source, and whether it can no longer be a target.
    is_used: [Vec<bool>; 2],
    /// All possible pairs, once they had to be listed; dropped when a node is used up.
    counted: Option<Vec<(NodeId, NodeId)>>,
}

impl<'a> Pool<'a> {
    fn new(ends: &Ends<'_>, joined: &'a Joined<'a>) -> Self {
        let is_used = [(); 2].map(|()| vec![false; ends.network.nodes().len()]);
        Self { joined, sources: ends.sources.to_vec(), targets: ends.targets.to_vec(), is_used, counted: None }
    }

    /// Draws a pair; `None` if there is none.
    fn draw(&mut self, rng: &mut impl Rng) -> Option<(NodeId, NodeId)> {
        if self.counted.is_none() {
            // Drawing with rejection is fast while most pairs are possible.
            for _ in 0..DRAWS {
                let source = draw_node(&mut self.sources, &self.is_used[0], rng)?;
                let target = draw_node(&mut self.targets, &self.is_used[1], rng)?;
                if self.joined.leads(source, target) {
                    return Some((source, target));
                }
            }
        }
        let counted = self.counted.get_or_insert_with(|| {
            let [as_source, as_target] = &self.is_used;
            let from = |&s: &NodeId| self.targets.iter().filter(|t| !as_target[t.index()]).map(move |&t| (s, t));
            let pairs = self.sources.iter().filter(|s| !as_source[s.index()]).flat_map(from);
            pairs.filter(|&(s, t)| self.joined.leads(s, t)).collect()
        });
        (!counted.is_empty()).then(|| counted[rng.random_range(0..counted.len())])
    }

    fn remove(&mut self, (source, target): (NodeId, NodeId), distinct: Distinct) {
        self.is_used[0][source.index()] = true;
        if distinct == Distinct::Ends(true) {
            self.is_used[0][target.index()] = true;
            self.is_used[1][source.index()] = true;
            self.is_used[1][target.index()] = true;
        }
        self.counted = None;
    }
}

/// Draws one of `nodes` that is not used, and removes used nodes that come up.
fn draw_node(nodes: &mut Vec<NodeId>, is_used: &[bool], rng: &mut impl Rng) -> Option<NodeId> {
    while !nodes.is_empty() {
        let i = rng.random_range(0..nodes.len());
        if !is_used[nodes[i].index()] {
            return Some(nodes[i]);
        }
        nodes.swap_remove(i);
    }
    None
}

/// The relation of nodes that are joined by a path.
struct Joined<'a> {
    network: &'a Network,
    /// For each node the number of its component by two-way links alone; within a component, paths lead both ways.
    parts: Vec<u32>,
}

impl<'a> Joined<'a> {
    fn new(network: &'a Network) -> Self {
        let mut parts = vec![u32::MAX; network.nodes().len()];
        let mut stack = Vec::new();
        for start in 0..parts.len() {
            if parts[start] != u32::MAX {
                continue;
            }
            parts[start] = start as u32;
            stack.push(NodeId::new(start));
            while let Some(node) = stack.pop() {
                let links = network.links_from(node).iter().map(|&link| network.link(link));
                for next in links.filter(|link| link.twin.is_some()).map(|link| link.target.index()) {
                    if parts[next] == u32::MAX {
                        parts[next] = start as u32;
                        stack.push(NodeId::new(next));
                    }
                }
            }
        }
        Self { network, parts }
    }

    /// Whether `source` and `target` differ and a path leads from one to the other.
    fn leads(&self, source: NodeId, target: NodeId) -> bool {
        source != target && (self.parts[source.index()] == self.parts[target.index()] || self.reaches(source, target))
    }

    fn reaches(&self, source: NodeId, target: NodeId) -> bool {
        let mut seen = vec![false; self.parts.len()];
        seen[source.index()] = true;
        let mut stack = vec![source];
        while let Some(node) = stack.pop() {
            for next in self.network.links_from(node).iter().map(|&link| self.network.link(link).target) {
                if next == target {
                    return true;
                }
                if !std::mem::replace(&mut seen[next.index()], true) {
                    stack.push(next);
                }
            }
        }
        false
    }
}
