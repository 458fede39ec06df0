//! Tests with real packets in labs, one lab at a time.
#![cfg(target_os = "linux")]

mod agents;
mod lab;
mod run;
