//! The packets in flight of a path, numbered anew, since QUIC counts from 0 in each space of the handshake.

use std::collections::VecDeque;

use anabranch_core::Time;
use anabranch_proto::transport::Before;

/// A packet is lost if a packet whose number is greater by this much is acknowledged [rfc9002, sec. 6.1.1], as in the
/// QUIC library.
const LOST_BEFORE: u64 = 3;

/// Number of packets that are searched one by one where packet numbers are not in order, as during the handshake.
const SEARCHED: usize = 64;

/// A packet in flight.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    /// Number of the packet here, counted from 0.
    pub(super) number: u64,
    pub(super) at: Time,
    /// Deliveries of the path when the packet was sent.
    pub(super) before: Before,
}

/// The packets in flight, oldest first.
#[derive(Debug, Default)]
pub(super) struct UnderWay {
    /// Number in QUIC and packet; `None` for packets acknowledged or lost since.
    packets: VecDeque<(u64, Option<Sent>)>,
    /// Number here of the first packet.
    first: u64,
    count: u32,
}

impl UnderWay {
    /// Adds a packet that QUIC has numbered and sent; its number here is [`Self::next`].
    pub(super) fn push(&mut self, quic_number: u64, sent: Sent) {
        self.packets.push_back((quic_number, Some(sent)));
        self.count += 1;
    }

    /// Removes a packet that is acknowledged or lost; `None` if it is not in flight. The time of sending, where it is
    /// known, distinguishes equal numbers of several spaces.
    pub(super) fn take(&mut self, quic_number: u64, at: Option<Time>) -> Option<Sent> {
        let is_it = |(number, sent): &(u64, Option<Sent>)| {
            *number == quic_number && sent.is_some_and(|sent| at.is_none_or(|at| at == sent.at))
        };
        // After the handshake, numbers nearly always have no gaps.
        let first = self.packets.front().map_or(quic_number, |&(number, _)| number);
        let near = usize::try_from(quic_number.wrapping_sub(first)).unwrap_or(usize::MAX);
        let guess = match self.packets.get(near) {
            Some(packet) if is_it(packet) => near,
            _ => self.packets.partition_point(|&(number, _)| number < quic_number),
        };
        let index = if self.packets.get(guess).is_some_and(is_it) {
            guess
        } else {
            self.packets.iter().take(SEARCHED).position(is_it)?
        };
        let taken = self.packets[index].1.take();
        self.count -= 1;
        self.trim();
        taken
    }

    /// Removes packets that the QUIC library has dropped without a report, after its search for losses before
    /// `acknowledged`: lost probes of the path's MTU, and packets of a handshake that is over.
    pub(super) fn forget_before(&mut self, acknowledged: u64) {
        while self.first + LOST_BEFORE <= acknowledged {
            let Some((_, sent)) = self.packets.pop_front() else { return };
            self.first += 1;
            self.count -= u32::from(sent.is_some());
        }
        self.trim();
    }

    fn trim(&mut self) {
        while self.packets.front().is_some_and(|(_, sent)| sent.is_none()) {
            self.packets.pop_front();
            self.first += 1;
        }
    }

    /// Number of packets in flight.
    pub(super) fn count(&self) -> u32 {
        self.count
    }

    /// Number of the oldest packet; that of the next packet if there is none.
    pub(super) fn first(&self) -> u64 {
        self.first
    }

    /// Number of the next packet.
    pub(super) fn next(&self) -> u64 {
        self.first + self.packets.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(under_way: &mut UnderWay, quic_number: u64, at: u64) {
        let number = under_way.next();
        let at = Time(at);
        let sent = Sent { number, at, before: Before::default() };
        under_way.push(quic_number, sent);
    }

    #[test]
    fn numbers_of_the_handshakes_spaces_are_told_apart_by_time() {
        // Two Initial packets, then one of the handshake and one of data, all three spaces counted from 0.
        let mut under_way = UnderWay::default();
        for (number, at) in [(0, 10), (1, 20), (0, 30), (0, 40)] {
            sent(&mut under_way, number, at);
        }
        assert_eq!(under_way.take(0, Some(Time(40))).map(|sent| sent.number), Some(3));
        assert_eq!(under_way.take(0, Some(Time(10))).map(|sent| sent.number), Some(0));
        assert_eq!((under_way.count(), under_way.first(), under_way.next()), (2, 1, 4));
        assert!(under_way.take(0, Some(Time(40))).is_none(), "it is taken once");
    }

    #[test]
    fn a_packet_that_is_never_told_of_is_forgotten_three_behind() {
        let mut under_way = UnderWay::default();
        (0..6).for_each(|number| sent(&mut under_way, number, number));
        // 0 was a probe that got lost; 1 to 3 are acknowledged.
        (1..4).for_each(|number| assert!(under_way.take(number, None).is_some()));
        under_way.forget_before(2);
        assert_eq!((under_way.first(), under_way.count()), (0, 3));
        under_way.forget_before(3);
        assert_eq!((under_way.first(), under_way.count()), (4, 2));
    }
}
