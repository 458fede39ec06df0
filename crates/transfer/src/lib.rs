//! Files in verified chunks from several sources at once: what is asked of whom, what is said, what is kept.
//!
//! Nothing here sends, reads or waits: a driver with sockets and files does, and brings what came of it.
//!
//! - [`Name`]: the name of a shared file, which cannot lead out of the shared directory;
//! - [`Digests`]: the BLAKE3 tree of a file down to its chunks, so that each is verified the moment it comes;
//! - [`Request`], [`Answer`]: what fetchers and sharers say to each other, with a limit on all of it;
//! - [`Schedule`]: which chunk is asked of which source, and which is taken from a slow one;
//! - [`journal`]: what a fetcher writes down to go on after a crash.

#![forbid(unsafe_code)]

pub mod digests;
pub mod journal;
pub mod message;
pub mod name;
pub mod schedule;

pub use digests::{Digests, DigestsError, Root};
pub use message::{Answer, MOST_MESSAGE, MessageError, Refusal, Request};
pub use name::{Name, NameError};
pub use schedule::Schedule;
