//! The sink of a connection: puts the stream together, and acknowledges packets on each path.
//!
//! Data in order are read at once. Every `ack_every`-th packet is acknowledged, or the last after `ack_delay`. A packet
//! out of order is acknowledged at once, and so is the first packet with a mark and the first without [rfc5681, sec.
//! 4.2; bensley2017, sec. 3.2].

use anabranch_core::Time;

use super::Settings;
use super::packets::{Ack, NO_RATE, Segment, TOLD};
use super::ranges::Ranges;

/// The sink of a connection.
#[derive(Clone, Debug)]
pub struct Sink {
    data: Ranges,
    paths: Vec<Arrivals>,
}

/// Packets that have arrived on a path.
#[derive(Clone, Copy, Debug, Default)]
struct Arrivals {
    /// One more than the greatest number that has arrived; 0 before the first.
    next: u64,
    /// Bit i says whether packet `next - 1 - i` has arrived.
    seen: u64,
    newest_at: Time,
    marked: u32,
    was_marked: bool,
    /// Packets that are not acknowledged, and the time by which they must be.
    untold: u32,
    due: Option<Time>,
}

impl Sink {
    /// Creates a sink with this number of paths.
    pub fn new(paths: usize) -> Self {
        Self { data: Ranges::default(), paths: vec![Arrivals::default(); paths] }
    }

    /// All data before this offset have arrived.
    pub fn complete(&self) -> u64 {
        self.data.complete()
    }

    /// Bytes that wait for data before them.
    pub fn waiting(&self) -> u64 {
        self.data.waiting()
    }

    /// Reads what a packet needs, so that the processor fetches it early: the first step of two.
    #[doc(hidden)]
    #[inline]
    pub fn prefetch(&self) -> u64 {
        self.data.complete() ^ self.paths.len() as u64
    }

    /// Reads the state of a path that a packet needs, so that the processor fetches it early: the second step of two.
    #[doc(hidden)]
    #[inline]
    pub fn prefetch_at(&self, path: usize) -> u64 {
        self.paths[path].next
    }

    /// Processes a packet. Returns how many of its bytes are new, and an acknowledgement if one is due.
    pub fn on_segment(
        &mut self,
        settings: &Settings,
        now: Time,
        path: usize,
        segment: &Segment,
        is_marked: bool,
    ) -> (u64, Option<Ack>) {
        let new = self.data.add(segment.chunk);
        let arrivals = &mut self.paths[path];
        let has_gap = segment.number != arrivals.next;
        let is_known_new = arrivals.enter(segment.number, now);
        arrivals.marked = arrivals.marked.wrapping_add(u32::from(is_marked && is_known_new));
        let turns = std::mem::replace(&mut arrivals.was_marked, is_marked) != is_marked;
        arrivals.untold += 1;
        if has_gap || turns || arrivals.untold >= settings.ack_every {
            return (new, Some(self.tell(settings, now, path)));
        }
        arrivals.due.get_or_insert(Time(now.0.saturating_add(settings.ack_delay.0)));
        (new, None)
    }

    /// Time at which an acknowledgement on a path is due; `None` if nothing is to be acknowledged.
    pub fn due(&self, path: usize) -> Option<Time> {
        self.paths[path].due
    }

    /// Creates an acknowledgement of all that has arrived on a path.
    pub fn tell(&mut self, settings: &Settings, now: Time, path: usize) -> Ack {
        let complete = self.data.complete();
        let arrivals = &mut self.paths[path];
        arrivals.untold = 0;
        arrivals.due = None;
        let delay = now.0.saturating_sub(arrivals.newest_at.0) / 1000;
        Ack {
            newest: arrivals.next.saturating_sub(1),
            seen: arrivals.seen,
            complete,
            room: settings.buffer,
            marked: arrivals.marked,
            delay_ns: u32::try_from(delay).unwrap_or(u32::MAX),
            onward_bps: NO_RATE,
        }
    }
}

impl Arrivals {
    /// Records a packet; true if it has certainly not arrived before.
    fn enter(&mut self, number: u64, now: Time) -> bool {
        if number >= self.next {
            let steps = number + 1 - self.next;
            self.seen = if steps < TOLD { self.seen << steps } else { 0 } | 1;
            self.next = number + 1;
            self.newest_at = now;
            return true;
        }
        let back = self.next - 1 - number;
        if back >= TOLD {
            return false;
        }
        let is_new = self.seen >> back & 1 == 0;
        self.seen |= 1 << back;
        is_new
    }
}

#[cfg(test)]
mod tests {
    use anabranch_core::{Bytes, Span};

    use super::*;
    use crate::transport::packets::Chunk;

    fn settings() -> Settings {
        Settings { ack_every: 2, ack_delay: Span(40), buffer: 1000, packet: Bytes(10), ..Settings::default() }
    }

    /// Packet `number` with bytes from `offset` on arrives at `now`.
    fn arrive(sink: &mut Sink, now: u64, number: u64, offset: u64, is_marked: bool) -> (u64, Option<Ack>) {
        let segment = Segment { number, chunk: Chunk { offset, bytes: 10 } };
        sink.on_segment(&settings(), Time(now), 0, &segment, is_marked)
    }

    #[test]
    fn every_second_packet_is_acknowledged_or_the_last_after_a_while() {
        let mut sink = Sink::new(1);
        assert_eq!(arrive(&mut sink, 5, 0, 0, false), (10, None));
        assert_eq!(sink.due(0), Some(Time(45)));
        let ack = arrive(&mut sink, 6, 1, 10, false).1.unwrap();
        assert_eq!((ack.newest, ack.seen, ack.complete, ack.room), (1, 0b11, 20, 1000));
        assert_eq!(sink.due(0), None);
        arrive(&mut sink, 9000, 2, 20, false);
        assert_eq!(sink.tell(&settings(), Time(12_000), 0).delay_ns, 3);
    }

    #[test]
    fn a_gap_and_a_change_of_marks_are_told_at_once() {
        let mut sink = Sink::new(1);
        arrive(&mut sink, 0, 0, 0, false);
        let ack = arrive(&mut sink, 1, 3, 30, false).1.unwrap();
        assert_eq!((ack.newest, ack.seen, ack.complete), (3, 0b1001, 10));
        // Out of order.
        assert_eq!(arrive(&mut sink, 2, 1, 10, false).1.unwrap().seen, 0b1101);
        let ack = arrive(&mut sink, 3, 4, 40, true).1.unwrap();
        assert_eq!((ack.marked, ack.newest), (1, 4));
        assert_eq!(arrive(&mut sink, 4, 5, 50, true).1, None);
        assert_eq!(arrive(&mut sink, 5, 6, 60, false).1.unwrap().marked, 2);
    }

    #[test]
    fn what_comes_twice_is_not_new() {
        let mut sink = Sink::new(1);
        arrive(&mut sink, 0, 0, 0, false);
        assert_eq!(arrive(&mut sink, 1, 1, 0, false).0, 0);
        assert_eq!((arrive(&mut sink, 2, 90, 5, false).0, sink.complete()), (5, 15));
        // 90 is far ahead: of those before only the last 63 are told.
        assert_eq!(arrive(&mut sink, 3, 20, 40, false).1.unwrap().seen, 1);
        assert_eq!(sink.waiting(), 10);
    }

    #[test]
    fn a_mark_that_comes_twice_counts_once() {
        let mut sink = Sink::new(1);
        arrive(&mut sink, 0, 0, 0, true);
        arrive(&mut sink, 1, 0, 0, true);
        assert_eq!(sink.tell(&settings(), Time(2), 0).marked, 1);
        arrive(&mut sink, 3, 1, 10, true);
        assert_eq!(sink.tell(&settings(), Time(4), 0).marked, 2);
    }
}
