//! The simulated world: everything that is there, and the loop that serves its events.
//!
//! The loop knows the kinds of events and nothing else. Data packets are in `data.rs`, control packets in
//! `control_plane.rs`, connections in `connections.rs`, what is written down in `record.rs`.

use std::collections::VecDeque;

use anabranch_core::{Rate, Time};
use anabranch_proto::{LinkControls, LinkOrders, Orders};
use anabranch_scenario::plan::{ControlPlane, LinkPlan, Plan};

use crate::calendar::{Calendar, Event};
use crate::connections::{Connection, Subflow};
use crate::control_plane::Lanes;
use crate::faults::Fates;
use crate::link::Links;
use crate::packet::{ControlPacket, Copies, DataPacket};
use crate::record::{Outcome, Recorder};
use crate::routes::Routes;
use crate::slab::Slab;

/// Bits of a key that say of what the event is; those above say what kind of event.
pub(crate) const ID_BITS: u32 = 28;

/// Progress is told every so many events.
const SPELL: u64 = 1 << 16;

/// Kinds of events, in the order in which those of the same time are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Kind {
    /// A connection begins.
    Join,
    /// A connection is to end.
    Stop,
    /// A data packet arrives at the far end of a link.
    Data,
    /// A control packet does.
    Control,
    /// A frame of a repaired hop does.
    Frame,
    /// A repaired hop has waited long enough.
    Deadline,
    /// A connection can use more or less.
    Demand,
    /// A source control wanted to be woken.
    Wake,
    /// A link control did.
    LinkTimer,
    /// A control packet was held back long enough.
    Release,
    /// A subflow may send its next packet.
    Send,
    /// The warm-up is over.
    Warm,
    /// It is time to write down how things are.
    Sample,
}

const KINDS: [Kind; 13] = [
    Kind::Join,
    Kind::Stop,
    Kind::Data,
    Kind::Control,
    Kind::Frame,
    Kind::Deadline,
    Kind::Demand,
    Kind::Wake,
    Kind::LinkTimer,
    Kind::Release,
    Kind::Send,
    Kind::Warm,
    Kind::Sample,
];

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Simulated time, in seconds.
    pub time_s: f64,
    /// Events served.
    pub events: u64,
}

/// Everything that is there.
pub struct World<'p> {
    pub(crate) plan: &'p Plan,
    pub(crate) now: u64,
    /// The last instant of the run.
    pub(crate) end: u64,
    pub(crate) calendar: Calendar,
    pub(crate) routes: Routes,
    pub(crate) links: Links,
    pub(crate) packets: Slab<DataPacket>,
    pub(crate) copies: Slab<Copies>,
    /// Whether some capacity changes.
    pub(crate) has_changes: bool,
    /// What happens to data packets on each link; empty if nothing ever does.
    pub(crate) data_fates: Vec<Option<Box<Fates>>>,
    pub(crate) lanes: Lanes,
    /// For each protocol its link controls.
    pub(crate) controls: Vec<Box<dyn LinkControls>>,
    pub(crate) subflows: Vec<Subflow>,
    pub(crate) connections: Vec<Connection>,
    pub(crate) orders: Orders,
    pub(crate) link_orders: LinkOrders,
    /// What first links have sent to their sources at this instant.
    pub(crate) replies: VecDeque<ControlPacket>,
    pub(crate) recorder: Recorder,
    pub(crate) events: u64,
    /// Packets that entered a link of the network.
    pub(crate) hops: u64,
}

impl<'p> World<'p> {
    /// A world in which nothing has happened yet.
    pub fn new(plan: &'p Plan) -> Self {
        let routes = Routes::new(plan);
        let mut links = Links::default();
        for (link, plan) in plan.network.links().iter().zip(&plan.links) {
            links.add(link.capacity, link.delay.0, plan);
        }
        for _ in &routes.demands {
            links.add(Rate(f64::INFINITY), 0, &LinkPlan::default());
        }
        let has_data_faults = plan.links.iter().any(|l| !l.data.is_none());
        let fates = |(l, link): (usize, &LinkPlan)| Fates::new(&link.data, plan.run.seed, 2 * l as u32);
        let mut world = Self {
            now: 0,
            end: plan.run.duration.0,
            calendar: Calendar::default(),
            packets: Slab::default(),
            copies: Slab::default(),
            has_changes: plan.links.iter().any(|link| !link.changes.is_empty()),
            data_fates: if has_data_faults { plan.links.iter().enumerate().map(fates).collect() } else { Vec::new() },
            lanes: Lanes::new(plan, &routes, &links),
            controls: plan.protocols.iter().map(|protocol| protocol.links(links.len())).collect(),
            subflows: Subflow::all(plan, &routes),
            connections: Connection::all(plan),
            orders: Orders::default(),
            link_orders: LinkOrders::default(),
            replies: VecDeque::new(),
            recorder: Recorder::new(plan, &routes),
            events: 0,
            hops: 0,
            plan,
            routes,
            links,
        };
        for (c, connection) in plan.demands.connections().iter().enumerate() {
            world.schedule(connection.start.0, Kind::Join, c as u32);
            if let Some(stop) = connection.stop {
                world.schedule(stop.0, Kind::Stop, c as u32);
            }
        }
        for (number, change) in plan.demand_changes.iter().enumerate() {
            world.schedule_packet(change.time.0, Kind::Demand, change.connection.0, number as u32);
        }
        world.schedule(plan.run.warm_up.0, Kind::Warm, 0);
        if world.recorder.has_samples() {
            world.schedule(plan.run.sample.0, Kind::Sample, 0);
        }
        world
    }

    /// Serves all events until the end of the run, or until `watch` says no.
    pub fn run(mut self, watch: &mut dyn FnMut(Progress) -> bool) -> Outcome {
        let mut is_whole = true;
        loop {
            self.look_ahead();
            let Some(event) = self.calendar.next() else { break };
            self.now = event.time;
            self.events += 1;
            self.serve(event);
            while let Some(packet) = self.replies.pop_front() {
                self.on_reply(packet.subflow, &packet.header);
            }
            if self.events.is_multiple_of(SPELL) && !watch(self.progress()) {
                is_whole = false;
                break;
            }
        }
        if is_whole {
            self.now = self.end;
        }
        watch(self.progress());
        Outcome::new(self, is_whole)
    }

    fn progress(&self) -> Progress {
        Progress { time_s: Time(self.now).seconds(), events: self.events }
    }

    #[inline]
    fn serve(&mut self, event: Event) {
        let id = event.key & ((1 << ID_BITS) - 1);
        match KINDS[(event.key >> ID_BITS) as usize] {
            Kind::Data => self.on_data(event.packet),
            Kind::Send => self.on_send(id),
            Kind::Control => self.on_control(event.packet),
            Kind::Frame => self.on_frame(id, event.packet),
            Kind::Deadline => self.on_deadline(id),
            Kind::Demand => self.on_demand(event.packet),
            Kind::Wake => self.on_wake(id),
            Kind::LinkTimer => self.on_link_timer(id, event.packet),
            Kind::Release => self.on_release(id, event.packet),
            Kind::Join => self.on_join(id),
            Kind::Stop => self.on_stop(id),
            Kind::Warm => self.on_warm(),
            Kind::Sample => self.on_sample(),
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

    /// Whether control packets stand in the data queues of this link.
    pub(crate) fn is_in_band(&self, link: u32) -> bool {
        self.plan.run.control == ControlPlane::InBand && (link as usize) < self.plan.links.len()
    }
}
