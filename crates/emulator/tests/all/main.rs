//! All tests of labs, in one program that is linked once.
#![cfg(target_os = "linux")]

mod as_simulated;
mod lab;
