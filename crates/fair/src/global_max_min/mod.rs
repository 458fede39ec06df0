//! Global max-min fairness over many paths, exactly.
//!
//! What proves that rates are too high are prices on links:
//!
//! ```text
//! cost of a connection = least over its paths of   sum over the links of price * coefficient
//! sum over connections of rate * cost  <=  sum over links of capacity * price          whatever the division
//! ```
//!
//! Where this does not hold, those who pay and have the most come down to one level (rate by weight), at which both
//! sides are equal. Then none of them can have more unless another that pays, and has no more, has less.
//!
//! So everyone has all that it asks for until prices prove that this is too much. Then rates fall to what these prices
//! allow, and so on until they fit. The proofs that hold them then say of everyone why it cannot have more.
//!
//! Rates are made to fit by the dual simplex method [lemke1954], with a basis of the size of the tight links
//! [dantzig1967], and with long steps [maros2003]: in one step any number of connections move to a path that has become
//! cheaper, as nothing of them is in the basis. All levels are found together; a chain of linear programs [nace2008]
//! begins anew for each.

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

/// A level, who is held there, and the prices that prove it.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    /// Rate by weight of all that it holds.
    pub level: f64,
    /// Connections that it holds, rising.
    pub held: Vec<u32>,
    /// Link and price, for the links that hold them.
    pub prices: Vec<(u32, f64)>,
}

/// Max-min fair rates over all ways to use the paths, with their proof.
#[derive(Clone, Debug, PartialEq)]
pub struct Levelled {
    /// Rate of each path, in the order and unit of the problem.
    pub path_rates: Vec<f64>,
    /// Rate of each connection: the sum over its paths.
    pub connection_rates: Vec<f64>,
    /// From the lowest to the highest. Who is at none of them has its demand, or no path that carries anything.
    pub levels: Vec<Level>,
    /// Exchanges of one path or link for another.
    pub exchanges: usize,
    /// Whether all rates were found; if not, numbers lie too far apart. See [`crate::certify_levels()`] for the proof.
    pub converged: bool,
}

/// The solver, event by event.
pub struct GlobalMaxMin {
    problem: Arc<Problem>,
    filling: Filling,
}

impl GlobalMaxMin {
    /// Ready for the first event, with all demands.
    pub fn new(problem: &Arc<Problem>) -> Self {
        Self::with(problem, Takes::Carrying)
    }

    fn with(problem: &Arc<Problem>, takes: Takes) -> Self {
        Self { problem: Arc::clone(problem), filling: Filling::new(Columns::new(problem, takes)) }
    }

    /// Goes through at most `most` more events; says whether all is done.
    pub fn run(&mut self, most: usize) -> bool {
        self.filling.run(most);
        self.filling.is_done()
    }

    /// What paths and links are below 0, together, by what all ask for: how far rates are from fitting.
    ///
    /// Rises now and then, but 0 is the end.
    pub fn lack(&self) -> f64 {
        self.filling.lack()
    }

    /// Exchanges so far.
    pub fn exchanges(&self) -> usize {
        self.filling.exchanges
    }

    /// The rates and their proof, in the units of the problem.
    pub fn finish(mut self) -> Levelled {
        levelled(&self.problem, &mut self.filling)
    }
}

/// The rates that a filling came to and their proof, in the units of the problem.
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
