//! Subflows: what the source and the sink of each path count and remember, whatever the protocol.

use anabranch_core::{Bytes, ConnectionId, Rate, Time};
use anabranch_plan::Plan;
use anabranch_proto::endpoint::Pace;

use super::connections::UNSET;
use crate::routes::Routes;

/// The index that stands for no packet.
const NONE: u32 = u32::MAX;

/// The part of a connection on one path, in two cache lines. If the path leads from one shard to another, each of the
/// two shards keeps its part of the values.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(crate) struct Subflow {
    // The source needs the values of this cache line.
    connection: u32,
    /// The place of its first link in `Routes::steps`.
    first: u32,
    /// The index of the control packet that is held back; `NONE` if there is none.
    held: u32,
    /// The time of the next `Send` event in picoseconds; `UNSET` if none is in the calendar.
    armed: u64,
    pace: Pace,
    /// Bytes sent.
    sent: u64,
    // The sink needs the values of this cache line.
    /// Bytes delivered, each byte once.
    delivered: u64,
    /// Bytes lost.
    lost: u64,
    /// Packets delivered.
    packets: u64,
    /// The sum of the delays of delivered packets in picoseconds.
    delay_sum: f64,
    /// The longest delay of a delivered packet in picoseconds.
    delay_most: u64,
    /// Bytes delivered a second time.
    repeated: u64,
    /// The time in picoseconds at which the last byte was delivered or lost.
    settled_at: u64,
    /// The time in picoseconds at which the source sent its last control packet.
    control_sent: u64,
}

const _: () = assert!(std::mem::offset_of!(Subflow, delivered) == 64, "a line for the source, a line for the sink");
const _: () = assert!(std::mem::size_of::<Subflow>() == 128, "and no third");

impl Subflow {
    /// Creates all subflows of a plan.
    pub fn all(plan: &Plan, routes: &Routes) -> Vec<Self> {
        let of = |c: usize| plan.paths.of(ConnectionId::new(c)).map(move |_| c as u32);
        let new = |(s, connection): (usize, u32)| Self {
            connection,
            first: routes.first[s],
            held: NONE,
            pace: Pace::default(),
            armed: UNSET,
            sent: 0,
            delivered: 0,
            lost: 0,
            repeated: 0,
            packets: 0,
            delay_sum: 0.0,
            delay_most: 0,
            settled_at: 0,
            control_sent: UNSET,
        };
        (0..plan.transfers.len()).flat_map(of).enumerate().map(new).collect()
    }

    /// The number of its connection.
    #[inline]
    pub fn connection(&self) -> u32 {
        self.connection
    }

    /// The place of its first link in `Routes::steps`.
    #[inline]
    pub fn first(&self) -> u32 {
        self.first
    }

    /// The rate that the source may send at, in bit/s.
    #[inline]
    pub fn rate(&self) -> Rate {
        self.pace.rate()
    }

    /// Bytes sent.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// Bytes delivered, each byte once.
    pub fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Bytes lost.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Bytes delivered a second time.
    pub fn repeated(&self) -> u64 {
        self.repeated
    }

    /// The mean delay of delivered packets in seconds; 0 if none was delivered.
    pub fn mean_delay_s(&self) -> f64 {
        if self.packets > 0 { self.delay_sum / self.packets as f64 / 1e12 } else { 0.0 }
    }

    /// The longest delay of a delivered packet.
    pub fn most_delay(&self) -> Time {
        Time(self.delay_most)
    }

    /// The time in picoseconds at which the last byte was delivered or lost.
    pub fn settled_at(&self) -> u64 {
        self.settled_at
    }

    /// Reads the cache line that every packet needs at the sink.
    #[inline]
    pub(super) fn prefetch(&self) -> u64 {
        self.delivered
    }

    /// Changes the rate that the source may send at; says whether it was another rate before.
    pub(super) fn set_rate(&mut self, rate: Rate) -> bool {
        let is_other = self.pace.rate() != rate;
        if is_other {
            self.pace.set_rate(rate);
        }
        is_other
    }

    /// The time at which the pace allows the next packet; `None` at rate 0.
    #[inline]
    pub(super) fn next_due(&self, now: u64) -> Option<u64> {
        self.pace.next(Time(now)).map(|time| time.0)
    }

    /// Takes note that the next `Send` event is wanted at `time`; says whether it has to go into the calendar. It need
    /// not if an earlier one is there.
    #[inline]
    pub(super) fn arm(&mut self, time: u64) -> bool {
        let is_earlier = time < self.armed;
        if is_earlier {
            self.armed = time;
        }
        is_earlier
    }

    /// Takes note of a `Send` event at `now`; says whether it is the one that is wanted.
    #[inline]
    pub(super) fn disarm(&mut self, now: u64) -> bool {
        let is_wanted = self.armed == now;
        if is_wanted {
            self.armed = UNSET;
        }
        is_wanted
    }

    /// Counts bytes that the source sends at its pace.
    #[inline]
    pub(super) fn on_paced(&mut self, now: u64, bytes: u64) {
        self.pace.on_sent(Time(now), Bytes(bytes));
        self.sent += bytes;
    }

    /// Counts bytes that the source sends.
    #[inline]
    pub(super) fn on_sent(&mut self, bytes: u64) {
        self.sent += bytes;
    }

    /// Counts a packet that arrives at the sink with this many new and repeated bytes; the packet was sent at `sent`.
    #[inline]
    pub(super) fn on_delivered(&mut self, now: u64, sent: u64, new: u64, repeated: u64) {
        self.delivered += new;
        self.repeated += repeated;
        let delay = now - sent;
        self.packets += 1;
        self.delay_sum += delay as f64;
        self.delay_most = self.delay_most.max(delay);
        self.settled_at = now;
    }

    /// Counts bytes that a second copy of a packet brings to the sink.
    pub(super) fn on_repeated(&mut self, bytes: u64) {
        self.repeated += bytes;
    }

    /// Counts bytes that are lost.
    pub(super) fn on_lost(&mut self, now: u64, bytes: u64) {
        self.lost += bytes;
        self.settled_at = now;
    }

    /// The time in picoseconds at which the source sent its last control packet; `None` before the first.
    pub(super) fn control_sent(&self) -> Option<u64> {
        (self.control_sent != UNSET).then_some(self.control_sent)
    }

    /// Takes note that the source sends a control packet; `share` are its bytes if they count towards the rate.
    #[inline]
    pub(super) fn on_control_sent(&mut self, now: u64, share: Option<Bytes>) {
        self.control_sent = now;
        if let Some(bytes) = share {
            self.pace.charge(bytes);
        }
    }

    /// The index of the control packet that is held back, if there is one.
    #[inline]
    pub(super) fn held(&self) -> Option<u32> {
        (self.held != NONE).then_some(self.held)
    }

    /// Holds a control packet back.
    pub(super) fn hold(&mut self, index: u32) {
        self.held = index;
    }

    /// Gives up the control packet that is held back, if there is one.
    pub(super) fn release(&mut self) -> Option<u32> {
        let held = std::mem::replace(&mut self.held, NONE);
        (held != NONE).then_some(held)
    }
}
