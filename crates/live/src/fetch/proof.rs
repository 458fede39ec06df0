//! What shows that a fetched file is right: its chunks, its whole hash, or nothing.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use anabranch_transfer::{Algorithm, Chunks, Digests, FileHash, Hasher};

/// Bytes that are hashed at a time.
const PIECE: u64 = 1 << 20;

/// Hash functions whose hashes are told of every file that has no tree.
const TOLD: [Algorithm; 2] = [Algorithm::Sha256, Algorithm::Blake3];

/// The file that is expected: its chunks, and the hashes that the whole must have.
#[derive(Clone, Debug)]
pub struct Expected {
    /// The chunks of the file.
    pub chunks: Arc<Chunks>,
    /// Hashes that the whole file must have.
    pub hashes: Vec<FileHash>,
}

/// The hashes of a whole file.
pub struct KnownHashes {
    pub all: Vec<FileHash>,
}

impl From<Digests> for Expected {
    fn from(digests: Digests) -> Self {
        Self { chunks: Arc::new(Chunks::from(Arc::new(digests))), hashes: Vec::new() }
    }
}

impl Expected {
    /// Whether anything shows that a file is this one.
    pub fn is_proven(&self) -> bool {
        self.chunks.is_verified() || !self.hashes.is_empty()
    }

    /// The hash functions by which a whole file has to be hashed.
    fn algorithms(&self) -> Vec<Algorithm> {
        let wanted = self.hashes.iter().map(FileHash::algorithm);
        let mut all: Vec<_> = match self.chunks.tree() {
            Some(_) => wanted.filter(|&algorithm| algorithm != Algorithm::Blake3).collect(),
            None => wanted.chain(TOLD).collect(),
        };
        all.sort_unstable();
        all.dedup();
        all
    }
}

impl KnownHashes {
    /// A hash that is not the wanted one, and that one; `None` if all are right.
    pub fn wrong(&self, expected: &Expected) -> Option<(FileHash, FileHash)> {
        let of = |wanted: &FileHash| self.all.iter().find(|hash| hash.algorithm() == wanted.algorithm());
        let wrong = |wanted: &FileHash| Some((of(wanted).filter(|found| *found != wanted)?.clone(), wanted.clone()));
        expected.hashes.iter().find_map(wrong)
    }
}

/// The hashes of a file, as far as its tree does not give them.
///
/// # Errors
/// If it cannot be read.
pub fn known_hashes(file: &File, expected: &Expected) -> io::Result<KnownHashes> {
    let size = expected.chunks.size();
    let mut all = std::thread::scope(|scope| {
        let start = |algorithm| scope.spawn(move || hash_of(file, size, algorithm));
        let threads: Vec<_> = expected.algorithms().into_iter().map(start).collect();
        let hashes = threads.into_iter().map(|thread| thread.join().expect("hashing does not panic"));
        hashes.collect::<io::Result<Vec<FileHash>>>()
    })?;
    if let Some(tree) = expected.chunks.tree() {
        all.push(tree.root().into());
    }
    Ok(KnownHashes { all })
}

/// The hash of the first `size` bytes of a file.
fn hash_of(file: &File, size: u64, algorithm: Algorithm) -> io::Result<FileHash> {
    let mut hasher = Hasher::new(algorithm);
    let mut bytes = vec![0; PIECE.min(size) as usize];
    let mut offset = 0;
    while offset < size {
        let bytes = &mut bytes[..PIECE.min(size - offset) as usize];
        file.read_exact_at(bytes, offset)?;
        hasher.update(bytes);
        offset += bytes.len() as u64;
    }
    Ok(hasher.finish())
}

/// Whether all chunks of a file are right, as far as chunks are verified.
///
/// # Errors
/// If it cannot be read.
pub fn is_right(file: &File, expected: &Expected) -> io::Result<bool> {
    let chunks = &expected.chunks;
    let mut bytes = Vec::new();
    for chunk in 0..chunks.len() {
        let (offset, length) = chunks.extent(chunk).expect("there is this chunk");
        if !chunks.is_verified() {
            break;
        }
        bytes.resize(length, 0);
        file.read_exact_at(&mut bytes, offset)?;
        if !chunks.fit(chunk, &bytes) {
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn file(content: &[u8]) -> File {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(content).unwrap();
        file
    }

    fn unverified(hashes: Vec<FileHash>) -> Expected {
        Expected { chunks: Arc::new(Chunks::unverified(3).unwrap()), hashes }
    }

    #[test]
    fn a_file_without_a_tree_is_hashed_by_all_that_is_wanted_and_told() {
        let md5 = Algorithm::Md5.of(b"abc");
        let expected = unverified(vec![md5.clone()]);
        let hashes = known_hashes(&file(b"abc"), &expected).unwrap();
        assert_eq!(hashes.all, [Algorithm::Md5, Algorithm::Sha256, Algorithm::Blake3].map(|by| by.of(b"abc")));
        assert_eq!(hashes.wrong(&expected), None);
        let other = known_hashes(&file(b"abd"), &expected).unwrap();
        assert_eq!(other.wrong(&expected), Some((Algorithm::Md5.of(b"abd"), md5)));
        assert!(expected.is_proven() && !unverified(vec![]).is_proven());
    }

    #[test]
    fn a_tree_gives_its_hash_without_reading_the_file() {
        let digests = Digests::of(3, &b"abc"[..]).unwrap();
        let root = FileHash::from(digests.root());
        let mut expected = Expected::from(digests);
        assert_eq!(known_hashes(&file(b""), &expected).unwrap().all, std::slice::from_ref(&root));
        expected.hashes = vec![Algorithm::Sha1.of(b"abc")];
        assert_eq!(known_hashes(&file(b"abc"), &expected).unwrap().all, [Algorithm::Sha1.of(b"abc"), root]);
        assert!(is_right(&file(b"abc"), &expected).unwrap() && !is_right(&file(b"abd"), &expected).unwrap());
    }
}
