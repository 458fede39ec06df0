//! Max-min fair rates that follow changes of what is shared.

use std::sync::Arc;

use super::filling::Filling;
use super::{GlobalMaxMin, Levelled, levelled, patience};
use crate::problem::{Changes, Problem, ProblemError};

/// A problem and its max-min fair rates, ready for changes.
///
/// Rates of connections are unique: they do not depend on the way there. Their division among paths may.
pub struct Allocator {
    problem: Arc<Problem>,
    filling: Filling,
}

impl Allocator {
    /// Solves the problem.
    pub fn new(problem: &Arc<Problem>) -> Self {
        Self { problem: Arc::clone(problem), filling: solved(problem) }
    }

    /// The problem as it is now.
    pub fn problem(&self) -> &Arc<Problem> {
        &self.problem
    }

    /// Other numbers for the same paths: demands, weights, capacities; 0 for a link that fails.
    ///
    /// # Errors
    /// As [`Problem::changed`]; then nothing changes.
    pub fn update(&mut self, changes: Changes) -> Result<(), ProblemError> {
        let problem = Arc::new(self.problem.changed(changes)?);
        let before = std::mem::replace(&mut self.problem, problem);
        let filling = &mut self.filling;
        if filling.is_sound && filling.columns.follow(&self.problem, &before) {
            filling.follow(patience(&filling.columns));
        } else {
            filling.is_sound = false;
        }
        if !filling.is_sound {
            self.filling = solved(&self.problem);
        }
        Ok(())
    }

    /// Another problem, with connections or paths added or taken away: solved from the beginning.
    pub fn replace(&mut self, problem: &Arc<Problem>) {
        *self = Self::new(problem);
    }

    /// The rate of each connection.
    pub fn connection_rates(&self) -> Vec<f64> {
        let columns = &self.filling.columns;
        let mut rates = vec![0.0; self.problem.connections()];
        for ((&c, rate), scale) in columns.connection.iter().zip(&self.filling.rate).zip(&columns.rate_scale) {
            rates[c as usize] = rate / scale;
        }
        rates
    }

    /// Exchanges of one path or link for another that the last change took.
    pub fn exchanges(&self) -> usize {
        self.filling.exchanges
    }

    /// The rates of all paths and connections, and their proof.
    pub fn levelled(&mut self) -> Levelled {
        self.filling.tell_held();
        levelled(&self.problem, &mut self.filling)
    }
}

/// A filling that came to its end, ready to follow changes.
fn solved(problem: &Arc<Problem>) -> Filling {
    let mut solver = GlobalMaxMin::new(problem);
    while !solver.run(usize::MAX) {}
    solver.filling.begin_following();
    solver.filling
}
