//! Whether the rates of connections are proved by what the filling holds, without a look at paths that carry nothing.
//!
//! ```text
//! carried    every path has a rate of 0 or more, every connection the sum of its own, no row is over its capacity
//! open[k]    what the prices of proof k are worth, less what all who pay by it pay
//! proved     open[k] <= tolerance * cost[c] * rate[c]  for all that k holds;  nobody who pays by it has a greater level
//! ```
//!
//! What a connection pays for a unit of rate was found by a look at all of its paths when the proof was made, and depends
//! on prices and paths alone. So this costs a sum over those who pay, as the levels themselves do. All sums count with the
//! rounding that they may hold: where numbers lie so far apart that it could hide an error, nothing is proved.
//! [`crate::certify_levels()`] asks the same of the rates of all paths, and looks at all of them.

use super::{Filling, Proof};

/// By how much a load may be over its capacity, and a rate be lost, relatively.
const ROUNDING: f64 = 1e-9;

impl Filling {
    /// Whether the rates are the max-min fair ones to this relative tolerance.
    pub fn is_proved(&mut self, tolerance: f64) -> bool {
        if !(self.fits && self.is_sound) {
            return false;
        }
        if (0..self.columns.rows()).any(|row| self.drift[row] > 0.1 * ROUNDING * self.columns.capacity[row]) {
            self.sum_main_paths();
        }
        self.all_have_a_reason()
            && self.proofs.iter().all(|proof| self.proves(proof, tolerance))
            && self.is_carried()
            && self.nothing_is_lost()
    }

    /// Whether everyone has its demand or is held.
    fn all_have_a_reason(&self) -> bool {
        let mut has_reason: Vec<bool> =
            self.rate.iter().zip(&self.columns.demand).map(|(rate, demand)| rate >= demand).collect();
        self.proofs.iter().flat_map(|proof| &proof.held).for_each(|&c| has_reason[c as usize] = true);
        has_reason.into_iter().all(|has| has)
    }

    fn proves(&self, proof: &Proof, tolerance: f64) -> bool {
        let worth: f64 = proof.prices.iter().map(|&(row, price)| price * self.columns.capacity[row as usize]).sum();
        let paid: f64 = proof.payers.iter().map(|&(c, least)| self.rate[c as usize] * least).sum();
        let terms = (proof.payers.len() + proof.prices.len()) as f64;
        let open = (worth - paid).abs() + f64::EPSILON * terms * worth;
        // Those held are among the payers, in the same order.
        let mut held = proof.held.iter().copied().peekable();
        proof.payers.iter().all(|&(c, least)| {
            let is_outdone = self.level_of(c) > proof.level * (1.0 + tolerance);
            let is_held = held.next_if_eq(&c).is_some();
            !is_outdone && (!is_held || open <= tolerance * least * self.rate[c as usize])
        }) && held.peek().is_none()
    }

    /// Whether paths can carry the rates of connections, and no row more than its capacity.
    ///
    /// What rounding puts below 0 on one path its connection's others carry less: that may move what rows carry.
    fn is_carried(&self) -> bool {
        let owner = |p: u32| self.columns.owner[p as usize] as usize;
        let mut over: Vec<f64> = self.rate.iter().map(|rate| -rate).collect();
        for (&p, rate) in self.basis.paths.iter().zip(&self.carried) {
            over[owner(p)] += rate.max(0.0);
        }
        let mut load: Vec<(f64, f64)> = self.used.iter().copied().zip(self.drift.iter().copied()).collect();
        for ((&p, &rate), difference) in self.basis.paths.iter().zip(&self.carried).zip(&self.basis.differences) {
            let moved = if rate < 0.0 { -rate } else { rate.min(over[owner(p)].max(0.0)) };
            for &(row, a) in difference {
                let (sum, doubt) = &mut load[row as usize];
                *sum += a * rate;
                *doubt += f64::EPSILON * (sum.abs() + (a * rate).abs()) + a.abs() * moved;
            }
        }
        let mut rows = load.iter().zip(&self.columns.capacity).filter(|(_, capacity)| **capacity > 0.0);
        rows.all(|(&(load, doubt), capacity)| load + doubt <= (1.0 + ROUNDING) * capacity)
    }

    /// Whether no rate that counts is on a path over a row of capacity 0.
    fn nothing_is_lost(&self) -> bool {
        let dead: Vec<usize> = (0..self.columns.rows()).filter(|&row| self.columns.capacity[row] == 0.0).collect();
        if dead.is_empty() {
            return true;
        }
        let mut rates = vec![0.0; self.columns.paths()];
        for (&main, &rate) in self.main.iter().zip(&self.rate) {
            rates[main as usize] = rate;
        }
        for (&p, &rate) in self.basis.paths.iter().zip(&self.carried) {
            rates[p as usize] = rate;
            rates[self.main[self.columns.owner[p as usize] as usize] as usize] -= rate;
        }
        let carrying = dead.iter().flat_map(|&row| self.columns.connections_on(row));
        carrying.filter(|&&c| self.rate[c as usize] > 0.0).all(|&c| {
            let paths = self.columns.paths_of(c as usize).filter(|&p| rates[p] != 0.0 && self.columns.is_dead(p));
            paths.map(|p| rates[p].abs()).sum::<f64>() <= ROUNDING * self.rate[c as usize]
        })
    }
}
