//! The ideal beside the real: fair rates of the connections that are there, and how far granted rates are from them.
//!
//! Fair means max-min where every connection has one path, and upward max-min otherwise. Upward max-min fair rates are
//! not unique: a protocol may settle on others than those computed here. So besides the error by connection there is the
//! residual, which is 0 at any of them. Rates are computed anew only when connections or capacities have changed.

use std::sync::Arc;

use anabranch_core::{ConnectionId, Time};
use anabranch_fair::{Problem, ProblemParts, Start, Stop, certify, max_min, upward};
use anabranch_scenario::plan::Plan;

use crate::world::World;

/// To this relative tolerance the fair rates are fair.
const TOLERANCE: f64 = 1e-6;
/// The most passes spent on them.
const PASSES: usize = 2000;
/// Paths with a lesser share of their connection count as carrying nothing.
const SHARE: f64 = 1e-3;

/// How far granted rates are from fair at an instant.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Gauge {
    /// The largest shortfall of a subflow from its best bottleneck, see `anabranch_fair::certify`.
    pub residual: f64,
    /// The largest overload of a link relative to its capacity; 1 if there is no capacity at all to compare with.
    pub overload: f64,
    /// Connections present.
    pub present: u32,
}

/// What is needed to tell.
pub(crate) struct Fairness {
    is_single_path: bool,
    /// When capacities change, the latest first.
    changes: Vec<u64>,
    is_stale: bool,
    problem: Option<Arc<Problem>>,
    /// Subflows that the paths of the problem stand for.
    subflows: Vec<u32>,
    rates: Vec<f64>,
    loads: Vec<f64>,
}

impl Fairness {
    /// Nothing computed yet.
    pub fn new(plan: &Plan) -> Self {
        let connections = 0..plan.transfers.len();
        let mut changes: Vec<u64> = plan.links.iter().flat_map(|l| &l.changes).map(|(time, _)| time.0).collect();
        changes.sort_unstable_by_key(|&time| std::cmp::Reverse(time));
        Self {
            is_single_path: connections.clone().all(|c| plan.paths.of(ConnectionId::new(c)).len() == 1),
            changes,
            is_stale: true,
            problem: None,
            subflows: Vec::new(),
            rates: vec![f64::NAN; connections.len()],
            loads: vec![0.0; plan.links.len()],
        }
    }

    /// A connection came or went.
    pub fn on_change(&mut self) {
        self.is_stale = true;
    }

    /// The fair rates at the last gauge, in bit/s; NaN for connections that were not there.
    pub fn rates(&self) -> &[f64] {
        &self.rates
    }

    /// What the links would carry if everybody sent at these rates, in bit/s.
    pub fn loads(&self) -> &[f64] {
        &self.loads
    }

    /// How far the granted rates of subflows are from fair.
    pub fn gauge(&mut self, world: &World<'_>, granted: &[f64]) -> Gauge {
        while self.changes.pop_if(|time| *time <= world.now).is_some() {
            self.is_stale = true;
        }
        if self.is_stale {
            self.solve(world);
        }
        let Some(problem) = &self.problem else { return Gauge::default() };
        let rates: Vec<f64> = self.subflows.iter().map(|&s| granted[s as usize]).collect();
        let certificate = certify(problem, &rates, SHARE);
        Gauge {
            residual: certificate.residual,
            overload: if certificate.overload.is_finite() { certificate.overload } else { 1.0 },
            present: problem.connections() as u32,
        }
    }

    fn solve(&mut self, world: &World<'_>) {
        self.is_stale = false;
        self.rates.fill(f64::NAN);
        self.loads.fill(0.0);
        let present: Vec<u32> =
            (0..world.connections.len() as u32).filter(|&c| world.connections[c as usize].is_present()).collect();
        self.subflows = present.iter().flat_map(|&c| world.subflows_of(c)).map(|s| s as u32).collect();
        self.problem = (!present.is_empty()).then(|| Arc::new(problem(world, &present, &self.subflows)));
        let Some(problem) = &self.problem else { return };
        let stop = Stop::Certificate(TOLERANCE);
        let allocation = if self.is_single_path {
            max_min(problem).expect("every connection has one path")
        } else {
            upward::upward_max_min(Arc::clone(problem), &Start::Equal, stop, PASSES).expect("equal portions can be")
        };
        self.loads = problem.loads(&allocation.path_rates);
        for (&c, rate) in present.iter().zip(allocation.connection_rates) {
            self.rates[c as usize] = rate;
        }
    }
}

/// The sharing among the connections that are present.
fn problem(world: &World<'_>, present: &[u32], subflows: &[u32]) -> Problem {
    let links = world.plan.links.len();
    let mut parts = ProblemParts { path_offsets: vec![0], ..ProblemParts::default() };
    parts.capacity = (0..links).map(|l| world.links.capacity(l, Time(world.now)).0).collect();
    let mut number = 0;
    for &s in subflows {
        while present[number] != world.subflows[s as usize].connection {
            number += 1;
        }
        parts.path_connection.push(number as u32);
        // Demands are said apart.
        parts.path_links.extend(world.routes.path(s as usize).iter().filter(|&&l| (l as usize) < links));
        parts.path_offsets.push(parts.path_links.len());
    }
    for &c in present {
        parts.demand.push(world.connections[c as usize].demand);
        parts.weight.push(world.plan.demands.connections()[c as usize].claim());
    }
    Problem::new(parts).expect("the scenario was checked")
}
