//! IEWF, iterative exponential water filling [danna2017], as [ludena2021] runs it to compare with c-SLEN.
//!
//! Rates grow in steps of a unit of subflow instead of jumping to the next saturation. The unit is the growth of a
//! connection of weight 1 in a step, divided among its unfrozen subflows by their portions:
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
//! differs: a connection takes no more in a step than the rest of its demand, which its source knows.
//! IEWF does not pull back a frozen subflow: links are overloaded by up to one step of all their connections. The test
//! is a plain `>=` on the sum of the rates in path order; any tolerance changes the printed digits.

use std::sync::Arc;

use thiserror::Error;

use crate::allocation::Allocation;
use crate::certify::certify;
use crate::passes::{Outcome, Passes, Stop};
use crate::problem::Problem;
use crate::start::{self, Start, StartError};

/// Upper limit on the additions to rates in one pass, equal to some seconds of work; more is refused.
const MOST_WORK: f64 = 1e9;

/// The most work in all passes, in entries that steps look at, and the most steps. A solver ends early only beyond
/// both, so that a large problem has its passes and a small one ends within seconds.
const MOST_IN_ALL: (f64, usize) = (2e9, 1_000_000);

/// The cost of a step besides its entries.
const STEP: usize = 30;

/// Invalid starting portions or an invalid unit of subflow.
#[derive(Clone, Debug, PartialEq, Error)]
#[allow(missing_docs)]
pub enum UnitError {
    #[error(transparent)]
    Start(#[from] StartError),
    #[error("the unit of subflow is {0}; it must be positive and finite")]
    Unit(f64),
    #[error(
        "the unit of subflow is {unit}: a pass could take {steps:.0} steps, and more than {most:.0} are refused for a \
         problem of this size; give one of {least:.3e} or more"
    )]
    Steps { unit: f64, steps: f64, most: f64, least: f64 },
}

/// The IEWF solver, which runs pass by pass.
pub struct Iewf {
    problem: Arc<Problem>,
    unit: f64,
    outcome: Outcome,
    steps: usize,
}

impl Iewf {
    /// Prepares the first pass. `unit` is in the unit of the capacities.
    ///
    /// # Errors
    /// Invalid portions, a unit that is not positive, or one so small that a pass would take too many steps.
    pub fn new(problem: Arc<Problem>, start: &Start, unit: f64) -> Result<Self, UnitError> {
        if !(unit > 0.0 && unit.is_finite()) {
            return Err(UnitError::Unit(unit));
        }
        let steps = (0..problem.connections()).map(|c| highest_level(&problem, c) / unit).fold(0.0, f64::max);
        let most = MOST_WORK / (problem.entry_count() + problem.paths()).max(1) as f64;
        if steps > most {
            return Err(UnitError::Steps { unit, steps, most, least: unit * steps / most });
        }
        let portions = start::portions(&problem, start)?;
        let outcome = Outcome::new(&problem, portions);
        Ok(Self { problem, unit, outcome, steps: 0 })
    }

    /// The default unit: a first step from equal portions adds at most 5 % of its capacity to any link. If no capacity
    /// is finite, the unit is 5 % of the smallest demand.
    ///
    /// differs: [ludena2021, sec. III-C] takes 5 % of the smallest capacity, for links that at most three connections
    /// share; with a hundred connections on a link, a step of that size would fill it five times over.
    pub fn default_unit(problem: &Problem) -> f64 {
        // The growth of each link's load in a first step of unit 1, with equal portions.
        let mut gains = vec![0.0; problem.links()];
        for c in 0..problem.connections() {
            for &path in problem.paths_of(c) {
                for (link, coefficient) in problem.uses_of(path as usize) {
                    gains[link] += problem.weight(c) * coefficient / problem.paths_of(c).len() as f64;
                }
            }
        }
        let smallest = |amounts: &mut dyn Iterator<Item = f64>| {
            amounts.filter(|a| *a > 0.0 && a.is_finite()).fold(f64::INFINITY, f64::min)
        };
        let by_link = smallest(&mut gains.iter().enumerate().map(|(l, gain)| problem.capacity(l) / gain));
        let by_demand = smallest(&mut (0..problem.connections()).map(|c| problem.demand(c) / problem.weight(c)));
        match (by_link.is_finite(), by_demand.is_finite()) {
            (true, _) => 0.05 * by_link,
            (false, true) => 0.05 * by_demand,
            // Nothing is positive and finite only if no path can have a rate.
            (false, false) => 1.0,
        }
    }

    /// The growth of a connection of weight 1 in a step.
    pub fn unit(&self) -> f64 {
        self.unit
    }

    /// Steps done in all passes.
    pub fn steps(&self) -> usize {
        self.steps
    }

    /// Whether the passes have used up their limit of work; a greater unit takes fewer steps.
    pub fn is_spent(&self) -> bool {
        let (work, steps) = MOST_IN_ALL;
        let entries = self.problem.entry_count() + self.problem.paths() + STEP;
        self.steps > steps && self.steps as f64 * entries as f64 > work
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
            let is_sated = self.grow(&portions, &is_live);
            self.add_up(&mut loads);
            let mut froze = false;
            for (f, &path) in self.problem.grouped().iter().enumerate() {
                let is_full = |l: &u32| loads[*l as usize] >= self.problem.capacity(*l as usize);
                let links = self.problem.links_of(path as usize);
                let ends = is_sated[self.problem.connection(path as usize)] || links.iter().any(is_full);
                froze |= is_live[f] && ends;
                is_live[f] &= !ends;
            }
            if froze {
                renormalise(self.problem.connection_offsets(), &is_live, &mut portions);
            }
        }
    }

    /// Makes a step, in which every unfrozen subflow grows; returns which connections have their demand.
    fn grow(&mut self, portions: &[f64], is_live: &[bool]) -> Vec<bool> {
        let problem = &*self.problem;
        let grow_one = |(c, own): (usize, std::ops::Range<usize>)| {
            let rates = &mut self.outcome.rates[own.clone()];
            let full_step = self.unit * problem.weight(c);
            let left = problem.demand(c) - rates.iter().sum::<f64>();
            let step = full_step.min(left.max(0.0));
            for ((rate, portion), live) in rates.iter_mut().zip(&portions[own.clone()]).zip(&is_live[own]) {
                if *live {
                    *rate += step * portion;
                }
            }
            left <= full_step
        };
        problem.connection_offsets().windows(2).map(|w| w[0]..w[1]).enumerate().map(grow_one).collect()
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

    /// A certificate is met if every subflow has a bottleneck within the tolerance. Overloads, which IEWF always
    /// causes, do not count against it.
    fn has_met(&self, stop: Stop) -> bool {
        match stop {
            Stop::Certificate(tolerance) => self.outcome.passes > 0 && self.residual(tolerance) <= tolerance,
            Stop::Change(least) => self.outcome.change < least,
        }
    }

    /// Runs until `stop` is met, and ends early where the work limit [is spent](Iewf::is_spent).
    fn run(&mut self, stop: Stop, most: usize) -> bool {
        while !self.has_met(stop) {
            if self.passes() >= most || self.is_spent() {
                return false;
            }
            self.pass();
        }
        true
    }

    /// The present allocation, in which links may be overloaded by up to a step.
    fn allocation(&self, converged: bool, tolerance: f64) -> Allocation {
        let path_rates = self.outcome.path_rates(&self.problem);
        self.outcome.allocation(&self.problem, path_rates, converged, tolerance)
    }
}

impl Iewf {
    fn residual(&self, tolerance: f64) -> f64 {
        certify(&self.problem, &self.outcome.path_rates(&self.problem), tolerance).residual
    }
}

/// The greatest possible level of connection `c`: its demand, or the least capacity on each of its paths, by its
/// weight.
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
