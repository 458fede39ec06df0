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

/// A measurement to make.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The URL of the server.
    pub url: Url,
    /// A file of certificates that the server's is signed by, instead of fingerprints in the URL.
    pub authorities: Option<PathBuf>,
    /// Local addresses or interfaces; none for what the system chooses.
    pub via: Vec<String>,
    /// The name of the protocol that controls the sender.
    pub control: String,
    /// The end that sends.
    pub direction: Direction,
    /// Seconds after which the sender stops.
    pub seconds: f64,
    /// Bytes after which the sender stops.
    pub bytes: u64,
    /// The number of streams at a time.
    pub streams: u32,
    /// Which of the paths share links, by a number for each; empty if it is not known.
    pub groups: Vec<u32>,
}

/// An event of a measurement or of a server.
#[derive(Debug)]
pub enum Event {
    /// The server serves at this URL.
    Serving(Url),
    /// The server has served or refused a client, as this line says.
    Served(String),
    /// An interval of the measurement is over.
    Interval(Box<Interval>),
    /// The measurement is over.
    Measured(Box<Report>),
    /// The measurement or the server has failed.
    Failed(PerfError),
}

/// A measurement or a server of measurements, on threads of its own.
pub type Running = crate::running::Running<Event>;

/// Why there is no measurement.
#[derive(Debug, thiserror::Error)]
pub enum PerfError {
    /// There is no connection.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// A text is no URL of a server.
    #[error(transparent)]
    Url(#[from] UrlError),
    /// The requested congestion control cannot control real connections.
    #[error(transparent)]
    Unsuited(#[from] Unsuited),
    /// A value of the request is out of its range.
    #[error("{what} is {asked}; it must be {range}")]
    OutOfRange {
        /// The value as it was given.
        what: &'static str,
        /// The value as it was given.
        asked: String,
        /// The range of the value.
        range: String,
    },
    /// The peer refuses.
    #[error("the server refuses: {0}")]
    Refused(String),
    /// The connection ended before its time.
    #[error("the connection ended: {0}")]
    Ended(String),
    /// The peer breaks the rules of the exchange.
    #[error("the peer does not keep to the rules: {0}")]
    Unruly(String),
    /// The runtime cannot be made.
    #[error("no threads to run on: {0}")]
    NoThreads(std::io::Error),
}
