//! Metalink files: what is taken has names that lead nowhere else, mirrors by http or https, and usable pieces.
#![no_main]

use anabranch_transfer::metalink::read;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| match read(bytes) {
    Ok(files) => {
        assert!(!files.is_empty());
        for file in files {
            assert!(file.name.parts().all(|part| !matches!(part, "" | "." | "..")));
            assert!(file.urls.iter().all(|url| url.to_ascii_lowercase().starts_with("http")));
            assert!(file.hashes.iter().all(|hash| hash.digest().len() == hash.algorithm().bytes()));
            if let Some(pieces) = file.pieces {
                assert!(pieces.are_usable());
                assert!(pieces.hashes.iter().all(|hash| hash.algorithm() == pieces.algorithm));
            }
        }
    }
    Err(error) => assert!(error.to_string().len() < 4096, "a refusal is short"),
});
