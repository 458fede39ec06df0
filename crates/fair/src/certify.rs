//! The check of an allocation against the definitions alone. It shares no code with the solvers.
//!
//! ```text
//! load[l]            sum over the paths on l of coefficient * rate;  overload = (load - capacity) / capacity
//! level[c]           (rate of connection c - its reserved part) / its weight;  below 0: / its reserved part
//! measure[c]         the greater of the rate and the reserved part: the part x of c is x * measure[c]; the capacity where
//!                    both are 0 since others have too much reserved
//! larger[c, l, x]    total load on l of the connections with a level over that of c with the part x more
//! own[p, l]          coefficient * measure of the connection of p, at most the capacity
//! shortfall[p, l]    least x for which  1 - load / capacity <= x  and  larger[c, l, x] <= x * own[p, l];  at least 0
//! shortfall[p]       least over the links of p, and over c's demand: 1 - rate[c] / demand[c]
//! residual           greatest shortfall[p]
//! ```
//!
//! Link l is a bottleneck of path p if `shortfall[p, l]` is 0: l is saturated, and no other connection on it has a
//! greater level [ludena2021, def. 1]. An allocation is upward max-min fair if no link is overloaded and every path
//! either has a bottleneck or belongs to a connection whose demand is met [danna2017]. Where each connection has one
//! path, such an allocation is max-min fair [bertsekas1992, sec. 6.5.2].
//!
//! A path whose rate is about to vanish still carries a little, and its connection may have a far greater level. The
//! definition of `larger` ignores such a path only where it makes no difference: if the whole load of the larger
//! connections on l were given to the connection that l holds back, the rate of this connection would grow by no more
//! than the part x.

mod larger;

use crate::problem::Problem;
use larger::LargerOnLinks;

/// The reason why the rate of a path cannot grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bottleneck {
    /// A saturated link on which the connection has the greatest level.
    Link(u32),
    /// The demand of the connection, which is met.
    Demand,
    /// No reason within the tolerance: the allocation is not fair to this path.
    None,
}

/// The result of the check of an allocation.
#[derive(Clone, Debug, PartialEq)]
pub struct Certificate {
    /// Largest overload of a link relative to its capacity; 0 if no link is overloaded. The overload of a link of
    /// capacity 0 is relative to the largest finite capacity.
    pub overload: f64,
    /// The link with the largest overload; `None` if no link is overloaded.
    pub overloaded_link: Option<usize>,
    /// Largest excess of a connection's rate over its demand, relative to the demand; infinite where the demand is 0.
    pub over_demand: f64,
    /// The connection with the largest excess over its demand; `None` if no demand is exceeded.
    pub over_demand_connection: Option<usize>,
    /// The first path whose rate is negative, infinite or NaN.
    pub bad_rate: Option<usize>,
    /// Largest shortfall of a path; 0 for a fair allocation.
    pub residual: f64,
    /// The path with the largest shortfall; `None` if every shortfall is 0.
    pub worst_path: Option<usize>,
    /// The bottleneck of each path: the link with the least shortfall, if that is within the tolerance.
    pub bottlenecks: Vec<Bottleneck>,
    /// The level of each connection: its rate without the reserved part, divided by its weight; where the reserved part
    /// is not met, the missing share of it, below 0.
    pub levels: Vec<f64>,
    /// The load on each link, in the unit of the capacities.
    pub loads: Vec<f64>,
    /// The relative tolerance of the check.
    pub tolerance: f64,
}

/// The relative overload of a link that rounding alone may cause.
pub const ROUNDING: f64 = 1e-9;

impl Certificate {
    /// Whether no link is overloaded, no demand exceeded, and all rates are finite and 0 or more.
    pub fn is_feasible(&self) -> bool {
        self.bad_rate.is_none() && self.overload <= ROUNDING && self.over_demand <= ROUNDING
    }

    /// Whether the allocation is feasible and every path has a bottleneck, within the tolerance.
    pub fn holds(&self) -> bool {
        self.is_feasible() && self.residual <= self.tolerance
    }
}

/// Checks the rates of all paths against the problem.
///
/// # Panics
/// If `path_rates` is not as long as the list of paths.
pub fn certify(problem: &Problem, path_rates: &[f64], tolerance: f64) -> Certificate {
    assert_eq!(path_rates.len(), problem.paths(), "one rate for each path");
    let loads = problem.loads(path_rates);
    let rates = problem.sum_by_connection(path_rates);
    let levels: Vec<f64> = rates.iter().enumerate().map(|(c, &rate)| problem.level(c, rate)).collect();
    let bad_rate = path_rates.iter().position(|rate| !(rate.is_finite() && *rate >= 0.0));
    let (overload, overloaded_link) = worst((0..problem.links()).map(|link| overload_of(problem, link, loads[link])));
    let (over_demand, over_demand_connection) =
        worst((0..problem.connections()).map(|c| excess(rates[c], problem.demand(c))));

    let slacks: Vec<f64> = loads.iter().enumerate().map(|(link, &load)| slack(problem.capacity(link), load)).collect();
    let given = Given { problem, path_rates, rates: &rates, levels: &levels, slacks: &slacks };
    let held = given.bottlenecks();
    let bottlenecks = held.iter().map(|&(short, by)| if short <= tolerance { by } else { Bottleneck::None }).collect();
    let (residual, worst_path) = worst(held.iter().map(|&(shortfall, _)| shortfall));
    Certificate {
        overload,
        overloaded_link,
        over_demand,
        over_demand_connection,
        bad_rate,
        residual,
        worst_path,
        bottlenecks,
        levels,
        loads,
        tolerance,
    }
}

pub(crate) fn overload_of(problem: &Problem, link: usize, load: f64) -> f64 {
    let capacity = problem.capacity(link);
    if capacity == 0.0 && load > 0.0 {
        let finite = (0..problem.links()).map(|l| problem.capacity(l)).filter(|c| c.is_finite());
        let largest = finite.fold(0.0, f64::max);
        return if largest > 0.0 { load / largest } else { f64::INFINITY };
    }
    excess(load, capacity)
}

/// The excess of `value` over `limit`, relative to `limit`; 0 if there is none.
pub(crate) fn excess(value: f64, limit: f64) -> f64 {
    if value <= limit {
        0.0
    } else if limit > 0.0 {
        (value - limit) / limit
    } else {
        f64::INFINITY
    }
}

/// The greatest value and its index; 0 and `None` if no value is over 0. NaN counts as the greatest.
pub(crate) fn worst(values: impl Iterator<Item = f64>) -> (f64, Option<usize>) {
    let mut found = (0.0, None);
    for (at, value) in values.enumerate() {
        if is_worse(value, found.0) {
            found = (value, Some(at));
        }
    }
    found
}

/// Whether `value` is worse than `other`: greater, or NaN.
pub(crate) fn is_worse(value: f64, other: f64) -> bool {
    value.is_nan() || value > other
}

/// The rates to check, and the loads and levels that follow from them.
struct Given<'a> {
    problem: &'a Problem,
    path_rates: &'a [f64],
    rates: &'a [f64],
    levels: &'a [f64],
    slacks: &'a [f64],
}

impl Given<'_> {
    /// The shortfall of each path, and the bottleneck that determines it.
    fn bottlenecks(&self) -> Vec<(f64, Bottleneck)> {
        let top = self.tops();
        // The load of larger connections matters only on links that are fuller than the best one that is found without
        // it.
        let mut is_open = vec![false; self.problem.links()];
        let mut held = Vec::with_capacity(self.problem.paths());
        for path in 0..self.problem.paths() {
            let best = self.best_without_rivals(path, &top);
            if best.0 > 0.0 {
                let level = self.level_of(path);
                for &link in self.problem.links_of(path) {
                    let l = link as usize;
                    is_open[l] |= top[l] > level && self.slacks[l] < best.0;
                }
            }
            held.push(best);
        }
        let larger = LargerOnLinks::new(self.problem, self.path_rates, self.levels, &is_open);
        // For each link, the connection that was compared there last, with its possible use of the link and its
        // shortfall: the paths of a connection share most of their links.
        let mut last = vec![(usize::MAX, 0.0f64, 0.0f64); self.problem.links()];
        for (path, best) in held.iter_mut().enumerate().filter(|(_, (shortfall, _))| *shortfall > 0.0) {
            let c = self.problem.connection(path);
            for (l, coefficient) in self.problem.uses_of(path).filter(|&(l, _)| is_open[l]) {
                if self.slacks[l] >= best.0 {
                    continue;
                }
                let measure = self.rates[c].max(self.problem.reserved(c));
                let is_starved = measure == 0.0 && self.problem.has_reserved();
                let own = if is_starved { f64::INFINITY } else { coefficient * measure }.min(self.problem.capacity(l));
                if last[l].0 != c || last[l].1.to_bits() != own.to_bits() {
                    last[l] = (c, own, self.slacks[l].max(larger.outdone(l, (c, self.rates[c]), own)));
                }
                if last[l].2 < best.0 {
                    *best = (last[l].2, Bottleneck::Link(l as u32));
                }
            }
        }
        held
    }

    /// The greatest level on each link of a connection that has a load there.
    fn tops(&self) -> Vec<f64> {
        let mut top = vec![f64::NEG_INFINITY; self.problem.links()];
        for path in (0..self.problem.paths()).filter(|&path| self.path_rates[path] > 0.0) {
            for &link in self.problem.links_of(path) {
                top[link as usize] = top[link as usize].max(self.level_of(path));
            }
        }
        top
    }

    fn level_of(&self, path: usize) -> f64 {
        self.levels[self.problem.connection(path)]
    }

    /// The shortfall of a path by its demand, and by links on which no connection has a greater level.
    fn best_without_rivals(&self, path: usize, top: &[f64]) -> (f64, Bottleneck) {
        let c = self.problem.connection(path);
        let demand = self.problem.demand(c);
        let unmet = if demand > 0.0 { 1.0 - self.rates[c] / demand } else { 0.0 };
        // A demand that is met except for rounding is the reason, though a link may hold the path back as well.
        let unmet = if unmet <= ROUNDING { 0.0 } else { unmet };
        let mut best = (unmet, if demand.is_finite() { Bottleneck::Demand } else { Bottleneck::None });
        for &link in self.problem.links_of(path) {
            let slack = self.slacks[link as usize];
            if slack < best.0 && top[link as usize] <= self.levels[c] {
                best = (slack, Bottleneck::Link(link));
            }
        }
        best
    }
}

/// The unused part of a capacity; infinite for a link that never binds.
fn slack(capacity: f64, load: f64) -> f64 {
    match capacity {
        f64::INFINITY => f64::INFINITY,
        0.0 => 0.0,
        capacity => (1.0 - load / capacity).max(0.0),
    }
}

#[cfg(test)]
mod tests;
