//! What solvers by passes share: the loop, when it stops, and how portions follow from rates.

use crate::allocation::Allocation;
use crate::certify::certify;
use crate::problem::Problem;

/// When to stop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stop {
    /// When every subflow has a bottleneck to this relative tolerance, see [`crate::certify()`].
    Certificate(f64),
    /// When no connection's rate changed by this much (in the unit of the capacities) since the pass before:
    /// the rule of [ludena2021], which may stop far from a fair allocation.
    Change(f64),
}

/// A solver that comes closer to its answer with every pass over the problem.
pub trait Passes {
    /// One pass: fills the links anew from the present portions, then takes the portions from the rates.
    fn pass(&mut self);

    /// Passes done.
    fn passes(&self) -> usize;

    /// Whether the last pass ended as `stop` asks; false before the first.
    fn has_met(&self, stop: Stop) -> bool;

    /// The rates after the last pass; `converged` is the caller's word for whether its stop rule was met, and
    /// the residual is reckoned by the certificate of this `tolerance`.
    fn allocation(&self, converged: bool, tolerance: f64) -> Allocation;

    /// Passes until `stop` is met or `most` passes are done in all; says whether it was met.
    fn run(&mut self, stop: Stop, most: usize) -> bool {
        run(self, stop, most)
    }
}

/// Passes until `stop` is met or `most` passes are done in all; says whether it was met.
pub(crate) fn run<P: Passes + ?Sized>(solver: &mut P, stop: Stop, most: usize) -> bool {
    while !solver.has_met(stop) {
        if solver.passes() >= most {
            return false;
        }
        solver.pass();
    }
    true
}

/// What a pass leaves behind, in the grouped order of the problem's paths.
pub(crate) struct Outcome {
    /// Of each path; sums to 1 over a connection.
    pub portions: Vec<f64>,
    /// Of each path.
    pub rates: Vec<f64>,
    /// Of each connection: the sum of its rates.
    pub totals: Vec<f64>,
    /// The largest change of a connection's rate in the last pass.
    pub change: f64,
    pub passes: usize,
}

impl Outcome {
    /// Before the first pass.
    pub fn new(problem: &Problem, portions: Vec<f64>) -> Self {
        let (rates, totals) = (vec![0.0; problem.paths()], vec![0.0; problem.connections()]);
        Self { portions, rates, totals, change: f64::INFINITY, passes: 0 }
    }

    /// Ends a pass that has set the rates: totals and portions follow. A connection without a rate keeps its
    /// portions, since nothing was learnt about them.
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

    /// The rates of the paths in the order given.
    pub fn path_rates(&self, problem: &Problem) -> Vec<f64> {
        let mut path_rates = vec![0.0; problem.paths()];
        for (&path, &rate) in problem.grouped().iter().zip(&self.rates) {
            path_rates[path as usize] = rate;
        }
        path_rates
    }

    /// The allocation of these path rates, with the residual that its certificate finds; infinite before the first
    /// pass.
    pub fn allocation(&self, problem: &Problem, path_rates: Vec<f64>, converged: bool, tolerance: f64) -> Allocation {
        let connection_rates = problem.sum_by_connection(&path_rates);
        let is_done = self.passes > 0;
        let residual = if is_done { certify(problem, &path_rates, tolerance).residual } else { f64::INFINITY };
        Allocation { path_rates, connection_rates, passes: self.passes, converged, residual }
    }
}
