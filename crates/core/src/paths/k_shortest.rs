//! The k shortest loopless paths of each pair.
//!
//! The search gives Yen's result [yen1971] with Lawler's partition [lawler1972], evaluated lazily. The set of all paths
//! of a pair is divided into subspaces, each given by a prefix of a path found before and by the links at its end that
//! other subspaces took. The best path of a subspace is searched for only when the subspace's lower bound is the least;
//! then the subspace is divided along that path. The bounds are distances to the target without the last node of the
//! prefix (`avoiding.rs`).
//!
//! Paths are in total order: by metric, then by number of links, then by the sequence of link ids, lexicographically.
//! So the result is the first k of a well-defined sequence, whatever the algorithm, the bounds and the number of
//! threads.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use super::Paths;
use super::avoiding::Avoiding;
use super::by_target::{Progress, SearchError, by_target};
use super::costed::{Costed, UNREACHABLE};
use super::marks::Marks;
use super::metric::Metric;
use super::spur::{SpurSearch, Subspace};
use crate::id::{LinkId, NodeId};
use crate::network::Network;

/// Finds the first `k` loopless paths of each pair in the order of (metric, number of links, link ids).
///
/// It finds all of them if there are fewer, and none if there is no path or both nodes are the same. The argument of
/// `progress` is the number of pairs finished since its last call on the same thread; if it returns false, the search
/// is cancelled.
///
/// # Errors
/// Returns an error for an invalid metric, or [`SearchError::Cancelled`].
///
/// # Panics
/// If a pair has a node that is not in the network.
pub fn k_shortest(
    network: &Network,
    pairs: &[(NodeId, NodeId)],
    k: usize,
    metric: &Metric,
    progress: Progress<'_>,
) -> Result<Paths, SearchError> {
    let costed = Costed::new(network, metric.costs(network)?.by_link);
    let piece = (512 / k.max(1)).clamp(1, 64);
    let find = |search: &mut Search<'_>, source, target, paths: &mut Paths| {
        search.find(source, target, k);
        paths.push_connection(&search.accepted);
    };
    by_target(pairs, piece, progress, || Search::new(&costed), find)
}

/// A subspace whose best path is not known yet. The order is that of the fields: least bound first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Unresolved {
    /// Lower bound on the cost of its paths.
    bound: u64,
    prefix_cost: u64,
    origin: Origin,
}

/// The best path of a subspace. The order is that of the fields: best first.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Resolved {
    cost: u64,
    links: Vec<LinkId>,
    origin: Origin,
}

/// The point where the paths of a subspace leave an earlier accepted path.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Origin {
    /// Number of the accepted path; none for the set of all paths.
    parent: Option<usize>,
    /// Number of links that the paths have in common with it.
    prefix: usize,
}

/// The search for the paths of pairs, one after the other.
struct Search<'a> {
    costed: &'a Costed,
    source: NodeId,
    target: NodeId,
    avoiding: Avoiding,
    spurs: SpurSearch,
    prefix: Marks,
    banned: Vec<LinkId>,
    unresolved: BinaryHeap<Reverse<Unresolved>>,
    /// The resolved subspaces, at most as many as are still needed.
    resolved: BTreeSet<Resolved>,
    accepted: Vec<Vec<LinkId>>,
    origins: Vec<Origin>,
}

impl<'a> Search<'a> {
    fn new(costed: &'a Costed) -> Self {
        let nodes = costed.nodes();
        Self {
            costed,
            source: NodeId(0),
            target: NodeId(0),
            avoiding: Avoiding::new(nodes),
            spurs: SpurSearch::new(nodes),
            prefix: Marks::new(nodes),
            banned: Vec::new(),
            unresolved: BinaryHeap::new(),
            resolved: BTreeSet::new(),
            accepted: Vec::new(),
            origins: Vec::new(),
        }
    }

    /// Puts the first `k` paths from `source` to `target` into `accepted`.
    fn find(&mut self, source: NodeId, target: NodeId, k: usize) {
        (self.source, self.target) = (source, target);
        self.unresolved.clear();
        self.resolved.clear();
        self.accepted.clear();
        self.origins.clear();
        if source == target || k == 0 {
            return;
        }
        self.avoiding.measure(self.costed, target);
        self.add_all_paths();
        while self.accepted.len() < k {
            // At equal cost all subspaces are resolved first: one of them may hold the path with the first link ids.
            let best = self.resolved.first().map_or(UNREACHABLE, |path| path.cost);
            if let Some(&Reverse(subspace)) = self.unresolved.peek()
                && subspace.bound <= best
            {
                self.unresolved.pop();
                self.resolve(subspace, k - self.accepted.len());
            } else if let Some(path) = self.resolved.pop_first() {
                self.accept(path, k);
            } else {
                return;
            }
        }
    }

    /// Adds the subspace of all paths.
    fn add_all_paths(&mut self) {
        self.prefix.clear();
        self.prefix.insert(self.source);
        self.banned.clear();
        self.add(self.source, 0, Origin { parent: None, prefix: 0 });
    }

    /// Accepts `path` as the next, and divides the rest of its subspace along it.
    fn accept(&mut self, path: Resolved, k: usize) {
        let accepted = self.accepted.len();
        let first = path.origin.prefix;
        self.origins.push(path.origin);
        self.accepted.push(path.links);
        if self.accepted.len() == k {
            return;
        }
        self.prefix.clear();
        let mut node = self.source;
        let mut prefix_cost = 0;
        for prefix in 0..self.accepted[accepted].len() {
            self.prefix.insert(node);
            if prefix >= first {
                let origin = Origin { parent: Some(accepted), prefix };
                self.ban_links_taken(origin);
                self.add(node, prefix_cost, origin);
            }
            let link = self.accepted[accepted][prefix];
            prefix_cost += self.costed.cost(link);
            node = self.costed.target(link);
        }
    }

    /// Adds the subspace of the paths that continue from `node`, unless there are none.
    ///
    /// `prefix` and `banned` hold the nodes and links that the subspace may not use.
    fn add(&mut self, node: NodeId, prefix_cost: u64, origin: Origin) {
        if self.subspace(node).first_steps().next().is_none() {
            return;
        }
        // A shortest of all paths never comes back to its source, so its bound is exact.
        if origin.parent.is_some() {
            self.avoiding.prepare(self.costed, node);
        }
        let bound = self.subspace(node).bound();
        if bound != UNREACHABLE {
            self.unresolved.push(Reverse(Unresolved { bound: prefix_cost + bound, prefix_cost, origin }));
        }
    }

    /// Searches for the best path of a subspace; keeps it if it is among the best `wanted`.
    fn resolve(&mut self, subspace: Unresolved, wanted: usize) {
        let Unresolved { bound, prefix_cost, origin } = subspace;
        let worst_wanted = self.resolved.last().filter(|_| self.resolved.len() >= wanted);
        let limit = worst_wanted.map_or(UNREACHABLE, |path| path.cost);
        if bound > limit {
            return;
        }
        let start = self.mark_prefix(origin);
        self.ban_links_taken(origin);
        // Not through `self.subspace`, which would borrow the search for spurs too.
        let bounds = self.avoiding.without(start);
        let (costed, target, prefix, banned) = (self.costed, self.target, &self.prefix, self.banned.as_slice());
        let space = Subspace { costed, bounds, start, target, prefix, banned };
        let Some((cost, spur)) = self.spurs.best(space, bound - prefix_cost, limit - prefix_cost) else { return };
        let root = origin.parent.map_or(&[][..], |parent| &self.accepted[parent][..origin.prefix]);
        let links = [root, spur].concat();
        self.resolved.insert(Resolved { cost: prefix_cost + cost, links, origin });
        if self.resolved.len() > wanted {
            self.resolved.pop_last();
        }
    }

    /// Puts the nodes of the prefix into `prefix`; returns the last of them.
    fn mark_prefix(&mut self, origin: Origin) -> NodeId {
        self.prefix.clear();
        self.prefix.insert(self.source);
        let mut node = self.source;
        if let Some(parent) = origin.parent {
            for &link in &self.accepted[parent][..origin.prefix] {
                node = self.costed.target(link);
                self.prefix.insert(node);
            }
        }
        node
    }

    /// Puts the links into `banned` that accepted paths with this prefix take next.
    fn ban_links_taken(&mut self, origin: Origin) {
        self.banned.clear();
        let mut next = origin.parent;
        while let Some(parent) = next {
            self.banned.push(self.accepted[parent][origin.prefix]);
            let of_parent = self.origins[parent];
            next = of_parent.parent.filter(|_| of_parent.prefix == origin.prefix);
        }
    }

    fn subspace(&self, start: NodeId) -> Subspace<'_> {
        Subspace {
            costed: self.costed,
            bounds: self.avoiding.without(start),
            start,
            target: self.target,
            prefix: &self.prefix,
            banned: &self.banned,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::paths::brute_force::{all_pairs, assert_no_way_no_path, cases, first_to_last, network};

    fn first_of(network: &Network, k: usize, metric: &Metric) -> Vec<Vec<u32>> {
        first_to_last(k_shortest, network, k, metric)
    }

    #[test]
    fn ties_go_to_fewer_links_and_then_to_lower_ids() {
        // From C to H with nodes C E F D G H as 0 to 5: C-E-F-H costs 2 + 2 + 1 = 5, C-E-G-H 2 + 3 + 2 = 7, and three
        // cost 8: C-D-F-H (3 + 4 + 1) with three links, C-E-D-F-H (2 + 1 + 4 + 1, links 1 3 ..) and C-E-F-G-H
        // (2 + 2 + 2 + 2, links 1 4 ..) with four.
        let ends = [(0, 3), (0, 1), (3, 2), (1, 3), (1, 2), (1, 4), (2, 4), (2, 5), (4, 5)];
        let metric = Metric::Given(vec![3.0, 2.0, 4.0, 1.0, 2.0, 3.0, 2.0, 1.0, 2.0]);
        let paths = first_of(&network(6, &ends), 5, &metric);
        assert_eq!(paths, [vec![1, 4, 7], vec![1, 5, 8], vec![0, 2, 7], vec![1, 3, 2, 7], vec![1, 4, 6, 8]]);
    }

    #[test]
    fn equal_paths_come_in_the_order_of_their_links() {
        // Two parallel links twice in a row: four paths of two links.
        let network = network(3, &[(1, 2), (0, 1), (0, 1), (1, 2)]);
        assert_eq!(first_of(&network, 9, &Metric::Hops), [[1, 0], [1, 3], [2, 0], [2, 3]]);
        assert_eq!(first_of(&network, 3, &Metric::Hops), [[1, 0], [1, 3], [2, 0]]);
    }

    #[test]
    fn a_detour_that_meets_the_prefix_is_no_path() {
        // 0 - 1 - 2 - 4 is shortest. From 2 the spur to 3 leads back to 1 and on by 1 -> 4, which would be a loop;
        // so after 0-1-4 (metric 5 on the last link) there is nothing.
        let network = network(5, &[(0, 1), (1, 2), (2, 4), (2, 3), (3, 1), (1, 4)]);
        let metric = Metric::Given(vec![1.0, 1.0, 1.0, 1.0, 1.0, 5.0]);
        assert_eq!(first_of(&network, 9, &metric), [vec![0, 1, 2], vec![0, 5]]);
    }

    #[test]
    fn no_way_no_path() {
        assert_no_way_no_path(k_shortest);
        assert!(first_of(&network(2, &[(0, 1)]), 0, &Metric::Hops).is_empty());
    }

    proptest! {
        #[test]
        fn these_are_the_first_k_of_all_paths(case in cases(), k in 1usize..12) {
            for (found, mut expected) in case.searched(k_shortest, k) {
                expected.truncate(k);
                prop_assert_eq!(found, expected.into_iter().map(|p| p.links).collect::<Vec<_>>());
            }
        }

        #[test]
        fn threads_make_no_difference(case in cases(), k in 1usize..9) {
            let pairs = all_pairs(&case.network).repeat(3);
            let metric = case.metric();
            let on = |threads| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| k_shortest(&case.network, &pairs, k, &metric, &|_| true).unwrap())
            };
            prop_assert_eq!(on(1), on(2));
        }
    }
}
