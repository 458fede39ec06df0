//! What the ends of a connection tell each other in datagrams: here what the receiving end tells the sending one, all counts
//! since the paths began, so that what is lost costs nothing but time.
//!
//! ```text
//! kind    sequence  onward  paths   then for each path   id   marked
//! 1 byte     8        8      1                           4     8
//! ```

use super::Snapshots;
use crate::control::{MOST_PATHS, MOST_REMOTE};

/// The first byte.
const MARKS: u8 = 1;
const OWN: u8 = 2;
const OTHERS: u8 = 3;

/// Bytes before the first path, and of each.
const SIZES: (usize, usize) = (18, 12);

/// In place of a rate that is not known.
const NO_RATE: u64 = u64::MAX;

/// What is told.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// How many packets came marked.
    Marked(Marked),
    /// How the subflows stand on which the peer sends.
    Own(Snapshots),
    /// How those stand of others that send parts of the same.
    Others(Others),
}

/// How the subflows stand of others that send parts of the same, as far as it is known to the end that they send to.
#[derive(Clone, Debug, PartialEq)]
pub struct Others {
    /// The sequence number of the latest message on its own subflows that had come from the end that is told this.
    pub heard: u64,
    /// How they stand.
    pub snapshots: Snapshots,
}

impl Others {
    /// The bytes of it: those of the snapshots, then what was heard.
    fn encode(&self) -> Vec<u8> {
        [self.snapshots.encode(OTHERS), self.heard.to_be_bytes().to_vec()].concat()
    }

    /// What these bytes tell, whatever their kind.
    fn decode(bytes: &[u8]) -> Result<Self, MessageError> {
        let (snapshots, heard) = bytes.split_last_chunk().unwrap_or((&[], &[0; 8]));
        let snapshots = Snapshots::decode(snapshots)?;
        Ok(Self { heard: u64::from_be_bytes(*heard), snapshots })
    }
}

/// How many packets came marked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marked {
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
    /// There is none.
    #[error("a message of no bytes")]
    Empty,
    /// The message has no known kind.
    #[error("a message of kind {0}; there are {MARKS} to {OTHERS} only")]
    Kind(u8),
    /// More paths than a connection may have.
    #[error("a message on {0} paths; a connection has {MOST_PATHS} at most")]
    Paths(usize),
    /// More subflows than are listened to.
    #[error("a message on {0} subflows; it may be {MOST_REMOTE} at most")]
    Subflows(usize),
    /// Not finite, negative, or out of range.
    #[error("a message with a number that is none")]
    Number,
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
        match self {
            Self::Marked(marked) => marked.encode(),
            Self::Own(snapshots) => snapshots.encode(OWN),
            Self::Others(others) => others.encode(),
        }
    }

    /// The message in these bytes.
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
    /// The bytes of it.
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

    /// What these bytes tell, whatever their kind.
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
