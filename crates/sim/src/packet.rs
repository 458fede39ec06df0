//! Packets under way: data packets with what they carry, and control packets.

use anabranch_proto::protocols::cobb;
use anabranch_proto::transport::{Ack, Segment};
use anabranch_proto::{Header, Position, Visitor};
use anabranch_queues::Ecn;

/// A packet of the data plane, with the values that each hop and its last node need.
#[derive(Clone, Copy, Debug)]
pub struct DataPacket {
    /// The time in picoseconds at which it was sent.
    pub sent: u64,
    /// The place in `Routes::steps` of the link that it is on.
    pub at: u32,
    /// The number of its subflow.
    pub subflow: u32,
    /// Its size in bytes.
    pub bytes: u16,
    /// Its role.
    pub role: Role,
    /// Its ECN field.
    pub ecn: Ecn,
    /// The index of the count of its copies, if a link has sent it twice; [`NO_COPIES`] otherwise.
    pub copies: u32,
}

/// The role of a packet of the data plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Data sent at a granted rate, without the transport.
    Paced,
    /// A copy of another packet beside that packet's path; it arrives nowhere.
    Stray,
    /// A data segment of the transport.
    Segment,
    /// An acknowledgement of the transport.
    Ack,
    /// A request of a target to one of its sources, which answers with a segment of the same contents.
    Request,
}

/// The contents of a packet of the transport, or the send time of a paced packet.
#[derive(Clone, Copy, Debug)]
pub enum Payload {
    /// A segment that is sent or requested, and the time in picoseconds at which its data were sent. That time is
    /// earlier by the waits in the loops before, and later by the transmission times so far: the difference to the
    /// arrival leaves propagation and waits.
    Segment(Segment, u64),
    /// An acknowledgement.
    Ack(Ack),
    /// The time in picoseconds at which a paced packet was sent, plus the transmission times so far. Paced packets have
    /// it only if waits are recorded.
    Paced(u64),
}

impl Payload {
    /// The bytes of data that it carries or requests.
    pub fn bytes(&self) -> u16 {
        match self {
            Self::Segment(segment, _) => segment.chunk.bytes as u16,
            Self::Ack(_) | Self::Paced(_) => 0,
        }
    }

    /// The time in picoseconds at which its data were sent, plus the transmission times so far; 0 for an
    /// acknowledgement.
    pub fn since(&self) -> u64 {
        match self {
            Self::Segment(_, since) | Self::Paced(since) => *since,
            Self::Ack(_) => 0,
        }
    }

    /// Adds the transmission time of a link, in picoseconds, to the send time, so that it does not count as a wait.
    pub fn leave_out(&mut self, transmission: u64) {
        if let Self::Segment(_, since) | Self::Paced(since) = self {
            *since = since.saturating_add(transmission);
        }
    }

    /// Reads a part of it.
    #[inline]
    pub fn prefetch(&self) -> u64 {
        match self {
            Self::Segment(segment, _) => segment.number,
            Self::Ack(ack) => ack.newest,
            Self::Paced(since) => *since,
        }
    }
}

/// The value of `copies` of a packet that was never duplicated.
pub const NO_COPIES: u32 = u32::MAX;

/// The count of the copies of a data packet that a link has duplicated.
#[derive(Clone, Copy, Debug)]
pub struct Copies {
    /// The number of copies under way.
    pub left: u32,
    /// Whether one of the copies has arrived. Sinks of the transport recognise later copies by their place in the data.
    pub has_arrived: bool,
}

/// A control packet, or a data packet with a header. The sink turns the latter into the control packet that
/// acknowledges it.
#[derive(Clone, Debug)]
pub struct ControlPacket {
    /// The fields that its protocol puts into packets.
    pub header: Header,
    /// The place in `Routes::steps` of the link that it is on, or of that link's twin on the way back.
    pub at: u32,
    /// The number of its subflow.
    pub subflow: u32,
    /// The bytes of data; 0 for a control packet.
    pub bytes: u32,
    /// The index at which the copies of a data packet are counted; [`NO_COPIES`] if it was never duplicated.
    pub copies: u32,
    /// The time in picoseconds at which it was sent.
    pub sent: u64,
    /// Its transmission times so far, in picoseconds, if waits are recorded.
    pub transmission: u64,
    /// The number of its protocol in the plan.
    pub protocol: u16,
    /// The number of links before the present one on its path.
    pub position: Position,
    /// Whether the sink has to send it back.
    pub wants_reply: bool,
    /// Whether it is on its way back.
    pub is_returning: bool,
}

impl Default for ControlPacket {
    /// A packet that fills the place of one that was moved out; it is never sent.
    fn default() -> Self {
        Self {
            // The fields of any protocol with few fields.
            header: Header::CobbLike(cobb::Probe { number: 0, rate: 0.0, share: 0.0 }),
            at: 0,
            subflow: 0,
            bytes: 0,
            copies: NO_COPIES,
            sent: 0,
            transmission: 0,
            protocol: 0,
            position: 0,
            wants_reply: false,
            is_returning: false,
        }
    }
}

impl ControlPacket {
    /// Its subflow, as the control of the link where it is sees it.
    pub fn visitor(&self) -> Visitor {
        Visitor { subflow: self.subflow, position: self.position }
    }

    /// Whether it is a data packet that has not reached its sink yet.
    #[inline]
    pub fn carries_data(&self) -> bool {
        self.bytes > 0
    }

    /// The data packet that it is to links and sinks.
    pub fn data(&self) -> DataPacket {
        let (sent, at, subflow, copies) = (self.sent, self.at, self.subflow, self.copies);
        DataPacket { sent, at, subflow, bytes: self.bytes as u16, role: Role::Paced, ecn: Ecn::NotEct, copies }
    }
}

const _: () = assert!(std::mem::size_of::<DataPacket>() <= 24, "data packets are many");
const _: () = assert!(std::mem::size_of::<ControlPacket>() <= 128, "a packet must fit into two cache lines");
