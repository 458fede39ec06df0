//! The removal of subflows that are about to vanish: their rates become 0, which is their limit.
//!
//! On a link where its connection has a greater level than another connection, a subflow carries less from pass to
//! pass. The factor may be near 1, and while the subflow carries anything it takes capacity from the smaller
//! connection. So once the pass looks nearly done, a subflow with at most `tolerance` of its connection's rate that
//! still shrinks on such a link is removed: its portion becomes 0, and so does its rate. The connection with the least
//! level on a link keeps its subflow there, since some connection has to fill the link. A rate of 0 needs a bottleneck
//! like any other. Where a removed subflow has none after a later pass, it comes back with its former portion, and is
//! removed again only below a hundredth of that.

use super::CSlen;
use super::bottlenecks::Larger;
use crate::incidence::bits;
use crate::passes::Passes;

/// A subflow that came back is removed again only below this part of its former portion.
const LATER: f64 = 0.01;

/// The subflows that were removed.
pub(super) struct Vanishing {
    /// The former portion of each removed subflow, in the grouped order; 0 for one that is not removed.
    taken: Vec<f64>,
    /// The portion at which a subflow that came back may be removed again; infinite if it never was.
    most: Vec<f64>,
    count: usize,
    /// The pass after which a subflow last came back.
    back_after: Option<usize>,
}

impl Vanishing {
    pub fn new(paths: usize) -> Self {
        Self { taken: vec![0.0; paths], most: vec![f64::INFINITY; paths], count: 0, back_after: None }
    }

    fn take(&mut self, f: usize, portion: f64) {
        (self.taken[f], self.most[f]) = (portion, LATER * portion);
        self.count += 1;
    }

    /// Removes a subflow as if it had shrunk.
    #[cfg(test)]
    pub(super) fn take_out_for_test(&mut self, f: usize, portions: &mut [f64]) {
        self.take(f, std::mem::take(&mut portions[f]));
    }

    fn give_back(&mut self, f: usize) -> f64 {
        self.count -= 1;
        std::mem::take(&mut self.taken[f])
    }
}

impl CSlen {
    /// Makes one pass, then removes subflows that shrank and have at most `tolerance` of their connection's rate.
    pub(super) fn pass_and_take_out(&mut self, tolerance: f64) {
        let before = self.outcome.portions.clone();
        self.pass();
        let least = self.least_levels();
        for group in 0..self.incidence.groups() {
            let paths = self.incidence.paths_of(group);
            let is_vanishing = |f: usize| {
                let portion = self.outcome.portions[f];
                let is_small = portion > 0.0 && portion <= tolerance.min(self.vanishing.most[f]);
                is_small && portion < before[f] * (1.0 - 0.5 * tolerance)
            };
            let small = paths.clone().enumerate().filter(|&(_, f)| is_vanishing(f));
            let small = small.fold(0, |word, (bit, _)| word | 1u32 << bit);
            let out = if small == 0 { 0 } else { small & self.outdoing(group, &least, tolerance) };
            for f in bits(out).map(|bit| paths.start + bit) {
                self.vanishing.take(f, self.outcome.portions[f]);
                self.outcome.portions[f] = 0.0;
            }
        }
    }

    /// Brings back removed subflows without a bottleneck; returns whether any came back after this pass, now or in an
    /// earlier call.
    pub(super) fn bring_back(&mut self, tolerance: f64) -> bool {
        let before = self.vanishing.count;
        let groups = if before > 0 { self.incidence.groups() } else { 0 };
        let mut larger: Vec<Option<Larger>> = vec![None; self.problem.links()];
        for group in 0..groups {
            let paths = self.incidence.paths_of(group);
            let is_out = |&(_, f): &(usize, usize)| self.vanishing.taken[f] > 0.0;
            let out = paths.clone().enumerate().filter(is_out).fold(0, |word, (bit, _)| word | 1u32 << bit);
            let free = if out == 0 { 0 } else { out & !self.held_exactly(group, out, &mut larger, tolerance) };
            for f in bits(free).map(|bit| paths.start + bit) {
                self.outcome.portions[f] = self.vanishing.give_back(f);
            }
        }
        if self.vanishing.count < before {
            self.vanishing.back_after = Some(self.passes());
        }
        self.vanishing.back_after == Some(self.passes())
    }
}
