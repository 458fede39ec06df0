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
//! v is an unknown of its own, tied to eta by logarithms: a linear step is then as good for rates that are far too small
//! as for those far too great. The first point meets all conditions with t = 1, and its products are the shares; so
//! what is at stake on each path and link sets the scale of its product. Then t goes to 0. Each step solves the
//! linearised conditions twice with one matrix: first for t = 0, then for the t that the first try deserves and with
//! its products (predictor and corrector [mehrotra1992]).

use super::scaled::Scaled;
use super::start;
use super::system::{System, Unknowns};

/// Steps after which the method gives up.
const MOST_STEPS: usize = 1000;

/// The error at which it stops at once.
const EXACT: f64 = 1e-12;

/// An error that is good enough when it improves no more.
const GOOD: f64 = 1e-9;

/// Steps without progress after which it stops: with an error that is good enough, and with one that is not.
///
/// A smaller t is progress too, as long as the error is not good enough: a connection that pays 1e-20 of what another
/// pays finds its rate last, when t is far below 1e-20, and the error is that of the worst connection.
const PATIENCE: (usize, usize) = (4, 100);

/// A price is not told from 0 below this part of the marginal utility.
pub(super) const CHEAP: f64 = 1e-6;

/// All unknowns in scaled units, or a direction in which they change.
#[derive(Clone)]
pub(super) struct Point {
    pub xi: Vec<f64>,
    pub z: Vec<f64>,
    pub kappa: Vec<f64>,
    pub s: Vec<f64>,
    pub v: Vec<f64>,
    /// Of each group; 0 and infinite without a demand.
    pub mu: Vec<f64>,
    pub left: Vec<f64>,
}

impl Point {
    /// What `group` pays for a unit of rate, or a small part of its marginal utility, if that is more.
    pub fn offer(&self, group: usize) -> f64 {
        (self.v[group] - self.mu[group]).max(CHEAP * self.v[group])
    }
}

/// One number for each product: on paths, on rows, on demands.
pub(super) struct Products {
    pub path: Vec<f64>,
    pub row: Vec<f64>,
    pub demand: Vec<f64>,
}

impl Products {
    pub fn of(scaled: &Scaled, one: &Point, other: &Point) -> Self {
        let times = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).collect();
        let on_demand = |g: usize| if scaled.has_demand(g) { one.mu[g] * other.left[g] } else { 0.0 };
        Self {
            path: times(&one.xi, &other.z),
            row: times(&one.kappa, &other.s),
            demand: (0..scaled.groups()).map(on_demand).collect(),
        }
    }

    /// `t * self - point - part * second`, product by product: what a step is to change.
    fn targets(&self, t: f64, point: &Self, part: f64, second: &Self) -> Self {
        let term = |share: &[f64], now: &[f64], second: &[f64]| {
            share.iter().zip(now).zip(second).map(|((share, now), second)| t * share - now - part * second).collect()
        };
        Self {
            path: term(&self.path, &point.path, &second.path),
            row: term(&self.row, &point.row, &second.row),
            demand: term(&self.demand, &point.demand, &second.demand),
        }
    }

    /// The mean of the products relative to their shares.
    fn mean(&self, share: &Self) -> f64 {
        let values = self.path.iter().chain(&self.row).chain(&self.demand);
        let shares = share.path.iter().chain(&share.row).chain(&share.demand);
        let relative = values.zip(shares).filter(|(_, share)| **share > 0.0).map(|(value, share)| value / share);
        let (sum, count) = relative.fold((0.0, 0u32), |(sum, count), x| (sum + x, count + 1));
        sum / f64::from(count.max(1))
    }
}

/// What is missing in each linear condition and in that of the logarithms.
pub(super) struct Missing {
    pub price: Vec<f64>,
    pub load: Vec<f64>,
    pub demand: Vec<f64>,
    pub value: Vec<f64>,
}

/// The optimum, the steps to it, and the error that is left.
pub(super) struct Solved {
    pub point: Point,
    pub steps: usize,
    pub error: f64,
}

pub(super) fn solve(scaled: &Scaled) -> Solved {
    let mut interior = Interior::new(scaled);
    let mut best = Solved { point: interior.point.clone(), steps: 0, error: f64::INFINITY };
    let (mut last, mut least, mut lowest) = (0, f64::INFINITY, f64::INFINITY);
    for step in 0..MOST_STEPS {
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
        if !is_good && t < 0.5 * lowest {
            (lowest, last) = (t, step);
        }
    }
    best
}

struct Interior<'a> {
    scaled: &'a Scaled,
    point: Point,
    /// Of each group: the sum of its xi.
    eta: Vec<f64>,
    shares: Products,
    system: System,
}

impl<'a> Interior<'a> {
    fn new(scaled: &'a Scaled) -> Self {
        let point = start::point(scaled);
        let shares = Products::of(scaled, &point, &point);
        let eta = scaled.sums(&point.xi);
        Self { scaled, point, eta, shares, system: System::new(scaled) }
    }

    fn missing(&self) -> Missing {
        let (scaled, point) = (self.scaled, &self.point);
        let mut price = point.z.clone();
        let mut load: Vec<f64> = point.s.iter().map(|s| s - 1.0).collect();
        let (mut demand, mut value) = (vec![0.0; scaled.groups()], vec![0.0; scaled.groups()]);
        for g in 0..scaled.groups() {
            for p in scaled.paths_of(g) {
                price[p] += point.v[g] - point.mu[g] - scaled.price(p, &point.kappa);
                for &(row, a) in scaled.uses_of(p) {
                    load[row as usize] += a * point.xi[p];
                }
            }
            if scaled.has_demand(g) {
                demand[g] = self.eta[g] + point.left[g] - scaled.room[g];
            }
            value[g] = scaled.alpha * self.eta[g].ln() + (point.v[g] / scaled.value[g]).ln();
        }
        Missing { price, load, demand, value }
    }

    /// The largest relative error in any condition; NaN if some number is.
    fn error(&self, missing: &Missing) -> f64 {
        let (scaled, point) = (self.scaled, &self.point);
        let mut worst = 0.0;
        let mut look = |error: f64| {
            if error.is_nan() || error > worst {
                worst = error;
            }
        };
        // Of each row the greatest share of its price in what a connection pays; and what all products leave open.
        let mut share = vec![0.0f64; point.s.len()];
        let (mut open, mut paid) = (0.0, 0.0);
        for g in 0..scaled.groups() {
            let (v, eta, offer) = (point.v[g], self.eta[g], point.offer(g));
            paid += v * eta;
            for p in scaled.paths_of(g) {
                look(missing.price[p].abs() / (offer + point.z[p]));
                look((point.xi[p] / eta).min(point.z[p] / offer));
                open += point.xi[p] * point.z[p];
                for &(row, a) in scaled.uses_of(p) {
                    share[row as usize] = share[row as usize].max(a * point.kappa[row as usize] / offer);
                }
            }
            look(missing.value[g].abs());
            if scaled.has_demand(g) {
                look(missing.demand[g].abs() / scaled.room[g]);
                look((point.left[g] / scaled.room[g]).min(point.mu[g] / v));
                open += point.mu[g] * point.left[g];
            }
        }
        for (row, share) in share.iter().enumerate() {
            look(missing.load[row].abs());
            look(point.s[row].min(*share));
            open += point.kappa[row] * point.s[row];
        }
        if paid > 0.0 {
            look(open / paid);
        }
        worst
    }

    /// One step: predictor, corrector, and nearly as far along as everything stays over 0. Returns the t before it.
    fn step(&mut self, missing: &Missing) -> f64 {
        let scaled = self.scaled;
        self.system.factorise(scaled, &self.point, &self.eta);
        let now = Products::of(scaled, &self.point, &self.point);
        let predictor = self.direction(missing, &self.shares.targets(0.0, &now, 0.0, &now));
        let reach = self.reach(&predictor);
        let mean = now.mean(&self.shares);
        let mut tried = self.point.clone();
        go(&mut tried, &predictor, reach);
        let after = Products::of(scaled, &tried, &tried).mean(&self.shares);
        let t = mean * (after / mean).powi(3).clamp(1e-8, 1.0);
        // The predictor's products mislead where it could not be followed far.
        let second = Products::of(scaled, &predictor, &predictor);
        let direction = self.direction(missing, &self.shares.targets(t, &now, reach * reach, &second));
        let reach = self.reach(&direction);
        go(&mut self.point, &direction, reach * (1.0 - (0.1 * (1.0 - reach)).max(1e-3)));
        self.eta = scaled.sums(&self.point.xi);
        mean
    }

    /// How far one can go along `direction`, at most 1, before something reaches 0.
    fn reach(&self, direction: &Point) -> f64 {
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
        let falls = pairs.into_iter().flat_map(|(x, dx)| x.iter().zip(dx)).filter(|(_, dx)| **dx < 0.0);
        falls.map(|(x, dx)| -x / dx).fold(1.0, f64::min)
    }

    /// Solves the linearised conditions.
    fn direction(&self, missing: &Missing, targets: &Products) -> Point {
        let (scaled, point) = (self.scaled, &self.point);
        let mut right = Unknowns {
            xi: vec![0.0; point.xi.len()],
            kappa: (0..point.s.len()).map(|row| -targets.row[row] / point.kappa[row] - missing.load[row]).collect(),
            mu: vec![0.0; scaled.groups()],
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
        let value = |g: usize| point.v[g] * (-missing.value[g] - scaled.alpha * eta[g] / self.eta[g]);
        let left = |g: usize| (targets.demand[g] - point.left[g] * mu[g]) / point.mu[g];
        Point {
            z: (0..xi.len()).map(|p| (targets.path[p] - point.z[p] * xi[p]) / point.xi[p]).collect(),
            s: (0..kappa.len()).map(|r| (targets.row[r] - point.s[r] * kappa[r]) / point.kappa[r]).collect(),
            v: (0..scaled.groups()).map(value).collect(),
            left: (0..scaled.groups()).map(|g| if scaled.has_demand(g) { left(g) } else { 0.0 }).collect(),
            xi,
            kappa,
            mu,
        }
    }
}

/// Moves `point` by `part` of `direction`.
fn go(point: &mut Point, direction: &Point, part: f64) {
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
        x.iter_mut().zip(dx).for_each(|(x, dx)| *x += part * dx);
    }
}
