//! First-in first-out queues, of which most disciplines are made.

use std::collections::VecDeque;

use anabranch_core::{Span, Time};

use super::discipline::{Item, Limits};

/// Packets in the order of arrival, and the sum of their bytes.
#[derive(Clone, Debug, Default)]
pub(super) struct Fifo {
    items: VecDeque<Item>,
    bytes: u64,
}

impl Fifo {
    /// Puts a packet behind all others.
    pub(super) fn push(&mut self, now: Time, item: Item) {
        self.bytes += u64::from(item.bytes);
        self.items.push_back(Item { arrived: now, ..item });
    }

    /// Puts a packet behind all others if there is room; otherwise drops it.
    pub(super) fn push_within(&mut self, now: Time, item: Item, limits: &Limits, dropped: &mut Vec<Item>) {
        if self.has_room(&item, limits) {
            self.push(now, item);
        } else {
            dropped.push(item);
        }
    }

    /// Whether there is room for one more packet within limits.
    pub(super) fn has_room(&self, item: &Item, limits: &Limits) -> bool {
        limits.allow(self.len() + 1, self.bytes + u64::from(item.bytes))
    }

    /// Removes the first packet.
    pub(super) fn pop(&mut self) -> Option<Item> {
        self.items.pop_front().inspect(|item| self.bytes -= u64::from(item.bytes))
    }

    /// Removes the last packet.
    pub(super) fn pop_last(&mut self) -> Option<Item> {
        self.items.pop_back().inspect(|item| self.bytes -= u64::from(item.bytes))
    }

    /// The first packet.
    pub(super) fn first(&self) -> Option<&Item> {
        self.items.front()
    }

    /// Wait of the first packet; 0 if there is none.
    pub(super) fn wait(&self, now: Time) -> Span {
        self.first().map_or(Span(0), |item| item.wait(now))
    }

    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }
}
