//! Rules of exits and targets: what is read is written and read again as the same.
#![no_main]

use anabranch_proxy::rules::Rule;
use anabranch_proxy::target::Target;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(rule) = text.parse::<Rule>() {
        assert_eq!(rule.to_string().parse(), Ok(rule));
    }
    if let Ok(target) = text.parse::<Target>() {
        assert_eq!(target.to_string().parse(), Ok(target));
    }
});
