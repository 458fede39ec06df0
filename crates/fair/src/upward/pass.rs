//! One pass of c-SLEN: all levels rise together, links saturate, demands are met, subflows freeze.
//!
//! ```text
//! z         level: every connection c that is not frozen has the rate w_c z
//! G[c]      sum of the portions of c's unfrozen subflows: subflow f grows by P[f] / G[c] of what c grows
//! A[c]      integral of w_c / G[c] dz: an unfrozen subflow has the rate P[f] A[c], with nothing kept for it
//! s[c,l]    sum of P over the unfrozen subflows of c on l
//! slope[l]  growth of l's load by z: sum over c of w_c s[c,l] / G[c]
//! ```
//!
//! A subflow is touched only when it freezes, a connection only when one of its subflows does. Demands are met in
//! an order known beforehand; meeting one lowers the slopes of links, so it never brings a saturation forward, and a
//! run of them needs no new search for the link that saturates next. That search keeps the least level of each
//! block of links and looks again only into blocks that were touched.

use std::ops::Range;

use super::CSlen;
use crate::incidence::{Incidence, bits};
use crate::problem::Problem;

/// A portion below this counts as 0: its subflow carries nothing that 64 bits could tell.
const TINY: f64 = 1e-60;

/// A sum that fell by this factor is made anew, since what subtraction left of it may be rounding error.
const STALE: f64 = 1e-4;

/// Links in a block of the search for the next saturation.
const BLOCK: usize = 64;

/// What a pass keeps; made once, reused by every pass.
pub(super) struct State {
    filling: Filling,
    /// Unfrozen subflows of each group, a bit each.
    live: Vec<u64>,
    live_connections: usize,
    connections: Vec<Growth>,
    /// s, of each pair.
    sums: Vec<f64>,
}

/// A connection while it grows.
#[derive(Clone, Copy, Default)]
struct Growth {
    /// G.
    gain: f64,
    /// A at level `since`.
    grown: f64,
    since: f64,
}

/// A link while it fills.
#[derive(Clone, Copy, Default)]
struct Link {
    /// Capacity left at level `since`.
    left: f64,
    slope: f64,
    since: f64,
    /// The slope when it was last summed anew.
    summed: f64,
    /// Pairs with an unfrozen subflow.
    live_pairs: u32,
}

/// The links, and the search for the one that saturates next.
struct Filling {
    links: Vec<Link>,
    /// Of each block of links: the least level at which one saturates, and which.
    least: Vec<(f64, u32)>,
    is_touched: Vec<bool>,
    /// Links whose slope must be summed anew.
    stale: Vec<u32>,
}

impl Link {
    /// The level at which the link saturates; infinite if nothing on it grows.
    fn level(&self) -> f64 {
        if self.slope > 0.0 { self.since + self.left.max(0.0) / self.slope } else { f64::INFINITY }
    }

    /// Adds `change` to the slope at level `z`; says whether the slope must be summed anew.
    fn tilt(&mut self, change: f64, z: f64) -> bool {
        // Many pairs are touched at one level: only the first has anything to take off.
        if z > self.since {
            self.left -= self.slope * (z - self.since);
            self.since = z;
        }
        self.slope += change;
        self.slope < STALE * self.summed
    }
}

impl State {
    pub fn new(problem: &Problem, incidence: &Incidence) -> Self {
        let blocks = problem.links().div_ceil(BLOCK);
        let filling = Filling {
            links: vec![Link::default(); problem.links()],
            least: vec![(f64::INFINITY, 0); blocks],
            is_touched: vec![true; blocks],
            stale: Vec::new(),
        };
        Self {
            filling,
            live: vec![0; incidence.groups()],
            live_connections: 0,
            connections: vec![Growth::default(); problem.connections()],
            sums: vec![0.0; incidence.pairs()],
        }
    }
}

impl Filling {
    /// The link that saturates first, and its level.
    fn next(&mut self) -> (f64, usize) {
        for (block, links) in self.links.chunks(BLOCK).enumerate() {
            if std::mem::take(&mut self.is_touched[block]) {
                let levels = links.iter().zip(block * BLOCK..).map(|(link, number)| (link.level(), number as u32));
                self.least[block] = least(levels);
            }
        }
        let (level, link) = least(self.least.iter().copied());
        (level, link as usize)
    }
}

/// The first of the lowest levels, and its link.
fn least(levels: impl Iterator<Item = (f64, u32)>) -> (f64, u32) {
    levels.fold((f64::INFINITY, 0), |lowest, other| if other.0 < lowest.0 { other } else { lowest })
}

/// The sum of the portions of a group's paths over the set bits.
fn sum_over(word: u64, portions: &[f64]) -> f64 {
    bits(word).map(|bit| portions[bit]).sum()
}

impl CSlen {
    /// Fills the links from the present portions: `rates` and `free` are the outcome.
    pub(super) fn fill(&mut self) {
        self.begin();
        let mut z = 0.0;
        let mut demands = 0;
        while self.state.live_connections > 0 {
            let (level, link) = self.state.filling.next();
            // Rounding may put a saturation an ulp before the last event; levels never fall.
            let level = f64::max(level, z);
            let met = demands;
            while let Some(&(reached, c)) = self.by_demand.get(demands) {
                if reached > level {
                    break;
                }
                z = reached.max(z);
                self.freeze_all(c as usize, z);
                demands += 1;
            }
            // Demands that were met may have moved the saturation to a later level: look again.
            if demands > met {
                continue;
            }
            if level == f64::INFINITY {
                self.freeze_the_rest(z);
                break;
            }
            z = level;
            self.saturate(link, z);
        }
        for (free, link) in self.free.iter_mut().zip(&self.state.filling.links) {
            *free = link.left.max(0.0);
        }
    }

    /// All subflows with a portion unfrozen, all links empty.
    fn begin(&mut self) {
        let (problem, incidence, state) = (&*self.problem, &self.incidence, &mut self.state);
        self.outcome.rates.fill(0.0);
        for (number, link) in state.filling.links.iter_mut().enumerate() {
            *link = Link { left: problem.capacity(number), ..Link::default() };
        }
        state.filling.is_touched.fill(true);
        state.live_connections = 0;
        for c in 0..problem.connections() {
            let mut gain = 0.0;
            for group in incidence.groups_of(c) {
                let own = &self.outcome.portions[incidence.paths_of(group)];
                let is_live = |&(_, portion): &(usize, &f64)| *portion > TINY;
                let live = own.iter().enumerate().filter(is_live).fold(0, |word, (bit, _)| word | 1 << bit);
                state.live[group] = live;
                gain += sum_over(live, own);
            }
            if gain == 0.0 {
                continue;
            }
            state.live_connections += 1;
            state.connections[c] = Growth { gain, ..Growth::default() };
            let growth = problem.weight(c) / gain;
            for group in incidence.groups_of(c) {
                let (own, live) = (&self.outcome.portions[incidence.paths_of(group)], state.live[group]);
                for pair in incidence.pairs_of(group) {
                    let word = incidence.mask[pair] & live;
                    let sum = sum_over(word, own);
                    state.sums[pair] = sum;
                    let link = &mut state.filling.links[incidence.link[pair] as usize];
                    link.slope += growth * incidence.coefficient_of(pair) * sum;
                    link.live_pairs += u32::from(word != 0);
                }
            }
        }
        for link in &mut state.filling.links {
            link.summed = link.slope;
        }
    }

    /// Saturates `link` at level `z`: the unfrozen subflows on it freeze.
    fn saturate(&mut self, link: usize, z: f64) {
        for place in self.incidence.places_on(link) {
            let listed = self.incidence.at(place);
            let live = self.state.live[listed.group as usize];
            if live != 0 {
                let hit = live & self.incidence.mask[listed.pair as usize];
                if hit != 0 {
                    self.freeze(listed.group as usize, hit, z);
                }
            }
        }
        let full = &mut self.state.filling.links[link];
        (full.left, full.slope, full.since) = (0.0, 0.0, z);
        self.state.filling.is_touched[link / BLOCK] = true;
    }

    /// Freezes the subflows `hit` of `group`; the others of its connection grow in their place.
    fn freeze(&mut self, group: usize, hit: u64, z: f64) {
        let c = self.incidence.connection[group] as usize;
        self.advance(c, z);
        self.set_rates(c, group, hit);
        self.state.live[group] &= !hit;
        let groups = self.incidence.groups_of(c);
        let live_portions = |g: usize| sum_over(self.state.live[g], &self.outcome.portions[self.incidence.paths_of(g)]);
        let gain: f64 = groups.clone().map(live_portions).sum();
        if gain > 0.0 {
            self.regrow(c, group, hit, gain, z);
        } else {
            self.retire(c, groups, z);
        }
    }

    /// Freezes whatever of `c` is unfrozen.
    fn freeze_all(&mut self, c: usize, z: f64) {
        let groups = self.incidence.groups_of(c);
        if groups.clone().all(|group| self.state.live[group] == 0) {
            return;
        }
        self.advance(c, z);
        for group in groups.clone() {
            let hit = std::mem::take(&mut self.state.live[group]);
            self.set_rates(c, group, hit);
        }
        self.retire(c, groups, z);
    }

    /// Ends a pass in which no link feels the subflows that are left, so small are their portions.
    fn freeze_the_rest(&mut self, z: f64) {
        for c in 0..self.problem.connections() {
            self.freeze_all(c, z);
        }
    }

    /// Brings A of connection `c` to level `z`.
    fn advance(&mut self, c: usize, z: f64) {
        let growth = &mut self.state.connections[c];
        growth.grown += self.problem.weight(c) / growth.gain * (z - growth.since);
        growth.since = z;
    }

    fn set_rates(&mut self, c: usize, group: usize, hit: u64) {
        let grown = self.state.connections[c].grown;
        let paths = self.incidence.paths_of(group);
        let (rates, portions) = (&mut self.outcome.rates[paths.clone()], &self.outcome.portions[paths]);
        for bit in bits(hit) {
            rates[bit] = portions[bit] * grown;
        }
    }

    /// Gives what the subflows `hit` of `group` would have grown to those of `c` left, whose portions sum to `gain`.
    fn regrow(&mut self, c: usize, group: usize, hit: u64, gain: f64, z: f64) {
        let (incidence, state) = (&self.incidence, &mut self.state);
        let weight = self.problem.weight(c);
        let (before, after) = (weight / state.connections[c].gain, weight / gain);
        state.connections[c].gain = gain;
        for g in incidence.groups_of(c) {
            let own = &self.outcome.portions[incidence.paths_of(g)];
            let (live, hit) = (state.live[g], if g == group { hit } else { 0 });
            let range = incidence.pairs_of(g);
            let first = range.start;
            let masks = incidence.mask[range.clone()].iter().zip(&incidence.link[range.clone()]);
            for ((sum, (&mask, &link)), pair) in state.sums[range].iter_mut().zip(masks).zip(first..) {
                let old = *sum;
                if old == 0.0 {
                    continue;
                }
                let frozen = mask & hit;
                if frozen != 0 {
                    *sum = lessened(old, mask & live, frozen, own);
                }
                let change = (after * *sum - before * old) * incidence.coefficient_of(pair);
                state.filling.tilt(link as usize, change, *sum == 0.0, z);
            }
        }
        self.sum_anew();
    }

    /// Takes connection `c`, all frozen, off its links.
    fn retire(&mut self, c: usize, groups: Range<usize>, z: f64) {
        let (incidence, state) = (&self.incidence, &mut self.state);
        state.live_connections -= 1;
        let growth = self.problem.weight(c) / state.connections[c].gain;
        for group in groups {
            for pair in incidence.pairs_of(group) {
                let old = std::mem::take(&mut state.sums[pair]);
                if old != 0.0 {
                    let change = -growth * old * incidence.coefficient_of(pair);
                    state.filling.tilt(incidence.link[pair] as usize, change, true, z);
                }
            }
        }
        self.sum_anew();
    }

    /// Sums the slopes anew of which too little is left to trust.
    fn sum_anew(&mut self) {
        let (incidence, state) = (&self.incidence, &mut self.state);
        while let Some(number) = state.filling.stale.pop() {
            let slope = incidence.places_on(number as usize).map(|place| {
                let listed = incidence.at(place);
                let c = incidence.connection[listed.group as usize] as usize;
                let sum = state.sums[listed.pair as usize];
                let growth = if sum > 0.0 { self.problem.weight(c) / state.connections[c].gain } else { 0.0 };
                growth * incidence.coefficient_of(listed.pair as usize) * sum
            });
            let slope: f64 = slope.sum();
            let link = &mut state.filling.links[number as usize];
            (link.slope, link.summed) = (slope, slope);
        }
    }
}

impl Filling {
    /// Changes the slope of a link at level `z`, and takes a pair off it if it is `done`.
    fn tilt(&mut self, number: usize, change: f64, done: bool, z: f64) {
        let link = &mut self.links[number];
        link.live_pairs -= u32::from(done);
        if link.tilt(change, z) {
            if link.live_pairs == 0 {
                link.slope = 0.0;
            } else {
                self.stale.push(number as u32);
            }
        }
        self.is_touched[number / BLOCK] = true;
    }
}

/// The sum over `live` that is left of `old` without `frozen`: by subtraction, or anew where that would lose digits.
fn lessened(old: f64, live: u64, frozen: u64, portions: &[f64]) -> f64 {
    if live == 0 {
        return 0.0;
    }
    let left = old - sum_over(frozen, portions);
    if left > STALE * old { left } else { sum_over(live, portions) }
}
