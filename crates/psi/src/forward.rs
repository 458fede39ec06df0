//! Forwarding by filters: the links that a packet takes, those of its path and those beside it.
//!
//! At each node the packet is copied to every link that matches, except the twin of the link it came by. Copies that a
//! false positive sends astray end where nothing matches. Loops end because a node forwards only the first copy that
//! arrives; it remembers recent packets, as LIPSIN's nodes do when their filter may loop [jokela2009]. Besides, no copy
//! takes more than [`MOST_HOPS`] links. Copies arrive in the order of the number of links that they took.
//!
//! No false positive prevents the delivery of a packet. Let v be a node of the path that has a copy, and w the next
//! node. Either v forwards the copy to w, or its first copy came by the twin of the link to w: then w already has one.
//! And since copies arrive in the order of their links, the copy at v has taken no more links than the path has up to
//! v.

use std::collections::HashSet;

use anabranch_core::{LinkId, Network, NodeId};

use crate::filter::{Filter, MOST_HOPS, Refusal};
use crate::identities::Identities;

/// A link that a copy of a packet takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// The link.
    pub link: LinkId,
    /// Index of the hop that brought the copy to the beginning of the link; none at the first node.
    pub after: Option<usize>,
    /// Number of links that the copy has taken, including this one.
    pub depth: usize,
    /// Whether the copy arrives at a node that had a copy before, and ends there.
    pub repeated: bool,
}

/// The tree of links that copies of one packet take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Journey {
    /// Node where the packet began.
    pub from: NodeId,
    /// The links, each after the link that brought the copy; no link occurs twice.
    pub hops: Vec<Hop>,
}

/// The links beside a path that copies of a packet take because of one false positive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branch {
    /// Node where the branch leaves the path.
    pub from: NodeId,
    /// The links of the branch: each begins at that node, or where an earlier link ends.
    pub links: Vec<LinkId>,
}

/// Returns the links that a packet with `filter` takes from node `from` on.
///
/// # Errors
/// Returns an error if the filter is too full, so that no node forwards it.
///
/// # Panics
/// If the node is not in the network, or the identities are those of another network.
pub fn forward(network: &Network, identities: &Identities, filter: &Filter, from: NodeId) -> Result<Journey, Refusal> {
    filter.check(identities)?;
    let mut hops = Vec::new();
    let mut seen = HashSet::from([from]);
    pass_on(network, identities, filter, from, None, &mut hops);
    let mut next = 0;
    while next < hops.len() {
        let Hop { link, depth, .. } = hops[next];
        let node = network.link(link).target;
        let is_first = seen.insert(node);
        hops[next].repeated = !is_first;
        if is_first && depth < MOST_HOPS {
            pass_on(network, identities, filter, node, Some((next, hops[next])), &mut hops);
        }
        next += 1;
    }
    Ok(Journey { from, hops })
}

/// Adds the links over which `node` forwards a copy that arrived by a hop, or began at the node.
fn pass_on(
    network: &Network,
    identities: &Identities,
    filter: &Filter,
    node: NodeId,
    came: Option<(usize, Hop)>,
    hops: &mut Vec<Hop>,
) {
    let back = came.and_then(|(_, hop)| network.link(hop.link).twin);
    let (after, depth) = came.map_or((None, 1), |(number, hop)| (Some(number), hop.depth + 1));
    let matching = network.links_from(node).iter().filter(|&&l| Some(l) != back && filter.matches(identities, l));
    hops.extend(matching.map(|&link| Hop { link, after, depth, repeated: false }));
}

impl Journey {
    /// Whether a copy reaches `node`.
    pub fn reaches(&self, network: &Network, node: NodeId) -> bool {
        node == self.from || self.hops.iter().any(|hop| network.link(hop.link).target == node)
    }

    /// The links of `path` that a copy takes, in their order: normally all of them.
    ///
    /// If a false positive is a shorter way, a node may receive its first copy from the next node on the path, and does
    /// not send it back there.
    pub fn along(&self, path: &[LinkId]) -> Vec<LinkId> {
        let taken: HashSet<LinkId> = self.hops.iter().map(|hop| hop.link).collect();
        path.iter().copied().filter(|link| taken.contains(link)).collect()
    }

    /// Number of links taken that are not on `path`.
    pub fn strays(&self, path: &[LinkId]) -> usize {
        self.hops.iter().filter(|hop| !path.contains(&hop.link)).count()
    }

    /// The links that are not on `path`, grouped by the node where they leave it, in the order of their first links.
    pub fn branches(&self, network: &Network, path: &[LinkId]) -> Vec<Branch> {
        let mut branches: Vec<Branch> = Vec::new();
        let mut branch_of: Vec<Option<usize>> = Vec::with_capacity(self.hops.len());
        for hop in &self.hops {
            if path.contains(&hop.link) {
                branch_of.push(None);
                continue;
            }
            let branch = hop.after.and_then(|before| branch_of[before]).unwrap_or_else(|| {
                branches.push(Branch { from: network.link(hop.link).source, links: Vec::new() });
                branches.len() - 1
            });
            branches[branch].links.push(hop.link);
            branch_of.push(Some(branch));
        }
        branches
    }
}

#[cfg(test)]
mod tests {
    use anabranch_core::{NetworkBuilder, Rate, Span};

    use super::*;
    use crate::identities::{IdentityParameters, Ones};

    /// Two-way links between nodes given by number: link 2 i leads from the first to the second, 2 i + 1 back.
    fn network(nodes: usize, ends: &[(usize, usize)]) -> Network {
        let mut builder = NetworkBuilder::new();
        let nodes: Vec<_> = (0..nodes).map(|n| builder.node(&n.to_string(), None).unwrap()).collect();
        for &(a, b) in ends {
            builder.two_way(None, nodes[a], nodes[b], Rate(1.0), Span(0)).unwrap();
        }
        builder.build()
    }

    /// Identities of one bit each, so that a filter matches just what is put in.
    fn exact(network: &Network) -> Identities {
        let own =
            IdentityParameters { ones: Ones::Growing, tables: 1, most_fill: 1.0, ..IdentityParameters::default() };
        Identities::new(network.links().len(), own).unwrap()
    }

    fn ids(links: &[u32]) -> Vec<LinkId> {
        links.iter().map(|&l| LinkId(l)).collect()
    }

    fn journey(network: &Network, links: &[u32], from: u32) -> Journey {
        let identities = exact(network);
        forward(network, &identities, &Filter::new(&identities, 0, &ids(links)), NodeId(from)).unwrap()
    }

    #[test]
    fn a_packet_takes_its_path_and_what_else_matches() {
        // 0 - 1 - 2 - 3 by links 0, 2, 4; at 1 a stray leaves to 4 and on to 5 and 6 (links 6, 8, 10); at 2 another
        // to 6 (12), where it comes as early as the first: after three links. So one of the two is a repeat.
        let network = network(7, &[(0, 1), (1, 2), (2, 3), (1, 4), (4, 5), (4, 6), (2, 6)]);
        let path = ids(&[0, 2, 4]);
        let journey = journey(&network, &[0, 2, 4, 6, 8, 10, 12], 0);
        assert_eq!(journey.along(&path), path);
        assert_eq!(journey.strays(&path), 4);
        let branch = |from, links| Branch { from: NodeId(from), links: ids(links) };
        assert_eq!(journey.branches(&network, &path), [branch(1, &[6, 8, 10]), branch(2, &[12])]);
        assert_eq!(journey.hops.iter().filter(|hop| hop.repeated).count(), 1);
    }

    #[test]
    fn nothing_goes_back_by_the_twin_of_the_link_it_came_by() {
        // 0 - 1 - 2 with both directions in the filter: the ways back match, and are not taken.
        let network = network(3, &[(0, 1), (1, 2)]);
        let journey = journey(&network, &[0, 1, 2, 3], 0);
        assert_eq!(journey.strays(&ids(&[0, 2])), 0);
    }

    #[test]
    fn a_loop_ends_where_it_began() {
        // 0 -> 1, and a circle 1 -> 2 -> 3 -> 1 that matches all the way: the copy that comes back to 1 ends there.
        let network = network(4, &[(0, 1), (1, 2), (2, 3), (3, 1)]);
        let journey = journey(&network, &[0, 2, 4, 6], 0);
        assert_eq!(journey.hops.iter().map(|hop| hop.link.0).collect::<Vec<_>>(), [0, 2, 4, 6]);
        assert!(journey.hops[3].repeated);
    }

    #[test]
    fn a_short_cut_by_a_false_positive_still_delivers() {
        // The path is 0 - 1 - 2 - 3 - 4 (links 0 2 4 6); 0 - 3 (link 8) and 3 -> 2 (link 5) match too. Copies come to 3
        // after one link and to 2, from there and from 1, after two; 2 passes on what came first, by 1 (link 2).
        let network = network(5, &[(0, 1), (1, 2), (2, 3), (3, 4), (0, 3)]);
        let path = ids(&[0, 2, 4, 6]);
        let journey = journey(&network, &[0, 2, 4, 6, 8, 5], 0);
        assert!((1..5).all(|n| journey.reaches(&network, NodeId(n))));
        assert_eq!(journey.along(&path), path);
        assert_eq!(journey.strays(&path), 2);
    }

    #[test]
    fn no_copy_takes_more_than_255_links() {
        // Links of one bit of eight each. Those of seven bits are a chain, which the filter matches all along; those of
        // the eighth lie elsewhere, so that the filter is not all ones.
        let own = IdentityParameters { bits: 8, ones: Ones::Each(1), tables: 1, most_fill: 1.0, seed: 3 };
        let identities = Identities::new(400, own).unwrap();
        let mut builder = NetworkBuilder::new();
        let nodes: Vec<_> = (0..500).map(|n| builder.node(&n.to_string(), None).unwrap()).collect();
        let mut chain = Vec::new();
        for link in (0..400).map(LinkId) {
            let is_elsewhere = identities.of(0, link) == identities.of(0, LinkId(0));
            let (from, to) = if is_elsewhere { (498, 499) } else { (chain.len(), chain.len() + 1) };
            chain.extend((!is_elsewhere).then_some(link));
            builder.link(None, nodes[from], nodes[to], Rate(1.0), Span(0)).unwrap();
        }
        assert!(chain.len() > MOST_HOPS);
        let filter = Filter::new(&identities, 0, &chain);
        let journey = forward(&builder.build(), &identities, &filter, NodeId(0)).unwrap();
        assert_eq!(journey.hops.len(), MOST_HOPS);
    }

    #[test]
    fn too_full_filters_and_all_ones_are_refused() {
        let network = network(2, &[(0, 1); 64]);
        let own = IdentityParameters { bits: 128, ones: Ones::Growing, tables: 1, ..IdentityParameters::default() };
        let all: Vec<LinkId> = (0..128).map(LinkId).collect();
        let refusal = |links: usize, most_fill| {
            let identities = Identities::new(128, IdentityParameters { most_fill, ..own }).unwrap();
            forward(&network, &identities, &Filter::new(&identities, 0, &all[..links]), NodeId(0)).err()
        };
        // 89 of 128 bits are 0.695 and 90 are 0.703.
        assert_eq!(refusal(89, 0.7), None);
        assert_eq!(refusal(90, 0.7), Some(Refusal::TooFull { fill: 90.0 / 128.0, most: 0.7 }));
        assert_eq!(refusal(127, 1.0), None);
        assert_eq!(refusal(128, 1.0), Some(Refusal::AllOnes));
    }
}
