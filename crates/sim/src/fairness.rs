//! Fair rates of the connections that are present, and the distance of granted rates from them.
//!
//! Fair means max-min where every connection has one path, and upward max-min otherwise, or proportional if the plan
//! says so. Upward max-min fair rates are not unique: a protocol may settle on other rates than those computed here. So
//! besides the error by connection there is the residual, which is 0 at any of them. Rates are computed anew only when
//! connections, capacities or usable paths have changed.
//!
//! A chain of loops shares as one connection from its first source to its last target: the path of the first loop goes
//! on over the links of the later loops. The fair rate of a later loop is the sum over the loops before it. If a later
//! loop is not present, or has no usable path, nothing gets through: then the rate is 0 once relays are full. A link
//! that a chain takes twice counts once, since the paths of a fair sharing have no loops: then rates over it are too
//! high.

use std::ops::Range;
use std::sync::Arc;

use anabranch_core::{ConnectionId, Time};
use anabranch_fair::{Problem, ProblemParts, Start, Stop, alpha_fair, certify, global_max_min, max_min, upward};
use anabranch_plan::Plan;

use crate::engine::Shards;
use crate::summary::Summary;

/// The relative tolerance of the fair rates.
const TOLERANCE: f64 = 1e-6;
/// The largest number of passes to compute them.
const PASSES: usize = 2000;

/// The share of its capacity that fair rates must load a link with for it to count as a bottleneck.
const BOTTLENECK: f64 = 1.0 - 1e-5;

/// The distance of granted rates from fair rates at an instant.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Gauge {
    /// The largest shortfall of a subflow from its best bottleneck (`anabranch_fair::certify`).
    pub residual: f64,
    /// The largest overload of a link relative to its capacity; 1 if the capacity is 0.
    pub overload: f64,
    /// The number of connections that are present and have a usable path.
    pub present: u32,
}

/// A way through the loops of a chain after the first: a subflow of each, among those of its connection.
type Way = Vec<(u32, Range<u32>)>;

/// The fair rates, and everything needed to compute them anew.
pub(crate) struct Fairness {
    is_single_path: bool,
    /// For each connection the connection of the next loop, if it ends at a relay.
    onward: Vec<Option<ConnectionId>>,
    /// The times in picoseconds at which capacities change, the latest first.
    changes: Vec<u64>,
    problem: Option<Arc<Problem>>,
    /// For each path of the problem the subflow that it stands for; for a way through a chain that of the first loop.
    subflows: Vec<u32>,
    /// For each path of the problem its way through the later loops of a chain; empty if there are no chains.
    onwards: Vec<Way>,
    rates: Vec<f64>,
    /// The loads of the links in use, in bit/s.
    loads: Vec<f64>,
}

impl Fairness {
    /// Prepares fair rates for a plan, without computing any.
    pub fn new(plan: &Plan) -> Self {
        let connections = 0..plan.transfers.len();
        let mut changes: Vec<u64> = plan.links.iter().flat_map(|l| &l.changes).map(|(time, _)| time.0).collect();
        changes.sort_unstable_by_key(|&time| std::cmp::Reverse(time));
        Self {
            is_single_path: connections.clone().all(|c| plan.paths.of(ConnectionId::new(c)).len() == 1),
            onward: plan.onward(),
            changes,
            problem: None,
            subflows: Vec::new(),
            onwards: Vec::new(),
            rates: vec![f64::NAN; connections.len()],
            loads: Vec::new(),
        }
    }

    /// The fair rates at the last update, in bit/s; NaN for connections that were not there.
    pub fn rates(&self) -> &[f64] {
        &self.rates
    }

    /// The loads of the links in use at the fair rates, in bit/s.
    pub fn loads(&self) -> &[f64] {
        &self.loads
    }

    /// Computes the fair rates anew if anything has changed.
    pub fn update(&mut self, shards: &mut Shards<'_, '_>) {
        let mut is_stale = shards.take_changes() || self.loads.is_empty();
        while self.changes.pop_if(|time| *time <= shards.now).is_some() {
            is_stale = true;
        }
        if is_stale {
            self.solve(shards);
        }
    }

    /// Measures the distance of the granted rates of subflows, in bit/s, from fair rates.
    pub fn gauge(&self, granted: &[f64]) -> Gauge {
        let Some(problem) = &self.problem else { return Gauge::default() };
        let part = |(s, all): &(u32, Range<u32>)| {
            let sum: f64 = all.clone().map(|s| granted[s as usize]).sum();
            if sum > 0.0 { granted[*s as usize] / sum } else { 1.0 / all.len() as f64 }
        };
        let parts = |way: usize| self.onwards.get(way).map_or(1.0, |way| way.iter().map(part).product());
        let rates: Vec<f64> =
            self.subflows.iter().enumerate().map(|(way, &s)| granted[s as usize] * parts(way)).collect();
        let certificate = certify(problem, &rates, TOLERANCE);
        Gauge {
            residual: certificate.residual,
            overload: if certificate.overload.is_finite() { certificate.overload } else { 1.0 },
            present: problem.connections() as u32,
        }
    }

    /// Summarises the errors of connections that are granted a rate, relative to their fair rates, and the errors of
    /// bottlenecks, relative to their capacities [mozo2012, sec. IV].
    pub fn errors(&self, shards: &Shards<'_, '_>, granted: &[f64]) -> [Summary; 2] {
        let of_connection = |(c, fair): (usize, &f64)| {
            let own = shards.routes.subflows[c] as usize..shards.routes.subflows[c + 1] as usize;
            let granted: f64 = granted[own].iter().sum();
            (*fair > 0.0 && granted > 0.0).then(|| granted / fair - 1.0)
        };
        let loads = shards.loads(granted);
        let of_link = |l: usize| {
            let capacity = shards.capacity(l);
            let is_bottleneck = self.loads[l] > 0.0 && self.loads[l] >= BOTTLENECK * capacity;
            is_bottleneck.then(|| loads[l] / capacity - 1.0)
        };
        [
            Summary::of(self.rates.iter().enumerate().filter_map(of_connection).collect()),
            Summary::of((0..self.loads.len()).filter_map(of_link).collect()),
        ]
    }

    fn solve(&mut self, shards: &Shards<'_, '_>) {
        self.rates.fill(f64::NAN);
        self.loads = vec![0.0; shards.routes.used.len()];
        let present = (0..self.rates.len()).filter(|&c| shards.is_present(c)).map(|c| c as u32);
        let (later, first): (Vec<u32>, Vec<u32>) = present.partition(|&c| has_present_input(shards, c));
        let own = |c: u32| shards.routes.subflows[c as usize]..shards.routes.subflows[c as usize + 1];
        let closed = closed(shards);
        let is_open = |s: &u32| closed.binary_search(s).is_err();
        let has_path = |c: u32| shards.is_present(c as usize) && own(c).any(|s| is_open(&s));
        let gets_through = |&c: &u32| has_path(c) && self.after(c).all(|next| has_path(next.0));
        let (through, stuck): (Vec<u32>, Vec<u32>) = first.into_iter().partition(gets_through);
        for c in stuck {
            self.rates[c as usize] = 0.0;
        }
        self.subflows = through.iter().flat_map(|&c| own(c)).filter(is_open).collect();
        self.go_on(shards, &through, &is_open);
        self.problem = (!through.is_empty()).then(|| Arc::new(self.problem(shards, &through)));
        if let Some(problem) = &self.problem {
            let Some((of_paths, of_connections)) = self.fair(problem, shards.plan.run.fairness) else { return };
            self.loads = problem.loads(&of_paths);
            for (&c, rate) in through.iter().zip(of_connections) {
                self.rates[c as usize] = rate;
            }
        }
        for c in later {
            self.rates[c as usize] = self.carried(shards.plan, c);
        }
    }

    /// Replaces each subflow of the first loop of a chain by one path for each way through the later loops.
    fn go_on(&mut self, shards: &Shards<'_, '_>, through: &[u32], is_open: &impl Fn(&u32) -> bool) {
        self.onwards.clear();
        if shards.plan.relays.is_empty() {
            return;
        }
        let own = |c: u32| shards.routes.subflows[c as usize]..shards.routes.subflows[c as usize + 1];
        let mut subflows = Vec::new();
        for &c in through {
            let mut ways = vec![Way::new()];
            for next in self.after(c) {
                let all = own(next.0);
                let longer = |way: &Way| {
                    let (way, of) = (way.clone(), all.clone());
                    let longer = move |s| way.iter().cloned().chain([(s, of.clone())]).collect::<Way>();
                    all.clone().filter(is_open).map(longer)
                };
                ways = ways.iter().flat_map(longer).collect();
            }
            for s in own(c).filter(is_open) {
                subflows.extend(ways.iter().map(|_| s));
                self.onwards.extend(ways.iter().cloned());
            }
        }
        self.subflows = subflows;
    }

    /// The loops after a connection, to the end of its chain.
    fn after(&self, c: u32) -> impl Iterator<Item = ConnectionId> + '_ {
        std::iter::successors(self.onward[c as usize], |next| self.onward[next.index()])
    }

    /// The fair rate of a connection, or the sum over the connections before it in its chain.
    fn carried(&self, plan: &Plan, c: u32) -> f64 {
        let own = self.rates[c as usize];
        let Some(relay) = plan.relay(ConnectionId(c)).filter(|_| own.is_nan()) else { return own };
        relay.inputs.iter().map(|(id, _)| self.carried(plan, id.0)).filter(|rate| !rate.is_nan()).sum()
    }

    /// The sharing among the connections that are first in their chains and get through, over the links in use.
    fn problem(&self, shards: &Shards<'_, '_>, through: &[u32]) -> Problem {
        let routes = shards.routes;
        let mut parts = ProblemParts { path_offsets: vec![0], ..ProblemParts::default() };
        parts.capacity = (0..routes.used.len()).map(|l| shards.capacity(l)).collect();
        let mut number = 0;
        for (way, &s) in self.subflows.iter().enumerate() {
            while !(routes.subflows[through[number] as usize]..routes.subflows[through[number] as usize + 1])
                .contains(&s)
            {
                number += 1;
            }
            parts.path_connection.push(number as u32);
            // Demands are given separately.
            let before = parts.path_links.len();
            let mut links = |s: usize| {
                for &link in routes.path(s).iter().filter(|&&l| !routes.is_of_demand(l)) {
                    if !parts.path_links[before..].contains(&link) {
                        parts.path_links.push(link);
                    }
                }
            };
            links(s as usize);
            self.onwards.get(way).into_iter().flatten().for_each(|&(next, _)| links(next as usize));
            parts.path_offsets.push(parts.path_links.len());
        }
        for &c in through {
            let id = ConnectionId(c);
            parts.demand.push(shards.connection(id.index()).demand());
            let connection = &shards.plan.demands.connections()[id.index()];
            parts.weight.push(connection.claim());
            parts.reserved.push(connection.reserved.0);
        }
        Problem::new(parts).expect("the scenario was checked")
    }

    /// Fair rates of paths and connections; `None` if numbers cannot hold the prices of proportional ones.
    fn fair(&self, problem: &Arc<Problem>, fairness: anabranch_plan::Fairness) -> Option<(Vec<f64>, Vec<f64>)> {
        if fairness == anabranch_plan::Fairness::Proportional {
            return alpha_fair(problem, 1.0).ok().map(|priced| (priced.path_rates, priced.connection_rates));
        }
        if problem.has_reserved() {
            let found = global_max_min(problem);
            return Some((found.path_rates, found.connection_rates));
        }
        let stop = Stop::Certificate(TOLERANCE);
        let allocation = if self.is_single_path {
            max_min(problem).expect("every connection has one path")
        } else {
            upward::upward_max_min(Arc::clone(problem), &Start::Equal, stop, PASSES).expect("equal portions can be")
        };
        Some((allocation.path_rates, allocation.connection_rates))
    }
}

/// Whether a connection sends the data of another connection that is present.
fn has_present_input(shards: &Shards<'_, '_>, c: u32) -> bool {
    let is_present = |(id, _): &(ConnectionId, _)| shards.is_present(id.index());
    shards.plan.relay(ConnectionId(c)).is_some_and(|relay| relay.inputs.iter().any(is_present))
}

/// The subflows whose paths are closed now, in increasing order.
fn closed(shards: &Shards<'_, '_>) -> Vec<u32> {
    let times = shards.plan.path_times.iter().filter(|own| !own.is_open(Time(shards.now)));
    times.map(|own| shards.routes.subflow(own)).collect()
}
