//! A check whether the present filling proves the rates of connections; it skips paths that carry nothing.
//!
//! ```text
//! carried    every path has a rate of 0 or more, the rates of a connection's paths add up to its rate, no row is
//! overloaded
//! open[k]    value of the capacities at the prices of proof k, less the payments of all connections that pay by it
//! proved     open[k] <= tolerance * cost[c] * rate[c]  for all that k holds;  no connection that pays by it has a
//! greater level
//! ```
//!
//! The price of a unit of rate was found from all paths of a connection when the proof was made, and depends on prices
//! and paths alone. So this check costs one sum over the connections that pay, as the levels themselves do. All sums
//! include their possible rounding error: where the numbers differ so much that rounding could hide an error, nothing
//! is proved. [`crate::certify_levels()`] checks the same for the rates of all paths, and looks at all of them.

use super::{Filling, Proof};

/// Relative overload of a row, and relative loss of a rate, that rounding may cause.
const ROUNDING: f64 = 1e-9;

impl Filling {
    /// Whether the rates are max-min fair to this relative tolerance.
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

    /// Whether every connection either has its demand or is held by a proof.
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
        // The held connections are among the payers, in the same order.
        let mut held = proof.held.iter().copied().peekable();
        proof.payers.iter().all(|&(c, least)| {
            let rate = self.rate[c as usize];
            let is_outdone = rate * (1.0 - tolerance) > self.columns.share(c as usize, proof.level);
            let is_held = held.next_if_eq(&c).is_some();
            !is_outdone && (!is_held || open <= tolerance * least * rate)
        }) && held.peek().is_none()
    }

    /// Whether the paths can carry the rates of connections without overloading a row.
    ///
    /// If rounding puts the rate of one path below 0, the other paths of its connection carry less, which may change
    /// the load of rows.
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

    /// Whether no significant rate is on a path over a row of capacity 0.
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
