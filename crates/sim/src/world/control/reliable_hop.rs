//! Repaired hops: control packets cross them in frames, which are numbered, acknowledged and retransmitted.
//!
//! The rules are in `anabranch_proto::endpoint`. This file puts frames on links and timers into the calendar.

use anabranch_core::{Span, Time};
use anabranch_links::Links;
use anabranch_plan::{ControlPlane, Plan};
use anabranch_proto::endpoint::{Frame, HopReceiver, HopSender};

use crate::packet::ControlPacket;
use crate::routes::{END, Routes};
use crate::slab::Slab;
use crate::world::World;
use crate::world::clock::Kind;
use crate::world::connections::UNSET;

/// The time in picoseconds that a repaired hop waits for an acknowledgement beyond its delays, at the least.
const PATIENCE: u64 = 1_000_000_000;

/// All repaired hops, and their frames under way.
pub(super) struct RepairedHops {
    /// For each link in use its hop, if that is repaired; empty if none is.
    of_links: Vec<Option<Box<Hop>>>,
    frames: Slab<Option<Frame<ControlPacket>>>,
}

/// Both ends of a repaired hop.
struct Hop {
    sender: HopSender<ControlPacket>,
    receiver: HopReceiver,
    /// The time of its next timer event in picoseconds; `UNSET` if none is in the calendar.
    armed: u64,
}

impl RepairedHops {
    /// Creates the repaired hops of a plan; nothing has crossed them yet.
    pub fn new(plan: &Plan, routes: &Routes, links: &Links) -> Self {
        let is_in_band = plan.run.control == ControlPlane::InBand;
        let plan_of = |l: usize| &plan.links[routes.used[l].index()];
        let is_faulty = |l: usize| !plan_of(l).control.is_none() || (is_in_band && links.has_limited_queue(l));
        let is_repaired = |l: usize| plan.run.repair && routes.twins[l] != END && is_faulty(l);
        let hop = |l: usize| {
            let back = routes.twins[l];
            let late = plan_of(l).control.late.0 + plan_of(back as usize).control.late.0;
            let wait = links.delay(l as u32) + links.delay(back) + late + PATIENCE;
            let (sender, receiver) = (HopSender::new(Span(wait)), HopReceiver::default());
            Box::new(Hop { sender, receiver, armed: UNSET })
        };
        let numbers = 0..routes.used.len();
        let has_some = numbers.clone().any(is_repaired);
        Self {
            of_links: if has_some { numbers.map(|l| is_repaired(l).then(|| hop(l))).collect() } else { Vec::new() },
            frames: Slab::default(),
        }
    }

    /// The number of control packets that hops keep until they are acknowledged.
    pub fn kept(&self) -> usize {
        self.of_links.iter().flatten().map(|hop| hop.sender.kept()).sum()
    }

    /// Whether control packets cross a link in frames.
    #[inline]
    pub fn is_repaired(&self, link: u32) -> bool {
        self.of_links.get(link as usize).is_some_and(Option::is_some)
    }

    /// Takes a frame out.
    pub fn take_frame(&mut self, index: u32) -> Frame<ControlPacket> {
        self.frames.take(index).expect("a frame arrives once")
    }

    /// Adds a frame; gives its index.
    pub fn insert_frame(&mut self, frame: Frame<ControlPacket>) -> u32 {
        self.frames.insert(Some(frame))
    }

    fn hop(&mut self, link: u32) -> Option<&mut Hop> {
        self.of_links.get_mut(link as usize)?.as_deref_mut()
    }
}

impl World<'_> {
    /// Hands a control packet to a repaired hop.
    pub(super) fn travel_in_frame(&mut self, link: u32, index: u32) {
        let packet = self.control_links.packets.take(index);
        let now = Time(self.clock.now());
        let Some(hop) = self.control_links.hops.hop(link) else { return };
        let frame = hop.sender.send(now, packet);
        // Timers of the packets before it are in the calendar already.
        let deadline = hop.sender.last_deadline();
        self.watch(link, deadline);
        self.send_frame(link, frame);
    }

    fn send_frame(&mut self, link: u32, frame: Frame<ControlPacket>) {
        let arrivals = self.passage(link);
        match (arrivals.first, arrivals.second) {
            (None, None) => {}
            (Some(time), None) | (None, Some(time)) => self.pass_frame(time, link, frame),
            (Some(first), Some(second)) => {
                self.pass_frame(first, link, frame.clone());
                self.pass_frame(second, link, frame);
            }
        }
    }

    fn pass_frame(&mut self, time: u64, link: u32, frame: Frame<ControlPacket>) {
        let index = self.control_links.hops.insert_frame(frame);
        self.schedule_frame(time, link, index);
    }

    /// A frame arrives at the far end of a link.
    pub(in crate::world) fn on_frame(&mut self, link: u32, index: u32) {
        let back = self.routes.twins[link as usize];
        let now = Time(self.clock.now());
        match self.control_links.hops.take_frame(index) {
            Frame::Packet { number, packet } => {
                let Some(hop) = self.control_links.hops.hop(link) else { return };
                let is_new = hop.receiver.on_packet(number);
                self.send_frame(back, Frame::Acknowledgement { number });
                if is_new {
                    let index = self.control_links.packets.insert(packet);
                    self.on_control(index);
                }
            }
            Frame::Acknowledgement { number } => {
                let Some(hop) = self.control_links.hops.hop(back) else { return };
                // Timers of the packets that still wait are in the calendar already.
                hop.sender.on_acknowledgement(now, number);
            }
        }
    }

    /// The retransmission timer of a repaired hop may have expired.
    pub(in crate::world) fn on_deadline(&mut self, link: u32) {
        let now = Time(self.clock.now());
        let Some(hop) = self.control_links.hops.hop(link) else { return };
        if hop.armed != now.0 {
            return;
        }
        hop.armed = UNSET;
        while let Some(frame) = self.control_links.hops.hop(link).and_then(|hop| hop.sender.on_deadline(now)) {
            self.send_frame(link, frame);
        }
        let deadline = self.control_links.hops.hop(link).and_then(|hop| hop.sender.deadline());
        self.watch(link, deadline);
    }

    /// Schedules the timer of a repaired hop, unless an earlier event is in the calendar. That one looks again.
    fn watch(&mut self, link: u32, deadline: Option<Time>) {
        let (Some(hop), Some(deadline)) = (self.control_links.hops.hop(link), deadline) else { return };
        if deadline.0 < hop.armed {
            hop.armed = deadline.0;
            self.clock.schedule(deadline.0, Kind::Deadline, link);
        }
    }
}
