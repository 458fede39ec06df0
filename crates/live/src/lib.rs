//! Real connections: the window controls of `anabranch_proto` under multipath QUIC, sockets, paths and measurement.

#![forbid(unsafe_code)]

pub mod control;
pub mod fetch;
mod messages;
mod paths;
pub mod perf;
pub mod running;
pub mod security;
pub mod session;
pub mod share;
pub mod sockets;
pub mod url;

pub use paths::PathReport;
