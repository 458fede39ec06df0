//! Protocols as state machines: they decide, and neither send nor wait nor read a clock.
//!
//! [`control`] has the traits, [`packet`] the contents of control packets, [`protocols`] one file for each protocol and
//! the list of all, [`endpoint`] the machinery of sources and hops, [`window`] the decisions of protocols that keep
//! windows, [`transport`] their sources and sinks, [`formula`] formulas that scenario files give to a protocol.

pub mod account;
pub mod control;
pub mod endpoint;
pub mod formula;
pub mod packet;
pub mod protocols;
#[cfg(test)]
mod testing;
pub mod transport;
pub mod window;

pub use control::{
    ConnectionView, LinkControl, LinkControls, LinkOrders, LinkView, MOST_POSITIONS, Orders, Position, QueueView,
    SourceControl, Visitor,
};
pub use packet::{Header, Positions};
pub use protocols::Protocol;
pub use window::WindowControl;
