//! Whether every subflow has a bottleneck after a pass: the solver's own stop rule.
//!
//! It reckons with the pairs and the free capacity that the pass left, so it costs a fraction of a pass. The
//! definitions are those of [`crate::certify()`], which checks the outcome without any of this.

use super::CSlen;

impl CSlen {
    /// Level of a connection: its rate by weight.
    fn level(&self, c: usize) -> f64 {
        self.totals[c] / self.problem.weight(c)
    }

    /// On each link the greatest level of a connection with a subflow there of more than `tolerance` of its rate.
    fn top_levels(&self, tolerance: f64) -> Vec<f64> {
        let mut top = vec![0.0f64; self.problem.links()];
        let mut counts = Vec::new();
        for c in 0..self.problem.connections() {
            let level = self.level(c);
            if level <= 0.0 {
                continue;
            }
            let words = self.pairs.words_of(c).len();
            self.significant(c, tolerance, &mut counts);
            for pair in self.pairs.pairs_of(c) {
                let link = self.pairs.link[pair] as usize;
                let mask = self.pairs.mask(c, pair, words);
                if level > top[link] && mask.iter().zip(&counts).any(|(m, s)| m & s != 0) {
                    top[link] = level;
                }
            }
        }
        top
    }

    /// The subflows of `c` that carry more than `tolerance` of its rate, as bits.
    fn significant(&self, c: usize, tolerance: f64, bits: &mut Vec<u64>) {
        let own = self.problem.connection_offsets()[c]..self.problem.connection_offsets()[c + 1];
        let least = tolerance * self.totals[c];
        bits.clear();
        bits.extend(self.rates[own].chunks(64).map(|chunk| {
            let set = chunk.iter().enumerate().map(|(bit, &rate)| u64::from(rate > least) << bit);
            set.fold(0, |word, bit| word | bit)
        }));
    }

    fn has_its_demand(&self, c: usize, tolerance: f64) -> bool {
        self.totals[c] >= self.problem.demand(c) * (1.0 - tolerance)
    }

    /// How far `link` is from a bottleneck for connection `c`: the larger of its relative slack and the relative
    /// excess of the link's top level over the connection's.
    fn shortfall(&self, link: usize, level: f64, top: f64) -> f64 {
        let capacity = self.problem.capacity(link);
        let slack = if capacity > 0.0 { self.free[link] / capacity } else { 0.0 };
        let excess = if top > level { 1.0 - level / top } else { 0.0 };
        slack.max(excess)
    }

    /// Whether every subflow has a bottleneck to the tolerance.
    pub(super) fn is_certified(&self, tolerance: f64) -> bool {
        let top = self.top_levels(tolerance);
        let mut covered = Vec::new();
        (0..self.problem.connections()).all(|c| {
            if self.has_its_demand(c, tolerance) {
                return true;
            }
            let words = self.pairs.words_of(c).len();
            let level = self.level(c);
            covered.clear();
            covered.resize(words, 0u64);
            for pair in self.pairs.pairs_of(c) {
                let link = self.pairs.link[pair] as usize;
                if self.shortfall(link, level, top[link]) <= tolerance {
                    let mask = self.pairs.mask(c, pair, words);
                    covered.iter_mut().zip(mask).for_each(|(seen, m)| *seen |= m);
                }
            }
            covered.iter().map(|w| w.count_ones() as usize).sum::<usize>() == self.problem.paths_of(c).len()
        })
    }

    /// The worst subflow's distance from its best candidate for a bottleneck; subflows of up to `tolerance` of
    /// their connection's rate do not count as the others on a link.
    pub(super) fn residual(&self, tolerance: f64) -> f64 {
        let top = self.top_levels(tolerance);
        let mut worst = 0.0f64;
        let mut best = Vec::new();
        for c in 0..self.problem.connections() {
            let paths = self.problem.paths_of(c).len();
            let demand = self.problem.demand(c);
            let unmet = if demand > 0.0 { (1.0 - self.totals[c] / demand).max(0.0) } else { 0.0 };
            best.clear();
            best.resize(paths, unmet);
            let words = self.pairs.words_of(c).len();
            let level = self.level(c);
            for pair in self.pairs.pairs_of(c) {
                let link = self.pairs.link[pair] as usize;
                let shortfall = self.shortfall(link, level, top[link]);
                for (word, mask) in self.pairs.mask(c, pair, words).iter().enumerate() {
                    let mut bits = *mask;
                    while bits != 0 {
                        let own = &mut best[64 * word + bits.trailing_zeros() as usize];
                        *own = own.min(shortfall);
                        bits &= bits - 1;
                    }
                }
            }
            worst = best.iter().copied().fold(worst, f64::max);
        }
        worst
    }
}
