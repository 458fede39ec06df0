//! Hops between the hosts of neighbouring nodes, over which their agents communicate.

use std::collections::BTreeSet;

use anabranch_core::{LinkId, NodeId};
use anabranch_plan::Plan;

/// A hop: packets take a link in one direction, and its twin in the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// Node where the link begins.
    pub from: NodeId,
    /// Node where the link ends.
    pub to: NodeId,
    /// The link.
    pub link: LinkId,
}

/// The hops of a plan: one for each two nodes that a link of a path joins, over the first such link, in the order of
/// paths.
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
