//! Which code the results of simulated runs go through: the simulator and the reader of scenarios, all that these depend
//! on, and the bindings of both.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Crates that runs begin at.
const CRATES: [&str; 2] = ["scenario", "sim"];

/// Modules of the bindings that runs begin at.
const MODULES: [&str; 2] = ["scenario", "simulate"];

/// The crates of the workspace that results go through, by their folders below `crates`.
pub fn simulator_crates(root: &Path) -> BTreeSet<String> {
    reached(CRATES.map(String::from), |name| {
        dependencies(root, name).iter().filter_map(|own| own.strip_prefix("anabranch-").map(String::from)).collect()
    })
}

/// The sources of a crate: all that ends in `.rs`, but tests, which change no result.
pub fn of_crate(root: &Path, name: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    find_sources(&root.join("crates").join(name).join("src"), &mut files);
    files.sort();
    files
}

/// The sources of the bindings that results go through: those that name each other as `crate::x`.
pub fn of_bindings(root: &Path) -> Vec<PathBuf> {
    let file = |name: &str| root.join("crates/py/src").join(format!("{name}.rs"));
    let named = |name: &str| -> Vec<String> {
        let text = fs::read_to_string(file(name)).unwrap_or_default();
        let words = text.split("crate::").skip(1).map(|rest| word(rest).to_owned());
        words.filter(|word| file(word).exists()).collect()
    };
    reached(MODULES.map(String::from), named).iter().map(|name| file(name)).collect()
}

/// Name, version and checksum of each package of others that some crates are compiled with, by the lock file.
pub fn packages(root: &Path, crates: &BTreeSet<String>) -> BTreeSet<String> {
    let lock = fs::read_to_string(root.join("Cargo.lock")).unwrap_or_default();
    let all: Vec<&str> = lock.split("[[package]]").skip(1).collect();
    // Dependencies are written as `name`, or as `name version` where there are several.
    let mut by_name: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for package in &all {
        let (name, version) = (value(package, "name"), value(package, "version"));
        by_name.entry(format!("{name} {version}")).or_default().push(package);
        by_name.entry(name).or_default().push(package);
    }
    let beneath = |name: &str| -> Vec<String> {
        let packages = by_name.get(name).into_iter().flatten();
        let list = packages.filter_map(|package| Some(package.split_once("dependencies = [")?.1.split_once(']')?.0));
        list.flat_map(|list| list.split('"').skip(1).step_by(2).map(String::from)).collect()
    };
    let own = crates.iter().flat_map(|name| dependencies(root, name)).filter(|name| !name.starts_with("anabranch-"));
    let names = reached(own, beneath);
    let found = names.iter().flat_map(|name| by_name.get(name).into_iter().flatten());
    found.map(|package| ["name", "version", "checksum"].map(|key| value(package, key)).join(" ")).collect()
}

/// What a crate depends on when it is compiled for others, by its manifest; not what its tests need.
fn dependencies(root: &Path, name: &str) -> Vec<String> {
    let manifest = fs::read_to_string(root.join("crates").join(name).join("Cargo.toml")).unwrap_or_default();
    let tables = manifest.split("\n[").filter(|table| {
        let head = table.split(']').next().unwrap_or_default();
        head == "dependencies" || head.ends_with(".dependencies")
    });
    let lines = tables.flat_map(|table| table.lines().skip(1));
    lines.map(|line| word(line).to_owned()).filter(|name| !name.is_empty()).collect()
}

/// All that is reached from some names by `next`, these included.
fn reached(from: impl IntoIterator<Item = String>, next: impl Fn(&str) -> Vec<String>) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut open: Vec<String> = from.into_iter().collect();
    while let Some(name) = open.pop() {
        if found.insert(name.clone()) {
            open.extend(next(&name));
        }
    }
    found
}

fn find_sources(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
        if name == "tests" || name == "testing" || name.ends_with("_tests") {
            continue;
        }
        if path.is_dir() {
            find_sources(&path, files);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            files.push(path);
        }
    }
}

/// The letters, digits, hyphens and underscores that a text begins with.
fn word(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_').unwrap_or(text.len());
    &text[..end]
}

/// The text behind a key of a package in the lock file; empty if there is none.
fn value(package: &str, key: &str) -> String {
    let line = package.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = \""));
    line.map_or_else(String::new, |value| value.trim_end_matches('"').to_owned())
}
