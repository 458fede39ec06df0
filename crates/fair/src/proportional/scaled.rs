//! A problem as the solver sees it: only its live parts, with every number relative to its own connection or link.
//!
//! ```text
//! xi[p]    = rate of path p / Y[c]                Y[c]   a first guess of c's rate
//! eta[c]   = sum of xi over c's paths             0 < eta < room[c] = demand / Y
//! a[p,l]   = coefficient * Y[c] / capacity[l]     sum of a * xi over the paths on l <= 1
//! v[c]     = Y * U' / unit                        payment of c for its first guess
//! kappa[l] = capacity[l] * price[l] / unit        earnings of link l
//! v = value[c] * eta^-alpha,                      value = weight^alpha * Y^(1 - alpha) / unit
//! ```
//!
//! The unit of money is the greatest `weight^alpha * Y^(1 - alpha)`. Capacities, weights and rates may differ by tens
//! of powers of ten; the terms of one sum are either all money or all shares of a link.
//!
//! Where a demand is met, it does not matter by how much the marginal utility exceeds the price of the paths. So a
//! demand far below the levels of those that links hold back is assumed to be met, and its value is lowered, as if its
//! level were just below theirs: `value * (demand / weight / enough)^alpha`. With large alphas, values would otherwise
//! differ by tens of powers of ten, and the payments of other connections would be lost beside those of small demands.

use std::sync::Arc;

use super::real::Real;
use crate::passes::Passes;
use crate::problem::Problem;
use crate::start::Start;
use crate::upward::CSlen;

/// Live paths grouped by connection, and the links that may hold them back.
#[derive(Default)]
pub(super) struct Scaled {
    pub alpha: f64,
    /// The offsets of the groups' paths: group g has the paths `offsets[g]..offsets[g + 1]`.
    offsets: Vec<usize>,
    /// The connection of each group, with its first guess Y, the level of that, its value, and its room.
    pub connection: Vec<usize>,
    pub guess: Vec<f64>,
    pub level: Vec<f64>,
    pub value: Vec<f64>,
    pub room: Vec<f64>,
    /// Whether the demand of each group is so small that it is assumed to be met.
    is_small: Vec<bool>,
    /// The number of each path in the problem, in the grouped order, and its start value.
    pub path: Vec<u32>,
    pub first: Vec<f64>,
    /// The offsets of the paths' uses: path p has the rows and amounts `uses[use_offsets[p]..use_offsets[p + 1]]`.
    use_offsets: Vec<usize>,
    uses: Vec<(u32, f64)>,
    /// The link of each row.
    pub link: Vec<u32>,
    /// The logarithms of the unit of money and of the least value.
    pub unit_ln: f64,
    pub least_ln: f64,
}

/// The origin of the first guess of the rates.
#[derive(Clone, Copy)]
pub(super) enum Guess<'a> {
    /// Nearly the rates after some passes of c-SLEN; a path that gets next to nothing there gets a part of its claim.
    Filled,
    /// Nearly the given rates of paths; a path with next to nothing gets a part of its claim.
    Near(&'a [f64]),
    /// The rates of the paths if all paths on a link share it by weight; no demand is assumed to be met.
    Claimed,
}

/// The part of a link or demand that the first guess fills.
const FILLED: f64 = 0.5;

/// The part of the first guess that comes from c-SLEN; the rest is a part of the claim.
const GIVEN: f64 = 0.9;

/// Number of passes of c-SLEN for the first guess.
const PASSES: usize = 10;

/// The part of a demand that may be unmet where the demand counts as met.
const MET: f64 = 1e-7;

/// The part of its demand under which, in a guess, a link holds a connection back.
const SHORT: f64 = 0.9;

/// No path reaches a price of this multiple of the cost of others' paths.
const DEAR: f64 = 10.0;

impl Scaled {
    pub fn new(problem: &Arc<Problem>, alpha: f64, guess: Guess<'_>) -> Self {
        let is_open = |path: u32| problem.links_of(path as usize).iter().all(|&l| problem.capacity(l as usize) > 0.0);
        let live: Vec<Vec<u32>> = (0..problem.connections())
            .map(|c| if problem.demand(c) > 0.0 { problem.paths_of(c) } else { &[] })
            .map(|paths| paths.iter().copied().filter(|&path| is_open(path)).collect())
            .collect();
        let (link, row_of) = rows(problem, &live);
        let claimed = claimed(problem, &live);
        let near = |rates: &[f64]| -> Vec<f64> {
            let both = rates.iter().zip(&claimed);
            both.map(|(rate, claimed)| FILLED * (GIVEN * rate + (1.0 - GIVEN) * claimed)).collect()
        };
        let (rates, enough) = match guess {
            Guess::Claimed => (claimed.iter().map(|claimed| FILLED * claimed).collect(), 0.0),
            Guess::Near(rates) => (near(rates), enough(problem, alpha, &live, rates)),
            Guess::Filled => {
                let rates = filled(problem);
                (near(&rates), enough(problem, alpha, &live, &rates))
            }
        };
        let mut scaled = Self { alpha, offsets: vec![0], use_offsets: vec![0], link, ..Self::default() };
        for (c, paths) in live.iter().enumerate().filter(|(_, paths)| !paths.is_empty()) {
            let total: f64 = paths.iter().map(|&path| rates[path as usize]).sum();
            for &path in paths {
                scaled.path.push(path);
                scaled.first.push(rates[path as usize] / total);
                for (l, coefficient) in problem.uses_of(path as usize).filter(|(l, _)| row_of[*l] != u32::MAX) {
                    scaled.uses.push((row_of[l], coefficient * (total / problem.capacity(l))));
                }
                scaled.use_offsets.push(scaled.uses.len());
            }
            let level = total / problem.weight(c);
            scaled.offsets.push(scaled.path.len());
            scaled.connection.push(c);
            scaled.guess.push(total);
            scaled.level.push(level);
            scaled.room.push(problem.demand(c) / total);
            let wanted = problem.demand(c) / problem.weight(c);
            scaled.is_small.push(wanted < enough);
            let lowered = if wanted < enough { alpha * (wanted / enough).ln() } else { 0.0 };
            scaled.value.push(problem.weight(c).ln() + (1.0 - alpha) * level.ln() + lowered);
        }
        scaled.unit_ln = scaled.value.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        scaled.least_ln = scaled.value.iter().copied().fold(f64::INFINITY, f64::min);
        for value in &mut scaled.value {
            *value = (*value - scaled.unit_ln).exp();
        }
        scaled
    }

    pub fn groups(&self) -> usize {
        self.connection.len()
    }

    pub fn has_demand(&self, group: usize) -> bool {
        self.room[group].is_finite()
    }

    /// Whether the first guess meets a connection's demand, except for the part of it that is left free.
    pub fn is_met(&self, group: usize) -> bool {
        self.room[group] <= 1.001 / (GIVEN * FILLED)
    }

    /// Whether the demands that were assumed to be met are met, given the rest `left` of each.
    pub fn bears_out(&self, left: &[f64]) -> bool {
        (0..self.groups()).all(|g| !self.is_small[g] || left[g] <= MET * self.room[g])
    }

    pub fn paths_of(&self, group: usize) -> std::ops::Range<usize> {
        self.offsets[group]..self.offsets[group + 1]
    }

    pub fn uses_of(&self, path: usize) -> &[(u32, f64)] {
        &self.uses[self.use_offsets[path]..self.use_offsets[path + 1]]
    }

    /// The approximate number of multiplications in a step: to build and factor the matrix, and to refine its
    /// solutions.
    pub fn work(&self) -> f64 {
        let of_rows = (self.link.len() as f64).powi(3) / 6.0;
        let of_path = |p: usize| self.uses_of(p).len().pow(2) + 30 * self.uses_of(p).len();
        of_rows + (0..self.path.len()).map(of_path).sum::<usize>() as f64
    }

    /// The price of a unit of `path` at these earnings of the rows.
    pub fn price<T: Real>(&self, path: usize, kappa: &[T]) -> T {
        self.uses_of(path).iter().map(|&(row, a)| T::from(a) * kappa[row as usize]).sum()
    }

    /// The sum over the paths of each group.
    pub fn sums<T: Real>(&self, xi: &[T]) -> Vec<T> {
        (0..self.groups()).map(|g| xi[self.paths_of(g)].iter().copied().sum()).collect()
    }
}

/// The links that limit live paths, as rows: the link of each row, and the row of each link.
fn rows(problem: &Problem, live: &[Vec<u32>]) -> (Vec<u32>, Vec<u32>) {
    let (mut link, mut row_of) = (vec![], vec![u32::MAX; problem.links()]);
    for &path in live.iter().flatten() {
        for &l in problem.links_of(path as usize) {
            if row_of[l as usize] == u32::MAX && problem.capacity(l as usize).is_finite() {
                row_of[l as usize] = link.len() as u32;
                link.push(l);
            }
        }
    }
    (link, row_of)
}

/// A level at which a connection would pay for any path, if `rates` are about right; 0 if links hold no connection
/// back.
///
/// A connection that is held back at the level y pays `y^-alpha` for a path, and no link on it costs more. So no path
/// costs more than its hops times the payment at the least of these levels.
fn enough(problem: &Problem, alpha: f64, live: &[Vec<u32>], rates: &[f64]) -> f64 {
    let rate = |c: usize| live[c].iter().map(|&path| rates[path as usize]).sum::<f64>();
    let held = (0..live.len()).filter(|&c| !live[c].is_empty() && rate(c) < SHORT * problem.demand(c));
    let least = held.map(|c| rate(c) / problem.weight(c)).fold(f64::INFINITY, f64::min);
    let hops = live.iter().flatten().map(|&path| problem.links_of(path as usize).len()).max().unwrap_or(1);
    if least.is_finite() { least * (DEAR * hops as f64).powf(-1.0 / alpha) } else { 0.0 }
}

/// The rate of each path after some passes of c-SLEN.
fn filled(problem: &Arc<Problem>) -> Vec<f64> {
    let mut solver = CSlen::new(Arc::clone(problem), &Start::Equal).expect("equal portions are always possible");
    (0..PASSES).for_each(|_| solver.pass());
    solver.allocation(false, 0.0).path_rates
}

/// The rate of each live path if all paths on a link share it by their connections' weights; no link is overloaded.
fn claimed(problem: &Problem, live: &[Vec<u32>]) -> Vec<f64> {
    let mut claims = vec![0.0; problem.links()];
    let claim = |c: usize| problem.weight(c) / live[c].len() as f64;
    let paths = || live.iter().enumerate().flat_map(|(c, paths)| paths.iter().map(move |&path| (c, path as usize)));
    for (c, path) in paths() {
        for (l, coefficient) in problem.uses_of(path) {
            claims[l] += coefficient * claim(c);
        }
    }
    let mut rates = vec![0.0; problem.paths()];
    for (c, path) in paths() {
        let share = |l: &u32| problem.capacity(*l as usize) * (claim(c) / claims[*l as usize]);
        let least = problem.links_of(path).iter().map(share).fold(f64::INFINITY, f64::min);
        rates[path] = least.min(problem.demand(c) / live[c].len() as f64);
    }
    rates
}
