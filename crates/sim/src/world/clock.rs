//! The clock of a shard: the present time, and the calendar of the events to come.
//!
//! Only the clock knows how the kind of an event and its object share one number.

use crate::calendar::{Calendar, Event};

/// Low bits of an event's key that name its object, such as a link or a subflow. The bits above them name the kind.
const ID_BITS: u32 = 27;

/// Kinds of events, in the order in which events of the same time are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Kind {
    /// A link with a queue discipline has opportunities to send. Packets that arrive at the same time are too late for
    /// them.
    Opportunity,
    /// A connection begins.
    Join,
    /// A connection has to end.
    Stop,
    /// A path of a connection becomes usable.
    Open,
    /// A path of a connection becomes unusable.
    Close,
    /// A packet that its link control has to see then leaves the queue of a link.
    Depart,
    /// A data packet arrives at the far end of a link.
    Data,
    /// A data packet with a header arrives at the far end of a link.
    Headed,
    /// A control packet arrives at the far end of a link.
    Control,
    /// A frame of a repaired hop arrives at the far end of a link.
    Frame,
    /// The retransmission timer of a repaired hop expires.
    Deadline,
    /// The demand of a connection changes.
    Demand,
    /// The capacity of a link changes.
    Capacity,
    /// The timer of a source control expires.
    Wake,
    /// The timer of a link control expires.
    LinkTimer,
    /// The gap before a control packet that was held back is over.
    Release,
    /// The next packet of a paced subflow is due.
    Send,
    /// A packet of the transport enters its first link.
    Enter,
    /// The retransmission timer of a path of the transport expires.
    Patience,
    /// A delayed acknowledgement of a sink of the transport is due.
    Tell,
    /// A source of the transport may have something to send.
    Poll,
    /// A link with a queue discipline has finished a transmission.
    Free,
}

const KINDS: [Kind; 22] = [
    Kind::Opportunity,
    Kind::Join,
    Kind::Stop,
    Kind::Open,
    Kind::Close,
    Kind::Depart,
    Kind::Data,
    Kind::Headed,
    Kind::Control,
    Kind::Frame,
    Kind::Deadline,
    Kind::Demand,
    Kind::Capacity,
    Kind::Wake,
    Kind::LinkTimer,
    Kind::Release,
    Kind::Send,
    Kind::Enter,
    Kind::Patience,
    Kind::Tell,
    Kind::Poll,
    Kind::Free,
];

impl Kind {
    /// The kind of an event.
    #[inline]
    pub fn of(event: &Event) -> Self {
        KINDS[(event.key >> ID_BITS) as usize]
    }

    /// Whether an event is of this kind.
    #[inline]
    pub fn is_of(self, event: &Event) -> bool {
        event.key >> ID_BITS == self as u32
    }
}

/// The number of an event's object: a connection, a subflow or a link, depending on the kind of the event.
#[inline]
pub(super) fn id(event: &Event) -> u32 {
    event.key & ((1 << ID_BITS) - 1)
}

/// The present time of a shard and its events to come.
pub(super) struct Clock {
    /// The present time in picoseconds.
    now: u64,
    /// The last instant of the run in picoseconds.
    end: u64,
    calendar: Calendar,
    /// The number of events served so far.
    served: u64,
}

impl Clock {
    /// Creates a clock at time 0 without events. Events after `end`, in picoseconds, never happen.
    pub fn new(end: u64) -> Self {
        Self { now: 0, end, calendar: Calendar::default(), served: 0 }
    }

    /// The present time in picoseconds.
    #[inline]
    pub fn now(&self) -> u64 {
        self.now
    }

    /// The number of events served so far.
    #[inline]
    pub fn served(&self) -> u64 {
        self.served
    }

    /// Whether a time lies after the end of the run.
    #[inline]
    pub fn is_after_end(&self, time: u64) -> bool {
        time > self.end
    }

    /// Puts an event into the calendar, unless it lies after the end of the run.
    #[inline]
    pub fn schedule(&mut self, time: u64, kind: Kind, id: u32) {
        self.schedule_packet(time, kind, id, 0);
    }

    /// Puts an event of a packet into the calendar, unless it lies after the end of the run.
    #[inline]
    pub fn schedule_packet(&mut self, time: u64, kind: Kind, id: u32, packet: u32) {
        if time <= self.end {
            self.calendar.push(Event { time, key: (kind as u32) << ID_BITS | id, packet });
        }
    }

    /// Takes the next event out of the calendar if it comes before `limit`, and advances the present time to it.
    #[inline]
    pub fn next_before(&mut self, limit: u64) -> Option<Event> {
        let event = self.calendar.next_before(limit)?;
        self.now = event.time;
        self.served += 1;
        Some(event)
    }

    /// The time of the next event in picoseconds, if there is one.
    pub fn next_time(&mut self) -> Option<u64> {
        self.calendar.peek().map(|event| event.time)
    }

    /// The next events, at most `count`, once `count` events have been served since the last preview.
    #[inline]
    pub fn preview(&self, count: usize) -> &[Event] {
        self.calendar.preview(count)
    }
}
