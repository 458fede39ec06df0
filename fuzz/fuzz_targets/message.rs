//! Requests and answers of transfers: what is read is written and read again as the same.
#![no_main]

use anabranch_transfer::message::{decode, encode};
use anabranch_transfer::{Answer, Request};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|body: &[u8]| {
    // What postcard writes may be shorter than what it reads, and never longer than a message may be.
    if let Ok(request) = decode::<Request>(body)
        && let Ok(again) = encode(&request)
    {
        assert_eq!(decode(&again[2..]), Ok(request));
    }
    if let Ok(answer) = decode::<Answer>(body)
        && let Ok(again) = encode(&answer)
    {
        assert_eq!(decode(&again[2..]), Ok(answer));
    }
});
