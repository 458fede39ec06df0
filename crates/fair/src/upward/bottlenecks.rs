//! Whether every subflow seems to have a bottleneck after a pass: the quick half of the stop rule.
//!
//! It reckons with the pairs and the free capacity that the pass left, so it costs a fraction of a pass. It overlooks
//! each subflow with no more than `tolerance` of its connection's rate, which is what shrinks for ever: how little that must
//! be beside others is for [`crate::certify()`] to say, which has the last word before the solver stops.

use super::CSlen;

impl CSlen {
    /// Level of a connection: its rate by weight.
    fn level(&self, c: usize) -> f64 {
        self.outcome.totals[c] / self.problem.weight(c)
    }

    /// On each link the greatest level of a connection with a subflow there of more than `tolerance` of its rate.
    pub(super) fn top_levels(&self, tolerance: f64) -> Vec<f64> {
        let mut top = vec![0.0f64; self.problem.links()];
        for group in 0..self.incidence.groups() {
            let c = self.incidence.connection_of(group);
            let level = self.level(c);
            if level <= 0.0 {
                continue;
            }
            let least = tolerance * self.outcome.totals[c];
            let rates = self.outcome.rates[self.incidence.paths_of(group)].iter().enumerate();
            let counted = rates.fold(0, |word, (bit, &rate)| word | u32::from(rate > least) << bit);
            for pair in self.incidence.watched(group).iter().chain(self.incidence.unwatched(group)) {
                let link = pair.link as usize;
                if level > top[link] && pair.mask & counted != 0 {
                    top[link] = level;
                }
            }
        }
        top
    }

    fn has_its_demand(&self, c: usize, tolerance: f64) -> bool {
        self.outcome.totals[c] >= self.problem.demand(c) * (1.0 - tolerance)
    }

    /// How far `link` is from a bottleneck for a connection of this level: the larger of its relative slack and the
    /// relative excess of the link's top level over the connection's.
    fn shortfall(&self, link: usize, level: f64, top: f64) -> f64 {
        let capacity = self.problem.capacity(link);
        let slack = if capacity > 0.0 { self.free[link] / capacity } else { 0.0 };
        let excess = if top > level { 1.0 - level / top } else { 0.0 };
        slack.max(excess)
    }

    /// The subflows of a group that have a bottleneck to the tolerance, a bit each, as far as the pass can tell.
    pub(super) fn held(&self, group: usize, tops: &[f64], tolerance: f64) -> u32 {
        let c = self.incidence.connection_of(group);
        if self.has_its_demand(c, tolerance) {
            return u32::MAX;
        }
        let level = self.level(c);
        self.incidence.watched(group).iter().chain(self.incidence.unwatched(group)).fold(0, |held, pair| {
            let link = pair.link as usize;
            let holds = self.shortfall(link, level, tops[link]) <= tolerance;
            if holds { held | pair.mask } else { held }
        })
    }

    /// Whether every subflow has a bottleneck to the tolerance, as far as the pass can tell.
    pub(super) fn seems_certified(&self, tops: &[f64], tolerance: f64) -> bool {
        (0..self.incidence.groups()).all(|group| {
            let paths = self.incidence.paths_of(group).len();
            self.held(group, tops, tolerance).trailing_ones() as usize >= paths
        })
    }
}
