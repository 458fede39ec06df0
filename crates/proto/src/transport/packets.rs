//! The contents of the transport's data packets and acknowledgements.

/// A range of bytes of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Offset of the first byte.
    pub offset: u64,
    /// Number of bytes.
    pub bytes: u32,
}

impl Chunk {
    /// Offset of the byte after the last.
    pub fn end(self) -> u64 {
        self.offset + u64::from(self.bytes)
    }
}

/// A data packet. Each path numbers its own packets; data that are sent again get a new number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Number of the packet, counted from 0 on each subflow.
    pub number: u64,
    /// Data that the packet carries.
    pub chunk: Chunk,
}

/// Number of packets, up to the newest, that an acknowledgement covers.
pub const TOLD: u64 = 64;

/// Acknowledgement of the packets of one subflow, and of the connection's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// Greatest number of a packet that has arrived.
    pub newest: u64,
    /// Bit i says whether packet `newest - i` has arrived.
    pub seen: u64,
    /// All data before this offset have arrived, over any subflow.
    pub complete: u64,
    /// Bytes after `complete` for which the sink has room.
    pub room: u64,
    /// Number of marked packets since the subflow began; it wraps.
    pub marked: u32,
    /// Nanoseconds since the newest packet arrived, or `u32::MAX` if there were more.
    pub delay_ns: u32,
    /// Rate at which the relay of this sink sends on, in bits a second; [`NO_RATE`] if the sink is not that of a relay.
    pub onward_bps: u64,
}

/// Value of `onward_bps` where no rate is known.
pub const NO_RATE: u64 = u64::MAX;
