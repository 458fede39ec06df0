//! The scenario file: network, connections and run, as people write them.
//!
//! It is TOML with the network (inline, by rule or in a separate file), the connections and their paths, and the
//! settings of a run. The types in [`mod@file`] define the format. [`Scenario`] is a file that was read;
//! [`anabranch_plan::Plan`] is the result when everything is drawn, resolved and checked. Every error has line and
//! column, reason and remedy; an unknown key is an error.

mod build;
mod edit;
mod error;
pub mod file;
mod keys;
mod schema;
mod set;
mod synonyms;
mod trace;
mod values;

pub use build::{NetworkFile, NetworkSource, Read, Scenario};
pub use edit::{Edit, edited};
pub use error::ScenarioError;
pub use keys::key_at;
pub use schema::scenario_schema;
pub use trace::Trace;
pub use values::{MOST_DEPTH, Value, read_values};
