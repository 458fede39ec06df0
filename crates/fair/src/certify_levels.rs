//! The check of max-min fair rates over many paths against the prices of their levels. It shares no code with the
//! solver.
//!
//! Non-negative prices of links bound the rates that all connections can have together, however these are divided:
//!
//! ```text
//! cost[c]    least over the paths of c of the sum over its links of price * coefficient
//! bound      sum over c of rate[c] * cost[c] <= sum over l of capacity[l] * price[l]
//! open       the right side less the left, at the rates given, as a sum of terms that are 0 or more:
//!            sum over l of price * (capacity - load)  +  sum over the paths p of c of (cost of p - cost[c]) * rate[p]
//! ```
//!
//! If `open` is 0, a connection that pays (its cost is over 0) can have more only if another connection that pays has
//! less. If besides no connection that pays has a greater level, none of them can spare anything, and the connection
//! has its max-min fair rate. All rates are max-min fair if every connection either has its demand or pays such prices
//! [nace2008, sec. IV].
//!
//! ```text
//! measure[c]       the greater of the rate and the reserved part; where both are 0 since others have too much reserved,
//!                  what it could have alone at these prices
//! gain[c, k]       (open - rounding) / (cost[c] * measure[c])    possible gain of c alone at the prices of level k
//! outdone[c, k]    (there - rate[c]) / measure[c] there, at the greatest level of all connections that pay
//! shortfall[c]     least over the levels that hold c of the greater of both; and its demand: 1 - rate[c] / demand[c]
//! residual         greatest shortfall[c]; 0 is exactly max-min fair
//! ```
//!
//! The term `rounding` is 1e-9 of the right side, the relative overload that rounding may cause. Where prices differ by
//! many orders of magnitude, a rate depends on the last digits of a capacity, and the check cannot be more exact.
//!
//! The check leaves out paths over links of capacity 0. A connection without any other path has no shortfall.

use crate::certify::{ROUNDING, excess, is_worse, overload_of, worst};
use crate::global_max_min::Level;
use crate::problem::Problem;

/// The result of the check of rates against the prices of their levels.
#[derive(Clone, Debug, PartialEq)]
pub struct LevelCertificate {
    /// Largest overload of a link relative to its capacity, as in [`crate::Certificate`].
    pub overload: f64,
    /// The link with the largest overload; `None` if no link is overloaded.
    pub overloaded_link: Option<usize>,
    /// Largest excess of a connection's rate over its demand, relative to it.
    pub over_demand: f64,
    /// The connection with the largest excess over its demand; `None` if no demand is exceeded.
    pub over_demand_connection: Option<usize>,
    /// The first path whose rate is negative, infinite or NaN.
    pub bad_rate: Option<usize>,
    /// The first level with a price that is negative, infinite or NaN, or with a link or connection that does not
    /// exist.
    pub bad_level: Option<usize>,
    /// Largest shortfall of a connection; 0 for max-min fair rates.
    pub residual: f64,
    /// The connection with the largest shortfall; `None` if every shortfall is 0.
    pub worst_connection: Option<usize>,
    /// The relative tolerance of the check.
    pub tolerance: f64,
}

impl LevelCertificate {
    /// Whether no link is overloaded, no demand is exceeded, and all rates and prices are valid.
    pub fn is_feasible(&self) -> bool {
        let has_good_numbers = self.bad_rate.is_none() && self.bad_level.is_none();
        has_good_numbers && self.overload <= ROUNDING && self.over_demand <= ROUNDING
    }

    /// Whether the rates are feasible and max-min fair, within the tolerance.
    pub fn holds(&self) -> bool {
        self.is_feasible() && self.residual <= self.tolerance
    }
}

/// Checks whether the rates of the connections are max-min fair, given the rates of all paths and the prices of all
/// levels.
///
/// # Panics
/// If `path_rates` is not as long as the list of paths.
pub fn certify_levels(problem: &Problem, path_rates: &[f64], levels: &[Level], tolerance: f64) -> LevelCertificate {
    assert_eq!(path_rates.len(), problem.paths(), "one rate for each path");
    let loads = problem.loads(path_rates);
    let rates = problem.sum_by_connection(path_rates);
    let (overload, overloaded_link) = worst((0..problem.links()).map(|link| overload_of(problem, link, loads[link])));
    let (over_demand, over_demand_connection) =
        worst((0..problem.connections()).map(|c| excess(rates[c], problem.demand(c))));
    let bad_level = levels.iter().position(|level| !is_level(problem, level));
    let given = Given { problem, path_rates, rates: &rates, loads: &loads };
    let shortfalls = if bad_level.is_none() { given.shortfalls(levels) } else { vec![] };
    let (residual, worst_connection) = worst(shortfalls.into_iter());
    LevelCertificate {
        overload,
        overloaded_link,
        over_demand,
        over_demand_connection,
        bad_rate: path_rates.iter().position(|rate| !(rate.is_finite() && *rate >= 0.0)),
        bad_level,
        residual,
        worst_connection,
        tolerance,
    }
}

fn is_level(problem: &Problem, level: &Level) -> bool {
    level.prices.iter().all(|&(link, price)| (link as usize) < problem.links() && price >= 0.0 && price.is_finite())
        && level.held.iter().all(|&c| (c as usize) < problem.connections())
}

/// The rates to check, and the loads and levels that follow from them.
struct Given<'a> {
    problem: &'a Problem,
    path_rates: &'a [f64],
    rates: &'a [f64],
    loads: &'a [f64],
}

impl Given<'_> {
    /// The shortfall of each connection: its distance from a proof that it cannot have more.
    fn shortfalls(&self, levels: &[Level]) -> Vec<f64> {
        let mut shortfalls: Vec<f64> = (0..self.problem.connections()).map(|c| self.unmet(c)).collect();
        let mut prices = vec![0.0; self.problem.links()];
        for level in levels {
            level.prices.iter().for_each(|&(link, price)| prices[link as usize] = price);
            let costs: Vec<f64> = (0..self.problem.connections()).map(|c| self.cost(c, &prices)).collect();
            let value = |&(link, price): &(u32, f64)| price * self.problem.capacity(link as usize);
            let worth: f64 = level.prices.iter().map(value).sum();
            let open = self.open(level, &prices, &costs) - ROUNDING * worth;
            let paying = costs.iter().enumerate().filter(|(_, cost)| **cost > 0.0 && cost.is_finite());
            let top = paying.map(|(c, cost)| self.level_paying(c, *cost, worth)).fold(f64::NEG_INFINITY, f64::max);
            for c in level.held.iter().map(|&c| c as usize).filter(|&c| costs[c] > 0.0) {
                let own = self.rates[c].max(self.problem.reserved(c));
                let measure = if own == 0.0 && self.problem.has_reserved() { worth / costs[c] } else { own };
                let gain = if open > 0.0 { open / (costs[c] * measure) } else { 0.0 };
                let outdone = self.outdone(c, top);
                let shortfall = if is_worse(outdone, gain) { outdone } else { gain };
                if shortfall < shortfalls[c] {
                    shortfalls[c] = shortfall;
                }
            }
            level.prices.iter().for_each(|&(link, _)| prices[link as usize] = 0.0);
        }
        shortfalls
    }

    /// The level of a connection that pays `cost` for a unit of its rate. One that pays nothing to speak of has nothing
    /// to spare, whatever its level.
    fn level_paying(&self, c: usize, cost: f64, worth: f64) -> f64 {
        let pays = !self.problem.has_reserved() || self.rates[c] * cost > ROUNDING * worth;
        if pays { self.problem.level(c, self.rates[c]) } else { f64::NEG_INFINITY }
    }

    /// The part that a connection lacks of its rate at level `top`.
    fn outdone(&self, c: usize, top: f64) -> f64 {
        let (rate, level) = (self.rates[c], self.problem.level(c, self.rates[c]));
        let there = self.problem.rate_at(c, top);
        if top <= level { 0.0 } else { (there - rate) / there.max(self.problem.reserved(c)) }
    }

    /// The unmet part of a connection's demand, relative to the demand; 0 if no path of the connection can carry more.
    fn unmet(&self, c: usize) -> f64 {
        let is_open = |&path: &u32| {
            self.problem.links_of(path as usize).iter().all(|&link| self.problem.capacity(link as usize) > 0.0)
        };
        let demand = self.problem.demand(c);
        let can_gain = demand > 0.0 && self.problem.paths_of(c).iter().any(is_open);
        if can_gain { (1.0 - self.rates[c] / demand).max(0.0) } else { 0.0 }
    }

    /// The price of a unit of rate on a path; infinite for a path over a link of capacity 0.
    fn path_cost(&self, path: u32, prices: &[f64]) -> f64 {
        let uses = self.problem.uses_of(path as usize);
        uses.map(|(l, a)| if self.problem.capacity(l) == 0.0 { f64::INFINITY } else { a * prices[l] }).sum()
    }

    /// The price of a unit of rate on the cheapest path of a connection.
    fn cost(&self, c: usize, prices: &[f64]) -> f64 {
        self.problem.paths_of(c).iter().map(|&path| self.path_cost(path, prices)).fold(f64::INFINITY, f64::min)
    }

    /// The difference between the value of the capacities at these prices and the payments of all connections.
    fn open(&self, level: &Level, prices: &[f64], costs: &[f64]) -> f64 {
        let on_link = |&(link, price): &(u32, f64)| {
            let room = (self.problem.capacity(link as usize) - self.loads[link as usize]).max(0.0);
            if price > 0.0 { price * room } else { 0.0 }
        };
        let dearer = |(path, rate): (usize, &f64)| {
            let cost = costs[self.problem.connection(path)];
            if *rate > 0.0 { (self.path_cost(path as u32, prices) - cost) * rate } else { 0.0 }
        };
        level.prices.iter().map(on_link).sum::<f64>() + self.path_rates.iter().enumerate().map(dearer).sum::<f64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::ProblemParts;

    /// Links of 4 and 10. Connection 0 may take either, connection 1 the first, connection 2 the second.
    ///
    /// 14 for three: connection 1 has at most 4, so it holds the first link alone, and the others share the second.
    fn problem() -> Problem {
        Problem::new(ProblemParts {
            capacity: vec![4.0, 10.0],
            path_offsets: vec![0, 1, 2, 3, 4],
            path_links: vec![0, 1, 0, 1],
            path_connection: vec![0, 0, 1, 2],
            demand: vec![f64::INFINITY; 3],
            weight: vec![1.0; 3],
            coefficient: vec![],
            reserved: vec![],
        })
        .unwrap()
    }

    fn level(level: f64, held: &[u32], prices: &[(u32, f64)]) -> Level {
        Level { level, held: held.to_vec(), prices: prices.to_vec() }
    }

    #[test]
    fn prices_that_pay_for_all_of_their_links_prove_the_rates() {
        // Price 1 on link 0: connection 1 pays 4 * 1 for 4; connection 0 has a free path, and pays nothing. Price 1 on
        // both: connections 0 and 2 pay 5 each and connection 1 pays 4, 14 for 14; all that pay are at 5 at the most.
        let levels = [level(4.0, &[1], &[(0, 1.0)]), level(5.0, &[0, 2], &[(0, 1.0), (1, 1.0)])];
        let found = certify_levels(&problem(), &[0.0, 5.0, 4.0, 5.0], &levels, 1e-9);
        assert!(found.holds() && found.residual == 0.0, "{found:?}");
    }

    #[test]
    fn prices_do_not_prove_less_than_they_bound() {
        // Connection 2 has 4 of the 5 it could have. The prices of both links are worth 14 and 13 are paid: it could
        // gain 1, a quarter of its rate, but for the 1e-9 of 14 that is rounding. Connection 0 could gain a fifth.
        let levels = [level(4.0, &[1], &[(0, 1.0)]), level(5.0, &[0, 2], &[(0, 1.0), (1, 1.0)])];
        let found = certify_levels(&problem(), &[0.0, 5.0, 4.0, 4.0], &levels, 1e-6);
        assert!(found.is_feasible() && !found.holds());
        assert_eq!(found.worst_connection, Some(2));
        assert!((found.residual - (1.0 - 14e-9) / 4.0).abs() < 1e-12);
    }

    #[test]
    fn who_pays_with_others_of_greater_levels_is_outdone() {
        // All of both links is given out, but connection 0 has 6 and connection 2 has 4, which pays with it: 1 - 4 / 6.
        let levels = [level(4.0, &[1], &[(0, 1.0)]), level(5.0, &[0, 2], &[(0, 1.0), (1, 1.0)])];
        let found = certify_levels(&problem(), &[0.0, 6.0, 4.0, 4.0], &levels, 1e-6);
        assert_eq!(found.worst_connection, Some(2));
        assert!((found.residual - 1.0 / 3.0).abs() < 1e-12);
    }

    #[test]
    fn without_a_level_or_a_demand_nothing_is_proved() {
        let found = certify_levels(&problem(), &[0.0, 5.0, 4.0, 5.0], &[], 1e-6);
        assert_eq!((found.residual, found.worst_connection), (1.0, Some(0)));
        // A connection is not held by prices that it does not pay: connection 0 has a free path.
        let found = certify_levels(&problem(), &[0.0, 5.0, 4.0, 5.0], &[level(4.0, &[0, 1], &[(0, 1.0)])], 1e-6);
        assert_eq!(found.worst_connection, Some(0));
    }

    #[test]
    fn prices_and_numbers_that_cannot_be_are_named() {
        for bad in [level(4.0, &[1], &[(0, -1.0)]), level(4.0, &[1], &[(9, 1.0)]), level(4.0, &[9], &[(0, 1.0)])] {
            let found = certify_levels(&problem(), &[0.0, 5.0, 4.0, 5.0], &[level(4.0, &[1], &[(0, 1.0)]), bad], 1e-6);
            assert_eq!(found.bad_level, Some(1));
            assert!(!found.holds());
        }
    }
}
