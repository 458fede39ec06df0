//! Which code names a run: a sweep's runs keep their names when other code changes.

#[path = "../build/sources.rs"]
mod sources;

use std::path::Path;

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

#[test]
fn the_digest_covers_what_simulator_and_scenario_depend_on_and_nothing_else() {
    // A crate that comes to this list renames the runs of all sweeps whenever it changes.
    let wanted = ["core", "fair", "filling", "links", "plan", "proto", "psi", "queues", "scenario", "sim"];
    assert!(sources::simulator_crates(root()).iter().eq(wanted.iter()));
}

#[test]
fn the_digest_covers_the_bindings_that_runs_go_through() {
    let files = sources::of_bindings(root());
    let names: Vec<_> = files.iter().map(|file| file.file_stem().unwrap().to_str().unwrap()).collect();
    for name in ["columns", "network", "paths", "scenario", "simulate"] {
        assert!(names.contains(&name), "{name} is missing from {names:?}");
    }
    for name in ["emulate", "live", "live_run", "transfer", "fair"] {
        assert!(!names.contains(&name), "{name} makes no simulated result");
    }
}

#[test]
fn each_crate_has_sources_and_no_tests_among_them() {
    for name in sources::simulator_crates(root()) {
        let files = sources::of_crate(root(), &name);
        assert!(files.iter().any(|file| file.ends_with("src/lib.rs")), "{name}");
        assert!(!files.iter().any(|file| file.ends_with("tests.rs") || file.ends_with("testing.rs")), "{name}");
    }
}

#[test]
fn packages_of_others_count_if_the_simulator_is_compiled_with_them() {
    let packages = sources::packages(root(), &sources::simulator_crates(root()));
    let has = |name: &str| packages.iter().any(|package| package.split(' ').next() == Some(name));
    // `ppv-lite86` is beneath `rand_chacha`; QUIC is of live runs alone, and `loom` of tests.
    assert!(["rand_chacha", "ppv-lite86", "toml", "serde"].iter().all(|name| has(name)), "{packages:?}");
    assert!(!["noq", "rustls", "tokio", "loom", "proptest", "parquet"].iter().any(|name| has(name)), "{packages:?}");
}
