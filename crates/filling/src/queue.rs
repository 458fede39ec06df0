//! Links in the order of the levels at which they were last known to saturate.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

/// A queue of links; the one of the lowest level comes first, of equal ones that of the lowest number.
#[derive(Clone, Debug, Default)]
pub struct Queue {
    /// Levels as bits, which are in the same order.
    heap: BinaryHeap<Reverse<(u64, u32)>>,
}

impl Queue {
    /// Begins anew with these links; those of infinite level are left out.
    pub fn refill(&mut self, levels: impl Iterator<Item = f64>) {
        let mut room = std::mem::take(&mut self.heap).into_vec();
        room.clear();
        let finite = levels.zip(0..).filter(|(level, _)| level.is_finite());
        room.extend(finite.map(|(level, link)| Reverse((level.to_bits(), link))));
        self.heap = BinaryHeap::from(room);
    }

    /// The first link and its level.
    pub fn first(&self) -> Option<(f64, u32)> {
        self.heap.peek().map(|&Reverse((bits, link))| (f64::from_bits(bits), link))
    }

    /// Moves the first link to where `level` is; out of the queue if that is infinite.
    pub fn raise_first(&mut self, level: f64) {
        let Some(mut first) = self.heap.peek_mut() else { return };
        if level == f64::INFINITY {
            PeekMut::pop(first);
        } else {
            first.0.0 = level.to_bits();
        }
    }
}
