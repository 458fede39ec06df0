//! Sorting of the events of a slot: most slots have them spread evenly, so that dividing the slot leaves little to do.

use super::Event;

/// The memory that sorting needs, kept so that it is not allocated anew for each slot.
#[derive(Default)]
pub(super) struct Sorter {
    ends: Vec<u32>,
    sorted: Vec<Event>,
}

impl Sorter {
    /// The number of events in one part of the slot, or in the whole slot, with which a comparison sort is as good.
    const CROWD: u32 = 32;

    /// Sorts events with times in the `2^shift` picoseconds from `start` on.
    pub(super) fn sort(&mut self, events: &mut Vec<Event>, start: u64, shift: u32) {
        if events.len() <= Self::CROWD as usize {
            return events.sort_unstable_by_key(Event::order);
        }
        let bits = events.len().ilog2().min(shift);
        let part = |event: &Event| ((event.time - start) >> (shift - bits)) as usize;
        self.ends.clear();
        self.ends.resize(1 << bits, 0);
        for event in events.iter() {
            self.ends[part(event)] += 1;
        }
        let (mut end, mut largest) = (0, 0);
        for count in &mut self.ends {
            largest = largest.max(*count);
            end += *count;
            *count = end;
        }
        if largest > Self::CROWD {
            return events.sort_unstable_by_key(Event::order);
        }
        self.sorted.clear();
        self.sorted.extend_from_slice(events);
        for event in events.iter() {
            let end = &mut self.ends[part(event)];
            *end -= 1;
            self.sorted[*end as usize] = *event;
        }
        std::mem::swap(events, &mut self.sorted);
        sort_nearly_sorted(events);
    }
}

/// Sorts by insertion.
fn sort_nearly_sorted(events: &mut [Event]) {
    for i in 1..events.len() {
        let event = events[i];
        let mut place = i;
        while place > 0 && event.order() < events[place - 1].order() {
            events[place] = events[place - 1];
            place -= 1;
        }
        events[place] = event;
    }
}
