//! What a queue discipline is to whoever drives a link: packets come, packets leave, some are dropped.

use anabranch_core::{Bytes, Rate, Span, Time};

/// The ECN field of a packet [ramakrishnan2001, sec. 5].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Ecn {
    /// Its source does not understand marks: it has to be dropped instead.
    #[default]
    NotEct,
    /// Its source understands a mark as it would a loss.
    Ect0,
    /// Its source understands the share of marked packets [deschepper2023, sec. 2.3].
    Ect1,
    /// Marked.
    Ce,
}

/// A packet as a queue sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item {
    /// Whatever the driver knows it by.
    pub packet: u32,
    /// Its size in bytes.
    pub bytes: u32,
    /// Packets of one subflow in one direction have the same.
    pub flow: u32,
    /// Its ECN field.
    pub ecn: Ecn,
    /// When it came; set by the queue that takes it in.
    pub arrived: Time,
}

impl Item {
    /// Marks it if it can be marked, and says whether it could.
    pub(super) fn mark(&mut self) -> bool {
        let can = self.ecn != Ecn::NotEct;
        if can {
            self.ecn = Ecn::Ce;
        }
        can
    }

    /// How long it has waited.
    pub(super) fn wait(&self, now: Time) -> Span {
        Span(now.0.saturating_sub(self.arrived.0))
    }
}

/// What is queued at a link, and in which order it leaves.
///
/// A packet in transmission is no longer in the queue. Times never go back from call to call. Capacities are 0 or more.
pub trait Discipline: Send {
    /// A packet comes. What there is no room for, it or others thrown out for it, goes to `dropped`.
    fn enqueue(&mut self, now: Time, item: Item, capacity: Rate, dropped: &mut Vec<Item>);

    /// The link is free: what it sends next, with its ECN field perhaps changed; `None` only if nothing is left.
    ///
    /// What is dropped on the way goes to `dropped`.
    fn dequeue(&mut self, now: Time, capacity: Rate, dropped: &mut Vec<Item>) -> Option<Item>;

    /// While nothing waited, the link could have sent so many bytes; told before it is free for what comes next.
    fn on_unused(&mut self, _bytes: f64) {}

    /// How long a while is that capacities are of, at a link that may send at some instants only; `None` for the present.
    fn measured_over(&self) -> Option<Span> {
        None
    }

    /// What waits.
    fn backlog(&self) -> Bytes;

    /// How many packets wait.
    fn len(&self) -> usize;

    /// Whether nothing waits.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The most that may wait, whatever the discipline; the packet in transmission is not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// In packets.
    pub packets: Option<u32>,
    /// In bytes.
    pub bytes: Option<Bytes>,
}

impl Limits {
    /// Whether so much may wait.
    pub(super) fn allow(&self, packets: usize, bytes: u64) -> bool {
        self.packets.is_none_or(|most| packets as u64 <= u64::from(most))
            && self.bytes.is_none_or(|most| bytes <= most.0)
    }

    /// The same, or so many packets if nothing is limited.
    pub(super) fn or_packets(self, packets: u32) -> Self {
        if self == Self::default() { Self { packets: Some(packets), bytes: None } } else { self }
    }
}
