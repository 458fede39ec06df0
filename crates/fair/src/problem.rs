//! What is to be shared among whom: capacities, paths, demands, weights; checked and frozen.
//!
//! A path of connection c on link l uses `coefficient * rate` of the link's capacity (1 unless given).
//! Degenerate parts are defined, not refused:
//! - a link of capacity 0 holds every path over it at rate 0; a link of infinite capacity never binds;
//! - a connection of demand 0, or without a path, has rate 0;
//! - a path that no finite link and no demand would ever stop is refused;
//! - an amount below 1e-100 counts as 0, one over 1e100 is refused, so that nothing overflows or is lost.

mod checks;

use anabranch_filling::{LEAST, MOST, MOST_FACTOR};
use thiserror::Error;

use checks::{check_lengths, check_paths, check_values};

/// The arrays that make a problem, in the order of their paths.
#[derive(Clone, Debug, Default)]
pub struct ProblemParts {
    /// Of each link: 0 or more, may be infinite.
    pub capacity: Vec<f64>,
    /// Links of path p: `path_links[path_offsets[p]..path_offsets[p + 1]]`.
    pub path_offsets: Vec<usize>,
    /// Link numbers along the paths.
    pub path_links: Vec<u32>,
    /// The connection that each path belongs to, in any order.
    pub path_connection: Vec<u32>,
    /// The most that each connection can use: 0 or more, may be infinite.
    pub demand: Vec<f64>,
    /// Claim of each connection: positive, finite.
    pub weight: Vec<f64>,
    /// Capacity used for each unit of rate, for each entry of `path_links`; empty if 1 everywhere.
    pub coefficient: Vec<f64>,
}

/// Arrays that do not make a problem.
#[derive(Clone, Debug, PartialEq, Error)]
#[allow(missing_docs)]
pub enum ProblemError {
    #[error("path_offsets has {found} values for {paths} paths; it must have one more than path_connection")]
    OffsetCount { found: usize, paths: usize },
    #[error("path_offsets[{at}]: {why}; offsets must rise from 0 to the length of path_links ({entries})")]
    Offsets { at: usize, why: &'static str, entries: usize },
    #[error("path {path}: it has no links; a path must have one or more")]
    EmptyPath { path: usize },
    #[error("path {path}: there is no link {link}; there are {links}, numbered from 0")]
    UnknownLink { path: usize, link: u32, links: usize },
    #[error("path {path}: it takes link {link} twice; a path must be without a loop")]
    RepeatedLink { path: usize, link: u32 },
    #[error("path {path}: there is no connection {connection}; there are {connections}, numbered from 0")]
    UnknownConnection { path: usize, connection: u32, connections: usize },
    #[error("{what} {index}: {quantity} is {value}; it must be {must}")]
    Value { what: &'static str, index: usize, quantity: &'static str, value: f64, must: &'static str },
    #[error("{name} has {found} values; it must have {wanted}, one for each {per}")]
    Length { name: &'static str, found: usize, wanted: usize, per: &'static str },
    #[error(
        "path {path}: no link on it has a finite capacity and connection {connection} has no demand, so its rate \
         would be infinite; give the connection a demand or a link a capacity"
    )]
    Unlimited { path: usize, connection: u32 },
    #[error("{what}: {count} is more than 2^32 - 2; split the problem")]
    TooMany { what: &'static str, count: usize },
}

/// A problem that every solver takes; immutable.
#[derive(Clone, Debug)]
pub struct Problem {
    parts: ProblemParts,
    /// Paths of connection c: `grouped[connection_offsets[c]..connection_offsets[c + 1]]`, in the order given.
    connection_offsets: Vec<usize>,
    grouped: Vec<u32>,
}

impl Problem {
    /// Checks the arrays and freezes them.
    ///
    /// # Errors
    /// The first thing that is wrong, with its place.
    pub fn new(mut parts: ProblemParts) -> Result<Self, ProblemError> {
        check_lengths(&parts)?;
        let is_amount = |v: f64| (0.0..=MOST).contains(&v) || v == f64::INFINITY;
        let is_factor = |v: f64| (1.0 / MOST_FACTOR..=MOST_FACTOR).contains(&v);
        check_values("link", "capacity", &parts.capacity, "0 to 1e100, or infinite", is_amount)?;
        check_values("connection", "demand", &parts.demand, "0 to 1e100, or infinite", is_amount)?;
        check_values("connection", "weight", &parts.weight, "1e-30 to 1e30", is_factor)?;
        check_values("entry", "coefficient", &parts.coefficient, "1e-30 to 1e30", is_factor)?;
        for amount in parts.capacity.iter_mut().chain(&mut parts.demand).filter(|v| **v < LEAST) {
            *amount = 0.0;
        }
        check_paths(&parts)?;
        let (connection_offsets, grouped) = group(&parts.path_connection, parts.weight.len());
        Ok(Self { parts, connection_offsets, grouped })
    }

    /// The arrays.
    pub(crate) fn parts(&self) -> &ProblemParts {
        &self.parts
    }

    /// Number of links.
    pub fn links(&self) -> usize {
        self.parts.capacity.len()
    }

    /// Number of connections.
    pub fn connections(&self) -> usize {
        self.parts.weight.len()
    }

    /// Number of paths.
    pub fn paths(&self) -> usize {
        self.parts.path_connection.len()
    }

    /// Capacity of `link`.
    pub fn capacity(&self, link: usize) -> f64 {
        self.parts.capacity[link]
    }

    /// Demand of `connection`, perhaps infinite.
    pub fn demand(&self, connection: usize) -> f64 {
        self.parts.demand[connection]
    }

    /// Weight of `connection`.
    pub fn weight(&self, connection: usize) -> f64 {
        self.parts.weight[connection]
    }

    /// The connection of `path`.
    pub fn connection(&self, path: usize) -> usize {
        self.parts.path_connection[path] as usize
    }

    /// The paths of `connection`, in the order given.
    pub fn paths_of(&self, connection: usize) -> &[u32] {
        &self.grouped[self.connection_offsets[connection]..self.connection_offsets[connection + 1]]
    }

    /// The links of `path` in order.
    pub fn links_of(&self, path: usize) -> &[u32] {
        &self.parts.path_links[self.entries(path)]
    }

    /// The links of `path`, each with the capacity that a unit of rate uses there.
    pub fn uses_of(&self, path: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let coefficients = &self.parts.coefficient;
        self.entries(path).map(move |entry| {
            let coefficient = if coefficients.is_empty() { 1.0 } else { coefficients[entry] };
            (self.parts.path_links[entry] as usize, coefficient)
        })
    }

    /// Whether some path uses more or less than its rate on some link.
    pub fn has_coefficients(&self) -> bool {
        !self.parts.coefficient.is_empty()
    }

    /// Number of (path, link) entries.
    pub fn entry_count(&self) -> usize {
        self.parts.path_links.len()
    }

    /// Where the paths of each connection begin in the grouped order.
    pub(crate) fn connection_offsets(&self) -> &[usize] {
        &self.connection_offsets
    }

    /// The path at each place of the grouped order.
    pub(crate) fn grouped(&self) -> &[u32] {
        &self.grouped
    }

    fn entries(&self, path: usize) -> std::ops::Range<usize> {
        self.parts.path_offsets[path]..self.parts.path_offsets[path + 1]
    }

    /// For each connection the sum of `path_rates` over its paths.
    pub fn sum_by_connection(&self, path_rates: &[f64]) -> Vec<f64> {
        // Folded from 0, since an empty sum of floats is -0.
        let total = |c| self.paths_of(c).iter().fold(0.0, |sum, &path| sum + path_rates[path as usize]);
        (0..self.connections()).map(total).collect()
    }

    /// The load on each link under `path_rates`.
    pub fn loads(&self, path_rates: &[f64]) -> Vec<f64> {
        let mut loads = vec![0.0; self.links()];
        for (path, &rate) in path_rates.iter().enumerate() {
            for (link, coefficient) in self.uses_of(path) {
                loads[link] += coefficient * rate;
            }
        }
        loads
    }
}

/// Takes back what rounding put over a capacity or a demand: each path is divided by the worst excess on it.
pub(crate) fn trim(problem: &Problem, path_rates: &mut [f64]) {
    let over = |amount: f64, limit: f64| if limit > 0.0 { (amount / limit).max(1.0) } else { 1.0 };
    let links: Vec<f64> =
        problem.loads(path_rates).iter().enumerate().map(|(l, &load)| over(load, problem.capacity(l))).collect();
    let connections: Vec<f64> = problem
        .sum_by_connection(path_rates)
        .iter()
        .enumerate()
        .map(|(c, &rate)| over(rate, problem.demand(c)))
        .collect();
    for (path, rate) in path_rates.iter_mut().enumerate() {
        let on_links = problem.links_of(path).iter().map(|&l| links[l as usize]);
        *rate /= on_links.fold(connections[problem.connection(path)], f64::max);
    }
}

/// Path numbers grouped by connection, in their order: offsets and the grouped numbers.
fn group(path_connection: &[u32], connections: usize) -> (Vec<usize>, Vec<u32>) {
    let mut offsets = vec![0usize; connections + 1];
    for &c in path_connection {
        offsets[c as usize + 1] += 1;
    }
    for c in 0..connections {
        offsets[c + 1] += offsets[c];
    }
    let mut next = offsets.clone();
    let mut grouped = vec![0u32; path_connection.len()];
    for (path, &c) in path_connection.iter().enumerate() {
        grouped[next[c as usize]] = path as u32;
        next[c as usize] += 1;
    }
    (offsets, grouped)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts() -> ProblemParts {
        ProblemParts {
            capacity: vec![1.0, 2.0],
            path_offsets: vec![0, 1, 3],
            path_links: vec![0, 0, 1],
            path_connection: vec![1, 0],
            demand: vec![f64::INFINITY; 2],
            weight: vec![1.0; 2],
            coefficient: vec![],
        }
    }

    fn said(change: impl FnOnce(&mut ProblemParts)) -> String {
        let mut changed = parts();
        change(&mut changed);
        Problem::new(changed).unwrap_err().to_string()
    }

    #[test]
    fn paths_keep_their_order_within_their_connection() {
        let problem = Problem::new(parts()).unwrap();
        assert_eq!((problem.paths_of(0), problem.paths_of(1)), (&[1u32][..], &[0u32][..]));
        assert_eq!(problem.links_of(1), [0, 1]);
        assert_eq!(problem.loads(&[0.25, 0.5]), [0.75, 0.5]);
    }

    #[test]
    fn each_mistake_is_told_with_its_place() {
        assert_eq!(said(|p| p.capacity[1] = f64::NAN), "link 1: capacity is NaN; it must be 0 to 1e100, or infinite");
        assert!(said(|p| p.weight[0] = 0.0).starts_with("connection 0: weight is 0"));
        assert!(said(|p| p.demand[1] = -1.0).starts_with("connection 1: demand is -1"));
        assert!(said(|p| p.path_links[1] = 7).contains("path 1: there is no link 7"));
        assert!(said(|p| p.path_links[1] = 1).contains("path 1: it takes link 1 twice"));
        assert!(said(|p| p.path_connection[0] = 9).contains("no connection 9"));
        assert!(said(|p| p.path_offsets[1] = 0).contains("path 0: it has no links"));
        assert!(said(|p| p.path_offsets = vec![0, 2, 1]).contains("less than the one before"));
        assert!(said(|p| p.path_offsets = vec![0, 3]).contains("one more than path_connection"));
        assert!(said(|p| p.path_offsets[2] = 2).contains("not the length"));
        assert!(said(|p| p.coefficient = vec![1.0]).contains("coefficient has 1 values"));
        assert!(said(|p| p.capacity[0] = f64::INFINITY).contains("would be infinite"));
    }
}
