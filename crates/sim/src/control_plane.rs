//! Control packets: from the source over the links to the sink and back, past the link controls.
//!
//! Apart from data they take only the delay of each link; in band they queue with it. A hop that may lose, repeat or
//! reorder them is repaired unless the scenario says otherwise (`anabranch_proto::endpoint`): then its packets travel in
//! frames. On a hop that does none of that the frames would change nothing, and are left out.

use anabranch_core::{Bytes, Rate, Time};
use anabranch_links::Links;
use anabranch_links::faults::{Arrivals, Fates};
use anabranch_plan::{CAPACITIES, ControlPlane, Plan};
use anabranch_proto::control::PacketOrder;
use anabranch_proto::endpoint::Frame;
use anabranch_proto::{LinkControl, LinkOrders, LinkView, QueueView};

use crate::control_pacing::Waiting;
use crate::packet::{ControlPacket, NO_COPIES};
use crate::reliable_hop::Hop;
use crate::routes::{END, Routes};
use crate::slab::Slab;
use crate::world::{Kind, World};

/// What a repaired hop waits for an acknowledgement beyond its delays, at the least.
const PATIENCE: u64 = 1_000_000_000;

/// How control packets get over each link.
pub(crate) struct ControlLinks {
    pub packets: Slab<ControlPacket>,
    pub frames: Slab<Option<Frame<ControlPacket>>>,
    pub behind: Waiting,
    of_links: Vec<ControlLink>,
    /// What happens to them on each link; empty if nothing ever does.
    fates: Vec<Option<Box<Fates>>>,
    /// The repaired hops; empty if there are none.
    hops: Vec<Option<Box<Hop>>>,
}

/// What every control packet needs of a link; twins mostly share a cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
struct ControlLink {
    /// When the last control packet arrives at the far end: the next is later.
    last: u64,
    delay: u64,
    /// What protocols see of its capacity, in bit/s: infinite for one without limit, NaN for one that changes.
    capacity: f64,
    twin: u32,
}

impl ControlLinks {
    /// Control links on which nothing travels yet.
    pub fn new(plan: &Plan, routes: &Routes, links: &Links) -> Self {
        let is_in_band = plan.run.control == ControlPlane::InBand;
        let has_faults = plan.links.iter().any(|l| !l.control.is_none());
        let plan_of = |l: usize| &plan.links[routes.used[l].index()];
        let is_faulty = |l: usize| !plan_of(l).control.is_none() || (is_in_band && links.has_limited_queue(l));
        let is_repaired = |l: usize| plan.run.repair && routes.twins[l] != END && is_faulty(l);
        let hop = |l: usize| {
            let back = routes.twins[l];
            let late = plan_of(l).control.late.0 + plan_of(back as usize).control.late.0;
            let wait = links.delay(l as u32) + links.delay(back) + late + PATIENCE;
            Box::new(Hop::new(wait))
        };
        let numbers = 0..routes.used.len();
        let fates = |l: usize| Fates::new(&plan_of(l).control, plan.run.seed, 2 * routes.used[l].0 + 1);
        let has_hops = numbers.clone().any(is_repaired);
        Self {
            packets: Slab::default(),
            frames: Slab::default(),
            behind: Waiting::new(),
            of_links: (0..links.count()).map(|l| ControlLink::new(plan, routes, links, l)).collect(),
            fates: if has_faults { numbers.clone().map(fates).collect() } else { Vec::new() },
            hops: if has_hops { numbers.map(|l| is_repaired(l).then(|| hop(l))).collect() } else { Vec::new() },
        }
    }

    /// Reads what every control packet needs of a link; to fetch it early.
    #[inline]
    pub fn prefetch(&self, link: u32) -> u64 {
        self.of_links[link as usize].last
    }

    /// Control packets under way, those included that hops keep until they have arrived.
    pub fn under_way(&self) -> usize {
        let kept: usize = self.hops.iter().flatten().map(|hop| hop.sender.kept()).sum();
        self.packets.len() + kept
    }

    /// The most that a connection can use changes, and with it the link of its demand.
    pub fn set_demand(&mut self, link: u32, demand: Rate) {
        self.of_links[link as usize].capacity = demand.0;
    }

    pub fn hop(&mut self, link: u32) -> Option<&mut Hop> {
        self.hops.get_mut(link as usize)?.as_deref_mut()
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
    /// What protocols see of the capacity of its link now; `None` for one without limit.
    #[inline]
    fn capacity(&self, links: &Links, link: u32, now: u64) -> Option<Rate> {
        if self.capacity.is_nan() {
            // Controls that a link has at some times see every packet: their sums must not miss one.
            return Some(Rate(links.capacity(link as usize, Time(now)).0.min(*CAPACITIES.end())));
        }
        self.capacity.is_finite().then_some(Rate(self.capacity))
    }

    fn new(plan: &Plan, routes: &Routes, links: &Links, l: usize) -> Self {
        let capacity = match routes.used.get(l) {
            Some(link) if !plan.links[link.index()].changes.is_empty() => f64::NAN,
            Some(&link) => plan.network.link(link).capacity.0,
            None => {
                let connection = routes.demands[l - routes.used.len()];
                let demand = plan.demands.connections()[connection as usize].demand;
                demand.expect("it has a link because it has a demand").0
            }
        };
        Self { last: 0, delay: links.delay(l as u32), capacity, twin: routes.twins[l] }
    }
}

impl World<'_> {
    /// What a source sends on a subflow, at its first link.
    pub(crate) fn control_packet(&self, subflow: u32, order: PacketOrder) -> ControlPacket {
        let connection = self.subflows[subflow as usize].connection;
        ControlPacket {
            header: order.header,
            at: self.routes.first[subflow as usize],
            subflow,
            bytes: 0,
            copies: NO_COPIES,
            sent: self.now,
            transmission: 0,
            protocol: self.plan.transfers[connection as usize].protocol as u16,
            position: 0,
            wants_reply: order.wants_reply,
            is_returning: false,
        }
    }

    /// A source sends a control packet.
    pub(crate) fn launch(&mut self, subflow: u32, order: PacketOrder) {
        let packet = self.control_packet(subflow, order);
        let index = self.control_links.packets.insert(packet);
        if !self.hold_back(subflow, index) {
            self.depart(subflow, index);
        }
    }

    /// Sends a control packet on its way.
    pub(crate) fn depart(&mut self, s: u32, index: u32) {
        let subflow = &mut self.subflows[s as usize];
        subflow.control_sent = self.now;
        if self.plan.run.control_share.is_some() && self.plan.run.control == ControlPlane::InBand {
            subflow.pace.charge(self.plan.run.control_packet);
        }
        if self.ask_link(index) {
            self.travel(index);
        }
    }

    /// A control packet arrives at the far end of a link.
    pub(crate) fn on_control(&mut self, index: u32) {
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

    /// Shows a control packet to the control of the link at its place, if the link limits anything; says whether the
    /// packet goes on.
    pub(crate) fn ask_link(&mut self, index: u32) -> bool {
        let packet = &mut self.control_links.packets[index];
        let link = self.routes.steps[packet.at as usize];
        let Some(capacity) = self.control_links.of_links[link as usize].capacity(&self.links, link, self.now) else {
            return true;
        };
        let queue = &LinkQueue { links: &self.links, link: link as usize, now: self.now };
        let view = LinkView { now: Time(self.now), capacity, queue };
        let (visitor, protocol) = (packet.visitor(), packet.protocol);
        let control = self.controls[protocol as usize].of(link as usize);
        if packet.is_returning {
            control.on_return(&view, visitor, &mut packet.header, &mut self.link_orders);
        } else {
            control.on_arrival(&view, visitor, &mut packet.header, &mut self.link_orders);
        }
        let goes_on = !self.link_orders.drops;
        if !goes_on {
            self.drop_control(index);
        }
        self.obey_link(link, protocol);
        goes_on
    }

    /// A packet goes no further.
    pub(crate) fn drop_control(&mut self, index: u32) {
        let packet = self.control_links.packets.take(index);
        if packet.carries_data() {
            self.count_lost(packet.data());
        }
    }

    /// A link control wanted to be woken.
    pub(crate) fn on_link_timer(&mut self, link: u32, protocol: u32) {
        self.call_link(link, protocol as u16, |control, view, orders| control.on_timer(view, orders));
    }

    /// A link can carry more or less.
    pub(crate) fn on_capacity(&mut self, link: u32) {
        for protocol in 0..self.plan.protocols.len() {
            self.tell_capacity(link, protocol as u16);
        }
        self.tell_sources(link);
    }

    /// Tells the control of a link that its capacity has changed, if the protocol wants that.
    pub(crate) fn tell_capacity(&mut self, link: u32, protocol: u16) {
        let capabilities = self.plan.protocols[protocol as usize].capabilities();
        if capabilities.hears_capacities && !capabilities.keeps_windows() {
            self.call_link(link, protocol, |control, view, orders| control.on_capacity(view, orders));
        }
    }

    /// Calls the control of a link, if that limits anything, and carries out its orders.
    fn call_link(&mut self, link: u32, protocol: u16, ask: impl Fn(&mut dyn LinkControl, &LinkView, &mut LinkOrders)) {
        let Some(capacity) = self.control_links.of_links[link as usize].capacity(&self.links, link, self.now) else {
            return;
        };
        let queue = &LinkQueue { links: &self.links, link: link as usize, now: self.now };
        let view = LinkView { now: Time(self.now), capacity, queue };
        ask(self.controls[protocol as usize].of(link as usize), &view, &mut self.link_orders);
        self.obey_link(link, protocol);
    }

    /// Carries out the orders of a link control.
    #[inline]
    fn obey_link(&mut self, link: u32, protocol: u16) {
        if let Some(time) = self.link_orders.wake.take() {
            self.schedule_packet(time.0.max(self.now), Kind::LinkTimer, link, u32::from(protocol));
        }
        self.link_orders.drops = false;
        if !self.link_orders.upstream.is_empty() {
            self.send_upstream(protocol);
        }
    }

    /// Sends what a link control wants sent towards sources.
    fn send_upstream(&mut self, protocol: u16) {
        let mut orders = std::mem::take(&mut self.link_orders);
        for (to, header) in orders.upstream.drain(..) {
            let at = self.routes.first[to.subflow as usize] + u32::from(to.position) - 1;
            let position = to.position.wrapping_sub(1);
            let (wants_reply, is_returning) = (false, true);
            let (subflow, bytes, copies, sent) = (to.subflow, 0, NO_COPIES, self.now);
            let packet = ControlPacket {
                header,
                at,
                subflow,
                bytes,
                copies,
                sent,
                transmission: 0,
                protocol,
                position,
                wants_reply,
                is_returning,
            };
            if to.position == 0 {
                self.replies.push_back(packet);
            } else {
                let index = self.control_links.packets.insert(packet);
                self.travel(index);
            }
        }
        self.link_orders = orders;
    }

    /// Sends a control packet over the next link of its way.
    pub(crate) fn travel(&mut self, index: u32) {
        let packet = &self.control_links.packets[index];
        let step = self.routes.steps[packet.at as usize];
        let link = if packet.is_returning { self.control_links.of_links[step as usize].twin } else { step };
        if packet.carries_data() {
            return self.enter_with_header(link, index);
        }
        if self.control_links.hop(link).is_some() {
            return self.travel_in_frame(link, index);
        }
        let arrivals = self.passage(link);
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

    /// When a control packet that enters a link now arrives, and a second copy of it.
    pub(crate) fn passage(&mut self, link: u32) -> Arrivals {
        let l = link as usize;
        let arrival = if self.is_in_band(link) {
            self.links.enter(link, self.now, self.plan.run.control_packet.0 as u32)
        } else {
            let lane = &self.control_links.of_links[l];
            Some(self.now.saturating_add(lane.delay).max(lane.last.saturating_add(1)))
        };
        let Some(arrival) = arrival else { return Arrivals { first: None, second: None } };
        self.control_links.of_links[l].last = arrival;
        self.hops += u64::from(!self.routes.is_of_demand(link));
        let Some(fates) = self.control_links.fates.get_mut(l).and_then(Option::as_mut) else {
            return Arrivals { first: Some(arrival), second: None };
        };
        let arrivals = fates.next(arrival);
        if arrivals.first.is_none() && arrivals.second.is_none() {
            self.links.drop_one(link);
        }
        arrivals
    }
}
