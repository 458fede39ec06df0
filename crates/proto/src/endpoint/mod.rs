//! The machinery that sources and hops are made of; it does what controls decide.

mod hop;
mod pace;

pub use hop::{Frame, HopReceiver, HopSender};
pub use pace::Pace;
