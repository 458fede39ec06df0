//! What fetchers and sharers say to each other, and the limits on it.
//!
//! Every request goes over a stream of its own and gets one answer, behind which bytes may follow. A message is its length
//! in two bytes, little-endian, and its fields as postcard writes them.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::digests::Root;

/// The most bytes of a message after its length.
pub const MOST_MESSAGE: usize = 4096;

/// What a fetcher asks for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Request {
    /// To send under this protocol from now on.
    Control {
        /// By its name in scenario files.
        protocol: String,
    },
    /// To take paths of the same group for ones that share links.
    Groups {
        /// The number of each open path in QUIC, which is the same at both ends, and that of its group.
        groups: Vec<(u32, u32)>,
    },
    /// What there is by this name.
    Look {
        /// As a [`crate::Name`]; the sharer checks it.
        name: String,
    },
    /// The digests of a file that was looked for before; they follow the answer.
    Digests {
        /// Its hash.
        root: Root,
    },
    /// A chunk of a file that was looked for before; it follows the answer.
    Chunk {
        /// The hash of the file.
        root: Root,
        /// Which of its chunks.
        chunk: u32,
    },
    /// To know that the fetcher has a file whole that was looked for before.
    Have {
        /// Its hash.
        root: Root,
    },
}

/// What a sharer says to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    /// So be it.
    Done,
    /// There is such a file.
    Found {
        /// Its bytes.
        size: u64,
        /// Its hash.
        root: Root,
    },
    /// It is being looked at; another answer follows.
    Working,
    /// Here it comes.
    Follows,
    /// It will not be.
    Refused(Refusal),
}

/// Why a sharer does not do what was asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Error)]
pub enum Refusal {
    /// No file is shared by this name, or it may not be read.
    #[error("it shares no such file")]
    NoSuchFile,
    /// The name is none.
    #[error("{0}")]
    Name(String),
    /// It cannot be read now.
    #[error("it cannot read the file now")]
    NotNow,
    /// It is not what it was when it was looked for.
    #[error("the file has changed since; fetch it anew")]
    Changed,
    /// Nothing was looked for by this hash, or it has no such chunk.
    #[error("it was asked for what it does not have")]
    Unknown,
    /// It does not send under this protocol.
    #[error("{0}")]
    Control(String),
    /// The fetcher asks for more at a time than it may.
    #[error("it was asked for too much at a time")]
    TooMuch,
    /// The request is none.
    #[error("it did not understand the request; both sides need the same version")]
    Malformed,
}

/// Why bytes are not a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum MessageError {
    /// It is longer than messages may be.
    #[error("a message of {0} bytes; it may have {MOST_MESSAGE}")]
    TooLong(usize),
    /// Its fields cannot be read.
    #[error("a message that cannot be read; both sides need the same version")]
    Malformed,
}

/// A message with its length before it.
///
/// # Errors
/// If it is too long.
pub fn encode(message: &impl Serialize) -> Result<Vec<u8>, MessageError> {
    let body = postcard::to_stdvec(message).map_err(|_| MessageError::Malformed)?;
    let length = u16::try_from(body.len()).ok().filter(|&length| usize::from(length) <= MOST_MESSAGE);
    let length = length.ok_or(MessageError::TooLong(body.len()))?;
    Ok([&length.to_le_bytes()[..], &body].concat())
}

/// How many bytes of a message follow its length.
///
/// # Errors
/// If they are too many.
pub fn length(bytes: [u8; 2]) -> Result<usize, MessageError> {
    let length = usize::from(u16::from_le_bytes(bytes));
    if length > MOST_MESSAGE { Err(MessageError::TooLong(length)) } else { Ok(length) }
}

/// The message that follows its length.
///
/// # Errors
/// If it cannot be read, or something is left over.
pub fn decode<M: DeserializeOwned>(body: &[u8]) -> Result<M, MessageError> {
    match postcard::take_from_bytes(body) {
        Ok((message, [])) => Ok(message),
        _ => Err(MessageError::Malformed),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ROOT: Root = Root([5; 32]);

    #[test]
    fn messages_are_read_as_they_were_written() {
        let requests = [
            Request::Control { protocol: "lia".into() },
            Request::Groups { groups: vec![(0, 0), (1, 0), (5, 7)] },
            Request::Look { name: "a/b".into() },
            Request::Digests { root: ROOT },
            Request::Chunk { root: ROOT, chunk: u32::MAX },
            Request::Have { root: ROOT },
        ];
        for request in requests {
            let bytes = encode(&request).unwrap();
            let (head, body) = bytes.split_first_chunk().unwrap();
            assert_eq!(length(*head), Ok(body.len()));
            assert_eq!(decode(body), Ok(request));
        }
    }

    #[test]
    fn a_message_beyond_the_limit_is_neither_written_nor_awaited() {
        let name = "a".repeat(MOST_MESSAGE);
        assert!(matches!(encode(&Request::Look { name }), Err(MessageError::TooLong(_))));
        assert_eq!(length([0xff, 0xff]), Err(MessageError::TooLong(65_535)));
    }

    #[test]
    fn a_message_with_something_behind_it_is_none() {
        let mut bytes = encode(&Answer::Done).unwrap();
        bytes.push(0);
        assert_eq!(decode::<Answer>(&bytes[2..]), Err(MessageError::Malformed));
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_message_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(request) = decode::<Request>(&bytes) {
                let again = encode(&request).unwrap();
                prop_assert_eq!(decode::<Request>(&again[2..]), Ok(request));
            }
            let _ = decode::<Answer>(&bytes);
        }
    }
}
