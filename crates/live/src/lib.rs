//! Real connections: the window controls of `anabranch_proto` under multipath QUIC, with sockets, paths and
//! measurements; and fetches from web servers beside.

#![forbid(unsafe_code)]

pub mod agents;
pub mod authority;
pub mod callers;
pub mod conditions;
pub mod connect;
pub mod control;
pub mod feedback;
pub mod fetch;
mod marks;
mod messages;
mod paths;
pub mod perf;
pub mod qlog;
pub mod quic;
mod quic_config;
#[cfg(target_os = "linux")]
pub mod run;
pub mod running;
pub mod security;
pub mod session;
pub mod share;
pub mod sockets;
pub mod url;
mod verifier;
pub mod web;

pub use paths::{AddressPair, PathReport};
pub use quic_config::{QuicConfig, STREAM_WINDOW};
