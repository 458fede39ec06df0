//! Lists of shared files: what is read is written and read again as the same.
#![no_main]

use anabranch_transfer::listing::{decode, encode};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(entries) = decode(bytes) {
        assert_eq!(encode(&entries).as_deref(), Ok(bytes));
    }
});
