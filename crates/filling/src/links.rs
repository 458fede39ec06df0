//! Links while they fill.
//!
//! A link keeps what its frozen connections leave of it, and how fast its load grows with the level by the others:
//!
//! ```text
//! level[l] = left[l] / slope[l]
//! slope[l] = sum of weight[c] * coefficient[c, l] over the connections c on l that are not frozen
//! ```
//!
//! is the level at which it saturates. Freezing a connection takes its rate off `left` and its part off `slope`, whatever
//! the level has come to.

use std::ops::Range;

use crate::SinglePath;
use crate::check::amount;
use crate::frozen::Frozen;
use crate::index::Index;

/// A slope that fell by this factor is summed anew, since what subtraction left of it may be rounding error.
const STALE: f64 = 1.0 / 16.0;

/// How far over its capacity a link may be, relatively, before rates are lowered.
const OVER: f64 = 1e-12;

#[derive(Clone, Copy, Debug, Default)]
struct Link {
    left: f64,
    /// Entries of connections that are not frozen.
    live: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Slope {
    now: f64,
    /// What it was when last summed anew.
    summed: f64,
}

/// What is left of all links. `UNIT`: all weights and coefficients are 1.
#[derive(Clone, Debug, Default)]
pub struct Links {
    links: Vec<Link>,
    /// Empty if `UNIT`: then a slope is the number of connections.
    slopes: Vec<Slope>,
}

impl Links {
    /// Empties all links.
    pub fn begin<const UNIT: bool>(&mut self, shared: &SinglePath<'_>, index: &Index) {
        self.links.clear();
        let counts = (0..shared.capacity.len()).map(|l| index.count(l));
        self.links.extend(shared.capacity.iter().zip(counts).map(|(&c, live)| Link { left: amount(c), live }));
        self.slopes.clear();
        if UNIT {
            return;
        }
        self.slopes.resize(shared.capacity.len(), Slope::default());
        for c in 0..shared.connections() {
            for entry in shared.path(c) {
                self.slopes[shared.links[entry] as usize].summed += shared.weight_of(c) * shared.coefficient_of(entry);
            }
        }
        self.slopes.iter_mut().for_each(|slope| slope.now = slope.summed);
    }

    /// The level at which a link saturates; infinite if it never does.
    pub fn level<const UNIT: bool>(
        &mut self,
        link: usize,
        shared: &SinglePath<'_>,
        index: &Index,
        frozen: &Frozen,
    ) -> f64 {
        let Link { left, live } = self.links[link];
        if live == 0 {
            return f64::INFINITY;
        }
        if UNIT {
            return left.max(0.0) / f64::from(live);
        }
        let slope = &mut self.slopes[link];
        if slope.now < STALE * slope.summed {
            let summed = summed(link, shared, index, frozen);
            *slope = Slope { now: summed, summed };
        }
        left.max(0.0) / slope.now
    }

    /// Takes a connection off that freezes at this rate: its entries begin at `start` and end before `end`.
    #[inline]
    pub fn freeze<const UNIT: bool>(&mut self, shared: &SinglePath<'_>, path: Range<usize>, weight: f64, rate: f64) {
        for entry in path {
            let number = shared.links[entry] as usize;
            let link = &mut self.links[number];
            link.live -= 1;
            if UNIT {
                link.left -= rate;
            } else {
                let coefficient = shared.coefficient_of(entry);
                link.left -= rate * coefficient;
                self.slopes[number].now -= weight * coefficient;
            }
        }
    }
}

impl Links {
    /// Takes back what rounding put over a capacity: each rate is divided by the worst excess on its path.
    pub fn trim(&self, shared: &SinglePath<'_>, rates: &mut [f64]) {
        let excess = |(link, &capacity): (&Link, &f64)| if capacity > 0.0 { -link.left / capacity } else { 0.0 };
        let excesses = || self.links.iter().zip(shared.capacity).map(excess);
        if excesses().all(|excess| excess <= OVER) {
            return;
        }
        let excesses: Vec<f64> = excesses().collect();
        for (c, rate) in rates.iter_mut().enumerate() {
            let on_path = shared.links[shared.path(c)].iter().map(|&link| excesses[link as usize]);
            *rate /= 1.0 + on_path.fold(0.0, f64::max);
        }
    }
}

/// The slope of a link, from those that are not frozen.
#[cold]
fn summed(link: usize, shared: &SinglePath<'_>, index: &Index, frozen: &Frozen) -> f64 {
    // A connection that takes the link twice is listed twice, one after the other.
    let listed = index.on(link).chunk_by(|a, b| a == b).map(|same| same[0]);
    let live = listed.filter(|&connection| !frozen.contains(connection));
    let growth = |connection: u32| {
        let entries = shared.path(connection as usize).filter(|&entry| shared.links[entry] as usize == link);
        shared.weight_of(connection as usize) * entries.map(|entry| shared.coefficient_of(entry)).sum::<f64>()
    };
    live.map(growth).sum()
}
