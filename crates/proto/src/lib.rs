//! Protocols as state machines: they decide, and neither send nor wait nor read a clock.
//!
//! [`control`] has the traits, [`packet`] what control packets carry, [`protocols`] one file for each protocol and the list
//! of all, [`endpoint`] the machinery that sources and hops are made of.

pub mod control;
pub mod endpoint;
pub mod packet;
pub mod protocols;

pub use control::{
    ConnectionView, LinkControl, LinkControls, LinkView, MOST_POSITIONS, Orders, Position, SourceControl,
};
pub use packet::{Header, Positions};
pub use protocols::Protocol;
