//! Data packets with a header for the link controls on their way. The source control orders each, or gives the header
//! of each that is sent at the granted rate.
//!
//! Between links they are among the control packets. Links and sinks treat them as they treat other data packets.

use anabranch_proto::control::PacketOrder;

use crate::packet::{ControlPacket, Role};
use crate::world::World;

impl World<'_> {
    /// A source control sends a data packet with a header.
    pub(in crate::world) fn send_with_header(&mut self, s: u32, order: PacketOrder) {
        let subflow = &mut self.subflows[s as usize];
        let connection = &mut self.connections[subflow.connection()];
        if !connection.has_data() || !self.plan.run.data {
            return;
        }
        let bytes = connection.take_packet();
        subflow.on_sent(bytes);
        self.launch_with_header(s, bytes, order);
    }

    /// Sends a packet of a paced subflow with a header, if its source control gives one. Says whether it does.
    pub(in crate::world) fn send_paced_with_header(&mut self, s: u32, bytes: u64) -> bool {
        let Some(header) = self.data_header(s, bytes) else { return false };
        self.launch_with_header(s, bytes, PacketOrder { subflow: 0, header, wants_reply: true, carries_data: true });
        true
    }

    /// A data packet with a header leaves its source.
    fn launch_with_header(&mut self, s: u32, bytes: u64, order: PacketOrder) {
        let packet = ControlPacket { bytes: bytes as u32, ..self.control_packet(s, order) };
        let index = self.control_links.packets.insert(packet);
        if self.ask_link(index) {
            self.travel(index);
        }
    }

    /// A data packet with a header enters a link, or is dropped.
    pub(super) fn enter_with_header(&mut self, link: u32, index: u32) {
        let now = self.clock.now();
        let ControlPacket { bytes, protocol, .. } = self.control_links.packets[index];
        let stamps = self.control_links.stamps(protocol);
        let begins = (stamps || self.data.waits().is_some()).then(|| self.links.begins(link, now));
        let Some(arrival) = self.links.enter(link, now, bytes) else { return self.drop_control(index) };
        self.control_links.entered += u64::from(!self.routes.is_of_demand(link));
        if let Some(begins) = begins.filter(|_| self.data.waits().is_some()) {
            let transmission = self.note_wait_at(link, Role::Paced, now, begins, arrival);
            self.control_links.packets[index].transmission += transmission;
        }
        match begins.filter(|_| stamps) {
            Some(begins) => self.depart_at(begins, link, index, arrival),
            None => self.cross_with_header(link, index, arrival),
        }
    }

    /// A data packet with a header goes over a link, which carries it to `arrival`.
    pub(super) fn cross_with_header(&mut self, link: u32, index: u32, arrival: u64) {
        let arrivals = self.data.fate(link, arrival);
        match (arrivals.first, arrivals.second) {
            (None, None) => {
                self.links.drop_one(link);
                self.drop_control(index);
            }
            (Some(time), None) | (None, Some(time)) => self.schedule_control(time, link, index),
            (Some(first), Some(second)) => {
                let mut packet = self.control_links.packets[index].clone();
                self.data.count_copy(&mut packet.copies);
                self.control_links.packets[index].copies = packet.copies;
                let copy = self.control_links.packets.insert(packet);
                self.schedule_control(first, link, index);
                self.schedule_control(second, link, copy);
            }
        }
    }

    /// A packet with a header goes no further; the data that it carries are lost.
    pub(super) fn drop_control(&mut self, index: u32) {
        let packet = self.control_links.packets.take(index);
        if packet.carries_data() {
            self.count_lost(packet.data());
        }
    }
}
