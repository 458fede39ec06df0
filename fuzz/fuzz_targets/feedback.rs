//! What the ends of a connection tell each other of marks and windows: what is read is written and read again as the same.
#![no_main]

use anabranch_live::feedback::Message;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(message) = Message::decode(bytes) {
        assert_eq!(message.encode(), bytes);
    }
});
