//! Names of shared files: none leads out of the shared directory.
#![no_main]

use std::path::{Component, Path};

use anabranch_transfer::Name;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(name) = text.parse::<Name>() {
        assert!(Path::new(name.as_str()).components().all(|part| matches!(part, Component::Normal(_))));
        assert_eq!(name.to_string(), text);
    }
});
