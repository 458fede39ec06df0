//! Reliable delivery in order over one hop that may lose, repeat or reorder packets.
//!
//! Links of an explicit-rate protocol keep sums over packets that each say only what has changed; one packet lost, repeated
//! or overtaken would leave them wrong for ever. So each hop numbers its control packets, keeps them until the next node
//! has acknowledged them, sends the oldest again when that takes too long, and hands them on once and in order. What the
//! protocol sees is a hop that only delays.
//!
//! The wait is a quarter more than what acknowledgements of frames that were sent once took lately, and no less than at
//! the beginning. It doubles with every time it passes in vain, up to eight times, and starts anew with every
//! acknowledgement.

use std::collections::{BTreeMap, VecDeque};

use anabranch_core::{Span, Time};

/// How often the wait may double.
const MOST_DOUBLINGS: u32 = 3;

/// What goes over the hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame<T> {
    /// A packet with its number.
    Packet {
        /// Counted from 0.
        number: u64,
        /// What is carried.
        packet: T,
    },
    /// On the way back: all packets before this number have arrived.
    Acknowledgement {
        /// The number that is waited for.
        next: u64,
    },
}

/// The near end of a hop.
#[derive(Clone, Debug)]
pub struct HopSender<T> {
    /// Packets not yet acknowledged, the oldest of them number `first`; and when each was sent, unless more than once.
    kept: VecDeque<(T, Option<Time>)>,
    first: u64,
    least_wait: Span,
    wait: Span,
    doublings: u32,
    deadline: Option<Time>,
}

impl<T: Copy> HopSender<T> {
    /// Nothing sent; `wait` is how long an acknowledgement may take at the least, more than 0.
    pub fn new(wait: Span) -> Self {
        let wait = Span(wait.0.max(1));
        Self { kept: VecDeque::new(), first: 0, least_wait: wait, wait, doublings: 0, deadline: None }
    }

    /// Takes a packet over and gives the frame to send.
    pub fn send(&mut self, now: Time, packet: T) -> Frame<T> {
        self.kept.push_back((packet, Some(now)));
        if self.deadline.is_none() {
            self.start(now);
        }
        Frame::Packet { number: self.first + self.kept.len() as u64 - 1, packet }
    }

    /// Takes an acknowledgement in.
    pub fn on_acknowledgement(&mut self, now: Time, next: u64) {
        let before = self.first;
        // If one of them was sent again, the others may have waited for it.
        let mut oldest = Some(now);
        while self.first < next
            && let Some((_, sent)) = self.kept.pop_front()
        {
            self.first += 1;
            oldest = oldest.and_then(|oldest| sent.map(|sent| oldest.min(sent)));
        }
        if self.first > before {
            if let Some(sent) = oldest {
                // Falls by an eighth each time, so that one late acknowledgement is not remembered for ever.
                let lately = self.wait.0 - self.wait.0 / 8;
                let took = (now - sent).0;
                self.wait = Span(took.saturating_add(took / 4).max(lately).max(self.least_wait.0));
            }
            self.doublings = 0;
            self.start(now);
        }
    }

    /// When [`Self::on_deadline`] is to be called, if nothing arrives before.
    pub fn deadline(&self) -> Option<Time> {
        self.deadline
    }

    /// The time has come: the frame to send again.
    pub fn on_deadline(&mut self, now: Time) -> Option<Frame<T>> {
        self.doublings = (self.doublings + 1).min(MOST_DOUBLINGS);
        self.start(now);
        let (packet, sent) = self.kept.front_mut()?;
        *sent = None;
        Some(Frame::Packet { number: self.first, packet: *packet })
    }

    /// How many packets are not known to have arrived.
    pub fn kept(&self) -> usize {
        self.kept.len()
    }

    fn start(&mut self, now: Time) {
        let wait = self.wait.0.saturating_mul(1 << self.doublings);
        self.deadline = (!self.kept.is_empty()).then(|| Time(now.0.saturating_add(wait)));
    }
}

/// The far end of a hop.
#[derive(Clone, Debug)]
pub struct HopReceiver<T> {
    next: u64,
    early: BTreeMap<u64, T>,
}

/// What a frame brought.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrived<T> {
    /// Packets that can be handed on now, in order.
    pub packets: Vec<T>,
    /// The number to acknowledge.
    pub next: u64,
}

impl<T> Default for HopReceiver<T> {
    fn default() -> Self {
        Self { next: 0, early: BTreeMap::new() }
    }
}

impl<T: Copy> HopReceiver<T> {
    /// Takes a packet in, which may be early or have been here before.
    pub fn on_packet(&mut self, number: u64, packet: T) -> Arrived<T> {
        if number >= self.next {
            self.early.insert(number, packet);
        }
        let mut packets = Vec::new();
        while let Some(packet) = self.early.remove(&self.next) {
            packets.push(packet);
            self.next += 1;
        }
        Arrived { packets, next: self.next }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const WAIT: Span = Span(100);

    #[test]
    fn a_lost_packet_is_sent_again_when_the_wait_is_over() {
        let mut sender = HopSender::new(WAIT);
        let Frame::Packet { number, .. } = sender.send(Time(0), 'a') else { panic!("it is a packet") };
        assert_eq!((number, sender.deadline()), (0, Some(Time(100))));
        assert_eq!(sender.on_deadline(Time(100)), Some(Frame::Packet { number: 0, packet: 'a' }));
        // The second wait is twice as long.
        assert_eq!(sender.deadline(), Some(Time(300)));
        sender.on_acknowledgement(Time(150), 1);
        assert_eq!((sender.kept(), sender.deadline()), (0, None));
    }

    #[test]
    fn packets_are_handed_on_once_and_in_order() {
        let mut receiver = HopReceiver::default();
        assert_eq!(receiver.on_packet(1, 'b'), Arrived { packets: vec![], next: 0 });
        assert_eq!(receiver.on_packet(0, 'a'), Arrived { packets: vec!['a', 'b'], next: 2 });
        assert_eq!(receiver.on_packet(0, 'a'), Arrived { packets: vec![], next: 2 });
    }

    proptest! {
        /// Whatever the hop does to its frames, everything arrives once and in order as long as some get through.
        #[test]
        fn everything_arrives_over_a_hop_that_loses_repeats_and_reorders(fates in prop::collection::vec(0..5u8, 200..400)) {
            let mut sender = HopSender::new(WAIT);
            let mut receiver = HopReceiver::default();
            let mut under_way: VecDeque<Frame<u32>> = (0..20).map(|p| sender.send(Time(0), p)).collect();
            let (mut got, mut now) = (Vec::new(), 0);
            for fate in fates.into_iter().chain([4; 4000]) {
                now += 50;
                if sender.deadline().is_some_and(|d| d.0 <= now) {
                    under_way.extend(sender.on_deadline(Time(now)));
                }
                let Some(frame) = under_way.pop_front() else { continue };
                match fate {
                    0 => continue,
                    1 => under_way.push_back(frame),
                    2 => { under_way.push_back(frame); continue }
                    _ => {}
                }
                match frame {
                    Frame::Packet { number, packet } => {
                        let arrived = receiver.on_packet(number, packet);
                        got.extend(arrived.packets);
                        under_way.push_back(Frame::Acknowledgement { next: arrived.next });
                    }
                    Frame::Acknowledgement { next } => sender.on_acknowledgement(Time(now), next),
                }
            }
            prop_assert_eq!(got, (0..20).collect::<Vec<u32>>());
            prop_assert_eq!(sender.kept(), 0);
        }
    }
}
