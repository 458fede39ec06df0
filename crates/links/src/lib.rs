//! Models of links for simulated or real time: the arrival times of packets, and their queueing, loss and faults.

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
