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

use std::path::PathBuf;

pub use measure::measure;
pub use report::{Interval, Report};
pub use serve::{Service, serve};
pub use wire::{Direction, MOST_BYTES, MOST_SECONDS, MOST_STREAMS, Request};

use crate::control::Unsuited;
use crate::session::SessionError;
use crate::url::{Url, UrlError};

/// What to measure.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The server.
    pub url: Url,
    /// A file of certificates that the server's is signed by, instead of fingerprints in the URL.
    pub authorities: Option<PathBuf>,
    /// Local addresses or interfaces; none for what the system chooses.
    pub via: Vec<String>,
    /// The name of the protocol that controls the sender.
    pub control: String,
    /// Who sends.
    pub direction: Direction,
    /// The sender stops after so long.
    pub seconds: f64,
    /// And after so many bytes.
    pub bytes: u64,
    /// Over so many streams at a time.
    pub streams: u32,
    /// Which of the paths share links, by a number for each; empty if it is not known.
    pub groups: Vec<u32>,
}

/// What has happened.
#[derive(Debug)]
pub enum Event {
    /// The server is there.
    Serving(Url),
    /// It has served, or refused; a line that says what.
    Served(String),
    /// Some time of a measurement is over.
    Interval(Box<Interval>),
    /// The measurement is over.
    Measured(Box<Report>),
    /// It went wrong.
    Failed(PerfError),
}

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
