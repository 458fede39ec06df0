//! The machinery that sources and hops are made of; it does what controls decide.

mod pacing;
mod reliable_hop;

pub use pacing::Pace;
pub use reliable_hop::{Frame, HopReceiver, HopSender};
