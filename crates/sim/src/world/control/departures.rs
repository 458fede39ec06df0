//! Packets that link controls see twice: when they arrive at a queue, and when they leave it.
//!
//! A packet that enters a link knows when its transmission begins. If it has to wait, it needs one more event, and its
//! way over the link is settled then. A packet without wait leaves the queue at once, and so does a control packet that
//! travels apart from data, or in a frame over a repaired hop.
//!
//! Link controls add up what they write, so packets of a link have to leave in the order in which they came. An
//! opportunity can carry several packets at once; the later ones leave a picosecond after those before them.

use anabranch_core::Time;
use anabranch_proto::LinkView;

use super::LinkQueue;
use crate::world::World;
use crate::world::clock::Kind;

impl World<'_> {
    /// A control packet on its way to the sink goes over a link, and is shown to the control of the link when it leaves
    /// the queue.
    #[cold]
    pub(super) fn travel_stamped(&mut self, link: u32, index: u32) {
        if !self.is_in_band(link) || self.control_links.hops.is_repaired(link) {
            self.show_departure(link, index);
            return self.travel_on(link, index);
        }
        let now = self.clock.now();
        let begins = self.links.begins(link, now);
        let Some(arrival) = self.links.enter(link, now, self.plan.run.control_packet.0 as u32) else {
            _ = self.control_links.packets.take(index);
            return;
        };
        self.control_links.of_links[link as usize].last = arrival;
        self.control_links.entered += 1;
        self.depart_at(begins, link, index, arrival);
    }

    /// Lets a packet leave the queue of a link at `begins`, now or later. The link carries it to `arrival`.
    pub(super) fn depart_at(&mut self, begins: u64, link: u32, index: u32, arrival: u64) {
        if begins <= self.clock.now() {
            return self.depart_from(link, index, arrival);
        }
        let (arrivals, place) = (&mut self.control_links.arrivals, index as usize);
        if place >= arrivals.len() {
            arrivals.resize(place + 1, 0);
        }
        arrivals[place] = arrival;
        let last = &mut self.control_links.departed[link as usize];
        *last = begins.max(last.saturating_add(1));
        self.clock.schedule_packet(*last, Kind::Depart, link, index);
    }

    /// A packet that has waited leaves the queue of a link.
    pub(in crate::world) fn on_depart(&mut self, link: u32, index: u32) {
        self.depart_from(link, index, self.control_links.arrivals[index as usize]);
    }

    fn depart_from(&mut self, link: u32, index: u32, arrival: u64) {
        self.show_departure(link, index);
        if self.control_links.packets[index].carries_data() {
            return self.cross_with_header(link, index, arrival);
        }
        let arrivals = self.fate_of_control(link, arrival);
        self.cross(link, index, arrivals);
    }

    /// Shows a packet that leaves the queue of a link to the control of the link, if the link has a limit.
    fn show_departure(&mut self, link: u32, index: u32) {
        let now = self.clock.now();
        let own = &mut self.control_links;
        let Some(capacity) = own.of_links[link as usize].capacity(&self.links, link, now) else { return };
        let queue = &LinkQueue { links: &self.links, link: link as usize, now };
        let packet = &mut own.packets[index];
        let capacity = own.parts.of(capacity, link, packet.protocol);
        let view = LinkView { now: Time(now), capacity, control_packet: own.parts.control_packet(link), queue };
        let (visitor, protocol) = (packet.visitor(), packet.protocol);
        own.controls[protocol as usize].of(link as usize).on_departure(&view, visitor, &mut packet.header);
    }
}
