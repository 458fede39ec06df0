//! The start of the interior-point method: rates below all limits, prices above all marginal utilities.

use super::point::Point;
use super::real::Real;
use super::scaled::Scaled;

/// The least price of a path relative to its connection's marginal utility.
const HIGH: f64 = 1.5;

/// The least price of a link relative to the least payment of its connections for a unit.
const LOW: f64 = 0.1;

/// The first guess of the rates, and prices that exceed every marginal utility.
///
/// Each link begins with a low price. Then connections, in order of rising level, raise the price of the fullest link
/// of each of their paths until the path costs enough: where rates are nearly max-min fair, that is the link that holds
/// them back, and connections with lower levels hold more links. Where the demand limits a connection, its own mu makes
/// up for the difference: the marginal utility of a small demand may be millions of times the price of links.
pub(super) fn point<T: Real>(scaled: &Scaled) -> Point<T> {
    let (rows, groups) = (scaled.link.len(), scaled.groups());
    let (high, low) = (T::from(HIGH), T::from(LOW));
    let v: Vec<T> = scaled.value.iter().map(|&value| value.into()).collect();
    let first: Vec<T> = scaled.first.iter().map(|&first| first.into()).collect();
    let (mut s, mut kappa) = (vec![T::one(); rows], vec![T::from(f64::INFINITY); rows]);
    for (g, &v) in v.iter().enumerate() {
        for p in scaled.paths_of(g) {
            for &(row, a) in scaled.uses_of(p) {
                s[row as usize] -= T::from(a) * first[p];
                kappa[row as usize] = kappa[row as usize].min(low * v / T::from(a));
            }
        }
    }
    let mut mu: Vec<T> =
        (0..groups).map(|g| if scaled.has_demand(g) { v[g] / T::from(scaled.room[g]) } else { T::zero() }).collect();
    let mut order: Vec<usize> = (0..groups).collect();
    order.sort_by(|&a, &b| scaled.level[a].total_cmp(&scaled.level[b]));
    for g in order {
        if scaled.is_met(g) {
            let cheapest = scaled.paths_of(g).map(|p| scaled.price(p, &kappa)).fold(f64::INFINITY.into(), T::min);
            mu[g] = mu[g].max(high * v[g] - cheapest);
        }
        for p in scaled.paths_of(g) {
            let lacks = high * v[g] - scaled.price(p, &kappa) - mu[g];
            if lacks > T::zero() {
                let fullest =
                    scaled.uses_of(p).iter().min_by(|x, y| s[x.0 as usize].into().total_cmp(&s[y.0 as usize].into()));
                match fullest {
                    Some(&(row, a)) => kappa[row as usize] += lacks / T::from(a),
                    None => mu[g] += lacks,
                }
            }
        }
    }
    let mut z = vec![T::zero(); scaled.path.len()];
    for g in 0..groups {
        for p in scaled.paths_of(g) {
            z[p] = scaled.price(p, &kappa) + mu[g] - v[g];
        }
    }
    let left = scaled.room.iter().map(|&room| T::from(room) - T::one()).collect();
    Point { xi: first, z, kappa, s, v, mu, left }
}
