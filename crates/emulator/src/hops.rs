//! Hops: between the hosts of two nodes that are next to each other, for what agents say to each other.

use std::collections::BTreeSet;

use anabranch_core::{LinkId, NodeId};
use anabranch_plan::Plan;

/// A hop: packets go over a link there, and over its twin back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// Where the link begins.
    pub from: NodeId,
    /// Where it ends.
    pub to: NodeId,
    /// The link.
    pub link: LinkId,
}

/// A hop between each two nodes that a link of a path joins, over the first such link, in the order of paths.
pub fn hops(plan: &Plan) -> Vec<Hop> {
    let mut known = BTreeSet::new();
    let links = (0..plan.paths.len()).flat_map(|path| plan.paths.path(path));
    let hop = |&id: &LinkId| {
        let link = plan.network.link(id);
        let (from, to) = (link.source, link.target);
        known.insert((from.min(to), from.max(to))).then_some(Hop { from, to, link: id })
    };
    links.filter_map(hop).collect()
}
