//! What two ends of a flow say on the streams of its subflows, as capsules [rfc9297, sec. 3.2].

use bytes::{Buf, Bytes, BytesMut};

use super::FlowError;
use crate::packets::capsule::{Reader, read_number, write_number};

/// The types of the capsules, which are for private use.
const DATA: u64 = 0x616e_6100;
const ACK: u64 = 0x616e_6101;
const END: u64 = 0x616e_6102;

/// The most bytes of a piece.
pub const MOST_PIECE: usize = 16 << 10;

/// The most bytes of what a capsule of ours holds.
const MOST_VALUE: usize = MOST_PIECE + 8;

/// What an end says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// Bytes from this one on.
    Data(u64, Bytes),
    /// It has this number of bytes in order, one more if it has all and knows the end, and takes this number in all.
    Ack(u64, u64),
    /// It sends this number of bytes in all.
    End(u64),
}

impl Frame {
    /// Appends the frame to bytes.
    pub fn write(&self, to: &mut BytesMut) {
        match self {
            Self::Data(offset, bytes) => {
                Self::write_head(*offset, bytes.len(), to);
                to.extend_from_slice(bytes);
            }
            Self::Ack(received, limit) => write_capsule(ACK, &[*received, *limit], 0, to),
            Self::End(end) => write_capsule(END, &[*end], 0, to),
        }
    }

    /// Appends what is before the bytes of a frame of data.
    pub fn write_head(offset: u64, length: usize, to: &mut BytesMut) {
        write_capsule(DATA, &[offset], length, to);
    }
}

/// Appends a capsule with numbers, after which other bytes follow.
fn write_capsule(kind: u64, numbers: &[u64], rest: usize, to: &mut BytesMut) {
    let mut value = BytesMut::with_capacity(16);
    for number in numbers {
        write_number(*number, &mut value);
    }
    write_number(kind, to);
    write_number((value.len() + rest) as u64, to);
    to.extend_from_slice(&value);
}

/// The frames of a stream; capsules of others are skipped.
#[derive(Debug, Default)]
pub struct Frames(Reader);

impl Frames {
    /// Takes the next bytes of the stream.
    pub fn add(&mut self, more: impl Buf) {
        self.0.add(more);
    }
}

impl Iterator for Frames {
    type Item = Result<Frame, FlowError>;

    /// The next frame, if all of it is here; an error if it is none. What is read after an error means nothing.
    fn next(&mut self) -> Option<Self::Item> {
        let capsule = self.0.next(|kind| matches!(kind, DATA | ACK | END).then_some(MOST_VALUE))?;
        Some(capsule.ok().and_then(|(kind, value)| read(kind, value)).ok_or(FlowError::Malformed))
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
