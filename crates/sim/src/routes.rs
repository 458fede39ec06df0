//! The paths of all subflows as one array of steps, so that a packet need only know its place in it.
//!
//! Some protocols learn of demands only as they learn of capacities. The path of a connection with a demand under such
//! a protocol begins with an additional link. It has the demand as its capacity, and no packet waits there.
//!
//! Where nodes forward by filters, the links that copies take beside the paths have places behind the paths
//! (`strays.rs`).
//!
//! Links are numbered anew, without those that no packet takes there or back: of millions of hosts, most have nothing
//! to send.

use std::ops::Range;

use anabranch_core::{ConnectionId, LinkId};
use anabranch_plan::{PathTime, Plan};
use anabranch_proto::protocols::Demands;

use crate::strays::{Strays, Tree, trees};

/// The step that separates paths.
pub const END: u32 = u32::MAX;

/// The paths of all subflows.
#[derive(Clone, Debug)]
pub struct Routes {
    /// The links of the network that are in use, in its order.
    pub used: Vec<LinkId>,
    /// The links of each path with an [`END`] before and after, then each stray with an [`END`] behind it.
    pub steps: Vec<u32>,
    /// For each subflow the place of its first link.
    pub first: Vec<u32>,
    /// For each subflow the place of the first link of its way back; [`END`] for one not under a window protocol.
    pub back: Vec<u32>,
    /// The subflows of connection c: `subflows[c]..subflows[c + 1]`.
    pub subflows: Vec<u32>,
    /// For each link its twin, those of demands included; [`END`] for a link without one.
    pub twins: Vec<u32>,
    /// For each link of a demand, and for its twin, the connection. Their numbers follow those of the links in use.
    pub demands: Vec<u32>,
    /// The places where copies of packets leave the paths.
    pub strays: Strays,
}

/// The numbers of the links in use.
struct Numbers {
    used: Vec<LinkId>,
    /// For each link of the network its new number; [`END`] if it is not in use.
    of: Vec<u32>,
}

impl Numbers {
    fn new(plan: &Plan, trees: &[[Tree; 2]]) -> Self {
        let links = plan.network.links();
        let mut is_used = vec![false; links.len()];
        for path in (0..plan.paths.len()).map(|p| plan.paths.path(p)) {
            for link in path {
                is_used[link.index()] = true;
                if let Some(twin) = links[link.index()].twin {
                    is_used[twin.index()] = true;
                }
            }
        }
        for stray in trees.iter().flatten().flatten() {
            is_used[stray.link.index()] = true;
        }
        let used: Vec<LinkId> = (0..links.len()).filter(|&l| is_used[l]).map(LinkId::new).collect();
        let mut of = vec![END; links.len()];
        for (number, link) in used.iter().enumerate() {
            of[link.index()] = number as u32;
        }
        Self { used, of }
    }
}

impl Routes {
    /// Finds the routes of a plan.
    pub fn new(plan: &Plan) -> Self {
        let links = plan.network.links();
        let trees = trees(plan);
        let numbers = Numbers::new(plan, &trees);
        let twin = |link: &LinkId| links[link.index()].twin.map_or(END, |twin| numbers.of[twin.index()]);
        let mut routes = Self {
            steps: vec![END],
            first: Vec::with_capacity(plan.paths.len()),
            back: Vec::with_capacity(plan.paths.len()),
            subflows: vec![0],
            twins: numbers.used.iter().map(twin).collect(),
            demands: Vec::new(),
            used: numbers.used.clone(),
            strays: Strays::default(),
        };
        for (c, connection) in plan.demands.connections().iter().enumerate() {
            let protocol = &plan.protocols[plan.transfers[c].protocol];
            let is_apart = connection.demand.is_some() && protocol.capabilities().demands == Demands::AsLinks;
            let own = is_apart.then(|| routes.add_demand(c));
            for path in plan.paths.of(ConnectionId::new(c)) {
                let path = path.iter().map(|l| numbers.of[l.index()]);
                let back = protocol.capabilities().keeps_windows().then(|| routes.add_way_back(path.clone()));
                routes.add_path(own, path);
                routes.back.push(back.unwrap_or(END));
            }
            routes.subflows.push(routes.first.len() as u32);
        }
        routes.add_strays(&trees, &numbers);
        routes
    }

    fn add_strays(&mut self, trees: &[[Tree; 2]], numbers: &Numbers) {
        let mut steps = std::mem::take(&mut self.steps);
        // No copy leaves the link of a demand.
        let first = |&place: &u32| place + u32::from(self.is_of_demand(steps[place as usize]));
        let starts: Vec<[u32; 2]> = self.first.iter().map(first).zip(&self.back).map(|(a, &b)| [a, b]).collect();
        self.strays = Strays::new(trees, starts.into_iter(), |link| numbers.of[link.index()], &mut steps);
        self.steps = steps;
    }

    /// The links of the network that packets of a subflow take: the links of its path, and strays.
    pub fn links_of<'a>(&'a self, plan: &'a Plan, subflow: usize) -> impl Iterator<Item = LinkId> + 'a {
        let strays = self.strays.of(subflow).map(|place| self.used[self.steps[place as usize] as usize]);
        plan.paths.path(subflow).iter().copied().chain(strays)
    }

    /// The number of the subflow over a path that opens or closes at set times.
    pub fn subflow(&self, path: &PathTime) -> u32 {
        self.subflows[path.connection.index()] + path.path as u32
    }

    /// The numbers of a connection's subflows.
    #[inline]
    pub fn subflows_of(&self, connection: u32) -> Range<usize> {
        let c = connection as usize;
        self.subflows[c] as usize..self.subflows[c + 1] as usize
    }

    /// The link of the demand of a connection, if it has one.
    pub fn demand_link(&self, connection: usize) -> Option<u32> {
        let first = self.subflows[connection] as usize;
        let link = self.steps[self.first[first] as usize];
        self.is_of_demand(link).then_some(link)
    }

    /// Whether a link stands for a demand, and is none of the network.
    #[inline]
    pub fn is_of_demand(&self, link: u32) -> bool {
        link as usize >= self.used.len()
    }

    fn add_demand(&mut self, connection: usize) -> u32 {
        let link = self.twins.len() as u32;
        self.twins.extend([link + 1, link]);
        self.demands.extend([connection as u32; 2]);
        link
    }

    /// Adds the twins of a path's links, from the last to the first; gives the place of the first twin.
    fn add_way_back(&mut self, path: impl DoubleEndedIterator<Item = u32>) -> u32 {
        let first = u32::try_from(self.steps.len()).expect("fewer than 2^32 steps");
        let twins = &self.twins;
        self.steps.extend(path.rev().map(|link| twins[link as usize]));
        self.steps.push(END);
        first
    }

    fn add_path(&mut self, own: Option<u32>, path: impl Iterator<Item = u32>) {
        self.first.push(u32::try_from(self.steps.len()).expect("fewer than 2^32 steps"));
        self.steps.extend(own);
        self.steps.extend(path);
        self.steps.push(END);
    }

    /// The links of a subflow's path, in order.
    pub fn path(&self, subflow: usize) -> &[u32] {
        let from = &self.steps[self.first[subflow] as usize..];
        let length = from.iter().position(|&s| s == END).expect("every path ends");
        &from[..length]
    }
}
