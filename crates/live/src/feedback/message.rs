//! What the receiving end tells the sending one, in a datagram: all counts since the paths began, so that what is lost
//! costs nothing but time.
//!
//! ```text
//! version  sequence  onward  paths   then for each path   id   marked
//!   1 byte     8        8      1                           4     8
//! ```

use crate::control::MOST_PATHS;

/// The first byte.
const VERSION: u8 = 1;

/// Bytes before the first path, and of each.
const SIZES: (usize, usize) = (18, 12);

/// In place of a rate that is not known.
const NO_RATE: u64 = u64::MAX;

/// What is told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message {
    /// Later ones have greater numbers.
    pub sequence: u64,
    /// What the next loop sends at, in bits a second; `None` if there is none, or it is not known.
    pub onward_bps: Option<u64>,
    /// By the number of a path, the packets on it that came marked.
    pub marked: Vec<(u32, u64)>,
}

/// Why a datagram is no message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MessageError {
    /// Not of this kind.
    #[error("a message of version {0}; there is {VERSION} only")]
    Version(u8),
    /// More paths than a connection may have.
    #[error("a message on {0} paths; a connection has {MOST_PATHS} at most")]
    Paths(usize),
    /// Not as many bytes as it has to have.
    #[error("a message of {found} bytes that must have {wanted}")]
    Size {
        /// How many there are.
        found: usize,
        /// How many there must be.
        wanted: usize,
    },
}

impl Message {
    /// The bytes of it.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(SIZES.0 + SIZES.1 * self.marked.len());
        bytes.push(VERSION);
        bytes.extend(self.sequence.to_be_bytes());
        bytes.extend(self.onward_bps.unwrap_or(NO_RATE).to_be_bytes());
        bytes.push(self.marked.len() as u8);
        for (path, marked) in &self.marked {
            bytes.extend(path.to_be_bytes());
            bytes.extend(marked.to_be_bytes());
        }
        bytes
    }

    /// The message in these bytes.
    pub fn decode(bytes: &[u8]) -> Result<Self, MessageError> {
        let found = bytes.len();
        let Some((head, paths)) = bytes.split_at_checked(SIZES.0) else {
            return Err(MessageError::Size { found, wanted: SIZES.0 });
        };
        let count = usize::from(head[17]);
        let wanted = SIZES.0 + SIZES.1 * count;
        match () {
            () if head[0] != VERSION => return Err(MessageError::Version(head[0])),
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
        let good = Message { sequence: 1, onward_bps: None, marked: vec![(0, 7)] }.encode();
        assert_eq!(good.len(), 30);
        let refused = |bytes: &[u8]| Message::decode(bytes).unwrap_err().to_string();
        assert_eq!(refused(&good[..29]), "a message of 29 bytes that must have 30");
        assert_eq!(refused(&[]), "a message of 0 bytes that must have 18");
        assert_eq!(refused(&[&[9], &good[1..]].concat()), "a message of version 9; there is 1 only");
        let many = Message { marked: vec![(0, 0); MOST_PATHS + 1], ..Message::default() };
        assert_eq!(refused(&many.encode()), "a message on 17 paths; a connection has 16 at most");
    }

    proptest! {
        #[test]
        fn a_message_is_read_as_it_was_written(
            sequence in any::<u64>(),
            onward in prop::option::of(0..NO_RATE),
            marked in prop::collection::vec(any::<(u32, u64)>(), 0..=MOST_PATHS),
        ) {
            let message = Message { sequence, onward_bps: onward, marked };
            prop_assert_eq!(Message::decode(&message.encode()), Ok(message));
        }

        #[test]
        fn any_bytes_are_a_message_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            if let Ok(message) = Message::decode(&bytes) {
                prop_assert_eq!(message.encode(), bytes);
            }
        }
    }
}
