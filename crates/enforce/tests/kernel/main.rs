//! All tests that change the kernel, in network namespaces that end with the test, in one program.
#![cfg(target_os = "linux")]

mod after_death;
mod node;
mod refused;
mod segments;
mod sessions;
mod two_paths;
