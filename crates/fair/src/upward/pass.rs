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

use super::CSlen;
use crate::incidence::Incidence;
use crate::problem::Problem;

/// A portion below this counts as 0: its subflow carries nothing that 64 bits could tell.
const TINY: f64 = 1e-60;

/// A slope that fell by this factor is summed anew, since what subtraction left of it may be rounding error.
const STALE: f64 = 1e-6;

/// Links in a block of the search for the next saturation.
const BLOCK: usize = 64;

/// What a pass keeps; made once, reused by every pass.
pub(super) struct State {
    links: Links,
    /// Unfrozen subflows of each connection, a bit each.
    live: Vec<u64>,
    live_connections: usize,
    /// G, A, and the level since which A stands, of each connection.
    gain: Vec<f64>,
    grown: Vec<f64>,
    since: Vec<f64>,
    /// s, of each pair.
    sums: Vec<f64>,
}

/// The links while they fill: capacity that was left at level `since`, and how fast it goes.
struct Links {
    left: Vec<f64>,
    slope: Vec<f64>,
    since: Vec<f64>,
    /// The slope when it was last summed anew.
    summed: Vec<f64>,
    /// (connection, link) pairs with an unfrozen subflow.
    live_pairs: Vec<u32>,
    /// For each block of links the least level at which one saturates, and whether it must be looked for again.
    least: Vec<(f64, u32)>,
    is_touched: Vec<bool>,
}

impl State {
    pub fn new(problem: &Problem, pairs: &Incidence) -> Self {
        let (links, connections) = (problem.links(), problem.connections());
        let blocks = links.div_ceil(BLOCK);
        Self {
            links: Links {
                left: vec![0.0; links],
                slope: vec![0.0; links],
                since: vec![0.0; links],
                summed: vec![0.0; links],
                live_pairs: vec![0; links],
                least: vec![(f64::INFINITY, 0); blocks],
                is_touched: vec![true; blocks],
            },
            live: vec![0; pairs.words()],
            live_connections: 0,
            gain: vec![0.0; connections],
            grown: vec![0.0; connections],
            since: vec![0.0; connections],
            sums: vec![0.0; pairs.len()],
        }
    }
}

impl Links {
    /// Adds `change` to the slope of `link` at level `z`.
    fn tilt(&mut self, link: usize, change: f64, z: f64) {
        self.left[link] -= self.slope[link] * (z - self.since[link]);
        self.since[link] = z;
        self.slope[link] += change;
        self.is_touched[link / BLOCK] = true;
    }

    /// The level at which `link` saturates; infinite if nothing on it grows.
    fn level(&self, link: usize) -> f64 {
        let slope = self.slope[link];
        if slope > 0.0 { self.since[link] + self.left[link].max(0.0) / slope } else { f64::INFINITY }
    }

    /// The link that saturates first, and its level.
    fn next(&mut self) -> (f64, usize) {
        for block in 0..self.least.len() {
            if !std::mem::take(&mut self.is_touched[block]) {
                continue;
            }
            let begin = block * BLOCK;
            let end = (begin + BLOCK).min(self.slope.len());
            let mut least = (f64::INFINITY, begin as u32);
            for link in begin..end {
                let level = self.level(link);
                if level < least.0 {
                    least = (level, link as u32);
                }
            }
            self.least[block] = least;
        }
        let first = |a: (f64, u32), b: &(f64, u32)| if b.0 < a.0 { *b } else { a };
        let (level, link) = self.least.iter().fold((f64::INFINITY, 0), first);
        (level, link as usize)
    }
}


impl CSlen {
    /// Fills the links from the present portions: `rates` and `free` are the outcome.
    pub(super) fn fill(&mut self) {
        self.begin();
        let mut z = 0.0;
        let mut demands = 0;
        while self.state.live_connections > 0 {
            let (level, link) = self.state.links.next();
            // Rounding may put a saturation an ulp before the last event; levels never fall.
            let level = f64::max(level, z);
            let met = demands;
            while let Some(&c) = self.by_demand.get(demands) {
                let reached = self.problem.demand(c as usize) / self.problem.weight(c as usize);
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
        for (free, left) in self.free.iter_mut().zip(&self.state.links.left) {
            *free = left.max(0.0);
        }
    }

    /// All subflows with a portion unfrozen, all links empty.
    fn begin(&mut self) {
        let problem = &*self.problem;
        self.rates.fill(0.0);
        let state = &mut self.state;
        let links = &mut state.links;
        for l in 0..problem.links() {
            (links.left[l], links.slope[l], links.since[l], links.live_pairs[l]) = (problem.capacity(l), 0.0, 0.0, 0);
        }
        links.is_touched.fill(true);
        state.live_connections = 0;
        for c in 0..problem.connections() {
            let words = self.pairs.words_of(c);
            let begin = problem.connection_offsets()[c];
            let own = &self.portions[begin..problem.connection_offsets()[c + 1]];
            let live = &mut state.live[words.clone()];
            live.fill(0);
            let mut gain = 0.0;
            // Several words only for connections with more than 64 paths.
            for (bit, &portion) in own.iter().enumerate() {
                if portion > TINY {
                    live[bit / 64] |= 1 << (bit % 64);
                    gain += portion;
                }
            }
            if gain == 0.0 {
                continue;
            }
            state.live_connections += 1;
            (state.gain[c], state.grown[c], state.since[c]) = (gain, 0.0, 0.0);
            let growth = problem.weight(c) / gain;
            for pair in self.pairs.pairs_of(c) {
                let sum = masked_sum(own, self.pairs.mask(c, pair, words.len()), live);
                state.sums[pair] = sum;
                if sum > 0.0 {
                    let link = self.pairs.link[pair] as usize;
                    links.slope[link] += growth * self.pairs.coefficient_of(pair) * sum;
                    links.live_pairs[link] += 1;
                }
            }
        }
        links.summed.copy_from_slice(&links.slope);
    }

    /// Saturates `link` at level `z`: the unfrozen subflows on it freeze.
    fn saturate(&mut self, link: usize, z: f64) {
        for at in self.pairs.pairs_on(link) {
            let pair = self.pairs.listed(at);
            let c = self.pairs.connection[pair] as usize;
            let words = self.pairs.words_of(c);
            let count = words.len();
            let mask = self.pairs.mask(c, pair, count);
            let is_hit = mask.iter().zip(&self.state.live[words]).any(|(m, l)| m & l != 0);
            if is_hit {
                self.freeze_on(c, pair, z);
            }
        }
        let links = &mut self.state.links;
        (links.left[link], links.slope[link], links.since[link]) = (0.0, 0.0, z);
        links.is_touched[link / BLOCK] = true;
    }

    /// Freezes the unfrozen subflows of `c` that `pair` holds.
    fn freeze_on(&mut self, c: usize, pair: usize, z: f64) {
        let words = self.pairs.words_of(c);
        let count = words.len();
        let begin = self.problem.connection_offsets()[c];
        self.advance(c, z);
        let mut gain = 0.0;
        let mut frozen = [0u64; 1];
        let mut more = if count > 1 { vec![0u64; count] } else { Vec::new() };
        let frozen = if count > 1 { &mut more[..] } else { &mut frozen[..] };
        for (w, at) in words.clone().enumerate() {
            let hit = self.state.live[at] & self.pairs.mask(c, pair, count)[w];
            self.set_rates(c, begin + 64 * w, hit);
            self.state.live[at] &= !hit;
            frozen[w] = hit;
            gain += self.live_portion(begin + 64 * w, self.state.live[at]);
        }
        if gain > 0.0 {
            self.regrow(c, frozen, gain, z);
        } else {
            self.retire(c, z);
        }
    }

    /// Freezes whatever of `c` is unfrozen.
    fn freeze_all(&mut self, c: usize, z: f64) {
        let words = self.pairs.words_of(c);
        if self.state.live[words.clone()].iter().all(|&w| w == 0) {
            return;
        }
        self.advance(c, z);
        let begin = self.problem.connection_offsets()[c];
        for (w, at) in words.enumerate() {
            let hit = std::mem::take(&mut self.state.live[at]);
            self.set_rates(c, begin + 64 * w, hit);
        }
        self.retire(c, z);
    }

    /// Ends a pass in which nothing is left that could stop the subflows that are left: their portions are so small
    /// that no link feels them.
    fn freeze_the_rest(&mut self, z: f64) {
        for c in 0..self.problem.connections() {
            self.freeze_all(c, z);
        }
    }

    /// Brings A of connection `c` to level `z`.
    fn advance(&mut self, c: usize, z: f64) {
        let state = &mut self.state;
        state.grown[c] += self.problem.weight(c) / state.gain[c] * (z - state.since[c]);
        state.since[c] = z;
    }

    fn set_rates(&mut self, c: usize, begin: usize, hit: u64) {
        let grown = self.state.grown[c];
        let mut bits = hit;
        while bits != 0 {
            let f = begin + bits.trailing_zeros() as usize;
            self.rates[f] = self.portions[f] * grown;
            bits &= bits - 1;
        }
    }

    fn live_portion(&self, begin: usize, live: u64) -> f64 {
        let (mut bits, mut sum) = (live, 0.0);
        while bits != 0 {
            sum += self.portions[begin + bits.trailing_zeros() as usize];
            bits &= bits - 1;
        }
        sum
    }

    /// Gives what the `frozen` subflows of `c` would have grown to those left, whose portions sum to `gain`.
    fn regrow(&mut self, c: usize, frozen: &[u64], gain: f64, z: f64) {
        let (problem, pairs, state) = (&*self.problem, &self.pairs, &mut self.state);
        let words = pairs.words_of(c);
        let own = &self.portions[problem.connection_offsets()[c]..problem.connection_offsets()[c + 1]];
        let weight = problem.weight(c);
        let (before, after) = (weight / state.gain[c], weight / gain);
        state.gain[c] = gain;
        let live = &state.live[words.clone()];
        for pair in pairs.pairs_of(c) {
            let old = state.sums[pair];
            if old == 0.0 {
                continue;
            }
            let mask = pairs.mask(c, pair, words.len());
            let mut new = old;
            if mask.iter().zip(frozen).any(|(m, f)| m & f != 0) {
                new = masked_sum(own, mask, live);
                state.sums[pair] = new;
            }
            let link = pairs.link[pair] as usize;
            let change = (after * new - before * old) * pairs.coefficient_of(pair);
            state.links.tilt(link, change, z);
            if new == 0.0 {
                state.links.live_pairs[link] -= 1;
            }
            refresh(problem, pairs, &state.sums, &state.gain, &mut state.links, link);
        }
    }

    /// Takes connection `c`, all frozen, off its links.
    fn retire(&mut self, c: usize, z: f64) {
        let (problem, pairs, state) = (&*self.problem, &self.pairs, &mut self.state);
        state.live_connections -= 1;
        let growth = problem.weight(c) / state.gain[c];
        for pair in pairs.pairs_of(c) {
            let old = std::mem::take(&mut state.sums[pair]);
            if old == 0.0 {
                continue;
            }
            let link = pairs.link[pair] as usize;
            state.links.tilt(link, -growth * old * pairs.coefficient_of(pair), z);
            state.links.live_pairs[link] -= 1;
            refresh(problem, pairs, &state.sums, &state.gain, &mut state.links, link);
        }
    }
}

/// The sum of a connection's portions over the subflows that are both in `mask` and in `live`.
fn masked_sum(own: &[f64], mask: &[u64], live: &[u64]) -> f64 {
    let mut sum = 0.0;
    for (chunk, (m, l)) in own.chunks(64).zip(mask.iter().zip(live)) {
        let mut bits = m & l;
        while bits != 0 {
            // The bits of a mask lie within the connection's paths.
            sum += chunk[bits.trailing_zeros() as usize];
            bits &= bits - 1;
        }
    }
    sum
}

/// Sums the slope of `link` anew if subtraction has left too little of it to trust, or nothing on the link grows.
fn refresh(problem: &Problem, pairs: &Incidence, sums: &[f64], gain: &[f64], links: &mut Links, link: usize) {
    if links.live_pairs[link] == 0 {
        links.slope[link] = 0.0;
    } else if links.slope[link] < STALE * links.summed[link] {
        let listed = pairs.pairs_on(link).map(|at| pairs.listed(at)).filter(|&pair| sums[pair] > 0.0);
        let growth = listed.map(|pair| {
            let c = pairs.connection[pair] as usize;
            problem.weight(c) / gain[c] * pairs.coefficient_of(pair) * sums[pair]
        });
        links.slope[link] = growth.sum();
        links.summed[link] = links.slope[link];
    }
}
