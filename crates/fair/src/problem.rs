//! The allocation problem: capacities, paths, demands, weights and reserved parts, checked and immutable.
//!
//! ```text
//! rate of a connection at a level = reserved + weight * level      from level 0 on: what comes after the reserved part
//!                                   reserved * (1 + level)         below 0, down to -1: too much is reserved
//! ```
//!
//! A path of connection c on link l uses `coefficient * rate` of the link's capacity; the coefficient is 1 unless
//! given.
//! Some degenerate parts are accepted and others refused:
//! - a link of capacity 0 holds every path over it at rate 0; a link of infinite capacity never binds;
//! - a connection of demand 0, or without a path, has rate 0;
//! - a path that no finite link and no demand limits is refused;
//! - of a reserved part over the demand, as much counts as the demand is;
//! - an amount below 1e-100 counts as 0, and one over 1e100 is refused, so that nothing overflows or is lost.

mod checks;

use std::sync::Arc;

use anabranch_filling::SinglePath;
use thiserror::Error;

use checks::{
    FACTOR, capacities, check_lengths, check_paths, check_values, demands, is_factor, reserved, same_length, weights,
};

/// The arrays that make up a problem, in the order of its paths.
#[derive(Clone, Debug, Default)]
pub struct ProblemParts {
    /// The capacity of each link: 0 or more, may be infinite.
    pub capacity: Vec<f64>,
    /// The offsets of the paths' links: path p uses `path_links[path_offsets[p]..path_offsets[p + 1]]`.
    pub path_offsets: Vec<usize>,
    /// The link numbers along the paths, one path after the other.
    pub path_links: Vec<u32>,
    /// The connection that each path belongs to, in any order.
    pub path_connection: Vec<u32>,
    /// The demand of each connection, the most that it can use: 0 or more, may be infinite.
    pub demand: Vec<f64>,
    /// The claim of each connection: positive, finite.
    pub weight: Vec<f64>,
    /// The reserved part of each connection's rate, which comes before its share: 0 or more, finite; empty if 0
    /// everywhere.
    pub reserved: Vec<f64>,
    /// The capacity used for each unit of rate, for each entry of `path_links`; empty if 1 everywhere.
    pub coefficient: Vec<f64>,
}

/// The reason why arrays do not make a valid problem.
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

/// An immutable problem that every solver takes. Problems with the same paths share the arrays that depend on paths
/// alone.
#[derive(Clone, Debug)]
pub struct Problem {
    capacity: Arc<[f64]>,
    demand: Arc<[f64]>,
    weight: Arc<[f64]>,
    /// The reserved parts as they were given; empty if 0 everywhere.
    reserved: Arc<[f64]>,
    paths: Arc<PathArrays>,
}

/// The arrays that depend on paths alone.
#[derive(Debug)]
struct PathArrays {
    offsets: Vec<usize>,
    links: Vec<u32>,
    connection: Vec<u32>,
    coefficient: Vec<f64>,
    /// The offsets of the connections' paths: connection c has `grouped[connection_offsets[c]..connection_offsets[c +
    /// 1]]`, in the order given.
    connection_offsets: Vec<usize>,
    grouped: Vec<u32>,
}

/// New numbers for the paths of a problem; `None` leaves the numbers as they are.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// The new capacity of each link, as in [`ProblemParts`]; 0 for a failed link.
    pub capacity: Option<Vec<f64>>,
    /// The new demand of each connection.
    pub demand: Option<Vec<f64>>,
    /// The new weight of each connection.
    pub weight: Option<Vec<f64>>,
    /// The new reserved part of each connection.
    pub reserved: Option<Vec<f64>>,
}

impl Problem {
    /// Checks the arrays and makes a problem of them.
    ///
    /// # Errors
    /// Returns the first fault, with its place.
    pub fn new(parts: ProblemParts) -> Result<Self, ProblemError> {
        check_lengths(&parts)?;
        check_paths(&parts)?;
        let capacity = capacities(parts.capacity)?;
        let demand = demands(parts.demand)?;
        let weight = weights(parts.weight)?;
        let reserved = reserved(parts.reserved)?;
        check_values("entry", "coefficient", &parts.coefficient, FACTOR, is_factor)?;
        let (connection_offsets, grouped) = group(&parts.path_connection, weight.len());
        let paths = Arc::new(PathArrays {
            offsets: parts.path_offsets,
            links: parts.path_links,
            connection: parts.path_connection,
            coefficient: parts.coefficient,
            connection_offsets,
            grouped,
        });
        Self { capacity, demand, weight, reserved, paths }.limited()
    }

    /// A problem with the same paths and other numbers; it costs little more than the check of the numbers.
    ///
    /// # Errors
    /// Returns an error for arrays of another length, a number out of its range, or a path without any limit.
    pub fn changed(&self, changes: Changes) -> Result<Self, ProblemError> {
        let (links, connections) = (self.links(), self.connections());
        let capacity = changes.capacity.map(|c| same_length("capacity", c, links, "link").and_then(capacities));
        let demand = changes.demand.map(|d| same_length("demand", d, connections, "connection").and_then(demands));
        let weight = changes.weight.map(|w| same_length("weight", w, connections, "connection").and_then(weights));
        let parts = changes.reserved.map(|r| same_length("reserved", r, connections, "connection").and_then(reserved));
        let changed = Self {
            capacity: capacity.unwrap_or_else(|| Ok(Arc::clone(&self.capacity)))?,
            demand: demand.unwrap_or_else(|| Ok(Arc::clone(&self.demand)))?,
            weight: weight.unwrap_or_else(|| Ok(Arc::clone(&self.weight)))?,
            reserved: parts.unwrap_or_else(|| Ok(Arc::clone(&self.reserved)))?,
            paths: Arc::clone(&self.paths),
        };
        changed.limited()
    }

    /// Whether the paths are the same because one problem was made from the other.
    pub(crate) fn shares_paths(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.paths, &other.paths)
    }

    /// The problem itself, if something limits every path.
    fn limited(self) -> Result<Self, ProblemError> {
        if self.capacity.iter().all(|c| c.is_finite()) {
            return Ok(self);
        }
        let is_unlimited = |&path: &usize| {
            let mut links = self.links_of(path).iter();
            self.demand(self.connection(path)).is_infinite() && links.all(|&l| self.capacity(l as usize).is_infinite())
        };
        match (0..self.paths()).find(is_unlimited) {
            Some(path) => Err(ProblemError::Unlimited { path, connection: self.connection(path) as u32 }),
            None => Ok(self),
        }
    }

    /// The problem in the form that progressive filling takes, with demands and weights by path.
    pub(crate) fn single_path<'a>(&'a self, demand: &'a [f64], weight: &'a [f64]) -> SinglePath<'a> {
        SinglePath {
            capacity: &self.capacity,
            offsets: &self.paths.offsets,
            links: &self.paths.links,
            demand,
            weight,
            coefficient: &self.paths.coefficient,
        }
    }

    /// Number of links.
    pub fn links(&self) -> usize {
        self.capacity.len()
    }

    /// Number of connections.
    pub fn connections(&self) -> usize {
        self.weight.len()
    }

    /// Number of paths.
    pub fn paths(&self) -> usize {
        self.paths.connection.len()
    }

    /// Capacity of `link`.
    pub fn capacity(&self, link: usize) -> f64 {
        self.capacity[link]
    }

    /// Demand of `connection`; may be infinite.
    pub fn demand(&self, connection: usize) -> f64 {
        self.demand[connection]
    }

    /// Weight of `connection`.
    pub fn weight(&self, connection: usize) -> f64 {
        self.weight[connection]
    }

    /// Reserved part of the rate of `connection`, at most its demand.
    pub fn reserved(&self, connection: usize) -> f64 {
        self.reserved.get(connection).map_or(0.0, |reserved| reserved.min(self.demand[connection]))
    }

    /// Whether some connection has a reserved part.
    pub fn has_reserved(&self) -> bool {
        !self.reserved.is_empty()
    }

    /// Level of `connection` at a rate: from 0 on, the rate after the reserved part, divided by the weight; below 0, the
    /// share of the reserved part that is missing.
    pub fn level(&self, connection: usize, rate: f64) -> f64 {
        if !self.has_reserved() {
            return rate / self.weight[connection];
        }
        let more = rate - self.reserved(connection);
        more / if more < 0.0 { self.reserved(connection) } else { self.weight[connection] }
    }

    /// Rate of `connection` at a level of -1 or more.
    pub fn rate_at(&self, connection: usize, level: f64) -> f64 {
        rate_at((self.reserved(connection), self.weight[connection]), level)
    }

    /// The demands of all connections.
    pub(crate) fn demands(&self) -> &[f64] {
        &self.demand
    }

    /// The weights of all connections.
    pub(crate) fn weights(&self) -> &[f64] {
        &self.weight
    }

    /// The connection of `path`.
    pub fn connection(&self, path: usize) -> usize {
        self.paths.connection[path] as usize
    }

    /// The paths of `connection`, in the order given.
    pub fn paths_of(&self, connection: usize) -> &[u32] {
        let range = self.paths.connection_offsets[connection]..self.paths.connection_offsets[connection + 1];
        &self.paths.grouped[range]
    }

    /// The links of `path` in order.
    pub fn links_of(&self, path: usize) -> &[u32] {
        &self.paths.links[self.entries(path)]
    }

    /// The links of `path`, each with the capacity that a unit of rate uses there.
    pub fn uses_of(&self, path: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let coefficients = &self.paths.coefficient;
        self.entries(path).map(move |entry| {
            let coefficient = if coefficients.is_empty() { 1.0 } else { coefficients[entry] };
            (self.paths.links[entry] as usize, coefficient)
        })
    }

    /// Whether some path uses more or less than its rate on some link.
    pub fn has_coefficients(&self) -> bool {
        !self.paths.coefficient.is_empty()
    }

    /// Number of (path, link) entries.
    pub fn entry_count(&self) -> usize {
        self.paths.links.len()
    }

    /// The index of each connection's first path in the grouped order.
    pub(crate) fn connection_offsets(&self) -> &[usize] {
        &self.paths.connection_offsets
    }

    /// The path at each place of the grouped order.
    pub(crate) fn grouped(&self) -> &[u32] {
        &self.paths.grouped
    }

    fn entries(&self, path: usize) -> std::ops::Range<usize> {
        self.paths.offsets[path]..self.paths.offsets[path + 1]
    }

    /// The sum of `path_rates` over the paths of each connection.
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

/// Rate of a connection with this reserved part and weight at a level of -1 or more.
pub(crate) fn rate_at((reserved, weight): (f64, f64), level: f64) -> f64 {
    reserved + level * if level < 0.0 { reserved } else { weight }
}

/// Removes excesses over capacities and demands by rounding: divides the rate of each path by the worst excess on it.
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
            reserved: vec![],
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
    fn a_changed_problem_has_the_same_paths_and_other_numbers() {
        let problem = Problem::new(parts()).unwrap();
        let failed = problem.changed(Changes { capacity: Some(vec![1.0, 0.0]), ..Changes::default() }).unwrap();
        assert_eq!((failed.capacity(0), failed.capacity(1), failed.demand(0)), (1.0, 0.0, f64::INFINITY));
        assert!(Arc::ptr_eq(&failed.paths, &problem.paths) && Arc::ptr_eq(&failed.demand, &problem.demand));
        let busy = failed.changed(Changes { demand: Some(vec![3.0, 1e-200]), ..Changes::default() }).unwrap();
        assert_eq!((busy.capacity(1), busy.demand(0), busy.demand(1), busy.weight(0)), (0.0, 3.0, 0.0, 1.0));
        assert_eq!((problem.capacity(1), problem.demand(0)), (2.0, f64::INFINITY));
    }

    #[test]
    fn each_mistake_in_a_change_is_told_with_its_place() {
        let problem = Problem::new(parts()).unwrap();
        let said = |changes| problem.changed(changes).unwrap_err().to_string();
        let capacity = |values: &[f64]| Changes { capacity: Some(values.to_vec()), ..Changes::default() };
        assert_eq!(said(capacity(&[1.0])), "capacity has 1 values; it must have 2, one for each link");
        assert!(said(capacity(&[1.0, -1.0])).starts_with("link 1: capacity is -1"));
        assert!(said(capacity(&[f64::INFINITY, 2.0])).starts_with("path 0: no link on it has a finite capacity"));
        let demand = Changes { demand: Some(vec![1.0; 3]), ..Changes::default() };
        assert_eq!(said(demand), "demand has 3 values; it must have 2, one for each connection");
        let weight = Changes { weight: Some(vec![1.0, 0.0]), ..Changes::default() };
        assert!(said(weight).starts_with("connection 1: weight is 0"));
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
