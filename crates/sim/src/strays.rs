//! Strays: links beside its path that copies of a packet take, where nodes forward by filters.
//!
//! The strays are known before the run (`anabranch_psi::forward`): for each path, and each way back, a tree of links
//! that hangs on the path. For each stray a copy leaves the path. It takes its place in queues, may be dropped there,
//! and at the far end it leaves copies for the strays that follow. It is delivered nowhere.
//!
//! A node passes on only the first of several copies. The first is the copy that took the fewest links, whatever the
//! waits were. The packet itself keeps to its path, also where a copy takes a short cut and reaches a node of the path
//! earlier. So each packet takes a stray once if it reaches the place where the stray leaves the path, and a packet
//! that is lost on the path arrives by no detour.
//!
//! Nodes forward neither control packets nor data packets with headers by filters.

use anabranch_core::LinkId;
use anabranch_plan::{Filters, Plan, way_back};
use anabranch_psi::{Filter, forward};

use crate::routes::END;

/// The places in `Routes::steps` where copies leave the paths of packets; empty if nodes forward by no filters.
#[derive(Clone, Debug, Default)]
pub struct Strays {
    /// Copies leave place p for `places[first[p]..first[p + 1]]`, which have one link each.
    first: Vec<u32>,
    places: Vec<u32>,
    /// Subflow s has the places from `own[s]` to `own[s + 1]`, two for each stray.
    own: Vec<u32>,
}

/// The strays of one path, or of one way back; each leaves the path or an earlier stray.
pub(crate) type Tree = Vec<Stray>;

/// A link beside a path, and the place where it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stray {
    pub link: LinkId,
    after: After,
}

/// The place where a stray begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum After {
    /// On the path, behind this number of its links.
    Links(usize),
    /// At the end of the stray of this number.
    Stray(usize),
}

/// For each path its strays and the strays of its way back; empty if nodes forward by no filters.
pub(crate) fn trees(plan: &Plan) -> Vec<[Tree; 2]> {
    let Some(Filters { identities, there, back }) = &plan.filters else { return Vec::new() };
    let network = &plan.network;
    let tree = |filter: &Filter, path: &[LinkId]| {
        let journey = forward(network, identities, filter, network.link(path[0]).source);
        let hops = journey.expect("a plan has filters that nodes forward").hops;
        let mut ends = Vec::with_capacity(hops.len());
        let mut tree = Tree::new();
        for hop in hops {
            let after = hop.after.map_or(After::Links(0), |before| ends[before]);
            if let Some(place) = path.iter().position(|&link| link == hop.link) {
                ends.push(After::Links(place + 1));
            } else {
                ends.push(After::Stray(tree.len()));
                tree.push(Stray { link: hop.link, after });
            }
        }
        tree
    };
    let both = |p: usize| {
        let path = plan.paths.path(p);
        let reversed = back[p].as_ref().map(|filter| tree(filter, &way_back(network, path)));
        [tree(&there[p], path), reversed.unwrap_or_default()]
    };
    (0..plan.paths.len()).map(both).collect()
}

impl Strays {
    /// Gives strays places at the end of `steps`, each a link and an end.
    ///
    /// `starts` gives the places where the path of each subflow and its way back begin; `number` gives the numbers of
    /// links.
    pub(crate) fn new(
        trees: &[[Tree; 2]],
        starts: impl Iterator<Item = [u32; 2]>,
        number: impl Fn(LinkId) -> u32,
        steps: &mut Vec<u32>,
    ) -> Self {
        if trees.is_empty() {
            return Self::default();
        }
        let place = |steps: &Vec<u32>| u32::try_from(steps.len()).expect("fewer than 2^32 steps");
        let mut own = vec![place(steps)];
        // For each stray the place that it leaves, and its own.
        let mut leaving = Vec::new();
        for (both, starts) in trees.iter().zip(starts) {
            for (tree, start) in both.iter().zip(starts) {
                let first = place(steps);
                leaving.extend((first..).step_by(2).zip(tree).map(|(place, stray)| match stray.after {
                    After::Links(links) => (start + links as u32, place),
                    After::Stray(before) => (first + 2 * before as u32 + 1, place),
                }));
                steps.extend(tree.iter().flat_map(|stray| [number(stray.link), END]));
            }
            own.push(place(steps));
        }
        leaving.sort_unstable();
        let mut first = vec![0; steps.len() + 1];
        for &(from, _) in &leaving {
            first[from as usize + 1] += 1;
        }
        for p in 1..first.len() {
            first[p] += first[p - 1];
        }
        Self { first, places: leaving.into_iter().map(|(_, place)| place).collect(), own }
    }

    /// The places of the strays that leave a place.
    pub fn at(&self, place: u32) -> &[u32] {
        let place = place as usize;
        let Some(&[from, to]) = self.first.get(place..place + 2) else { return &[] };
        &self.places[from as usize..to as usize]
    }

    /// The places of a subflow's strays, including the strays of its way back.
    pub fn of(&self, subflow: usize) -> impl Iterator<Item = u32> {
        let own = self.own.get(subflow..subflow + 2).map_or(0..0, |own| own[0]..own[1]);
        own.step_by(2)
    }
}
