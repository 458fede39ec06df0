//! Future events in the order of time; events at one time are in the order of scheduling.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A packet arrives at the far end of a link.
    Arrive(u32),
    /// A link with a queue discipline becomes free.
    Free(u32),
    /// A link with a queue discipline has an opportunity to send.
    Opportunity(u32),
    /// A sample is due.
    Sample,
}

/// All future events.
#[derive(Debug, Default)]
pub struct Events {
    heap: BinaryHeap<Reverse<(u64, u64, Kind)>>,
    count: u64,
}

impl Events {
    /// Schedules an event at a time.
    pub fn schedule(&mut self, time: u64, kind: Kind) {
        self.count += 1;
        self.heap.push(Reverse((time, self.count, kind)));
    }

    /// The time of the next event.
    pub fn next_at(&self) -> Option<u64> {
        self.heap.peek().map(|Reverse((time, ..))| *time)
    }

    /// Removes the next event that is due at `until` or earlier.
    pub fn pop(&mut self, until: u64) -> Option<(u64, Kind)> {
        self.next_at().filter(|&time| time <= until)?;
        self.heap.pop().map(|Reverse((time, _, kind))| (time, kind))
    }
}
