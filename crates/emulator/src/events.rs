//! What will happen, in the order of time; at one time, in the order in which it was foreseen.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A packet arrives at the far end of a link.
    Arrive(u32),
    /// A link with a queue discipline is free.
    Free(u32),
    /// Such a link has an opportunity to send.
    Opportunity(u32),
    /// It is to be seen how all is.
    Sample,
}

/// All that is foreseen.
#[derive(Debug, Default)]
pub struct Events {
    heap: BinaryHeap<Reverse<(u64, u64, Kind)>>,
    count: u64,
}

impl Events {
    /// Foresees something at a time.
    pub fn schedule(&mut self, time: u64, kind: Kind) {
        self.count += 1;
        self.heap.push(Reverse((time, self.count, kind)));
    }

    /// When the next is.
    pub fn next_at(&self) -> Option<u64> {
        self.heap.peek().map(|Reverse((time, ..))| *time)
    }

    /// The next that is no later than a time.
    pub fn pop(&mut self, until: u64) -> Option<(u64, Kind)> {
        self.next_at().filter(|&time| time <= until)?;
        self.heap.pop().map(|Reverse((time, _, kind))| (time, kind))
    }
}
