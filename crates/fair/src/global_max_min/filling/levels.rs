//! How far a level must fall by the prices that prove it too high, and who is held where the rates fit.

use super::super::pricing::Prices;
use super::{Filling, Held};

/// A level that falls by less than this part of itself does not fall.
const STILL: f64 = 1e-14;

/// Who pays by some prices, and the highest level that these allow them.
struct Allowed {
    level: f64,
    /// Those who could use more than they have at that level.
    paying: Vec<u32>,
}

impl Filling {
    /// Begins with the next level from above: where the last proof that still binds somebody puts it.
    pub(super) fn begin_level(&mut self) {
        if self.left == 0 {
            return;
        }
        while let Some(proof) = self.proofs.pop() {
            if let Some(allowed) = self.reconsider(&proof) {
                self.proofs.push(proof);
                self.set_level(allowed.level.max(self.floor));
                return;
            }
        }
        let free = (0..self.free.len()).filter(|&c| self.free[c]);
        self.set_level(free.map(|c| self.reach(c)).fold(0.0, f64::max));
    }

    /// Sets the level, and the rates of all that are not settled.
    fn set_level(&mut self, level: f64) {
        self.level = level;
        for c in 0..self.rate.len() {
            if self.free[c] {
                self.rate[c] = self.columns.demand[c].min(self.columns.weight[c] * level);
            }
        }
        self.sum_main_paths();
        self.still.clear();
    }

    /// The prices of the last sweep prove the level too high: it falls to what they allow. Says whether it does.
    pub(super) fn lower(&mut self, prices: Prices) -> bool {
        let Some(allowed) = self.allowed(prices) else { return false };
        if allowed.level >= self.level * (1.0 - STILL) {
            return false;
        }
        self.proofs.push(prices.positive().map(|(row, price)| (row as u32, price)).collect());
        self.set_level(allowed.level);
        true
    }

    /// All fits at this level: who pays by the last proof settles there, and who has all that it asked for.
    pub(super) fn end_level(&mut self) {
        if let Some(proof) = self.proofs.pop()
            && let Some(Allowed { paying, .. }) = self.reconsider(&proof)
        {
            self.pricing.rest(&self.columns, &self.main, |p| self.is_basic[p]);
            for &c in &paying {
                self.settle(c as usize);
            }
            self.held.push(Held { level: self.level, connections: paying, prices: proof });
        }
        for c in 0..self.free.len() {
            if self.free[c] && self.reach(c) <= self.level {
                self.settle(c);
            }
        }
        self.floor = self.level;
        self.begin_level();
    }

    /// The level at which a connection has all that it asks for.
    fn reach(&self, c: usize) -> f64 {
        self.columns.demand[c] / self.columns.weight[c]
    }

    fn settle(&mut self, c: usize) {
        self.free[c] = false;
        self.left -= 1;
    }

    /// What the prices of a proof allow now.
    fn reconsider(&mut self, proof: &[(u32, f64)]) -> Option<Allowed> {
        let mut of = std::mem::take(&mut self.prices);
        of.fill(0.0);
        let priced: Vec<u32> = proof.iter().map(|&(row, _)| row).collect();
        for &(row, price) in proof {
            of[row as usize] = price;
        }
        let prices = Prices { of: &of, priced: &priced };
        self.pricing.sweep(&self.columns, prices, &self.main, |p| self.is_basic[p]);
        let allowed = self.allowed(prices);
        self.prices = of;
        allowed
    }

    /// What the prices of the last sweep allow: not less than the level up to which all is settled. Nothing if nobody
    /// who is not settled pays, or if those have all they ask for.
    ///
    /// What they pay is `sum of min(demand, weight * level) * least`: straight between demands and bent down at each,
    /// so that a straight line through a point below the answer comes to a better one.
    fn allowed(&self, prices: Prices) -> Option<Allowed> {
        let Self { columns, free, rate, floor, .. } = self;
        let mut worth: f64 = prices.positive().map(|(row, price)| price * columns.capacity[row]).sum();
        let mut paying = vec![];
        for (c, least) in self.pricing.cheapest(columns) {
            if free[c] {
                paying.push((c, least));
            } else {
                worth -= rate[c] * least;
            }
        }
        let is_rising = |c: usize, level: f64| self.reach(c) > level;
        let mut level = *floor;
        loop {
            let (mut rest, mut each) = (worth, 0.0);
            for &(c, least) in &paying {
                if is_rising(c, level) {
                    each += columns.weight[c] * least;
                } else {
                    rest -= columns.demand[c] * least;
                }
            }
            if each == 0.0 {
                return None;
            }
            if rest / each <= level {
                break;
            }
            level = rest / each;
        }
        let paying = paying.iter().filter(|&&(c, _)| is_rising(c, level)).map(|&(c, _)| c as u32).collect();
        Some(Allowed { level, paying })
    }
}
