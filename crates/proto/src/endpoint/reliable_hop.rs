//! Reliable delivery over one hop that may lose, repeat or reorder packets: each packet is passed on exactly once.
//!
//! Links of an explicit-rate protocol keep sums over packets, each of which reports only a change. One packet lost or
//! counted twice would leave the sums wrong for ever. So each hop numbers its control packets, keeps each until the
//! next node has acknowledged its number, and sends it again after a timeout. The receiver passes on packets that it
//! has not seen before. Order among packets of different subflows does not matter, and a subflow has one packet in
//! flight at a time; so a lost packet delays no other.
//!
//! The timeout is 1.25 times the recent time from a frame to its acknowledgement, taken from frames that were sent
//! once, and no less than at the beginning. It doubles for a packet each time that the packet is sent again, up to
//! eight times the first value.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, VecDeque};

use anabranch_core::{Span, Time};

/// The most times that the timeout doubles.
const MOST_DOUBLINGS: u32 = 3;

/// A frame that crosses the hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame<T> {
    /// A packet with its number.
    Packet {
        /// Number of the packet, counted from 0.
        number: u64,
        /// The packet.
        packet: T,
    },
    /// Acknowledgement, in the opposite direction, that a packet has arrived.
    Acknowledgement {
        /// Number of the packet that has arrived.
        number: u64,
    },
}

/// A packet that is not acknowledged.
#[derive(Clone, Debug)]
struct Kept<T> {
    packet: T,
    sent: Time,
    /// Number of times that the packet was sent again.
    repeats: u32,
    deadline: Time,
}

/// The sending end of a hop.
#[derive(Clone, Debug)]
pub struct HopSender<T> {
    /// Packets from number `first` on; `None` for those that have arrived.
    kept: VecDeque<Option<Kept<T>>>,
    first: u64,
    /// Deadlines of kept packets with their numbers, and of some packets that have arrived; the first belongs to a kept
    /// packet.
    deadlines: BinaryHeap<Reverse<(Time, u64)>>,
    least_wait: Span,
    wait: Span,
}

impl<T: Clone> HopSender<T> {
    /// Creates a sender that has sent nothing; `wait` is the least timeout, more than 0.
    pub fn new(wait: Span) -> Self {
        let wait = Span(wait.0.max(1));
        Self { kept: VecDeque::new(), first: 0, deadlines: BinaryHeap::new(), least_wait: wait, wait }
    }

    /// Takes ownership of a packet and returns the frame to send.
    pub fn send(&mut self, now: Time, packet: T) -> Frame<T> {
        let (number, deadline) = (self.first + self.kept.len() as u64, later(now, self.wait.0));
        self.kept.push_back(Some(Kept { packet: packet.clone(), sent: now, repeats: 0, deadline }));
        self.deadlines.push(Reverse((deadline, number)));
        Frame::Packet { number, packet }
    }

    /// Processes an acknowledgement.
    pub fn on_acknowledgement(&mut self, now: Time, number: u64) {
        let Some(place) = number.checked_sub(self.first) else { return };
        let Some(kept) = self.kept.get_mut(place as usize).and_then(Option::take) else { return };
        if kept.repeats == 0 {
            // Falls by an eighth each time, so that one late acknowledgement is not remembered for ever.
            let lately = self.wait.0 - self.wait.0 / 8;
            let took = (now - kept.sent).0;
            self.wait = Span(took.saturating_add(took / 4).max(lately).max(self.least_wait.0));
        }
        while let Some(None) = self.kept.front() {
            self.kept.pop_front();
            self.first += 1;
        }
        self.forget_arrived();
    }

    /// Removes deadlines of packets that have arrived from the front.
    fn forget_arrived(&mut self) {
        while let Some(&Reverse((_, number))) = self.deadlines.peek() {
            let kept = number.checked_sub(self.first).and_then(|place| self.kept[place as usize].as_ref());
            if kept.is_some() {
                break;
            }
            self.deadlines.pop();
        }
    }

    /// Time at which [`Self::on_deadline`] is to be called, if nothing arrives before.
    pub fn deadline(&self) -> Option<Time> {
        self.deadlines.peek().map(|Reverse((deadline, _))| *deadline)
    }

    /// Deadline of the packet that was sent last, unless that packet has arrived; other packets may have later
    /// deadlines.
    pub fn last_deadline(&self) -> Option<Time> {
        self.kept.back()?.as_ref().map(|kept| kept.deadline)
    }

    /// Returns a frame to send again if one is due; to be called at a deadline until it returns `None`.
    pub fn on_deadline(&mut self, now: Time) -> Option<Frame<T>> {
        let &Reverse((_, number)) = self.deadlines.peek().filter(|Reverse((deadline, _))| *deadline <= now)?;
        self.deadlines.pop();
        let kept = self.kept[(number - self.first) as usize].as_mut().expect("what has a deadline is kept");
        kept.repeats = kept.repeats.saturating_add(1);
        kept.deadline = later(now, self.wait.0.saturating_mul(1 << kept.repeats.min(MOST_DOUBLINGS)));
        let (deadline, packet) = (kept.deadline, kept.packet.clone());
        self.deadlines.push(Reverse((deadline, number)));
        self.forget_arrived();
        Some(Frame::Packet { number, packet })
    }

    /// Number of packets that are not acknowledged.
    pub fn kept(&self) -> usize {
        self.kept.iter().flatten().count()
    }
}

fn later(now: Time, wait: u64) -> Time {
    Time(now.0.saturating_add(wait.max(1)))
}

/// The receiving end of a hop.
#[derive(Clone, Debug, Default)]
pub struct HopReceiver {
    /// All packets with a number less than this one have arrived, and so have the packets of the numbers below.
    next: u64,
    early: BTreeSet<u64>,
}

impl HopReceiver {
    /// Records the number of a packet; true if the packet is new and must be passed on.
    pub fn on_packet(&mut self, number: u64) -> bool {
        let is_new = number >= self.next && self.early.insert(number);
        while self.early.remove(&self.next) {
            self.next += 1;
        }
        is_new
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
        assert_eq!((number, sender.deadline(), sender.last_deadline()), (0, Some(Time(100)), Some(Time(100))));
        assert_eq!(sender.on_deadline(Time(100)), Some(Frame::Packet { number: 0, packet: 'a' }));
        assert_eq!(sender.on_deadline(Time(100)), None);
        // The second wait is twice as long.
        assert_eq!(sender.deadline(), Some(Time(300)));
        sender.on_acknowledgement(Time(150), 0);
        assert_eq!((sender.kept(), sender.deadline(), sender.last_deadline()), (0, None, None));
    }

    #[test]
    fn packets_are_handed_on_once_and_hold_up_no_other() {
        let mut receiver = HopReceiver::default();
        assert_eq!([1, 0, 0, 1, 2].map(|number| receiver.on_packet(number)), [true, true, false, false, true]);
    }

    proptest! {
        /// Whatever the hop does to its frames, everything arrives once as long as some get through.
        #[test]
        fn everything_arrives_over_a_hop_that_loses_repeats_and_reorders(fates in prop::collection::vec(0..5u8, 200..400)) {
            let mut sender = HopSender::new(WAIT);
            let mut receiver = HopReceiver::default();
            let mut under_way: VecDeque<Frame<u32>> = (0..20).map(|p| sender.send(Time(0), p)).collect();
            let (mut got, mut now) = (Vec::new(), 0);
            for fate in fates.into_iter().chain([4; 4000]) {
                now += 50;
                while let Some(frame) = sender.on_deadline(Time(now)) {
                    under_way.push_back(frame);
                }
                let earliest = sender.kept.iter().flatten().map(|kept| kept.deadline).min();
                prop_assert_eq!(sender.deadline(), earliest);
                let Some(frame) = under_way.pop_front() else { continue };
                match fate {
                    0 => continue,
                    1 => under_way.push_back(frame),
                    2 => { under_way.push_back(frame); continue }
                    _ => {}
                }
                match frame {
                    Frame::Packet { number, packet } => {
                        got.extend(receiver.on_packet(number).then_some(packet));
                        under_way.push_back(Frame::Acknowledgement { number });
                    }
                    Frame::Acknowledgement { number } => sender.on_acknowledgement(Time(now), number),
                }
            }
            got.sort_unstable();
            prop_assert_eq!(got, (0..20).collect::<Vec<u32>>());
            prop_assert_eq!(sender.kept(), 0);
        }
    }
}
