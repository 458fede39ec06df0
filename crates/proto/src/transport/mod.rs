//! Transport for window protocols: sources that send a stream over several paths, and sinks that put it together.
//!
//! Each path numbers its own packets, so an acknowledgement shows exactly which have arrived, and data may be sent
//! again on any path. The transport is reliable and in order: lost data are sent again, on the path that the scheduler
//! chooses. The window control decides how much may be in flight on each path.
//!
//! Where paths do not reorder packets, the transport behaves like TCP with selective acknowledgements and time stamps
//! [rfc6675, rfc6298], or multipath QUIC [rfc9002]. There is no handshake: a connection sends as soon as it begins.
//!
//! differs: a packet counts as lost once three later ones have arrived, however much was reordered before, where RACK
//! waits longer once it has seen reordering [rfc8985]. A window that was reduced for a packet which then arrives is not
//! restored. Nothing probes for a lost tail: the timeout detects it. An acknowledgement covers 64 packets, so where
//! more in a row are not acknowledged, packets that have arrived count as lost.

mod deliveries;
#[cfg(test)]
mod fetch_tests;
mod outstanding;
mod packets;
mod ranges;
mod relay;
mod rtt;
mod scheduler;
mod sink;
mod source;
mod stream;
#[cfg(test)]
mod tests;

use anabranch_core::{Bytes, Span};

pub use deliveries::{Before, Deliveries};
pub use packets::{Ack, Chunk, NO_RATE, Segment};
pub use relay::{InputSettings, Marking, Relay, Told};
pub use rtt::Rtt;
pub use scheduler::Scheduler;
pub use sink::Sink;
pub use source::Source;

/// Settings of a connection's transport, fixed for its lifetime.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Bytes of a full packet.
    pub packet: Bytes,
    /// Least timeout for an acknowledgement [rfc6298].
    pub least_wait: Span,
    /// Timeout for an acknowledgement before the first round trip is known [rfc6298].
    pub first_wait: Span,
    /// Number of packets for each acknowledgement.
    pub ack_every: u32,
    /// Longest delay of an acknowledgement, where the sink does not acknowledge every packet.
    pub ack_delay: Span,
    /// Bytes of data out of order that the sink can keep.
    pub buffer: u64,
    /// The rule by which the next packet gets its path.
    pub scheduler: Scheduler,
}

impl Settings {
    /// Longest delay of an acknowledgement; 0 if the sink acknowledges every packet.
    fn put_off(&self) -> Span {
        if self.ack_every > 1 { self.ack_delay } else { Span(0) }
    }
}

impl Default for Settings {
    /// The settings of most stacks, but every packet is acknowledged.
    fn default() -> Self {
        Self {
            packet: Bytes(1500),
            least_wait: Span::ms(200),
            first_wait: Span::s(1),
            ack_every: 1,
            ack_delay: Span::ms(40),
            buffer: u64::MAX / 4,
            scheduler: Scheduler::LowestRtt,
        }
    }
}
