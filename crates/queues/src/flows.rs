//! Queues for all flows that have packets waiting, with quick access to the longest.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use anabranch_core::Time;

use super::discipline::{Item, Limits};
use super::fifo::Fifo;

/// Mixes the bits of a number, always in the same way: the finaliser of SplitMix64 [steele2014].
pub(super) fn mix(number: u64) -> u64 {
    let mut bits = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// Hashes the number of a flow, the same on every machine.
#[derive(Clone, Debug, Default)]
struct Mixed(u64);

impl Hasher for Mixed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = mix(self.0 ^ u64::from(byte));
        }
    }

    fn write_u32(&mut self, number: u32) {
        self.0 = mix(self.0 ^ u64::from(number));
    }
}

/// The number of a queue while it is not empty; afterwards another flow may get the number.
pub(super) type Slot = u32;

const NONE: Slot = Slot::MAX;

/// The queues of all flows that have packets waiting.
///
/// Queues of the same length form a list, so that one of the longest is found at once; [shreedhar1996] drops from the
/// longest.
#[derive(Clone, Debug, Default)]
pub(super) struct Flows {
    slots: HashMap<u32, Slot, BuildHasherDefault<Mixed>>,
    queues: Vec<FlowQueue>,
    free: Vec<Slot>,
    /// For each length in packets, the first queue with that length.
    by_length: Vec<Slot>,
    longest: usize,
    packets: usize,
    bytes: u64,
}

#[derive(Clone, Debug)]
struct FlowQueue {
    flow: u32,
    fifo: Fifo,
    /// The neighbours of a queue among those of its length.
    before: Slot,
    after: Slot,
}

impl Flows {
    /// Puts a packet into the queue of its flow, and drops packets until all are within limits.
    ///
    /// Returns the queue that is no longer empty, if there is one. Packets are dropped at the end of the longest queue,
    /// with preference for that of the packet's flow. So no queue becomes empty, except that the arriving packet may be
    /// refused.
    pub(super) fn push(&mut self, now: Time, item: Item, limits: &Limits, dropped: &mut Vec<Item>) -> Option<Slot> {
        if !limits.allow(1, u64::from(item.bytes)) {
            dropped.push(item);
            return None;
        }
        let slot = self.slot_of(item.flow);
        let was_empty = self.queue(slot).is_empty();
        self.change(slot, |fifo| fifo.push(now, item));
        self.packets += 1;
        self.bytes += u64::from(item.bytes);
        while !limits.allow(self.packets, self.bytes) {
            let longest = if self.longest > 1 { self.by_length[self.longest] } else { slot };
            dropped.extend(self.take(longest, Fifo::pop_last));
        }
        (was_empty && self.slots.get(&item.flow) == Some(&slot)).then_some(slot)
    }

    /// Removes the first packet of a queue.
    pub(super) fn pop(&mut self, slot: Slot) -> Option<Item> {
        self.take(slot, Fifo::pop)
    }

    /// Bytes of the first packet of a queue; `None` if it is empty.
    pub(super) fn next_bytes(&self, slot: Slot) -> Option<u64> {
        self.queue(slot).first().map(|item| u64::from(item.bytes))
    }

    /// Greatest number of queues that ever existed at a time; slots are below it.
    pub(super) fn slots(&self) -> usize {
        self.queues.len()
    }

    pub(super) fn len(&self) -> usize {
        self.packets
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    fn queue(&self, slot: Slot) -> &Fifo {
        &self.queues[slot as usize].fifo
    }

    /// The queue of a flow; empty if the flow had none.
    fn slot_of(&mut self, flow: u32) -> Slot {
        *self.slots.entry(flow).or_insert_with(|| {
            if let Some(slot) = self.free.pop() {
                self.queues[slot as usize].flow = flow;
                return slot;
            }
            self.queues.push(FlowQueue { flow, fifo: Fifo::default(), before: NONE, after: NONE });
            self.queues.len() as Slot - 1
        })
    }

    /// Removes a packet from a queue; with its last packet the flow loses its queue.
    fn take(&mut self, slot: Slot, take: impl FnOnce(&mut Fifo) -> Option<Item>) -> Option<Item> {
        let item = self.change(slot, take)?;
        self.packets -= 1;
        self.bytes -= u64::from(item.bytes);
        if self.queue(slot).is_empty() {
            self.slots.remove(&item.flow);
            self.free.push(slot);
        }
        Some(item)
    }

    /// Changes a queue by one packet, and moves it to the list of its new length.
    fn change<R>(&mut self, slot: Slot, change: impl FnOnce(&mut Fifo) -> R) -> R {
        self.unlink(slot);
        let result = change(&mut self.queues[slot as usize].fifo);
        self.link(slot);
        result
    }

    fn unlink(&mut self, slot: Slot) {
        let FlowQueue { before, after, ref fifo, .. } = self.queues[slot as usize];
        let length = fifo.len();
        if length == 0 {
            return;
        }
        if before == NONE {
            self.by_length[length] = after;
        } else {
            self.queues[before as usize].after = after;
        }
        if after != NONE {
            self.queues[after as usize].before = before;
        }
    }

    fn link(&mut self, slot: Slot) {
        let length = self.queue(slot).len();
        if self.by_length.len() <= length {
            self.by_length.resize(length + 1, NONE);
        }
        self.longest = self.longest.max(length);
        if length > 0 {
            let after = std::mem::replace(&mut self.by_length[length], slot);
            if after != NONE {
                self.queues[after as usize].before = slot;
            }
            let queue = &mut self.queues[slot as usize];
            (queue.before, queue.after) = (NONE, after);
        }
        // The length of one queue changed by one, so the longest is as long as before or one shorter.
        if self.longest > 0 && self.by_length[self.longest] == NONE {
            self.longest -= 1;
        }
    }
}
