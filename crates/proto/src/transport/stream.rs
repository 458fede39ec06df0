//! What a connection sends: how much there is, how much the sink takes, and what must be sent again.

use std::collections::VecDeque;

use anabranch_core::units::BIT_PICOSECONDS;
use anabranch_core::{Rate, Time};

use super::packets::Chunk;

/// The data of a connection.
#[derive(Clone, Debug)]
pub struct Stream {
    /// The next byte that was never sent.
    next: u64,
    /// The byte behind the last.
    end: u64,
    /// Lost, to be sent again.
    lost: VecDeque<Chunk>,
    /// All before this byte have arrived.
    complete: u64,
    /// The sink takes no byte from this one on.
    limit: u64,
    /// What the application writes in the mean: from when on, how much by then, and how fast.
    written: (Time, f64, Rate),
    /// If it comes from the loop before: how much of it has.
    arrived: Option<u64>,
}

/// Why there is nothing to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lack {
    /// All was sent.
    AtEnd,
    /// The application writes the next packet by this time.
    Until(Time),
    /// The sink has no room.
    Room,
    /// It comes from the loop before, and has not yet.
    Data,
}

impl Lack {
    /// Of two the one that ends first, as far as that is known.
    pub fn sooner(self, other: Self) -> Self {
        match (self, other) {
            (Self::Until(a), Self::Until(b)) => Self::Until(a.min(b)),
            (_, Self::Until(_)) => other,
            _ => self,
        }
    }
}

impl Stream {
    /// So many bytes to a sink with so much room, written at the rate of `demand`.
    pub fn new(now: Time, amount: Option<u64>, room: u64, demand: Rate) -> Self {
        let end = amount.unwrap_or(u64::MAX);
        Self {
            next: 0,
            end,
            lost: VecDeque::new(),
            complete: 0,
            limit: room,
            written: (now, 0.0, demand),
            arrived: None,
        }
    }

    /// Takes out what is to be sent next, in packets of `most` bytes.
    pub fn take(&mut self, now: Time, most: u32) -> Result<Chunk, Lack> {
        while let Some(chunk) = self.lost.pop_front() {
            if chunk.end() > self.complete {
                return Ok(chunk);
            }
        }
        let chunk = self.at(self.next, now, most)?;
        self.next = chunk.end();
        Ok(chunk)
    }

    /// What stands at an offset that was sent already or comes next.
    pub fn at(&self, offset: u64, now: Time, most: u32) -> Result<Chunk, Lack> {
        if offset >= self.end {
            return Err(Lack::AtEnd);
        }
        let arrived = self.arrived.unwrap_or(u64::MAX);
        if offset >= arrived {
            return Err(Lack::Data);
        }
        let bytes = u64::from(most).min(self.end.min(arrived) - offset);
        if offset + bytes > self.limit {
            return Err(Lack::Room);
        }
        if let Some(time) = self.written_at(offset + bytes)
            && time > now
        {
            return Err(Lack::Until(time));
        }
        Ok(Chunk { offset, bytes: bytes as u32 })
    }

    /// When the application has written all before a byte; `None` if it always has.
    fn written_at(&self, byte: u64) -> Option<Time> {
        let (from, before, rate) = self.written;
        let missing = byte as f64 - before;
        (rate.0.is_finite() && missing > 0.0).then(|| {
            let wait = (missing * BIT_PICOSECONDS / rate.0).ceil();
            Time(from.0.saturating_add(wait as u64))
        })
    }

    /// The application writes at another rate from now on.
    pub fn set_demand(&mut self, now: Time, demand: Rate) {
        let (from, before, rate) = self.written;
        let elapsed = now.0.saturating_sub(from.0) as f64;
        let written = if rate.0.is_finite() { before + rate.0 * elapsed / BIT_PICOSECONDS } else { self.next as f64 };
        self.written = (now, written, demand);
    }

    /// This was lost, and must be sent again unless it is known to have arrived.
    pub fn on_lost(&mut self, chunk: Chunk) {
        if chunk.end() > self.complete {
            self.lost.push_back(chunk);
        }
    }

    /// The sink has all before `complete`, and room for so much beyond.
    pub fn on_ack(&mut self, complete: u64, room: u64) {
        self.complete = self.complete.max(complete);
        self.limit = self.limit.max(complete.saturating_add(room));
    }

    /// So much more has come from the loop before.
    pub fn on_arrival(&mut self, bytes: u64) {
        let arrived = self.arrived.get_or_insert(0);
        *arrived = arrived.saturating_add(bytes);
    }

    /// Bytes that have come from the loop before, and were not sent yet.
    pub fn backlog(&self) -> u64 {
        self.arrived.map_or(0, |arrived| arrived.saturating_sub(self.next))
    }

    /// All before this byte have arrived.
    pub fn complete(&self) -> u64 {
        self.complete
    }

    /// The next byte that was never sent.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Whether all has arrived.
    pub fn is_done(&self) -> bool {
        self.complete >= self.end
    }

    /// Whether all was sent at least once.
    pub fn is_sent(&self) -> bool {
        self.next >= self.end
    }

    /// Nothing more is to be sent than what was.
    pub fn stop(&mut self) {
        self.end = self.end.min(self.next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNLIMITED: Rate = Rate(f64::INFINITY);

    #[test]
    fn the_last_packet_is_as_large_as_what_is_left() {
        let mut stream = Stream::new(Time(0), Some(25), 1000, UNLIMITED);
        let taken: Vec<_> = std::iter::from_fn(|| stream.take(Time(0), 10).ok()).map(|c| (c.offset, c.bytes)).collect();
        assert_eq!(taken, [(0, 10), (10, 10), (20, 5)]);
        assert_eq!(stream.take(Time(0), 10), Err(Lack::AtEnd));
        stream.on_ack(25, 0);
        assert!(stream.is_done());
    }

    #[test]
    fn what_was_lost_goes_first_unless_it_has_arrived() {
        let mut stream = Stream::new(Time(0), None, 1000, UNLIMITED);
        let chunks: Vec<_> = (0..3).map(|_| stream.take(Time(0), 10).unwrap()).collect();
        stream.on_lost(chunks[0]);
        stream.on_lost(chunks[2]);
        stream.on_ack(10, 1000);
        assert_eq!(stream.take(Time(0), 10), Ok(chunks[2]));
        assert_eq!(stream.take(Time(0), 10).unwrap().offset, 30);
    }

    #[test]
    fn what_comes_from_the_loop_before_is_sent_when_it_is_there() {
        let mut stream = Stream::new(Time(0), Some(35), 1000, UNLIMITED);
        stream.on_arrival(0);
        assert_eq!(stream.take(Time(0), 10), Err(Lack::Data));
        stream.on_arrival(14);
        let taken = [0, 1].map(|_| stream.take(Time(0), 10).unwrap().bytes);
        assert_eq!((taken, stream.take(Time(0), 10)), ([10, 4], Err(Lack::Data)));
        stream.on_arrival(21);
        let taken = [0, 1, 2].map(|_| stream.take(Time(0), 10).unwrap().bytes);
        assert_eq!((taken, stream.take(Time(0), 10)), ([10, 10, 1], Err(Lack::AtEnd)));
    }

    #[test]
    fn the_sink_and_the_application_set_limits() {
        // 8 bit/s: a byte a second; 20 bytes of room.
        let mut stream = Stream::new(Time(0), None, 20, Rate(8.0));
        let second = 1_000_000_000_000;
        assert_eq!(stream.take(Time(0), 10), Err(Lack::Until(Time(10 * second))));
        assert_eq!(stream.take(Time(10 * second), 10).unwrap().offset, 0);
        // Twice as fast from 12 s on, when 12 bytes are written: 20 are at 16 s.
        stream.set_demand(Time(12 * second), Rate(16.0));
        assert_eq!(stream.take(Time(12 * second), 10), Err(Lack::Until(Time(16 * second))));
        assert!(stream.take(Time(16 * second), 10).is_ok());
        assert_eq!(stream.take(Time(99 * second), 10), Err(Lack::Room));
        stream.on_ack(10, 20);
        assert!(stream.take(Time(99 * second), 10).is_ok());
    }
}
