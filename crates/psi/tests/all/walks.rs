//! Random graphs of 200 nodes and paths of a given length on them.

use anabranch_core::generate::{DelayRule, LinkKind, LinkRule, WaxmanParameters, random_regular, waxman};
use anabranch_core::{LinkId, Network, NodeId, Rate, Span};
use rand::{Rng, RngExt};

pub const NODES: usize = 200;

/// A random graph: every node with six neighbours, or by Waxman's rule, in turns.
pub fn graph(seed: u64) -> Network {
    let (capacity, delay) = (Rate(1e9), Span(0));
    if seed.is_multiple_of(2) {
        return random_regular(NODES, 6, LinkKind { capacity, delay }, seed).unwrap();
    }
    let link = LinkRule { capacity, delay: DelayRule::Fixed(delay) };
    waxman(&WaxmanParameters { nodes: NODES, alpha: 0.4, beta: 0.1, link }, seed).unwrap()
}

/// A path of so many links that never comes to a node twice, from a node drawn at random on.
pub fn walk(network: &Network, links: usize, rng: &mut impl Rng) -> Vec<LinkId> {
    loop {
        let mut seen = vec![false; network.nodes().len()];
        let mut at = NodeId::new(rng.random_range(0..network.nodes().len()));
        seen[at.index()] = true;
        let mut path = Vec::new();
        while path.len() < links {
            let free = |l: &&LinkId| !seen[network.link(**l).target.index()];
            let next: Vec<LinkId> = network.links_from(at).iter().filter(free).copied().collect();
            if next.is_empty() {
                break;
            }
            let link = next[rng.random_range(0..next.len())];
            path.push(link);
            at = network.link(link).target;
            seen[at.index()] = true;
        }
        if path.len() == links {
            return path;
        }
    }
}
