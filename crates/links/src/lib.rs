//! Links, whether time is simulated or real: when a packet that enters one arrives, and what befalls it on the way.

mod departures;
pub mod faults;
mod link;
mod opportunities;
mod queue;
mod schedule;
mod service;

pub use link::{Links, Totals};
pub use queue::{Next, ServedQueue};
pub use service::{Later, Service};
