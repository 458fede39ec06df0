//! Measurement of the throughput between two machines: memory to memory, over all paths, reported in the format of
//! iperf3.
//!
//! The client sends one request. Then data flow in one direction, on one or more streams, and the receiving end reports
//! how many arrived.

mod data;
mod measure;
mod report;
mod running;
mod serve;
mod wire;

use std::path::PathBuf;
use std::sync::Arc;

pub use measure::measure;
pub use report::{Interval, Report};
pub use serve::{Service, serve};
pub use wire::{Direction, MOST_BYTES, MOST_SECONDS, MOST_STREAMS, Request};

use crate::conditions::Present;
use crate::control::Unsuited;
use crate::qlog::Qlog;
use crate::session::SessionError;
use crate::url::{Url, UrlError};

/// A measurement to make.
#[derive(Clone, Debug)]
pub struct Plan {
    /// URL of the server.
    pub url: Url,
    /// File of certificates that signed the server's, instead of fingerprints in the URL.
    pub authorities: Option<PathBuf>,
    /// Local addresses or interfaces; empty if the system chooses.
    pub via: Vec<String>,
    /// Name of the protocol that controls the sender.
    pub control: String,
    /// The end that sends.
    pub direction: Direction,
    /// Time in seconds after which the sender stops.
    pub seconds: f64,
    /// Amount in bytes after which the sender stops.
    pub bytes: u64,
    /// Number of parallel streams.
    pub streams: u32,
    /// Groups of paths, and the most that the sender may send; no other may be given for the paths of a server than a
    /// total.
    pub conditions: Present,
    /// Where the log of the connection is kept, if it is.
    pub qlog: Option<Arc<Qlog>>,
}

/// An event of a measurement or of a server.
#[derive(Debug)]
pub enum Event {
    /// The server serves at this URL.
    Serving(Url),
    /// The server has served or refused a client, as this text says.
    Served(String),
    /// An interval of the measurement is over.
    Interval(Box<Interval>),
    /// The measurement is over.
    Measured(Box<Report>),
    /// The measurement or the server has failed.
    Failed(PerfError),
}

/// A measurement or a server of measurements, on its own threads.
pub type Running = crate::running::Running<Event>;

/// The reason why a measurement or a server failed.
#[derive(Debug, thiserror::Error)]
pub enum PerfError {
    /// There is no connection.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// A text is not a URL of a server.
    #[error(transparent)]
    Url(#[from] UrlError),
    /// The requested protocol cannot control real connections.
    #[error(transparent)]
    Unsuited(#[from] Unsuited),
    /// A value of the request is out of its range.
    #[error("{what} is {asked}; it must be {range}")]
    OutOfRange {
        /// Name of the value.
        what: &'static str,
        /// Value in the request.
        asked: String,
        /// Permitted range of the value.
        range: String,
    },
    /// The peer refused the request.
    #[error("the server refuses: {0}")]
    Refused(String),
    /// The connection ended early.
    #[error("the connection ended: {0}")]
    Ended(String),
    /// The peer violated the protocol of measurements.
    #[error("the peer does not keep to the rules: {0}")]
    Unruly(String),
    /// The peer sent a message that is too long.
    #[error("the peer does not keep to the rules: a message of {0} bytes; there may be {most}", most = wire::MOST_MESSAGE)]
    TooLong(usize),
    /// The server serves files.
    #[error(
        "this is a share (`anabranch share` or `send`), which is not for measurements; fetch from it by `anabranch fetch`"
    )]
    Share,
    /// Another program uses the address, or it is not of this machine.
    #[error("cannot serve at {address}: {error}; choose another address or port by `--serve`")]
    Listen {
        /// Address to serve at.
        address: std::net::SocketAddr,
        /// Error of the kernel.
        error: std::io::Error,
    },
    /// The runtime cannot be created.
    #[error("no threads to run on: {0}")]
    NoThreads(std::io::Error),
}
