//! Machinery of sources and hops, which carries out the decisions of controls.

mod pacing;
mod reliable_hop;

pub use pacing::Pace;
pub use reliable_hop::{Frame, HopReceiver, HopSender};
