//! Water-fillers that visit each link once, and iterate [namyar2024]: approximate solvers without a linear program.
//!
//! A pass begins with infinite rates and visits the links in the order of the level at which each would fill up alone.
//! At each link it solves the link alone: subflows that have a lower rate from an earlier link keep it, and the others
//! share the rest in proportion to their claims. Rates only fall, so that no link is overloaded in the end. The demand
//! of a connection counts as a link of its own.
//!
//! ```text
//! s            such that sum over the subflows p of the link of a_p min(rate_p, s claim_p) = capacity
//! rate_p       min(rate_p, s claim_p)
//! ```
//!
//! The approximate water-filler makes one pass, with the connection's weight as the claim of each subflow. The adaptive
//! one makes several passes: the claims are weight times portion, and each pass takes the portions that resulted from
//! the pass before.
//!
//! differs: it supports weights and coefficients, which the programs published with the paper lack.

use std::sync::Arc;

use crate::problem::{Problem, trim};
use crate::start::{self, Start, StartError};

/// The relative distance from its demand within which a connection's demand counts as met.
const ALL_MET: f64 = 1e-9;

/// The rates of all paths after one pass over the links, with each subflow by itself; no link is overloaded.
pub fn approximate_water_filler(problem: &Problem) -> Vec<f64> {
    let claim = |path| problem.weight(problem.connection(path));
    let mut subflows: Vec<Subflow> =
        (0..problem.paths()).map(|path| Subflow { rate: 0.0, claim: claim(path) }).collect();
    Links::new(problem).pass(problem, &mut subflows);
    fitting(problem, &subflows)
}

/// The adaptive water-filler, which runs pass by pass.
pub struct AdaptiveWaterFiller {
    problem: Arc<Problem>,
    links: Links,
    /// The subflow of each path, in the order of the problem.
    subflows: Vec<Subflow>,
    /// The rate that each connection cannot exceed, whatever the other connections do.
    most: Vec<f64>,
    passes: usize,
    has_met_all: bool,
}

impl AdaptiveWaterFiller {
    /// Prepares the first pass.
    ///
    /// # Errors
    /// Returns an error for invalid portions.
    pub fn new(problem: Arc<Problem>, start: &Start) -> Result<Self, StartError> {
        let portions = start::portions(&problem, start)?;
        let mut subflows = vec![Subflow::default(); problem.paths()];
        for (&path, portion) in problem.grouped().iter().zip(portions) {
            let path = path as usize;
            subflows[path].claim = problem.weight(problem.connection(path)) * portion;
        }
        let most: Vec<f64> = (0..problem.connections()).map(|c| most_of(&problem, c)).collect();
        let has_met_all = most.iter().all(|&most| most == 0.0);
        Ok(Self { links: Links::new(&problem), problem, subflows, most, passes: 0, has_met_all })
    }

    /// Makes one pass, and computes the claims of the next.
    pub fn pass(&mut self) {
        self.links.pass(&self.problem, &mut self.subflows);
        self.passes += 1;
        self.has_met_all = true;
        for (c, &most) in self.most.iter().enumerate() {
            let own = self.problem.paths_of(c);
            let total = own.iter().fold(0.0, |sum, &path| sum + self.subflows[path as usize].rate);
            self.has_met_all &= total >= most * (1.0 - ALL_MET);
            // A connection without a rate keeps its portions.
            if total > 0.0 {
                for &path in own {
                    let subflow = &mut self.subflows[path as usize];
                    subflow.claim = self.problem.weight(c) * (subflow.rate / total);
                }
            }
        }
    }

    /// The number of passes so far.
    pub fn passes(&self) -> usize {
        self.passes
    }

    /// Whether every connection has its demand, or all that its paths could carry, so that more passes change nothing.
    pub fn has_met_all(&self) -> bool {
        self.has_met_all
    }

    /// The rates of all paths after the last pass; no link is overloaded.
    pub fn path_rates(&self) -> Vec<f64> {
        fitting(&self.problem, &self.subflows)
    }
}

/// The rate that a connection cannot exceed: its demand, or the sum of the rates that its paths could carry alone.
fn most_of(problem: &Problem, connection: usize) -> f64 {
    let narrowest = |&path: &u32| {
        let alone = problem.uses_of(path as usize).map(|(link, coefficient)| problem.capacity(link) / coefficient);
        alone.fold(f64::INFINITY, f64::min)
    };
    problem.demand(connection).min(problem.paths_of(connection).iter().map(narrowest).sum())
}

/// The rates, without excesses over a capacity or a demand by rounding.
fn fitting(problem: &Problem, subflows: &[Subflow]) -> Vec<f64> {
    let mut rates = subflows.iter().map(|subflow| subflow.rate).collect::<Vec<_>>();
    trim(problem, &mut rates);
    rates
}

/// A path in a pass: the rate that the links so far have left it, and its claim at the next link.
#[derive(Clone, Copy, Debug, Default)]
struct Subflow {
    rate: f64,
    claim: f64,
}

/// A subflow that shares the rest of a link's capacity.
#[derive(Clone, Copy)]
struct Sharer {
    path: u32,
    /// Capacity used for each unit of rate.
    coefficient: f64,
    subflow: Subflow,
}

/// The subflows by link, and work space for the subflows of one link.
struct Links {
    /// The offsets of the links' paths: link l has `paths[starts[l]..starts[l + 1]]`, in their order.
    starts: Vec<usize>,
    paths: Vec<u32>,
    /// The coefficient of each entry of `paths`; empty if 1 everywhere.
    coefficients: Vec<f64>,
    sharers: Vec<Sharer>,
}

impl Links {
    fn new(problem: &Problem) -> Self {
        let mut starts = vec![0; problem.links() + 1];
        let all = (0..problem.paths()).flat_map(|path| problem.links_of(path));
        all.for_each(|&link| starts[link as usize + 1] += 1);
        for l in 0..problem.links() {
            starts[l + 1] += starts[l];
        }
        let (mut next, mut paths) = (starts.clone(), vec![0; problem.entry_count()]);
        let mut coefficients = vec![1.0; if problem.has_coefficients() { paths.len() } else { 0 }];
        for path in 0..problem.paths() {
            for (link, coefficient) in problem.uses_of(path) {
                paths[next[link]] = path as u32;
                if let Some(own) = coefficients.get_mut(next[link]) {
                    *own = coefficient;
                }
                next[link] += 1;
            }
        }
        Self { starts, paths, coefficients, sharers: Vec::new() }
    }

    /// Fills all links and demands once, in order of rising level; a demand comes before a link of the same level.
    fn pass(&mut self, problem: &Problem, subflows: &mut [Subflow]) {
        let demands = demands_by_level(problem, subflows);
        let mut demands = demands.iter().peekable();
        for (level, link) in links_by_level(problem, subflows) {
            while let Some(&(_, connection)) = demands.next_if(|(share, _)| *share <= level) {
                self.meet(problem, connection as usize, subflows);
            }
            self.fill(problem.capacity(link as usize), link as usize, subflows);
        }
        demands.for_each(|&(_, connection)| self.meet(problem, connection as usize, subflows));
    }

    /// Lets the subflows of a link share its capacity.
    fn fill(&mut self, capacity: f64, link: usize, subflows: &mut [Subflow]) {
        let own = self.starts[link]..self.starts[link + 1];
        let coefficients = &self.coefficients;
        let coefficient = |entry| coefficients.get(entry).copied().unwrap_or(1.0);
        let sharer = |(entry, &path): (usize, &u32)| Sharer {
            path,
            coefficient: coefficient(entry),
            subflow: subflows[path as usize],
        };
        self.sharers.clear();
        self.sharers.extend(own.clone().zip(&self.paths[own]).map(sharer));
        self.share(capacity, subflows);
    }

    /// Lets the subflows of a connection share its demand.
    fn meet(&mut self, problem: &Problem, connection: usize, subflows: &mut [Subflow]) {
        let sharer = |&path: &u32| Sharer { path, coefficient: 1.0, subflow: subflows[path as usize] };
        self.sharers.clear();
        self.sharers.extend(problem.paths_of(connection).iter().map(sharer));
        self.share(problem.demand(connection), subflows);
    }

    /// Lowers the rates of the sharers to the available capacity, in proportion to claims, unless all fit.
    ///
    /// A subflow with a lower rate keeps it. The level only rises when such subflows are found, so that each is found
    /// once.
    fn share(&mut self, mut left: f64, subflows: &mut [Subflow]) {
        let asked = |sharers: &[Sharer]| sharers.iter().map(|s| s.coefficient * s.subflow.rate).sum::<f64>();
        if asked(&self.sharers) <= left {
            return;
        }
        loop {
            let slope: f64 = self.sharers.iter().map(|s| s.coefficient * s.subflow.claim).sum();
            let level = if slope > 0.0 { (left / slope).min(f64::MAX) } else { 0.0 };
            let (before, mut kept) = (self.sharers.len(), 0.0);
            self.sharers.retain(|s| {
                let keeps = s.subflow.rate < level * s.subflow.claim;
                kept += if keeps { s.coefficient * s.subflow.rate } else { 0.0 };
                !keeps
            });
            if self.sharers.len() == before {
                for s in &self.sharers {
                    subflows[s.path as usize].rate = level * s.subflow.claim;
                }
                return;
            }
            left = (left - kept).max(0.0);
        }
    }
}

/// The links that can fill up, in order of the level at which each would do so alone; every subflow with a claim starts
/// anew.
fn links_by_level(problem: &Problem, subflows: &mut [Subflow]) -> Vec<(f64, u32)> {
    let mut slopes = vec![0.0; problem.links()];
    for (path, subflow) in subflows.iter_mut().enumerate() {
        subflow.rate = if subflow.claim > 0.0 { f64::INFINITY } else { 0.0 };
        for (link, coefficient) in problem.uses_of(path) {
            slopes[link] += coefficient * subflow.claim;
        }
    }
    by_level(slopes.iter().enumerate().map(|(link, &slope)| (problem.capacity(link), slope)))
}

/// The connections with a demand, by the level at which they have it if nothing else holds them back.
fn demands_by_level(problem: &Problem, subflows: &[Subflow]) -> Vec<(f64, u32)> {
    let claims = |c| problem.paths_of(c).iter().fold(0.0, |sum, &path| sum + subflows[path as usize].claim);
    by_level((0..problem.connections()).map(|c| (problem.demand(c), claims(c))))
}

/// The indices of the items with a finite amount and a slope, in order of rising level, which is amount by slope.
fn by_level(amounts: impl Iterator<Item = (f64, f64)>) -> Vec<(f64, u32)> {
    // The quotient of a large amount and a tiny slope may be infinite, and the amount is still a limit.
    let level = |(number, (amount, slope)): (usize, (f64, f64))| {
        (slope > 0.0 && amount.is_finite()).then(|| ((amount / slope).min(f64::MAX), number as u32))
    };
    let mut order: Vec<(f64, u32)> = amounts.enumerate().filter_map(level).collect();
    order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::ProblemParts;
    use crate::testing::parts;

    fn adaptive(problem: &Problem, start: &Start, passes: usize) -> Vec<f64> {
        let mut filler = AdaptiveWaterFiller::new(Arc::new(problem.clone()), start).unwrap();
        (0..passes).for_each(|_| filler.pass());
        filler.path_rates()
    }

    #[test]
    fn each_pass_takes_the_portions_of_the_one_before() {
        // Connection 0 has link A (4) and link B (6), connection 1 has B. Portions 1/2: B fills at 6 / 1.5 = 4, so 2
        // and 4; A leaves 4. Portions 4/6 and 2/6: B fills at 6 / (4/3) = 4.5, so 1.5 and 4.5.
        let problem = Problem::new(parts(&[4.0, 6.0], &[&[&[0], &[1]], &[&[1]]])).unwrap();
        assert_eq!(adaptive(&problem, &Start::Equal, 1), [4.0, 2.0, 4.0]);
        assert_eq!(adaptive(&problem, &Start::Equal, 2), [4.0, 1.5, 4.5]);
    }

    #[test]
    fn rates_are_finite_where_a_portion_is_next_to_nothing() {
        let problem = Problem::new(parts(&[1e9, 1e9], &[&[&[0], &[1]]])).unwrap();
        let rates = adaptive(&problem, &Start::Given(vec![1.0, 1e-305]), 3);
        assert!(rates.iter().all(|&rate| (0.0..=1e9).contains(&rate)) && rates[0] > 0.999e9, "{rates:?}");
    }

    #[test]
    fn a_demand_is_met_before_a_link_of_the_same_level_is_filled() {
        // Both claim 1 of a link of 4. The first wants 2, which is its half; the second gets the other.
        let shared = ProblemParts { demand: vec![2.0, f64::INFINITY], ..parts(&[4.0], &[&[&[0]], &[&[0]]]) };
        assert_eq!(approximate_water_filler(&Problem::new(shared).unwrap()), [2.0, 2.0]);
    }

    #[test]
    fn all_is_met_where_demands_fit_and_from_the_beginning_where_nobody_can_have_a_rate() {
        let room = ProblemParts { demand: vec![1.0, 2.0], ..parts(&[4.0], &[&[&[0]], &[&[0]]]) };
        let mut filler = AdaptiveWaterFiller::new(Arc::new(Problem::new(room).unwrap()), &Start::Equal).unwrap();
        assert!(!filler.has_met_all());
        filler.pass();
        assert!(filler.has_met_all() && filler.path_rates() == [1.0, 2.0]);
        let dead = Arc::new(Problem::new(parts(&[0.0], &[&[&[0]]])).unwrap());
        let filler = AdaptiveWaterFiller::new(dead, &Start::Equal).unwrap();
        assert!(filler.has_met_all() && filler.path_rates() == [0.0]);
    }
}
