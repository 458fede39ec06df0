//! Checks an allocation from the definitions alone; shares no code with the solvers.
//!
//! ```text
//! load[l]            sum over the paths on l of coefficient * rate;  overload = (load - capacity) / capacity
//! level[c]           rate of connection c / its weight
//! larger[c, l, x]    what connections with a level over level[c] / (1 - x) carry on l together
//! own[p, l]          coefficient * rate of the connection of p, at most the capacity
//! shortfall[p, l]    least x for which  1 - load / capacity <= x  and  larger[c, l, x] <= x * own[p, l];  at least 0
//! shortfall[p]       least over the links of p, and over c's demand: 1 - rate[c] / demand[c]
//! residual           greatest shortfall[p]
//! ```
//!
//! Link l is a bottleneck of path p if `shortfall[p, l]` is 0: l is saturated, and no other connection on it has a
//! greater level [ludena2021, def. 1]. An allocation without overload in which every path has a bottleneck, or its
//! connection's demand, is upward max-min fair [danna2017]; where each connection has one path, it is max-min
//! fair [bertsekas1992, sec. 6.5.2].
//!
//! A path that is about to vanish still carries something, and its connection may have a far greater level. It is left out
//! of account only as far as it makes no difference: if all that larger connections carry on l were given to the one that l
//! holds back, this one would gain no more than the part x of its rate.

mod larger;

use crate::problem::Problem;
use larger::LargerOnLinks;

/// What holds a path back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bottleneck {
    /// A saturated link on which the connection has the greatest level.
    Link(u32),
    /// The connection has all that it asked for.
    Demand,
    /// Nothing, to the tolerance: the allocation is not fair to this path.
    None,
}

/// What the check found.
#[derive(Clone, Debug, PartialEq)]
pub struct Certificate {
    /// Largest overload of a link relative to its capacity (of a link of capacity 0: to the largest finite one), and
    /// the link; 0 and `None` if there is none.
    pub overload: f64,
    /// See `overload`.
    pub overloaded_link: Option<usize>,
    /// Largest excess of a connection's rate over its demand, relative to it (over a demand of 0: infinite).
    pub over_demand: f64,
    /// See `over_demand`.
    pub over_demand_connection: Option<usize>,
    /// A path whose rate is negative, infinite or NaN.
    pub bad_rate: Option<usize>,
    /// Largest shortfall of a path; 0 for a fair allocation.
    pub residual: f64,
    /// The path with the largest shortfall, if that is over 0.
    pub worst_path: Option<usize>,
    /// Of each path: the link with the least shortfall, if that is within the tolerance.
    pub bottlenecks: Vec<Bottleneck>,
    /// Of each connection: rate by weight.
    pub levels: Vec<f64>,
    /// Of each link.
    pub loads: Vec<f64>,
    /// To which the check was made.
    pub tolerance: f64,
}

/// How much a load may exceed a capacity, relatively, by rounding alone.
pub const ROUNDING: f64 = 1e-9;

impl Certificate {
    /// Whether no link is overloaded, no demand exceeded, and all rates are finite and 0 or more.
    pub fn is_feasible(&self) -> bool {
        self.bad_rate.is_none() && self.overload <= ROUNDING && self.over_demand <= ROUNDING
    }

    /// Whether the allocation is feasible and every path has a bottleneck, to the tolerance.
    pub fn holds(&self) -> bool {
        self.is_feasible() && self.residual <= self.tolerance
    }
}

/// Checks the rates of all paths against the problem.
///
/// # Panics
/// If `path_rates` has another length than the paths.
pub fn certify(problem: &Problem, path_rates: &[f64], tolerance: f64) -> Certificate {
    assert_eq!(path_rates.len(), problem.paths(), "one rate for each path");
    let loads = problem.loads(path_rates);
    let rates = problem.sum_by_connection(path_rates);
    let levels: Vec<f64> = rates.iter().enumerate().map(|(c, rate)| rate / problem.weight(c)).collect();
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

/// By how much `value` exceeds `limit`, relative to it; 0 if it does not.
pub(crate) fn excess(value: f64, limit: f64) -> f64 {
    if value <= limit {
        0.0
    } else if limit > 0.0 {
        (value - limit) / limit
    } else {
        f64::INFINITY
    }
}

/// The greatest of the values and its place; NaN counts as the greatest; 0 and nothing if none is over 0.
pub(crate) fn worst(values: impl Iterator<Item = f64>) -> (f64, Option<usize>) {
    let mut found = (0.0, None);
    for (at, value) in values.enumerate() {
        if is_worse(value, found.0) {
            found = (value, Some(at));
        }
    }
    found
}

/// NaN is the worst of all.
pub(crate) fn is_worse(value: f64, other: f64) -> bool {
    value.is_nan() || value > other
}

/// The rates to be checked, and what follows from them.
struct Given<'a> {
    problem: &'a Problem,
    path_rates: &'a [f64],
    rates: &'a [f64],
    levels: &'a [f64],
    slacks: &'a [f64],
}

impl Given<'_> {
    /// Of each path: its shortfall, and what holds it back to that.
    fn bottlenecks(&self) -> Vec<(f64, Bottleneck)> {
        let top = self.tops();
        // What larger connections carry matters on links that are fuller than the best that is found without them.
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
        // Of each link the connection that was compared there last, with what it could use and its shortfall: paths of a
        // connection share most of their links.
        let mut last = vec![(usize::MAX, 0.0f64, 0.0f64); self.problem.links()];
        for (path, best) in held.iter_mut().enumerate().filter(|(_, (shortfall, _))| *shortfall > 0.0) {
            let c = self.problem.connection(path);
            for (l, coefficient) in self.problem.uses_of(path).filter(|&(l, _)| is_open[l]) {
                if self.slacks[l] >= best.0 {
                    continue;
                }
                let own = (coefficient * self.rates[c]).min(self.problem.capacity(l));
                if last[l].0 != c || last[l].1.to_bits() != own.to_bits() {
                    last[l] = (c, own, self.slacks[l].max(larger.outdone(l, self.levels[c], own)));
                }
                if last[l].2 < best.0 {
                    *best = (last[l].2, Bottleneck::Link(l as u32));
                }
            }
        }
        held
    }

    /// On each link the greatest level of a connection that carries something there.
    fn tops(&self) -> Vec<f64> {
        let mut top = vec![0.0f64; self.problem.links()];
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

    /// The shortfall by the demand, and by links on which nobody has a greater level.
    fn best_without_rivals(&self, path: usize, top: &[f64]) -> (f64, Bottleneck) {
        let c = self.problem.connection(path);
        let demand = self.problem.demand(c);
        let unmet = if demand > 0.0 { 1.0 - self.rates[c] / demand } else { 0.0 };
        // A demand that is met but for rounding is the reason, though a link may hold the path back as well.
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

/// The part of a capacity that is not used; infinite for a link that never binds.
fn slack(capacity: f64, load: f64) -> f64 {
    match capacity {
        f64::INFINITY => f64::INFINITY,
        0.0 => 0.0,
        capacity => (1.0 - load / capacity).max(0.0),
    }
}

#[cfg(test)]
mod tests;
