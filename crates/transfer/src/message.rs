//! The messages of fetchers and sharers, and limits on them.
//!
//! Every request uses a separate stream and gets one answer, which bytes may follow. A message consists of its length
//! in two bytes, little-endian, and its fields in the encoding of postcard.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::digests::Root;

/// Greatest size of a message after its length, in bytes.
pub const MOST_MESSAGE: usize = 4096;

/// A request of a fetcher.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Request {
    /// A request to send under this protocol from now on.
    Control {
        /// Name of the protocol in scenario files.
        protocol: String,
    },
    /// A statement that paths of the same group share links.
    Groups {
        /// The number of each open path in QUIC, which is the same at both ends, and the number of its group.
        groups: Vec<(u32, u32)>,
    },
    /// A request for information about a file.
    Look {
        /// The file's [`crate::Name`]; the sharer checks it.
        name: String,
    },
    /// A request for the digests of a known file; they follow the answer.
    Digests {
        /// Hash of the file.
        root: Root,
    },
    /// A request for a chunk of a known file; the chunk follows the answer.
    Chunk {
        /// Hash of the file.
        root: Root,
        /// Number of the chunk.
        chunk: u32,
    },
    /// A statement that the fetcher now has the whole of a known file.
    Have {
        /// Hash of the file.
        root: Root,
    },
    /// A request for the names and sizes of all shared files; a [`crate::listing`] follows the answer.
    List,
    /// A request to send no more than this from now on, over all paths.
    Ceiling {
        /// Rate of packets on links, with the headers of IP and UDP, in bit/s.
        bps: u64,
    },
}

/// An answer of a sharer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    /// The sharer has complied.
    Done,
    /// The file exists.
    Found {
        /// Size of the file in bytes.
        size: u64,
        /// Hash of the file.
        root: Root,
    },
    /// The sharer is reading the file; another answer follows.
    Working,
    /// The requested bytes follow.
    Follows,
    /// The sharer refuses the request.
    Refused(Refusal),
}

/// The reason why a sharer refuses a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Error)]
pub enum Refusal {
    /// No file is shared under this name, or it may not be read.
    #[error("it shares no such file")]
    NoSuchFile,
    /// The name is invalid.
    #[error("{0}")]
    Name(String),
    /// The file cannot be read now.
    #[error("it cannot read the file now")]
    NotNow,
    /// The file has changed since the fetcher requested information about it.
    #[error("the file has changed since; fetch it anew")]
    Changed,
    /// No information was requested about a file with this hash, or the file has no such chunk.
    #[error("it was asked for what it does not have")]
    Unknown,
    /// The sharer does not send under this protocol.
    #[error("{0}")]
    Control(String),
    /// The fetcher exceeds the limit on simultaneous requests.
    #[error("it was asked for too much at a time")]
    TooMuch,
    /// The request is malformed.
    #[error("it did not understand the request; both sides need the same version")]
    Malformed,
    /// The shared folder has too many files to be listed.
    #[error("its folder has too many files to list; fetch files by their names")]
    TooManyFiles,
}

/// The reason why bytes are not a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum MessageError {
    /// The message exceeds the greatest length.
    #[error("a message of {0} bytes; it may have {MOST_MESSAGE}")]
    TooLong(usize),
    /// The fields cannot be read.
    #[error("a message that cannot be read; both sides need the same version")]
    Malformed,
}

/// Encodes a message, preceded by its length.
///
/// # Errors
/// Returns an error if the message is too long.
pub fn encode(message: &impl Serialize) -> Result<Vec<u8>, MessageError> {
    let body = postcard::to_stdvec(message).map_err(|_| MessageError::Malformed)?;
    let length = u16::try_from(body.len()).ok().filter(|&length| usize::from(length) <= MOST_MESSAGE);
    let length = length.ok_or(MessageError::TooLong(body.len()))?;
    Ok([&length.to_le_bytes()[..], &body].concat())
}

/// Reads the length of a message: the number of bytes that follow.
///
/// # Errors
/// Returns an error if the message is too long.
pub fn length(bytes: [u8; 2]) -> Result<usize, MessageError> {
    let length = usize::from(u16::from_le_bytes(bytes));
    if length > MOST_MESSAGE { Err(MessageError::TooLong(length)) } else { Ok(length) }
}

/// Decodes a message from the bytes after its length.
///
/// # Errors
/// Returns an error if the message cannot be read, or bytes are left over.
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
            Request::List,
            Request::Ceiling { bps: u64::MAX },
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
