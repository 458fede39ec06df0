//! The calendar of events: a wheel of time slots, each sorted when it comes up.
//!
//! Slots are wide enough for some hundred events each. Then sorting is cheap, the events of a slot are known together
//! (so that the values they need can be fetched early), and no heap grows with the packets in flight. Events for the
//! slot that is open go to a small heap; if that grows, slots become narrower at once. Events beyond the wheel wait by
//! turns of the wheel. The width follows the traffic and changes only the speed: events are served by time, then key,
//! whatever it is.

mod pool;
mod sort;

use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BinaryHeap};

use pool::{EMPTY, Pool, Slot};
use sort::Sorter;

/// The number of slots of the wheel.
const SLOTS: u64 = 4096;
/// The number of slots in use that the width aims at. More would not stay in the cache of the processor, and fewer
/// would take long to sort.
const AIM: u64 = 1024;
/// The fewest and the most events in a slot that the width aims at.
const FILL: (u64, u64) = (128, 4096);
/// The factor by which the mean of events in a slot must miss the aim for the width to change.
const SLACK: u64 = 3;
/// The factor by which the events that came into the open slot must exceed the aim for slots to become narrower.
const CROWD: u64 = 8;
/// The number of events, or of slots, over which the mean is taken.
const SPELL: u64 = 1 << 16;
/// The least and the greatest binary logarithm of the width in picoseconds: a nanosecond and 17 seconds.
const SHIFTS: (u32, u32) = (10, 44);

/// An event at a time. Events are sorted by time, then key, then packet. Only packets that a link delays at random can
/// arrive over the same link at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Its time in picoseconds.
    pub time: u64,
    /// The kind of the event and the number of its object.
    pub key: u32,
    /// The index of the packet, for events of packets.
    pub packet: u32,
}

impl Event {
    /// The number that events are sorted by.
    #[inline]
    pub(super) fn order(&self) -> u128 {
        u128::from(self.time) << 64 | u128::from(self.key) << 32 | u128::from(self.packet)
    }
}

impl Ord for Event {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        self.order().cmp(&other.order())
    }
}

impl PartialOrd for Event {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// All events to come.
pub struct Calendar {
    /// The binary logarithm of the width of slots in picoseconds.
    shift: u32,
    slots: Vec<Slot>,
    pool: Pool,
    /// For each slot a bit that says whether it has events.
    occupied: Vec<u64>,
    /// The number of the slot that is open; slot n has the times from `(n - 1) << shift`.
    current: u64,
    /// The events of the open slot, sorted.
    open: Vec<Event>,
    /// The number of events of the open slot that are served.
    served: usize,
    sorter: Sorter,
    /// The time in picoseconds of the event that was served last.
    last: u64,
    /// Events that came into the slot after it was opened.
    late: BinaryHeap<Reverse<Event>>,
    /// Events beyond the wheel, by the turn of the wheel.
    far: BTreeMap<u64, Vec<Event>>,
    /// The number of events to come.
    pending: u64,
    /// The number of events served since the width was last adjusted.
    events: u64,
    /// The number of slots opened since the width was last adjusted.
    opened: u64,
}

impl Default for Calendar {
    fn default() -> Self {
        Self {
            shift: 30,
            slots: vec![EMPTY; SLOTS as usize],
            pool: Pool::default(),
            occupied: vec![0; SLOTS as usize / 64],
            current: 0,
            open: Vec::new(),
            served: 0,
            last: 0,
            sorter: Sorter::default(),
            late: BinaryHeap::new(),
            far: BTreeMap::new(),
            pending: 0,
            events: 0,
            opened: 0,
        }
    }
}

impl Calendar {
    /// Adds an event, which must not be earlier than the one that was served last.
    #[inline]
    pub fn push(&mut self, event: Event) {
        self.pending += 1;
        self.put(event);
    }

    #[inline]
    fn put(&mut self, event: Event) {
        let slot = (event.time >> self.shift) + 1;
        if slot <= self.current {
            self.late.push(Reverse(event));
            if self.late.len() as u64 > CROWD * FILL.0 {
                self.divide();
            }
        } else if slot - self.current <= SLOTS {
            let index = slot % SLOTS;
            if self.pool.push(&mut self.slots[index as usize], event) {
                self.occupied[index as usize / 64] |= 1 << (index % 64);
            }
        } else {
            self.far.entry(slot / SLOTS).or_default().push(event);
        }
    }

    /// Takes out the next event, if its time is before `limit`.
    #[inline]
    pub fn next_before(&mut self, limit: u64) -> Option<Event> {
        loop {
            let ready = self.open.get(self.served).copied();
            let late = self.late.peek().map(|e| e.0);
            match (ready, late) {
                (Some(ready), late) if late.is_none_or(|late| ready < late) => {
                    if ready.time >= limit {
                        return None;
                    }
                    self.served += 1;
                    self.pending -= 1;
                    self.last = ready.time;
                    return Some(ready);
                }
                (_, Some(late)) => {
                    if late.time >= limit {
                        return None;
                    }
                    self.late.pop();
                    self.pending -= 1;
                    self.last = late.time;
                    return Some(late);
                }
                _ => {
                    if !self.open_next() {
                        return None;
                    }
                }
            }
        }
    }

    /// The next event, which stays in the calendar.
    pub fn peek(&mut self) -> Option<Event> {
        loop {
            let ready = self.open.get(self.served).copied();
            let late = self.late.peek().map(|e| e.0);
            match (ready, late) {
                (Some(ready), Some(late)) => return Some(ready.min(late)),
                (None, None) if self.open_next() => {}
                (one, other) => return one.or(other),
            }
        }
    }

    /// The next events of the open slot, at most `count`, once `count` events of the slot have been served since the
    /// last preview; otherwise none.
    pub fn preview(&self, count: usize) -> &[Event] {
        if self.served.is_multiple_of(count) {
            &self.open[self.served..self.open.len().min(self.served + count)]
        } else {
            &[]
        }
    }

    /// Opens the next slot that has events, if there is one.
    fn open_next(&mut self) -> bool {
        self.events += self.open.len() as u64;
        self.opened += 1;
        if self.events >= SPELL || self.opened >= SPELL {
            self.adjust();
        }
        self.open.clear();
        self.served = 0;
        loop {
            let next = self.next_occupied();
            let turn = self.far.first_key_value().map(|(&turn, _)| turn);
            match (next, turn) {
                (Some(slot), turn) if turn.is_none_or(|turn| slot < turn * SLOTS) => {
                    self.current = slot;
                    let index = slot % SLOTS;
                    self.pool.empty(&mut self.slots[index as usize], &mut self.open);
                    self.occupied[index as usize / 64] &= !(1 << (index % 64));
                    self.sorter.sort(&mut self.open, (slot - 1) << self.shift, self.shift);
                    return true;
                }
                (_, Some(turn)) => {
                    self.current = turn * SLOTS - 1;
                    let events = self.far.remove(&turn).expect("it was the first");
                    for event in events {
                        self.put(event);
                    }
                }
                _ => return false,
            }
        }
    }

    /// The next slot of the wheel that has events.
    fn next_occupied(&self) -> Option<u64> {
        let words = self.occupied.len() as u64;
        let start = self.current + 1;
        let first = start % SLOTS;
        // The word of the first slot twice: from its place on, and at the end of the turn up to there.
        for i in 0..=words {
            let word = (first / 64 + i) % words;
            let mut bits = self.occupied[word as usize];
            if i == 0 {
                bits &= u64::MAX << (first % 64);
            } else if i == words {
                bits &= !(u64::MAX << (first % 64));
            }
            if bits != 0 {
                let index = word * 64 + u64::from(bits.trailing_zeros());
                return Some(start + (index + SLOTS - first) % SLOTS);
            }
        }
        None
    }

    /// The number of events that a slot should have.
    fn aim(&self) -> u64 {
        (self.pending / AIM).clamp(FILL.0, FILL.1)
    }

    /// Makes slots wider or narrower if too few or too many events fall into one; the open slot is empty.
    fn adjust(&mut self) {
        let mean = (self.events / self.opened).max(1);
        let aim = self.aim();
        (self.events, self.opened) = (0, 0);
        if mean > SLACK * aim {
            self.set_shift(self.shift.saturating_sub((mean / aim).ilog2()).max(SHIFTS.0));
        } else if SLACK * mean < aim {
            self.set_shift((self.shift + (aim / mean).ilog2()).min(SHIFTS.1));
        }
    }

    /// Makes slots narrower if too many events have come into the open one.
    #[cold]
    fn divide(&mut self) {
        let (late, aim) = (self.late.len() as u64, self.aim());
        if late > CROWD * aim && self.shift > SHIFTS.0 {
            (self.events, self.opened) = (0, 0);
            self.set_shift(self.shift.saturating_sub((late / aim).ilog2()).max(SHIFTS.0));
        }
    }

    fn set_shift(&mut self, shift: u32) {
        if shift == self.shift {
            return;
        }
        let mut events: Vec<Event> = std::mem::take(&mut self.far).into_values().flatten().collect();
        for slot in &mut self.slots {
            self.pool.empty(slot, &mut events);
        }
        events.extend(self.open.drain(self.served..));
        events.extend(self.late.drain().map(|late| late.0));
        self.open.clear();
        self.served = 0;
        self.occupied.fill(0);
        self.shift = shift;
        // One before the slot of the present, so that what is still to come in it goes there.
        self.current = self.last >> shift;
        for event in events {
            self.put(event);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn event(time: u64, key: u32) -> Event {
        Event { time, key, packet: 0 }
    }

    #[test]
    fn events_come_by_time_then_key() {
        let mut calendar = Calendar::default();
        for (time, key) in [(5, 1), (1 << 50, 0), (5, 0), (3, 9), (u64::MAX / 2, 3)] {
            calendar.push(event(time, key));
        }
        let order: Vec<_> = std::iter::from_fn(|| calendar.next_before(u64::MAX)).map(|e| (e.time, e.key)).collect();
        assert_eq!(order, [(3, 9), (5, 0), (5, 1), (1 << 50, 0), (u64::MAX / 2, 3)]);
    }

    #[test]
    fn the_order_holds_while_the_width_changes() {
        // Each event makes another one later, at gaps from 1 ps to 2^40 ps, so that slots turn out too wide and too narrow.
        let mut calendar = Calendar::default();
        (0..3000).for_each(|key| calendar.push(event(u64::from(key), key)));
        let (mut last, mut state) = (event(0, 0), 1u64);
        for i in 0..600_000u64 {
            let next = calendar.next_before(u64::MAX).unwrap();
            assert!(last <= next, "{last:?} came before {next:?}");
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let spread = if i < 300_000 { 20 } else { 40 };
            calendar.push(event(next.time + 1 + (state >> 20) % (1 << spread), next.key));
            last = next;
        }
        assert_eq!(std::iter::from_fn(|| calendar.next_before(u64::MAX)).count(), 3000);
    }

    #[test]
    fn a_crowd_that_comes_into_the_open_slot_makes_slots_narrower() {
        // The first slot is 2^30 ps wide. Each of 1,000 events makes 20 more in it.
        let mut calendar = Calendar::default();
        (0..1000).for_each(|key| calendar.push(event(u64::from(key), key)));
        let (mut last, mut state) = (event(0, 0), 1u64);
        for i in 0..21_000 {
            let next = calendar.next_before(u64::MAX).unwrap();
            assert!(last <= next && calendar.late.len() as u64 <= CROWD * FILL.0 + 20, "{}", calendar.late.len());
            for _ in 0..if i < 1000 { 20 } else { 0 } {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                calendar.push(event(1000 + (state >> 20) % (1 << 29), i));
            }
            last = next;
        }
        assert!(calendar.next_before(u64::MAX).is_none() && calendar.shift < 30);
    }

    proptest! {
        #[test]
        fn any_events_come_in_order(events in prop::collection::vec((0..1u64 << 60, 0..4u32), 1..300), later in 0..1u64 << 50) {
            let mut calendar = Calendar::default();
            let mut expected = Vec::new();
            for &(time, key) in &events {
                calendar.push(event(time, key));
                expected.push((time, key));
            }
            let mut got = Vec::new();
            while let Some(next) = calendar.next_before(u64::MAX) {
                got.push((next.time, next.key));
                if got.len() % 3 == 0 && got.len() < 200 {
                    calendar.push(event(next.time + later, 9));
                    expected.push((next.time + later, 9));
                }
            }
            expected.sort_unstable();
            prop_assert_eq!(got, expected);
        }
    }
}
