//! The receiving end of a flow: puts pieces in order that come over several subflows, some of them twice.

use std::collections::BTreeMap;

use bytes::{Buf, Bytes};

use super::FlowError;
use super::pieces::Pieces;

/// The most bytes that wait: for those before them, or to be taken.
pub const WINDOW: u64 = 16 << 20;

/// Bytes that the other end may send at first.
pub const FIRST_WINDOW: u64 = 64 << 10;

/// The most pieces that wait for those before them: small ones take more memory than their bytes.
const MOST_PIECES: usize = 1 << 15;

/// Bytes after which the other end has to hear that they are here: these, or a quarter of the window.
const TOLD_EACH: u64 = WINDOW / 64;

/// The receiving end of a flow.
///
/// What waits takes twice the memory of [`WINDOW`] at most, besides some bytes for each piece, if pieces come with memory of
/// their own. A peer that sends many small ones cannot change that: in order they are joined, and the others are counted.
#[derive(Debug, Default)]
pub struct Receiver {
    /// The number of bytes that were taken.
    taken: u64,
    /// What is here in order, and was not taken.
    ready: Pieces,
    /// Pieces that wait for those before them. None overlap.
    waiting: BTreeMap<u64, Bytes>,
    /// Bytes of these.
    waiting_bytes: u64,
    end: Option<u64>,
    /// What the other end was told last.
    told: u64,
    told_limit: u64,
    /// Whether that may be lost.
    is_told_lost: bool,
    /// Bytes that the other end may send at first, and the most that may wait now.
    first: u64,
    most: u64,
}

impl Receiver {
    /// A flow of which nothing is here, and this number of bytes may come at first: then twice as many as were taken, up
    /// to [`WINDOW`].
    pub fn new(first: u64) -> Self {
        Self { told_limit: first, first, most: WINDOW, ..Self::default() }
    }

    /// Takes no more bytes than these before those that are here are taken; at least as many as at first.
    pub fn narrow(&mut self, most: u64) {
        self.most = most.clamp(self.first, WINDOW);
    }

    /// Number of bytes that wait here.
    pub fn waiting(&self) -> u64 {
        self.received() - self.taken + self.waiting_bytes
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
        let whole = bytes.len();
        loop {
            skip(&mut bytes, &mut begin, self.received());
            if let Some((&before, piece)) = self.waiting.range(..=begin).next_back() {
                skip(&mut bytes, &mut begin, before + piece.len() as u64);
            }
            if bytes.is_empty() {
                return Ok(());
            }
            let next = self.waiting.range(begin..).next().map_or(end, |(&next, _)| next);
            let piece = bytes.split_to((next - begin).min(bytes.len() as u64) as usize);
            let at = begin;
            begin += piece.len() as u64;
            if at == self.received() {
                self.ready.push(piece);
                while let Some(piece) = self.waiting.remove(&self.received()) {
                    self.waiting_bytes -= piece.len() as u64;
                    self.ready.push(piece);
                }
            } else if !piece.is_empty() {
                if self.waiting.len() >= MOST_PIECES {
                    return Err(FlowError::TooManyGaps);
                }
                // A small part would keep the memory of the whole.
                let piece = if piece.len() < whole / 2 { Bytes::copy_from_slice(&piece) } else { piece };
                self.waiting_bytes += piece.len() as u64;
                self.waiting.insert(at, piece);
            }
        }
    }

    /// Takes in the number of bytes in all.
    ///
    /// # Errors
    /// If it is another than before, or there are more.
    pub fn finish(&mut self, end: u64) -> Result<(), FlowError> {
        let last = self.waiting.last_key_value().map_or(self.received(), |(at, piece)| at + piece.len() as u64);
        if self.end.is_some_and(|before| before != end) || end < last {
            return Err(FlowError::BeyondEnd);
        }
        self.end = Some(end);
        Ok(())
    }

    /// Takes out the next bytes in order.
    pub fn take(&mut self) -> Option<Bytes> {
        let piece = self.ready.pop()?;
        self.taken += piece.len() as u64;
        Some(piece)
    }

    /// Whether all bytes are here, and there will be no more.
    pub fn has_all(&self) -> bool {
        self.end == Some(self.received())
    }

    /// Whether all bytes were taken, and there will be no more.
    pub fn is_over(&self) -> bool {
        self.end == Some(self.taken)
    }

    /// Whether the other end has not heard of all that is here.
    pub fn has_news(&self) -> bool {
        self.is_told_lost || self.here() > self.told || (self.needs_room() && self.limit() > self.told_limit)
    }

    /// Whether the other end has to hear at once of what is here.
    pub fn is_urgent(&self) -> bool {
        let has_all = self.end == Some(self.received());
        let each = ((self.limit() - self.taken) / 4).min(TOLD_EACH);
        self.is_told_lost
            || self.here() >= self.told + each
            || (self.needs_room() && self.limit() >= self.told_limit + each)
            || (has_all && self.here() > self.told)
    }

    /// What the other end hears: the number of bytes that are here in order, one more if these are all, and the number that
    /// it may send in all.
    pub fn tell(&mut self) -> (u64, u64) {
        (self.told, self.told_limit) = (self.here(), self.limit().max(self.told_limit));
        self.is_told_lost = false;
        (self.told, self.told_limit)
    }

    /// Notes that the other end may not have heard what it was told last: that is news again, and urgent.
    pub fn forget_told(&mut self) {
        self.is_told_lost = self.told > 0 || self.told_limit > self.first;
    }

    /// The number of bytes that are here in order, with those that were taken.
    fn received(&self) -> u64 {
        self.ready.end()
    }

    /// The number of bytes that are here in order, and one more if these are all.
    fn here(&self) -> u64 {
        self.received() + u64::from(self.end == Some(self.received()))
    }

    /// Whether the other end has more than it was told that it may send.
    fn needs_room(&self) -> bool {
        self.end.is_none_or(|end| end > self.told_limit)
    }

    fn limit(&self) -> u64 {
        self.taken + (2 * self.taken).clamp(self.first, self.most)
    }
}
