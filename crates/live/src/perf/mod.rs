//! How fast data go between two machines: memory to memory, over all paths, in the words of iperf3.
//!
//! The client says what it wants in one message; then data flow one way, on one or more streams; and the end that took
//! them says how many there were.

mod data;
mod measure;
mod report;
mod running;
mod serve;
mod wire;

pub use measure::{Plan, measure};
pub use report::{Interval, Report};
pub use running::Event;
pub use serve::{Service, serve};
pub use wire::{Direction, MOST_BYTES, MOST_SECONDS, MOST_STREAMS, Request};

use crate::control::Unsuited;
use crate::session::SessionError;
use crate::url::UrlError;

/// A measurement or a server of measurements, on threads of its own.
pub type Running = crate::running::Running<Event>;

/// Why there is no measurement.
#[derive(Debug, thiserror::Error)]
pub enum PerfError {
    /// No connection.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// Not an address of a server.
    #[error(transparent)]
    Url(#[from] UrlError),
    /// The control that was asked for cannot be.
    #[error(transparent)]
    Unsuited(#[from] Unsuited),
    /// More is asked for than there may be.
    #[error("{what} is {asked}; it must be {range}")]
    OutOfRange {
        /// What was asked for.
        what: &'static str,
        /// How much of it.
        asked: String,
        /// How much there may be.
        range: String,
    },
    /// The peer refuses.
    #[error("the server refuses: {0}")]
    Refused(String),
    /// The connection ended before its time.
    #[error("the connection ended: {0}")]
    Ended(String),
    /// The peer says what it must not.
    #[error("the peer does not keep to the rules: {0}")]
    Unruly(String),
    /// The runtime cannot be made.
    #[error("no threads to run on: {0}")]
    NoThreads(std::io::Error),
}
