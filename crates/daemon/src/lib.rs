//! The agent of a node as a daemon: it reads one file, keeps the paths of its sessions, decides who may ask for what, and
//! shows what it does.

#![forbid(unsafe_code)]

mod config;
mod network;
mod router;
mod running;
mod service;
mod shown;
mod socket;
mod state;

pub use config::{Config, ConfigError};
pub use running::Running;
pub use service::{Daemon, DaemonError};
pub use socket::ask;
