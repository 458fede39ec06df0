//! URLs of servers: what is read is written and read again as the same.
#![no_main]

use anabranch_live::url::Url;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(url) = text.parse::<Url>() {
        assert_eq!(url.to_string().parse(), Ok(url));
    }
});
