//! Data packets: sent at the granted rate, passed on link by link, counted at the sink.
//!
//! Under window protocols the transport sends them (`transport/mod.rs`). Data packets with a header travel among the
//! control packets (`control/headed.rs`); links and sinks treat them as they treat others.

mod queue;
mod waits;

use anabranch_core::LinkId;
use anabranch_links::faults::{Arrivals, Fates};
use anabranch_links::{Links, Service};
use anabranch_plan::Plan;
use anabranch_proto::Visitor;
use anabranch_queues::Ecn;

use super::World;
use super::clock::Kind;
use crate::packet::{Copies, DataPacket, NO_COPIES, Payload, Role};
use crate::routes::{END, Routes};
use crate::shard::Cargo;
use crate::slab::Slab;
use queue::Queues;
pub(crate) use waits::Waits;
pub use waits::{QUANTILES, Wait};

/// The data packets of a shard, with what links do to them and what is counted of them.
pub(crate) struct Data {
    packets: Slab<DataPacket>,
    /// The contents of packets of the transport, at the indices of these packets.
    payloads: Vec<Payload>,
    copies: Slab<Copies>,
    /// The random faults of each link; empty if no link has any.
    fates: Vec<Option<Box<Fates>>>,
    queues: Queues,
    /// The distributions of waits, if they are recorded.
    waits: Option<Box<Waits>>,
    /// Whether any link has a discipline or faults of data, waits are recorded, nodes forward by filters, or link
    /// controls see data.
    is_special: bool,
    /// For each protocol whether its link controls see data; empty if none does.
    seen: Vec<bool>,
    /// Data packets that entered a link of the network.
    hops: u64,
    /// For each subflow the links that copies entered beside its path; empty if nodes forward by no filters.
    strays: Vec<u64>,
}

impl Data {
    /// Creates the data plane of a plan, without packets.
    pub fn new(plan: &Plan, routes: &Routes, links: &Links) -> Self {
        let has_faults = plan.links.iter().any(|l| !l.data.is_none());
        let has_disciplines = plan.links.iter().any(|l| l.discipline.is_some());
        let has_waits = plan.run.record.waits;
        let seen: Vec<bool> = plan.protocols.iter().map(|protocol| protocol.capabilities().sees_data).collect();
        let sees_data = seen.contains(&true);
        let fates = |l: &LinkId| Fates::new(&plan.links[l.index()].data, plan.run.seed, 2 * l.0);
        Self {
            packets: Slab::default(),
            payloads: Vec::new(),
            copies: Slab::default(),
            fates: if has_faults { routes.used.iter().map(fates).collect() } else { Vec::new() },
            queues: Queues::new(plan, routes),
            waits: has_waits.then(|| Box::new(Waits::new(routes, links, plan.run.warm_up.0))),
            is_special: has_faults || has_disciplines || has_waits || sees_data || plan.filters.is_some(),
            seen: if sees_data { seen } else { Vec::new() },
            hops: 0,
            strays: if plan.filters.is_some() { vec![0; plan.paths.len()] } else { Vec::new() },
        }
    }

    /// The number of data packets under way, without those with headers.
    pub fn under_way(&self) -> usize {
        self.packets.len()
    }

    /// Data packets without headers that entered a link of the network.
    pub fn hops(&self) -> u64 {
        self.hops
    }

    /// Links that copies of a subflow's packets entered beside its path.
    pub fn strays(&self, subflow: usize) -> u64 {
        self.strays.get(subflow).copied().unwrap_or(0)
    }

    /// Bytes that wait in the queue of a link with a discipline; 0 for a link without one.
    pub fn backlog(&self, link: usize) -> u64 {
        self.queues.backlog(link)
    }

    /// The distributions of waits, if they are recorded.
    #[inline]
    pub fn waits(&self) -> Option<&Waits> {
        self.waits.as_deref()
    }

    /// The data packet at an index.
    #[inline]
    pub(super) fn packet(&self, index: u32) -> &DataPacket {
        &self.packets[index]
    }

    /// The contents of the packet at an index, or of the last packet there that had some.
    #[inline]
    pub(super) fn payload(&self, index: u32) -> &Payload {
        &self.payloads[index as usize]
    }

    /// Adds a packet with contents; gives its index.
    #[inline]
    pub(super) fn insert(&mut self, packet: DataPacket, payload: Payload) -> u32 {
        let index = self.packets.insert(packet);
        self.put_payload(index, payload);
        index
    }

    /// Takes a packet out that goes to another shard.
    pub(super) fn export(&mut self, index: u32) -> Cargo {
        let packet = self.packets.remove(index);
        match packet.role {
            Role::Paced if self.waits.is_some() => Cargo::Transport(packet, self.payloads[index as usize]),
            Role::Paced | Role::Stray => Cargo::Data(packet),
            Role::Segment | Role::Ack | Role::Request => Cargo::Transport(packet, self.payloads[index as usize]),
        }
    }

    /// Adds a packet that comes from another shard; gives its index.
    pub(super) fn import(&mut self, packet: DataPacket, payload: Option<Payload>) -> u32 {
        match payload {
            Some(payload) => self.insert(packet, payload),
            None => self.packets.insert(packet),
        }
    }

    /// The times at which a data packet that a link carries to `arrival` arrives, and a second copy of it.
    #[inline]
    pub(super) fn fate(&mut self, link: u32, arrival: u64) -> Arrivals {
        match self.fates.get_mut(link as usize).and_then(Option::as_mut) {
            Some(fates) => fates.next(arrival),
            None => Arrivals { first: Some(arrival), second: None },
        }
    }

    /// Counts one copy more of a data packet, whose copies are counted at `copies`.
    pub(super) fn count_copy(&mut self, copies: &mut u32) {
        if *copies == NO_COPIES {
            *copies = self.copies.insert(Copies { left: 1, has_arrived: false });
        }
        self.copies[*copies].left += 1;
    }

    /// Takes note that a copy is no longer under way. Gives the copies that still are, and whether one had arrived
    /// before.
    pub(super) fn settle_copy(&mut self, copies: u32, has_arrived: bool) -> Copies {
        let record = &mut self.copies[copies];
        record.left -= 1;
        let before = *record;
        record.has_arrived |= has_arrived;
        if before.left == 0 {
            self.copies.remove(copies);
        }
        before
    }

    #[inline]
    fn put_payload(&mut self, index: u32, payload: Payload) {
        let place = index as usize;
        if place >= self.payloads.len() {
            self.payloads.resize(place + 1, payload);
        }
        self.payloads[place] = payload;
    }

    /// Makes a second copy of a data packet; gives its index.
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
}

impl World<'_> {
    /// The next packet of a paced subflow may be due.
    pub(super) fn on_send(&mut self, s: u32) {
        let now = self.clock.now();
        let subflow = &mut self.subflows[s as usize];
        if !subflow.disarm(now) {
            return;
        }
        let c = subflow.connection();
        let connection = &mut self.connections[c];
        if !connection.has_data() {
            return;
        }
        // The rate may have fallen since.
        if subflow.next_due(now) != Some(now) {
            return self.arm(s);
        }
        let bytes = connection.take_packet();
        subflow.on_paced(now, bytes);
        let is_last = connection.is_sent();
        if !(connection.has_headers() && self.send_paced_with_header(s, bytes)) {
            self.send_paced(s, bytes);
        }
        if is_last { self.leave(c) } else { self.arm(s) }
    }

    /// Sends a packet of a paced subflow without a header.
    #[inline]
    fn send_paced(&mut self, s: u32, bytes: u64) {
        let now = self.clock.now();
        let at = self.subflows[s as usize].first();
        let (role, ecn) = (Role::Paced, Ecn::NotEct);
        let packet = DataPacket { sent: now, at, subflow: s, bytes: bytes as u16, role, ecn, copies: NO_COPIES };
        let index = self.data.packets.insert(packet);
        if self.data.waits.is_some() {
            self.data.put_payload(index, Payload::Paced(now));
        }
        let link = self.routes.steps[at as usize];
        self.enter(link, index);
        // The link of a demand is none of the network.
        self.data.hops -= u64::from(self.routes.is_of_demand(link));
    }

    /// Schedules the next packet of a subflow, unless an event for it is in the calendar or the rate is 0.
    pub(super) fn arm(&mut self, s: u32) {
        let subflow = &mut self.subflows[s as usize];
        let Some(next) = subflow.next_due(self.clock.now()) else { return };
        // An event that comes too early looks again when it is there.
        if subflow.arm(next) {
            self.clock.schedule(next, Kind::Send, s);
        }
    }

    /// A data packet arrives at the far end of a link.
    #[inline]
    pub(super) fn on_data(&mut self, index: u32) {
        let packet = &mut self.data.packets[index];
        packet.at += 1;
        let link = self.routes.steps[packet.at as usize];
        if link == END {
            if self.data.is_special && self.ends_astray(index) {
                return;
            }
            let packet = self.data.packets.remove(index);
            if packet.role == Role::Paced {
                let since = self.data.waits.as_ref().map_or(packet.sent, |_| self.data.payload(index).since());
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
    pub(super) fn enter(&mut self, link: u32, index: u32) {
        if self.data.is_special {
            return self.enter_special(link, index);
        }
        let bytes = u32::from(self.data.packets[index].bytes);
        let Some(arrival) = self.links.enter(link, self.clock.now(), bytes) else { return self.lose(index) };
        self.data.hops += 1;
        self.schedule_data(arrival, link, index);
    }

    /// A data packet enters a link or its queue, where links have disciplines or faults, or nodes forward by filters.
    fn enter_special(&mut self, link: u32, index: u32) {
        self.go_astray(index);
        if !self.data.seen.is_empty() {
            self.show_data(link, index);
        }
        if self.has_discipline(link) {
            let item = self.item(index);
            self.wait_at(link, item);
        } else {
            self.pass(link, index, self.clock.now());
        }
    }

    /// Shows a data packet that arrives at a link to the control of the link, if the protocol wants that.
    fn show_data(&mut self, link: u32, index: u32) {
        let packet = &self.data.packets[index];
        let subflow = &self.subflows[packet.subflow as usize];
        let protocol = self.plan.transfers[subflow.connection() as usize].protocol;
        if self.data.seen[protocol] && packet.role == Role::Paced {
            let position = (packet.at - subflow.first()) as u8;
            self.control_links.show_data(protocol, link, Visitor { subflow: packet.subflow, position });
        }
    }

    /// A data packet that came at `came` goes over a link that may have faults, or is dropped. Gives the time at which
    /// the link has sent it.
    fn pass(&mut self, link: u32, index: u32, came: u64) -> Option<u64> {
        let now = self.clock.now();
        let bytes = u32::from(self.data.packets[index].bytes);
        let begins = self.data.waits.is_some().then(|| self.links.begins(link, now));
        let Some(arrival) = self.links.enter(link, now, bytes) else {
            self.lose(index);
            return None;
        };
        self.data.hops += 1;
        let DataPacket { role, subflow, .. } = self.data.packets[index];
        if role == Role::Stray {
            self.data.strays[subflow as usize] += 1;
        }
        if let Some(begins) = begins {
            let transmission = self.note_wait_at(link, role, came, begins, arrival);
            if role != Role::Stray {
                self.data.payloads[index as usize].leave_out(transmission);
            }
        }
        self.pass_with_faults(link, index, arrival);
        Some(arrival - self.links.delay(link))
    }

    fn pass_with_faults(&mut self, link: u32, index: u32, arrival: u64) {
        let arrivals = self.data.fate(link, arrival);
        match (arrivals.first, arrivals.second) {
            (None, None) => {
                self.links.drop_one(link);
                self.lose(index);
            }
            (Some(time), None) | (None, Some(time)) => self.schedule_data(time, link, index),
            (Some(first), Some(second)) => {
                let copy = self.data.copy(index);
                self.schedule_data(first, link, index);
                self.schedule_data(second, link, copy);
            }
        }
    }

    /// Copies of a packet leave its path at its place, where strays begin.
    fn go_astray(&mut self, index: u32) {
        let routes = self.routes;
        for &at in routes.strays.at(self.data.packets[index].at) {
            let copy = DataPacket { at, role: Role::Stray, copies: NO_COPIES, ..self.data.packets[index] };
            let copy = self.data.packets.insert(copy);
            self.enter(routes.steps[at as usize], copy);
        }
    }

    /// Lets copies of a packet leave at the end of its path. Says whether the packet was such a copy itself; then it is
    /// gone.
    #[cold]
    fn ends_astray(&mut self, index: u32) -> bool {
        self.go_astray(index);
        let is_stray = self.data.packets[index].role == Role::Stray;
        if is_stray {
            self.data.packets.remove(index);
        }
        is_stray
    }

    /// A data packet is at its sink. It was sent at `since`, plus the time for which links transmitted it.
    pub(super) fn deliver(&mut self, packet: DataPacket, since: u64) {
        let is_repeated = packet.copies != NO_COPIES && self.data.settle_copy(packet.copies, true).has_arrived;
        let subflow = &mut self.subflows[packet.subflow as usize];
        if is_repeated {
            return subflow.on_repeated(u64::from(packet.bytes));
        }
        subflow.on_delivered(self.clock.now(), packet.sent, u64::from(packet.bytes), 0);
        self.data.note_wait_of(self.clock.now(), packet.subflow, since);
    }

    /// A data packet is lost.
    #[cold]
    fn lose(&mut self, index: u32) {
        let mut packet = self.data.packets.remove(index);
        match packet.role {
            // Nobody waits for it.
            Role::Stray => return,
            // The segment that was requested does not come.
            Role::Request => packet.bytes = self.data.payload(index).bytes(),
            Role::Paced | Role::Segment | Role::Ack => {}
        }
        self.count_lost(packet);
    }

    /// Counts a data packet that is lost.
    pub(super) fn count_lost(&mut self, packet: DataPacket) {
        if packet.copies != NO_COPIES {
            let copies = self.data.settle_copy(packet.copies, false);
            if copies.left > 0 || copies.has_arrived {
                return;
            }
        }
        if packet.role == Role::Ack {
            return;
        }
        self.subflows[packet.subflow as usize].on_lost(self.clock.now(), u64::from(packet.bytes));
    }
}
