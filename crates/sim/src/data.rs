//! Data packets: sent at the pace that is granted, passed on link by link, counted at the sink.
//!
//! Under protocols with a window the source control sends each, with a header for the link controls on its way. Between
//! links such a packet is among the control packets (`control_plane.rs`); on links and at the sink it is as others are.

use anabranch_core::{Bytes, Time};
use anabranch_links::Service;
use anabranch_links::faults::Arrivals;
use anabranch_proto::control::PacketOrder;
use anabranch_queues::Ecn;

use crate::connections::{State, UNSET};
use crate::packet::{ControlPacket, Copies, DataPacket, NO_COPIES, Payload, Role};
use crate::routes::END;
use crate::world::{Kind, World};

impl World<'_> {
    /// A subflow may send its next packet.
    pub(crate) fn on_send(&mut self, s: u32) {
        let subflow = &mut self.subflows[s as usize];
        if subflow.armed != self.now {
            return;
        }
        subflow.armed = UNSET;
        let c = subflow.connection;
        let connection = &mut self.connections[c as usize];
        if connection.state != State::Active || connection.left == 0 {
            return;
        }
        // The rate may have fallen since.
        if subflow.pace.next(Time(self.now)) != Some(Time(self.now)) {
            return self.arm(s);
        }
        let bytes = connection.packet.min(connection.left);
        connection.left -= bytes;
        subflow.pace.on_sent(Time(self.now), Bytes(bytes));
        subflow.sent += bytes;
        let is_last = connection.left == 0;
        let at = subflow.first;
        let (role, ecn) = (Role::Paced, Ecn::NotEct);
        let packet = DataPacket { sent: self.now, at, subflow: s, bytes: bytes as u16, role, ecn, copies: NO_COPIES };
        let index = self.packets.insert(packet);
        if self.waits.is_some() {
            self.put_payload(index, Payload::Paced(self.now));
        }
        let link = self.routes.steps[at as usize];
        self.enter(link, index);
        // The link of a demand is none of the network.
        self.hops -= u64::from(self.routes.is_of_demand(link));
        if is_last { self.leave(c) } else { self.arm(s) }
    }

    /// A source control sends a data packet with a header.
    pub(crate) fn send_with_header(&mut self, s: u32, order: PacketOrder) {
        let subflow = &mut self.subflows[s as usize];
        let connection = &mut self.connections[subflow.connection as usize];
        if connection.state != State::Active || connection.left == 0 || !self.plan.run.data {
            return;
        }
        let bytes = connection.packet.min(connection.left);
        connection.left -= bytes;
        subflow.sent += bytes;
        let packet = ControlPacket { bytes: bytes as u32, sent: self.now, ..self.control_packet(s, order) };
        let index = self.control_links.packets.insert(packet);
        if self.ask_link(index) {
            self.travel(index);
        }
    }

    /// A data packet with a header enters a link, or is dropped.
    pub(crate) fn enter_with_header(&mut self, link: u32, index: u32) {
        let bytes = self.control_links.packets[index].bytes;
        let begins = self.waits.is_some().then(|| self.links.begins(link, self.now));
        let Some(arrival) = self.links.enter(link, self.now, bytes) else { return self.drop_control(index) };
        self.hops += u64::from(!self.routes.is_of_demand(link));
        if let Some(begins) = begins {
            self.note_wait_at(link, Role::Paced, self.now, begins);
            self.control_links.packets[index].transmission += self.transmission(link, begins, arrival);
        }
        let arrivals = match self.data_fates.get_mut(link as usize).and_then(Option::as_mut) {
            Some(fates) => fates.next(arrival),
            None => Arrivals { first: Some(arrival), second: None },
        };
        match (arrivals.first, arrivals.second) {
            (None, None) => {
                self.links.drop_one(link);
                self.drop_control(index);
            }
            (Some(time), None) | (None, Some(time)) => self.schedule_control(time, link, index),
            (Some(first), Some(second)) => {
                let mut packet = self.control_links.packets[index].clone();
                self.count_copy(&mut packet.copies);
                self.control_links.packets[index].copies = packet.copies;
                let copy = self.control_links.packets.insert(packet);
                self.schedule_control(first, link, index);
                self.schedule_control(second, link, copy);
            }
        }
    }

    /// Schedules the next packet of a subflow, unless that is done or there is nothing to send.
    pub(crate) fn arm(&mut self, s: u32) {
        let subflow = &mut self.subflows[s as usize];
        let Some(next) = subflow.pace.next(Time(self.now)) else { return };
        // An event that comes too early looks again when it is there.
        if next.0 < subflow.armed {
            subflow.armed = next.0;
            self.schedule(next.0, Kind::Send, s);
        }
    }

    /// A data packet arrives at the far end of a link.
    #[inline]
    pub(crate) fn on_data(&mut self, index: u32) {
        let packet = &mut self.packets[index];
        packet.at += 1;
        let link = self.routes.steps[packet.at as usize];
        if link == END {
            if self.is_special && self.ends_astray(index) {
                return;
            }
            let packet = self.packets.remove(index);
            if packet.role == Role::Paced {
                let since = self.waits.as_ref().map_or(packet.sent, |_| self.payloads[index as usize].since());
                self.deliver(packet, since);
            } else {
                self.arrive(packet, index);
            }
        } else {
            self.enter(link, index);
        }
    }

    /// A data packet enters a link, or is dropped.
    #[inline]
    pub(crate) fn enter(&mut self, link: u32, index: u32) {
        if self.is_special {
            return self.enter_special(link, index);
        }
        let bytes = u32::from(self.packets[index].bytes);
        let Some(arrival) = self.links.enter(link, self.now, bytes) else { return self.lose(index) };
        self.hops += 1;
        self.schedule_data(arrival, link, index);
    }

    /// The same where links have disciplines or faults, or nodes forward by filters.
    fn enter_special(&mut self, link: u32, index: u32) {
        self.go_astray(index);
        if self.has_discipline(link) {
            let item = self.item(index);
            self.wait_at(link, item);
        } else {
            self.pass(link, index, self.now);
        }
    }

    /// A data packet that came at `came` goes over a link that may have faults, or is dropped; gives when it will have left.
    pub(crate) fn pass(&mut self, link: u32, index: u32, came: u64) -> Option<u64> {
        let bytes = u32::from(self.packets[index].bytes);
        let begins = self.waits.is_some().then(|| self.links.begins(link, self.now));
        let Some(arrival) = self.links.enter(link, self.now, bytes) else {
            self.lose(index);
            return None;
        };
        self.hops += 1;
        let DataPacket { role, subflow, .. } = self.packets[index];
        if role == Role::Stray {
            self.count_stray(subflow);
        }
        if let Some(begins) = begins {
            self.note_wait_at(link, role, came, begins);
            let transmission = self.transmission(link, begins, arrival);
            if role != Role::Stray {
                self.payloads[index as usize].leave_out(transmission);
            }
        }
        self.pass_with_faults(link, index, arrival);
        Some(arrival - self.links.delay(link))
    }

    fn pass_with_faults(&mut self, link: u32, index: u32, arrival: u64) {
        let Some(fates) = self.data_fates.get_mut(link as usize).and_then(Option::as_mut) else {
            return self.schedule_data(arrival, link, index);
        };
        let arrivals = fates.next(arrival);
        match (arrivals.first, arrivals.second) {
            (None, None) => {
                self.links.drop_one(link);
                self.lose(index);
            }
            (Some(time), None) | (None, Some(time)) => self.schedule_data(time, link, index),
            (Some(first), Some(second)) => {
                let copy = self.copy(index);
                self.schedule_data(first, link, index);
                self.schedule_data(second, link, copy);
            }
        }
    }

    /// Makes a second copy of a data packet.
    fn copy(&mut self, index: u32) -> u32 {
        let mut packet = self.packets[index];
        if packet.role == Role::Stray {
            return self.packets.insert(packet);
        }
        self.count_copy(&mut packet.copies);
        self.packets[index] = packet;
        let copy = self.packets.insert(packet);
        if let Some(&payload) = self.payloads.get(index as usize) {
            self.put_payload(copy, payload);
        }
        copy
    }

    /// There is one copy more of a data packet.
    fn count_copy(&mut self, copies: &mut u32) {
        if *copies == NO_COPIES {
            *copies = self.copies.insert(Copies { left: 1, has_arrived: false });
        }
        self.copies[*copies].left += 1;
    }

    /// A copy is no longer under way: says how many still are, and whether one had arrived before.
    pub(crate) fn settle_copy(&mut self, copies: u32, has_arrived: bool) -> Copies {
        let record = &mut self.copies[copies];
        record.left -= 1;
        let before = *record;
        record.has_arrived |= has_arrived;
        if before.left == 0 {
            self.copies.remove(copies);
        }
        before
    }

    /// A data packet is at its sink, under way since `since` but for the time in which links sent it.
    pub(crate) fn deliver(&mut self, packet: DataPacket, since: u64) {
        let is_repeated = packet.copies != NO_COPIES && self.settle_copy(packet.copies, true).has_arrived;
        let subflow = &mut self.subflows[packet.subflow as usize];
        if is_repeated {
            subflow.repeated += u64::from(packet.bytes);
            return;
        }
        subflow.delivered += u64::from(packet.bytes);
        let delay = self.now - packet.sent;
        subflow.packets += 1;
        subflow.delay_sum += delay as f64;
        subflow.delay_most = subflow.delay_most.max(delay);
        subflow.settled_at = self.now;
        self.note_wait_of(packet.subflow, since);
    }

    /// A data packet is lost.
    #[cold]
    pub(crate) fn lose(&mut self, index: u32) {
        let mut packet = self.packets.remove(index);
        match packet.role {
            // Nobody waits for it.
            Role::Stray => return,
            // What was asked for does not come.
            Role::Request => packet.bytes = self.payloads[index as usize].bytes(),
            Role::Paced | Role::Segment | Role::Ack => {}
        }
        self.count_lost(packet);
    }

    /// Counts a data packet that is lost.
    pub(crate) fn count_lost(&mut self, packet: DataPacket) {
        if packet.copies != NO_COPIES {
            let copies = self.settle_copy(packet.copies, false);
            if copies.left > 0 || copies.has_arrived {
                return;
            }
        }
        if packet.role == Role::Ack {
            return;
        }
        let subflow = &mut self.subflows[packet.subflow as usize];
        subflow.lost += u64::from(packet.bytes);
        subflow.settled_at = self.now;
    }
}
