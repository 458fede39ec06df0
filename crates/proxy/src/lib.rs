//! Every application over every path: a proxy on the user's side and an exit on the other, with one connection over
//! several paths between them, under any window control.
//!
//! Applications come in by SOCKS 5 or HTTP, or because the kernel redirects their connections. Each connection is a stream of
//! HTTP/3 to the exit, which connects to the target, and each flow of UDP is one with datagrams. The exit speaks the standard
//! alone, so that clients of others can use it.

#![forbid(unsafe_code)]

mod bundle;
mod dial;
pub mod doors;
pub mod exit;
pub mod flow;
mod http3;
pub mod packets;
pub mod proxy;
pub mod rules;
pub mod socks;
pub mod target;
pub mod token;
mod tunnel;
mod unreached;
pub mod uplink;

pub use unreached::Unreached;
