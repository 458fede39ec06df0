//! Agents of explicit-rate protocols over real connections, and what asks them for rates.
//!
//! `anabranch_agents` decides; here is what it decides about: a QUIC connection to each neighbour, one to each application,
//! and the clock. Every connection is between two who know each other's certificates. On each there is one stream with
//! messages both ways.

mod application;
mod lease;
mod messages;
mod mutual;
mod server;

use std::time::Duration;

pub use self::application::{Application, Request};
pub(crate) use self::lease::FLOOR;
pub use self::lease::Lease;
pub use self::server::{AgentHandle, AgentReport, AgentServer, Neighbour, Service};

/// A peer that is silent for this long is taken for gone.
const SILENCE: Duration = Duration::from_secs(1);

/// How often each end sends a packet, so that the other knows that it is there.
const BEAT: Duration = Duration::from_millis(250);

/// When a neighbour is called again: at first, and at most.
const BACK_OFF: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(1));

/// How long an application may say nothing before others get what it has; and how long its rates are good for when its
/// agent says nothing.
pub const LEASE: Duration = Duration::from_secs(2);

/// Applications of an agent at a time, at the most.
pub const MOST_APPLICATIONS: usize = 1024;

/// What agents hand out of a link: the rest is for acknowledgements and for paces that are not exact.
pub const SHARE: f64 = 0.97;
