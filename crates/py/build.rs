//! Tells the module what it was compiled from, so that results of other code are known as such.

use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let crates = PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("..");
    let mut files = vec![crates.join("../Cargo.lock")];
    find_sources(&crates, &mut files);
    files.sort();
    let mut digest = Digest::new();
    for file in files {
        println!("cargo:rerun-if-changed={}", file.display());
        // Where a file lies is no matter, and neither is how its lines end.
        let text = fs::read_to_string(&file).unwrap_or_default().replace("\r\n", "\n");
        digest.add(file.file_name().and_then(|name| name.to_str()).unwrap_or_default());
        digest.add(&text);
    }
    println!("cargo:rustc-env=ANABRANCH_SOURCES={:016x}", digest.0);
}

/// Adds the sources below `folder`: all that ends in `.rs`, but tests, which change no result.
fn find_sources(folder: &Path, files: &mut Vec<PathBuf>) {
    println!("cargo:rerun-if-changed={}", folder.display());
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let is_test = path.file_stem().is_some_and(|name| name == "tests" || name == "examples" || name == "benches");
        if is_test {
            continue;
        }
        if path.is_dir() {
            find_sources(&path, files);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            files.push(path);
        }
    }
}

/// FNV-1a in 64 bits: the same on every machine, with nothing to install.
struct Digest(u64);

impl Digest {
    fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    fn add(&mut self, text: &str) {
        for byte in text.bytes().chain([0]) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}
