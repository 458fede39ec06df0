//! First-in first-out queues within the limits of a link, with a rule that marks packets on arrival.

use anabranch_core::{Bytes, Rate, Time};

use super::discipline::{Discipline, Item, Limits};
use super::fifo::Fifo;

/// A rule that marks packets on arrival.
pub(super) trait Rule: Send {
    /// Marks an arriving packet, or leaves it unchanged, depending on the packets before it.
    fn mark(&mut self, item: &mut Item, waiting: &Fifo);
}

/// A queue that drops only packets for which there is no room.
pub(super) struct Marking<R> {
    rule: R,
    limits: Limits,
    fifo: Fifo,
}

impl<R: Rule> Marking<R> {
    /// An empty queue.
    pub(super) fn new(rule: R, limits: Limits) -> Self {
        Self { rule, limits, fifo: Fifo::default() }
    }
}

impl<R: Rule> Discipline for Marking<R> {
    fn enqueue(&mut self, now: Time, mut item: Item, _: Rate, dropped: &mut Vec<Item>) {
        self.rule.mark(&mut item, &self.fifo);
        self.fifo.push_within(now, item, &self.limits, dropped);
    }

    fn dequeue(&mut self, _: Time, _: Rate, _: &mut Vec<Item>) -> Option<Item> {
        self.fifo.pop()
    }

    fn backlog(&self) -> Bytes {
        Bytes(self.fifo.bytes())
    }

    fn len(&self) -> usize {
        self.fifo.len()
    }
}
