//! Data packets: sent at the pace that is granted, passed on link by link, counted at the sink.

use anabranch_core::{Bytes, Time};

use crate::connections::{State, UNSET};
use crate::packet::DataPacket;
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
        connection.under_way += bytes;
        subflow.pace.on_sent(Time(self.now), Bytes(bytes));
        subflow.sent += bytes;
        let is_last = connection.left == 0;
        let at = subflow.first;
        let packet = DataPacket { sent: self.now, at, subflow: s, bytes: bytes as u32, is_copy: false };
        let index = self.packets.insert(packet);
        self.enter(self.routes.steps[at as usize], index);
        if is_last { self.leave(c) } else { self.arm(s) }
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
        if link == END { self.deliver(index) } else { self.enter(link, index) }
    }

    /// A data packet enters a link, or is dropped.
    #[inline]
    fn enter(&mut self, link: u32, index: u32) {
        let bytes = self.packets[index].bytes;
        let Some(arrival) = self.links.enter(link, self.now, bytes) else { return self.lose(index) };
        self.hops += 1;
        if self.data_fates.is_empty() {
            self.schedule_packet(arrival, Kind::Data, link, index);
        } else {
            self.pass_with_faults(link, index, arrival);
        }
    }

    fn pass_with_faults(&mut self, link: u32, index: u32, arrival: u64) {
        let Some(fates) = self.data_fates.get_mut(link as usize).and_then(Option::as_mut) else {
            return self.schedule_packet(arrival, Kind::Data, link, index);
        };
        let arrivals = fates.next(arrival);
        match (arrivals.first, arrivals.second) {
            (None, None) => {
                self.links.drop_one(link);
                self.lose(index);
            }
            (Some(time), None) | (None, Some(time)) => self.schedule_packet(time, Kind::Data, link, index),
            (Some(first), Some(second)) => {
                let copy = DataPacket { is_copy: true, ..self.packets[index] };
                let copy = self.packets.insert(copy);
                self.schedule_packet(first, Kind::Data, link, index);
                self.schedule_packet(second, Kind::Data, link, copy);
            }
        }
    }

    /// A data packet is at its sink.
    fn deliver(&mut self, index: u32) {
        let packet = self.packets.remove(index);
        let subflow = &mut self.subflows[packet.subflow as usize];
        if packet.is_copy {
            subflow.repeated += u64::from(packet.bytes);
            return;
        }
        subflow.delivered += u64::from(packet.bytes);
        let delay = self.now - packet.sent;
        subflow.packets += 1;
        subflow.delay_sum += delay as f64;
        subflow.delay_most = subflow.delay_most.max(delay);
        if subflow.ends {
            let c = subflow.connection;
            self.settle(c, packet.bytes);
        }
    }

    /// A data packet is lost.
    #[cold]
    fn lose(&mut self, index: u32) {
        let packet = self.packets.remove(index);
        if packet.is_copy {
            return;
        }
        let subflow = &mut self.subflows[packet.subflow as usize];
        subflow.lost += u64::from(packet.bytes);
        if subflow.ends {
            let c = subflow.connection;
            self.settle(c, packet.bytes);
        }
    }

    /// Bytes of a connection that ends are no longer under way; the last of them end its transfer.
    #[inline]
    fn settle(&mut self, c: u32, bytes: u32) {
        let connection = &mut self.connections[c as usize];
        connection.under_way -= u64::from(bytes);
        if connection.left == 0 && connection.under_way == 0 {
            connection.finished_at = self.now;
        }
    }
}
