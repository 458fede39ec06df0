//! The scenario file: what to do, as people write it.
//!
//! TOML with the network (inline, by rule or in a file of its own), the connections and their paths, and what a run
//! needs. The types in [`mod@file`] are the only truth about the format; [`Scenario`] is what was read, [`anabranch_plan::Plan`]
//! what it comes to when everything is drawn, resolved and checked. Every mistake is told with line and column, reason
//! and remedy; an unknown key is a mistake.

mod build;
mod error;
pub mod file;
mod schema;
mod set;
mod trace;
mod values;

pub use build::{NetworkFile, NetworkSource, Read, Scenario};
pub use error::ScenarioError;
pub use schema::scenario_schema;
pub use trace::Trace;
pub use values::{MOST_DEPTH, Value, read_values};
