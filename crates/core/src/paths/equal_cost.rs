//! All shortest paths of each pair, as equal-cost multipath routing (ECMP) uses them.
//!
//! Paths are equal if their metrics are; the number of links does not count. A link is tight if it lies on a walk of
//! the least metric, and every loopless path of tight links is one of the answers. Links of metric zero can form a
//! cycle, so before the search takes one it makes sure that the target can still be reached without going back. Hence
//! no step leads into a dead end, and the first paths come fast even if there are astronomically many.

use super::Paths;
use super::by_target::{Progress, SearchError, by_target};
use super::costed::{Costed, Distances, Step, UNREACHABLE};
use super::marks::Marks;
use super::metric::Metric;
use crate::id::{LinkId, NodeId};
use crate::network::Network;

/// Finds the loopless paths of the least metric of each pair, in the lexicographic order of their link ids.
///
/// If there are more than `most`, it finds the first `most`; it finds none if there is no path or both nodes are the
/// same. The argument of `progress` is the number of pairs finished since its last call on the same thread; if it
/// returns false, the search is cancelled.
///
/// # Errors
/// Returns an error for an invalid metric, or [`SearchError::Cancelled`].
///
/// # Panics
/// If a pair has a node that is not in the network.
pub fn equal_cost(
    network: &Network,
    pairs: &[(NodeId, NodeId)],
    most: usize,
    metric: &Metric,
    progress: Progress<'_>,
) -> Result<Paths, SearchError> {
    let costed = Costed::new(network, metric.costs(network)?.metric_alone());
    let find = |search: &mut Search<'_>, source, target, paths: &mut Paths| {
        search.find(source, target, most);
        paths.push_connection(&search.found);
    };
    by_target(pairs, 64, progress, || Search::new(&costed), find)
}

/// The search for the paths of pairs, one after the other.
struct Search<'a> {
    costed: &'a Costed,
    distances: Distances,
    /// The nodes on the present path, with the number of links tried at each.
    way: Vec<(NodeId, usize)>,
    links: Vec<LinkId>,
    on_way: Marks,
    seen: Marks,
    stack: Vec<NodeId>,
    found: Vec<Vec<LinkId>>,
}

impl<'a> Search<'a> {
    fn new(costed: &'a Costed) -> Self {
        let nodes = costed.nodes();
        Self {
            costed,
            distances: Distances::new(nodes),
            way: Vec::new(),
            links: Vec::new(),
            on_way: Marks::new(nodes),
            seen: Marks::new(nodes),
            stack: Vec::new(),
            found: Vec::new(),
        }
    }

    /// Puts the first `most` paths from `source` to `target` into `found`.
    fn find(&mut self, source: NodeId, target: NodeId, most: usize) {
        self.found.clear();
        self.distances.measure(self.costed, target);
        if source == target || self.distances.of(source) == UNREACHABLE {
            return;
        }
        self.links.clear();
        self.on_way.clear();
        self.way.clear();
        self.go_to(source);
        while self.found.len() < most
            && let Some((node, tried)) = self.way.last_mut()
        {
            let (node, at) = (*node, *tried);
            *tried += 1;
            let Some(step) = self.costed.steps_from(node).get(at) else {
                self.go_back();
                continue;
            };
            if step.node == target && self.is_tight(node, step) {
                self.found.push([self.links.as_slice(), &[step.link]].concat());
            } else if self.is_tight(node, step) && self.leads_on(step.node, target) {
                self.links.push(step.link);
                self.go_to(step.node);
            }
        }
    }

    fn go_to(&mut self, node: NodeId) {
        self.way.push((node, 0));
        self.on_way.insert(node);
    }

    fn go_back(&mut self) {
        let (node, _) = self.way.pop().expect("the way has a last node");
        self.on_way.remove(node);
        self.links.pop();
    }

    /// Whether the step from `node` is on a walk of the least metric.
    fn is_tight(&self, node: NodeId, step: &Step) -> bool {
        self.distances.of(step.node).checked_add(step.cost) == Some(self.distances.of(node))
    }

    /// Whether tight links lead from `node` to the target past all nodes on the present path.
    ///
    /// It is enough to find a tight link of positive metric: no node on the present path can be beyond it, since these
    /// are as far from the target as `node` or farther.
    fn leads_on(&mut self, node: NodeId, target: NodeId) -> bool {
        if self.on_way.contains(node) {
            return false;
        }
        self.seen.clear();
        self.seen.insert(node);
        self.stack.clear();
        self.stack.push(node);
        while let Some(node) = self.stack.pop() {
            for step in self.costed.steps_from(node) {
                if !self.is_tight(node, step) {
                    continue;
                }
                if step.node == target || step.cost > 0 {
                    return true;
                }
                if !self.on_way.contains(step.node) && self.seen.insert(step.node) {
                    self.stack.push(step.node);
                }
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::paths::brute_force::{assert_no_way_no_path, cases, first_to_last, network};

    fn first_of(network: &Network, most: usize, metric: &Metric) -> Vec<Vec<u32>> {
        first_to_last(equal_cost, network, most, metric)
    }

    #[test]
    fn parallel_links_make_paths_of_their_own() {
        // 0 -> 1 by links 0 and 1, 1 -> 2 by link 2, 0 -> 2 only round by 3 (links 3, 4 and 5).
        let network = network(4, &[(0, 1), (0, 1), (1, 3), (0, 2), (2, 1), (1, 3)]);
        assert_eq!(first_of(&network, 9, &Metric::Hops), [[0, 2], [0, 5], [1, 2], [1, 5]]);
        assert_eq!(first_of(&network, 3, &Metric::Hops), [[0, 2], [0, 5], [1, 2]]);
        assert!(first_of(&network, 0, &Metric::Hops).is_empty());
    }

    #[test]
    fn more_links_are_no_worse_at_equal_metric() {
        // 0 -> 2 directly at metric 3, or by node 1 at 1 + 2.
        let network = network(3, &[(0, 2), (0, 1), (1, 2)]);
        assert_eq!(first_of(&network, 9, &Metric::Given(vec![3.0, 1.0, 2.0])), [vec![0], vec![1, 2]]);
    }

    #[test]
    fn the_first_of_2_to_the_60_paths_come_at_once() {
        // 60 pairs of parallel links in a row; the last link is the first to change.
        let ends: Vec<(u32, u32)> = (0..60).flat_map(|n| [(n, n + 1), (n, n + 1)]).collect();
        let first = first_of(&network(61, &ends), 2, &Metric::Hops);
        assert_eq!(first[0], (0..120).step_by(2).collect::<Vec<_>>());
        assert_eq!((first[1][58], first[1][59]), (116, 119));
    }

    #[test]
    fn a_circle_of_metric_zero_is_no_trap() {
        // All links are free; every simple path is shortest. 1 and 2 point at each other.
        let network = network(4, &[(0, 1), (0, 2), (1, 2), (2, 1), (1, 3), (2, 3)]);
        let free = Metric::Given(vec![0.0; 6]);
        assert_eq!(first_of(&network, 9, &free), [vec![0, 2, 5], vec![0, 4], vec![1, 3, 4], vec![1, 5]]);
    }

    #[test]
    fn no_way_no_path() {
        assert_no_way_no_path(equal_cost);
    }

    proptest! {
        #[test]
        fn these_are_all_paths_of_the_least_metric(case in cases(), most in 1usize..12) {
            for (found, mut expected) in case.searched(equal_cost, most) {
                let least = expected.iter().map(|p| p.metric).min();
                expected.retain(|p| Some(p.metric) == least);
                expected.sort_by(|a, b| a.links.cmp(&b.links));
                expected.truncate(most);
                prop_assert_eq!(found, expected.into_iter().map(|p| p.links).collect::<Vec<_>>());
            }
        }
    }
}
