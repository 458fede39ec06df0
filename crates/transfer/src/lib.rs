//! Files in verified chunks from several sources at once: requests, answers, schedules and journals.
//!
//! The crate does not send, read or wait. A driver with sockets and files does, and reports the results.
//!
//! - [`Name`]: the name of a shared file, which cannot lead out of the shared directory;
//! - [`Digests`]: the BLAKE3 tree of a file down to its chunks, so that each chunk is verified on arrival;
//! - [`Request`], [`Answer`]: the messages of fetchers and sharers, with limits on their sizes;
//! - [`Schedule`]: the source from which each chunk is requested, and chunks that are taken over from slow sources;
//! - [`journal`]: the journal with which a fetcher can continue after a crash;
//! - [`Chunks`]: the chunks of a file, verified by a tree, by pieces, or by nothing but the hash of the whole file;
//! - [`FileHash`], [`metalink`]: hashes by common hash functions, and the files that give them with mirrors;
//! - [`listing`]: the names and sizes of the files of a shared folder.

#![forbid(unsafe_code)]

pub mod chunks;
pub mod digests;
pub mod hash;
pub mod journal;
pub mod listing;
pub mod message;
pub mod metalink;
pub mod name;
pub mod schedule;

pub use chunks::{Chunks, ChunksError, Pieces};
pub use digests::{Digests, DigestsError, Root};
pub use hash::{Algorithm, FileHash, HashError, Hasher};
pub use message::{Answer, MOST_MESSAGE, MessageError, Refusal, Request};
pub use name::{Name, NameError};
pub use schedule::Schedule;
