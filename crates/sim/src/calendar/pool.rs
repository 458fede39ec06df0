//! The events of slots, in blocks of one pool: memory grows with the number of events, not with the fullest slots.

use super::Event;

/// The events of a slot.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    /// The block that is being filled; `NONE` for an empty slot.
    block: u32,
    /// The number of events in that block; `BLOCK` for an empty slot.
    filled: u32,
}

/// The number of events in a block.
const BLOCK: usize = 32;
/// The number that stands for no block.
const NONE: u32 = u32::MAX;
pub(super) const EMPTY: Slot = Slot { block: NONE, filled: BLOCK as u32 };

/// The blocks of all slots.
#[derive(Debug, Default)]
pub(super) struct Pool {
    events: Vec<Event>,
    /// For each block the one of the same slot that was filled before it.
    before: Vec<u32>,
    free: Vec<u32>,
}

impl Pool {
    /// Adds an event to a slot. Says whether the slot took a new block, as it does when it was empty.
    #[inline]
    pub(super) fn push(&mut self, slot: &mut Slot, event: Event) -> bool {
        let is_full = slot.filled as usize == BLOCK;
        if is_full {
            let block = self.take();
            self.before[block as usize] = slot.block;
            *slot = Slot { block, filled: 0 };
        }
        self.events[slot.block as usize * BLOCK + slot.filled as usize] = event;
        slot.filled += 1;
        is_full
    }

    fn take(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            let none = Event { time: 0, key: 0, packet: 0 };
            self.events.resize(self.events.len() + BLOCK, none);
            self.before.push(NONE);
            self.before.len() as u32 - 1
        })
    }

    /// Moves the events of a slot to `into`.
    pub(super) fn empty(&mut self, slot: &mut Slot, into: &mut Vec<Event>) {
        let Slot { mut block, mut filled } = std::mem::replace(slot, EMPTY);
        while block != NONE {
            let start = block as usize * BLOCK;
            into.extend_from_slice(&self.events[start..start + filled as usize]);
            self.free.push(block);
            (block, filled) = (self.before[block as usize], BLOCK as u32);
        }
    }
}
