//! Groups of paths that may have a bottleneck in common; a congestion control couples the paths of one group.
//!
//! Two paths are adjacent if they share a directed link. A group is a connected component of that graph: if A and B
//! share a link, and B and C another, all three are one group, though A and C share none [thomas2016, sec. IV-A]. For
//! each link the search joins all paths that use it, which takes time in proportion to the links of all paths.
//!
//! differs: the definition of the paper speaks of links, its prose of links and routers. Here only links count unless
//! [`Sharing::Nodes`] asks for both. The paper counts every link; here some may be excluded, such as the access link of
//! a receiver that is known not to be a bottleneck.

use crate::id::{ConnectionId, LinkId};
use crate::network::Network;
use crate::union_find::UnionFind;

use super::Paths;

/// The elements that two paths of one group share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sharing {
    /// A directed link.
    #[default]
    Links,
    /// A directed link, or a node that both pass through.
    ///
    /// A path passes through a node if it enters the node by one link and leaves it by another, neither of them
    /// excluded. So the ends of a path do not count: all paths of a connection have these in common.
    Nodes,
}

/// A search for the groups of several sets of paths, one after the other; it reuses arrays of the size of the network.
#[derive(Clone, Debug)]
pub struct GroupSearch {
    sharing: Sharing,
    left_out: Vec<bool>,
    /// The node where each link ends.
    target: Vec<u32>,
    /// For each link, and then for each node, the last search that met it and the first path that used it there.
    holders: Vec<(u32, u32)>,
    search: u32,
    /// The paths of this search, joined into groups.
    joined: UnionFind,
}

impl GroupSearch {
    /// A search on `network`, in which the links `without` do not count as shared.
    ///
    /// # Panics
    /// If a link of `without` is not in the network.
    pub fn new(network: &Network, sharing: Sharing, without: &[LinkId]) -> Self {
        let links = network.links().len();
        let mut left_out = vec![false; links];
        for link in without {
            left_out[link.index()] = true;
        }
        let target = network.links().iter().map(|link| link.target.0).collect();
        let holders = vec![(0, 0); links + network.nodes().len()];
        Self { sharing, left_out, target, holders, search: 0, joined: UnionFind::default() }
    }

    /// The group of each path; groups are numbered from 0 in the order of their first paths.
    ///
    /// # Panics
    /// If a path has a link that is not in the network.
    pub fn groups<'a>(&mut self, paths: impl IntoIterator<Item = &'a [LinkId]>) -> Vec<u32> {
        self.begin();
        for path in paths {
            let number = self.joined.add();
            self.add(number, path);
        }
        self.joined.sets()
    }

    /// Clears the paths of the previous search.
    fn begin(&mut self) {
        self.joined.clear();
        if self.search == u32::MAX {
            self.holders.fill((0, 0));
            self.search = 0;
        }
        self.search += 1;
    }

    /// Joins a path with all paths that share a link or node with it.
    fn add(&mut self, number: u32, path: &[LinkId]) {
        let mut comes_by_counted = false;
        let mut at = 0;
        for &link in path {
            let counts = !self.left_out[link.index()];
            if counts {
                self.hold(link.index(), number);
                if comes_by_counted && self.sharing == Sharing::Nodes {
                    self.hold(self.left_out.len() + at as usize, number);
                }
            }
            comes_by_counted = counts;
            at = self.target[link.index()];
        }
    }

    /// Joins a path with the first path that used the link or node at `place`.
    fn hold(&mut self, place: usize, number: u32) {
        let (search, first) = self.holders[place];
        if search == self.search {
            self.joined.join(first, number);
        } else {
            self.holders[place] = (self.search, number);
        }
    }
}

/// The group of every path, numbered from 0 separately for each connection.
///
/// # Panics
/// If a path or `without` has a link that is not in the network.
pub fn groups(network: &Network, paths: &Paths, sharing: Sharing, without: &[LinkId]) -> Vec<u32> {
    let mut search = GroupSearch::new(network, sharing, without);
    (0..paths.connections()).flat_map(|c| search.groups(paths.of(ConnectionId::new(c)))).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::network::NetworkBuilder;
    use crate::units::{Rate, Span};

    /// One-way links between nodes given by number.
    fn network(nodes: usize, ends: &[(usize, usize)]) -> Network {
        let mut builder = NetworkBuilder::new();
        let nodes: Vec<_> = (0..nodes).map(|n| builder.node(&n.to_string(), None).unwrap()).collect();
        for &(a, b) in ends {
            builder.link(None, nodes[a], nodes[b], Rate(1.0), Span(0)).unwrap();
        }
        builder.build()
    }

    fn of(network: &Network, paths: &[&[u32]], sharing: Sharing, without: &[u32]) -> Vec<u32> {
        let ids = |links: &[u32]| links.iter().map(|&l| LinkId(l)).collect::<Vec<_>>();
        let paths: Vec<_> = paths.iter().map(|path| ids(path)).collect();
        GroupSearch::new(network, sharing, &ids(without)).groups(paths.iter().map(Vec::as_slice))
    }

    #[test]
    fn paths_that_share_links_in_a_chain_are_one_group() {
        // Links a b c d e as 0 to 4, paths {a, b}, {b, c}, {c, d}, {e}: the first three hang together.
        let network = network(2, &[(0, 1); 5]);
        let paths: [&[u32]; 4] = [&[0, 1], &[1, 2], &[2, 3], &[4]];
        assert_eq!(of(&network, &paths, Sharing::Links, &[]), [0, 0, 0, 1]);
    }

    #[test]
    fn the_three_cases_of_figure_1_of_the_paper() {
        // Disjoint; A and B share a link; A and B share one and B and C another.
        let network = network(2, &[(0, 1); 5]);
        assert_eq!(of(&network, &[&[0], &[1], &[2]], Sharing::Links, &[]), [0, 1, 2]);
        assert_eq!(of(&network, &[&[0, 1], &[1, 2], &[3]], Sharing::Links, &[]), [0, 0, 1]);
        assert_eq!(of(&network, &[&[0, 1], &[1, 2], &[2, 3]], Sharing::Links, &[]), [0, 0, 0]);
    }

    #[test]
    fn groups_are_numbered_by_their_first_paths() {
        // A late path joins the second and the third: what was 1 and 2 becomes 1, and the fourth moves up to 2.
        let network = network(2, &[(0, 1); 4]);
        assert_eq!(of(&network, &[&[0], &[1], &[2], &[3], &[1, 2]], Sharing::Links, &[]), [0, 1, 1, 2, 1]);
    }

    #[test]
    fn opposite_links_are_not_shared() {
        let network = network(2, &[(0, 1), (1, 0)]);
        assert_eq!(of(&network, &[&[0], &[1]], Sharing::Links, &[]), [0, 1]);
    }

    #[test]
    fn nodes_count_where_paths_pass_through_them() {
        // 0 - 2 - 1 twice by parallel links, so that only node 2 is shared; and 0 - 1 directly, which passes nothing.
        let network = network(3, &[(0, 2), (2, 1), (0, 2), (2, 1), (0, 1)]);
        let paths: [&[u32]; 3] = [&[0, 1], &[2, 3], &[4]];
        assert_eq!(of(&network, &paths, Sharing::Links, &[]), [0, 1, 2]);
        assert_eq!(of(&network, &paths, Sharing::Nodes, &[]), [0, 0, 1]);
    }

    #[test]
    fn a_node_that_one_passes_and_another_ends_at_is_not_shared() {
        // From 0 over 1 to 2, and from 1 to 2 by another link: two publishers, one behind the other.
        let network = network(3, &[(0, 1), (1, 2), (1, 2)]);
        assert_eq!(of(&network, &[&[0, 1], &[2]], Sharing::Nodes, &[]), [0, 1]);
    }

    #[test]
    fn what_is_left_out_takes_its_nodes_with_it() {
        // A host behind switch 1: 0 - 1, then 1 - 2 - 4 and 1 - 3 - 4. Without the host's link nothing is shared, not
        // even the switch.
        let network = network(5, &[(0, 1), (1, 2), (2, 4), (1, 3), (3, 4)]);
        let paths: [&[u32]; 2] = [&[0, 1, 2], &[0, 3, 4]];
        for sharing in [Sharing::Links, Sharing::Nodes] {
            assert_eq!(of(&network, &paths, sharing, &[]), [0, 0]);
            assert_eq!(of(&network, &paths, sharing, &[0]), [0, 1]);
        }
    }

    #[test]
    fn connections_are_numbered_apart() {
        let network = network(2, &[(0, 1); 3]);
        let mut paths = Paths::new();
        paths.push_connection([[LinkId(0)], [LinkId(1)]]);
        paths.push_connection::<[LinkId; 0]>([]);
        paths.push_connection([[LinkId(1)], [LinkId(2)], [LinkId(1)]]);
        assert_eq!(groups(&network, &paths, Sharing::Links, &[]), [0, 1, 0, 1, 0]);
    }

    /// Groups by their definition: numbers spread along shared links until nothing changes.
    fn by_spreading(paths: &[Vec<LinkId>]) -> Vec<u32> {
        let mut least: Vec<usize> = (0..paths.len()).collect();
        loop {
            let before = least.clone();
            for a in 0..paths.len() {
                for b in 0..paths.len() {
                    if paths[a].iter().any(|link| paths[b].contains(link)) {
                        least[a] = least[a].min(least[b]);
                    }
                }
            }
            if least == before {
                break;
            }
        }
        let mut firsts = least.clone();
        firsts.sort_unstable();
        firsts.dedup();
        least.iter().map(|first| firsts.binary_search(first).unwrap() as u32).collect()
    }

    proptest! {
        #[test]
        fn groups_are_the_connected_parts(
            sets in prop::collection::vec(prop::collection::vec(prop::collection::vec(0u32..24, 0..4), 0..12), 1..4),
        ) {
            let network = network(2, &[(0, 1); 24]);
            let mut search = GroupSearch::new(&network, Sharing::Links, &[]);
            // One search after the other, so that nothing is left over from the one before.
            for set in sets {
                let paths: Vec<Vec<LinkId>> = set.iter().map(|p| p.iter().map(|&l| LinkId(l)).collect()).collect();
                prop_assert_eq!(search.groups(paths.iter().map(Vec::as_slice)), by_spreading(&paths));
            }
        }
    }
}
