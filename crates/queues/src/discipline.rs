//! The interface between a queue discipline and the driver of a link: packets arrive, packets leave, some are dropped.

use anabranch_core::{Bytes, Rate, Span, Time};

/// The ECN field of a packet [ramakrishnan2001, sec. 5].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Ecn {
    /// ECN is not supported: the packet has to be dropped instead of marked.
    #[default]
    NotEct,
    /// ECN is supported, and the source reacts to a mark as to a loss.
    Ect0,
    /// ECN is supported, and the source reacts to the share of marked packets [deschepper2023, sec. 2.3].
    Ect1,
    /// The packet is marked: it met congestion.
    Ce,
}

/// A packet as a queue sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item {
    /// Number of the packet in the driver.
    pub packet: u32,
    /// Size in bytes.
    pub bytes: u32,
    /// Number that packets of one subflow in one direction have in common.
    pub flow: u32,
    /// ECN field.
    pub ecn: Ecn,
    /// Time of arrival; the queue sets it.
    pub arrived: Time,
}

impl Item {
    /// Marks the packet if possible; returns whether it is marked.
    pub(super) fn mark(&mut self) -> bool {
        let can = self.ecn != Ecn::NotEct;
        if can {
            self.ecn = Ecn::Ce;
        }
        can
    }

    /// Time for which the packet has waited.
    pub(super) fn wait(&self, now: Time) -> Span {
        Span(now.0.saturating_sub(self.arrived.0))
    }
}

/// A queue discipline: the packets that wait at a link, and the order in which they leave.
///
/// A packet in transmission is no longer in the queue. Times never decrease from call to call. Capacities are 0 or
/// more.
pub trait Discipline: Send {
    /// Adds a packet. If there is no room, this packet or others that give way to it go to `dropped`.
    fn enqueue(&mut self, now: Time, item: Item, capacity: Rate, dropped: &mut Vec<Item>);

    /// Removes the packet that the free link sends next, perhaps with a changed ECN field; returns `None` only if
    /// nothing is left.
    ///
    /// Packets that the discipline drops meanwhile go to `dropped`.
    fn dequeue(&mut self, now: Time, capacity: Rate, dropped: &mut Vec<Item>) -> Option<Item>;

    /// Reports the bytes that the link could have sent while nothing waited. The driver calls it before the link serves
    /// the next packet.
    fn on_unused(&mut self, _bytes: f64) {}

    /// Averaging time of the capacities at a link that may send only at some instants; `None` for the present capacity.
    fn measured_over(&self) -> Option<Span> {
        None
    }

    /// Bytes that wait.
    fn backlog(&self) -> Bytes;

    /// Number of packets that wait.
    fn len(&self) -> usize;

    /// Whether nothing waits.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Limits on the packets and bytes that wait, for any discipline; the packet in transmission does not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Greatest number of packets; `None` for no limit.
    pub packets: Option<u32>,
    /// Greatest number of bytes; `None` for no limit.
    pub bytes: Option<Bytes>,
}

impl Limits {
    /// Whether this many packets and bytes may wait.
    pub(super) fn allow(&self, packets: usize, bytes: u64) -> bool {
        self.packets.is_none_or(|most| packets as u64 <= u64::from(most))
            && self.bytes.is_none_or(|most| bytes <= most.0)
    }

    /// These limits, or a limit of `packets` if nothing is limited.
    pub(super) fn or_packets(self, packets: u32) -> Self {
        if self == Self::default() { Self { packets: Some(packets), bytes: None } } else { self }
    }
}
