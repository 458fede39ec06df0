//! The scenario file: what to do, as people write it.
//!
//! TOML with the network (inline or a file of its own), the connections and their paths. The types in [`mod@file`] are the
//! only truth about the format; [`Scenario`] is the checked outcome. Every mistake is told with line and column,
//! reason and remedy; an unknown key is a mistake.

mod build;
pub mod file;
pub mod plan;

pub use build::{NetworkSource, Scenario, ScenarioError};
