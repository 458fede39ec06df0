//! What is under way on a path, and what of it was lost.
//!
//! Every packet has a number of its own, so an acknowledgement says without doubt which have arrived. One is lost if
//! one `REORDERING` or more after it has arrived, or a later one and it was sent an eighth more than a round trip ago
//! [rfc9002, sec. 6.1].

use std::collections::VecDeque;

use anabranch_core::{Span, Time};

use super::deliveries::Before;
use super::packets::{Ack, Chunk, TOLD};

/// So many packets must have overtaken one that is taken for lost.
pub const REORDERING: u64 = 3;

/// A packet under way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sent {
    /// What it carries.
    pub chunk: Chunk,
    /// Whether it has arrived, and waits for those before it.
    pub has_arrived: bool,
    /// Whether it was sent once more over another path.
    pub is_copied: bool,
    /// When it was sent.
    pub at: Time,
    /// What had been delivered on the path by then.
    pub before: Before,
}

/// What an acknowledgement says that was not known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct News {
    /// How many packets it is the first to tell of.
    pub packets: u32,
    /// The newest of them, if it is the newest of all.
    pub newest: Option<Sent>,
}

/// The packets of a path from the first whose fate is not known.
#[derive(Clone, Debug, Default)]
pub struct Outstanding {
    /// The number of the first.
    first: u64,
    packets: VecDeque<Sent>,
    in_flight: u32,
    /// Behind the greatest number that has arrived.
    arrived: u64,
}

impl Sent {
    /// A packet that is sent now.
    pub fn new(chunk: Chunk, at: Time, before: Before) -> Self {
        Self { chunk, has_arrived: false, is_copied: false, at, before }
    }
}

impl Outstanding {
    /// How many may still arrive.
    pub fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// The number of the first whose fate is not known; that of the next packet if there is none.
    pub fn first(&self) -> u64 {
        self.first
    }

    /// The number that the next packet gets.
    pub fn next(&self) -> u64 {
        self.first + self.packets.len() as u64
    }

    /// The first whose fate is not known.
    pub fn oldest(&self) -> Option<&Sent> {
        self.packets.front()
    }

    /// Those that may still arrive, oldest first, without those that were sent once more over another path.
    pub fn alone(&mut self) -> impl DoubleEndedIterator<Item = &mut Sent> {
        self.packets.iter_mut().filter(|sent| !sent.has_arrived && !sent.is_copied)
    }

    /// A packet is sent; gives its number.
    pub fn push(&mut self, sent: Sent) -> u64 {
        let number = self.next();
        self.packets.push_back(sent);
        self.in_flight += 1;
        number
    }

    /// A packet left its source, at a time a little after it was sent.
    pub fn left(&mut self, number: u64, at: Time) {
        let place = usize::try_from(number.wrapping_sub(self.first)).ok();
        if let Some(sent) = place.and_then(|place| self.packets.get_mut(place)) {
            sent.at = at;
        }
    }

    /// Takes an acknowledgement in.
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

    /// Takes out the next packet that is lost by now, with its number; `wait` is how long one may be late.
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

    /// When the oldest packet is lost unless it is told of before; `None` if none after it has arrived.
    pub fn late_at(&self, wait: Span) -> Option<Time> {
        let oldest = self.packets.front().filter(|_| self.first < self.arrived)?;
        Some(Time(oldest.at.0.saturating_add(wait.0)))
    }

    /// Takes out all that may still arrive, oldest first.
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
