//! The stream of a connection: how much there is to send, how much the sink accepts, and what must be sent again.

use std::collections::VecDeque;

use anabranch_core::units::BIT_PICOSECONDS;
use anabranch_core::{Rate, Time};

use super::packets::Chunk;

/// The data that a connection sends.
#[derive(Clone, Debug)]
pub struct Stream {
    /// Offset of the next byte that was never sent.
    next: u64,
    /// Offset of the byte after the last.
    end: u64,
    /// Lost data, to be sent again.
    lost: VecDeque<Chunk>,
    /// All bytes before this offset have arrived.
    complete: u64,
    /// Offset of the first byte for which the sink has no room.
    limit: u64,
    /// Writing of the application: start time, bytes written by then, and mean rate.
    written: (Time, f64, Rate),
    /// Bytes that have come from the loop before, if the data come from one.
    arrived: Option<u64>,
}

/// The reason why there is nothing to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lack {
    /// All data were sent.
    AtEnd,
    /// The application finishes writing the next packet at this time.
    Until(Time),
    /// The sink has no room.
    Room,
    /// The data have not come from the loop before yet.
    Data,
}

impl Lack {
    /// Of two reasons, the one that ends first as far as that is known.
    pub fn sooner(self, other: Self) -> Self {
        match (self, other) {
            (Self::Until(a), Self::Until(b)) => Self::Until(a.min(b)),
            (_, Self::Until(_)) => other,
            _ => self,
        }
    }
}

impl Stream {
    /// Creates a stream of `amount` bytes, or an endless one, to a sink with room for `room` bytes, written at the rate
    /// of `demand`.
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

    /// Removes the data to send next, in packets of `most` bytes.
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

    /// Gives the data at an offset that was sent already or comes next, in packets of `most` bytes.
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

    /// Time at which the application has written all data before a byte; `None` if it does not limit the stream.
    fn written_at(&self, byte: u64) -> Option<Time> {
        let (from, before, rate) = self.written;
        let missing = byte as f64 - before;
        (rate.0.is_finite() && missing > 0.0).then(|| {
            let wait = (missing * BIT_PICOSECONDS / rate.0).ceil();
            Time(from.0.saturating_add(wait as u64))
        })
    }

    /// Changes the rate at which the application writes.
    pub fn set_demand(&mut self, now: Time, demand: Rate) {
        let (from, before, rate) = self.written;
        let elapsed = now.0.saturating_sub(from.0) as f64;
        let written = if rate.0.is_finite() { before + rate.0 * elapsed / BIT_PICOSECONDS } else { self.next as f64 };
        self.written = (now, written, demand);
    }

    /// Marks data as lost; they are sent again unless they are known to have arrived.
    pub fn on_lost(&mut self, chunk: Chunk) {
        if chunk.end() > self.complete {
            self.lost.push_back(chunk);
        }
    }

    /// Records that the sink has all data before `complete`, and room for `room` bytes after it.
    pub fn on_ack(&mut self, complete: u64, room: u64) {
        self.complete = self.complete.max(complete);
        self.limit = self.limit.max(complete.saturating_add(room));
    }

    /// Adds bytes that have come from the loop before.
    pub fn on_arrival(&mut self, bytes: u64) {
        let arrived = self.arrived.get_or_insert(0);
        *arrived = arrived.saturating_add(bytes);
    }

    /// Bytes that have come from the loop before and were not sent yet.
    pub fn backlog(&self) -> u64 {
        self.arrived.map_or(0, |arrived| arrived.saturating_sub(self.next))
    }

    /// All data before this offset have arrived.
    pub fn complete(&self) -> u64 {
        self.complete
    }

    /// Offset of the next byte that was never sent.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Whether all data have arrived.
    pub fn is_done(&self) -> bool {
        self.complete >= self.end
    }

    /// Whether all data were sent at least once.
    pub fn is_sent(&self) -> bool {
        self.next >= self.end
    }

    /// Ends the stream after the data that were sent already.
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
