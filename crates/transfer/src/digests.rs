//! The BLAKE3 tree of a file down to its chunks [oconnor2021, sec. 2.1].
//!
//! BLAKE3 hashes a file as a binary tree over blocks of 1 KiB. A chunk here is an aligned power of two of these blocks,
//! hence a subtree; its digest is the chaining value of that subtree. The root follows from the digests of all chunks,
//! and is the same hash that `b3sum` prints. A receiver that trusts the root can verify the list of digests, and then
//! each chunk alone, in any order.

use std::fmt;
use std::io::{self, Read};
use std::str::FromStr;

use blake3::hazmat::{HasherExt, Mode, left_subtree_len, merge_subtrees_non_root, merge_subtrees_root};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Least size of a chunk in bytes.
pub const LEAST_CHUNK: u64 = 256 << 10;

/// Greatest size of a chunk in bytes.
pub const MOST_CHUNK: u64 = 16 << 20;

/// Greatest number of chunks of a file, so that its list of digests has at most 8 MiB.
pub const MOST_CHUNKS: u64 = 1 << 18;

/// Greatest size of a file in bytes: 4 TiB.
pub const MOST_SIZE: u64 = MOST_CHUNK * MOST_CHUNKS;

/// Size of a digest in bytes.
pub const DIGEST: usize = 32;

/// The BLAKE3 hash of a file.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Root(pub [u8; DIGEST]);

/// The digests of the chunks of a file, in agreement with its root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Digests {
    size: u64,
    root: Root,
    chunks: Vec<[u8; DIGEST]>,
}

/// The reason why digests are not those of a file.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[allow(missing_docs)]
pub enum DigestsError {
    #[error("a file of {0} bytes is too large; files may have {MOST_SIZE}")]
    TooLarge(u64),
    #[error("a file of {size} bytes has {expected} digests, not {got}")]
    Count { size: u64, expected: u64, got: usize },
    #[error("the digests are not those of the file with hash {0}")]
    Root(Root),
}

/// Size of each chunk of a file except the last: the least power of two from [`LEAST_CHUNK`] on for which there are at
/// most [`MOST_CHUNKS`].
pub fn chunk_bytes(size: u64) -> u64 {
    size.div_ceil(MOST_CHUNKS).max(LEAST_CHUNK).next_power_of_two()
}

/// Number of chunks of a file of `size` bytes.
pub fn chunk_count(size: u64) -> u64 {
    size.div_ceil(chunk_bytes(size))
}

/// The digest of a chunk that begins `offset` bytes into a file of `size` bytes.
fn digest(size: u64, offset: u64, bytes: &[u8]) -> [u8; DIGEST] {
    // The only chunk of a file is its root, which BLAKE3 hashes differently from the rest of the tree.
    if size <= chunk_bytes(size) {
        return *blake3::hash(bytes).as_bytes();
    }
    blake3::Hasher::new().set_input_offset(offset).update(bytes).finalize_non_root()
}

/// The chaining values of the two halves of the subtree over `bytes` bytes, which has two chunks or more.
fn halves(chunks: &[[u8; DIGEST]], bytes: u64, chunk: u64) -> ([u8; DIGEST], [u8; DIGEST]) {
    let left = left_subtree_len(bytes);
    let (first, second) = chunks.split_at((left / chunk) as usize);
    (subtree(first, left, chunk), subtree(second, bytes - left, chunk))
}

/// The chaining value of the subtree over `bytes` bytes.
fn subtree(chunks: &[[u8; DIGEST]], bytes: u64, chunk: u64) -> [u8; DIGEST] {
    if let [only] = chunks {
        return *only;
    }
    let (left, right) = halves(chunks, bytes, chunk);
    merge_subtrees_non_root(&left, &right, Mode::Hash)
}

/// The root of a file, from its chunks.
fn root(chunks: &[[u8; DIGEST]], size: u64) -> Root {
    match chunks {
        [] => Root(*blake3::hash(b"").as_bytes()),
        [only] => Root(*only),
        _ => {
            let (left, right) = halves(chunks, size, chunk_bytes(size));
            Root(*merge_subtrees_root(&left, &right, Mode::Hash).as_bytes())
        }
    }
}

impl Digests {
    /// The digests of a file of `size` bytes, which is read completely.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, has another size or is larger than [`MOST_SIZE`].
    pub fn of(size: u64, mut file: impl Read) -> io::Result<Self> {
        if size > MOST_SIZE {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, DigestsError::TooLarge(size)));
        }
        let mut bytes = vec![0; chunk_bytes(size).min(size) as usize];
        let mut chunks = Vec::with_capacity(chunk_count(size) as usize);
        let mut offset = 0;
        while offset < size {
            let length = (size - offset).min(chunk_bytes(size));
            let bytes = &mut bytes[..length as usize];
            file.read_exact(bytes)?;
            chunks.push(digest(size, offset, bytes));
            offset += length;
        }
        if file.read(&mut [0])? > 0 {
            return Err(io::Error::other(format!("the file has more than the {size} bytes that it had before")));
        }
        Ok(Self { size, root: root(&chunks, size), chunks })
    }

    /// The digests of the file with this root, from a peer's list of consecutive digests.
    ///
    /// # Errors
    /// Returns an error if there are too many or too few, or they are not those of this file.
    pub fn listed(size: u64, expected: Root, list: &[u8]) -> Result<Self, DigestsError> {
        let count = Self::list_bytes(size)? / DIGEST;
        let (chunks, rest) = list.as_chunks::<DIGEST>();
        if chunks.len() != count || !rest.is_empty() {
            return Err(DigestsError::Count { size, expected: count as u64, got: chunks.len() });
        }
        if root(chunks, size) != expected {
            return Err(DigestsError::Root(expected));
        }
        Ok(Self { size, root: expected, chunks: chunks.to_vec() })
    }

    /// Size of the list of a file of `size` bytes.
    ///
    /// # Errors
    /// Returns an error if the file is larger than [`MOST_SIZE`].
    pub fn list_bytes(size: u64) -> Result<usize, DigestsError> {
        if size > MOST_SIZE { Err(DigestsError::TooLarge(size)) } else { Ok(chunk_count(size) as usize * DIGEST) }
    }

    /// The list of consecutive digests, which [`Self::listed`] takes.
    pub fn list(&self) -> &[u8] {
        self.chunks.as_flattened()
    }

    /// Size of the file in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The hash of the file.
    pub fn root(&self) -> Root {
        self.root
    }

    /// Number of chunks.
    pub fn len(&self) -> u32 {
        self.chunks.len() as u32
    }

    /// Whether the file is empty.
    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// Offset and size of a chunk; `None` if there is no such chunk.
    pub fn extent(&self, chunk: u32) -> Option<(u64, usize)> {
        let bytes = chunk_bytes(self.size);
        let offset = u64::from(chunk) * bytes;
        (chunk < self.len()).then(|| (offset, (self.size - offset).min(bytes) as usize))
    }

    /// Whether these bytes are the given chunk of the file.
    pub fn fit(&self, chunk: u32, bytes: &[u8]) -> bool {
        self.extent(chunk).is_some_and(|(offset, length)| {
            bytes.len() == length && digest(self.size, offset, bytes) == self.chunks[chunk as usize]
        })
    }
}

impl fmt::Display for Root {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        blake3::Hash::from_bytes(self.0).to_hex().fmt(formatter)
    }
}

impl fmt::Debug for Root {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Root({self})")
    }
}

impl FromStr for Root {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        blake3::Hash::from_hex(text)
            .map(|hash| Self(*hash.as_bytes()))
            .map_err(|_| format!("`{text}` is not a BLAKE3 hash; write the 64 hexadecimal digits that `b3sum` prints"))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn file(size: usize) -> Vec<u8> {
        (0..size).map(|at| (at ^ (at >> 8) ^ (at >> 16).wrapping_mul(77)) as u8).collect()
    }

    fn digests(file: &[u8]) -> Digests {
        Digests::of(file.len() as u64, file).unwrap()
    }

    #[test]
    fn the_root_is_the_hash_that_others_compute() {
        let chunk = LEAST_CHUNK as usize;
        for size in [0, 1, 1024, chunk - 1, chunk, chunk + 1, 2 * chunk, 3 * chunk, 5 * chunk + 17, 8 * chunk + 1] {
            let file = file(size);
            assert_eq!(digests(&file).root().0, *blake3::hash(&file).as_bytes(), "{size} bytes");
        }
    }

    #[test]
    fn each_chunk_is_verified_alone() {
        let file = file(3 * LEAST_CHUNK as usize + 5);
        let digests = digests(&file);
        assert_eq!(digests.len(), 4);
        assert_eq!(digests.extent(3), Some((3 * LEAST_CHUNK, 5)));
        assert_eq!(digests.extent(4), None);
        for chunk in 0..4 {
            let (offset, length) = digests.extent(chunk).unwrap();
            let mut bytes = file[offset as usize..][..length].to_vec();
            assert!(digests.fit(chunk, &bytes));
            assert!(!digests.fit((chunk + 1) % 4, &bytes), "a chunk in the place of another");
            bytes[length / 2] ^= 1;
            assert!(!digests.fit(chunk, &bytes), "one bit changed");
            assert!(!digests.fit(chunk, &file[offset as usize..][..length - 1]), "one byte less");
        }
    }

    #[test]
    fn a_list_that_is_not_the_files_is_refused() {
        let digests = digests(&file(3 * LEAST_CHUNK as usize));
        let (size, root) = (digests.size(), digests.root());
        let mut list = digests.list().to_vec();
        assert_eq!(Digests::listed(size, root, &list), Ok(digests));
        assert!(matches!(
            Digests::listed(size, root, &list[32..]),
            Err(DigestsError::Count { expected: 3, got: 2, .. })
        ));
        assert!(matches!(Digests::listed(size, root, &list[1..]), Err(DigestsError::Count { .. })));
        list[40] ^= 1;
        assert_eq!(Digests::listed(size, root, &list), Err(DigestsError::Root(root)));
        assert_eq!(Digests::listed(MOST_SIZE + 1, root, &[]), Err(DigestsError::TooLarge(MOST_SIZE + 1)));
    }

    #[test]
    fn chunks_grow_with_the_file_so_that_their_list_stays_short() {
        assert_eq!(chunk_bytes(0), LEAST_CHUNK);
        assert_eq!(chunk_bytes(LEAST_CHUNK * MOST_CHUNKS), LEAST_CHUNK);
        assert_eq!(chunk_bytes(LEAST_CHUNK * MOST_CHUNKS + 1), 2 * LEAST_CHUNK);
        assert_eq!(chunk_bytes(MOST_SIZE), MOST_CHUNK);
        assert_eq!(chunk_count(MOST_SIZE), MOST_CHUNKS);
        assert_eq!(Digests::list_bytes(MOST_SIZE), Ok(8 << 20));
    }

    #[test]
    fn a_file_that_changes_while_it_is_read_is_noticed() {
        assert!(Digests::of(10, &[0u8; 9][..]).is_err());
        assert!(Digests::of(10, &[0u8; 11][..]).is_err());
    }

    #[test]
    fn a_root_is_read_as_it_is_written() {
        let root = digests(b"abc").root();
        assert_eq!(root.to_string().parse(), Ok(root));
        assert!("xyz".parse::<Root>().is_err());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn lists_of_any_file_are_taken_and_any_changed_bit_is_refused(size in 0..2_000_000usize, bit in any::<usize>()) {
            let digests = digests(&file(size));
            let mut list = digests.list().to_vec();
            prop_assert_eq!(&Digests::listed(digests.size(), digests.root(), &list).unwrap(), &digests);
            if !list.is_empty() {
                let bit = bit % (8 * list.len());
                list[bit / 8] ^= 1 << (bit % 8);
                prop_assert!(Digests::listed(digests.size(), digests.root(), &list).is_err());
            }
        }

        #[test]
        fn no_list_is_too_strange(size in any::<u64>(), list in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(Digests::listed(size, Root([7; 32]), &list).is_err());
        }
    }
}
