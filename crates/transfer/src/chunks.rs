//! The chunks of a file, and what each is verified by: the tree of a sharer, the pieces of a Metalink file, or nothing.

use std::sync::Arc;

use thiserror::Error;

use crate::digests::{Digests, MOST_CHUNK, MOST_CHUNKS, MOST_SIZE, Root, chunk_bytes};
use crate::hash::{Algorithm, FileHash};

/// The hashes of consecutive pieces of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pieces {
    /// Hash function of all pieces.
    pub algorithm: Algorithm,
    /// Size of each piece in bytes, except for the last, which may be smaller.
    pub bytes: u64,
    /// Hash of each piece.
    pub hashes: Vec<FileHash>,
}

/// The file that is fetched, in chunks.
#[derive(Clone, Debug)]
pub struct Chunks {
    size: u64,
    /// Size of each chunk in bytes, except for the last.
    bytes: u64,
    /// Name of the file in journals.
    id: Root,
    proof: Proof,
}

/// What shows that a chunk is right.
#[derive(Clone, Debug)]
enum Proof {
    Tree(Arc<Digests>),
    Pieces(Vec<FileHash>),
    Nothing,
}

/// The reason why a file cannot be fetched in chunks.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[allow(missing_docs)]
pub enum ChunksError {
    #[error("a file of {0} bytes is too large; files may have {MOST_SIZE}")]
    TooLarge(u64),
    #[error("a file of {size} bytes has {expected} pieces of {bytes} bytes, but there are hashes of {got}")]
    Count { size: u64, bytes: u64, expected: u64, got: usize },
}

impl Pieces {
    /// Whether the pieces can be chunks: neither too large to be held in memory, nor too many to be listed.
    pub fn are_usable(&self) -> bool {
        (1..=MOST_CHUNK).contains(&self.bytes) && self.hashes.len() as u64 <= MOST_CHUNKS
    }
}

impl From<Arc<Digests>> for Chunks {
    /// The chunks of a file with a BLAKE3 tree.
    fn from(digests: Arc<Digests>) -> Self {
        let (size, id) = (digests.size(), digests.root());
        Self { size, bytes: chunk_bytes(size), id, proof: Proof::Tree(digests) }
    }
}

impl Chunks {
    /// The chunks of a file of which nothing but the size is known; only its whole hash can show that they are right.
    ///
    /// # Errors
    /// If the file is too large.
    pub fn unverified(size: u64) -> Result<Self, ChunksError> {
        Self::without_tree(size, chunk_bytes(size), Proof::Nothing)
    }

    /// The chunks of a file that are the pieces of a Metalink file.
    ///
    /// # Errors
    /// If the file is too large, or has another number of pieces.
    pub fn of_pieces(size: u64, pieces: Pieces) -> Result<Self, ChunksError> {
        let Pieces { bytes, hashes, .. } = pieces;
        let (expected, got) = (size.div_ceil(bytes.max(1)), hashes.len());
        if expected != got as u64 {
            return Err(ChunksError::Count { size, bytes, expected, got });
        }
        Self::without_tree(size, bytes.max(1), Proof::Pieces(hashes))
    }

    fn without_tree(size: u64, bytes: u64, proof: Proof) -> Result<Self, ChunksError> {
        if size > MOST_SIZE {
            return Err(ChunksError::TooLarge(size));
        }
        // The same size and chunks may be another file; what the servers say of it is kept beside the journal.
        let mut hasher = blake3::Hasher::new_derive_key("anabranch 2026 file without a tree");
        hasher.update(&size.to_le_bytes()).update(&bytes.to_le_bytes());
        Ok(Self { size, bytes, id: Root(*hasher.finalize().as_bytes()), proof })
    }

    /// Size of the file in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Size of each chunk in bytes, except for the last.
    pub fn chunk_bytes(&self) -> u64 {
        self.bytes
    }

    /// Name of the file in journals: the hash of its tree, if it has one.
    pub fn id(&self) -> Root {
        self.id
    }

    /// The tree of the file, if there is one.
    pub fn tree(&self) -> Option<&Arc<Digests>> {
        match &self.proof {
            Proof::Tree(digests) => Some(digests),
            Proof::Pieces(_) | Proof::Nothing => None,
        }
    }

    /// Whether each chunk can be verified alone.
    pub fn is_verified(&self) -> bool {
        !matches!(self.proof, Proof::Nothing)
    }

    /// Number of chunks.
    pub fn len(&self) -> u32 {
        self.size.div_ceil(self.bytes) as u32
    }

    /// Whether the file is empty.
    pub fn is_empty(&self) -> bool {
        self.size == 0
    }

    /// Offset and size of a chunk; `None` if there is no such chunk.
    pub fn extent(&self, chunk: u32) -> Option<(u64, usize)> {
        let offset = u64::from(chunk) * self.bytes;
        (chunk < self.len()).then(|| (offset, (self.size - offset).min(self.bytes) as usize))
    }

    /// Whether these bytes may be the given chunk of the file, as far as is known.
    pub fn fit(&self, chunk: u32, bytes: &[u8]) -> bool {
        let Some((_, length)) = self.extent(chunk) else { return false };
        match &self.proof {
            Proof::Tree(digests) => digests.fit(chunk, bytes),
            Proof::Pieces(hashes) => {
                let hash = &hashes[chunk as usize];
                bytes.len() == length && hash.algorithm().of(bytes) == *hash
            }
            Proof::Nothing => bytes.len() == length,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_verified_alone() {
        let file = b"aaaabbbbcc";
        let hashes: Vec<_> = file.chunks(4).map(|piece| Algorithm::Sha1.of(piece)).collect();
        let pieces = Pieces { algorithm: Algorithm::Sha1, bytes: 4, hashes };
        let chunks = Chunks::of_pieces(10, pieces.clone()).unwrap();
        assert_eq!((chunks.len(), chunks.extent(2), chunks.extent(3)), (3, Some((8, 2)), None));
        assert!(chunks.fit(1, b"bbbb") && chunks.fit(2, b"cc"));
        assert!(!chunks.fit(0, b"bbbb") && !chunks.fit(2, b"c") && !chunks.fit(3, b""));
        assert!(matches!(Chunks::of_pieces(13, pieces), Err(ChunksError::Count { expected: 4, got: 3, .. })));
    }

    #[test]
    fn a_chunk_of_which_nothing_is_known_has_its_size_alone() {
        let chunks = Chunks::unverified(300_000).unwrap();
        assert!(!chunks.is_verified());
        assert!(chunks.fit(1, &vec![7; 300_000 - (256 << 10)]) && !chunks.fit(1, &[7; 10]));
        assert!(matches!(Chunks::unverified(MOST_SIZE + 1), Err(ChunksError::TooLarge(_))));
        let empty = Chunks::unverified(0).unwrap();
        assert!(empty.is_empty() && empty.extent(0).is_none());
    }

    #[test]
    fn a_tree_verifies_its_chunks_and_names_the_file() {
        let digests = Arc::new(Digests::of(3, &b"abc"[..]).unwrap());
        let chunks = Chunks::from(Arc::clone(&digests));
        assert_eq!((chunks.id(), chunks.len()), (digests.root(), 1));
        assert!(chunks.fit(0, b"abc") && !chunks.fit(0, b"abd"));
    }
}
