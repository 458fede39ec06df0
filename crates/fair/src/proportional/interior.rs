//! A primal-dual interior-point method for the scaled problem.
//!
//! The conditions of the optimum, with a small product `t * share` in place of each 0:
//!
//! ```text
//! price[p] + mu[c] - v[c] = z[p]       price[p] = sum of a * kappa over the links of p
//! sum of a * xi + s = 1 on each row    xi * z = t * share, kappa * s = t * share
//! eta + left = room[c]                 mu * left = t * share
//! alpha * ln eta + ln v = ln value     all of xi, z, s, kappa, v, mu, left over 0
//! ```
//!
//! v is an unknown of its own, tied to eta by logarithms: a linear step then works equally well for rates that are far
//! too small and for rates that are far too great. The first point meets all conditions with t = 1, and its products
//! are the shares, so that the amounts of money and capacity on each path and link set the scale of its product. Then t
//! goes to 0. Each step solves the linearised conditions twice with one matrix: first for t = 0, then for a t that
//! depends on the success of the first solution, with the products of that solution (predictor and corrector
//! [mehrotra1992]). The numbers are doubles or pairs of them ([`Real`]).

use super::point::Point;
use super::real::Real;
use super::scaled::Scaled;
use super::start;
use super::system::{System, Unknowns};

/// Number of steps after which the method gives up.
pub(super) const MOST_STEPS: usize = 1000;

/// The error at which the method stops at once.
const EXACT: f64 = 1e-12;

/// An error that is accepted when it improves no more.
const GOOD: f64 = 1e-9;

/// Numbers of steps without progress after which the method stops: with an accepted error, and with a greater one.
///
/// A smaller t is progress too while the error is too great: a connection that pays 1e-20 of another's payment finds
/// its rate last, when t is far below 1e-20, and the error is that of the worst connection.
const PATIENCE: (usize, usize) = (4, 100);

/// One number for each product: on paths, on rows, on demands.
pub(super) struct Products<T> {
    pub path: Vec<T>,
    pub row: Vec<T>,
    pub demand: Vec<T>,
}

impl<T: Real> Products<T> {
    pub fn of(scaled: &Scaled, one: &Point<T>, other: &Point<T>) -> Self {
        let times = |a: &[T], b: &[T]| a.iter().zip(b).map(|(&a, &b)| a * b).collect();
        let on_demand = |g: usize| if scaled.has_demand(g) { one.mu[g] * other.left[g] } else { T::zero() };
        Self {
            path: times(&one.xi, &other.z),
            row: times(&one.kappa, &other.s),
            demand: (0..scaled.groups()).map(on_demand).collect(),
        }
    }

    /// `t * self - point - part * second`, product by product: the change that a step has to bring about.
    fn targets(&self, t: T, point: &Self, part: T, second: &Self) -> Self {
        let term = |share: &[T], now: &[T], second: &[T]| {
            share.iter().zip(now).zip(second).map(|((&share, &now), &second)| t * share - now - part * second).collect()
        };
        Self {
            path: term(&self.path, &point.path, &second.path),
            row: term(&self.row, &point.row, &second.row),
            demand: term(&self.demand, &point.demand, &second.demand),
        }
    }

    /// The mean of the products relative to their shares.
    fn mean(&self, share: &Self) -> T {
        let values = self.path.iter().chain(&self.row).chain(&self.demand);
        let shares = share.path.iter().chain(&share.row).chain(&share.demand);
        let relative =
            values.zip(shares).filter(|(_, share)| **share > T::zero()).map(|(&value, &share)| value / share);
        let (sum, count) = relative.fold((T::zero(), 0u32), |(sum, count), x| (sum + x, count + 1));
        sum / T::from(f64::from(count.max(1)))
    }
}

/// The residuals of the linear conditions and of the condition on logarithms.
pub(super) struct Missing<T> {
    pub price: Vec<T>,
    pub load: Vec<T>,
    pub demand: Vec<T>,
    pub value: Vec<T>,
}

/// The optimum, the number of steps to it, and the remaining error.
pub(super) struct Solved<T> {
    pub point: Point<T>,
    pub steps: usize,
    pub error: f64,
}

impl<T: Real> Solved<T> {
    /// The optimum, each number rounded to the nearest double.
    pub fn into_doubles(self) -> Solved<f64> {
        let Point { xi, z, kappa, s, v, mu, left } = self.point;
        let [xi, z, kappa, s, v, mu, left] =
            [xi, z, kappa, s, v, mu, left].map(|numbers| numbers.into_iter().map(Into::into).collect());
        Solved { point: Point { xi, z, kappa, s, v, mu, left }, steps: self.steps, error: self.error }
    }
}

/// Finds the optimum, or the best point within `most` steps.
pub(super) fn solve<T: Real>(scaled: &Scaled, most: usize) -> Solved<T> {
    let mut interior = Interior::<T>::new(scaled);
    let mut best = Solved { point: interior.point.clone(), steps: 0, error: f64::INFINITY };
    let (mut last, mut least, mut lowest) = (0, f64::INFINITY, T::from(f64::INFINITY));
    for step in 0..most {
        best.steps = step;
        let missing = interior.missing();
        let error = interior.error(&missing);
        if error < best.error {
            (best.point, best.error) = (interior.point.clone(), error);
        }
        if error < 0.5 * least {
            (least, last) = (error, step);
        }
        let is_good = best.error <= GOOD;
        let patience = if is_good { PATIENCE.0 } else { PATIENCE.1 };
        if best.error <= EXACT || step - last >= patience || error.is_nan() {
            break;
        }
        let t = interior.step(&missing);
        if !is_good && t < T::from(0.5) * lowest {
            (lowest, last) = (t, step);
        }
    }
    best
}

struct Interior<'a, T> {
    scaled: &'a Scaled,
    point: Point<T>,
    /// The sum of xi over the paths of each group.
    eta: Vec<T>,
    shares: Products<T>,
    system: System<T>,
}

impl<'a, T: Real> Interior<'a, T> {
    fn new(scaled: &'a Scaled) -> Self {
        let point = start::point(scaled);
        let shares = Products::of(scaled, &point, &point);
        let eta = scaled.sums(&point.xi);
        Self { scaled, point, eta, shares, system: System::new(scaled) }
    }

    fn missing(&self) -> Missing<T> {
        let (scaled, point) = (self.scaled, &self.point);
        let mut price = point.z.clone();
        let mut load: Vec<T> = point.s.iter().map(|&s| s - T::one()).collect();
        let (mut demand, mut value) = (vec![T::zero(); scaled.groups()], vec![T::zero(); scaled.groups()]);
        for g in 0..scaled.groups() {
            for p in scaled.paths_of(g) {
                price[p] += point.v[g] - point.mu[g] - scaled.price(p, &point.kappa);
                for &(row, a) in scaled.uses_of(p) {
                    load[row as usize] += T::from(a) * point.xi[p];
                }
            }
            if scaled.has_demand(g) {
                demand[g] = self.eta[g] + point.left[g] - T::from(scaled.room[g]);
            }
            value[g] = T::from(scaled.alpha) * self.eta[g].ln() + (point.v[g] / T::from(scaled.value[g])).ln();
        }
        Missing { price, load, demand, value }
    }

    /// The largest relative error in any condition; NaN if any number is NaN.
    fn error(&self, missing: &Missing<T>) -> f64 {
        let (scaled, point) = (self.scaled, &self.point);
        let mut worst = 0.0;
        let mut look = |error: T| {
            let error = error.into();
            if error.is_nan() || error > worst {
                worst = error;
            }
        };
        // The greatest ratio of each row's price to the payment of a connection, and the sum of all products.
        let mut share = vec![T::zero(); point.s.len()];
        let (mut open, mut paid) = (T::zero(), T::zero());
        for g in 0..scaled.groups() {
            let (v, eta, offer) = (point.v[g], self.eta[g], point.offer(g));
            paid += v * eta;
            for p in scaled.paths_of(g) {
                look(missing.price[p].abs() / (offer + point.z[p]));
                look((point.xi[p] / eta).min(point.z[p] / offer));
                open += point.xi[p] * point.z[p];
                for &(row, a) in scaled.uses_of(p) {
                    share[row as usize] = share[row as usize].max(T::from(a) * point.kappa[row as usize] / offer);
                }
            }
            look(missing.value[g].abs());
            if scaled.has_demand(g) {
                look(missing.demand[g].abs() / T::from(scaled.room[g]));
                look((point.left[g] / T::from(scaled.room[g])).min(point.mu[g] / v));
                open += point.mu[g] * point.left[g];
            }
        }
        for (row, &share) in share.iter().enumerate() {
            look(missing.load[row].abs());
            look(point.s[row].min(share));
            open += point.kappa[row] * point.s[row];
        }
        if paid > T::zero() {
            look(open / paid);
        }
        worst
    }

    /// Makes one step: predictor, corrector, and a move nearly as far as everything stays over 0. Returns the t of its
    /// start.
    fn step(&mut self, missing: &Missing<T>) -> T {
        let scaled = self.scaled;
        self.system.factorise(scaled, &self.point, &self.eta);
        let now = Products::of(scaled, &self.point, &self.point);
        let predictor = self.direction(missing, &self.shares.targets(T::zero(), &now, T::zero(), &now));
        let reach = self.reach(&predictor);
        let mean = now.mean(&self.shares);
        let mut tried = self.point.clone();
        go(&mut tried, &predictor, reach);
        let after = Products::of(scaled, &tried, &tried).mean(&self.shares);
        let better: f64 = (after / mean).into();
        let t = mean * T::from(better.powi(3).clamp(1e-8, 1.0));
        // The predictor's products mislead where the step along it was short.
        let second = Products::of(scaled, &predictor, &predictor);
        let direction = self.direction(missing, &self.shares.targets(t, &now, reach * reach, &second));
        let reach = self.reach(&direction);
        let part: f64 = reach.into();
        go(&mut self.point, &direction, (part * (1.0 - (0.1 * (1.0 - part)).max(1e-3))).into());
        self.eta = scaled.sums(&self.point.xi);
        mean
    }

    /// The greatest part of `direction`, at most 1, that keeps everything at 0 or more.
    fn reach(&self, direction: &Point<T>) -> T {
        let (point, d) = (&self.point, direction);
        let pairs = [
            (&point.xi, &d.xi),
            (&point.z, &d.z),
            (&point.kappa, &d.kappa),
            (&point.s, &d.s),
            (&point.v, &d.v),
            (&point.mu, &d.mu),
            (&point.left, &d.left),
        ];
        let falls = pairs.into_iter().flat_map(|(x, dx)| x.iter().zip(dx)).filter(|(_, dx)| **dx < T::zero());
        falls.map(|(&x, &dx)| -x / dx).fold(T::one(), T::min)
    }

    /// Solves the linearised conditions.
    fn direction(&self, missing: &Missing<T>, targets: &Products<T>) -> Point<T> {
        let (scaled, point) = (self.scaled, &self.point);
        let mut right = Unknowns {
            xi: vec![T::zero(); point.xi.len()],
            kappa: (0..point.s.len()).map(|row| -targets.row[row] / point.kappa[row] - missing.load[row]).collect(),
            mu: vec![T::zero(); scaled.groups()],
        };
        for g in 0..scaled.groups() {
            for p in scaled.paths_of(g) {
                right.xi[p] = missing.price[p] + targets.path[p] / point.xi[p] - point.v[g] * missing.value[g];
            }
            if scaled.has_demand(g) {
                right.mu[g] = -targets.demand[g] / point.mu[g] - missing.demand[g];
            }
        }
        let Unknowns { xi, kappa, mu } = self.system.solve(scaled, point, &self.eta, &right);
        let eta = scaled.sums(&xi);
        let value = |g: usize| point.v[g] * (-missing.value[g] - T::from(scaled.alpha) * eta[g] / self.eta[g]);
        let left = |g: usize| (targets.demand[g] - point.left[g] * mu[g]) / point.mu[g];
        Point {
            z: (0..xi.len()).map(|p| (targets.path[p] - point.z[p] * xi[p]) / point.xi[p]).collect(),
            s: (0..kappa.len()).map(|r| (targets.row[r] - point.s[r] * kappa[r]) / point.kappa[r]).collect(),
            v: (0..scaled.groups()).map(value).collect(),
            left: (0..scaled.groups()).map(|g| if scaled.has_demand(g) { left(g) } else { T::zero() }).collect(),
            xi,
            kappa,
            mu,
        }
    }
}

/// Moves `point` by `part` of `direction`.
fn go<T: Real>(point: &mut Point<T>, direction: &Point<T>, part: T) {
    let d = direction;
    let pairs = [
        (&mut point.xi, &d.xi),
        (&mut point.z, &d.z),
        (&mut point.kappa, &d.kappa),
        (&mut point.s, &d.s),
        (&mut point.v, &d.v),
        (&mut point.mu, &d.mu),
        (&mut point.left, &d.left),
    ];
    for (x, dx) in pairs {
        x.iter_mut().zip(dx).for_each(|(x, &dx)| *x += part * dx);
    }
}
