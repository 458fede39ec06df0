//! Proofs that rates are too high, and the rates that all proofs together allow.
//!
//! The payment of a connection depends on prices and paths alone. A proof therefore bounds rates whatever the numbers
//! become. Every connection has its demand unless a proof holds it:
//!
//! ```text
//! share at a level    reserved + weight * level;  below 0: reserved * (1 + level)
//! level of a proof    the greatest for which    sum of min(rate, share) * cost  <=  sum of capacity * price
//! held by it          all connections that pay and would have more; proofs are in order of rising level
//! ```
//!
//! Where the rates at these levels fit, they are the answer: a connection that is held cannot have more unless another
//! connection that pays, and has no more, gives something up. Otherwise the dual simplex method continues, and a
//! variable that no exchange can repair yields one more proof. The method works in this way at the beginning, when all
//! connections have their demand, and after each change: the former basis stays dual feasible, whatever the new
//! capacities, demands, weights and reserved parts are.
//!
//! A level is below 0 where the reserved parts are more than the capacity: all that are held lack the same share of
//! theirs, and connections without a reserved part have nothing there.

use super::super::pricing::Prices;
use super::Filling;

/// A relative excess over a level that is smaller than this does not count.
const STILL: f64 = 1e-13;

/// The prices of a proof, with its level, the connections that pay, and those that it holds.
pub(in crate::global_max_min) struct Proof {
    pub level: f64,
    /// The connections that the proof holds at its level.
    pub held: Vec<u32>,
    /// All connections that pay, and the price of a unit of their rate.
    pub(super) payers: Vec<(u32, f64)>,
    /// Rows and their prices.
    pub prices: Vec<(u32, f64)>,
}

impl Filling {
    /// Finds the rates for the present numbers of the columns.
    pub fn follow(&mut self) {
        (self.exchanges, self.fits) = (0, false);
        (self.patience, self.beginnings) = (super::patience(&self.columns), 0);
        self.proofs.iter_mut().for_each(|proof| proof.held.clear());
        self.rate.copy_from_slice(&self.columns.demand);
        self.fill(0);
        self.run(usize::MAX);
    }

    /// The connections that pay by the prices of the last sweep, which was over all paths.
    fn payers(&self) -> Vec<(u32, f64)> {
        self.pricing.cheapest(&self.columns).map(|(c, least)| (c as u32, least)).collect()
    }

    /// Keeps the prices of the last sweep as a proof if they prove rates too high; returns whether they do.
    pub(super) fn keep(&mut self, prices: Prices) -> bool {
        let payers = self.payers();
        let prices = prices.positive().map(|(row, price)| (row as u32, price)).collect();
        let mut proof = Proof { level: f64::INFINITY, held: vec![], payers, prices };
        let Some(level) = self.allowed_by(&proof) else { return false };
        let is_over = |&(c, _): &(u32, f64)| self.rate[c as usize] > 0.0 && is_less(level, self.level_of(c));
        if !proof.payers.iter().any(is_over) {
            return false;
        }
        proof.level = level;
        self.pricing.rest(&self.columns, &self.main, |p| self.is_basic[p]);
        let place = self.proofs.partition_point(|other| other.level < level);
        self.release(place);
        self.proofs.insert(place, proof);
        self.fill(place);
        true
    }

    /// Sets levels and rates by the proofs from index `from` on; earlier proofs stay as they are.
    ///
    /// A proof that allows less than the one before it moves to its place among the earlier ones. A proof that holds no
    /// connection is dropped.
    fn fill(&mut self, from: usize) {
        let mut k = from;
        let mut moves = 0;
        while k < self.proofs.len() {
            let floor = if k > 0 { self.proofs[k - 1].level } else { -1.0 };
            match self.allowed_by(&self.proofs[k]) {
                Some(level) if is_less(level, floor) => {
                    let place = self.proofs[..k].partition_point(|other| other.level < level);
                    self.release(place);
                    self.proofs[place..=k].rotate_right(1);
                    k = place;
                    moves += 1;
                    if moves > self.proofs.len() * self.proofs.len() {
                        self.is_sound = false;
                        return;
                    }
                }
                Some(level) if self.hold(k, level.max(floor)) => k += 1,
                _ => {
                    self.proofs.remove(k);
                }
            }
        }
        self.follow_rates();
        self.still.clear();
    }

    /// Gives the connections that the proofs from `place` on hold their demands back.
    fn release(&mut self, place: usize) {
        for proof in &mut self.proofs[place..] {
            for c in proof.held.drain(..) {
                self.rate[c as usize] = self.columns.demand[c as usize];
            }
        }
    }

    /// Holds at a level the connections that pay by a proof and would have more; returns whether there are any.
    fn hold(&mut self, k: usize, level: f64) -> bool {
        let Proof { level: own, held, payers, .. } = &mut self.proofs[k];
        *own = level;
        held.clear();
        for &(c, _) in &*payers {
            let rate = self.columns.share(c as usize, level);
            if self.rate[c as usize] > rate {
                self.rate[c as usize] = rate;
                held.push(c);
            }
        }
        !held.is_empty()
    }

    pub(super) fn level_of(&self, c: u32) -> f64 {
        self.columns.level(c as usize, self.rate[c as usize])
    }

    /// The highest level that a proof allows its payers; `None` if no rate exceeds it.
    ///
    /// The total payment is a concave, piecewise linear function of the level, with a bend at each present level of a
    /// payer. A straight line through any of its points leads to a point below the answer, and from there to better
    /// ones.
    fn allowed_by(&self, proof: &Proof) -> Option<f64> {
        let Self { columns, rate, .. } = self;
        let worth: f64 = proof.prices.iter().map(|&(row, price)| price * columns.capacity[row as usize]).sum();
        if columns.has_reserved {
            return self.allowed_beside_reserved(proof, worth);
        }
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

    /// The highest level that a proof of this worth allows its payers, where some have a reserved part; `None` if no rate
    /// exceeds it.
    ///
    /// The total payment is a piecewise linear function of the level, which bends at -1 and 0, and where a payer has its
    /// present rate. It need not be concave, so all bends are taken in order.
    fn allowed_beside_reserved(&self, proof: &Proof, worth: f64) -> Option<f64> {
        let mut bends = Vec::with_capacity(3 * proof.payers.len());
        for &(c, least) in &proof.payers {
            let c = c as usize;
            let (reserved, weight) = (self.columns.reserved[c] * least, self.columns.weight[c] * least);
            let level = self.level_of(c as u32);
            if level > 0.0 {
                bends.extend([(-1.0, reserved), (0.0, weight - reserved), (level, -weight)]);
            } else if reserved > 0.0 {
                bends.extend([(-1.0, reserved), (level, -reserved)]);
            }
        }
        bends.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let (mut paid, mut slope, mut at) = (0.0, 0.0, -1.0);
        for (level, change) in bends {
            let next = paid + slope * (level - at);
            if next > worth * (1.0 + STILL) {
                return Some(at + ((worth - paid) / slope).max(0.0));
            }
            (paid, at) = (next, level);
            slope += change;
        }
        None
    }
}

/// Whether a level is less than another by more than rounding.
fn is_less(level: f64, other: f64) -> bool {
    level < other - STILL * other.abs()
}
