//! Real connections: the window controls of `anabranch_proto` under multipath QUIC, sockets, paths and measurement.

#![forbid(unsafe_code)]

pub mod control;
mod paths;
pub mod perf;
pub mod security;
pub mod session;
pub mod sockets;
pub mod url;

pub use paths::PathReport;
