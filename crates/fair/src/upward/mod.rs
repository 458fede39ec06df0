//! Upward max-min fair rates by c-SLEN [ludena2021, alg. 1], as an event-driven water-filling.
//!
//! An allocation is upward max-min fair if every subflow has a bottleneck: a saturated link on which no other
//! connection has a greater level [ludena2021, theorem 1]. c-SLEN finds one by passes:
//!
//! ```text
//! P[f] = starting portion of subflow f in its connection c
//! repeat
//!     T_f = 0; all levels rise together: connection c gains w_c dz in all, its unfrozen subflows in proportion to P
//!     whenever a link saturates, at level S[l] = z + (capacity - load) / (growth of load), its subflows freeze,
//!         and the growth of their connections goes to the subflows left
//!     whenever z reaches demand_c / w_c, connection c freezes
//!     P[f] = T_f / T_c
//! until every subflow has a bottleneck, to the tolerance
//! ```
//!
//! differs: the saturation level subtracts the rates of all subflows of the link; as printed (function 2, line 3) it
//! subtracts those of frozen ones only, which oversaturates links and does not converge.
//! differs: weights, demands and QoS factors, as the paper proposes (sec. IV) but does not spell out.
//! differs: the stop rule is the certificate, "every subflow has a bottleneck", not a small change between passes;
//! a small change may come long before the answer. The paper's rule is there for comparison ([`Stop::Change`]).
//!
//! The limit depends on the start (see [`Start`]); portions that reach 0 stay there.

mod bottlenecks;
mod pass;

use std::sync::Arc;

use crate::allocation::Allocation;
use crate::incidence::Incidence;
use crate::problem::Problem;
use crate::start::{self, Start, StartError};

/// When to stop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stop {
    /// When every subflow has a bottleneck to this relative tolerance, see [`crate::certify()`].
    Certificate(f64),
    /// When no connection's rate changed by this much (in the unit of the capacities) since the pass before:
    /// the rule of the paper, which may stop far from a fair allocation.
    Change(f64),
}

/// c-SLEN, pass by pass.
pub struct CSlen {
    problem: Arc<Problem>,
    incidence: Incidence,
    /// Demand / weight of each connection with a finite demand, rising, and the connection.
    by_demand: Vec<(f64, u32)>,
    /// Of each path in grouped order; sums to 1 over a connection.
    portions: Vec<f64>,
    /// Of each path in grouped order, after the last pass.
    rates: Vec<f64>,
    /// Of each connection, after the last pass.
    totals: Vec<f64>,
    /// Of each link, after the last pass.
    free: Vec<f64>,
    /// Largest change of a connection's rate in the last pass.
    change: f64,
    passes: usize,
    state: pass::State,
}

impl CSlen {
    /// Ready for the first pass.
    ///
    /// # Errors
    /// Starting portions that cannot be.
    pub fn new(problem: Arc<Problem>, start: &Start) -> Result<Self, StartError> {
        let portions = start::portions(&problem, start)?;
        let incidence = Incidence::new(&problem);
        let reached = |c: usize| (problem.demand(c) / problem.weight(c), c as u32);
        let mut by_demand: Vec<(f64, u32)> =
            (0..problem.connections()).map(reached).filter(|(level, _)| level.is_finite()).collect();
        by_demand.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (paths, connections, links) = (problem.paths(), problem.connections(), problem.links());
        let state = pass::State::new(&problem, &incidence);
        Ok(Self {
            problem,
            incidence,
            by_demand,
            portions,
            rates: vec![0.0; paths],
            totals: vec![0.0; connections],
            free: vec![0.0; links],
            change: f64::INFINITY,
            passes: 0,
            state,
        })
    }

    /// One pass: fills the links anew from the present portions, then takes the portions from the rates.
    pub fn pass(&mut self) {
        self.fill();
        self.change = 0.0;
        for c in 0..self.problem.connections() {
            let own = self.problem.connection_offsets()[c]..self.problem.connection_offsets()[c + 1];
            let total: f64 = self.rates[own.clone()].iter().sum();
            self.change = self.change.max((total - self.totals[c]).abs());
            self.totals[c] = total;
            // A connection without a rate keeps its portions: nothing was learnt about them.
            if total > 0.0 {
                for f in own {
                    self.portions[f] = self.rates[f] / total;
                }
            }
        }
        self.passes += 1;
    }

    /// Passes until `stop` is met or `most` passes are done in all; says whether it was met.
    pub fn run(&mut self, stop: Stop, most: usize) -> bool {
        while !self.has_met(stop) {
            if self.passes >= most {
                return false;
            }
            self.pass();
        }
        true
    }

    /// Whether the last pass ended as `stop` asks; false before the first.
    pub fn has_met(&self, stop: Stop) -> bool {
        match stop {
            Stop::Certificate(tolerance) => self.passes > 0 && self.is_certified(tolerance),
            Stop::Change(least) => self.change < least,
        }
    }

    /// Passes done.
    pub fn passes(&self) -> usize {
        self.passes
    }

    /// The rates after the last pass; `converged` is the caller's word for whether its stop rule was met, and
    /// `tolerance` tells from what share of its connection on a subflow counts in the residual.
    pub fn allocation(&self, converged: bool, tolerance: f64) -> Allocation {
        let mut path_rates = vec![0.0; self.problem.paths()];
        for (&path, &rate) in self.problem.grouped().iter().zip(&self.rates) {
            path_rates[path as usize] = rate;
        }
        let residual = if self.passes == 0 { f64::INFINITY } else { self.residual(tolerance) };
        Allocation { path_rates, connection_rates: self.totals.clone(), passes: self.passes, converged, residual }
    }
}

/// Upward max-min fair rates by at most `most` passes of c-SLEN.
///
/// # Errors
/// Starting portions that cannot be. An answer that did not converge is no error here: see
/// [`Allocation::converged`] and [`Allocation::residual`].
pub fn upward_max_min(problem: Arc<Problem>, start: &Start, stop: Stop, most: usize) -> Result<Allocation, StartError> {
    let mut solver = CSlen::new(problem, start)?;
    let converged = solver.run(stop, most);
    let tolerance = if let Stop::Certificate(tolerance) = stop { tolerance } else { 0.0 };
    Ok(solver.allocation(converged, tolerance))
}

#[cfg(test)]
mod tests;
