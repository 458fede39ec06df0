//! An allocator that keeps max-min fair rates up to date while capacities, demands and weights change.

use std::sync::Arc;

use super::columns::Takes;
use super::filling::Filling;
use super::{GlobalMaxMin, Levelled, levelled};
use crate::problem::{Changes, Problem, ProblemError};

/// A problem and its max-min fair rates, ready for changes.
///
/// The rates of connections are unique: they do not depend on the order of earlier changes. The division of a rate
/// among paths may depend on it.
pub struct Allocator {
    problem: Arc<Problem>,
    filling: Filling,
    is_proved: bool,
}

/// Relative tolerance of the proof of the rates after a change.
const TOLERANCE: f64 = 1e-6;

impl Allocator {
    /// Solves the problem.
    pub fn new(problem: &Arc<Problem>) -> Self {
        let mut filling = solved(problem);
        let is_proved = filling.is_proved(TOLERANCE);
        Self { problem: Arc::clone(problem), filling, is_proved }
    }

    /// The problem as it is now.
    pub fn problem(&self) -> &Arc<Problem> {
        &self.problem
    }

    /// Changes demands, weights or capacities of the present paths; a capacity of 0 stands for a failed link.
    ///
    /// # Errors
    /// Returns an error in the cases that [`Problem::changed`] lists; then nothing changes.
    pub fn update(&mut self, changes: Changes) -> Result<(), ProblemError> {
        self.follow(&Arc::new(self.problem.changed(changes)?));
        Ok(())
    }

    /// Changes over to another problem.
    ///
    /// The allocator follows changed numbers where the paths are those of [`Problem::changed`]. It solves the problem
    /// from the beginning where there are other paths or connections, or where a capacity becomes or ceases to be
    /// infinite. It also does so where the rates are not proved, since the cause may be rounding in earlier changes.
    pub fn follow(&mut self, problem: &Arc<Problem>) {
        let before = std::mem::replace(&mut self.problem, Arc::clone(problem));
        let filling = &mut self.filling;
        let can_follow = filling.is_sound && before.shares_paths(problem) && filling.columns.follow(problem, &before);
        if can_follow {
            filling.follow();
        }
        self.is_proved = can_follow && filling.is_proved(TOLERANCE);
        if !self.is_proved {
            self.filling = solved(problem);
            self.is_proved = self.filling.is_proved(TOLERANCE);
        }
    }

    /// Whether the rates of all connections are proved to a millionth; if not, the numbers differ by too many orders of
    /// magnitude.
    pub fn is_proved(&self) -> bool {
        self.is_proved
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

    /// The number of exchanges of one path or link for another in the last change.
    pub fn exchanges(&self) -> usize {
        self.filling.exchanges
    }

    /// The rates of all paths and connections, and their proof.
    pub fn levelled(&mut self) -> Levelled {
        levelled(&self.problem, &mut self.filling)
    }
}

/// A completed filling, ready to follow changes.
fn solved(problem: &Arc<Problem>) -> Filling {
    let mut solver = GlobalMaxMin::with(problem, Takes::All);
    while !solver.run(usize::MAX) {}
    solver.filling
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::certify_levels::certify_levels;
    use crate::testing::parts;

    const NONE: f64 = f64::INFINITY;

    /// Links of 4 and 10. Connection 0 may take either, connection 1 the first, connection 2 the second.
    fn shared() -> Arc<Problem> {
        Arc::new(Problem::new(parts(&[4.0, 10.0], &[&[&[0], &[1]], &[&[0]], &[&[1]]])).unwrap())
    }

    fn assert_rates(allocator: &mut Allocator, wanted: &[f64]) {
        let found = allocator.levelled();
        let is_close = |rates: &[f64]| rates.iter().zip(wanted).all(|(a, b)| (a - b).abs() <= 1e-12 * b);
        assert!(is_close(&found.connection_rates) && is_close(&allocator.connection_rates()), "{found:?}");
        let proof = certify_levels(allocator.problem(), &found.path_rates, &found.levels, 1e-12);
        assert!(found.converged && proof.holds(), "{proof:?}");
        assert!(allocator.is_proved());
    }

    fn demand(values: [f64; 3]) -> Changes {
        Changes { demand: Some(values.to_vec()), ..Changes::default() }
    }

    fn capacity(values: [f64; 2]) -> Changes {
        Changes { capacity: Some(values.to_vec()), ..Changes::default() }
    }

    #[test]
    fn rates_follow_demands_there_and_back() {
        // 1 holds the first link alone, at 4; 0 and 2 have 5 each of the second. If 1 wants 1, 13 are left for 0 and 2:
        // 6.5 each, of which 0 has 3 on the first link. If 2 wants 2 besides, 0 has the rest: 11.
        let mut allocator = Allocator::new(&shared());
        for (values, wanted) in [
            ([NONE; 3], [5.0, 4.0, 5.0]),
            ([NONE, 1.0, NONE], [6.5, 1.0, 6.5]),
            ([NONE, 1.0, 2.0], [11.0, 1.0, 2.0]),
            ([0.0, 1.0, 2.0], [0.0, 1.0, 2.0]),
            ([NONE; 3], [5.0, 4.0, 5.0]),
        ] {
            allocator.update(demand(values)).unwrap();
            assert_rates(&mut allocator, &wanted);
        }
    }

    #[test]
    fn a_change_that_moves_nobody_takes_no_exchange() {
        // The second link has 12 in place of 10: 0 and 2 have 6 each on the same paths.
        let mut allocator = Allocator::new(&shared());
        allocator.update(capacity([4.0, 12.0])).unwrap();
        assert_eq!(allocator.exchanges(), 0);
        assert_rates(&mut allocator, &[6.0, 4.0, 6.0]);
    }

    #[test]
    fn a_link_that_fails_comes_back() {
        // Without the second link 2 has nothing, and 0 and 1 have 2 each of the first. Without the first 1 has nothing,
        // and 0 and 2 have 5 each of the second.
        let mut allocator = Allocator::new(&shared());
        for (values, wanted) in [
            ([4.0, 0.0], [2.0, 2.0, 0.0]),
            ([4.0, 10.0], [5.0, 4.0, 5.0]),
            ([0.0, 10.0], [5.0, 0.0, 5.0]),
            ([0.0, 0.0], [0.0, 0.0, 0.0]),
            ([4.0, 10.0], [5.0, 4.0, 5.0]),
        ] {
            allocator.update(capacity(values)).unwrap();
            assert_rates(&mut allocator, &wanted);
        }
    }

    #[test]
    fn levels_change_places_with_the_weights() {
        // With weight 4 connection 1 would be at level 1 with all of the first link, and 0 and 2 at 5: no rate moves.
        // With weight 1/4 for it 0, 1 and 2 share 14 at one level: 1 has 14 / 9 and the others 56 / 9 each.
        let mut allocator = Allocator::new(&shared());
        for (weight, wanted) in [(4.0, [5.0, 4.0, 5.0]), (0.25, [56.0 / 9.0, 14.0 / 9.0, 56.0 / 9.0])] {
            allocator.update(Changes { weight: Some(vec![1.0, weight, 1.0]), ..Changes::default() }).unwrap();
            assert_rates(&mut allocator, &wanted);
        }
    }

    #[test]
    fn connections_come_and_go_and_links_begin_to_bind() {
        // A fourth connection on the second link: all four can have 14 / 4, with 0.5 of connection 0 on the first link.
        let mut allocator = Allocator::new(&shared());
        let four = Problem::new(parts(&[4.0, 10.0], &[&[&[0], &[1]], &[&[0]], &[&[1]], &[&[1]]])).unwrap();
        allocator.follow(&Arc::new(four));
        assert_rates(&mut allocator, &[3.5; 4]);
        allocator.follow(&shared());
        assert_rates(&mut allocator, &[5.0, 4.0, 5.0]);
        // The second link without limit, for demands of 7: 0 and 2 have them. With 10 again they have 5 each.
        allocator.update(demand([7.0; 3])).unwrap();
        allocator.update(capacity([4.0, NONE])).unwrap();
        assert_rates(&mut allocator, &[7.0, 4.0, 7.0]);
        allocator.update(capacity([4.0, 10.0])).unwrap();
        assert_rates(&mut allocator, &[5.0, 4.0, 5.0]);
    }

    #[test]
    fn drift_that_could_hide_an_overload_is_summed_away_and_wrong_sums_are_refused() {
        let mut allocator = Allocator::new(&shared());
        allocator.filling.drift.fill(1e-3);
        assert!(allocator.filling.is_proved(TOLERANCE), "the sums are made anew, and are exact");
        // Sums that the rates do not bear out: the second link is said to carry 1 more than it does.
        allocator.filling.used[1] += 1.0;
        assert!(!allocator.filling.is_proved(TOLERANCE));
    }

    #[test]
    fn a_rate_that_its_level_does_not_allow_is_not_proved() {
        // 6.5 of the 13 are right for 0; with 6.4 it could gain, and with 6.6 the links would be overloaded.
        let mut allocator = Allocator::new(&shared());
        allocator.update(demand([NONE, 1.0, NONE])).unwrap();
        assert!(allocator.is_proved());
        for wrong in [6.4, 6.6] {
            let right = std::mem::replace(&mut allocator.filling.rate[0], wrong);
            assert!(!allocator.filling.is_proved(TOLERANCE), "{wrong}");
            allocator.filling.rate[0] = right;
        }
        assert!(allocator.filling.is_proved(TOLERANCE));
    }

    #[test]
    fn what_cannot_be_is_refused_with_its_place_and_changes_nothing() {
        let mut allocator = Allocator::new(&shared());
        let error = allocator.update(demand([1.0, -1.0, 1.0])).unwrap_err().to_string();
        assert!(error.starts_with("connection 1: demand is -1"), "{error}");
        assert_rates(&mut allocator, &[5.0, 4.0, 5.0]);
    }
}
