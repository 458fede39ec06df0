//! Packets under way.

use anabranch_proto::protocols::cobb;
use anabranch_proto::transport::{Ack, Segment};
use anabranch_proto::{Header, Position, Visitor};
use anabranch_queues::Ecn;

/// A packet among the data: what each hop and its end need.
#[derive(Clone, Copy, Debug)]
pub struct DataPacket {
    /// When it was sent, in picoseconds.
    pub sent: u64,
    /// Where it is: the place in `Routes::steps` of the link that it is on.
    pub at: u32,
    /// Whose it is.
    pub subflow: u32,
    /// How large, in bytes.
    pub bytes: u16,
    /// What it is.
    pub role: Role,
    /// What links may do to it, or have done.
    pub ecn: Ecn,
    /// Where its copies are counted, if a link has sent it twice; [`NO_COPIES`] otherwise.
    pub copies: u32,
}

/// What a packet among the data is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Data at a granted rate.
    Paced,
    /// A copy beside the path of any other, which arrives nowhere.
    Stray,
    /// Data of the transport.
    Segment,
    /// An acknowledgement of the transport.
    Ack,
    /// What a target asks one of its sources for: the source answers with a segment of the same contents.
    Request,
}

/// What a packet of the transport carries.
#[derive(Clone, Copy, Debug)]
pub enum Payload {
    /// Data, or what is asked for; and since when the data are under way, what they waited in loops before included, less
    /// the time in which links sent them: that leaves propagation and waits.
    Segment(Segment, u64),
    /// What has arrived.
    Ack(Ack),
    /// Of a packet without the transport, since when it is under way; only where waits are recorded.
    Paced(u64),
}

impl Payload {
    /// The bytes of data that it carries or asks for.
    pub fn bytes(&self) -> u16 {
        match self {
            Self::Segment(segment, _) => segment.chunk.bytes as u16,
            Self::Ack(_) | Self::Paced(_) => 0,
        }
    }

    /// Since when it is under way, but for the time in which links sent it; 0 for an acknowledgement.
    pub fn since(&self) -> u64 {
        match self {
            Self::Segment(_, since) | Self::Paced(since) => *since,
            Self::Ack(_) => 0,
        }
    }

    /// A link has sent it for so long.
    pub fn leave_out(&mut self, transmission: u64) {
        if let Self::Segment(_, since) | Self::Paced(since) = self {
            *since = since.saturating_add(transmission);
        }
    }

    /// Reads it; to fetch it early.
    #[inline]
    pub fn prefetch(&self) -> u64 {
        match self {
            Self::Segment(segment, _) => segment.number,
            Self::Ack(ack) => ack.newest,
            Self::Paced(since) => *since,
        }
    }
}

/// Of a packet that is the only one.
pub const NO_COPIES: u32 = u32::MAX;

/// The copies of a data packet.
#[derive(Clone, Copy, Debug)]
pub struct Copies {
    /// How many are under way.
    pub left: u32,
    /// Whether one has arrived; the sink knows the others by their place in the data.
    pub has_arrived: bool,
}

/// A control packet, or a data packet with a header: at the sink that becomes the control packet that acknowledges it.
#[derive(Clone, Debug)]
pub struct ControlPacket {
    /// The fields of its protocol.
    pub header: Header,
    /// Where it is: the place in `Routes::steps` of the link that it is on, or of that link's twin on the way back.
    pub at: u32,
    /// Whose it is.
    pub subflow: u32,
    /// The bytes of data; 0 for a control packet.
    pub bytes: u32,
    /// Of data, what [`DataPacket`] has.
    pub copies: u32,
    /// See `copies`.
    pub sent: u64,
    /// For how long links have sent it, if waits are recorded.
    pub transmission: u64,
    /// Of which of the plan's protocols.
    pub protocol: u16,
    /// How many links are before the present one in its path.
    pub position: Position,
    /// Whether the sink is to send it back.
    pub wants_reply: bool,
    /// Whether it is on its way back.
    pub is_returning: bool,
}

impl Default for ControlPacket {
    /// What stands in the place of one that was moved out; it is never sent.
    fn default() -> Self {
        Self {
            // The fields of some protocol, of those with few.
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
    /// Its subflow, at the link where it is.
    pub fn visitor(&self) -> Visitor {
        Visitor { subflow: self.subflow, position: self.position }
    }

    /// Whether it is a data packet, until its sink has it.
    #[inline]
    pub fn carries_data(&self) -> bool {
        self.bytes > 0
    }

    /// What it is as a data packet.
    pub fn data(&self) -> DataPacket {
        let (sent, at, subflow, copies) = (self.sent, self.at, self.subflow, self.copies);
        DataPacket { sent, at, subflow, bytes: self.bytes as u16, role: Role::Paced, ecn: Ecn::NotEct, copies }
    }
}

const _: () = assert!(std::mem::size_of::<DataPacket>() <= 24, "data packets are many");
const _: () = assert!(std::mem::size_of::<ControlPacket>() <= 128, "a packet must fit into two cache lines");
