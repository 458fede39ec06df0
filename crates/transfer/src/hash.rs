//! Hashes of whole files and of their pieces, as download pages and Metalink files give them.

use std::fmt;
use std::str::FromStr;

use sha2::digest::DynDigest;
use thiserror::Error;

use crate::digests::Root;

/// A hash function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Algorithm {
    /// MD5, for which others can make two files with one hash.
    Md5,
    /// SHA-1, for which others can make two files with one hash.
    Sha1,
    /// SHA-224.
    Sha224,
    /// SHA-256.
    Sha256,
    /// SHA-384.
    Sha384,
    /// SHA-512.
    Sha512,
    /// BLAKE3.
    Blake3,
}

/// All hash functions with their names and the sizes of their hashes in bytes, the weakest first.
const ALL: [(Algorithm, &str, usize); 7] = [
    (Algorithm::Md5, "md5", 16),
    (Algorithm::Sha1, "sha1", 20),
    (Algorithm::Sha224, "sha224", 28),
    (Algorithm::Sha256, "sha256", 32),
    (Algorithm::Sha384, "sha384", 48),
    (Algorithm::Sha512, "sha512", 64),
    (Algorithm::Blake3, "blake3", 32),
];

impl Algorithm {
    /// The hash function of a name such as `sha256` or `SHA-256`; `None` if it is not known.
    pub fn named(name: &str) -> Option<Self> {
        let plain: String = name.chars().filter(|&c| c != '-').map(|c| c.to_ascii_lowercase()).collect();
        ALL.iter().find(|(_, own, _)| *own == plain).map(|&(algorithm, ..)| algorithm)
    }

    /// The name of the hash function, such as `sha256`.
    pub fn name(self) -> &'static str {
        ALL[self as usize].1
    }

    /// Size of a hash in bytes.
    pub fn bytes(self) -> usize {
        ALL[self as usize].2
    }

    /// Whether somebody can make two files with the same hash, so that it shows damage but not malice.
    pub fn is_weak(self) -> bool {
        matches!(self, Self::Md5 | Self::Sha1)
    }

    /// The hash of these bytes.
    pub fn of(self, bytes: &[u8]) -> FileHash {
        let mut hasher = Hasher::new(self);
        hasher.update(bytes);
        hasher.finish()
    }
}

/// The hash of a file or of a piece.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileHash {
    algorithm: Algorithm,
    digest: Vec<u8>,
}

/// The reason why a text is not a hash.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[allow(missing_docs)]
pub enum HashError {
    #[error("`{0}` is no hash function; one of md5, sha1, sha224, sha256, sha384, sha512 and blake3 is")]
    Algorithm(String),
    #[error("`{text}` is not a hash by {name}; it must be {digits} hexadecimal digits")]
    Digits { text: String, name: &'static str, digits: usize },
    #[error(
        "`{0}` is not a BLAKE3 hash; write the 64 hexadecimal digits that `b3sum` prints, or the hash function before \
         them, as in sha256:9f86..."
    )]
    Bare(String),
}

impl FileHash {
    /// The hash of these bytes; `None` if the hash function has hashes of another size.
    pub fn new(algorithm: Algorithm, digest: &[u8]) -> Option<Self> {
        (digest.len() == algorithm.bytes()).then(|| Self { algorithm, digest: digest.to_vec() })
    }

    /// Reads the hexadecimal digits of a hash.
    ///
    /// # Errors
    /// If it has too few or too many digits, or other characters.
    pub fn read(algorithm: Algorithm, text: &str) -> Result<Self, HashError> {
        let digits = 2 * algorithm.bytes();
        let wrong = || HashError::Digits { text: text.to_owned(), name: algorithm.name(), digits };
        if text.len() != digits || !text.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Err(wrong());
        }
        let byte = |at: usize| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).map_err(|_| wrong());
        Ok(Self { algorithm, digest: (0..algorithm.bytes()).map(byte).collect::<Result<_, _>>()? })
    }

    /// The hash function.
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// The bytes of the hash.
    pub fn digest(&self) -> &[u8] {
        &self.digest
    }

    /// The hash as the root of a BLAKE3 tree; `None` if it is by another hash function.
    pub fn root(&self) -> Option<Root> {
        let digest = self.digest.first_chunk().filter(|_| self.algorithm == Algorithm::Blake3)?;
        Some(Root(*digest))
    }
}

impl From<Root> for FileHash {
    fn from(root: Root) -> Self {
        Self { algorithm: Algorithm::Blake3, digest: root.0.to_vec() }
    }
}

impl fmt::Display for FileHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:", self.algorithm.name())?;
        self.digest.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl FromStr for FileHash {
    type Err = HashError;

    /// Reads `sha256:HEX` and the like, or the 64 digits of a BLAKE3 hash alone.
    fn from_str(text: &str) -> Result<Self, HashError> {
        let Some((name, digits)) = text.split_once(':') else {
            return Self::read(Algorithm::Blake3, text).map_err(|_| HashError::Bare(text.to_owned()));
        };
        let algorithm = Algorithm::named(name).ok_or_else(|| HashError::Algorithm(name.to_owned()))?;
        Self::read(algorithm, digits)
    }
}

/// A hash under computation.
pub struct Hasher {
    algorithm: Algorithm,
    state: State,
}

enum State {
    Blake3(Box<blake3::Hasher>),
    Other(Box<dyn DynDigest + Send>),
}

impl Hasher {
    /// Begins a hash.
    pub fn new(algorithm: Algorithm) -> Self {
        let state = match algorithm {
            Algorithm::Md5 => State::Other(Box::<md5::Md5>::default()),
            Algorithm::Sha1 => State::Other(Box::<sha1::Sha1>::default()),
            Algorithm::Sha224 => State::Other(Box::<sha2::Sha224>::default()),
            Algorithm::Sha256 => State::Other(Box::<sha2::Sha256>::default()),
            Algorithm::Sha384 => State::Other(Box::<sha2::Sha384>::default()),
            Algorithm::Sha512 => State::Other(Box::<sha2::Sha512>::default()),
            Algorithm::Blake3 => State::Blake3(Box::default()),
        };
        Self { algorithm, state }
    }

    /// Adds the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        match &mut self.state {
            State::Blake3(hasher) => {
                hasher.update(bytes);
            }
            State::Other(hasher) => hasher.update(bytes),
        }
    }

    /// The hash of all bytes.
    pub fn finish(self) -> FileHash {
        let digest = match self.state {
            State::Blake3(hasher) => hasher.finalize().as_bytes().to_vec(),
            State::Other(hasher) => hasher.finalize().into_vec(),
        };
        FileHash { algorithm: self.algorithm, digest }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_hash_of_abc_is_that_of_the_standards() {
        // RFC 1321, FIPS 180-4, and the test vectors of BLAKE3.
        for (text, length) in [
            ("md5:900150983cd24fb0d6963f7d28e17f72", 16),
            ("sha1:a9993e364706816aba3e25717850c26c9cd0d89d", 20),
            ("sha224:23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7", 28),
            ("sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", 32),
            ("blake3:6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85", 32),
        ] {
            let hash: FileHash = text.parse().unwrap();
            assert_eq!((hash.algorithm().of(b"abc"), hash.algorithm().bytes()), (hash.clone(), length));
            assert_eq!(hash.to_string(), text);
        }
    }

    #[test]
    fn hash_functions_have_their_places_in_the_list() {
        for (at, (algorithm, name, bytes)) in ALL.into_iter().enumerate() {
            assert_eq!((algorithm as usize, algorithm.of(b"").digest().len()), (at, bytes));
            assert_eq!(Algorithm::named(name), Some(algorithm));
        }
        assert_eq!(Algorithm::named("SHA-256"), Some(Algorithm::Sha256));
        assert_eq!(Algorithm::named("crc32"), None);
    }

    #[test]
    fn digits_alone_are_a_blake3_hash() {
        let digits = "0123456789abcdef".repeat(4);
        let hash: FileHash = digits.parse().unwrap();
        assert_eq!(hash.root().unwrap().to_string(), digits);
        assert_eq!(format!("sha256:{digits}").parse::<FileHash>().unwrap().root(), None);
    }

    #[test]
    fn what_is_no_hash_is_refused_with_its_reason() {
        for (text, reason) in [
            ("12", "`12` is not a BLAKE3 hash; write the 64"),
            ("crc32:12345678", "`crc32` is no hash function"),
            ("sha256:12", "`12` is not a hash by sha256; it must be 64 hexadecimal digits"),
            ("md5:zz0150983cd24fb0d6963f7d28e17f72", "it must be 32 hexadecimal digits"),
        ] {
            let error = text.parse::<FileHash>().unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
    }

    proptest! {
        #[test]
        fn a_hash_is_that_of_its_parts_in_order(bytes in prop::collection::vec(any::<u8>(), 0..300), cut in 0..300usize) {
            let cut = cut.min(bytes.len());
            for (algorithm, ..) in ALL {
                let mut hasher = Hasher::new(algorithm);
                hasher.update(&bytes[..cut]);
                hasher.update(&bytes[cut..]);
                prop_assert_eq!(hasher.finish(), algorithm.of(&bytes));
            }
        }

        #[test]
        fn any_text_is_a_hash_that_reads_as_it_is_written_or_an_error(text in "(md5|sha1|sha-256|x)?:?[0-9a-fé]{0,64}") {
            if let Ok(hash) = text.parse::<FileHash>() {
                prop_assert_eq!(hash.to_string().parse(), Ok(hash));
            }
        }
    }
}
