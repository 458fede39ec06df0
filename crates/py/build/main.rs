//! Tells the module which code the results of its runs go through, so that results of other code are known as such.

use std::path::PathBuf;
use std::{env, fs};

mod sources;

fn main() {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("../..");
    let mut digest = Digest::new();
    let crates = sources::simulator_crates(&root);
    let mut files: Vec<PathBuf> = crates.iter().flat_map(|name| sources::of_crate(&root, name)).collect();
    files.extend(sources::of_bindings(&root));
    for file in files {
        println!("cargo:rerun-if-changed={}", file.display());
        // Where a file lies is no matter, and neither is how its lines end.
        let text = fs::read_to_string(&file).unwrap_or_default().replace("\r\n", "\n");
        digest.add(file.file_name().and_then(|name| name.to_str()).unwrap_or_default());
        digest.add(&text);
    }
    for package in sources::packages(&root, &crates) {
        digest.add(&package);
    }
    // Files may come and go, and so may what crates depend on.
    for folder in crates.iter().map(|name| format!("crates/{name}")).chain(["Cargo.lock".to_owned()]) {
        println!("cargo:rerun-if-changed={}", root.join(folder).display());
    }
    println!("cargo:rustc-env=ANABRANCH_SOURCES={:016x}", digest.0);
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
