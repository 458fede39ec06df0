//! IEWF, iterative exponential water filling [danna2017], as [ludena2021] runs it: the yardstick of c-SLEN.
//!
//! Rates grow in steps of a unit of subflow instead of jumping to the next saturation. The unit is what one
//! connection of weight 1 grows in a step, divided among its unfrozen subflows by their portions:
//!
//! ```text
//! repeat                                               a pass
//!     x = 0, v = w
//!     while some subflow is unfrozen:                  a step
//!         x[f] += unit * weight[c] * v[f]              for unfrozen f of connection c
//!         freeze all f on links with load >= capacity, and of connections with rate >= demand
//!         v[f] /= sum of v over c's unfrozen subflows
//!     w[f] = x[f] / sum of x over c
//! until no connection's rate changed by `least`
//! ```
//!
//! A frozen subflow is not pulled back: links are overloaded by up to a step of all their connections. The test is a
//! plain `>=` on the sum of the rates in path order; any tolerance changes the printed digits.

use std::sync::Arc;

use thiserror::Error;

use crate::allocation::Allocation;
use crate::certify::certify;
use crate::passes::{Outcome, Passes, Stop};
use crate::problem::Problem;
use crate::start::{self, Start, StartError};

/// More steps than this in a pass are refused.
const MOST_STEPS: f64 = 1e7;

/// Starting portions or a unit of subflow that cannot be.
#[derive(Clone, Debug, PartialEq, Error)]
#[allow(missing_docs)]
pub enum UnitError {
    #[error(transparent)]
    Start(#[from] StartError),
    #[error("the unit of subflow is {0}; it must be positive and finite")]
    Unit(f64),
    #[error(
        "the unit of subflow is {unit}: a pass could take {steps:.0} steps, and more than {MOST_STEPS:.0} are refused; \
         give a unit of {least} or more"
    )]
    Steps { unit: f64, steps: f64, least: f64 },
}

/// IEWF, pass by pass.
pub struct Iewf {
    problem: Arc<Problem>,
    unit: f64,
    outcome: Outcome,
    steps: usize,
}

impl Iewf {
    /// Ready for the first pass. `unit` is in the unit of the capacities.
    ///
    /// # Errors
    /// Portions that cannot be, a unit that is not positive, or one so small that a pass would take over 10^7 steps.
    pub fn new(problem: Arc<Problem>, start: &Start, unit: f64) -> Result<Self, UnitError> {
        if !(unit > 0.0 && unit.is_finite()) {
            return Err(UnitError::Unit(unit));
        }
        let steps = (0..problem.connections()).map(|c| highest_level(&problem, c) / unit).fold(0.0, f64::max);
        if steps > MOST_STEPS {
            return Err(UnitError::Steps { unit, steps, least: unit * steps / MOST_STEPS });
        }
        let portions = start::portions(&problem, start)?;
        let outcome = Outcome::new(&problem, portions);
        Ok(Self { problem, unit, outcome, steps: 0 })
    }

    /// A unit of 5 % of the smallest positive capacity, as in [ludena2021, sec. III-C].
    pub fn default_unit(problem: &Problem) -> f64 {
        let capacities = (0..problem.links()).map(|l| problem.capacity(l));
        0.05 * capacities.filter(|c| *c > 0.0).fold(f64::INFINITY, f64::min).min(f64::MAX)
    }

    /// What a connection of weight 1 gains in a step.
    pub fn unit(&self) -> f64 {
        self.unit
    }

    /// Steps done in all passes.
    pub fn steps(&self) -> usize {
        self.steps
    }

    fn fill(&mut self) {
        let problem = &*self.problem;
        let mut portions = self.outcome.portions.clone();
        let mut is_live: Vec<bool> = portions.iter().map(|&p| p > 0.0).collect();
        let offsets = problem.connection_offsets();
        for (f, &path) in problem.grouped().iter().enumerate() {
            let is_dead = problem.links_of(path as usize).iter().any(|&l| problem.capacity(l as usize) == 0.0);
            is_live[f] &= !is_dead && problem.demand(problem.connection(path as usize)) > 0.0;
        }
        renormalise(offsets, &is_live, &mut portions);
        let mut loads = vec![0.0; problem.links()];
        self.outcome.rates.fill(0.0);
        while is_live.contains(&true) {
            self.steps += 1;
            for c in 0..problem.connections() {
                let step = self.unit * problem.weight(c);
                for f in offsets[c]..offsets[c + 1] {
                    if is_live[f] {
                        self.outcome.rates[f] += step * portions[f];
                    }
                }
            }
            self.add_up(&mut loads);
            let mut froze = false;
            for c in 0..problem.connections() {
                let own = offsets[c]..offsets[c + 1];
                let has_demand = self.outcome.rates[own.clone()].iter().sum::<f64>() >= problem.demand(c);
                for f in own.clone().filter(|&f| is_live[f]).collect::<Vec<_>>() {
                    let links = problem.links_of(problem.grouped()[f] as usize);
                    if has_demand || links.iter().any(|&l| loads[l as usize] >= problem.capacity(l as usize)) {
                        is_live[f] = false;
                        froze = true;
                    }
                }
            }
            if froze {
                renormalise(offsets, &is_live, &mut portions);
            }
        }
    }

    /// The loads under the present rates, summed in path order.
    fn add_up(&self, loads: &mut [f64]) {
        loads.fill(0.0);
        for (&path, &rate) in self.problem.grouped().iter().zip(&self.outcome.rates) {
            for (link, coefficient) in self.problem.uses_of(path as usize) {
                loads[link] += coefficient * rate;
            }
        }
    }
}

impl Passes for Iewf {
    fn pass(&mut self) {
        self.fill();
        self.outcome.end_pass(&self.problem);
    }

    fn passes(&self) -> usize {
        self.outcome.passes
    }

    /// A certificate is met if every subflow has a bottleneck to the tolerance; overloads, which IEWF always makes, do
    /// not count against it.
    fn has_met(&self, stop: Stop) -> bool {
        match stop {
            Stop::Certificate(tolerance) => self.outcome.passes > 0 && self.residual(tolerance) <= tolerance,
            Stop::Change(least) => self.outcome.change < least,
        }
    }

    /// Links may be overloaded by up to a step.
    fn allocation(&self, converged: bool, tolerance: f64) -> Allocation {
        self.outcome.allocation(&self.problem, converged, || self.residual(tolerance))
    }
}

impl Iewf {
    fn residual(&self, tolerance: f64) -> f64 {
        certify(&self.problem, &self.outcome.path_rates(&self.problem), tolerance).residual
    }
}

/// The most that connection `c` could ever have by weight: its demand, or the least capacity of each of its paths.
fn highest_level(problem: &Problem, c: usize) -> f64 {
    let least = |path: &u32| {
        let uses = problem.uses_of(*path as usize);
        uses.map(|(link, coefficient)| problem.capacity(link) / coefficient).fold(f64::INFINITY, f64::min)
    };
    let total: f64 = problem.paths_of(c).iter().map(least).sum();
    total.min(problem.demand(c)) / problem.weight(c)
}

fn renormalise(offsets: &[usize], is_live: &[bool], portions: &mut [f64]) {
    for own in offsets.windows(2).map(|w| w[0]..w[1]) {
        let sum: f64 = own.clone().filter(|&f| is_live[f]).map(|f| portions[f]).sum();
        if sum > 0.0 {
            own.filter(|&f| is_live[f]).for_each(|f| portions[f] /= sum);
        }
    }
}
