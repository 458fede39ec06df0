//! Agents of explicit-rate protocols over real connections, and the applications that ask them for rates.
//!
//! `anabranch_agents` decides. This module has what it decides about: a QUIC connection to each neighbour, one to each
//! application, and the clock. The two ends of every connection know each other's certificates. Each connection has one
//! stream with messages in both directions.

mod application;
mod lease;
mod messages;
mod mutual;
mod policy;
mod server;

use std::time::Duration;

pub use self::application::{Application, Request};
#[cfg(target_os = "linux")]
pub(crate) use self::lease::FLOOR;
pub use self::lease::Lease;
pub use self::mutual::{Peer, Peers};
pub use self::policy::{Policy, Trusting};
pub use self::server::{AgentHandle, AgentReport, AgentServer, Call, Door, Guest, Service};

/// The silence after which a peer counts as gone.
const SILENCE: Duration = Duration::from_secs(1);

/// Time between packets that each end sends to show that it is there.
const BEAT: Duration = Duration::from_millis(250);

/// Time before a neighbour is called again: at first, and at most.
const BACK_OFF: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(1));

/// Duration of a lease. A silent application loses its rates to others after this time, and rates expire after this time
/// if the agent is silent.
pub const LEASE: Duration = Duration::from_secs(2);

/// The most applications of an agent at a time.
pub const MOST_APPLICATIONS: usize = 1024;

/// Share of a link that agents grant at most; the rest is for acknowledgements and inexact paces.
pub const SHARE: f64 = 0.97;
