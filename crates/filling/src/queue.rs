//! A queue of links in the order of the levels at which they were last known to saturate.
//!
//! Levels only rise, so links with high levels need no order: links lie in bins by level, and only those of the first
//! bin are ordered. When a bin comes first, most of its links have risen into another bin, and move there in a few
//! steps. A heap of all links would keep them all in order, at several times the cost.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

/// Number of bins at a time, for levels up to 2^16 times the first.
const BINS: usize = 2048;

/// Bits of a level that do not choose its bin; the levels of a bin differ by less than a hundredth.
const WITHIN: u32 = 52 - 7;

/// Marks the end of a chain.
const NONE: u32 = u32::MAX;

/// A queue of links; the link with the lowest level comes first, and among equal levels the one with the lowest number.
#[derive(Clone, Debug, Default)]
pub struct Queue {
    /// The links of bins up to `open`, in order. Levels are stored as bits, which have the same order for values of 0
    /// and more.
    near: BinaryHeap<Reverse<(u64, u32)>>,
    open: u64,
    /// The chains of links: the first link of each bin from `base` on, then of all bins beyond; the next link of each
    /// link.
    base: u64,
    firsts: Vec<u32>,
    nexts: Vec<u32>,
    /// Level of each link when it was added to a chain.
    levels: Vec<f64>,
    /// Number of links in chains.
    far: usize,
}

impl Queue {
    /// Starts again with all links, at these levels; links of infinite level are left out.
    pub fn refill(&mut self, levels: impl Iterator<Item = f64>) {
        self.near.clear();
        self.levels.clear();
        self.levels.extend(levels);
        self.nexts.clear();
        self.nexts.resize(self.levels.len(), NONE);
        self.firsts.clear();
        self.firsts.resize(BINS + 1, NONE);
        let least = self.levels.iter().copied().fold(f64::INFINITY, f64::min);
        (self.base, self.open, self.far) = (bin(least), bin(least), 0);
        for link in 0..self.levels.len() {
            self.put(link as u32, self.levels[link]);
        }
    }

    /// The first link, and its last known level. The levels of links in the first bin are computed anew by `level`.
    pub fn first(&mut self, mut level: impl FnMut(usize) -> f64) -> Option<(f64, usize)> {
        while self.near.is_empty() && self.far > 0 {
            self.open_next(&mut level);
        }
        self.near.peek().map(|&Reverse((bits, link))| (f64::from_bits(bits), link as usize))
    }

    /// Moves the first link to its place by `level`, or out of the queue if that is infinite.
    pub fn raise_first(&mut self, level: f64) {
        let Some(mut first) = self.near.peek_mut() else { return };
        if bin(level) <= self.open {
            first.0.0 = level.to_bits();
        } else {
            let Reverse((_, link)) = PeekMut::pop(first);
            self.put(link, level);
        }
    }

    fn put(&mut self, link: u32, level: f64) {
        if level == f64::INFINITY {
            return;
        }
        if bin(level) <= self.open {
            self.near.push(Reverse((level.to_bits(), link)));
            return;
        }
        let first = &mut self.firsts[((bin(level) - self.base) as usize).min(BINS)];
        self.nexts[link as usize] = std::mem::replace(first, link);
        self.levels[link as usize] = level;
        self.far += 1;
    }

    /// Takes the links of the next bin that is not empty.
    fn open_next(&mut self, level: &mut impl FnMut(usize) -> f64) {
        let from = (self.open + 1 - self.base) as usize;
        let place = (from..=BINS).find(|&place| self.firsts[place] != NONE).expect("far links are in chains");
        let first = std::mem::replace(&mut self.firsts[place], NONE);
        if place < BINS {
            self.open = self.base + place as u64;
        } else {
            // The bins start again, with the lowest level of the links beyond.
            let least = self.chain(first).map(|link| self.levels[link as usize]).fold(f64::INFINITY, f64::min);
            (self.base, self.open) = (bin(least), bin(least));
        }
        let mut next = first;
        while next != NONE {
            let link = next;
            next = self.nexts[link as usize];
            self.far -= 1;
            self.put(link, level(link as usize));
        }
    }

    fn chain(&self, first: u32) -> impl Iterator<Item = u32> + '_ {
        std::iter::successors(Some(first), |&link| Some(self.nexts[link as usize]).filter(|&next| next != NONE))
    }
}

fn bin(level: f64) -> u64 {
    level.to_bits() >> WITHIN
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The first link, if its level has not changed since it was added.
    fn first(queue: &mut Queue) -> Option<(f64, usize)> {
        let levels = queue.levels.clone();
        queue.first(|link| levels[link])
    }

    #[test]
    fn links_come_by_level_and_then_by_number() {
        let mut queue = Queue::default();
        queue.refill([3.0, f64::INFINITY, 1e-90, 3.0, 0.0, 1e90, 3.000_001].into_iter());
        let mut order = Vec::new();
        while let Some((level, link)) = first(&mut queue) {
            order.push((level, link));
            queue.raise_first(f64::INFINITY);
        }
        assert_eq!(order, [(0.0, 4), (1e-90, 2), (3.0, 0), (3.0, 3), (3.000_001, 6), (1e90, 5)]);
    }

    #[test]
    fn a_bin_that_opens_takes_levels_as_they_are_now() {
        let mut queue = Queue::default();
        queue.refill([1.0, 2.0, 3.0].into_iter());
        assert_eq!(queue.first(|_| unreachable!("the first bin is open")), Some((1.0, 0)));
        queue.raise_first(2.5);
        // Link 1 has risen to 4, the others have not.
        assert_eq!(queue.first(|link| [2.5, 4.0, 3.0][link]), Some((2.5, 0)));
    }

    proptest! {
        #[test]
        fn the_first_is_always_the_lowest(
            levels in proptest::collection::vec((-300..300).prop_map(|power| 2f64.powi(power / 3)), 1..40),
            rises in proptest::collection::vec(0..80, 0..200),
        ) {
            let mut queue = Queue::default();
            queue.refill(levels.iter().copied());
            let mut left: Vec<(f64, usize)> = levels.into_iter().zip(0..).collect();
            for rise in rises {
                left.sort_by(|a, b| a.partial_cmp(b).unwrap());
                prop_assert_eq!(first(&mut queue), left.first().copied());
                let Some(lowest) = left.first_mut() else { break };
                // By nothing up to a millionfold; or out of it.
                lowest.0 *= 1.0 + 2f64.powi(rise - 60);
                queue.raise_first(if rise == 79 { f64::INFINITY } else { lowest.0 });
                if rise == 79 {
                    left.remove(0);
                }
            }
        }
    }
}
