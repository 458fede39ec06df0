//! Every application over every path: a proxy on the user's side and an exit on the other, with a connection over each
//! path between them, all under one window control.
//!
//! Applications come in by SOCKS 5 or HTTP, or because the kernel redirects their connections. Each connection is a flow over
//! streams of HTTP/3 to the exit, which connects to the target, and each flow of UDP one with datagrams. Whole IP packets of a
//! TUN device pass, too. To clients of others the exit speaks the standard alone.

#![forbid(unsafe_code)]

pub mod accounts;
mod bundle;
pub mod capacity;
pub mod credential;
mod dial;
pub mod doors;
pub mod exit;
pub mod flow;
mod http3;
pub mod ip;
mod ledger;
mod meter;
pub mod packets;
pub mod proxy;
pub mod rules;
pub mod socks;
pub mod target;
pub mod token;
mod tunnel;
mod unreached;
pub mod uplink;
pub mod watch;

pub use unreached::Unreached;
