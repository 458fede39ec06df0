//! Subflows that are about to vanish, set to the rate 0 that they go to.
//!
//! A subflow on a link where its connection is outdone in level carries less from pass to pass, by a factor that may be
//! near 1, and while it carries anything it takes capacity from smaller connections. So once the pass looks nearly done, a
//! subflow with no more than `tolerance` of its connection's rate which still shrinks is taken out: its portion becomes
//! 0, and so does its rate. A rate of 0 needs a bottleneck like any other. Where a subflow taken out has none after a later
//! pass, it comes back with the portion that it had, and is not taken out again before it has a hundredth of that.

use super::CSlen;
use crate::passes::Passes;

/// The next time a subflow is taken out at this part of the portion of the time before.
const LATER: f64 = 0.01;

/// The subflows that were taken out.
pub(super) struct Vanishing {
    /// Of each subflow in the grouped order: the portion that it had; 0 if it is in.
    taken: Vec<f64>,
    /// The portion at which a subflow that came back may be taken out again; infinite if it never was.
    most: Vec<f64>,
    count: usize,
}

impl Vanishing {
    pub fn new(paths: usize) -> Self {
        Self { taken: vec![0.0; paths], most: vec![f64::INFINITY; paths], count: 0 }
    }

    fn take(&mut self, f: usize, portion: f64) {
        (self.taken[f], self.most[f]) = (portion, LATER * portion);
        self.count += 1;
    }

    fn give_back(&mut self, f: usize) -> f64 {
        self.count -= 1;
        std::mem::take(&mut self.taken[f])
    }
}

impl CSlen {
    /// One pass, after which subflows that shrank and have no more than `tolerance` of their connection are taken out.
    pub(super) fn pass_and_take_out(&mut self, tolerance: f64) {
        let before = self.outcome.portions.clone();
        self.pass();
        for (f, before) in before.into_iter().enumerate() {
            let portion = self.outcome.portions[f];
            let is_small = portion > 0.0 && portion <= tolerance.min(self.vanishing.most[f]);
            if is_small && portion < before * (1.0 - 0.5 * tolerance) {
                self.vanishing.take(f, portion);
                self.outcome.portions[f] = 0.0;
            }
        }
    }

    /// Brings back what was taken out and has no bottleneck among `tops`; says whether there was any.
    pub(super) fn bring_back(&mut self, tops: &[f64], tolerance: f64) -> bool {
        let before = self.vanishing.count;
        let groups = if before > 0 { self.incidence.groups() } else { 0 };
        for group in 0..groups {
            let paths = self.incidence.paths_of(group);
            if self.vanishing.taken[paths.clone()].iter().all(|&portion| portion == 0.0) {
                continue;
            }
            let held = self.held(group, tops, tolerance);
            for (bit, f) in paths.enumerate() {
                if held >> bit & 1 == 0 && self.vanishing.taken[f] > 0.0 {
                    self.outcome.portions[f] = self.vanishing.give_back(f);
                }
            }
        }
        self.vanishing.count < before
    }
}
