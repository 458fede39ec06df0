//! A transport for window protocols: sources that send a stream over several paths, sinks that put it together.
//!
//! Packets have numbers of their own on each path, so an acknowledgement tells without doubt which have arrived, and what
//! is sent again may take any path. It is reliable and in order: what was lost is sent again, on the path with the
//! scheduler's choice. The window control decides how much may be under way on each path.
//!
//! Where packets keep their order on each path, what happens is what TCP does with selective acknowledgements and time stamps
//! [rfc6675, rfc6298], or multipath QUIC [rfc9002]. There is no handshake: a connection sends as soon as it begins.
//!
//! differs: a packet that comes later than the third after it counts as lost, however much was reordered before, where RACK
//! waits longer once it has seen reordering [rfc8985]; and a window that fell for a packet which then arrives stays where it
//! is. Nothing probes for a lost tail: that waits for the timeout. An acknowledgement tells of 64 packets, so where more in
//! a row are not acknowledged, packets that have arrived count as lost.

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

/// What does not change while a connection lasts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Bytes of a full packet.
    pub packet: Bytes,
    /// How long to wait for an acknowledgement: at the least, and before the first round trip is known [rfc6298].
    pub least_wait: Span,
    /// See `least_wait`.
    pub first_wait: Span,
    /// One acknowledgement for so many packets, or after so long.
    pub ack_every: u32,
    /// See `ack_every`.
    pub ack_delay: Span,
    /// Bytes that the sink keeps for what is not in order.
    pub buffer: u64,
    /// Which path takes the next packet.
    pub scheduler: Scheduler,
}

impl Settings {
    /// How long the sink may put an acknowledgement off.
    fn put_off(&self) -> Span {
        if self.ack_every > 1 { self.ack_delay } else { Span(0) }
    }
}

impl Default for Settings {
    /// What most stacks do, but for the acknowledgement of every packet.
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
