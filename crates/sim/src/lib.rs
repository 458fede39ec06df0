//! Drives protocols in simulated time: packets, links, connections that come and go, and what is written down of them.
//!
//! [`simulate`] is a function of the plan and nothing else: the same plan gives the same outcome to the last bit.

mod atomic;
mod barrier;
#[cfg(test)]
mod barrier_tests;
mod calendar;
mod capacities;
mod connections;
mod control_pacing;
mod control_plane;
mod crew;
mod data;
mod engine;
mod expected_load;
mod fairness;
mod gain;
mod memory;
mod open_paths;
mod packet;
mod partition;
mod prefetch;
mod queue;
mod record;
mod relays;
mod reliable_hop;
mod routes;
mod shard;
mod slab;
mod spare;
mod strays;
mod summary;
mod transport;
mod waits;
mod world;

use anabranch_plan::Plan;

pub use anabranch_links::Totals;
pub use engine::{Onlooker, Progress, simulate_on, simulate_seen};
pub use gain::Threads;
pub use memory::{Part, memory};
pub use record::{ConnectionTotal, Grant, LinkTotal, Outcome, SubflowTotal};
pub use summary::Summary;
pub use waits::{QUANTILES, Wait};

/// Runs a plan to its end, or until `watch` says no; it is asked every 65,536 events.
pub fn simulate(plan: &Plan, watch: &mut dyn FnMut(Progress) -> bool) -> Outcome {
    simulate_on(plan, 1, watch)
}
