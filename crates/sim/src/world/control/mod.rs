//! Control packets: from the source over the links to the sink and back, past the link controls.
//!
//! Apart from data they take only the delay of each link; in band they queue with it. A hop that may lose, repeat or
//! reorder them is repaired unless the scenario says otherwise (`reliable_hop.rs`): then its packets travel in frames.
//! On a hop that does none of that the frames would change nothing, and are left out.

mod counts;
mod departures;
mod headed;
mod pacing;
mod parts;
mod reliable_hop;

use std::collections::VecDeque;

use anabranch_core::{Bytes, Rate, Time};
use anabranch_links::Links;
use anabranch_links::faults::{Arrivals, Fates};
use anabranch_plan::{CAPACITIES, ControlPlane, Plan};
use anabranch_proto::control::PacketOrder;
use anabranch_proto::endpoint::Frame;
use anabranch_proto::{Header, LinkControl, LinkControls, LinkOrders, LinkView, QueueView, Visitor};

use super::World;
use super::clock::Kind;
use crate::packet::{ControlPacket, NO_COPIES};
use crate::routes::{END, Routes};
use crate::shard::Cargo;
use crate::slab::Slab;
pub use counts::ControlCount;
use pacing::Waiting;
use parts::Parts;
use reliable_hop::RepairedHops;

/// The control side of links: control packets under way, and the controls that see them.
pub(crate) struct ControlLinks {
    packets: Slab<ControlPacket>,
    of_links: Vec<ControlLink>,
    /// The random faults of control packets on each link; empty if no link has any.
    fates: Vec<Option<Box<Fates>>>,
    hops: RepairedHops,
    waiting: Waiting,
    /// For each protocol its link controls.
    controls: Vec<Box<dyn LinkControls>>,
    /// For each protocol whether its control packets are part of the rate.
    in_rate: Vec<bool>,
    /// For each protocol whether its links write into packets that leave the queue.
    stamps: Vec<bool>,
    /// The times in picoseconds at which packets that wait to be stamped arrive at the far end, at their indices.
    arrivals: Vec<u64>,
    /// For each link the time in picoseconds at which the last packet that waits to be stamped leaves; empty if no
    /// protocol stamps.
    departed: Vec<u64>,
    /// The orders of the link control that is called, kept so that they are not allocated anew for each call.
    orders: LinkOrders,
    /// Packets that link controls at first links have sent to their sources at this instant.
    replies: VecDeque<ControlPacket>,
    /// Control packets, and data packets with headers, that entered a link of the network.
    entered: u64,
    /// What controls may use of links.
    parts: Parts,
    /// For each subflow the counts of its control packets, where its source is.
    counts: Vec<ControlCount>,
}

/// The values of a link that every control packet needs; those of twins mostly share a cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
struct ControlLink {
    /// The time in picoseconds at which the last control packet arrives at the far end: the next arrives later.
    last: u64,
    /// The propagation delay in picoseconds.
    delay: u64,
    /// The capacity that protocols see, in bit/s: infinite for a link without limit, NaN for a capacity that changes.
    capacity: f64,
    twin: u32,
    /// The number of control packets that entered the link; the greatest number if there were more.
    crossed: u32,
}

impl ControlLinks {
    /// Creates the control side of all links in use; nothing is under way.
    pub fn new(plan: &Plan, routes: &Routes, links: &Links) -> Self {
        let has_faults = plan.links.iter().any(|l| !l.control.is_none());
        let fates = |l: usize| {
            let id = routes.used[l];
            Fates::new(&plan.links[id.index()].control, plan.run.seed, 2 * id.0 + 1)
        };
        let stamps: Vec<bool> = plan.protocols.iter().map(|own| own.capabilities().stamps_departures).collect();
        Self {
            packets: Slab::default(),
            of_links: (0..links.count()).map(|l| ControlLink::new(plan, routes, links, l)).collect(),
            fates: if has_faults { (0..routes.used.len()).map(fates).collect() } else { Vec::new() },
            hops: RepairedHops::new(plan, routes, links),
            waiting: Waiting::default(),
            controls: plan.protocols.iter().map(|protocol| protocol.links(links.count())).collect(),
            departed: if stamps.contains(&true) { vec![0; links.count()] } else { Vec::new() },
            stamps,
            in_rate: plan.protocols.iter().map(|protocol| protocol.capabilities().in_rate).collect(),
            arrivals: Vec::new(),
            orders: LinkOrders::default(),
            replies: VecDeque::new(),
            entered: 0,
            parts: Parts::new(plan, routes),
            counts: vec![ControlCount::default(); plan.paths.len()],
        }
    }

    /// The control packet at an index.
    #[inline]
    pub(super) fn packet(&self, index: u32) -> &ControlPacket {
        &self.packets[index]
    }

    /// Reads the values of a link that every control packet needs.
    #[inline]
    pub(super) fn prefetch(&self, link: u32) -> u64 {
        self.of_links[link as usize].last ^ u64::from(self.controls[0].is_clear(link as usize))
    }

    /// Whether the control packets of the protocol of a packet are part of the rate.
    #[inline]
    fn are_in_rate(&self, packet: &ControlPacket) -> bool {
        self.in_rate[packet.protocol as usize]
    }

    /// Shows a data packet without a header to the control of a link.
    pub(super) fn show_data(&mut self, protocol: usize, link: u32, visitor: Visitor) {
        self.controls[protocol].of(link as usize).on_data(visitor);
    }

    /// Whether the links of a protocol write into packets that leave the queue.
    #[inline]
    fn stamps(&self, protocol: u16) -> bool {
        !self.departed.is_empty() && self.stamps[protocol as usize]
    }

    /// The number of control packets under way, those included that hops keep until they are acknowledged.
    pub fn under_way(&self) -> usize {
        self.packets.len() + self.hops.kept()
    }

    /// Control packets, and data packets with headers, that entered a link of the network.
    pub fn hops(&self) -> u64 {
        self.entered
    }

    /// The counts of a subflow's control packets; all 0 outside of the shard of its source.
    pub fn count(&self, subflow: usize) -> ControlCount {
        self.counts[subflow]
    }

    /// Counts a control packet that is back at the source of a subflow.
    pub(super) fn count_reply(&mut self, subflow: u32, header: &Header) {
        self.counts[subflow as usize].on_reply(header);
    }

    /// The number of control packets that entered a link from here.
    ///
    /// Control packets include those that sinks and links send, and the frames of repaired hops.
    pub fn crossed(&self, link: usize) -> u64 {
        u64::from(self.of_links[link].crossed)
    }

    /// Whether the controls of a link hold nothing of any connection.
    pub fn is_clear(&self, link: usize) -> bool {
        self.controls.iter().all(|controls| controls.is_clear(link))
    }

    /// Changes the capacity of the link that stands for the demand of a connection.
    pub(super) fn set_demand(&mut self, link: u32, demand: Rate) {
        self.of_links[link as usize].capacity = demand.0;
    }

    /// Takes the next packet that a link control has sent to its source at this instant.
    #[inline]
    pub(super) fn next_reply(&mut self) -> Option<ControlPacket> {
        self.replies.pop_front()
    }

    /// Takes a packet out that goes to another shard.
    pub(super) fn export(&mut self, index: u32) -> Cargo {
        Cargo::Control(self.packets.take(index))
    }

    /// Adds a packet that comes from another shard; gives its index.
    pub(super) fn import(&mut self, packet: ControlPacket) -> u32 {
        self.packets.insert(packet)
    }

    /// Takes a frame out that goes to another shard.
    pub(super) fn export_frame(&mut self, index: u32) -> Cargo {
        Cargo::Frame(self.hops.take_frame(index))
    }

    /// Adds a frame that comes from another shard; gives its index.
    pub(super) fn import_frame(&mut self, frame: Frame<ControlPacket>) -> u32 {
        self.hops.insert_frame(frame)
    }
}

/// What a link control sees of a data queue.
struct LinkQueue<'a> {
    links: &'a Links,
    link: usize,
    now: u64,
}

impl QueueView for LinkQueue<'_> {
    fn arrived(&self) -> Bytes {
        Bytes(self.links.arrived(self.link))
    }

    fn backlog(&self) -> Bytes {
        Bytes(self.links.backlog(self.link, self.now))
    }
}

impl ControlLink {
    /// The capacity of its link at `now`; `None` for a link without limit.
    #[inline]
    fn capacity(&self, links: &Links, link: u32, now: u64) -> Option<Rate> {
        if self.capacity.is_nan() {
            // Controls that a link has at some times see every packet: their sums must not miss one.
            return Some(Rate(links.known_capacity(link as usize, Time(now)).0.min(*CAPACITIES.end())));
        }
        self.capacity.is_finite().then_some(Rate(self.capacity))
    }

    fn new(plan: &Plan, routes: &Routes, links: &Links, l: usize) -> Self {
        let capacity = match routes.used.get(l) {
            Some(link) if plan.links[link.index()].varies() => f64::NAN,
            Some(&link) => plan.network.link(link).capacity.0,
            None => {
                let connection = routes.demands[l - routes.used.len()];
                let demand = plan.demands.connections()[connection as usize].demand;
                demand.expect("it has a link because it has a demand").0
            }
        };
        Self { last: 0, delay: links.delay(l as u32), capacity, twin: routes.twins[l], crossed: 0 }
    }
}

impl World<'_> {
    /// A control packet that a source sends on a subflow, at its first link.
    fn control_packet(&self, subflow: u32, order: PacketOrder) -> ControlPacket {
        let connection = self.subflows[subflow as usize].connection();
        ControlPacket {
            header: order.header,
            at: self.routes.first[subflow as usize],
            subflow,
            bytes: 0,
            copies: NO_COPIES,
            sent: self.clock.now(),
            transmission: 0,
            protocol: self.plan.transfers[connection as usize].protocol as u16,
            position: 0,
            wants_reply: order.wants_reply,
            is_returning: false,
        }
    }

    /// A source sends a control packet.
    pub(super) fn launch(&mut self, subflow: u32, order: PacketOrder) {
        let packet = self.control_packet(subflow, order);
        let index = self.control_links.packets.insert(packet);
        if !self.hold_back(subflow, index) {
            self.depart(subflow, index);
        }
    }

    /// A control packet leaves its source.
    fn depart(&mut self, s: u32, index: u32) {
        let run = &self.plan.run;
        let is_in_rate = run.control == ControlPlane::InBand
            && (run.control_share.is_some() || self.control_links.are_in_rate(&self.control_links.packets[index]));
        self.subflows[s as usize].on_control_sent(self.clock.now(), is_in_rate.then_some(run.control_packet));
        self.control_links.counts[s as usize].sent += 1;
        if self.ask_link(index) {
            self.travel(index);
        }
    }

    /// A control packet arrives at the far end of a link.
    pub(super) fn on_control(&mut self, index: u32) {
        let packet = &mut self.control_links.packets[index];
        if packet.is_returning {
            if !self.ask_link(index) {
                return;
            }
            let packet = &mut self.control_links.packets[index];
            packet.at -= 1;
            packet.position = packet.position.wrapping_sub(1);
            if self.routes.steps[packet.at as usize] == END {
                let packet = self.control_links.packets.take(index);
                return self.on_reply(packet.subflow, &packet.header);
            }
        } else if self.routes.steps[packet.at as usize + 1] != END {
            packet.at += 1;
            packet.position += 1;
            if !self.ask_link(index) {
                return;
            }
        } else if packet.carries_data() {
            let (data, since) = (packet.data(), packet.sent.saturating_add(packet.transmission));
            packet.bytes = 0;
            self.deliver(data, since);
            return self.on_control(index);
        } else if packet.wants_reply
            && (self.plan.protocols[packet.protocol as usize].capabilities().turn)(&mut packet.header)
        {
            packet.is_returning = true;
        } else {
            self.control_links.packets.take(index);
            return;
        }
        self.travel(index);
    }

    /// Shows a control packet to the control of the link at its place, if the link has a limit. Says whether the packet
    /// goes on.
    fn ask_link(&mut self, index: u32) -> bool {
        let now = self.clock.now();
        let own = &mut self.control_links;
        let packet = &mut own.packets[index];
        let link = self.routes.steps[packet.at as usize];
        let Some(capacity) = own.of_links[link as usize].capacity(&self.links, link, now) else {
            return true;
        };
        let capacity = own.parts.of(capacity, link, packet.protocol);
        let control_packet = own.parts.control_packet(link);
        let queue = &LinkQueue { links: &self.links, link: link as usize, now };
        let view = LinkView { now: Time(now), capacity, control_packet, queue };
        let (visitor, protocol) = (packet.visitor(), packet.protocol);
        let control = own.controls[protocol as usize].of(link as usize);
        if packet.is_returning {
            control.on_return(&view, visitor, &mut packet.header, &mut own.orders);
        } else {
            control.on_arrival(&view, visitor, &mut packet.header, &mut own.orders);
        }
        let goes_on = !own.orders.drops;
        if !goes_on {
            self.drop_control(index);
        }
        self.obey_link(link, protocol);
        goes_on
    }

    /// The timer of a link control expires.
    pub(super) fn on_link_timer(&mut self, link: u32, protocol: u32) {
        self.call_link(link, protocol as u16, |control, view, orders| control.on_timer(view, orders));
    }

    /// The capacity of a link changes.
    pub(super) fn on_capacity(&mut self, link: u32) {
        for protocol in 0..self.plan.protocols.len() {
            self.tell_capacity(link, protocol as u16);
        }
        self.tell_sources(link);
    }

    /// Tells the control of a link that its capacity has changed, if the protocol wants that.
    pub(super) fn tell_capacity(&mut self, link: u32, protocol: u16) {
        let capabilities = self.plan.protocols[protocol as usize].capabilities();
        if capabilities.hears_capacities && !capabilities.keeps_windows() {
            self.call_link(link, protocol, |control, view, orders| control.on_capacity(view, orders));
        }
    }

    /// Calls the control of a link, if the link has a limit, and carries out its orders.
    fn call_link(&mut self, link: u32, protocol: u16, ask: impl Fn(&mut dyn LinkControl, &LinkView, &mut LinkOrders)) {
        let now = self.clock.now();
        let own = &mut self.control_links;
        let Some(capacity) = own.of_links[link as usize].capacity(&self.links, link, now) else {
            return;
        };
        let capacity = own.parts.of(capacity, link, protocol);
        let queue = &LinkQueue { links: &self.links, link: link as usize, now };
        let view = LinkView { now: Time(now), capacity, control_packet: own.parts.control_packet(link), queue };
        ask(own.controls[protocol as usize].of(link as usize), &view, &mut own.orders);
        self.obey_link(link, protocol);
    }

    /// Carries out the orders of a link control.
    #[inline]
    fn obey_link(&mut self, link: u32, protocol: u16) {
        let orders = &mut self.control_links.orders;
        if let Some(time) = orders.wake.take() {
            let time = time.0.max(self.clock.now());
            self.clock.schedule_packet(time, Kind::LinkTimer, link, u32::from(protocol));
        }
        orders.drops = false;
        if !orders.upstream.is_empty() {
            self.send_upstream(protocol);
        }
    }

    /// Sends the packets that a link control wants sent towards sources.
    fn send_upstream(&mut self, protocol: u16) {
        let mut orders = std::mem::take(&mut self.control_links.orders);
        for (to, header) in orders.upstream.drain(..) {
            let packet = ControlPacket {
                header,
                at: self.routes.first[to.subflow as usize] + u32::from(to.position) - 1,
                subflow: to.subflow,
                bytes: 0,
                copies: NO_COPIES,
                sent: self.clock.now(),
                transmission: 0,
                protocol,
                position: to.position.wrapping_sub(1),
                wants_reply: false,
                is_returning: true,
            };
            if to.position == 0 {
                self.control_links.replies.push_back(packet);
            } else {
                let index = self.control_links.packets.insert(packet);
                self.travel(index);
            }
        }
        self.control_links.orders = orders;
    }

    /// Sends a control packet over the next link of its way.
    fn travel(&mut self, index: u32) {
        let packet = &self.control_links.packets[index];
        let step = self.routes.steps[packet.at as usize];
        let link = if packet.is_returning { self.control_links.of_links[step as usize].twin } else { step };
        if packet.carries_data() {
            return self.enter_with_header(link, index);
        }
        if !packet.is_returning && self.control_links.stamps(packet.protocol) {
            return self.travel_stamped(link, index);
        }
        self.travel_on(link, index);
    }

    /// Sends a control packet over a link.
    #[expect(clippy::inline_always, reason = "every control packet comes here at each link")]
    #[inline(always)]
    fn travel_on(&mut self, link: u32, index: u32) {
        if self.control_links.hops.is_repaired(link) {
            return self.travel_in_frame(link, index);
        }
        let arrivals = self.passage(link);
        self.cross(link, index, arrivals);
    }

    /// A control packet goes over a link, which it leaves at these times.
    #[expect(clippy::inline_always, reason = "every control packet comes here at each link")]
    #[inline(always)]
    fn cross(&mut self, link: u32, index: u32, arrivals: Arrivals) {
        let is_twice = arrivals.first.is_some() && arrivals.second.is_some();
        let copy = is_twice.then(|| self.control_links.packets.insert(self.control_links.packets[index].clone()));
        match arrivals.first {
            Some(time) => self.schedule_control(time, link, index),
            None if arrivals.second.is_none() => _ = self.control_links.packets.take(index),
            None => {}
        }
        if let Some(time) = arrivals.second {
            self.schedule_control(time, link, copy.unwrap_or(index));
        }
    }

    /// The times at which a control packet that enters a link now arrives, and a second copy of it.
    fn passage(&mut self, link: u32) -> Arrivals {
        let (l, now) = (link as usize, self.clock.now());
        let arrival = if self.is_in_band(link) {
            self.links.enter(link, now, self.plan.run.control_packet.0 as u32)
        } else {
            let own = &self.control_links.of_links[l];
            Some(now.saturating_add(own.delay).max(own.last.saturating_add(1)))
        };
        let Some(arrival) = arrival else { return Arrivals { first: None, second: None } };
        let own = &mut self.control_links.of_links[l];
        own.last = arrival;
        own.crossed = own.crossed.saturating_add(1);
        self.control_links.entered += u64::from(!self.routes.is_of_demand(link));
        self.fate_of_control(link, arrival)
    }

    /// The times at which a control packet that a link carries to `arrival` arrives, and a second copy of it.
    #[expect(clippy::inline_always, reason = "every control packet comes here at each link")]
    #[inline(always)]
    fn fate_of_control(&mut self, link: u32, arrival: u64) -> Arrivals {
        let Some(fates) = self.control_links.fates.get_mut(link as usize).and_then(Option::as_mut) else {
            return Arrivals { first: Some(arrival), second: None };
        };
        let arrivals = fates.next(arrival);
        if arrivals.first.is_none() && arrivals.second.is_none() {
            self.links.drop_one(link);
        }
        arrivals
    }

    /// Whether control packets wait in the data queue of a link.
    fn is_in_band(&self, link: u32) -> bool {
        self.plan.run.control == ControlPlane::InBand && !self.routes.is_of_demand(link)
    }
}
