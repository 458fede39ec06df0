//! Rates that follow changes of capacities, demands and weights: from the proofs of the answer before.
//!
//! What a connection pays depends on prices and paths alone, so that a proof bounds rates whatever the numbers become.
//! All have their demand, but for those whom a proof holds:
//!
//! ```text
//! level of a proof    the greatest for which    sum of min(rate, weight * level) * cost  <=  sum of capacity * price
//! held by it          all who pay and would have more; proofs go from the lowest level to the highest
//! ```
//!
//! The basis before stays dual feasible. Where its rates at these levels are all 0 or more, they are the answer: who is
//! held cannot have more unless another that pays, and has no more, gives something up. Else the dual simplex method
//! goes on from there, and what no exchange can make good is one more proof.

use super::super::pricing::Prices;
use super::{Filling, Held};

/// By less than this part of a level nothing is too high.
const STILL: f64 = 1e-13;

/// Prices, and what follows from them.
pub(super) struct Proof {
    level: f64,
    /// Those whom it holds there.
    held: Vec<u32>,
    /// All who pay, and what a unit of rate costs them.
    payers: Vec<(u32, f64)>,
    /// Row and price.
    prices: Vec<(u32, f64)>,
}

impl Filling {
    /// Keeps the proofs of a run that came to its end, to follow changes from here on.
    pub fn begin_following(&mut self) {
        self.follows = true;
        let mut of = std::mem::take(&mut self.prices);
        for Held { level, connections, prices } in std::mem::take(&mut self.held) {
            of.fill(0.0);
            for &(row, price) in &prices {
                of[row as usize] = price;
            }
            let priced: Vec<u32> = prices.iter().map(|&(row, _)| row).collect();
            let at = Prices { of: &of, priced: &priced };
            self.pricing.sweep(&self.columns, at, &self.main, |p| self.is_basic[p]);
            self.kept.push(Proof { level, held: connections, payers: self.payers(), prices });
        }
        self.prices = of;
    }

    /// Finds the rates at the present numbers of the columns, in so many events at most.
    pub fn follow(&mut self, budget: usize) {
        self.exchanges = 0;
        self.kept.iter_mut().for_each(|proof| proof.held.clear());
        self.rate.copy_from_slice(&self.columns.demand);
        self.fill(0);
        let is_done = (0..budget).any(|_| !self.is_sound || !self.mend());
        self.is_sound &= is_done;
    }

    /// Tells which connections are held where, and why.
    pub fn tell_held(&mut self) {
        let held =
            |proof: &Proof| Held { level: proof.level, connections: proof.held.clone(), prices: proof.prices.clone() };
        self.held = self.kept.iter().map(held).collect();
    }

    /// Who pays by the prices of the last sweep, which was over all paths.
    fn payers(&self) -> Vec<(u32, f64)> {
        self.pricing.cheapest(&self.columns).map(|(c, least)| (c as u32, least)).collect()
    }

    /// Keeps the prices of the last sweep as a proof, if they prove the rates too high; says whether they do.
    pub(super) fn keep(&mut self, prices: Prices) -> bool {
        let payers = self.payers();
        let prices = prices.positive().map(|(row, price)| (row as u32, price)).collect();
        let mut proof = Proof { level: f64::INFINITY, held: vec![], payers, prices };
        let Some(level) = self.allowed_by(&proof) else { return false };
        let is_over = |&(c, _): &(u32, f64)| self.level_of(c) * (1.0 - STILL) > level;
        if !proof.payers.iter().any(is_over) {
            return false;
        }
        proof.level = level;
        let place = self.kept.partition_point(|other| other.level < level);
        self.release(place);
        self.kept.insert(place, proof);
        self.fill(place);
        true
    }

    /// Sets levels and rates by the proofs from one of them on; those before it stay as they are.
    ///
    /// A proof that turns out to allow less than the one before it goes to its place among those. One that holds nobody
    /// is dropped.
    fn fill(&mut self, from: usize) {
        let mut k = from;
        let mut moves = 0;
        while k < self.kept.len() {
            let floor = if k > 0 { self.kept[k - 1].level } else { 0.0 };
            match self.allowed_by(&self.kept[k]) {
                Some(level) if level < floor * (1.0 - STILL) => {
                    let place = self.kept[..k].partition_point(|other| other.level < level);
                    self.release(place);
                    self.kept[place..=k].rotate_right(1);
                    k = place;
                    moves += 1;
                    if moves > self.kept.len() * self.kept.len() {
                        self.is_sound = false;
                        return;
                    }
                }
                Some(level) if self.hold(k, level.max(floor)) => k += 1,
                _ => {
                    self.kept.remove(k);
                }
            }
        }
        self.sum_main_paths();
        self.still.clear();
    }

    /// Gives back their demands to those whom proofs from `place` on hold.
    fn release(&mut self, place: usize) {
        for proof in &mut self.kept[place..] {
            for c in proof.held.drain(..) {
                self.rate[c as usize] = self.columns.demand[c as usize];
            }
        }
    }

    /// Holds at a level those who pay by a proof and would have more; says whether there are any.
    fn hold(&mut self, k: usize, level: f64) -> bool {
        let Proof { level: own, held, payers, .. } = &mut self.kept[k];
        *own = level;
        held.clear();
        for &(c, _) in &*payers {
            let rate = self.columns.weight[c as usize] * level;
            if self.rate[c as usize] > rate {
                self.rate[c as usize] = rate;
                held.push(c);
            }
        }
        !held.is_empty()
    }

    fn level_of(&self, c: u32) -> f64 {
        self.rate[c as usize] / self.columns.weight[c as usize]
    }

    /// The highest level that a proof allows those who pay by it, if that is less than some have.
    ///
    /// What they pay is straight between the levels at which they are now and bent down at each. So a straight line
    /// through any of its points comes to a point below the answer, and from there on to better ones.
    fn allowed_by(&self, proof: &Proof) -> Option<f64> {
        let Self { columns, rate, .. } = self;
        let worth: f64 = proof.prices.iter().map(|&(row, price)| price * columns.capacity[row as usize]).sum();
        let mut level = proof.level;
        let mut is_below = false;
        loop {
            let (mut rest, mut each) = (worth, 0.0);
            for &(c, least) in &proof.payers {
                let (rate, weight) = (rate[c as usize], columns.weight[c as usize]);
                if rate > weight * level {
                    each += weight * least;
                } else {
                    rest -= rate * least;
                }
            }
            if each == 0.0 && (is_below || rest >= -STILL * worth) {
                return None;
            }
            let next = if each == 0.0 { 0.0 } else { (rest / each).max(0.0) };
            if is_below && next <= level {
                return Some(level);
            }
            (level, is_below) = (next, true);
        }
    }
}
