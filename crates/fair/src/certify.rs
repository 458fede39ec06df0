//! Checks an allocation from the definitions alone; shares no code with the solvers.
//!
//! ```text
//! load[l]   sum over the paths on l of coefficient * rate;  overload = (load - capacity) / capacity
//! level[c]  rate of connection c / its weight
//! top[l]    greatest level of a connection with a path on l that carries more than `tolerance` of its rate
//! shortfall[p, l] = max(1 - load[l] / capacity[l],  1 - level[c] / top[l])        at least 0
//! shortfall[p]    = least over the links of p, and over c's demand: 1 - rate[c] / demand[c]
//! residual        = greatest shortfall[p]
//! ```
//!
//! Link l is a bottleneck of path p if `shortfall[p, l]` is 0: l is saturated, and no other connection on it has a
//! greater level [ludena2021, def. 1]. An allocation without overload in which every path has a bottleneck, or its
//! connection's demand, is upward max-min fair [danna2017]; where each connection has one path, it is max-min
//! fair [bertsekas1992, sec. 6.5.2]. A path that carries next to nothing is not counted in `top`: it is about to vanish,
//! and at rate 0 the definition does not count it.

use crate::problem::Problem;

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

    let mut top = vec![0.0f64; problem.links()];
    for (path, &rate) in path_rates.iter().enumerate() {
        let c = problem.connection(path);
        if rate > tolerance * rates[c] {
            for &link in problem.links_of(path) {
                top[link as usize] = top[link as usize].max(levels[c]);
            }
        }
    }
    let mut bottlenecks = Vec::with_capacity(problem.paths());
    let (mut residual, mut worst_path) = (0.0, None);
    for path in 0..problem.paths() {
        let c = problem.connection(path);
        let (shortfall, bottleneck) = best_bottleneck(problem, path, rates[c], levels[c], &loads, &top);
        bottlenecks.push(if shortfall <= tolerance { bottleneck } else { Bottleneck::None });
        if is_worse(shortfall, residual) {
            (residual, worst_path) = (shortfall, Some(path));
        }
    }
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

fn best_bottleneck(
    problem: &Problem,
    path: usize,
    rate: f64,
    level: f64,
    loads: &[f64],
    top: &[f64],
) -> (f64, Bottleneck) {
    let demand = problem.demand(problem.connection(path));
    let unmet = if demand > 0.0 { 1.0 - rate / demand } else { 0.0 };
    // A demand that is met but for rounding is the reason, though a link may hold the path back as well.
    let unmet = if unmet <= ROUNDING { 0.0 } else { unmet };
    let mut best = (unmet, if demand.is_finite() { Bottleneck::Demand } else { Bottleneck::None });
    for &link in problem.links_of(path) {
        let l = link as usize;
        let capacity = problem.capacity(l);
        if capacity.is_infinite() {
            continue;
        }
        let slack = if capacity > 0.0 { (1.0 - loads[l] / capacity).max(0.0) } else { 0.0 };
        let outdone = if top[l] > level { 1.0 - level / top[l] } else { 0.0 };
        let shortfall = slack.max(outdone);
        if shortfall < best.0 {
            best = (shortfall, Bottleneck::Link(link));
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::ProblemParts;

    /// Links of 10 and 4; connection 0 crosses both, 1 the first, 2 the second.
    fn chain(demand: f64) -> Problem {
        Problem::new(ProblemParts {
            capacity: vec![10.0, 4.0],
            path_offsets: vec![0, 2, 3, 4],
            path_links: vec![0, 1, 0, 1],
            path_connection: vec![0, 1, 2],
            demand: vec![demand, f64::INFINITY, f64::INFINITY],
            weight: vec![1.0; 3],
            coefficient: vec![],
        })
        .unwrap()
    }

    #[test]
    fn a_fair_allocation_names_a_bottleneck_for_every_path() {
        let certificate = certify(&chain(f64::INFINITY), &[2.0, 8.0, 2.0], 1e-6);
        assert!(certificate.holds());
        assert_eq!(certificate.bottlenecks, [Bottleneck::Link(1), Bottleneck::Link(0), Bottleneck::Link(1)]);
        assert_eq!((certificate.residual, certificate.worst_path), (0.0, None));
    }

    #[test]
    fn a_met_demand_counts_as_a_bottleneck() {
        let certificate = certify(&chain(1.0), &[1.0, 9.0, 3.0], 1e-6);
        assert!(certificate.holds());
        assert_eq!(certificate.bottlenecks[0], Bottleneck::Demand);
    }

    #[test]
    fn the_worst_path_is_named_with_its_shortfall() {
        // Connection 2 has 3 of link 1 and connection 0 has 1: 0 is outdone by two thirds there, and at the first
        // link, where its rival has 9, by 8/9. So its best candidate is link 1 with a shortfall of 2/3.
        let certificate = certify(&chain(f64::INFINITY), &[1.0, 9.0, 3.0], 1e-6);
        assert!(certificate.is_feasible() && !certificate.holds());
        assert_eq!(certificate.worst_path, Some(0));
        assert!((certificate.residual - 2.0 / 3.0).abs() < 1e-12);
        assert_eq!(certificate.bottlenecks[0], Bottleneck::None);
    }

    #[test]
    fn slack_is_a_shortfall() {
        // Everyone could have twice as much: the best link of path 1 is half empty.
        let certificate = certify(&chain(f64::INFINITY), &[1.0, 4.0, 1.0], 1e-6);
        assert!((certificate.residual - 0.5).abs() < 1e-12);
    }

    #[test]
    fn overloads_excess_demands_and_bad_rates_are_infeasible() {
        let overloaded = certify(&chain(f64::INFINITY), &[3.0, 8.0, 2.0], 1e-6);
        assert_eq!(overloaded.overloaded_link, Some(1));
        assert!((overloaded.overload - 0.25).abs() < 1e-12 && !overloaded.is_feasible());
        let greedy = certify(&chain(1.0), &[2.0, 8.0, 2.0], 1e-6);
        assert_eq!((greedy.over_demand, greedy.over_demand_connection), (1.0, Some(0)));
        for bad in [f64::NAN, -1.0, f64::INFINITY] {
            let certificate = certify(&chain(f64::INFINITY), &[2.0, bad, 2.0], 1e-6);
            assert_eq!(certificate.bad_rate, Some(1));
            assert!(!certificate.holds());
        }
    }

    #[test]
    fn a_path_about_to_vanish_is_not_counted_among_the_others() {
        // Connection 0 has 1e-5 of its level on link 0 and the rest on link 1; 1 has all of link 0 at a lower level.
        let problem = Problem::new(ProblemParts {
            capacity: vec![1.0, 10.0],
            path_offsets: vec![0, 1, 2, 3],
            path_links: vec![0, 1, 0],
            path_connection: vec![0, 0, 1],
            demand: vec![f64::INFINITY; 2],
            weight: vec![1.0; 2],
            coefficient: vec![],
        })
        .unwrap();
        let rates = [1e-5, 10.0, 1.0 - 1e-5];
        assert!(certify(&problem, &rates, 1e-3).holds());
        assert!(!certify(&problem, &rates, 1e-7).holds());
    }
}
