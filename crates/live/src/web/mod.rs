//! Files from ordinary web servers, by HTTP/1.1: addresses, connections over a chosen interface, and checked answers.
//!
//! A connection is TCP of the kernel, so its congestion control is the kernel's, and it is coupled with no other.

mod address;
mod answer;
mod dial;
mod get;

pub use address::{WebUrl, WebUrlError};
pub use answer::{AnswerError, Facts, Range, read_head};
pub use dial::{DialError, Dialer, Tls};
pub use get::{Body, Connection, Follower, WebError, small_file};
