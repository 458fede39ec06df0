//! The journal of an unfinished file: what is good of it is a journal that says the same.
#![no_main]

use anabranch_transfer::journal::{header, read};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(journal) = read(bytes) {
        assert_eq!(read(&bytes[..journal.good]).as_ref(), Ok(&journal));
    }
    // Random bytes have no valid header, so records are read behind one.
    let root = anabranch_transfer::Root([9; 32]);
    let read_on = read(&[&header(1 << 30, root), bytes].concat()).expect("the header is good");
    assert!(read_on.chunks.iter().all(|&chunk| chunk < 1 << 12));
});
