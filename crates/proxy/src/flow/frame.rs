//! What two ends of a flow say on the streams of its subflows, as capsules [rfc9297, sec. 3.2].

use bytes::{Buf, Bytes, BytesMut};

use super::FlowError;
use crate::packets::capsule::{read_number, write_number};

/// The types of the capsules, which are for private use.
const DATA: u64 = 0x616e_6100;
const ACK: u64 = 0x616e_6101;
const END: u64 = 0x616e_6102;

/// The most bytes of a piece.
pub const MOST_PIECE: usize = 16 << 10;

/// The most bytes of what a capsule of ours holds.
const MOST_VALUE: u64 = MOST_PIECE as u64 + 8;

/// What an end says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// Bytes from this one on.
    Data(u64, Bytes),
    /// It has this number of bytes in order, and takes this number in all.
    Ack(u64, u64),
    /// It sends this number of bytes in all.
    End(u64),
}

impl Frame {
    /// Appends the frame to bytes.
    pub fn write(&self, to: &mut BytesMut) {
        let mut value = BytesMut::with_capacity(16);
        let (kind, rest) = match self {
            Self::Data(offset, bytes) => {
                write_number(*offset, &mut value);
                (DATA, &bytes[..])
            }
            Self::Ack(received, limit) => {
                write_number(*received, &mut value);
                write_number(*limit, &mut value);
                (ACK, &[][..])
            }
            Self::End(end) => {
                write_number(*end, &mut value);
                (END, &[][..])
            }
        };
        write_number(kind, to);
        write_number((value.len() + rest.len()) as u64, to);
        to.extend_from_slice(&value);
        to.extend_from_slice(rest);
    }
}

/// The frames of a stream.
#[derive(Debug, Default)]
pub struct Frames {
    bytes: BytesMut,
    /// Bytes of a capsule of others that are still to skip.
    skip: u64,
}

impl Frames {
    /// Takes the next bytes of the stream.
    pub fn add(&mut self, mut more: impl Buf) {
        let skipped = self.skip.min(more.remaining() as u64);
        more.advance(skipped as usize);
        self.skip -= skipped;
        while more.has_remaining() {
            let chunk = more.chunk();
            self.bytes.extend_from_slice(chunk);
            let length = chunk.len();
            more.advance(length);
        }
    }
}

impl Iterator for Frames {
    type Item = Result<Frame, FlowError>;

    /// The next frame, if all of it is here; an error if it is none. After an error nothing can be read.
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let (kind, after) = read_number(&self.bytes)?;
            let (length, more) = read_number(&self.bytes[after..])?;
            let begin = after + more;
            if !matches!(kind, DATA | ACK | END) {
                let here = ((self.bytes.len() - begin) as u64).min(length);
                self.bytes.advance(begin + here as usize);
                self.skip = length - here;
                continue;
            }
            if length > MOST_VALUE {
                return Some(Err(FlowError::Malformed));
            }
            let end = begin + length as usize;
            if self.bytes.len() < end {
                return None;
            }
            let value = self.bytes.split_to(end).freeze().slice(begin..);
            return Some(read(kind, value).ok_or(FlowError::Malformed));
        }
    }
}

fn read(kind: u64, mut value: Bytes) -> Option<Frame> {
    let mut number = || {
        let (number, length) = read_number(&value)?;
        value.advance(length);
        Some(number)
    };
    let first = number()?;
    let frame = match kind {
        ACK => Frame::Ack(first, number()?),
        END => Frame::End(first),
        _ => return Some(Frame::Data(first, value)),
    };
    value.is_empty().then_some(frame)
}
