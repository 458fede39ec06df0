//! Repaired hops: control packets travel over them in frames, which are numbered, acknowledged and sent again.
//!
//! The rules are in `anabranch_proto::endpoint`; here frames are put on links and deadlines into the calendar.

use anabranch_core::{Span, Time};
use anabranch_proto::endpoint::{Frame, HopReceiver, HopSender};

use crate::connections::UNSET;
use crate::packet::ControlPacket;
use crate::world::{Kind, World};

/// Both ends of a repaired hop.
pub(crate) struct Hop {
    pub sender: HopSender<ControlPacket>,
    receiver: HopReceiver,
    /// When its next event is due.
    armed: u64,
}

impl Hop {
    /// A hop that nothing has crossed yet; it waits so many picoseconds for an acknowledgement at the least.
    pub fn new(wait: u64) -> Self {
        Self { sender: HopSender::new(Span(wait)), receiver: HopReceiver::default(), armed: UNSET }
    }
}

impl World<'_> {
    /// Hands a control packet to a repaired hop.
    pub(crate) fn travel_in_frame(&mut self, link: u32, index: u32) {
        let packet = self.control_links.packets.take(index);
        let now = Time(self.now);
        let Some(hop) = self.control_links.hop(link) else { return };
        let frame = hop.sender.send(now, packet);
        // Those of the packets before it are watched already.
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
        let index = self.control_links.frames.insert(Some(frame));
        self.schedule_frame(time, link, index);
    }

    /// A frame arrives at the far end of a link.
    pub(crate) fn on_frame(&mut self, link: u32, index: u32) {
        let back = self.routes.twins[link as usize];
        let now = Time(self.now);
        match self.control_links.frames.take(index).expect("a frame arrives once") {
            Frame::Packet { number, packet } => {
                let Some(hop) = self.control_links.hop(link) else { return };
                let is_new = hop.receiver.on_packet(number);
                self.send_frame(back, Frame::Acknowledgement { number });
                if is_new {
                    let index = self.control_links.packets.insert(packet);
                    self.on_control(index);
                }
            }
            Frame::Acknowledgement { number } => {
                let Some(hop) = self.control_links.hop(back) else { return };
                // What waits on is watched already.
                hop.sender.on_acknowledgement(now, number);
            }
        }
    }

    /// A repaired hop may have waited long enough.
    pub(crate) fn on_deadline(&mut self, link: u32) {
        let now = Time(self.now);
        let Some(hop) = self.control_links.hop(link) else { return };
        if hop.armed != now.0 {
            return;
        }
        hop.armed = UNSET;
        while let Some(frame) = self.control_links.hop(link).and_then(|hop| hop.sender.on_deadline(now)) {
            self.send_frame(link, frame);
        }
        let deadline = self.control_links.hop(link).and_then(|hop| hop.sender.deadline());
        self.watch(link, deadline);
    }

    /// Schedules a deadline of a repaired hop, unless an event comes before it; that looks again when it is there.
    fn watch(&mut self, link: u32, deadline: Option<Time>) {
        let (Some(hop), Some(deadline)) = (self.control_links.hop(link), deadline) else { return };
        if deadline.0 < hop.armed {
            hop.armed = deadline.0;
            self.schedule(deadline.0, Kind::Deadline, link);
        }
    }
}
