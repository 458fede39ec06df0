//! Rates for all, and how the solver came to them.

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
    /// How far the answer is from fair: see [`crate::certify()`] for the definition.
    pub residual: f64,
}
