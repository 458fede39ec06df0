//! Packets in flight on a path, and which of them are lost.
//!
//! Every packet has its own number, so an acknowledgement shows exactly which packets have arrived. A packet is lost if
//! the packet `REORDERING` numbers after it, or a later one, has arrived. It is also lost if any later packet has
//! arrived and the packet itself was sent more than 1.125 round trips ago [rfc9002, sec. 6.1].

use std::collections::VecDeque;

use anabranch_core::{Span, Time};

use super::deliveries::Before;
use super::packets::{Ack, Chunk, TOLD};

/// A packet counts as lost once a packet with a number greater by this many has arrived.
pub const REORDERING: u64 = 3;

/// A packet in flight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sent {
    /// Data that the packet carries.
    pub chunk: Chunk,
    /// Whether the packet has arrived while packets before it have not.
    pub has_arrived: bool,
    /// Whether the data were sent a second time over another path.
    pub is_copied: bool,
    /// Time at which the packet was sent.
    pub at: Time,
    /// Deliveries of the path at that time.
    pub before: Before,
}

/// What an acknowledgement newly reports.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct News {
    /// Number of packets that it is the first to acknowledge.
    pub packets: u32,
    /// The newest of these packets, if no later one was acknowledged before.
    pub newest: Option<Sent>,
}

/// Packets of a path, from the oldest that is neither acknowledged nor lost.
#[derive(Clone, Debug, Default)]
pub struct Outstanding {
    /// Number of the oldest packet.
    first: u64,
    packets: VecDeque<Sent>,
    in_flight: u32,
    /// One more than the greatest number that has arrived.
    arrived: u64,
}

impl Sent {
    /// A packet that is sent at time `at`.
    pub fn new(chunk: Chunk, at: Time, before: Before) -> Self {
        Self { chunk, has_arrived: false, is_copied: false, at, before }
    }
}

impl Outstanding {
    /// Number of packets that may still arrive.
    pub fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// Number of the oldest packet that is neither acknowledged nor lost; the number of the next packet if there is
    /// none.
    pub fn first(&self) -> u64 {
        self.first
    }

    /// Number of the next packet.
    pub fn next(&self) -> u64 {
        self.first + self.packets.len() as u64
    }

    /// The oldest packet that is neither acknowledged nor lost.
    pub fn oldest(&self) -> Option<&Sent> {
        self.packets.front()
    }

    /// Packets that may still arrive and whose data were not sent over another path too, oldest first.
    pub fn alone(&mut self) -> impl DoubleEndedIterator<Item = &mut Sent> {
        self.packets.iter_mut().filter(|sent| !sent.has_arrived && !sent.is_copied)
    }

    /// Adds a packet that is sent, and returns its number.
    pub fn push(&mut self, sent: Sent) -> u64 {
        let number = self.next();
        self.packets.push_back(sent);
        self.in_flight += 1;
        number
    }

    /// Corrects the time at which a packet was sent: it left its source at `at`, a little later.
    pub fn left(&mut self, number: u64, at: Time) {
        let place = usize::try_from(number.wrapping_sub(self.first)).ok();
        if let Some(sent) = place.and_then(|place| self.packets.get_mut(place)) {
            sent.at = at;
        }
    }

    /// Processes an acknowledgement.
    pub fn on_ack(&mut self, ack: &Ack) -> News {
        let mut news = News::default();
        if ack.newest >= self.next() || ack.newest < self.first {
            return news;
        }
        let from = self.first.max((ack.newest + 1).saturating_sub(TOLD));
        for number in from..=ack.newest {
            if ack.seen >> (ack.newest - number) & 1 == 0 {
                continue;
            }
            let sent = &mut self.packets[(number - self.first) as usize];
            if !sent.has_arrived {
                sent.has_arrived = true;
                self.in_flight -= 1;
                news.packets += 1;
                if number == ack.newest {
                    news.newest = Some(*sent);
                }
            }
        }
        self.arrived = self.arrived.max(ack.newest + 1);
        self.forget_arrived();
        news
    }

    fn forget_arrived(&mut self) {
        while self.packets.pop_front_if(|sent| sent.has_arrived).is_some() {
            self.first += 1;
        }
    }

    /// Removes the next packet that is lost by now, and returns its number and data; `wait` is how late a packet may
    /// be.
    pub fn next_lost(&mut self, now: Time, wait: Span) -> Option<(u64, Chunk)> {
        let late = self.late_at(wait)?;
        if self.first + REORDERING >= self.arrived && late > now {
            return None;
        }
        let number = self.first;
        let sent = self.packets.pop_front()?;
        self.first += 1;
        self.in_flight -= 1;
        self.forget_arrived();
        Some((number, sent.chunk))
    }

    /// Time at which the oldest packet is lost if it is not acknowledged before; `None` if no later packet has arrived.
    pub fn late_at(&self, wait: Span) -> Option<Time> {
        let oldest = self.packets.front().filter(|_| self.first < self.arrived)?;
        Some(Time(oldest.at.0.saturating_add(wait.0)))
    }

    /// Removes all packets, and returns the data of those that had not arrived, oldest first.
    pub fn give_up(&mut self) -> impl Iterator<Item = Chunk> {
        self.first = self.next();
        self.in_flight = 0;
        std::mem::take(&mut self.packets).into_iter().filter(|sent| !sent.has_arrived).map(|sent| sent.chunk)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::packets::NO_RATE;

    const WAIT: Span = Span(100);

    /// Packets of 10 bytes sent at 0, 1, 2 and so on.
    fn sent(count: u64) -> Outstanding {
        let mut outstanding = Outstanding::default();
        for number in 0..count {
            let chunk = Chunk { offset: 10 * number, bytes: 10 };
            assert_eq!(outstanding.push(Sent::new(chunk, Time(number), Before::default())), number);
        }
        outstanding
    }

    fn ack(newest: u64, seen: u64) -> Ack {
        Ack { newest, seen, complete: 0, room: 0, marked: 0, delay_ns: 0, onward_bps: NO_RATE }
    }

    #[test]
    fn what_is_told_twice_counts_once() {
        let mut out = sent(4);
        let news = out.on_ack(&ack(1, 0b11));
        assert_eq!((news.packets, news.newest.unwrap().at, out.in_flight()), (2, Time(1), 2));
        assert_eq!(out.on_ack(&ack(1, 0b11)), News::default());
        // The next tells of 3 and again of 1.
        let news = out.on_ack(&ack(3, 0b101));
        assert_eq!((news.packets, out.in_flight(), out.oldest().unwrap().at), (1, 1, Time(2)));
        // A packet that was never sent, and one that is long known.
        assert_eq!((out.on_ack(&ack(9, u64::MAX)).packets, out.on_ack(&ack(0, 1)).packets), (0, 0));
    }

    #[test]
    fn three_later_ones_make_a_loss() {
        let mut out = sent(5);
        out.on_ack(&ack(2, 0b110 >> 1));
        // 1 and 2 have arrived, 0 has not: two later ones.
        assert_eq!(out.next_lost(Time(10), WAIT), None);
        out.on_ack(&ack(3, 0b111));
        assert_eq!(out.next_lost(Time(10), WAIT), Some((0, Chunk { offset: 0, bytes: 10 })));
        assert_eq!((out.next_lost(Time(10), WAIT), out.in_flight()), (None, 1));
    }

    #[test]
    fn a_later_one_and_much_time_make_a_loss() {
        let mut out = sent(3);
        assert_eq!(out.late_at(WAIT), None);
        out.on_ack(&ack(1, 0b1));
        assert_eq!(out.late_at(WAIT), Some(Time(100)));
        assert_eq!(out.next_lost(Time(99), WAIT), None);
        assert_eq!(out.next_lost(Time(100), WAIT).unwrap().0, 0);
        // Nothing after 2 has arrived, so only patience helps.
        assert_eq!((out.late_at(WAIT), out.next_lost(Time(1000), WAIT)), (None, None));
        assert_eq!(out.give_up().map(|chunk| chunk.offset).collect::<Vec<_>>(), [20]);
        assert_eq!((out.in_flight(), out.next()), (0, 3));
    }

    #[test]
    fn what_was_given_up_is_no_news_when_it_arrives_after_all() {
        let mut out = sent(3);
        assert_eq!(out.give_up().count(), 3);
        assert_eq!(out.on_ack(&ack(2, 0b111)), News::default());
        assert_eq!(out.push(Sent::new(Chunk { offset: 0, bytes: 10 }, Time(9), Before::default())), 3);
        assert_eq!(out.on_ack(&ack(3, 0b1111)).packets, 1);
    }
}
