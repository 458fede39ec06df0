//! One filling of c-SLEN: all levels rise together, links saturate, demands are met, subflows freeze.
//!
//! ```text
//! z         level: every connection c that is not frozen has the rate w_c z
//! G[c]      sum of the portions of c's unfrozen subflows: subflow f grows by P[f] / G[c] of the growth of c
//! A[c]      integral of w_c / G[c] dz: an unfrozen subflow has the rate P[f] A[c], and needs no memory of its own
//! s[c,l]    sum of P over the unfrozen subflows of c on l
//! slope[l]  growth of l's load by z: sum over c of w_c s[c,l] / G[c]
//! ```
//!
//! A subflow is updated only when it freezes, a connection only when one of its subflows does. The order in which
//! demands are met is known beforehand. Meeting a demand lowers the slopes of links, so it never brings a saturation
//! forward, and a series of met demands needs no new search for the link that saturates next.
//!
//! Most of the time goes into fetching a connection from memory when an event affects it, so little is kept for each:
//! the s are computed from the portions when they are needed, and a subflow's entry in `rates` holds its portion until
//! it freezes.

use std::hint::black_box;
use std::ops::Range;

use super::CSlen;
use super::filling::{Filling, Link};
use crate::incidence::{Incidence, Pair, bits};
use crate::problem::Problem;

/// A portion below this counts as 0: its rate would be too small for 64 bits.
const TINY: f64 = 1e-60;

/// Events that are prepared together.
const BATCH: usize = 64;

/// The state of a filling; it is made once and reused by every pass.
pub(super) struct State {
    filling: Filling,
    /// The unfrozen subflows of each group, one bit each.
    live: Vec<u32>,
    /// The part of G in each group.
    gains: Vec<f64>,
    live_connections: usize,
    connections: Vec<Growth>,
    /// The groups that the present event affects, each with its subflows that freeze.
    hits: Vec<(usize, u32)>,
}

/// The growth of a connection during a filling.
#[derive(Clone, Copy, Default)]
struct Growth {
    weight: f64,
    /// The ratio w / G: growth by level for a unit of portions.
    pace: f64,
    /// The value of A at level `since`.
    grown: f64,
    since: f64,
}

impl Growth {
    /// Advances A to level `z`.
    fn advance(&mut self, z: f64) {
        self.grown += self.pace * (z - self.since);
        self.since = z;
    }
}

impl State {
    pub fn new(problem: &Problem, incidence: &Incidence) -> Self {
        Self {
            filling: Filling::new(problem.links()),
            live: vec![0; incidence.groups()],
            gains: vec![0.0; incidence.groups()],
            live_connections: 0,
            connections: vec![Growth::default(); problem.connections()],
            hits: Vec::new(),
        }
    }

    /// The free capacity of a watched link after the last filling.
    pub fn left_of(&self, link: usize) -> f64 {
        self.filling.link(link).left.max(0.0)
    }
}

/// The sum of `values` over the set bits.
fn sum_over(word: u32, values: &[f64]) -> f64 {
    bits(word).map(|bit| values[bit]).sum()
}

impl CSlen {
    /// Fills the watched links from the present portions, and sets `rates`.
    pub(super) fn fill_watched(&mut self) {
        self.begin();
        let mut z = 0.0;
        let mut demands = 0;
        while self.state.live_connections > 0 {
            let (level, link) = self.next();
            // Rounding may put a saturation an ulp before the last event; levels never fall.
            let level = f64::max(level, z);
            let met = demands;
            demands += self.by_demand[met..].partition_point(|&(reached, _)| reached <= level);
            // Demands that are met may move the saturation to a later level: search again.
            if demands > met {
                z = self.meet(met..demands, z);
                continue;
            }
            if level == f64::INFINITY {
                self.freeze_the_rest(z);
                break;
            }
            z = level;
            self.saturate(link, z);
        }
    }

    /// Starts a filling: all subflows with a portion are unfrozen, and all links are empty.
    fn begin(&mut self) {
        self.outcome.rates.copy_from_slice(&self.outcome.portions);
        for link in 0..self.problem.links() {
            self.state.filling.set(link, Link { left: self.problem.capacity(link), ..Link::default() });
        }
        self.state.live_connections = 0;
        for c in 0..self.problem.connections() {
            let mut gain = 0.0;
            for group in self.incidence.groups_of(c) {
                let own = &mut self.outcome.rates[self.incidence.paths_of(group)];
                let (mut live, mut own_gain) = (0, 0.0);
                for (bit, portion) in own.iter_mut().enumerate() {
                    let is_live = *portion > TINY;
                    live |= u32::from(is_live) << bit;
                    *portion = if is_live { *portion } else { 0.0 };
                    own_gain += *portion;
                }
                (self.state.live[group], self.state.gains[group]) = (live, own_gain);
                gain += own_gain;
            }
            if gain > 0.0 {
                let weight = self.problem.weight(c);
                self.state.connections[c] = Growth { weight, pace: weight / gain, ..Growth::default() };
                self.state.live_connections += 1;
                self.load(c);
            }
        }
    }

    /// Adds the growth of connection `c`, which is all unfrozen, to its links.
    fn load(&mut self, c: usize) {
        let pace = self.state.connections[c].pace;
        for group in self.incidence.groups_of(c) {
            self.sums.set(&self.outcome.rates[self.incidence.paths_of(group)]);
            self.incidence.for_each_watched(group, |pair, coefficient| {
                let slope = pace * coefficient * self.sums.over(pair.mask);
                self.state.filling.tilt(pair.link as usize, slope, 0.0);
            });
        }
    }

    /// The link that saturates first, and its level.
    fn next(&mut self) -> (f64, usize) {
        loop {
            let (level, number) = self.state.filling.next();
            let link = self.state.filling.link(number);
            if !link.is_stale() {
                return (level, number);
            }
            let slope = self.slope_of(number);
            self.state.filling.set(number, Link { slope, peak: slope, ..link });
        }
    }

    /// The slope of a link, summed from all its pairs.
    fn slope_of(&self, link: usize) -> f64 {
        let slopes = self.incidence.places_on(link).map(|place| {
            let listed = self.incidence.at(place);
            let group = listed.group as usize;
            let live = self.state.live[group] & listed.mask;
            if live == 0 {
                return 0.0;
            }
            let growth = &self.state.connections[self.incidence.connection_of(group)];
            let sum = sum_over(live, &self.outcome.rates[self.incidence.paths_of(group)]);
            growth.pace * self.incidence.coefficient_of(listed) * sum
        });
        slopes.fold(0.0, |sum, slope| sum + slope)
    }

    /// Meets these demands, the first at level `z` or later; returns the level of the last.
    fn meet(&mut self, demands: Range<usize>, mut z: f64) -> f64 {
        for first in demands.clone().step_by(BATCH) {
            let batch = first..demands.end.min(first + BATCH);
            for &(_, c) in &self.by_demand[batch.clone()] {
                self.incidence
                    .groups_of(c as usize)
                    .filter(|&group| self.state.live[group] != 0)
                    .for_each(|group| self.fetch(group));
            }
            for place in batch {
                let (reached, c) = self.by_demand[place];
                z = reached.max(z);
                self.freeze_all(c as usize, z);
            }
        }
        z
    }

    /// Saturates `link` at level `z`: the unfrozen subflows on it freeze.
    fn saturate(&mut self, link: usize, z: f64) {
        let places = self.incidence.places_on(link);
        let mut hits = std::mem::take(&mut self.state.hits);
        for first in places.clone().step_by(BATCH) {
            for place in first..places.end.min(first + BATCH) {
                let listed = self.incidence.at(place);
                let hit = self.state.live[listed.group as usize] & listed.mask;
                if hit != 0 {
                    hits.push((listed.group as usize, hit));
                }
            }
            for &(group, _) in &hits {
                self.fetch(group);
            }
            for (group, hit) in hits.drain(..) {
                self.freeze(group, hit, z);
            }
        }
        self.state.hits = hits;
        self.state.filling.set(link, Link { since: z, ..Link::default() });
    }

    /// Fetches the data that `freeze` needs of a group into the cache: many fetches at once take hardly longer than
    /// one.
    ///
    /// It reads one value from each cache line, eight pairs to a line, and does not use it.
    fn fetch(&self, group: usize) {
        let (pairs, paths) = (self.incidence.watched(group), self.incidence.paths_of(group));
        let growth = &self.state.connections[self.incidence.connection_of(group)];
        black_box((pairs.first().map(|p| p.mask), pairs.get(8).map(|p| p.mask), pairs.last().map(|p| p.mask)));
        black_box((self.outcome.rates[paths.start], self.outcome.rates[paths.end - 1], growth.pace));
    }

    /// Freezes the subflows `hit` of `group`; the other subflows of its connection grow in their place.
    fn freeze(&mut self, group: usize, hit: u32, z: f64) {
        let c = self.incidence.connection_of(group);
        let growth = &mut self.state.connections[c];
        growth.advance(z);
        let (before, grown) = (growth.pace, growth.grown);
        let live = self.state.live[group] & !hit;
        self.state.live[group] = live;
        self.sums.set(&self.outcome.rates[self.incidence.paths_of(group)]);
        self.state.gains[group] = self.sums.over(live);
        let gain: f64 = self.incidence.groups_of(c).map(|group| self.state.gains[group]).sum();
        if gain > 0.0 {
            let growth = &mut self.state.connections[c];
            growth.pace = growth.weight / gain;
            let after = growth.pace;
            self.tilt_links(group, (before, live | hit), (after, live), z);
            for other in self.incidence.groups_of(c) {
                let live = self.state.live[other];
                if other != group && live != 0 {
                    self.sums.set(&self.outcome.rates[self.incidence.paths_of(other)]);
                    self.tilt_links_by(other, after - before, live, z);
                }
            }
        } else {
            self.tilt_links_by(group, -before, hit, z);
            self.state.live_connections -= 1;
        }
        self.set_rates(group, hit, grown);
    }

    /// Freezes all unfrozen subflows of `c`.
    fn freeze_all(&mut self, c: usize, z: f64) {
        let groups = self.incidence.groups_of(c);
        if groups.clone().all(|group| self.state.live[group] == 0) {
            return;
        }
        let growth = &mut self.state.connections[c];
        growth.advance(z);
        let (before, grown) = (growth.pace, growth.grown);
        for group in groups {
            let hit = std::mem::take(&mut self.state.live[group]);
            if hit == 0 {
                continue;
            }
            self.sums.set(&self.outcome.rates[self.incidence.paths_of(group)]);
            self.tilt_links_by(group, -before, hit, z);
            self.set_rates(group, hit, grown);
        }
        self.state.live_connections -= 1;
    }

    /// Ends a filling in which the remaining subflows load no watched link. On other links they would grow without end,
    /// so their rates become infinite; subflows with negligible portions, which load no link at all, keep their rates.
    fn freeze_the_rest(&mut self, z: f64) {
        for c in 0..self.problem.connections() {
            for group in self.incidence.groups_of(c) {
                let unwatched = self.incidence.unwatched(group);
                let endless = self.state.live[group] & unwatched.iter().fold(0, |word, pair| word | pair.mask);
                self.state.live[group] &= !endless;
                let rates = &mut self.outcome.rates[self.incidence.paths_of(group)];
                for bit in bits(endless) {
                    rates[bit] = f64::INFINITY;
                }
            }
            self.freeze_all(c, z);
        }
    }

    /// Turns the portions of the subflows `hit` into rates.
    fn set_rates(&mut self, group: usize, hit: u32, grown: f64) {
        let rates = &mut self.outcome.rates[self.incidence.paths_of(group)];
        for bit in bits(hit) {
            rates[bit] *= grown;
        }
    }

    /// Changes the slopes of the links of `group`, whose sums are set, by `change` for a unit of the portions of
    /// `these`.
    fn tilt_links_by(&mut self, group: usize, change: f64, these: u32, z: f64) {
        let (incidence, sums) = (&self.incidence, &self.sums);
        incidence.for_each_watched(group, |Pair { link, mask }, coefficient| {
            self.state.filling.tilt(link as usize, change * sums.over(mask & these) * coefficient, z);
        });
    }

    /// Changes the slopes of the links of `group` after subflows froze, from the old to the new growth and unfrozen
    /// subflows.
    fn tilt_links(&mut self, group: usize, (before, were): (f64, u32), (after, are): (f64, u32), z: f64) {
        let (incidence, sums) = (&self.incidence, &self.sums);
        incidence.for_each_watched(group, |Pair { link, mask }, coefficient| {
            let change = after * sums.over(mask & are) - before * sums.over(mask & were);
            self.state.filling.tilt(link as usize, change * coefficient, z);
        });
    }
}
