//! The digests of a file as a peer lists them: only those of the file with the hash that was asked for are taken.
#![no_main]

use anabranch_transfer::{Digests, Root};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u64, [u8; 32], &[u8])| {
    let (size, root, list) = input;
    if let Ok(digests) = Digests::listed(size, Root(root), list) {
        assert_eq!((digests.size(), digests.root(), digests.list()), (size, Root(root), list));
        let last = digests.len().wrapping_sub(1);
        assert_eq!(digests.extent(last).map_or(0, |(offset, length)| offset + length as u64), size);
    }
});
