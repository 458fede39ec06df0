//! A quick check after a pass whether every subflow seems to have a bottleneck: the first half of the stop rule.
//!
//! It uses the pairs and the free capacity that the pass left, so it costs a fraction of a pass. It ignores each
//! subflow with at most `tolerance` of its connection's rate, which may shrink forever. [`crate::certify()`] decides
//! how small such a subflow must be relative to others, and has the last word before the solver stops.

use super::CSlen;
use crate::incidence::bits;

impl CSlen {
    /// The level of a connection: its rate divided by its weight.
    fn level(&self, c: usize) -> f64 {
        self.outcome.totals[c] / self.problem.weight(c)
    }

    /// The greatest level on each link of a connection with a subflow there of more than `tolerance` of its rate.
    fn top_levels(&self, tolerance: f64) -> Vec<f64> {
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

    /// The distance of `link` from a bottleneck for a connection of this level: the larger of its relative slack and
    /// the relative excess of the link's top level over the connection's.
    fn shortfall(&self, link: usize, level: f64, top: f64) -> f64 {
        let excess = if top > level { 1.0 - level / top } else { 0.0 };
        self.slack(link).max(excess)
    }

    fn slack(&self, link: usize) -> f64 {
        let capacity = self.problem.capacity(link);
        if capacity > 0.0 { self.free[link] / capacity } else { 0.0 }
    }

    /// The subflows of a group that have a bottleneck within the tolerance, one bit each, as far as the pass can tell.
    fn held(&self, group: usize, tops: &[f64], tolerance: f64) -> u32 {
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

    /// Whether every subflow has a bottleneck within the tolerance, as far as the pass can tell.
    pub(super) fn seems_certified(&self, tolerance: f64) -> bool {
        let tops = self.top_levels(tolerance);
        (0..self.incidence.groups()).all(|group| {
            let paths = self.incidence.paths_of(group).len();
            self.held(group, &tops, tolerance).trailing_ones() as usize >= paths
        })
    }

    /// The least level on each link of a connection with a load there.
    pub(super) fn least_levels(&self) -> Vec<f64> {
        let mut least = vec![f64::INFINITY; self.problem.links()];
        for group in 0..self.incidence.groups() {
            let level = self.level(self.incidence.connection_of(group));
            let carrying = self.carrying(group);
            for pair in self.incidence.watched(group).iter().filter(|pair| pair.mask & carrying != 0) {
                let link = pair.link as usize;
                least[link] = least[link].min(level);
            }
        }
        least
    }

    fn carrying(&self, group: usize) -> u32 {
        let rates = self.outcome.rates[self.incidence.paths_of(group)].iter().enumerate();
        rates.fold(0, |word, (bit, &rate)| word | u32::from(rate > 0.0) << bit)
    }

    /// The subflows of a group over a full link on which the connection has a greater level than another, one bit each.
    pub(super) fn outdoing(&self, group: usize, least: &[f64], tolerance: f64) -> u32 {
        let level = self.level(self.incidence.connection_of(group)) * (1.0 - tolerance);
        let outdoes = |link: usize| least[link] < level && self.slack(link) <= tolerance;
        let pairs = self.incidence.watched(group).iter();
        pairs.filter(|pair| outdoes(pair.link as usize)).fold(0, |word, pair| word | pair.mask)
    }

    /// The subflows among `these` of a group that have a bottleneck, with the whole load of larger connections taken
    /// into account.
    ///
    /// `larger` keeps that load for the links that were looked at.
    pub(super) fn held_exactly(&self, group: usize, these: u32, larger: &mut [Option<Larger>], tolerance: f64) -> u32 {
        let c = self.incidence.connection_of(group);
        if self.has_its_demand(c, tolerance) {
            return these;
        }
        let mut held = 0;
        self.incidence.for_each_watched(group, |pair, coefficient| {
            let link = pair.link as usize;
            if pair.mask & these & !held != 0 && self.slack(link) <= tolerance {
                let larger = larger[link].get_or_insert_with(|| self.larger_on(link));
                let carried = larger.over(self.level(c) / (1.0 - tolerance));
                let own = (coefficient * self.outcome.totals[c]).min(self.problem.capacity(link));
                held |= if carried <= tolerance * own { pair.mask & these } else { 0 };
            }
        });
        held
    }

    fn larger_on(&self, link: usize) -> Larger {
        let mut by_level: Vec<(f64, f64)> = vec![];
        for listed in self.incidence.places_on(link).map(|place| self.incidence.at(place)) {
            let group = listed.group as usize;
            let rates = &self.outcome.rates[self.incidence.paths_of(group)];
            let rate: f64 = bits(listed.mask).map(|bit| rates[bit]).sum();
            let level = self.level(self.incidence.connection_of(group));
            by_level.push((level, rate * self.incidence.coefficient_of(listed)));
        }
        by_level.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
        by_level.iter_mut().fold(0.0, |sum, (_, carried)| {
            *carried += sum;
            *carried
        });
        Larger { by_level }
    }
}

/// The loads of connections on a link, in order of falling level: each with the sum of all before it.
#[derive(Clone)]
pub(super) struct Larger {
    by_level: Vec<(f64, f64)>,
}

impl Larger {
    /// The total load of the connections over a level.
    fn over(&self, level: f64) -> f64 {
        let count = self.by_level.partition_point(|&(other, _)| other > level);
        if count == 0 { 0.0 } else { self.by_level[count - 1].1 }
    }
}
