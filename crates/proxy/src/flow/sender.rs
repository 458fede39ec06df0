//! The sending end of a flow.
//!
//! Bytes are numbered from 0. They are handed out in pieces to lines that take some, and kept until the other end says that
//! it has them in order. What was handed out to a line that fails is handed out again to others.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;

use super::FlowError;
use super::pieces::{Piece, Pieces};

/// The most bytes that are kept.
const MOST_KEPT: u64 = 16 << 20;

/// The number of ranges of bytes on lines from which on no more is written: small ones take more memory than their bytes.
const MOST_RANGES: usize = 1 << 15;

/// Ranges of a line that are passed at most on the search for what it does not have.
const MOST_STEPS: usize = 16;

/// The sending end of a flow over some lines, which have numbers.
#[derive(Debug, Default)]
pub struct Sender {
    /// What was written, without what the other end has.
    kept: Pieces,
    /// Numbers of bytes: those below are with the other end, and were handed out.
    acked: u64,
    next: u64,
    /// The other end takes bytes with lesser numbers.
    limit: u64,
    is_over: bool,
    /// Whether the other end knows that there will be no more.
    is_end_known: bool,
    /// What was handed out to each line, in the order of that, without what is acknowledged.
    sent: BTreeMap<u64, VecDeque<(u64, u64)>>,
    /// What has to be handed out again: the ends of ranges, by their beginnings.
    again: BTreeMap<u64, u64>,
}

impl Sender {
    /// A flow without bytes, of which the other end takes as many as `limit` at first.
    pub fn new(limit: u64) -> Self {
        Self { limit, ..Self::default() }
    }

    /// Whether more may be written where no more than `most` bytes are to wait for a line.
    pub fn has_room(&self, most: u64) -> bool {
        let ranges: usize = self.sent.values().map(VecDeque::len).sum();
        let end = self.kept.end();
        !self.is_over && end - self.next < most && self.kept() < MOST_KEPT && ranges < MOST_RANGES
    }

    /// Number of bytes that the other end has in order.
    pub fn acked(&self) -> u64 {
        self.acked
    }

    /// Number of bytes that are kept, since the other end has not said that it has them.
    pub fn kept(&self) -> u64 {
        self.kept.end() - self.acked
    }

    /// Takes bytes.
    pub fn write(&mut self, bytes: Bytes) {
        self.kept.push(bytes);
    }

    /// Notes that there will be no more bytes.
    pub fn finish(&mut self) {
        self.is_over = true;
    }

    /// The number of bytes in all, if there will be no more.
    pub fn end(&self) -> Option<u64> {
        self.is_over.then_some(self.kept.end())
    }

    /// Whether the other end has all bytes, and knows that there will be no more.
    pub fn is_done(&self) -> bool {
        self.is_end_known
    }

    /// Number of bytes that could be handed out now.
    pub fn backlog(&self) -> u64 {
        self.sendable(0)
    }

    /// Number of bytes that could be handed out if this many more were written: those that the other end does not take are held
    /// up by it, and by no line.
    pub fn sendable(&self, more: u64) -> u64 {
        let again: u64 = self.again.iter().map(|(begin, end)| end - begin).sum();
        again + (self.kept.end() + more).min(self.limit).saturating_sub(self.next)
    }

    /// Number of bytes that were handed out to a line, and are not acknowledged.
    pub fn outstanding(&self, line: u64) -> u64 {
        self.sent.get(&line).map_or(0, |sent| sent.iter().map(|(begin, end)| end - begin).sum())
    }

    /// Hands out the next piece to a line, of `most` bytes at the most: first what has to be handed out again.
    pub fn hand_out(&mut self, line: u64, most: usize) -> Option<Piece> {
        if most == 0 {
            return None;
        }
        let piece = if let Some((begin, end)) = self.again.pop_first() {
            let piece = self.piece(begin, end, most)?;
            if piece.end() < end {
                self.again.insert(piece.end(), end);
            }
            piece
        } else {
            let piece = self.piece(self.next, self.kept.end().min(self.limit), most)?;
            self.next = piece.end();
            piece
        };
        self.note(line, &piece);
        Some(piece)
    }

    /// Hands out a copy of the oldest piece that only other lines have: it may be late there. Nothing, if that would take long
    /// to find.
    pub fn hand_out_copy(&mut self, line: u64, most: usize) -> Option<Piece> {
        let (mut begin, own) = (self.acked, self.sent.get(&line));
        for _ in 0..MOST_STEPS {
            let covers = |&&(from, to): &&(u64, u64)| from <= begin && begin < to;
            let Some((_, after)) = own.and_then(|own| own.iter().find(covers)) else { break };
            begin = *after;
        }
        if own.is_some_and(|own| own.iter().any(|&(from, to)| from <= begin && begin < to)) {
            return None;
        }
        let ahead = own.and_then(|own| own.iter().map(|(from, _)| *from).filter(|from| *from > begin).min());
        // What has to be handed out again is handed out as such.
        if self.again.range(..=begin).next_back().is_some_and(|(_, end)| begin < *end) {
            return None;
        }
        let piece = self.piece(begin, ahead.map_or(self.next, |ahead| ahead.min(self.next)), most)?;
        self.note(line, &piece);
        Some(piece)
    }

    /// Handles what the other end has in order, and up to where it takes more. True if any of this is news.
    ///
    /// # Errors
    /// If it has what was never sent.
    pub fn on_ack(&mut self, mut received: u64, limit: u64) -> Result<bool, FlowError> {
        let knew_end = self.is_end_known;
        // Who has all and knows the end says one more.
        if self.end().is_some_and(|end| received == end + 1 && self.next == end) {
            self.is_end_known = true;
            received -= 1;
        }
        if received > self.next {
            return Err(FlowError::NeverSent);
        }
        let has_more = received > self.acked || limit > self.limit || self.is_end_known != knew_end;
        self.limit = self.limit.max(limit);
        if received > self.acked {
            self.acked = received;
            self.kept.drop_below(received);
            for sent in self.sent.values_mut() {
                sent.retain(|(_, end)| *end > received);
                for (begin, _) in sent {
                    *begin = received.max(*begin);
                }
            }
            let mut rest = self.again.split_off(&received);
            if let Some((_, &end)) = self.again.last_key_value().filter(|(_, end)| **end > received) {
                rest.insert(received, end);
            }
            self.again = rest;
        }
        Ok(has_more)
    }

    /// Hands out again what a line has that is not acknowledged; true if there is anything.
    pub fn fail(&mut self, line: u64) -> bool {
        let Some(sent) = self.sent.remove(&line) else { return false };
        for (begin, end) in sent {
            self.repeat(begin.max(self.acked), end);
        }
        !self.again.is_empty()
    }

    /// Adds a range to what has to be handed out again, without what is there already.
    fn repeat(&mut self, mut begin: u64, mut end: u64) {
        while let Some((&other, &other_end)) =
            self.again.range(..=end).next_back().filter(|(_, other)| **other >= begin)
        {
            self.again.remove(&other);
            (begin, end) = (begin.min(other), end.max(other_end));
        }
        if begin < end {
            self.again.insert(begin, end);
        }
    }

    fn note(&mut self, line: u64, piece: &Piece) {
        let sent = self.sent.entry(line).or_default();
        match sent.back_mut() {
            Some((_, end)) if *end == piece.offset => *end = piece.end(),
            _ => sent.push_back((piece.offset, piece.end())),
        }
    }

    /// A piece from a byte on, up to an end, of `most` bytes at the most.
    fn piece(&self, begin: u64, end: u64, most: usize) -> Option<Piece> {
        if begin >= end || most == 0 {
            return None;
        }
        let most = usize::try_from(end - begin).map_or(most, |count| most.min(count));
        Some(Piece { offset: begin, bytes: self.kept.get(begin, most) })
    }
}
