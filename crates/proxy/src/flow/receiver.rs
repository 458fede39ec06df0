//! The receiving end of a flow: puts pieces in order that come over several subflows, some of them twice.

use std::collections::BTreeMap;

use bytes::{Buf, Bytes};

use super::FlowError;

/// The most bytes that wait: for those before them, or to be taken.
pub const WINDOW: u64 = 16 << 20;

/// The most pieces that wait for those before them: small ones take more memory than their bytes.
const MOST_PIECES: usize = 1 << 15;

/// Bytes after which the other end has to hear that they are here.
const TOLD_EACH: u64 = WINDOW / 64;

/// The receiving end of a flow.
#[derive(Debug, Default)]
pub struct Receiver {
    /// Numbers of bytes: those below were taken, and are here in order.
    taken: u64,
    received: u64,
    /// Pieces that are here: those in order begin at `taken`. None overlap.
    pieces: BTreeMap<u64, Bytes>,
    end: Option<u64>,
    /// What the other end has heard of last.
    told: u64,
    told_limit: u64,
}

impl Receiver {
    /// A flow of which nothing is here.
    pub fn new() -> Self {
        Self { told_limit: WINDOW, ..Self::default() }
    }

    /// Takes in a piece.
    ///
    /// # Errors
    /// If the other end may not send it.
    pub fn insert(&mut self, offset: u64, mut bytes: Bytes) -> Result<(), FlowError> {
        let end = offset.checked_add(bytes.len() as u64).filter(|end| *end <= self.told_limit);
        let end = end.ok_or(FlowError::BeyondLimit)?;
        if self.end.is_some_and(|last| end > last) {
            return Err(FlowError::BeyondEnd);
        }
        // What is here already stays; what is new goes into the gaps.
        let mut begin = offset;
        let skip = |bytes: &mut Bytes, begin: &mut u64, to: u64| {
            let count = to.saturating_sub(*begin).min(bytes.len() as u64);
            bytes.advance(count as usize);
            *begin += count;
        };
        skip(&mut bytes, &mut begin, self.received);
        while !bytes.is_empty() {
            if let Some((&before, piece)) = self.pieces.range(..=begin).next_back() {
                skip(&mut bytes, &mut begin, before + piece.len() as u64);
            }
            let next = self.pieces.range(begin..).next().map_or(end, |(&next, _)| next);
            if next > begin && !bytes.is_empty() {
                let count = (next - begin).min(bytes.len() as u64) as usize;
                if self.pieces.len() >= MOST_PIECES && begin != self.received {
                    return Err(FlowError::TooManyGaps);
                }
                self.pieces.insert(begin, bytes.split_to(count));
                begin += count as u64;
            }
        }
        while let Some(piece) = self.pieces.get(&self.received) {
            self.received += piece.len() as u64;
        }
        Ok(())
    }

    /// Takes in the number of bytes in all.
    ///
    /// # Errors
    /// If it is another than before, or there are more.
    pub fn finish(&mut self, end: u64) -> Result<(), FlowError> {
        let last = self.pieces.last_key_value().map_or(self.received, |(at, piece)| at + piece.len() as u64);
        if self.end.is_some_and(|before| before != end) || end < last {
            return Err(FlowError::BeyondEnd);
        }
        self.end = Some(end);
        Ok(())
    }

    /// Takes out the next bytes in order.
    pub fn take(&mut self) -> Option<Bytes> {
        let piece = self.pieces.first_entry().filter(|entry| *entry.key() == self.taken)?.remove();
        self.taken += piece.len() as u64;
        Some(piece)
    }

    /// Whether all bytes were taken, and there will be no more.
    pub fn is_over(&self) -> bool {
        self.end == Some(self.taken)
    }

    /// Whether the other end has not heard of all that is here.
    pub fn has_news(&self) -> bool {
        self.received > self.told || self.limit() > self.told_limit
    }

    /// Whether the other end has to hear at once of what is here.
    pub fn is_urgent(&self) -> bool {
        self.received >= self.told + TOLD_EACH
            || self.limit() >= self.told_limit + TOLD_EACH
            || (self.end == Some(self.received) && self.told < self.received)
    }

    /// What the other end hears: the number of bytes that are here in order, and the number that it may send in all.
    pub fn tell(&mut self) -> (u64, u64) {
        (self.told, self.told_limit) = (self.received, self.limit().max(self.told_limit));
        (self.told, self.told_limit)
    }

    fn limit(&self) -> u64 {
        self.taken + WINDOW
    }
}
