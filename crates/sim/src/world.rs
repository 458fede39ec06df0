//! The simulated world, or a shard of it: everything that is there, and the loop that serves its events.
//!
//! The loop knows the kinds of events and nothing else. Data packets are in `data.rs`, control packets in
//! `control_plane.rs`, connections in `connections.rs`. Several shards, and what is written down of them, are in
//! `engine.rs`.

use std::collections::VecDeque;

use anabranch_core::paths::GroupSearch;
use anabranch_core::{ConnectionId, LinkId, Rate};
use anabranch_links::faults::Fates;
use anabranch_links::{Links, ServedQueue, Service};
use anabranch_plan::{ControlPlane, Limit, LinkPlan, Plan};
use anabranch_proto::{LinkControls, LinkOrders, Orders};
use anabranch_queues::Item;

use crate::calendar::{Calendar, Event};
use crate::capacities::Hearers;
use crate::connections::{Connection, Subflow};
use crate::control_plane::ControlLinks;
use crate::packet::{ControlPacket, Copies, DataPacket, Payload, Role};
use crate::queue::queues;
use crate::record::Grant;
use crate::routes::Routes;
use crate::shard::{Cargo, Message, Shard};
use crate::slab::Slab;
use crate::transport::{Endpoint, SubflowTransport};
use crate::waits::Waits;

/// Bits of a key that say of what the event is; those above say what kind of event.
pub(crate) const ID_BITS: u32 = 27;

/// Kinds of events, in the order in which those of the same time are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Kind {
    /// A link with a queue discipline has opportunities to send: what comes at the same time is too late for them.
    Opportunity,
    /// A connection begins.
    Join,
    /// A connection is to end.
    Stop,
    /// A path of a connection may be used from now on.
    Open,
    /// A path of a connection may be used no longer.
    Close,
    /// A data packet arrives at the far end of a link.
    Data,
    /// A data packet with a header does.
    Headed,
    /// A control packet does.
    Control,
    /// A frame of a repaired hop does.
    Frame,
    /// A repaired hop has waited long enough.
    Deadline,
    /// A connection can use more or less.
    Demand,
    /// A link can carry more or less.
    Capacity,
    /// A source control wanted to be woken.
    Wake,
    /// A link control did.
    LinkTimer,
    /// A control packet was held back long enough.
    Release,
    /// A subflow may send its next packet.
    Send,
    /// A packet of the transport enters its first link.
    Enter,
    /// A path of the transport has waited long enough for acknowledgements.
    Patience,
    /// A sink of the transport has waited long enough before it acknowledges.
    Tell,
    /// A source of the transport may have something to send.
    Poll,
    /// A link with a queue discipline is free again.
    Free,
}

const KINDS: [Kind; 21] = [
    Kind::Opportunity,
    Kind::Join,
    Kind::Stop,
    Kind::Open,
    Kind::Close,
    Kind::Data,
    Kind::Headed,
    Kind::Control,
    Kind::Frame,
    Kind::Deadline,
    Kind::Demand,
    Kind::Capacity,
    Kind::Wake,
    Kind::LinkTimer,
    Kind::Release,
    Kind::Send,
    Kind::Enter,
    Kind::Patience,
    Kind::Tell,
    Kind::Poll,
    Kind::Free,
];

/// Everything that is there.
pub struct World<'p> {
    pub(crate) plan: &'p Plan,
    pub(crate) routes: &'p Routes,
    pub(crate) shard: Shard<'p>,
    pub(crate) now: u64,
    /// The last instant of the run.
    pub(crate) end: u64,
    pub(crate) calendar: Calendar,
    pub(crate) links: Links,
    pub(crate) packets: Slab<DataPacket>,
    /// What packets of the transport carry, at the places of these packets.
    pub(crate) payloads: Vec<Payload>,
    /// The ends of connections under the transport, and what their paths need besides; empty if there are none.
    pub(crate) endpoints: Vec<Endpoint>,
    pub(crate) subflow_transports: Vec<SubflowTransport>,
    /// What tells sources which of their paths share links, once one wants to know.
    pub(crate) groups: Option<Box<GroupSearch>>,
    pub(crate) hearers: Hearers,
    /// How long packets wait, if that is recorded.
    pub(crate) waits: Option<Box<Waits>>,
    pub(crate) copies: Slab<Copies>,
    /// The queues of links with a discipline; empty if there are none. And what they drop, for the moment.
    pub(crate) queues: Vec<Option<ServedQueue>>,
    pub(crate) dropped: Vec<Item>,
    /// What happens to data packets on each link; empty if nothing ever does.
    pub(crate) data_fates: Vec<Option<Box<Fates>>>,
    /// Whether any link has a discipline, or faults of data, or nodes forward by filters.
    pub(crate) is_special: bool,
    pub(crate) control_links: ControlLinks,
    /// For each protocol its link controls.
    pub(crate) controls: Vec<Box<dyn LinkControls>>,
    pub(crate) subflows: Vec<Subflow>,
    pub(crate) connections: Vec<Connection>,
    pub(crate) orders: Orders,
    pub(crate) link_orders: LinkOrders,
    /// What first links have sent to their sources at this instant.
    pub(crate) replies: VecDeque<ControlPacket>,
    /// Changes of granted rates, if they are asked for, and grants that were no rate.
    pub(crate) grants: Vec<Grant>,
    pub(crate) bad_grants: u64,
    /// Whether connections have come or gone, or can use more or less, since this was last looked at.
    pub(crate) has_changed: bool,
    pub(crate) events: u64,
    /// Packets that entered a link of the network.
    pub(crate) hops: u64,
    /// Those of them that were copies beside their paths, by subflow; empty if nodes forward by no filters.
    pub(crate) strays: Vec<u64>,
}

impl<'p> World<'p> {
    /// A world in which nothing has happened yet.
    pub fn new(plan: &'p Plan, routes: &'p Routes, shard: Shard<'p>) -> Self {
        let mut links = Links::default();
        for &l in &routes.used {
            let link = plan.network.link(l);
            let own = &plan.links[l.index()];
            if own.discipline.is_some() {
                let unlimited = LinkPlan { limit: Limit::default(), ..own.clone() };
                links.add(link.capacity, link.delay.0, &unlimited);
            } else {
                links.add(link.capacity, link.delay.0, own);
            }
        }
        for _ in &routes.demands {
            links.add(Rate(f64::INFINITY), 0, &LinkPlan::default());
        }
        let has_data_faults = plan.links.iter().any(|l| !l.data.is_none());
        let has_disciplines = plan.links.iter().any(|l| l.discipline.is_some());
        let has_waits = plan.run.record.waits;
        let fates = |l: &LinkId| Fates::new(&plan.links[l.index()].data, plan.run.seed, 2 * l.0);
        let mut world = Self {
            now: 0,
            end: plan.run.duration.0,
            calendar: Calendar::default(),
            packets: Slab::default(),
            payloads: Vec::new(),
            endpoints: Endpoint::all(plan),
            subflow_transports: SubflowTransport::all(plan, routes),
            groups: None,
            hearers: Hearers::new(plan, routes),
            waits: has_waits.then(|| Box::new(Waits::new(routes, &links, plan.run.warm_up.0))),
            copies: Slab::default(),
            queues: queues(plan, routes),
            dropped: Vec::new(),
            data_fates: if has_data_faults { routes.used.iter().map(fates).collect() } else { Vec::new() },
            is_special: has_data_faults || has_disciplines || has_waits || plan.filters.is_some(),
            control_links: ControlLinks::new(plan, routes, &links),
            controls: plan.protocols.iter().map(|protocol| protocol.links(links.count())).collect(),
            subflows: Subflow::all(plan, routes),
            connections: Connection::all(plan),
            orders: Orders::default(),
            link_orders: LinkOrders::default(),
            replies: VecDeque::new(),
            grants: Vec::new(),
            bad_grants: 0,
            has_changed: false,
            events: 0,
            hops: 0,
            strays: if plan.filters.is_some() { vec![0; plan.paths.len()] } else { Vec::new() },
            plan,
            routes,
            shard,
            links,
        };
        world.begin();
        world
    }

    /// Schedules what the plan says of the connections that begin here, and of the links.
    fn begin(&mut self) {
        let plan = self.plan;
        for (c, connection) in plan.demands.connections().iter().enumerate() {
            if !self.shard.has_source(c as u32) {
                continue;
            }
            let set_up = plan.fetch(ConnectionId::new(c)).map_or(0, |fetch| fetch.set_up.0);
            let start = connection.start.0.saturating_add(set_up);
            if connection.stop.is_some_and(|stop| stop.0 <= start) {
                continue;
            }
            self.schedule(start, Kind::Join, c as u32);
            if let Some(stop) = connection.stop {
                self.schedule(stop.0, Kind::Stop, c as u32);
            }
        }
        for (number, change) in plan.demand_changes.iter().enumerate() {
            if self.shard.has_source(change.connection.0) {
                self.schedule_packet(change.time.0, Kind::Demand, change.connection.0, number as u32);
            }
        }
        self.schedule_path_times();
        self.schedule_failures();
        if plan.protocols.iter().any(|protocol| protocol.capabilities().hears_capacities) {
            self.schedule_capacities();
        }
    }

    /// Schedules when the capacities of links change that send from here.
    fn schedule_capacities(&mut self) {
        let (plan, routes) = (self.plan, self.routes);
        for (link, l) in (0..).zip(&routes.used) {
            let changes = if self.shard.has_tail(link) { &plan.links[l.index()].changes[..] } else { &[] };
            for (time, _) in changes {
                self.schedule(time.0, Kind::Capacity, link);
            }
        }
    }

    /// Serves all events before `limit`, or `count` of them; says whether that were all.
    pub fn serve_until(&mut self, limit: u64, count: u64) -> bool {
        let last = self.events.saturating_add(count);
        loop {
            self.look_ahead();
            let Some(event) = self.calendar.next_before(limit) else { return true };
            self.now = event.time;
            self.events += 1;
            self.serve(event);
            while let Some(packet) = self.replies.pop_front() {
                self.on_reply(packet.subflow, &packet.header);
            }
            if self.events >= last {
                return false;
            }
        }
    }

    /// When the next event is.
    pub fn next_time(&mut self) -> Option<u64> {
        self.calendar.peek().map(|event| event.time)
    }

    #[inline]
    fn serve(&mut self, event: Event) {
        let id = event.key & ((1 << ID_BITS) - 1);
        match KINDS[(event.key >> ID_BITS) as usize] {
            Kind::Data => self.on_data(event.packet),
            Kind::Send => self.on_send(id),
            Kind::Control | Kind::Headed => self.on_control(event.packet),
            Kind::Frame => self.on_frame(id, event.packet),
            Kind::Deadline => self.on_deadline(id),
            Kind::Demand => self.on_demand(event.packet),
            Kind::Capacity => self.on_capacity(id),
            Kind::Wake => self.on_wake(id),
            Kind::LinkTimer => self.on_link_timer(id, event.packet),
            Kind::Release => self.on_release(id, event.packet),
            Kind::Enter => self.on_enter(event.packet),
            Kind::Patience => self.on_patience(id),
            Kind::Tell => self.on_tell(id),
            Kind::Poll => self.on_poll(id),
            Kind::Free => self.on_free(id),
            Kind::Opportunity => self.on_opportunity(id),
            Kind::Join => self.on_join(id),
            Kind::Stop => self.on_stop(id),
            Kind::Open | Kind::Close => self.on_path_change(id),
        }
    }

    /// Puts an event into the calendar, unless it is after the end of the run.
    #[inline]
    pub(crate) fn schedule(&mut self, time: u64, kind: Kind, id: u32) {
        self.schedule_packet(time, kind, id, 0);
    }

    /// The same for an event of a packet.
    #[inline]
    pub(crate) fn schedule_packet(&mut self, time: u64, kind: Kind, id: u32, packet: u32) {
        if time <= self.end {
            self.calendar.push(Event { time, key: (kind as u32) << ID_BITS | id, packet });
        }
    }

    /// The same for a data packet that arrives over a link; it may leave this shard.
    #[inline]
    pub(crate) fn schedule_data(&mut self, time: u64, link: u32, packet: u32) {
        if self.shard.keeps(link) || time > self.end {
            return self.schedule_packet(time, Kind::Data, link, packet);
        }
        let index = packet;
        let packet = self.packets.remove(index);
        let cargo = match packet.role {
            Role::Paced if self.waits.is_some() => Cargo::Transport(packet, self.payloads[index as usize]),
            Role::Paced | Role::Stray => Cargo::Data(packet),
            Role::Segment | Role::Ack | Role::Request => Cargo::Transport(packet, self.payloads[index as usize]),
        };
        self.shard.send(Message { time, link, cargo });
    }

    /// The same for a control packet, or a data packet with a header.
    #[inline]
    pub(crate) fn schedule_control(&mut self, time: u64, link: u32, packet: u32) {
        if self.shard.keeps(link) || time > self.end {
            return self.schedule_packet(time, kind(&self.control_links.packets[packet]), link, packet);
        }
        let cargo = Cargo::Control(self.control_links.packets.take(packet));
        self.shard.send(Message { time, link, cargo });
    }

    /// The same for a frame of a repaired hop.
    pub(crate) fn schedule_frame(&mut self, time: u64, link: u32, frame: u32) {
        if self.shard.keeps(link) || time > self.end {
            return self.schedule_packet(time, Kind::Frame, link, frame);
        }
        let cargo = Cargo::Frame(self.control_links.frames.take(frame).expect("a frame arrives once"));
        self.shard.send(Message { time, link, cargo });
    }

    /// Takes in what other shards have sent.
    pub fn receive(&mut self, messages: Vec<Message>) {
        for Message { time, link, cargo } in messages {
            let (kind, index) = match cargo {
                Cargo::Data(packet) => (Kind::Data, self.packets.insert(packet)),
                Cargo::Transport(packet, payload) => {
                    let index = self.packets.insert(packet);
                    self.put_payload(index, payload);
                    (Kind::Data, index)
                }
                Cargo::Control(packet) => (kind(&packet), self.control_links.packets.insert(packet)),
                Cargo::Frame(frame) => (Kind::Frame, self.control_links.frames.insert(Some(frame))),
            };
            self.schedule_packet(time, kind, link, index);
        }
    }

    /// Whether control packets stand in the data queues of this link.
    pub(crate) fn is_in_band(&self, link: u32) -> bool {
        self.plan.run.control == ControlPlane::InBand && !self.routes.is_of_demand(link)
    }
}

/// Which kind of event the arrival of a packet is.
#[inline]
fn kind(packet: &ControlPacket) -> Kind {
    if packet.carries_data() { Kind::Headed } else { Kind::Control }
}
