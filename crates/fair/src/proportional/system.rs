//! The linear system of a step, by a positive matrix of the size of the rows.
//!
//! ```text
//! diag(z / xi) xi + (alpha v / eta) 1 1' xi + A' kappa + 1 mu = right.xi      for each connection's paths
//! A xi - diag(s / kappa) kappa = right.kappa
//! 1' xi - (left / mu) mu = right.mu                                           for each connection with a demand
//! ```
//!
//! Eliminating xi and mu leaves `M kappa`, with `H = diag(1 / D) + h 1 1'` for each connection:
//!
//! ```text
//! M = sum over c of A H^-1 A' + diag(s / kappa),    D = xi / z,  h = alpha v / eta + mu / left
//! ```
//!
//! Where the optimum is near, D, kappa / s and mu / left are huge, and small numbers beside them would be lost. Three
//! things keep them. z, s and left are softened: a small part of what they are measured by is added, which bounds
//! D and the others, and refinement takes the effect back. H^-1 is written by differences from the connection's
//! path of the greatest D, with `S = 1 / h + sum of D` and `delta[i] = a[i] - a[largest]`:
//!
//! ```text
//! A H^-1 A' = m a a' + (a u' + u a') / (h S) + sum of D[i] delta[i] delta[i]' - u u' / S
//! m = sum of D / (h S),  a = a[largest],  u = sum of D[i] delta[i]
//! ```
//!
//! And rates and mu are computed from deviations of a connection's prices from their mean.

use super::cholesky::Matrix;
use super::interior::Point;
use super::scaled::Scaled;

/// The part that softens.
const SOFT: f64 = 1e-8;

/// Rounds of refinement at the most.
const ROUNDS: usize = 6;

/// What refinement need not improve.
const SOLVED: f64 = 1e-14;

/// Unknowns of the linear system, or its right sides.
#[derive(Clone)]
pub(super) struct Unknowns {
    pub xi: Vec<f64>,
    pub kappa: Vec<f64>,
    pub mu: Vec<f64>,
}

impl Unknowns {
    fn plus(&self, other: &Self) -> Self {
        let sum = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a + b).collect();
        Self { xi: sum(&self.xi, &other.xi), kappa: sum(&self.kappa, &other.kappa), mu: sum(&self.mu, &other.mu) }
    }
}

/// A connection's part: numbers of its H.
#[derive(Clone, Default)]
struct Block {
    h: f64,
    /// `alpha v / eta`, and `mu / left` softened.
    slope: f64,
    held: f64,
    /// Sum of D, and the path of the greatest.
    sum: f64,
    largest: usize,
}

pub(super) struct System {
    /// D of each path.
    d: Vec<f64>,
    blocks: Vec<Block>,
    matrix: Matrix,
    differences: Differences,
}

impl System {
    pub fn new(scaled: &Scaled) -> Self {
        let rows = scaled.link.len();
        Self {
            d: vec![0.0; scaled.path.len()],
            blocks: vec![Block::default(); scaled.groups()],
            matrix: Matrix::zero(rows),
            differences: Differences::new(rows),
        }
    }

    /// Builds the matrix and its factor.
    pub fn factorise(&mut self, scaled: &Scaled, point: &Point, eta: &[f64]) {
        self.matrix.clear();
        for (g, &eta) in eta.iter().enumerate() {
            let offer = point.offer(g);
            for p in scaled.paths_of(g) {
                self.d[p] = point.xi[p] / (point.z[p] + SOFT * offer);
            }
            let paths = scaled.paths_of(g);
            let soft_left = point.left[g] + SOFT * scaled.room[g];
            let held = if scaled.has_demand(g) { point.mu[g] / soft_left } else { 0.0 };
            let slope = scaled.alpha * point.v[g] / eta;
            self.blocks[g] = Block {
                h: slope + held,
                slope,
                held,
                sum: self.d[paths.clone()].iter().sum(),
                largest: paths.clone().fold(paths.start, |best, p| if self.d[p] > self.d[best] { p } else { best }),
            };
            self.differences.add(scaled, g, &self.blocks[g], &self.d, &mut self.matrix);
        }
        for row in 0..point.s.len() {
            self.matrix.add(row, row, (point.s[row] + SOFT) / point.kappa[row]);
        }
        self.matrix.factorise();
    }

    /// Solves the system, with refinement.
    pub fn solve(&self, scaled: &Scaled, point: &Point, eta: &[f64], right: &Unknowns) -> Unknowns {
        let mut found = self.solve_softly(scaled, right);
        let (mut rest, mut least) = remainder(scaled, point, eta, right, &found);
        for _ in 0..ROUNDS {
            if least <= SOLVED {
                break;
            }
            let refined = found.plus(&self.solve_softly(scaled, &rest));
            let (new_rest, error) = remainder(scaled, point, eta, right, &refined);
            if error.is_nan() || error >= least {
                break;
            }
            (found, rest, least) = (refined, new_rest, error);
        }
        found
    }

    /// Solves the softened system, whose matrix was factored.
    fn solve_softly(&self, scaled: &Scaled, right: &Unknowns) -> Unknowns {
        let mut xi = right.xi.clone();
        self.rates(scaled, &mut xi, &right.mu);
        let mut kappa: Vec<f64> = right.kappa.iter().map(|load| -load).collect();
        for (p, &amount) in xi.iter().enumerate() {
            for &(row, a) in scaled.uses_of(p) {
                kappa[row as usize] += a * amount;
            }
        }
        self.matrix.solve(&mut kappa);
        xi.copy_from_slice(&right.xi);
        for (p, price) in xi.iter_mut().enumerate() {
            *price -= scaled.price(p, &kappa);
        }
        let mu = self.rates(scaled, &mut xi, &right.mu);
        Unknowns { xi, kappa, mu }
    }

    /// Turns what remains of prices into rates, and gives mu.
    fn rates(&self, scaled: &Scaled, prices: &mut [f64], over: &[f64]) -> Vec<f64> {
        let mut mu = vec![0.0; scaled.groups()];
        for (g, block) in self.blocks.iter().enumerate() {
            let mean = scaled.paths_of(g).map(|p| self.d[p] * prices[p]).sum::<f64>() / block.sum;
            let scale = 1.0 + block.h * block.sum;
            let common = (mean + over[g] * block.held) / scale;
            mu[g] = block.held * block.sum * (mean - over[g] * (1.0 / block.sum + block.slope)) / scale;
            for p in scaled.paths_of(g) {
                prices[p] = self.d[p] * ((prices[p] - mean) + common);
            }
        }
        mu
    }
}

/// What `found` leaves of the right sides, and the greatest of it, relative to money and capacities.
fn remainder(scaled: &Scaled, point: &Point, eta: &[f64], right: &Unknowns, found: &Unknowns) -> (Unknowns, f64) {
    let mut rest = right.clone();
    for (row, load) in rest.kappa.iter_mut().enumerate() {
        *load += point.s[row] / point.kappa[row] * found.kappa[row];
    }
    let sums = scaled.sums(&found.xi);
    let mut worst = 0.0f64;
    for (g, sum) in sums.iter().enumerate() {
        if scaled.has_demand(g) {
            rest.mu[g] -= sum - point.left[g] / point.mu[g] * found.mu[g];
            worst = worst.max(rest.mu[g].abs() / scaled.room[g]);
        }
        let common = scaled.alpha * point.v[g] / eta[g] * sum + found.mu[g];
        let offer = point.offer(g);
        for p in scaled.paths_of(g) {
            rest.xi[p] -= point.z[p] / point.xi[p] * found.xi[p] + common + scaled.price(p, &found.kappa);
            worst = worst.max(rest.xi[p].abs() / (offer + point.z[p]));
            for &(row, a) in scaled.uses_of(p) {
                rest.kappa[row as usize] -= a * found.xi[p];
            }
        }
    }
    let worst = rest.kappa.iter().fold(worst, |worst, load| worst.max(load.abs()));
    (rest, worst)
}

/// Adds a connection's part to the matrix; keeps memory for it.
struct Differences {
    /// Of each row: the amount of the largest path, that of the path at hand, and u.
    largest: Vec<f64>,
    other: Vec<f64>,
    u: Vec<f64>,
    /// The rows of the connection, rising; and those where the path at hand differs, with the difference.
    rows: Vec<u32>,
    delta: Vec<(u32, f64)>,
}

impl Differences {
    fn new(rows: usize) -> Self {
        Self { largest: vec![0.0; rows], other: vec![0.0; rows], u: vec![0.0; rows], rows: vec![], delta: vec![] }
    }

    fn add(&mut self, scaled: &Scaled, group: usize, block: &Block, d: &[f64], matrix: &mut Matrix) {
        for &(row, a) in scaled.uses_of(block.largest) {
            self.largest[row as usize] = a;
        }
        self.rows.clear();
        self.rows.extend(scaled.paths_of(group).flat_map(|p| scaled.uses_of(p)).map(|(row, _)| row));
        self.rows.sort_unstable();
        self.rows.dedup();
        for p in scaled.paths_of(group).filter(|&p| p != block.largest) {
            self.compare(scaled, p, block.largest);
            for (i, &(row, x)) in self.delta.iter().enumerate() {
                self.u[row as usize] += d[p] * x;
                for &(column, y) in &self.delta[..=i] {
                    matrix.add(row.max(column) as usize, row.min(column) as usize, d[p] * x * y);
                }
            }
        }
        let s = 1.0 / block.h + block.sum;
        let (once, m) = (1.0 / (block.h * s), block.sum / (block.h * s));
        for (i, &row) in self.rows.iter().enumerate() {
            let (a, u) = (self.largest[row as usize], self.u[row as usize]);
            for &column in &self.rows[..=i] {
                let (b, w) = (self.largest[column as usize], self.u[column as usize]);
                matrix.add(row as usize, column as usize, m * a * b + (a * w + u * b) * once - u * (w / s));
            }
        }
        for &row in &self.rows {
            (self.largest[row as usize], self.u[row as usize]) = (0.0, 0.0);
        }
    }

    /// Where `path` uses another amount than `largest`.
    fn compare(&mut self, scaled: &Scaled, path: usize, largest: usize) {
        for &(row, a) in scaled.uses_of(path) {
            self.other[row as usize] = a;
        }
        self.delta.clear();
        let both = || scaled.uses_of(path).iter().chain(scaled.uses_of(largest)).map(|&(row, _)| row as usize);
        for row in both() {
            let difference = self.other[row] - self.largest[row];
            if difference != 0.0 {
                self.delta.push((row as u32, difference));
            }
            // A row that both use comes twice, and differs no more.
            self.other[row] = self.largest[row];
        }
        both().for_each(|row| self.other[row] = 0.0);
    }
}
