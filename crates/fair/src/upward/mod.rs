//! Upward max-min fair rates by c-SLEN [ludena2021, alg. 1], as an event-driven water-filling.
//!
//! An allocation is upward max-min fair if every subflow has a bottleneck: a saturated link on which no other
//! connection has a greater level [ludena2021, theorem 1]. c-SLEN finds one by passes:
//!
//! ```text
//! P[f] = starting portion of subflow f in its connection c
//! repeat
//!     T_f = 0; all levels rise together: connection c gains w_c dz in total, its unfrozen subflows in proportion to P
//!     whenever a link saturates, at level S[l] = z + (capacity - load) / (growth of load), its subflows freeze,
//!         and the growth of their connections goes to the subflows left
//!     whenever z reaches demand_c / w_c, connection c freezes
//!     P[f] = T_f / T_c
//! until every subflow has a bottleneck, to the tolerance
//! ```
//!
//! differs: the saturation level subtracts the rates of all subflows of the link. As printed (function 2, line 3) it
//! subtracts only those of frozen ones, which oversaturates links and does not converge.
//! differs: weights, demands and QoS factors, as the paper proposes (sec. IV) but does not spell out.
//! differs: the stop rule is the certificate, "every subflow has a bottleneck", not a small change between passes; a
//! small change may come long before the answer. The paper's rule is there for comparison ([`Stop::Change`]).
//!
//! The limit depends on the start ([`Start`]). A portion that reaches 0 stays there, unless the stop rule set it to 0
//! ([`vanishing`]).

mod bottlenecks;
mod filling;
mod pass;
mod sums;
mod vanishing;
mod watch;

use std::sync::Arc;

use crate::allocation::Allocation;
use crate::certify::certify;
use crate::incidence::Incidence;
use crate::passes::{self, Outcome, Passes, Stop};
use crate::problem::{Problem, trim};
use crate::start::{self, Start, StartError};

/// From this number of passes on, each power of two triggers a certificate though the rates do not seem fair.
const LOOKS: usize = 512;

/// The c-SLEN solver, which runs pass by pass.
pub struct CSlen {
    problem: Arc<Problem>,
    incidence: Incidence,
    /// Whether the filling follows each link, as [`watch`] explains.
    is_watched: Vec<bool>,
    /// The ratio of demand to weight of each connection with a finite demand, in rising order, and the connection.
    by_demand: Vec<(f64, u32)>,
    outcome: Outcome,
    /// The free capacity of each link after the last pass.
    free: Vec<f64>,
    state: pass::State,
    sums: sums::Sums,
    vanishing: vanishing::Vanishing,
}

impl CSlen {
    /// Prepares the first pass.
    ///
    /// # Errors
    /// Returns an error for invalid starting portions.
    pub fn new(problem: Arc<Problem>, start: &Start) -> Result<Self, StartError> {
        let portions = start::portions(&problem, start)?;
        let incidence = Incidence::new(&problem);
        let reached = |c: usize| (problem.demand(c) / problem.weight(c), c as u32);
        let mut by_demand: Vec<(f64, u32)> =
            (0..problem.connections()).map(reached).filter(|(level, _)| level.is_finite()).collect();
        by_demand.sort_by(|a, b| a.0.total_cmp(&b.0));
        let state = pass::State::new(&problem, &incidence);
        let (is_watched, sums) = (vec![true; problem.links()], sums::Sums::new());
        let (outcome, free) = (Outcome::new(&problem, portions), vec![0.0; problem.links()]);
        let vanishing = vanishing::Vanishing::new(problem.paths());
        Ok(Self { problem, incidence, is_watched, by_demand, outcome, free, state, sums, vanishing })
    }
}

impl Passes for CSlen {
    fn pass(&mut self) {
        self.fill();
        self.outcome.end_pass(&self.problem);
    }

    fn passes(&self) -> usize {
        self.outcome.passes
    }

    fn has_met(&self, stop: Stop) -> bool {
        match stop {
            Stop::Certificate(tolerance) => self.outcome.passes > 0 && self.is_certified(tolerance),
            Stop::Change(least) => self.outcome.change < least,
        }
    }

    fn allocation(&self, converged: bool, tolerance: f64) -> Allocation {
        self.outcome.allocation(&self.problem, self.path_rates(), converged, tolerance)
    }

    /// Runs until `stop` is met. For a certificate, it removes subflows that are about to vanish once all else is fair
    /// ([`vanishing`]).
    fn run(&mut self, stop: Stop, most: usize) -> bool {
        let Stop::Certificate(tolerance) = stop else { return passes::run(self, stop, most) };
        loop {
            let has_come_back = self.bring_back(tolerance);
            let is_near = self.passes() > 0 && !has_come_back && self.seems_certified(tolerance);
            // Rates may be fair before they seem so, where ignored subflows decide: an occasional certificate tells.
            if (is_near || self.is_worth_a_look()) && self.is_certified(tolerance) {
                return true;
            }
            if self.passes() >= most {
                return false;
            }
            if is_near {
                self.pass_and_take_out(tolerance);
            } else {
                self.pass();
            }
        }
    }
}

impl CSlen {
    /// Whether there have been enough passes that a certificate costs little beside them.
    fn is_worth_a_look(&self) -> bool {
        self.passes() >= LOOKS && self.passes().is_power_of_two()
    }

    fn is_certified(&self, tolerance: f64) -> bool {
        certify(&self.problem, &self.path_rates(), tolerance).holds()
    }

    /// The rates after the last pass, without the excess over a capacity by rounding.
    fn path_rates(&self) -> Vec<f64> {
        let mut path_rates = self.outcome.path_rates(&self.problem);
        trim(&self.problem, &mut path_rates);
        path_rates
    }
}

/// Computes upward max-min fair rates by at most `most` passes of c-SLEN.
///
/// # Errors
/// Returns an error for invalid starting portions. An answer that did not converge is not an error:
/// [`Allocation::converged`] and [`Allocation::residual`] show it.
pub fn upward_max_min(problem: Arc<Problem>, start: &Start, stop: Stop, most: usize) -> Result<Allocation, StartError> {
    let mut solver = CSlen::new(problem, start)?;
    let converged = solver.run(stop, most) || solver.has_met(stop);
    let tolerance = if let Stop::Certificate(tolerance) = stop { tolerance } else { 0.0 };
    Ok(solver.allocation(converged, tolerance))
}

#[cfg(test)]
mod tests;
