//! Web servers: their URLs, their redirects, and the heads of their answers to a request for a range.
#![no_main]

use anabranch_live::web::{WebUrl, read_head};
use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
struct Answered<'a> {
    url: &'a str,
    reference: &'a str,
    status: u16,
    headers: Vec<(&'a str, &'a [u8])>,
    first: u32,
    more: u16,
}

fuzz_target!(|answered: Answered<'_>| {
    if let Ok(url) = answered.url.parse::<WebUrl>() {
        assert_eq!(url.to_string().parse(), Ok(url.clone()));
        assert!(url.target().starts_with('/') && url.target().is_ascii());
        if let Ok(to) = url.join(answered.reference) {
            assert_eq!(to.to_string().parse(), Ok(to));
        }
    }
    let asked = u64::from(answered.first)..=u64::from(answered.first) + u64::from(answered.more);
    if let Some(Ok(facts)) = read_head(answered.status, &answered.headers, Some(&asked)) {
        // A part lies within the file, or the file is empty.
        assert!(!facts.takes_ranges || facts.size.is_none_or(|size| size > *asked.end() || size == 0));
    }
});
