//! The part of a problem that the solver works on: links that can bind, paths that can carry traffic, connections with
//! a demand.
//!
//! Links of infinite capacity never bind, and paths over links of capacity 0 carry nothing. Both are left out, and so
//! are connections without a demand or a path. Where the solver has to follow changes, such paths and connections stay
//! in: a link may be repaired, and a demand may return. Links and connections have units of their own, in which no
//! coefficient exceeds 1; without coefficients these are the units of the problem.

use std::ops::Range;

use crate::problem::{Problem, rate_at};

/// The paths and connections of a problem that become columns.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Takes {
    /// Only paths and connections that can carry something.
    Carrying,
    /// All, including connections without a demand and paths over failed links, which a change may bring back.
    All,
}

/// The part of the problem that is solved; links are its rows, and paths are grouped by connection.
pub(super) struct Columns {
    /// The link of each row, its capacity, and the size of a unit of the link in the row.
    pub link: Vec<u32>,
    pub capacity: Vec<f64>,
    pub row_scale: Vec<f64>,
    /// The number of each participating connection in the problem, its weight, its reserved part, whether any has one, its
    /// finite demand, and the size of a unit of its rate.
    pub connection: Vec<u32>,
    pub weight: Vec<f64>,
    pub reserved: Vec<f64>,
    pub has_reserved: bool,
    pub demand: Vec<f64>,
    pub rate_scale: Vec<f64>,
    /// The number of each path in the problem, and the index of its connection in these columns.
    pub path: Vec<u32>,
    pub owner: Vec<u32>,
    path_offsets: Vec<usize>,
    /// The rows of each path, and the use of each row by a unit of rate (empty if 1 everywhere).
    use_offsets: Vec<usize>,
    rows_used: Vec<u32>,
    amounts_used: Vec<f64>,
    /// The paths on each row, the use of the row by a unit of their rates (empty if 1 everywhere), and the connections
    /// on it.
    row_offsets: Vec<usize>,
    on_row: Vec<u32>,
    amounts: Vec<f64>,
    connections_on: Vec<Vec<u32>>,
}

impl Columns {
    /// Takes in what can carry something now, or also all that a change of numbers may bring back.
    pub fn new(problem: &Problem, takes: Takes) -> Self {
        let mut columns = Self {
            link: vec![],
            capacity: vec![],
            row_scale: vec![],
            connection: vec![],
            weight: vec![],
            reserved: vec![],
            has_reserved: problem.has_reserved(),
            demand: vec![],
            rate_scale: vec![],
            path: vec![],
            owner: vec![],
            path_offsets: vec![0],
            use_offsets: vec![0],
            rows_used: vec![],
            amounts_used: vec![],
            row_offsets: vec![],
            on_row: vec![],
            amounts: vec![],
            connections_on: vec![],
        };
        let mut row_of = vec![u32::MAX; problem.links()];
        for c in (0..problem.connections()).filter(|&c| takes == Takes::All || problem.demand(c) > 0.0) {
            columns.add_connection(problem, c, takes, &mut row_of);
        }
        columns.scale();
        columns.bound_demands();
        columns.list_by_row();
        columns
    }

    fn add_connection(&mut self, problem: &Problem, c: usize, takes: Takes, row_of: &mut [u32]) {
        let own = self.connection.len() as u32;
        for &p in problem.paths_of(c) {
            let is_dead = problem.uses_of(p as usize).any(|(l, _)| problem.capacity(l) == 0.0);
            if is_dead && takes == Takes::Carrying {
                continue;
            }
            for (l, a) in problem.uses_of(p as usize).filter(|&(l, _)| problem.capacity(l).is_finite()) {
                if row_of[l] == u32::MAX {
                    row_of[l] = self.link.len() as u32;
                    self.link.push(l as u32);
                    self.capacity.push(problem.capacity(l));
                }
                self.rows_used.push(row_of[l]);
                if problem.has_coefficients() {
                    self.amounts_used.push(a);
                }
            }
            self.path.push(p);
            self.owner.push(own);
            self.use_offsets.push(self.rows_used.len());
        }
        if self.path.len() > *self.path_offsets.last().expect("offsets begin with 0") {
            self.path_offsets.push(self.path.len());
            self.connection.push(c as u32);
            self.weight.push(problem.weight(c));
            self.reserved.push(problem.reserved(c));
            self.demand.push(problem.demand(c));
        }
    }

    /// The rate of a connection at a level of -1 or more.
    pub fn share(&self, c: usize, level: f64) -> f64 {
        if self.has_reserved { rate_at((self.reserved[c], self.weight[c]), level) } else { self.weight[c] * level }
    }

    /// The level of a connection at a rate.
    pub fn level(&self, c: usize, rate: f64) -> f64 {
        if !self.has_reserved {
            return rate / self.weight[c];
        }
        let more = rate - self.reserved[c];
        more / if more < 0.0 { self.reserved[c] } else { self.weight[c] }
    }

    /// Changes to units in which no coefficient exceeds 1.
    fn scale(&mut self) {
        self.row_scale = vec![1.0; self.link.len()];
        self.rate_scale = vec![1.0; self.connection.len()];
        if self.amounts_used.is_empty() {
            return;
        }
        let mut most = vec![0.0f64; self.link.len()];
        for (&row, &a) in self.rows_used.iter().zip(&self.amounts_used) {
            most[row as usize] = most[row as usize].max(a);
        }
        self.row_scale = most.iter().map(|most| 1.0 / most).collect();
        self.capacity.iter_mut().zip(&self.row_scale).for_each(|(capacity, scale)| *capacity *= scale);
        for (&row, a) in self.rows_used.iter().zip(&mut self.amounts_used) {
            *a *= self.row_scale[row as usize];
        }
        for c in 0..self.connection.len() {
            let entries = self.use_offsets[self.path_offsets[c]]..self.use_offsets[self.path_offsets[c + 1]];
            let amounts = &mut self.amounts_used[entries];
            let most = amounts.iter().fold(0.0f64, |most, a| most.max(*a));
            let scale = if most > 0.0 { most } else { 1.0 };
            for a in amounts {
                *a /= scale;
            }
            self.weight[c] *= scale;
            self.reserved[c] *= scale;
            self.demand[c] *= scale;
            self.rate_scale[c] = scale;
        }
    }

    /// Makes all demands finite: a demand of more than twice what the paths could carry becomes twice that.
    fn bound_demands(&mut self) {
        for c in 0..self.connection.len() {
            self.demand[c] = self.bounded(c, self.demand[c]);
        }
    }

    fn bounded(&self, c: usize, demand: f64) -> f64 {
        let narrowest = |p: usize| {
            let rows = self.uses_of(p).map(|(row, a)| self.capacity[row as usize] / a);
            rows.fold(f64::INFINITY, f64::min)
        };
        let most: f64 = self.paths_of(c).map(narrowest).sum();
        demand.min(2.0 * most)
    }

    /// Takes the numbers of a problem with the same paths as `before`; returns whether that is possible.
    ///
    /// It is impossible where a link begins or ceases to bind. This works only for columns that take in everything.
    pub fn follow(&mut self, problem: &Problem, before: &Problem) -> bool {
        let is_other = |l: usize| problem.capacity(l).is_infinite() != before.capacity(l).is_infinite();
        if (0..problem.links()).any(is_other) {
            return false;
        }
        self.has_reserved = problem.has_reserved();
        let mut is_bounded_anew = vec![false; self.connection.len()];
        for row in 0..self.link.len() {
            let capacity = problem.capacity(self.link[row] as usize) * self.row_scale[row];
            if std::mem::replace(&mut self.capacity[row], capacity).to_bits() != capacity.to_bits() {
                self.connections_on[row].iter().for_each(|&c| is_bounded_anew[c as usize] = true);
            }
        }
        for (c, is_bounded_anew) in is_bounded_anew.into_iter().enumerate() {
            let number = self.connection[c] as usize;
            self.weight[c] = problem.weight(number) * self.rate_scale[c];
            self.reserved[c] = problem.reserved(number) * self.rate_scale[c];
            if is_bounded_anew || problem.demand(number).to_bits() != before.demand(number).to_bits() {
                self.demand[c] = self.bounded(c, problem.demand(number) * self.rate_scale[c]);
            }
        }
        true
    }

    fn list_by_row(&mut self) {
        self.row_offsets = vec![0; self.link.len() + 1];
        for &row in &self.rows_used {
            self.row_offsets[row as usize + 1] += 1;
        }
        for row in 0..self.link.len() {
            self.row_offsets[row + 1] += self.row_offsets[row];
        }
        let mut next = self.row_offsets.clone();
        self.on_row = vec![0; self.rows_used.len()];
        self.amounts = vec![0.0; self.amounts_used.len()];
        self.connections_on = vec![vec![]; self.link.len()];
        for p in 0..self.path.len() {
            for i in self.use_offsets[p]..self.use_offsets[p + 1] {
                let row = self.rows_used[i] as usize;
                let place = &mut next[row];
                self.on_row[*place] = p as u32;
                if let Some(amount) = self.amounts.get_mut(*place) {
                    *amount = self.amounts_used[i];
                }
                *place += 1;
                let connections = &mut self.connections_on[row];
                if connections.last() != Some(&self.owner[p]) {
                    connections.push(self.owner[p]);
                }
            }
        }
    }

    /// Whether some path uses more or less than its rate on some row.
    pub fn has_amounts(&self) -> bool {
        !self.amounts.is_empty()
    }

    pub fn rows(&self) -> usize {
        self.link.len()
    }

    pub fn connections(&self) -> usize {
        self.connection.len()
    }

    pub fn paths(&self) -> usize {
        self.path.len()
    }

    pub fn paths_of(&self, connection: usize) -> Range<usize> {
        self.path_offsets[connection]..self.path_offsets[connection + 1]
    }

    /// The rows of a path, each with the use of the row by a unit of rate.
    pub fn uses_of(&self, path: usize) -> impl Iterator<Item = (u32, f64)> {
        let range = self.use_offsets[path]..self.use_offsets[path + 1];
        let amounts = self.amounts_used.get(range.clone()).unwrap_or(&[]);
        let rows = self.rows_used[range].iter().enumerate();
        rows.map(|(i, &row)| (row, amounts.get(i).copied().unwrap_or(1.0)))
    }

    /// Whether a link of the path has failed since the path was taken in.
    pub fn is_dead(&self, path: usize) -> bool {
        self.uses_of(path).any(|(row, _)| self.capacity[row as usize] == 0.0)
    }

    /// Connections with a path on a row.
    pub fn connections_on(&self, row: usize) -> &[u32] {
        &self.connections_on[row]
    }

    /// Adds `price` times the use of a row by a unit of rate to the sum of each path on the row.
    pub fn add_price(&self, row: usize, price: f64, sums: &mut [f64]) {
        let range = self.row_offsets[row]..self.row_offsets[row + 1];
        let paths = &self.on_row[range.clone()];
        if self.amounts.is_empty() {
            for &p in paths {
                sums[p as usize] += price;
            }
        } else {
            for (&p, amount) in paths.iter().zip(&self.amounts[range]) {
                sums[p as usize] += price * amount;
            }
        }
    }

    /// The change of the load of each row when a unit of rate moves to `path` from `other`.
    pub fn difference(&self, path: usize, other: usize) -> Vec<(u32, f64)> {
        let mut difference: Vec<(u32, f64)> = self.uses_of(path).collect();
        for (row, a) in self.uses_of(other) {
            match difference.iter_mut().find(|(r, _)| *r == row) {
                Some((_, b)) => *b -= a,
                None => difference.push((row, -a)),
            }
        }
        difference.retain(|&(_, a)| a != 0.0);
        difference
    }
}
