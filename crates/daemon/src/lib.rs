//! The agent of a node as a daemon: it reads one file, keeps the paths of its sessions, decides who may ask for what, and
//! shows what it does.

#![forbid(unsafe_code)]

mod changes;
mod config;
mod control;
mod directory;
mod enforced;
mod feed;
mod http;
mod interfaces;
mod log;
mod network;
mod papers;
mod questions;
mod rights;
mod router;
mod running;
mod service;
mod sessions;
pub mod shown;
mod socket;
mod state;
mod topology;
mod watch;

pub use changes::Change;
pub use config::{Config, ConfigError};
pub use control::{Control, ReloadError};
pub use enforced::{Carried, Enforcement, Kind, Mark, Match, Ports, Prefix, Segment, Table};
pub use feed::{Dated, Feed, Heard, Reader};
pub use http::Http;
pub use log::Level;
pub use rights::Application;
pub use running::{End, Running};
pub use service::{Daemon, DaemonError};
pub use socket::ask;
pub use watch::{Entry, Present, Watch};
