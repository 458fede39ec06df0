//! Simulation of protocols with packets, links, and connections that come and go, and the samples and counts of a run.
//!
//! [`simulate`] is a function of the plan and nothing else: the same plan gives the same outcome to the last bit.

mod atomic;
mod barrier;
#[cfg(test)]
mod barrier_tests;
mod calendar;
mod crew;
mod engine;
mod expected_load;
mod fairness;
mod gain;
mod memory;
mod packet;
mod partition;
mod record;
mod routes;
mod shard;
mod slab;
mod spare;
mod strays;
mod summary;
mod world;

use anabranch_plan::Plan;

pub use anabranch_links::Totals;
pub use engine::{Onlooker, Progress, simulate_on, simulate_seen};
pub use gain::Threads;
pub use memory::{Part, memory};
pub use record::{ConnectionTotal, Grant, LinkTotal, Outcome, SubflowTotal};
pub use summary::Summary;
pub use world::{ControlCount, QUANTILES, Wait};

/// Runs a plan on one thread to its end, or until `watch` says no; it is asked every 65,536 events.
pub fn simulate(plan: &Plan, watch: &mut dyn FnMut(Progress) -> bool) -> Outcome {
    simulate_on(plan, 1, watch)
}
