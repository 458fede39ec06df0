//! Messages between the ends of a connection, in datagrams.
//!
//! The format below is that of the marks that a receiving end reports to the sending end. All counts are since the
//! paths began, so a lost message costs only time.
//!
//! ```text
//! kind    sequence  onward  paths   then for each path   id   marked
//! 1 byte     8        8      1                           4     8
//! ```

use super::Snapshots;
use crate::control::{MOST_PATHS, MOST_REMOTE};

/// First byte of the message.
const MARKS: u8 = 1;
const OWN: u8 = 2;
const OTHERS: u8 = 3;

/// Bytes before the first path, and bytes of each path.
const SIZES: (usize, usize) = (18, 12);

/// Value in place of an unknown rate.
const NO_RATE: u64 = u64::MAX;

/// A message to the other end.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// Marked packets, counted by the receiving end.
    Marked(Marked),
    /// Snapshots of the subflows on which the peer sends.
    Own(Snapshots),
    /// Snapshots of the subflows of other senders of the same file.
    Others(Others),
}

/// Snapshots of the subflows of other senders of the same file, as far as their receiver knows them.
#[derive(Clone, Debug, PartialEq)]
pub struct Others {
    /// Sequence number of the latest message on its own subflows that the addressee had sent.
    pub heard: u64,
    /// States of the subflows.
    pub snapshots: Snapshots,
}

impl Others {
    /// Encodes the message: the snapshots, then `heard`.
    fn encode(&self) -> Vec<u8> {
        [self.snapshots.encode(OTHERS), self.heard.to_be_bytes().to_vec()].concat()
    }

    /// Decodes a message after its kind.
    fn decode(bytes: &[u8]) -> Result<Self, MessageError> {
        let (snapshots, heard) = bytes.split_last_chunk().unwrap_or((&[], &[0; 8]));
        let snapshots = Snapshots::decode(snapshots)?;
        Ok(Self { heard: u64::from_be_bytes(*heard), snapshots })
    }
}

/// Counts of marked packets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marked {
    /// Sequence number; later messages have greater numbers.
    pub sequence: u64,
    /// Sending rate of the next loop in bits a second; `None` if there is none, or it is not known.
    pub onward_bps: Option<u64>,
    /// Number of each path with its count of marked packets.
    pub marked: Vec<(u32, u64)>,
}

/// The reason why a datagram is no message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MessageError {
    /// The datagram is empty.
    #[error("a message of no bytes")]
    Empty,
    /// The message has no known kind.
    #[error("a message of kind {0}; there are {MARKS} to {OTHERS} only")]
    Kind(u8),
    /// The message has more paths than a connection may have.
    #[error("a message on {0} paths; a connection has {MOST_PATHS} at most")]
    Paths(usize),
    /// The message has more subflows than a control includes.
    #[error("a message on {0} subflows; it may be {MOST_REMOTE} at most")]
    Subflows(usize),
    /// A number is not finite, negative, or out of range.
    #[error("a message with a number that is none")]
    Number,
    /// The message has the wrong number of bytes.
    #[error("a message of {found} bytes that must have {wanted}")]
    Size {
        /// Number of bytes found.
        found: usize,
        /// Number of bytes expected.
        wanted: usize,
    },
}

impl Message {
    /// Encodes the message.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Self::Marked(marked) => marked.encode(),
            Self::Own(snapshots) => snapshots.encode(OWN),
            Self::Others(others) => others.encode(),
        }
    }

    /// Decodes a message.
    pub fn decode(bytes: &[u8]) -> Result<Self, MessageError> {
        match *bytes.first().ok_or(MessageError::Empty)? {
            MARKS => Marked::decode(bytes).map(Self::Marked),
            OWN => Snapshots::decode(bytes).map(Self::Own),
            OTHERS => Others::decode(bytes).map(Self::Others),
            kind => Err(MessageError::Kind(kind)),
        }
    }
}

impl Marked {
    /// Encodes the message after its kind.
    fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(SIZES.0 + SIZES.1 * self.marked.len());
        bytes.push(MARKS);
        bytes.extend(self.sequence.to_be_bytes());
        bytes.extend(self.onward_bps.unwrap_or(NO_RATE).to_be_bytes());
        bytes.push(self.marked.len() as u8);
        for (path, marked) in &self.marked {
            bytes.extend(path.to_be_bytes());
            bytes.extend(marked.to_be_bytes());
        }
        bytes
    }

    /// Decodes a message after its kind.
    fn decode(bytes: &[u8]) -> Result<Self, MessageError> {
        let found = bytes.len();
        let Some((head, paths)) = bytes.split_at_checked(SIZES.0) else {
            return Err(MessageError::Size { found, wanted: SIZES.0 });
        };
        let count = usize::from(head[17]);
        let wanted = SIZES.0 + SIZES.1 * count;
        match () {
            () if count > MOST_PATHS => return Err(MessageError::Paths(count)),
            () if found != wanted => return Err(MessageError::Size { found, wanted }),
            () => {}
        }
        let number = |bytes: &[u8]| bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte));
        let path = |bytes: &[u8]| (number(&bytes[..4]) as u32, number(&bytes[4..]));
        let onward_bps = Some(number(&head[9..17])).filter(|bps| *bps != NO_RATE);
        let marked = paths.chunks_exact(SIZES.1).map(path).collect();
        Ok(Self { sequence: number(&head[1..9]), onward_bps, marked })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_no_message_is_refused() {
        let good = Marked { sequence: 1, onward_bps: None, marked: vec![(0, 7)] }.encode();
        assert_eq!(good.len(), 30);
        let refused = |bytes: &[u8]| Message::decode(bytes).unwrap_err().to_string();
        assert_eq!(refused(&good[..29]), "a message of 29 bytes that must have 30");
        assert_eq!(refused(&[]), "a message of no bytes");
        assert_eq!(refused(&[&[9], &good[1..]].concat()), "a message of kind 9; there are 1 to 3 only");
        let many = Marked { marked: vec![(0, 0); MOST_PATHS + 1], ..Marked::default() };
        assert_eq!(refused(&many.encode()), "a message on 17 paths; a connection has 16 at most");
    }

    proptest! {
        #[test]
        fn a_message_is_read_as_it_was_written(
            sequence in any::<u64>(),
            onward in prop::option::of(0..NO_RATE),
            marked in prop::collection::vec(any::<(u32, u64)>(), 0..=MOST_PATHS),
        ) {
            let message = Message::Marked(Marked { sequence, onward_bps: onward, marked });
            prop_assert_eq!(Message::decode(&message.encode()), Ok(message));
        }

        #[test]
        fn any_bytes_are_a_message_or_an_error(
            kind in 0_u8..5,
            bytes in prop::collection::vec(any::<u8>(), 0..300),
        ) {
            let bytes = [&[kind], &bytes[..]].concat();
            if let Ok(message) = Message::decode(&bytes) {
                prop_assert_eq!(message.encode(), bytes);
            }
        }
    }
}
