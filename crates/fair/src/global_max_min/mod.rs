//! Exact global max-min fairness over many paths.
//!
//! Prices on links prove that rates are too high:
//!
//! ```text
//! cost of a connection = least over its paths of   sum over the links of price * coefficient
//! sum over connections of rate * cost  <=  sum over links of capacity * price          however rates are divided
//! ```
//!
//! Where this does not hold, the connections that pay and have the most come down to one level (rate divided by
//! weight), at which both sides are equal. Then none of them can have more unless another connection that pays, and has
//! no more, has less.
//!
//! So every connection has its demand until prices prove that this is too much. Then rates fall to the levels that
//! these prices allow, and so on until they fit. The proofs that hold them then show for every connection why it cannot
//! have more.
//!
//! The dual simplex method [lemke1954] makes the rates fit, with a basis of the size of the tight links [dantzig1967],
//! and with long steps [maros2003]: in one step any number of connections move to a path that has become cheaper, since
//! none of their paths is in the basis. All levels are found together, whereas a chain of linear programs [nace2008]
//! starts anew for each level.

mod allocator;
mod basis;
mod columns;
mod filling;
mod pricing;

use std::sync::Arc;

use crate::problem::{Problem, trim};
pub use allocator::Allocator;
use columns::{Columns, Takes};
use filling::{Filling, Proof};

/// A level, the connections that are held there, and the prices that prove it.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    /// Rate divided by weight of every connection that the level holds.
    pub level: f64,
    /// The connections that the level holds, in rising order.
    pub held: Vec<u32>,
    /// The links that hold the connections, each with its price.
    pub prices: Vec<(u32, f64)>,
}

/// Max-min fair rates over all ways to use the paths, with their proof.
#[derive(Clone, Debug, PartialEq)]
pub struct Levelled {
    /// Rate of each path, in the order and unit of the problem.
    pub path_rates: Vec<f64>,
    /// Rate of each connection: the sum over its paths.
    pub connection_rates: Vec<f64>,
    /// The levels, from the lowest to the highest. A connection at none of them has its demand, or no path that carries
    /// anything.
    pub levels: Vec<Level>,
    /// The number of exchanges of one path or link for another.
    pub exchanges: usize,
    /// Whether all rates were found; if not, the numbers differ by too many orders of magnitude.
    /// [`crate::certify_levels()`] checks the proof.
    pub converged: bool,
}

/// The solver for global max-min fairness, which runs event by event.
pub struct GlobalMaxMin {
    problem: Arc<Problem>,
    filling: Filling,
}

impl GlobalMaxMin {
    /// Prepares the first event, with every connection at its demand.
    pub fn new(problem: &Arc<Problem>) -> Self {
        Self::with(problem, Takes::Carrying)
    }

    fn with(problem: &Arc<Problem>, takes: Takes) -> Self {
        Self { problem: Arc::clone(problem), filling: Filling::new(Columns::new(problem, takes)) }
    }

    /// Processes at most `most` more events; returns whether all rates are found.
    pub fn run(&mut self, most: usize) -> bool {
        self.filling.run(most);
        self.filling.is_done()
    }

    /// The sum of all deficits of paths and links below 0, relative to the sum of all demands: the distance of the
    /// rates from fitting.
    ///
    /// It rises now and then, but is 0 at the end.
    pub fn lack(&self) -> f64 {
        self.filling.lack()
    }

    /// The number of exchanges so far.
    pub fn exchanges(&self) -> usize {
        self.filling.exchanges
    }

    /// The rates and their proof, in the units of the problem.
    pub fn finish(mut self) -> Levelled {
        levelled(&self.problem, &mut self.filling)
    }
}

/// The final rates of a filling and their proof, in the units of the problem.
fn levelled(problem: &Problem, filling: &mut Filling) -> Levelled {
    let shares = filling.path_rates();
    let columns = &filling.columns;
    let mut path_rates = vec![0.0; problem.paths()];
    let carries = |&(p, _): &(usize, &f64)| !columns.is_dead(p);
    for (p, share) in shares.iter().enumerate().filter(carries) {
        path_rates[columns.path[p] as usize] = share / columns.rate_scale[columns.owner[p] as usize];
    }
    trim(problem, &mut path_rates);
    let connection_rates = problem.sum_by_connection(&path_rates);
    let level = |proof: &Proof| {
        let price = |&(row, price): &(u32, f64)| (columns.link[row as usize], price * columns.row_scale[row as usize]);
        let binds = |&&(row, _): &&(u32, f64)| columns.capacity[row as usize] > 0.0;
        let mut held: Vec<u32> = proof.held.iter().map(|&c| columns.connection[c as usize]).collect();
        held.sort_unstable();
        Level { level: proof.level, held, prices: proof.prices.iter().filter(binds).map(price).collect() }
    };
    let levels = filling.proofs.iter().map(level).collect();
    let converged = filling.is_sound && filling.fits;
    Levelled { path_rates, connection_rates, levels, exchanges: filling.exchanges, converged }
}

/// Max-min fair rates over all ways to use the paths.
pub fn global_max_min(problem: &Arc<Problem>) -> Levelled {
    let mut solver = GlobalMaxMin::new(problem);
    while !solver.run(usize::MAX) {}
    solver.finish()
}

#[cfg(test)]
mod tests;
