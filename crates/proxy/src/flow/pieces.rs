//! Bytes of a flow that are kept, in pieces.

use std::collections::VecDeque;

use bytes::{Buf, Bytes, BytesMut};

use super::frame::MOST_PIECE;

/// Bytes of a piece that is large, and is not copied by itself.
const LARGE: usize = MOST_PIECE / 2;

/// A piece of a flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Number of its first byte.
    pub offset: u64,
    /// Its bytes.
    pub bytes: Bytes,
}

impl Piece {
    /// Number of the byte after its last.
    pub fn end(&self) -> u64 {
        self.offset + self.bytes.len() as u64
    }
}

/// Bytes in order and without gaps, in pieces of which small ones are joined: two that follow each other have [`LARGE`]
/// bytes at the least.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    closed: VecDeque<Piece>,
    /// The last bytes, to which others are joined.
    open: BytesMut,
    end: u64,
}

impl Pieces {
    /// Number of the byte after the last.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Adds bytes at the end. Small ones are copied, so that they keep no memory but their own.
    pub fn push(&mut self, bytes: Bytes) {
        let (offset, open) = (self.end, self.open.len());
        self.end += bytes.len() as u64;
        let is_joined = open > 0 && open + bytes.len() <= MOST_PIECE;
        if open > 0 && !is_joined {
            let bytes = std::mem::take(&mut self.open).freeze();
            self.closed.push_back(Piece { offset: offset - open as u64, bytes });
        }
        if is_joined || bytes.len() < LARGE {
            self.open.extend_from_slice(&bytes);
        } else {
            self.closed.push_back(Piece { offset, bytes });
        }
    }

    /// Takes out the first piece.
    pub fn pop(&mut self) -> Option<Bytes> {
        let first = self.closed.pop_front().map(|piece| piece.bytes);
        first.or_else(|| (!self.open.is_empty()).then(|| std::mem::take(&mut self.open).freeze()))
    }

    /// Drops what is below a number, except in a piece that has more.
    pub fn drop_below(&mut self, begin: u64) {
        while self.closed.front().is_some_and(|piece| piece.end() <= begin) {
            self.closed.pop_front();
        }
        self.open.advance(begin.saturating_sub(self.open_at()) as usize);
    }

    /// Bytes of one piece from a number on, which is that of a byte, and `most` of them at the most.
    pub fn get(&self, begin: u64, most: usize) -> Bytes {
        let place = self.closed.partition_point(|piece| piece.end() <= begin);
        if let Some(piece) = self.closed.get(place) {
            let from = (begin - piece.offset) as usize;
            return piece.bytes.slice(from..piece.bytes.len().min(from + most));
        }
        let rest = &self.open[(begin - self.open_at()) as usize..];
        Bytes::copy_from_slice(&rest[..rest.len().min(most)])
    }

    fn open_at(&self) -> u64 {
        self.end - self.open.len() as u64
    }
}
