//! The common part of solvers that work in passes: the loop, the stop rule, and the portions that follow from rates.

use crate::allocation::Allocation;
use crate::certify::certify;
use crate::problem::Problem;

/// The stop rule of a solver that works in passes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stop {
    /// Stop when every subflow has a bottleneck to this relative tolerance, as [`crate::certify()`] defines it.
    Certificate(f64),
    /// Stop when no connection's rate has changed by this much (in the unit of the capacities) since the previous pass.
    /// This is the rule of [ludena2021], which may stop far from a fair allocation.
    Change(f64),
}

/// A solver that comes closer to its answer with every pass over the problem.
pub trait Passes {
    /// Makes one pass: fills the links anew by the present portions, then computes the portions from the rates.
    fn pass(&mut self);

    /// The number of passes so far.
    fn passes(&self) -> usize;

    /// Whether the last pass met the stop rule; false before the first pass.
    fn has_met(&self, stop: Stop) -> bool;

    /// The rates after the last pass. The caller states in `converged` whether its stop rule was met; the residual is
    /// that of a certificate with this `tolerance`.
    fn allocation(&self, converged: bool, tolerance: f64) -> Allocation;

    /// Runs passes until `stop` is met or there have been `most` in total; returns whether it was met.
    fn run(&mut self, stop: Stop, most: usize) -> bool {
        run(self, stop, most)
    }
}

/// Runs passes until `stop` is met or there have been `most` in total; returns whether it was met.
pub(crate) fn run<P: Passes + ?Sized>(solver: &mut P, stop: Stop, most: usize) -> bool {
    while !solver.has_met(stop) {
        if solver.passes() >= most {
            return false;
        }
        solver.pass();
    }
    true
}

/// The result of a pass, in the grouped order of the problem's paths.
pub(crate) struct Outcome {
    /// The portion of each path; the portions of a connection add up to 1.
    pub portions: Vec<f64>,
    /// The rate of each path.
    pub rates: Vec<f64>,
    /// The rate of each connection: the sum over its paths.
    pub totals: Vec<f64>,
    /// The largest change of a connection's rate in the last pass.
    pub change: f64,
    pub passes: usize,
}

impl Outcome {
    /// The state before the first pass.
    pub fn new(problem: &Problem, portions: Vec<f64>) -> Self {
        let (rates, totals) = (vec![0.0; problem.paths()], vec![0.0; problem.connections()]);
        Self { portions, rates, totals, change: f64::INFINITY, passes: 0 }
    }

    /// Ends a pass that has set the rates by computing totals and portions. A connection without a rate keeps its
    /// portions, since the pass gives no information about them.
    pub fn end_pass(&mut self, problem: &Problem) {
        self.change = 0.0;
        for (c, own) in problem.connection_offsets().windows(2).map(|w| w[0]..w[1]).enumerate() {
            let total: f64 = self.rates[own.clone()].iter().sum();
            self.change = self.change.max((total - self.totals[c]).abs());
            self.totals[c] = total;
            if total > 0.0 {
                for f in own {
                    self.portions[f] = self.rates[f] / total;
                }
            }
        }
        self.passes += 1;
    }

    /// The rates of the paths in the order of the problem.
    pub fn path_rates(&self, problem: &Problem) -> Vec<f64> {
        let mut path_rates = vec![0.0; problem.paths()];
        for (&path, &rate) in problem.grouped().iter().zip(&self.rates) {
            path_rates[path as usize] = rate;
        }
        path_rates
    }

    /// The allocation of these path rates, with the residual of its certificate; the residual is infinite before the
    /// first pass.
    pub fn allocation(&self, problem: &Problem, path_rates: Vec<f64>, converged: bool, tolerance: f64) -> Allocation {
        let connection_rates = problem.sum_by_connection(&path_rates);
        let is_done = self.passes > 0;
        let residual = if is_done { certify(problem, &path_rates, tolerance).residual } else { f64::INFINITY };
        Allocation { path_rates, connection_rates, passes: self.passes, converged, residual }
    }
}
