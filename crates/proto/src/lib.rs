//! Protocols as state machines: they decide, and neither send nor wait nor read a clock.
//!
//! [`control`] has the traits, [`packet`] what control packets carry, [`protocols`] one file for each protocol and the list
//! of all, [`queues`] what waits at links and in which order it leaves, [`endpoint`] the machinery that sources and hops are
//! made of, [`window`] what protocols decide that keep windows, [`transport`] their sources and sinks.

mod choice;
pub mod control;
pub mod endpoint;
pub mod packet;
pub mod protocols;
pub mod queues;
#[cfg(test)]
mod testing;
pub mod transport;
pub mod window;

pub use control::{
    ConnectionView, LinkControl, LinkControls, LinkOrders, LinkView, MOST_POSITIONS, Orders, Position, Queue,
    SourceControl, Visitor,
};
pub use packet::{Header, Positions};
pub use protocols::Protocol;
pub use queues::Ecn;
pub use window::WindowControl;
