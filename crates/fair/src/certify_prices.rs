//! The check of rates and prices against the conditions of the greatest utility. It shares no code with the solver.
//!
//! Rates and link prices maximise the sum of `weight * U(level)`, U' = level^-alpha, if and only if they are feasible,
//! prices are 0 or more, and [kelly1998, sec. 2; cao2012, prop. 1]:
//!
//! ```text
//! level[c]    rate of connection c / its weight;      U'[c] = level[c]^-alpha, the worth of one more unit of rate
//! price[p]    sum over the links of p of coefficient * price[l]
//! offer[c]    payment of c for a unit of rate: U'[c]; if its demand is met, at most the least price[p] of its paths
//! cheap[p]    1 - price[p] / offer[c]                 a path that is too cheap: c should send more
//! dear[p]     min(portion of p in c, 1 - offer[c] / price[p])      a path in use though others are cheaper
//! idle[l]     min(1 - load[l] / capacity[l], greatest coefficient * price[l] / offer[c] of a path on l)
//!             a link that is not full and yet has a relevant price
//! residual    greatest cheap, dear or idle; 0 is the optimum
//! ```
//!
//! The condition that no path is dear or cheap is the congestion equality principle [cao2012, cor. 1]: all paths in use
//! of a connection have the least price among its paths, and that price is the marginal utility. Where a demand is met
//! at a price far below the marginal utility, the check measures prices relative to at least `tolerance * U'[c]`.
//!
//! The duality gap is `D(price) - sum of weight * U(level)` with the dual function D of [cao2012, eq. 4], relative to
//! the total payment of all connections at their marginal utilities. Each term of the sum is 0 or more, so that nothing
//! cancels:
//!
//! ```text
//! gap = sum over l of price[l] * (capacity[l] - load[l])  +  sum over p of (price[p] - least[c]) * rate[p]
//!     + sum over c of V(best rate at price least[c]) - V(rate),    V(y) = weight * U(y / weight) - least[c] * y
//! ```
//!
//! A link of capacity 0 has an infinite price, since it cannot carry anything at any price; the check leaves out its
//! paths.

use crate::certify::{Bottleneck, ROUNDING, excess, is_worse, overload_of, worst};
use crate::problem::Problem;

/// The path or link where the residual is greatest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Worst {
    /// The residual is 0 everywhere.
    Nothing,
    /// A path that is too cheap: its connection should send more on it.
    Cheap(usize),
    /// A path that is in use though it is too dear.
    Dear(usize),
    /// A link that is not full and yet has a price.
    Idle(usize),
}

/// The result of the check of rates and prices.
#[derive(Clone, Debug, PartialEq)]
pub struct PriceCertificate {
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
    /// The first link whose price is negative or NaN, or infinite though the capacity is over 0.
    pub bad_price: Option<usize>,
    /// Greatest deviation of a path or link from the conditions of the optimum; 0 means exactly optimal.
    pub residual: f64,
    /// The path or link with the greatest deviation.
    pub worst: Worst,
    /// Duality gap relative to the sum of rate times marginal utility.
    pub gap: f64,
    /// The bottleneck of each path: its dearest link, or the demand where the demand limits the connection.
    pub bottlenecks: Vec<Bottleneck>,
    /// The price of each path: the sum over its links of the price for a unit of its rate.
    pub path_prices: Vec<f64>,
    /// The marginal utility of each connection: level^-alpha; infinite at rate 0.
    pub marginal_utilities: Vec<f64>,
    /// The level of each connection: its rate divided by its weight.
    pub levels: Vec<f64>,
    /// The load on each link, in the unit of the capacities.
    pub loads: Vec<f64>,
    /// The relative tolerance of the check.
    pub tolerance: f64,
}

impl PriceCertificate {
    /// Whether no link is overloaded, no demand is exceeded, and all rates and prices are valid.
    pub fn is_feasible(&self) -> bool {
        let has_good_numbers = self.bad_rate.is_none() && self.bad_price.is_none();
        has_good_numbers && self.overload <= ROUNDING && self.over_demand <= ROUNDING
    }

    /// Whether rates and prices are feasible and optimal, within the tolerance.
    pub fn holds(&self) -> bool {
        self.is_feasible() && self.residual <= self.tolerance && self.gap <= self.tolerance
    }
}

/// Checks whether the rates of all paths and the prices of all links are the optimum for `alpha`.
///
/// # Panics
/// If `path_rates` is not as long as the list of paths, or `link_prices` not as long as the list of links.
pub fn certify_prices(
    problem: &Problem,
    alpha: f64,
    path_rates: &[f64],
    link_prices: &[f64],
    tolerance: f64,
) -> PriceCertificate {
    assert_eq!(path_rates.len(), problem.paths(), "one rate for each path");
    assert_eq!(link_prices.len(), problem.links(), "one price for each link");
    let market = Market::new(problem, alpha, path_rates, link_prices, tolerance);
    let (overload, overloaded_link) =
        worst((0..problem.links()).map(|link| overload_of(problem, link, market.loads[link])));
    let (over_demand, over_demand_connection) =
        worst((0..problem.connections()).map(|c| excess(market.rates[c], problem.demand(c))));
    let is_bad_price =
        |(l, &price): (usize, &f64)| !(price >= 0.0 && (price.is_finite() || problem.capacity(l) == 0.0));
    let (residual, at) = market.residual();
    PriceCertificate {
        overload,
        overloaded_link,
        over_demand,
        over_demand_connection,
        bad_rate: path_rates.iter().position(|rate| !(rate.is_finite() && *rate >= 0.0)),
        bad_price: link_prices.iter().enumerate().position(is_bad_price),
        residual,
        worst: at,
        gap: market.gap(),
        bottlenecks: (0..problem.paths()).map(|path| market.bottleneck(path)).collect(),
        path_prices: market.path_prices,
        marginal_utilities: market.marginal,
        levels: market.levels,
        loads: market.loads,
        tolerance,
    }
}

/// The loads, levels, prices and payments that follow from given rates and link prices.
struct Market<'a> {
    problem: &'a Problem,
    alpha: f64,
    path_rates: &'a [f64],
    link_prices: &'a [f64],
    tolerance: f64,
    loads: Vec<f64>,
    rates: Vec<f64>,
    levels: Vec<f64>,
    marginal: Vec<f64>,
    path_prices: Vec<f64>,
    /// The least path price of each connection; infinite if no path of it is open.
    least: Vec<f64>,
    is_met: Vec<bool>,
    /// The payment of each connection for a unit of rate.
    offer: Vec<f64>,
}

impl<'a> Market<'a> {
    fn new(problem: &'a Problem, alpha: f64, path_rates: &'a [f64], link_prices: &'a [f64], tolerance: f64) -> Self {
        let rates = problem.sum_by_connection(path_rates);
        let levels: Vec<f64> = rates.iter().enumerate().map(|(c, rate)| rate / problem.weight(c)).collect();
        let marginal: Vec<f64> = levels.iter().map(|level| level.powf(-alpha)).collect();
        let price = |path| problem.uses_of(path).fold(0.0, |sum, (l, coefficient)| sum + coefficient * link_prices[l]);
        let path_prices: Vec<f64> = (0..problem.paths()).map(price).collect();
        let least: Vec<f64> = (0..problem.connections())
            .map(|c| problem.paths_of(c).iter().map(|&p| path_prices[p as usize]).fold(f64::INFINITY, f64::min))
            .collect();
        let is_met: Vec<bool> =
            rates.iter().enumerate().map(|(c, rate)| *rate >= problem.demand(c) * (1.0 - ROUNDING)).collect();
        let offer = (0..rates.len()).map(|c| if is_met[c] { marginal[c].min(least[c]) } else { marginal[c] }).collect();
        let loads = problem.loads(path_rates);
        Self {
            problem,
            alpha,
            path_rates,
            link_prices,
            tolerance,
            loads,
            rates,
            levels,
            marginal,
            path_prices,
            least,
            is_met,
            offer,
        }
    }

    /// The least price that is relevant beside the payment of `connection`.
    fn scale(&self, connection: usize) -> f64 {
        self.offer[connection].max(self.tolerance * self.marginal[connection])
    }

    fn residual(&self) -> (f64, Worst) {
        let mut found = (0.0, Worst::Nothing);
        let mut look = |value: f64, at: Worst| {
            if is_worse(value, found.0) {
                found = (value, at);
            }
        };
        // For each link, the greatest ratio of its price, for a unit of rate, to the payment of a connection.
        let mut share = vec![0.0f64; self.problem.links()];
        for path in 0..self.problem.paths() {
            let c = self.problem.connection(path);
            let price = self.path_prices[path];
            if price.is_infinite() {
                // The link cannot carry anything; a rate would be an overload.
                continue;
            }
            if self.rates[c] == 0.0 {
                look(if self.is_met[c] { 0.0 } else { 1.0 }, Worst::Cheap(path));
                continue;
            }
            if !self.is_met[c] {
                look(1.0 - price / self.marginal[c], Worst::Cheap(path));
            }
            let too_much = (price - self.offer[c]) / price.max(self.scale(c));
            look(too_much.min(self.path_rates[path] / self.rates[c]), Worst::Dear(path));
            for (link, coefficient) in self.problem.uses_of(path) {
                share[link] = share[link].max(coefficient * self.link_prices[link] / self.scale(c));
            }
        }
        for (link, &share) in share.iter().enumerate() {
            let capacity = self.problem.capacity(link);
            let slack = if capacity.is_infinite() { 1.0 } else { 1.0 - self.loads[link] / capacity };
            look(if share > 0.0 { slack.min(share) } else { 0.0 }, Worst::Idle(link));
        }
        found
    }

    fn gap(&self) -> f64 {
        let (mut gap, mut paid) = (0.0, 0.0);
        for (link, &price) in self.link_prices.iter().enumerate() {
            let room = self.problem.capacity(link) - self.loads[link];
            gap += if price > 0.0 && price.is_finite() { price * room.max(0.0) } else { 0.0 };
        }
        for (path, &rate) in self.path_rates.iter().enumerate() {
            if rate > 0.0 && self.path_prices[path].is_finite() {
                gap += (self.path_prices[path] - self.least[self.problem.connection(path)]) * rate;
            }
        }
        for c in (0..self.rates.len()).filter(|&c| self.least[c].is_finite() && self.problem.demand(c) > 0.0) {
            if self.rates[c] == 0.0 {
                return f64::INFINITY;
            }
            gap += self.loss(c);
            paid += self.rates[c] * self.marginal[c];
        }
        if paid > 0.0 { gap / paid } else { gap }
    }

    /// The utility that `connection` loses because it does not have the best rate for its least price.
    fn loss(&self, connection: usize) -> f64 {
        let (weight, price, level) = (self.problem.weight(connection), self.least[connection], self.levels[connection]);
        let best = price.powf(-1.0 / self.alpha).min(self.problem.demand(connection) / weight);
        let more = best.ln() - level.ln();
        // level^(1 - alpha) * (e^((1 - alpha) * more) - 1) / (1 - alpha), which is `more` where alpha is 1.
        let exponent = (1.0 - self.alpha) * more;
        let gained = if exponent == 0.0 { more } else { exponent.exp_m1() / exponent * more };
        let worth = level.powf(1.0 - self.alpha) * gained;
        (weight * (worth - price * level * more.exp_m1())).max(0.0)
    }

    fn bottleneck(&self, path: usize) -> Bottleneck {
        let c = self.problem.connection(path);
        if self.is_met[c] && self.offer[c] < self.marginal[c] * (1.0 - self.tolerance) {
            return Bottleneck::Demand;
        }
        let charges =
            self.problem.uses_of(path).map(|(link, coefficient)| (link, coefficient * self.link_prices[link]));
        let dearest =
            charges.fold((None, 0.0), |most, (link, charge)| if charge > most.1 { (Some(link), charge) } else { most });
        match dearest.0 {
            Some(link) => Bottleneck::Link(link as u32),
            None if self.is_met[c] => Bottleneck::Demand,
            None => Bottleneck::None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::ProblemParts;

    /// Links of 6 and 9; connection 0 on the first, 1 on both (a path each), 2 on the second.
    fn figure(demand: f64) -> Problem {
        Problem::new(ProblemParts {
            capacity: vec![6.0, 9.0],
            path_offsets: vec![0, 1, 2, 3, 4],
            path_links: vec![0, 0, 1, 1],
            path_connection: vec![0, 1, 1, 2],
            demand: vec![f64::INFINITY, demand, f64::INFINITY],
            weight: vec![1.0; 3],
            coefficient: vec![],
            reserved: vec![],
        })
        .unwrap()
    }

    const OPEN: f64 = f64::INFINITY;

    #[test]
    fn the_optimum_holds_without_a_gap() {
        // 15 for three: 5 each, at a price of 1/5 everywhere.
        let certificate = certify_prices(&figure(OPEN), 1.0, &[5.0, 1.0, 4.0, 5.0], &[0.2, 0.2], 1e-9);
        assert!(certificate.holds(), "{certificate:?}");
        assert!(certificate.residual < 1e-15 && certificate.gap < 1e-15);
        assert_eq!(certificate.bottlenecks[..2], [Bottleneck::Link(0); 2]);
    }

    #[test]
    fn a_path_that_is_too_cheap_or_too_dear_is_named() {
        // The first link charges 1/4 instead of 1/5: for 1 of connection 1's 5 units a fifth of the price is too much,
        // and all of connection 0's: the excess 1 - (1/5) / (1/4) = 1/5 is less than its portion of 1.
        let dear = certify_prices(&figure(OPEN), 1.0, &[5.0, 1.0, 4.0, 5.0], &[0.25, 0.2], 1e-9);
        assert_eq!(dear.worst, Worst::Dear(0));
        assert!((dear.residual - 0.2).abs() < 1e-12 && !dear.holds());
        // It charges 1/10: half of what connection 0 would pay.
        let cheap = certify_prices(&figure(OPEN), 1.0, &[5.0, 1.0, 4.0, 5.0], &[0.1, 0.2], 1e-9);
        assert_eq!(cheap.worst, Worst::Cheap(0));
        assert!((cheap.residual - 0.5).abs() < 1e-12);
    }

    #[test]
    fn a_price_on_a_link_with_room_is_named_and_leaves_a_gap() {
        // Everyone has half: marginal utilities are 2/5, and links are half empty. At these prices nobody wants more;
        // of what is paid, 2/5 * 7.5 = 3, the links' empty halves would earn 2/5 * 7.5 = 3 as well.
        let idle = certify_prices(&figure(OPEN), 1.0, &[2.5, 0.5, 2.0, 2.5], &[0.4, 0.4], 1e-9);
        assert!(matches!(idle.worst, Worst::Idle(_)) && idle.is_feasible());
        assert!((idle.residual - 0.5).abs() < 1e-12 && (idle.gap - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_met_demand_needs_the_least_price_only() {
        // Connection 1 wants 3: 6 for 0 and 6 for 2 at 1/6, and 3 on the second link, though it would pay 1/3. On the
        // first link it would pay no more.
        let met = certify_prices(&figure(3.0), 1.0, &[6.0, 0.0, 3.0, 6.0], &[1.0 / 6.0; 2], 1e-9);
        assert!(met.holds(), "{met:?}");
        assert_eq!(met.bottlenecks[2], Bottleneck::Demand);
    }

    #[test]
    fn bad_rates_and_prices_are_infeasible() {
        for bad in [f64::NAN, -1.0, f64::INFINITY] {
            let rate = certify_prices(&figure(OPEN), 1.0, &[5.0, bad, 4.0, 5.0], &[0.2, 0.2], 1e-9);
            assert!(rate.bad_rate == Some(1) && !rate.holds());
            let price = certify_prices(&figure(OPEN), 1.0, &[5.0, 1.0, 4.0, 5.0], &[0.2, bad], 1e-9);
            assert!(price.bad_price == Some(1) && !price.holds());
        }
        let over = certify_prices(&figure(OPEN), 1.0, &[5.0, 2.0, 4.0, 5.0], &[0.2, 0.2], 1e-9);
        assert_eq!(over.overloaded_link, Some(0));
    }

    #[test]
    fn nobody_may_be_left_with_nothing() {
        let none = certify_prices(&figure(OPEN), 1.0, &[0.0, 6.0, 0.0, 9.0], &[0.2, 0.2], 1e-9);
        assert_eq!((none.residual, none.gap), (1.0, f64::INFINITY));
    }
}
