//! What data packets and acknowledgements of the transport carry.

/// Bytes of a stream: where they begin, and how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// The first byte.
    pub offset: u64,
    /// How many.
    pub bytes: u32,
}

impl Chunk {
    /// The byte behind the last.
    pub fn end(self) -> u64 {
        self.offset + u64::from(self.bytes)
    }
}

/// A data packet. Its number is its own on its path: what is sent again has a new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Counts from 0 on each subflow.
    pub number: u64,
    /// What it carries.
    pub chunk: Chunk,
}

/// So many packets before the newest an acknowledgement tells of.
pub const TOLD: u64 = 64;

/// An acknowledgement of one subflow, and of the connection's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// The greatest number of those that have arrived.
    pub newest: u64,
    /// Bit i says whether `newest - i` has arrived.
    pub seen: u64,
    /// All data before this byte have arrived, on any subflow.
    pub complete: u64,
    /// So many bytes behind these there is room for.
    pub room: u64,
    /// Packets that links had marked, since the subflow began; it wraps.
    pub marked: u32,
    /// Nanoseconds since the newest arrived; as many as a count can hold if there were more.
    pub delay_ns: u32,
    /// If the sink is that of a relay: what this sends on at, in bits a second; [`NO_RATE`] otherwise.
    pub onward_bps: u64,
}

/// Of acknowledgements of a sink that passes nothing on.
pub const NO_RATE: u64 = u64::MAX;
