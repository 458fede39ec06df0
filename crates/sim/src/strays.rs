//! Strays: links beside its path that copies of a packet take, where nodes forward by filters.
//!
//! Which these are is known beforehand, as `anabranch_psi::forward` says: for each path, and each way back, a tree of
//! links that hangs on the path. A copy leaves the path for each stray there, takes its place in queues, may be dropped
//! there, and at the far end leaves copies for the strays that follow. It is delivered nowhere.
//!
//! Which of several copies is the first at a node, and the only one that is passed on, is taken from how many links they
//! took, and not from how long they waited. And the packet itself keeps to its path, also where a copy is a short cut and
//! comes to a node of the path before it. So each stray is taken once for each packet that comes to where it leaves the
//! path, and what is lost on the path arrives by no detour.
//!
//! Control packets go by no filters, and neither do data packets with headers.

use anabranch_core::LinkId;
use anabranch_plan::{Filters, Plan, way_back};
use anabranch_psi::{Filter, forward};

use crate::packet::{DataPacket, NO_COPIES, Role};
use crate::routes::END;
use crate::world::World;

/// Where copies leave the paths of packets, by places in `Routes::steps`; nothing if packets go by no filters.
#[derive(Clone, Debug, Default)]
pub struct Strays {
    /// At place p copies leave for `places[first[p]..first[p + 1]]`, where each has one link.
    first: Vec<u32>,
    places: Vec<u32>,
    /// The places of subflow s: from `own[s]` to `own[s + 1]`, two for each stray.
    own: Vec<u32>,
}

/// Strays of one path, or one way back; each leaves the path, or another before it.
pub(crate) type Tree = Vec<Stray>;

/// A link beside a path, and where it leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stray {
    pub link: LinkId,
    after: After,
}

/// Where a stray begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum After {
    /// On the path, when so many of its links have been taken.
    Links(usize),
    /// At the end of the stray of this number.
    Stray(usize),
}

/// For each path its strays, and those of its way back; nothing if packets go by no filters.
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
    /// Gives strays places behind the `steps` there are: of each a link and an end.
    ///
    /// `starts` are the places where the path of each subflow and its way back begin; `number` gives links numbers.
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

    /// The strays that leave a place, by their own places.
    fn at(&self, place: u32) -> &[u32] {
        let place = place as usize;
        let Some(&[from, to]) = self.first.get(place..place + 2) else { return &[] };
        &self.places[from as usize..to as usize]
    }

    /// The places of a subflow's strays, those of its way back included.
    pub fn of(&self, subflow: usize) -> impl Iterator<Item = u32> {
        let own = self.own.get(subflow..subflow + 2).map_or(0..0, |own| own[0]..own[1]);
        own.step_by(2)
    }
}

impl World<'_> {
    /// Copies of a packet leave the place where it is.
    pub(crate) fn go_astray(&mut self, index: u32) {
        let routes = self.routes;
        for &at in routes.strays.at(self.packets[index].at) {
            let copy = DataPacket { at, role: Role::Stray, copies: NO_COPIES, ..self.packets[index] };
            let copy = self.packets.insert(copy);
            self.enter(routes.steps[at as usize], copy);
        }
    }

    /// A packet is at the end of its path, where copies of it may still leave; says whether it was one itself, which is
    /// gone then.
    #[cold]
    pub(crate) fn ends_astray(&mut self, index: u32) -> bool {
        self.go_astray(index);
        let is_stray = self.packets[index].role == Role::Stray;
        if is_stray {
            self.packets.remove(index);
        }
        is_stray
    }

    /// Counts a stray that a copy has entered.
    pub(crate) fn count_stray(&mut self, subflow: u32) {
        self.strays[subflow as usize] += 1;
    }
}
