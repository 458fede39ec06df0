//! The result of a solver: the rates of all paths and connections, and whether the solver converged.

/// The rates that a solver found.
#[derive(Clone, Debug, PartialEq)]
pub struct Allocation {
    /// Rate of each path, in the order and unit of the problem.
    pub path_rates: Vec<f64>,
    /// Rate of each connection: the sum over its paths.
    pub connection_rates: Vec<f64>,
    /// Passes over the whole problem.
    pub passes: usize,
    /// Whether the solver's stop rule was met, rather than its cap on passes.
    pub converged: bool,
    /// The distance of the allocation from fairness, as [`crate::certify()`] defines it; 0 means exactly fair.
    pub residual: f64,
}
