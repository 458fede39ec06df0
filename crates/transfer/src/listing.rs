//! The listing of a shared folder: the names and sizes of its files.
//!
//! ```text
//! entry    size (8) | length of the name (2) | name
//! ```
//!
//! Numbers are little-endian. The list ends with its stream.

use thiserror::Error;

use crate::name::Name;

/// Greatest number of files of a listing.
pub const MOST_FILES: usize = 100_000;

/// Greatest size of a listing in bytes.
pub const MOST_BYTES: usize = 8 << 20;

/// Size of an entry before its name in bytes.
const HEAD: usize = 10;

/// A file of a listing.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// Name of the file, as it is requested.
    pub name: Name,
    /// Size of the file in bytes.
    pub size: u64,
}

/// The reason why bytes are not a listing.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ListingError {
    /// The listing ends within an entry.
    #[error("its list of files is cut off")]
    CutOff,
    /// A name is invalid.
    #[error("its list of files has a name that cannot be fetched")]
    Name,
    /// The listing is too long.
    #[error("its folder has too many files to list: more than {MOST_FILES}, or more than {MOST_BYTES} bytes of names")]
    TooLong,
}

/// Encodes a listing.
///
/// # Errors
/// If there are too many files.
pub fn encode(entries: &[Entry]) -> Result<Vec<u8>, ListingError> {
    let mut bytes = Vec::new();
    for Entry { name, size } in entries {
        let length = u16::try_from(name.as_str().len()).map_err(|_| ListingError::Name)?;
        bytes.extend(size.to_le_bytes());
        bytes.extend(length.to_le_bytes());
        bytes.extend(name.as_str().as_bytes());
    }
    if entries.len() > MOST_FILES || bytes.len() > MOST_BYTES { Err(ListingError::TooLong) } else { Ok(bytes) }
}

/// Decodes a listing.
///
/// # Errors
/// If it is cut off or too long, or has an invalid name.
pub fn decode(mut bytes: &[u8]) -> Result<Vec<Entry>, ListingError> {
    if bytes.len() > MOST_BYTES {
        return Err(ListingError::TooLong);
    }
    let mut entries = Vec::new();
    while let Some((head, rest)) = bytes.split_first_chunk::<HEAD>() {
        let size = u64::from_le_bytes(*head.first_chunk().expect("a head has a size"));
        let length = u16::from_le_bytes(*head.last_chunk().expect("a head has a length"));
        let (name, rest) = rest.split_at_checked(usize::from(length)).ok_or(ListingError::CutOff)?;
        let name = std::str::from_utf8(name).ok().and_then(|name| name.parse().ok()).ok_or(ListingError::Name)?;
        if entries.len() == MOST_FILES {
            return Err(ListingError::TooLong);
        }
        entries.push(Entry { name, size });
        bytes = rest;
    }
    if bytes.is_empty() { Ok(entries) } else { Err(ListingError::CutOff) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn entry(name: &str, size: u64) -> Entry {
        Entry { name: name.parse().unwrap(), size }
    }

    #[test]
    fn a_listing_is_read_as_it_was_written() {
        for entries in [vec![], vec![entry("a", 0), entry("maps/é", u64::MAX)]] {
            assert_eq!(decode(&encode(&entries).unwrap()), Ok(entries));
        }
    }

    #[test]
    fn a_listing_that_cannot_be_is_refused() {
        let bytes = encode(&[entry("abc", 7)]).unwrap();
        for cut in 1..bytes.len() {
            assert_eq!(decode(&bytes[..cut]), Err(ListingError::CutOff), "{cut}");
        }
        let mut leads_out = bytes.clone();
        leads_out[HEAD..].copy_from_slice(b"../");
        assert_eq!(decode(&leads_out), Err(ListingError::Name));
        assert_eq!(decode(&vec![0; MOST_BYTES + 1]), Err(ListingError::TooLong));
        assert_eq!(encode(&vec![entry("a", 0); MOST_FILES + 1]), Err(ListingError::TooLong));
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_listing_that_reads_as_it_is_written_or_an_error(bytes in prop::collection::vec(0..3u8, 0..60)) {
            if let Ok(entries) = decode(&bytes) {
                prop_assert_eq!(decode(&encode(&entries).unwrap()), Ok(entries));
            }
        }
    }
}
