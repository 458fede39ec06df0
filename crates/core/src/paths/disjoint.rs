//! Paths of each pair that share no link, as the set of the least total metric.
//!
//! This is a minimum-cost flow in which every link carries one unit [suurballe1974, bhandari1999]: each round sends one
//! more unit along the shortest path in the residual network, where used links may be undone. Potentials keep all
//! reduced costs at zero or more, so that each round is a plain search [edmonds1972]; distances to the target are the
//! first potentials.
//!
//! A link and its twin count as two: paths that use a cable in opposite directions are disjoint here. No cheapest set
//! uses both, since it would be cheaper without the two.

use std::cmp::Reverse;

use super::Paths;
use super::by_target::{Progress, SearchError, by_target};
use super::costed::{Costed, Distances, Queue, Step, UNREACHABLE};
use super::marks::Marks;
use super::metric::Metric;
use crate::id::{LinkId, NodeId};
use crate::network::Network;

/// Finds up to `k` loopless paths for each pair that share no link, of the least total metric.
///
/// If there are fewer than `k`, it finds as many as there are; it finds none if there is no path or both nodes are the
/// same. Of equal sets it takes one with the fewest links in total; the choice among those is fixed, but has no other
/// meaning. The paths of a pair are in the order of (metric, number of links, link ids). The argument of `progress` is
/// the number of pairs finished since its last call on the same thread; if it returns false, the search is cancelled.
///
/// # Errors
/// Returns an error for an invalid metric, or [`SearchError::Cancelled`].
///
/// # Panics
/// If a pair has a node that is not in the network.
pub fn disjoint(
    network: &Network,
    pairs: &[(NodeId, NodeId)],
    k: usize,
    metric: &Metric,
    progress: Progress<'_>,
) -> Result<Paths, SearchError> {
    let costed = Costed::new(network, metric.costs(network)?.by_link);
    let find = |search: &mut Search<'_>, source, target, paths: &mut Paths| {
        search.send(source, target, k);
        paths.push_connection(search.paths(source, target));
    };
    by_target(pairs, 64, progress, || Search::new(&costed), find)
}

/// The search for the paths of pairs, one after the other.
struct Search<'a> {
    costed: &'a Costed,
    distances: Distances,
    /// Whether each link carries a unit.
    used: Vec<bool>,
    /// The potential of each node. It keeps `cost + potential(target) - potential(source)` at zero or more for unused
    /// links, and at zero or less for used ones.
    potential: Vec<u64>,
    /// The reduced distance from the source, for the nodes in `reached`.
    distance: Vec<u64>,
    reached: Marks,
    /// The link by which each node was reached, forwards or backwards.
    came_by: Vec<LinkId>,
    settled: Vec<NodeId>,
    queue: Queue,
}

impl<'a> Search<'a> {
    fn new(costed: &'a Costed) -> Self {
        let nodes = costed.nodes();
        Self {
            costed,
            distances: Distances::new(nodes),
            used: vec![false; costed.links()],
            potential: vec![UNREACHABLE; nodes],
            distance: vec![UNREACHABLE; nodes],
            reached: Marks::new(nodes),
            came_by: vec![LinkId(0); nodes],
            settled: Vec::new(),
            queue: Queue::new(),
        }
    }

    /// Sends up to `k` units from `source` to `target`, all on different links.
    fn send(&mut self, source: NodeId, target: NodeId, k: usize) {
        self.used.fill(false);
        if source == target {
            return;
        }
        self.distances.measure(self.costed, target);
        self.potential.copy_from_slice(self.distances.all());
        if self.potential[source.index()] == UNREACHABLE {
            return;
        }
        for _ in 0..k {
            let Some(nearest) = self.search(source, target) else { return };
            self.raise_potentials(nearest);
            self.turn_links(source, target);
        }
    }

    /// The reduced distance of `target` from `source`, if there is a path; afterwards `settled` holds all nodes up to
    /// there.
    fn search(&mut self, source: NodeId, target: NodeId) -> Option<u64> {
        self.reached.clear();
        self.settled.clear();
        self.queue.clear();
        self.reached.insert(source);
        self.distance[source.index()] = 0;
        self.queue.push(Reverse((0, source)));
        while let Some(Reverse((distance, node))) = self.queue.pop() {
            if distance > self.distance[node.index()] {
                continue;
            }
            if node == target {
                return Some(distance);
            }
            self.settled.push(node);
            self.reach_around(node, distance);
        }
        None
    }

    /// Searches from `node` forwards along unused links and backwards along used ones.
    fn reach_around(&mut self, node: NodeId, distance: u64) {
        let costed = self.costed;
        let here = self.potential[node.index()];
        for step in costed.steps_from(node) {
            let there = self.potential[step.node.index()];
            if !self.used[step.link.index()] && there != UNREACHABLE {
                self.reach(step, distance + (step.cost + there - here));
            }
        }
        for step in costed.steps_into(node) {
            if self.used[step.link.index()] {
                let there = self.potential[step.node.index()];
                self.reach(step, distance + (there - (step.cost + here)));
            }
        }
    }

    fn reach(&mut self, step: &Step, distance: u64) {
        let n = step.node.index();
        if self.reached.insert(step.node) || distance < self.distance[n] {
            self.distance[n] = distance;
            self.came_by[n] = step.link;
            self.queue.push(Reverse((distance, step.node)));
        }
    }

    /// Updates the potentials to the network after the links of the shortest path are reversed.
    fn raise_potentials(&mut self, nearest: u64) {
        for &node in &self.settled {
            self.potential[node.index()] += nearest - self.distance[node.index()];
        }
    }

    /// Uses the links of the new path, and frees those that it went back on.
    fn turn_links(&mut self, source: NodeId, target: NodeId) {
        let mut node = target;
        while node != source {
            let link = self.came_by[node.index()];
            let used = &mut self.used[link.index()];
            *used = !*used;
            let forwards = *used;
            node = if forwards { self.costed.source(link) } else { self.costed.target(link) };
        }
    }

    /// Follows the units from `source` to `target`, taking used links in the order of their ids.
    ///
    /// A cheapest flow has no cycle, since all costs are positive; so each unit's path is loopless.
    fn paths(&mut self, source: NodeId, target: NodeId) -> Vec<Vec<LinkId>> {
        let mut ranked = Vec::new();
        while let Some(first) = self.take_used(source) {
            let mut links = vec![first];
            let mut node = self.costed.target(first);
            while node != target {
                let link = self.take_used(node).expect("what enters a node leaves it");
                links.push(link);
                node = self.costed.target(link);
            }
            let cost: u64 = links.iter().map(|&l| self.costed.cost(l)).sum();
            ranked.push((cost, links));
        }
        ranked.sort();
        ranked.into_iter().map(|(_, links)| links).collect()
    }

    fn take_used(&mut self, node: NodeId) -> Option<LinkId> {
        let steps = self.costed.steps_from(node);
        let link = steps.iter().map(|step| step.link).find(|link| self.used[link.index()])?;
        self.used[link.index()] = false;
        Some(link)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::paths::brute_force::{Ranked, assert_no_way_no_path, cases, first_to_last, network};

    fn first_of(network: &Network, k: usize, metric: &Metric) -> Vec<Vec<u32>> {
        first_to_last(disjoint, network, k, metric)
    }

    #[test]
    fn the_shortest_path_is_given_up_for_two_that_are_disjoint() {
        // 0-1-2-3 is shortest (metric 3) and blocks both ways round: 0-2 and 1-3 cost 3 each.
        // The two disjoint ones are 0-1-3 and 0-2-3 at 4 each: links 0, 4 and 3, 2.
        let network = network(4, &[(0, 1), (1, 2), (2, 3), (0, 2), (1, 3)]);
        let metric = Metric::Given(vec![1.0, 1.0, 1.0, 3.0, 3.0]);
        assert_eq!(first_of(&network, 1, &metric), [[0, 1, 2]]);
        assert_eq!(first_of(&network, 2, &metric), [[0, 4], [3, 2]]);
        assert_eq!(first_of(&network, 3, &metric).len(), 2);
    }

    #[test]
    fn paths_may_share_a_node_but_no_link() {
        // Two parallel links 0-1 and two 1-2: both paths lead through node 1.
        let network = network(3, &[(0, 1), (1, 2), (0, 1), (1, 2)]);
        assert_eq!(first_of(&network, 9, &Metric::Hops), [[0, 1], [2, 3]]);
    }

    #[test]
    fn no_way_no_path() {
        assert_no_way_no_path(disjoint);
    }

    /// For each number of paths the least (metric, number of links) of a disjoint set of that many.
    fn least_totals(paths: &[Ranked], taken: &mut Vec<usize>, from: usize, least: &mut Vec<(u32, usize)>) {
        let total = |of: fn(&Ranked) -> usize| taken.iter().map(|&p| of(&paths[p])).sum::<usize>();
        let here = (total(|p| p.metric as usize) as u32, total(|p| p.hops));
        match least.get_mut(taken.len()) {
            Some(known) => *known = here.min(*known),
            None => least.push(here),
        }
        for next in from..paths.len() {
            let apart = |&p: &usize| paths[p].links.iter().all(|l| !paths[next].links.contains(l));
            if taken.iter().all(apart) {
                taken.push(next);
                least_totals(paths, taken, next + 1, least);
                taken.pop();
            }
        }
    }

    proptest! {
        #[test]
        fn these_are_the_cheapest_disjoint_paths(case in cases(), k in 1usize..5) {
            for (found, all) in case.searched(disjoint, k) {
                let ranked = |path: &Vec<LinkId>| all.iter().find(|p| p.links == *path).expect("it is a loopless path");
                let found: Vec<Ranked> = found.iter().map(|path| ranked(path).clone()).collect();
                prop_assert!(found.is_sorted());
                let mut links: Vec<LinkId> = found.iter().flat_map(|p| p.links.clone()).collect();
                links.sort();
                prop_assert!(links.windows(2).all(|l| l[0] != l[1]), "a link is shared");
                // By Menger's theorem the greatest number of disjoint paths is the maximal flow.
                let mut least = Vec::new();
                least_totals(&all, &mut Vec::new(), 0, &mut least);
                prop_assert_eq!(found.len(), k.min(least.len() - 1));
                let total = (found.iter().map(|p| p.metric).sum(), found.iter().map(|p| p.hops).sum());
                prop_assert_eq!(total, least[found.len()]);
            }
        }
    }
}
