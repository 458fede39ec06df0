//! Agents of explicit-rate protocols over real connections, and the applications that ask them for rates.
//!
//! `anabranch_agents` decides. This module has what it decides about: a QUIC connection to each neighbour, one to each
//! application, and the clock. The two ends of every connection know each other's certificates. A connection has streams
//! with messages in both directions, or each of its streams has a question of an application in lines.

mod application;
mod asking;
mod connections;
mod doors;
mod hops;
mod lease;
mod messages;
mod mutual;
mod pace;
mod policy;
mod questions;
mod server;

use std::time::Duration;

pub use self::application::{Application, Request};
pub use self::asking::{Asking, Heard};
#[cfg(target_os = "linux")]
pub(crate) use self::lease::FLOOR;
pub use self::lease::Lease;
pub use self::mutual::{Peer, Peers};
pub use self::policy::{Policy, Trusting};
pub use self::questions::{Answering, Question};
pub use self::server::{AgentHandle, AgentReport, AgentServer, Call, Door, Guest, Service, Trust, processor_time};

/// The silence after which a peer counts as gone.
const SILENCE: Duration = Duration::from_secs(1);

/// Time between packets that each end sends to show that it is there.
const BEAT: Duration = Duration::from_millis(250);

/// Time before a session is asked for again that was refused for the moment: at first, and at most.
pub const RETRY: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));

/// Time before a neighbour is called again: at first, and at most.
const BACK_OFF: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(1));

/// Duration of a lease. A silent application loses its rates to others after this time, and rates expire after this time
/// if the agent is silent.
pub const LEASE: Duration = Duration::from_secs(2);

/// The most connections of one application with an agent at a time, for messages.
pub const MOST_APPLICATIONS: usize = 1024;

/// The most connections of one application with an agent at a time, for questions.
pub const MOST_ASKING: usize = 256;

/// Share of a link that agents grant at most; the rest is for acknowledgements and inexact paces.
pub const SHARE: f64 = 0.97;
