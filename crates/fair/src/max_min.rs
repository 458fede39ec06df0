//! Max-min fair rates where every connection has one path: progressive filling [bertsekas1992, sec. 6.5.2].
//!
//! All levels rise together; the connections of the link that saturates first freeze, then those of the next.
//! With one path each, freezing only ever postpones other saturations, so a heap of links by the level last known
//! suffices: a link that comes up is looked at again, and goes back if its level has risen since.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use thiserror::Error;

use crate::allocation::Allocation;
use crate::problem::{Problem, trim};

/// A connection that has more than one path.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "connection {connection} has {paths} paths; progressive filling takes one for each connection (give one path, \
     or take another method)"
)]
pub struct MultipathError {
    connection: usize,
    paths: usize,
}

/// A level that orders links; never NaN.
#[derive(PartialEq)]
struct Level(f64);

impl Eq for Level {}

impl PartialOrd for Level {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Level {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// A link while it fills.
#[derive(Clone, Copy, Default)]
struct Filling {
    /// Capacity left at level `since`.
    left: f64,
    /// Growth of the load by level, and what it was when last summed anew.
    slope: f64,
    summed: f64,
    since: f64,
    /// Paths on it that are not frozen.
    live: u32,
}

impl Filling {
    fn level(&self) -> f64 {
        if self.live > 0 && self.slope > 0.0 { self.since + self.left.max(0.0) / self.slope } else { f64::INFINITY }
    }

    fn advance(&mut self, z: f64) {
        self.left -= self.slope * (z - self.since);
        self.since = z;
    }
}

/// A slope that fell by this factor is summed anew, since what subtraction left of it may be rounding error.
const STALE: f64 = 1e-4;

/// Everything that fills.
struct Filler<'a> {
    problem: &'a Problem,
    links: Vec<Filling>,
    /// Paths on link l: `paths_on[offsets[l]..offsets[l + 1]]`.
    offsets: Vec<usize>,
    paths_on: Vec<u32>,
    is_frozen: Vec<bool>,
    path_rates: Vec<f64>,
}

/// Weighted max-min fair rates within the demands.
///
/// # Errors
/// A connection with more than one path.
pub fn max_min(problem: &Problem) -> Result<Allocation, MultipathError> {
    let several = (0..problem.connections()).find(|&c| problem.paths_of(c).len() > 1);
    if let Some(connection) = several {
        return Err(MultipathError { connection, paths: problem.paths_of(connection).len() });
    }
    let mut filler = Filler::new(problem);
    filler.fill();
    let mut path_rates = filler.path_rates;
    trim(problem, &mut path_rates);
    let connection_rates = problem.sum_by_connection(&path_rates);
    Ok(Allocation { path_rates, connection_rates, passes: 1, converged: true, residual: 0.0 })
}

impl<'a> Filler<'a> {
    fn new(problem: &'a Problem) -> Self {
        let mut links = vec![Filling::default(); problem.links()];
        for (l, link) in links.iter_mut().enumerate() {
            link.left = problem.capacity(l);
        }
        for path in 0..problem.paths() {
            let weight = problem.weight(problem.connection(path));
            for (link, coefficient) in problem.uses_of(path) {
                links[link].slope += weight * coefficient;
                links[link].live += 1;
            }
        }
        // A link that never binds never comes up.
        for (l, link) in links.iter_mut().enumerate() {
            link.summed = link.slope;
            if problem.capacity(l).is_infinite() {
                *link = Filling::default();
            }
        }
        let (offsets, paths_on) = paths_by_link(problem);
        Self {
            problem,
            links,
            offsets,
            paths_on,
            is_frozen: vec![false; problem.paths()],
            path_rates: vec![0.0; problem.paths()],
        }
    }

    fn fill(&mut self) {
        let problem = self.problem;
        let mut heap: BinaryHeap<Reverse<(Level, u32)>> =
            (0..problem.links()).filter(|&l| self.links[l].live > 0).map(|l| self.entry(l)).collect();
        let mut demands: Vec<(f64, u32)> = (0..problem.paths())
            .map(|p| (problem.demand(problem.connection(p)) / problem.weight(problem.connection(p)), p as u32))
            .filter(|(level, _)| level.is_finite())
            .collect();
        demands.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut demands = demands.into_iter().peekable();
        let mut z = 0.0;
        while let Some(Reverse((Level(known), link))) = heap.pop() {
            while let Some((reached, path)) = demands.next_if(|(reached, _)| *reached <= known) {
                z = reached.max(z);
                self.freeze(path as usize, z);
            }
            let level = self.links[link as usize].level();
            if level > known {
                // Freezing has postponed it since: back into the queue, unless nothing on it is left.
                if level.is_finite() {
                    heap.push(self.entry(link as usize));
                }
                continue;
            }
            z = level.max(z);
            for at in self.offsets[link as usize]..self.offsets[link as usize + 1] {
                self.freeze(self.paths_on[at] as usize, z);
            }
        }
        for (reached, path) in demands {
            self.freeze(path as usize, reached.max(z));
        }
    }

    fn entry(&self, link: usize) -> Reverse<(Level, u32)> {
        Reverse((Level(self.links[link].level()), link as u32))
    }

    fn freeze(&mut self, path: usize, z: f64) {
        if std::mem::replace(&mut self.is_frozen[path], true) {
            return;
        }
        let weight = self.problem.weight(self.problem.connection(path));
        self.path_rates[path] = weight * z;
        for (number, coefficient) in self.problem.uses_of(path) {
            let link = &mut self.links[number];
            if link.live == 0 {
                continue;
            }
            link.advance(z);
            link.slope -= weight * coefficient;
            link.live -= 1;
            if link.live > 0 && link.slope < STALE * link.summed {
                self.sum_anew(number);
            }
        }
    }

    fn sum_anew(&mut self, number: usize) {
        let live = self.paths_on[self.offsets[number]..self.offsets[number + 1]].iter().map(|&path| path as usize);
        let uses = live.filter(|&path| !self.is_frozen[path]).map(|path| {
            let weight = self.problem.weight(self.problem.connection(path));
            let on_link = self.problem.uses_of(path).find(|(link, _)| *link == number);
            weight * on_link.expect("a path listed on a link uses it").1
        });
        let slope = uses.sum();
        (self.links[number].slope, self.links[number].summed) = (slope, slope);
    }
}

/// Paths listed by link, without links that never bind: offsets and path numbers.
fn paths_by_link(problem: &Problem) -> (Vec<usize>, Vec<u32>) {
    let mut offsets = vec![0usize; problem.links() + 1];
    for path in 0..problem.paths() {
        for &link in problem.links_of(path) {
            offsets[link as usize + 1] += 1;
        }
    }
    for l in 0..problem.links() {
        offsets[l + 1] += offsets[l];
    }
    let mut next = offsets.clone();
    let mut listed = vec![0u32; offsets[problem.links()]];
    for path in 0..problem.paths() {
        for &link in problem.links_of(path) {
            listed[next[link as usize]] = path as u32;
            next[link as usize] += 1;
        }
    }
    (offsets, listed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::certify::certify;
    use crate::problem::ProblemParts;

    fn single(capacity: &[f64], paths: &[&[u32]], demand: &[f64], weight: &[f64]) -> Problem {
        let mut parts = ProblemParts {
            capacity: capacity.to_vec(),
            path_offsets: vec![0],
            path_connection: (0..paths.len() as u32).collect(),
            demand: demand.to_vec(),
            weight: weight.to_vec(),
            ..Default::default()
        };
        for path in paths {
            parts.path_links.extend_from_slice(path);
            parts.path_offsets.push(parts.path_links.len());
        }
        Problem::new(parts).unwrap()
    }

    const NONE: f64 = f64::INFINITY;

    fn assert_close(found: &[f64], wanted: &[f64]) {
        let close = found.iter().zip(wanted).all(|(a, b)| (a - b).abs() <= 1e-12 * b.abs().max(1.0));
        assert!(close && found.len() == wanted.len(), "{found:?} instead of {wanted:?}");
    }

    #[test]
    fn the_short_connection_takes_what_the_long_one_leaves() {
        // Links 10 and 4. The long connection is held to 2 at the second, so the short one gets 8 at the first.
        let problem = single(&[10.0, 4.0], &[&[0, 1], &[0], &[1]], &[NONE; 3], &[1.0; 3]);
        assert_close(&max_min(&problem).unwrap().path_rates, &[2.0, 8.0, 2.0]);
    }

    #[test]
    fn three_links_of_ten_twenty_and_thirty() {
        // A=10, B=20, C=30; s1 on A B C, s2 on A, s3 on B, s4 on C, s5 on B C. A: 10/2 = 5 for s1, s2. B: 15 are
        // left for s3, s5: 7.5 each. C: 30 - 5 - 7.5 = 17.5 for s4.
        let paths: [&[u32]; 5] = [&[0, 1, 2], &[0], &[1], &[2], &[1, 2]];
        let problem = single(&[10.0, 20.0, 30.0], &paths, &[NONE; 5], &[1.0; 5]);
        assert_close(&max_min(&problem).unwrap().path_rates, &[5.0, 5.0, 7.5, 17.5, 7.5]);
        // With a demand of 4 for s5: B has 20 - 5 - 4 = 11 for s3, C has 30 - 5 - 4 = 21 for s4.
        let problem = single(&[10.0, 20.0, 30.0], &paths, &[NONE, NONE, NONE, NONE, 4.0], &[1.0; 5]);
        assert_close(&max_min(&problem).unwrap().path_rates, &[5.0, 5.0, 11.0, 21.0, 4.0]);
    }

    #[test]
    fn rates_follow_the_weights() {
        // 12 in proportion 1 : 2 : 3.
        let problem = single(&[12.0], &[&[0], &[0], &[0]], &[NONE; 3], &[1.0, 2.0, 3.0]);
        assert_close(&max_min(&problem).unwrap().path_rates, &[2.0, 4.0, 6.0]);
    }

    #[test]
    fn dead_links_and_empty_demands_give_rate_zero() {
        let problem = single(&[0.0, 6.0], &[&[0, 1], &[1], &[1]], &[NONE, 0.0, NONE], &[1.0; 3]);
        let allocation = max_min(&problem).unwrap();
        assert_close(&allocation.path_rates, &[0.0, 0.0, 6.0]);
        assert!(certify(&problem, &allocation.path_rates, 1e-9).holds());
    }

    #[test]
    fn links_without_limit_never_bind() {
        let problem = single(&[f64::INFINITY, 6.0], &[&[0], &[0, 1]], &[5.0, NONE], &[1.0; 2]);
        assert_close(&max_min(&problem).unwrap().path_rates, &[5.0, 6.0]);
    }

    #[test]
    fn a_light_connection_beside_a_heavy_one_is_not_lost() {
        // The heavy one has its demand of 1; the light one has the other 9, though its weight is 1e-18 of the other's.
        let problem = single(&[10.0], &[&[0], &[0]], &[1.0, NONE], &[1e9, 1e-9]);
        assert_close(&max_min(&problem).unwrap().path_rates, &[1.0, 9.0]);
    }

    #[test]
    fn several_paths_are_refused() {
        let mut parts = ProblemParts { capacity: vec![1.0, 1.0], path_offsets: vec![0, 1, 2], ..Default::default() };
        (parts.path_links, parts.path_connection) = (vec![0, 1], vec![0, 0]);
        (parts.demand, parts.weight) = (vec![NONE], vec![1.0]);
        let said = max_min(&Problem::new(parts).unwrap()).unwrap_err().to_string();
        assert!(said.starts_with("connection 0 has 2 paths"));
    }
}
