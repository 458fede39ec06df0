//! The two algorithms of weighted Vegas, as iterations on rates [cao2012, sec. III]: rates that follow prices, and
//! weights that follow rates.
//!
//! Both reach proportional fairness ([`crate::proportional`]) by moving a connection's weight, its `alpha_s`, to those
//! of its paths that cost least; the weights k of its paths sum to 1.
//!
//! ```text
//! WeightAdjustment, algorithm 1, with prices by eq. (12); all links, then all connections:
//!     price[l] = max(0, price[l] - gamma * (capacity[l] - load[l]))       q[p] = sum of price over the links of p
//!     x[p]     = k[p] * weight / q[p];   x[p] + rise where q[p] = 0
//!     k[p]     = x[p] / sum of x over the connection's paths
//!
//! WeightAllocation, algorithm 2:
//!     x        = the rates that maximise the sum of weight * k[p] * log x[p]              [cao2012, eq. 22]
//!     k[p]     = x[p] / sum of x over the connection's paths                              [cao2012, eq. 24]
//! ```
//!
//! differs: a weight does not fall below a floor. Without the floor, it may come to 0 and never rise again.
//! differs: demands and coefficients, which the paper lacks. A demand is a link of the connection's own.

use std::sync::Arc;

use thiserror::Error;

use crate::problem::{Problem, ProblemParts};
use crate::proportional::alpha_fair;

/// Invalid parameters or weights.
#[derive(Clone, Debug, PartialEq, Error)]
#[allow(missing_docs)]
pub enum WeightError {
    #[error("{name} is {value}; it must be {must}")]
    Parameter { name: &'static str, value: f64, must: &'static str },
    #[error("{found} {name} for {paths} paths; give one for each")]
    Length { name: &'static str, found: usize, paths: usize },
    #[error("path {path}: {name} is {value}; it must be positive and finite")]
    Value { name: &'static str, path: usize, value: f64 },
    #[error("weight times floor is {0:e} for some connection; it must be 1e-30 or more")]
    Floor(f64),
}

/// The step sizes of [`WeightAdjustment`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Steps {
    /// The rise of a price for each unit of load over the capacity.
    pub gamma: f64,
    /// The rise of a rate in a step over a path without a price, in the unit of the capacities; 1 in the paper.
    pub rise: f64,
    /// The least weight of a path.
    pub floor: f64,
}

/// Rates, weights and prices after a step.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// The rate of each path, in the unit of the capacities.
    pub rates: Vec<f64>,
    /// The part of its connection's weight that each path has in the next step.
    pub weights: Vec<f64>,
    /// The price of each link for a unit of rate; infinite for capacity 0.
    pub link_prices: Vec<f64>,
    /// The price of each path: the sum over its links, and the price of its connection's demand.
    pub path_prices: Vec<f64>,
    /// The number of steps so far.
    pub steps: usize,
    /// The largest change of a weight in the last step; infinite before the first step.
    pub change: f64,
}

/// Prices below this count as 0, so that no rate overflows.
const NO_PRICE: f64 = 1e-100;

/// The greatest rate.
const MOST_RATE: f64 = 1e100;

/// The iteration of algorithm 1, step by step.
pub struct WeightAdjustment {
    apart: Apart,
    parameters: Steps,
    trace: Trace,
    /// The price of each link of `apart`.
    prices: Vec<f64>,
}

impl WeightAdjustment {
    /// The state before the first step: the rates given, all prices 0.
    ///
    /// # Errors
    /// Returns an error for invalid step sizes or rates.
    pub fn new(problem: &Problem, rates: Vec<f64>, parameters: Steps) -> Result<Self, WeightError> {
        let steps = [("gamma", parameters.gamma), ("rise", parameters.rise)];
        for (name, value) in steps {
            if !(value > 0.0 && value <= 1e30) {
                return Err(WeightError::Parameter { name, value, must: "positive, and at most 1e30" });
            }
        }
        check_floor(parameters.floor)?;
        check("rates", &rates, problem.paths())?;
        let apart = Apart::new(problem);
        let prices = vec![0.0; apart.capacity.len()];
        let mut trace = Trace::new(problem, rates);
        trace.weights = weights(problem, &trace.rates, &trace.weights, parameters.floor);
        Ok(Self { apart, parameters, trace, prices })
    }

    /// Makes one step: prices follow loads, rates follow prices, weights follow rates.
    pub fn advance(&mut self, problem: &Problem) {
        let loads = self.apart.loads(&self.trace.rates);
        for ((price, load), capacity) in self.prices.iter_mut().zip(loads).zip(&self.apart.capacity) {
            *price = (*price - self.parameters.gamma * (capacity - load)).clamp(0.0, MOST_RATE);
        }
        let trace = &mut self.trace;
        trace.path_prices = self.apart.path_prices(&self.prices);
        for (path, price) in trace.path_prices.iter().enumerate() {
            let weight = trace.weights[path] * problem.weight(problem.connection(path));
            let rate = if *price > NO_PRICE { weight / price } else { trace.rates[path] + self.parameters.rise };
            trace.rates[path] = rate.min(MOST_RATE);
        }
        trace.link_prices.copy_from_slice(&self.prices[..problem.links()]);
        trace.end_step(weights(problem, &trace.rates, &trace.weights, self.parameters.floor));
    }

    /// The rates, weights and prices after the last step.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }
}

/// The iteration of algorithm 2, step by step.
pub struct WeightAllocation {
    apart: Apart,
    floor: f64,
    trace: Trace,
    is_exact: bool,
}

impl WeightAllocation {
    /// The state before the first step: the weights given, scaled to sum to 1 for each connection.
    ///
    /// # Errors
    /// Returns an error for invalid weights or an invalid floor.
    pub fn new(problem: &Problem, weights_given: &[f64], floor: f64) -> Result<Self, WeightError> {
        check_floor(floor)?;
        check("weights", weights_given, problem.paths())?;
        let least = (0..problem.connections()).map(|c| problem.weight(c) * floor).fold(f64::INFINITY, f64::min);
        if least < 1e-30 {
            return Err(WeightError::Floor(least));
        }
        let mut trace = Trace::new(problem, vec![0.0; problem.paths()]);
        trace.weights = weights(problem, weights_given, &trace.weights, floor);
        Ok(Self { apart: Apart::new(problem), floor, trace, is_exact: true })
    }

    /// Makes one step: rates follow weights, weights follow rates.
    pub fn advance(&mut self, problem: &Problem) {
        let claim = |path: usize| self.trace.weights[path] * problem.weight(problem.connection(path));
        let solved = self.apart.solve((0..problem.paths()).map(claim).collect());
        self.is_exact = solved.converged;
        let trace = &mut self.trace;
        trace.path_prices = self.apart.path_prices(&solved.link_prices);
        trace.rates = solved.path_rates;
        trace.link_prices.copy_from_slice(&solved.link_prices[..problem.links()]);
        trace.end_step(weights(problem, &trace.rates, &trace.weights, self.floor));
    }

    /// Makes steps until no weight changes by `least` or there have been `most` in total; returns whether the weights
    /// stopped changing.
    pub fn run(&mut self, problem: &Problem, least: f64, most: usize) -> bool {
        while self.trace.change >= least {
            if self.trace.steps >= most {
                return false;
            }
            self.advance(problem);
        }
        true
    }

    /// The rates, weights and prices after the last step.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// Whether the rates of the last step were found exactly.
    pub fn is_exact(&self) -> bool {
        self.is_exact
    }
}

impl Trace {
    fn new(problem: &Problem, rates: Vec<f64>) -> Self {
        let share = |p| 1.0 / problem.paths_of(problem.connection(p)).len() as f64;
        Self {
            rates,
            weights: (0..problem.paths()).map(share).collect(),
            link_prices: vec![0.0; problem.links()],
            path_prices: vec![0.0; problem.paths()],
            steps: 0,
            change: f64::INFINITY,
        }
    }

    fn end_step(&mut self, weights: Vec<f64>) {
        let changes = weights.iter().zip(&self.weights).map(|(new, old)| (new - old).abs());
        self.change = changes.fold(0.0, f64::max);
        self.weights = weights;
        self.steps += 1;
    }
}

/// Each path's part of its connection's rate, at least the floor; unchanged where a connection has no rate.
fn weights(problem: &Problem, rates: &[f64], before: &[f64], floor: f64) -> Vec<f64> {
    let mut weights = before.to_vec();
    for c in 0..problem.connections() {
        let paths = || problem.paths_of(c).iter().map(|&path| path as usize);
        let total: f64 = paths().map(|path| rates[path]).sum();
        if total > 0.0 {
            paths().for_each(|path| weights[path] = (rates[path] / total).max(floor));
            let total: f64 = paths().map(|path| weights[path]).sum();
            paths().for_each(|path| weights[path] /= total);
        }
    }
    weights
}

fn check_floor(floor: f64) -> Result<(), WeightError> {
    if (1e-20..=1e-2).contains(&floor) {
        return Ok(());
    }
    Err(WeightError::Parameter { name: "floor", value: floor, must: "1e-20 to 1e-2" })
}

fn check(name: &'static str, values: &[f64], paths: usize) -> Result<(), WeightError> {
    if values.len() != paths {
        return Err(WeightError::Length { name, found: values.len(), paths });
    }
    match values.iter().position(|&value| !(value > 0.0 && value <= MOST_RATE)) {
        Some(path) => Err(WeightError::Value { name, path, value: values[path] }),
        None => Ok(()),
    }
}

/// The problem with each path as a separate connection, and each finite demand as one more link.
struct Apart {
    parts: ProblemParts,
    /// The capacity of each link; a link without a limit has a capacity that no rate reaches.
    capacity: Vec<f64>,
}

impl Apart {
    fn new(problem: &Problem) -> Self {
        let paths = problem.paths();
        let mut parts = ProblemParts {
            capacity: (0..problem.links()).map(|l| problem.capacity(l)).collect(),
            path_offsets: vec![0],
            path_connection: (0..paths as u32).collect(),
            demand: vec![f64::INFINITY; paths],
            ..Default::default()
        };
        let mut demand_link = vec![None; problem.connections()];
        for (c, link) in demand_link.iter_mut().enumerate().filter(|(c, _)| problem.demand(*c).is_finite()) {
            *link = Some(parts.capacity.len() as u32);
            parts.capacity.push(problem.demand(c));
        }
        for path in 0..paths {
            let uses = problem.uses_of(path).map(|(link, coefficient)| (link as u32, coefficient));
            for (link, coefficient) in uses.chain(demand_link[problem.connection(path)].map(|link| (link, 1.0))) {
                parts.path_links.push(link);
                parts.coefficient.push(coefficient);
            }
            parts.path_offsets.push(parts.path_links.len());
        }
        let capacity = parts.capacity.iter().map(|capacity| capacity.min(MOST_RATE)).collect();
        Self { parts, capacity }
    }

    /// Proportionally fair rates of the paths, each with its own weight.
    fn solve(&self, weight: Vec<f64>) -> crate::proportional::Priced {
        let parts = ProblemParts { weight, ..self.parts.clone() };
        let problem = Problem::new(parts).expect("paths of a problem, with weights in range, make a problem");
        alpha_fair(&Arc::new(problem), 1.0).expect("alpha 1 is within the range")
    }

    fn entries(&self, path: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let range = self.parts.path_offsets[path]..self.parts.path_offsets[path + 1];
        range.map(|entry| (self.parts.path_links[entry] as usize, self.parts.coefficient[entry]))
    }

    fn loads(&self, rates: &[f64]) -> Vec<f64> {
        let mut loads = vec![0.0; self.capacity.len()];
        for (path, rate) in rates.iter().enumerate() {
            self.entries(path).for_each(|(link, coefficient)| loads[link] += coefficient * rate);
        }
        loads
    }

    fn path_prices(&self, prices: &[f64]) -> Vec<f64> {
        let price = |path| self.entries(path).map(|(link, coefficient)| coefficient * prices[link]).sum();
        (0..self.parts.path_connection.len()).map(price).collect()
    }
}

#[cfg(test)]
mod tests;
