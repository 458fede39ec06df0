//! Room for large answers: readers may be slow, so what waits for all of them together has a bound.

use std::sync::Arc;

use hyper::StatusCode;
use hyper::body::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::problem::Problem;

/// The size from which an answer counts as large.
const LARGE: usize = 64 << 10;

/// The most KiB of large answers that wait for their readers.
const MOST_KIB: usize = 64 << 10;

/// Room for large answers.
pub(crate) struct Room(Arc<Semaphore>);

/// A large answer with its room, which is free again when the answer has been sent.
struct Large {
    bytes: Vec<u8>,
    _room: OwnedSemaphorePermit,
}

impl AsRef<[u8]> for Large {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Room {
    pub fn new() -> Self {
        Self(Arc::new(Semaphore::new(MOST_KIB)))
    }

    /// An answer that holds its room, if it needs any.
    pub fn held(&self, bytes: Vec<u8>) -> Result<Bytes, Problem> {
        if bytes.len() < LARGE {
            return Ok(bytes.into());
        }
        let kib = (bytes.len() >> 10).min(MOST_KIB) as u32;
        let room = self.0.clone().try_acquire_many_owned(kib).map_err(|_| {
            let detail = "many large answers wait for their readers; ask for less, or again in some seconds";
            Problem::new(StatusCode::SERVICE_UNAVAILABLE, detail)
        })?;
        Ok(Bytes::from_owner(Large { bytes, _room: room }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_answers_have_room_together_and_small_ones_always() {
        let room = Room::new();
        let half = || room.held(vec![7; MOST_KIB << 9]);
        let (one, _other) = (half().unwrap(), half().unwrap());
        assert_eq!(one[..3], [7; 3]);
        assert_eq!(room.held(vec![0; LARGE]).unwrap_err().status, 503);
        assert!(room.held(vec![0; LARGE - 1]).is_ok());
        let part = one.slice(1..);
        drop(one);
        assert!(half().is_err(), "a part of it is still there");
        drop(part);
        assert!(half().is_ok());
    }
}
