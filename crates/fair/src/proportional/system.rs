//! The linear system of a step, solved with a positive matrix of the size of the rows.
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
//! Near the optimum, D, kappa / s and mu / left are huge, and small numbers beside them would be lost. Three measures
//! keep them. First, z, s and left are softened: adding a small part of their reference values bounds D and the others,
//! and refinement undoes the effect. Second, H^-1 is written with differences from the connection's path of the
//! greatest D, with `S = 1 / h + sum of D` and `delta[i] = a[i] - a[largest]`:
//!
//! ```text
//! A H^-1 A' = m a a' + (a u' + u a') / (h S) + sum of D[i] delta[i] delta[i]' - u u' / S
//! m = sum of D / (h S),  a = a[largest],  u = sum of D[i] delta[i]
//! ```
//!
//! Third, rates and mu are computed from deviations of a connection's prices from their mean.

use super::cholesky::Matrix;
use super::point::Point;
use super::real::Real;
use super::scaled::Scaled;

/// Greatest number of refinement rounds.
const ROUNDS: usize = 6;

/// Unknowns of the linear system, or its right sides.
#[derive(Clone)]
pub(super) struct Unknowns<T> {
    pub xi: Vec<T>,
    pub kappa: Vec<T>,
    pub mu: Vec<T>,
}

impl<T: Real> Unknowns<T> {
    fn plus(&self, other: &Self) -> Self {
        let sum = |a: &[T], b: &[T]| a.iter().zip(b).map(|(&a, &b)| a + b).collect();
        Self { xi: sum(&self.xi, &other.xi), kappa: sum(&self.kappa, &other.kappa), mu: sum(&self.mu, &other.mu) }
    }
}

/// A connection's part of the system: the numbers of its H.
#[derive(Clone)]
struct Block<T> {
    h: T,
    /// The values `alpha v / eta`, and `mu / left` softened.
    slope: T,
    held: T,
    /// The sum of D, and the path of the greatest D.
    sum: T,
    largest: usize,
}

pub(super) struct System<T> {
    /// The value D of each path.
    d: Vec<T>,
    blocks: Vec<Block<T>>,
    matrix: Matrix<T>,
    differences: Differences<T>,
}

impl<T: Real> System<T> {
    pub fn new(scaled: &Scaled) -> Self {
        let rows = scaled.link.len();
        Self {
            d: vec![T::zero(); scaled.path.len()],
            blocks: Vec::with_capacity(scaled.groups()),
            matrix: Matrix::zero(rows),
            differences: Differences::new(rows),
        }
    }

    /// Builds the matrix and its factor.
    pub fn factorise(&mut self, scaled: &Scaled, point: &Point<T>, eta: &[T]) {
        self.matrix.clear();
        self.blocks.clear();
        let soft = T::from(T::SOFT);
        for (g, &eta) in eta.iter().enumerate() {
            let offer = point.offer(g);
            for p in scaled.paths_of(g) {
                self.d[p] = point.xi[p] / (point.z[p] + soft * offer);
            }
            let paths = scaled.paths_of(g);
            let soft_left = |g: usize| point.left[g] + soft * T::from(scaled.room[g]);
            let held = if scaled.has_demand(g) { point.mu[g] / soft_left(g) } else { T::zero() };
            let slope = T::from(scaled.alpha) * point.v[g] / eta;
            let block = Block {
                h: slope + held,
                slope,
                held,
                sum: self.d[paths.clone()].iter().copied().sum(),
                largest: paths.clone().fold(paths.start, |best, p| if self.d[p] > self.d[best] { p } else { best }),
            };
            self.differences.add(scaled, g, &block, &self.d, &mut self.matrix);
            self.blocks.push(block);
        }
        for row in 0..point.s.len() {
            self.matrix.add(row, row, (point.s[row] + soft) / point.kappa[row]);
        }
        self.matrix.factorise();
    }

    /// Solves the Newton system, and refines the solution.
    pub fn solve(&self, scaled: &Scaled, point: &Point<T>, eta: &[T], right: &Unknowns<T>) -> Unknowns<T> {
        let mut found = self.solve_softly(scaled, right);
        let (mut rest, mut least) = remainder(scaled, point, eta, right, &found);
        for _ in 0..ROUNDS {
            if least <= T::from(T::SOLVED) {
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
    fn solve_softly(&self, scaled: &Scaled, right: &Unknowns<T>) -> Unknowns<T> {
        let mut xi = right.xi.clone();
        self.rates(scaled, &mut xi, &right.mu);
        let mut kappa: Vec<T> = right.kappa.iter().map(|&load| -load).collect();
        for (p, &amount) in xi.iter().enumerate() {
            for &(row, a) in scaled.uses_of(p) {
                kappa[row as usize] += T::from(a) * amount;
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

    /// Converts the price residuals into rates, and computes mu.
    fn rates(&self, scaled: &Scaled, prices: &mut [T], over: &[T]) -> Vec<T> {
        let mut mu = vec![T::zero(); scaled.groups()];
        for (g, block) in self.blocks.iter().enumerate() {
            let mean = scaled.paths_of(g).map(|p| self.d[p] * prices[p]).sum::<T>() / block.sum;
            let scale = T::one() + block.h * block.sum;
            let common = (mean + over[g] * block.held) / scale;
            mu[g] = block.held * block.sum * (mean - over[g] * (T::one() / block.sum + block.slope)) / scale;
            for p in scaled.paths_of(g) {
                prices[p] = self.d[p] * ((prices[p] - mean) + common);
            }
        }
        mu
    }
}

/// The residual of the right sides for the solution `found`, and its greatest value, relative to money and capacities.
fn remainder<T: Real>(
    scaled: &Scaled,
    point: &Point<T>,
    eta: &[T],
    right: &Unknowns<T>,
    found: &Unknowns<T>,
) -> (Unknowns<T>, T) {
    let mut rest = right.clone();
    for (row, load) in rest.kappa.iter_mut().enumerate() {
        *load += point.s[row] / point.kappa[row] * found.kappa[row];
    }
    let sums = scaled.sums(&found.xi);
    let mut worst = T::zero();
    for (g, &sum) in sums.iter().enumerate() {
        if scaled.has_demand(g) {
            rest.mu[g] -= sum - point.left[g] / point.mu[g] * found.mu[g];
            worst = worst.max(rest.mu[g].abs() / T::from(scaled.room[g]));
        }
        let common = T::from(scaled.alpha) * point.v[g] / eta[g] * sum + found.mu[g];
        let offer = point.offer(g);
        for p in scaled.paths_of(g) {
            rest.xi[p] -= point.z[p] / point.xi[p] * found.xi[p] + common + scaled.price(p, &found.kappa);
            worst = worst.max(rest.xi[p].abs() / (offer + point.z[p]));
            for &(row, a) in scaled.uses_of(p) {
                rest.kappa[row as usize] -= T::from(a) * found.xi[p];
            }
        }
    }
    let worst = rest.kappa.iter().fold(worst, |worst, load| worst.max(load.abs()));
    (rest, worst)
}

/// Work space for adding the part of one connection to the matrix.
struct Differences<T> {
    /// The use of each row by the largest path and by the present path, and the value u.
    largest: Vec<T>,
    other: Vec<T>,
    u: Vec<T>,
    /// The rows of the connection, in rising order; and the rows where the present path differs, with the difference.
    rows: Vec<u32>,
    delta: Vec<(u32, T)>,
}

impl<T: Real> Differences<T> {
    fn new(rows: usize) -> Self {
        let zero = || vec![T::zero(); rows];
        Self { largest: zero(), other: zero(), u: zero(), rows: vec![], delta: vec![] }
    }

    fn add(&mut self, scaled: &Scaled, group: usize, block: &Block<T>, d: &[T], matrix: &mut Matrix<T>) {
        for &(row, a) in scaled.uses_of(block.largest) {
            self.largest[row as usize] = a.into();
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
        let s = T::one() / block.h + block.sum;
        let (once, m) = (T::one() / (block.h * s), block.sum / (block.h * s));
        for (i, &row) in self.rows.iter().enumerate() {
            let (a, u) = (self.largest[row as usize], self.u[row as usize]);
            for &column in &self.rows[..=i] {
                let (b, w) = (self.largest[column as usize], self.u[column as usize]);
                matrix.add(row as usize, column as usize, m * a * b + (a * w + u * b) * once - u * (w / s));
            }
        }
        for &row in &self.rows {
            (self.largest[row as usize], self.u[row as usize]) = (T::zero(), T::zero());
        }
    }

    /// Finds the rows where `path` uses another amount than `largest`.
    fn compare(&mut self, scaled: &Scaled, path: usize, largest: usize) {
        for &(row, a) in scaled.uses_of(path) {
            self.other[row as usize] = a.into();
        }
        self.delta.clear();
        let both = || scaled.uses_of(path).iter().chain(scaled.uses_of(largest)).map(|&(row, _)| row as usize);
        for row in both() {
            let difference = self.other[row] - self.largest[row];
            if difference != T::zero() {
                self.delta.push((row as u32, difference));
            }
            // A row that both use comes twice; the second time the difference is 0.
            self.other[row] = self.largest[row];
        }
        both().for_each(|row| self.other[row] = T::zero());
    }
}
