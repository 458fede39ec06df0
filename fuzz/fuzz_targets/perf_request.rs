//! What a client of measurements asks for: what is taken is within the limits.
#![no_main]

use anabranch_live::perf::{MOST_BYTES, MOST_SECONDS, MOST_STREAMS, Request};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &[u8]| {
    if let Ok(request) = Request::read(text) {
        assert!(request.seconds > 0.0 && request.seconds <= MOST_SECONDS);
        assert!(request.bytes <= MOST_BYTES && request.streams <= MOST_STREAMS);
    }
});
