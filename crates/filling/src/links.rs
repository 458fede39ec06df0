//! The links while they fill.
//!
//! A link keeps the capacity that its frozen connections leave, and the growth of its load by the others:
//!
//! ```text
//! level[l] = left[l] / slope[l]
//! slope[l] = sum of weight[c] * coefficient[c, l] over the connections c on l that are not frozen
//! ```
//!
//! where `level` is the level at which it saturates. Freezing a connection subtracts its rate from `left` and its part
//! from `slope`, whatever the present level. So `left` is right whatever the slope has lost by rounding.

use std::ops::Range;

use crate::SinglePath;
use crate::check::amount;
use crate::frozen::Frozen;
use crate::index::Index;

/// A slope that fell by this factor is summed anew, since the result of the subtractions may be rounding error.
const STALE: f64 = 1.0 / 16.0;

#[derive(Clone, Copy, Debug, Default)]
struct Link {
    left: f64,
    slope: f64,
}

/// The state of all links. `UNIT`: all weights and coefficients are 1, so that a slope is a number of connections.
#[derive(Clone, Debug, Default)]
pub struct Links {
    links: Vec<Link>,
    /// Slopes when last summed; not kept if `UNIT`, where nothing is lost.
    summed: Vec<f64>,
}

impl Links {
    /// Empties all links.
    pub fn begin<const UNIT: bool>(&mut self, shared: &SinglePath<'_>, index: &Index) {
        self.links.clear();
        let link = |(l, &capacity): (usize, &f64)| {
            let slope = if UNIT { index.on(l).len() as f64 } else { 0.0 };
            Link { left: amount(capacity), slope }
        };
        self.links.extend(shared.capacity.iter().enumerate().map(link));
        self.summed.clear();
        if UNIT {
            return;
        }
        for connection in 0..shared.connections() {
            let weight = shared.weight_of(connection);
            for entry in shared.path(connection) {
                self.links[shared.links[entry] as usize].slope += weight * shared.coefficient_of(entry);
            }
        }
        self.summed.extend(self.links.iter().map(|link| link.slope));
    }

    /// The level at which a link saturates; infinite if it never does.
    pub fn level<const UNIT: bool>(
        &mut self,
        link: usize,
        shared: &SinglePath<'_>,
        index: &Index,
        frozen: &Frozen,
    ) -> f64 {
        let Link { left, slope } = &mut self.links[link];
        if !UNIT && *slope < STALE * self.summed[link] {
            *slope = slope_of(link, shared, index, frozen);
            self.summed[link] = *slope;
        }
        if *slope > 0.0 { left.max(0.0) / *slope } else { f64::INFINITY }
    }

    /// Subtracts a connection that freezes at this level.
    #[inline]
    pub fn freeze<const UNIT: bool>(&mut self, shared: &SinglePath<'_>, path: Range<usize>, weight: f64, level: f64) {
        if UNIT {
            for &link in &shared.links[path] {
                let link = &mut self.links[link as usize];
                link.left -= level;
                link.slope -= 1.0;
            }
        } else {
            for entry in path {
                let (link, part) =
                    (&mut self.links[shared.links[entry] as usize], weight * shared.coefficient_of(entry));
                link.left -= level * part;
                link.slope -= part;
            }
        }
    }
}

/// The slope of a link, summed over its unfrozen connections.
#[cold]
fn slope_of(link: usize, shared: &SinglePath<'_>, index: &Index, frozen: &Frozen) -> f64 {
    let live = index.on(link).iter().filter(|&&connection| !frozen.contains(connection));
    if shared.coefficient.is_empty() {
        return live.map(|&connection| shared.weight_of(connection as usize)).sum();
    }
    let part = |connection: usize| {
        let entries = shared.path(connection).filter(|&entry| shared.links[entry] as usize == link);
        // A connection that uses the link several times is listed as often, and its parts may differ: each entry is
        // their mean.
        let (count, sum) = entries.fold((0.0, 0.0), |(n, sum), entry| (n + 1.0, sum + shared.coefficient_of(entry)));
        shared.weight_of(connection) * sum / count
    };
    live.map(|&connection| part(connection as usize)).sum()
}
