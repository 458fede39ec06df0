//! The simulated world, or a shard of it: its parts, and the loop that serves its events.
//!
//! Each part is a struct in a file or folder of its own, and only that file or folder changes its fields: the clock
//! with the events to come (`clock.rs`), data packets (`data/`), control packets and link controls (`control/`),
//! sources and sinks of window protocols (`transport/`), connections with their source controls (`connections.rs`), and
//! the counts of subflows (`subflow.rs`). Each part also counts what is measured of it.
//!
//! The links and the subflows are fields of the world itself, since data packets, control packets and the transport all
//! need them at each step. Both are changed through their methods alone, as the parts are from outside their folders.
//!
//! A packet touches several parts at each step. So what happens to it is written as methods of the world, in the folder
//! of the part that decides. The world itself knows the kinds of events, and what crosses from one shard to another.
//! Several shards together are in `engine.rs`, what is recorded of them in `record.rs`.

mod clock;
mod connections;
mod control;
mod data;
mod prefetch;
mod subflow;
mod transport;

use anabranch_core::{ConnectionId, Rate};
use anabranch_links::{Links, Service};
use anabranch_plan::{Limit, LinkPlan, Plan};

use crate::calendar::Event;
use crate::packet::ControlPacket;
use crate::routes::Routes;
use crate::shard::{Cargo, Message, Shard};
use clock::{Clock, Kind, id};
use connections::Connections;
pub(crate) use connections::{Connection, UNSET};
pub use control::ControlCount;
use control::ControlLinks;
use data::Data;
pub(crate) use data::Waits;
pub use data::{QUANTILES, Wait};
use subflow::Subflow;
use transport::Transport;
pub(crate) use transport::Window;

/// A shard of the simulated world.
pub(crate) struct World<'p> {
    plan: &'p Plan,
    routes: &'p Routes,
    shard: Shard<'p>,
    clock: Clock,
    links: Links,
    data: Data,
    control_links: ControlLinks,
    transport: Transport,
    connections: Connections,
    subflows: Vec<Subflow>,
}

impl<'p> World<'p> {
    /// Creates a shard in which nothing has happened yet.
    pub fn new(plan: &'p Plan, routes: &'p Routes, shard: Shard<'p>) -> Self {
        let links = links(plan, routes);
        let mut world = Self {
            clock: Clock::new(plan.run.duration.0),
            data: Data::new(plan, routes, &links),
            control_links: ControlLinks::new(plan, routes, &links),
            transport: Transport::new(plan, routes),
            connections: Connections::new(plan),
            subflows: Subflow::all(plan, routes),
            plan,
            routes,
            shard,
            links,
        };
        world.begin();
        world
    }

    /// Schedules the events that the plan sets for connections that begin here, and for links.
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
            self.clock.schedule(start, Kind::Join, c as u32);
            if let Some(stop) = connection.stop {
                self.clock.schedule(stop.0, Kind::Stop, c as u32);
            }
        }
        for (number, change) in plan.demand_changes.iter().enumerate() {
            if self.shard.has_source(change.connection.0) {
                self.clock.schedule_packet(change.time.0, Kind::Demand, change.connection.0, number as u32);
            }
        }
        self.schedule_path_times();
        self.schedule_failures();
        if plan.protocols.iter().any(|protocol| protocol.capabilities().hears_capacities) {
            self.schedule_capacities();
        }
    }

    /// Schedules the times at which controls learn capacities of links that send from here.
    fn schedule_capacities(&mut self) {
        let (plan, routes) = (self.plan, self.routes);
        for (link, l) in (0..).zip(&routes.used) {
            if self.shard.has_tail(link) {
                plan.links[l.index()].told().for_each(|time| self.clock.schedule(time.0, Kind::Capacity, link));
            }
        }
    }

    /// Serves all events before `limit`, but no more than `count` of them. Says whether it served all.
    pub fn serve_until(&mut self, limit: u64, count: u64) -> bool {
        let last = self.clock.served().saturating_add(count);
        loop {
            self.look_ahead();
            let Some(event) = self.clock.next_before(limit) else { return true };
            self.serve(event);
            while let Some(packet) = self.control_links.next_reply() {
                self.on_reply(packet.subflow, &packet.header);
            }
            if self.clock.served() >= last {
                return false;
            }
        }
    }

    #[inline]
    fn serve(&mut self, event: Event) {
        let id = id(&event);
        match Kind::of(&event) {
            Kind::Data => self.on_data(event.packet),
            Kind::Send => self.on_send(id),
            Kind::Control | Kind::Headed => self.on_control(event.packet),
            Kind::Depart => self.on_depart(id, event.packet),
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

    /// Schedules the arrival of a data packet over a link, or sends the packet to the shard where it arrives.
    #[inline]
    fn schedule_data(&mut self, time: u64, link: u32, packet: u32) {
        if self.shard.keeps(link) || self.clock.is_after_end(time) {
            return self.clock.schedule_packet(time, Kind::Data, link, packet);
        }
        let cargo = self.data.export(packet);
        self.shard.send(Message { time, link, cargo });
    }

    /// Schedules the arrival of a control packet, or of a data packet with a header, over a link, or sends the packet
    /// to the shard where it arrives.
    #[inline]
    fn schedule_control(&mut self, time: u64, link: u32, packet: u32) {
        if self.shard.keeps(link) || self.clock.is_after_end(time) {
            let kind = kind(self.control_links.packet(packet));
            return self.clock.schedule_packet(time, kind, link, packet);
        }
        let cargo = self.control_links.export(packet);
        self.shard.send(Message { time, link, cargo });
    }

    /// Schedules the arrival of a frame over a repaired hop, or sends the frame to the shard where it arrives.
    fn schedule_frame(&mut self, time: u64, link: u32, frame: u32) {
        if self.shard.keeps(link) || self.clock.is_after_end(time) {
            return self.clock.schedule_packet(time, Kind::Frame, link, frame);
        }
        let cargo = self.control_links.export_frame(frame);
        self.shard.send(Message { time, link, cargo });
    }

    /// Takes in what other shards have sent.
    pub fn receive(&mut self, messages: Vec<Message>) {
        for Message { time, link, cargo } in messages {
            let (kind, index) = match cargo {
                Cargo::Data(packet) => (Kind::Data, self.data.import(packet, None)),
                Cargo::Transport(packet, payload) => (Kind::Data, self.data.import(packet, Some(payload))),
                Cargo::Control(packet) => (kind(&packet), self.control_links.import(packet)),
                Cargo::Frame(frame) => (Kind::Frame, self.control_links.import_frame(frame)),
            };
            self.clock.schedule_packet(time, kind, link, index);
        }
    }

    /// Takes what it has sent to another shard.
    pub fn take_mail(&mut self, to: usize) -> Vec<Message> {
        self.shard.take(to)
    }

    /// The present time in picoseconds.
    pub fn now(&self) -> u64 {
        self.clock.now()
    }

    /// The time of its next event in picoseconds, if there is one.
    pub fn next_time(&mut self) -> Option<u64> {
        self.clock.next_time()
    }

    /// The number of events served so far.
    pub fn events(&self) -> u64 {
        self.clock.served()
    }

    /// Packets of any kind that entered a link of the network.
    pub fn hops(&self) -> u64 {
        self.data.hops() + self.control_links.hops()
    }

    /// Links of the network in use, then the links of demands.
    pub fn links(&self) -> &Links {
        &self.links
    }

    /// Data packets without headers.
    pub fn data(&self) -> &Data {
        &self.data
    }

    /// Control packets and link controls.
    pub fn control(&self) -> &ControlLinks {
        &self.control_links
    }

    /// Sources and sinks of window protocols.
    pub fn transport(&self) -> &Transport {
        &self.transport
    }

    /// Connections and their source controls.
    pub fn connections(&self) -> &Connections {
        &self.connections
    }

    /// What is counted of a subflow here.
    pub fn subflow(&self, subflow: usize) -> &Subflow {
        &self.subflows[subflow]
    }

    /// Says whether fair rates may have changed since this was last asked.
    pub fn take_change(&mut self) -> bool {
        self.connections.take_change()
    }

    /// The most packets that waited at a link since this was last asked, until `now` in picoseconds.
    pub fn take_peak(&mut self, link: usize, now: u64) -> u32 {
        self.links.peak(link, now)
    }
}

/// The links of the network in use, then the links of demands.
fn links(plan: &Plan, routes: &Routes) -> Links {
    let mut links = Links::default();
    for &l in &routes.used {
        let link = plan.network.link(l);
        let own = &plan.links[l.index()];
        if own.discipline.is_some() {
            // The queue of the discipline has the limit.
            let unlimited = LinkPlan { limit: Limit::default(), ..own.clone() };
            links.add(link.capacity, link.delay.0, &unlimited);
        } else {
            links.add(link.capacity, link.delay.0, own);
        }
    }
    for _ in &routes.demands {
        links.add(Rate(f64::INFINITY), 0, &LinkPlan::default());
    }
    links
}

/// The kind of event that the arrival of a packet is.
#[inline]
fn kind(packet: &ControlPacket) -> Kind {
    if packet.carries_data() { Kind::Headed } else { Kind::Control }
}
