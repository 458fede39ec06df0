//! The journal with which a fetcher can continue after a crash: it lists the verified chunks of the unfinished file.
//!
//! It consists of a header and a record for each chunk, in the order of arrival. A record is written after the chunk
//! itself has reached the disk, so that every chunk in the journal is there. A crash may leave half a record at the
//! end: everything after the last whole record is ignored.
//!
//! ```text
//! header   magic (16) | size (8) | hash of the file (32) | check (8)
//! record   chunk (4) | check (4)
//! ```
//!
//! Numbers are little-endian. A check is the beginning of the BLAKE3 hash, keyed by the hash of the file, of the
//! preceding bytes of the header or record.

use thiserror::Error;

use crate::digests::{DIGEST, MOST_CHUNKS, MOST_SIZE, Root};

/// First bytes of a journal.
const MAGIC: [u8; 16] = *b"anabranch-part1\n";

/// Size of a header in bytes.
pub const HEADER: usize = 64;

/// Size of a record in bytes.
pub const RECORD: usize = 8;

/// The content of a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Journal {
    /// Size of the file in bytes.
    pub size: u64,
    /// Hash of the file.
    pub root: Root,
    /// The chunks that are present, in the order of arrival; some may occur more than once.
    pub chunks: Vec<u32>,
    /// Number of valid bytes of the journal; the rest has to be removed before new records are written.
    pub good: usize,
}

/// The reason why a file is not a journal.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum JournalError {
    /// The file is something else, or its header is incomplete.
    #[error("it is not the journal of an unfinished file, or its beginning is damaged; remove it to begin anew")]
    Header,
}

/// The first bytes of a check of `bytes`.
fn check<const N: usize>(root: Root, bytes: &[u8]) -> [u8; N] {
    let hash = blake3::keyed_hash(&root.0, bytes);
    *hash.as_bytes().first_chunk().expect("a check is no longer than a hash")
}

/// The header of the journal of a file.
pub fn header(size: u64, root: Root) -> [u8; HEADER] {
    let mut header = [0; HEADER];
    header[..16].copy_from_slice(&MAGIC);
    header[16..24].copy_from_slice(&size.to_le_bytes());
    header[24..56].copy_from_slice(&root.0);
    let check: [u8; 8] = check(root, &header[..56]);
    header[56..].copy_from_slice(&check);
    header
}

/// The record of a chunk.
pub fn record(root: Root, chunk: u32) -> [u8; RECORD] {
    let mut record = [0; RECORD];
    record[..4].copy_from_slice(&chunk.to_le_bytes());
    let check: [u8; 4] = check(root, &record[..4]);
    record[4..].copy_from_slice(&check);
    record
}

/// Reads the valid part of a journal. Chunks that no file has are not valid; which chunks this file has, the caller knows.
///
/// # Errors
/// Returns an error if the header is invalid.
pub fn read(bytes: &[u8]) -> Result<Journal, JournalError> {
    let head: &[u8; HEADER] = bytes.first_chunk().ok_or(JournalError::Header)?;
    let size = u64::from_le_bytes(*head[16..].first_chunk().expect("a header has a size"));
    let root = Root(*head[24..].first_chunk::<DIGEST>().expect("a header has a hash"));
    if size > MOST_SIZE || *head != header(size, root) {
        return Err(JournalError::Header);
    }
    let (records, _) = bytes[HEADER..].as_chunks::<RECORD>();
    let chunks: Vec<u32> = records
        .iter()
        .map_while(|bytes| {
            let chunk = u32::from_le_bytes(*bytes.first_chunk().expect("a record has a chunk"));
            (*bytes == record(root, chunk) && u64::from(chunk) < MOST_CHUNKS).then_some(chunk)
        })
        .collect();
    let good = HEADER + RECORD * chunks.len();
    Ok(Journal { size, root, chunks, good })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ROOT: Root = Root([9; 32]);
    const SIZE: u64 = 10 << 18;

    fn written(chunks: &[u32]) -> Vec<u8> {
        let mut bytes = header(SIZE, ROOT).to_vec();
        bytes.extend(chunks.iter().flat_map(|&chunk| record(ROOT, chunk)));
        bytes
    }

    #[test]
    fn a_journal_is_read_as_it_was_written() {
        let bytes = written(&[3, 0, 9]);
        let journal = read(&bytes).unwrap();
        assert_eq!(journal, Journal { size: SIZE, root: ROOT, chunks: vec![3, 0, 9], good: bytes.len() });
    }

    #[test]
    fn half_a_record_at_the_end_is_forgotten() {
        let bytes = written(&[3, 0, 9]);
        for cut in 1..RECORD {
            let journal = read(&bytes[..bytes.len() - cut]).unwrap();
            assert_eq!((journal.chunks, journal.good), (vec![3, 0], HEADER + 2 * RECORD));
        }
    }

    #[test]
    fn nothing_is_believed_after_a_damaged_record() {
        let mut bytes = written(&[3, 0, 9]);
        bytes[HEADER + RECORD] ^= 4;
        assert_eq!(read(&bytes).unwrap().chunks, [3]);
    }

    #[test]
    fn a_chunk_that_no_file_has_is_not_believed() {
        assert_eq!(read(&written(&[3, MOST_CHUNKS as u32, 0])).unwrap().chunks, [3]);
    }

    #[test]
    fn something_else_is_no_journal() {
        let mut bytes = written(&[]);
        bytes[20] ^= 1;
        assert_eq!(read(&bytes), Err(JournalError::Header));
        assert_eq!(read(&bytes[..HEADER - 1]), Err(JournalError::Header));
        assert_eq!(read(b""), Err(JournalError::Header));
    }

    proptest! {
        #[test]
        fn any_bytes_after_the_header_leave_what_was_good(tail in prop::collection::vec(any::<u8>(), 0..64)) {
            let mut bytes = written(&[3, 0]);
            bytes.extend(&tail);
            let journal = read(&bytes).unwrap();
            prop_assert_eq!(&journal.chunks[..2], &[3, 0]);
            prop_assert!(journal.good <= bytes.len());
        }
    }
}
