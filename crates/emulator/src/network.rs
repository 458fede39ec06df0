//! The network of a lab: all links of a plan and the packets on them, as a state machine without a clock.
//!
//! Time is that of the run, from 0. An event is processed with the time at which it was due, however late the driver
//! calls, so that a late driver delays only deliveries. The fate of a packet depends only on the
//! packets and their times, the plan and its seed.
//!
//! A packet's addresses determine the path and the direction that it takes; the way back uses the twins of the path's
//! links. Queue disciplines see all packets of a path in one direction as one flow, as in the simulator those of a
//! subflow.

mod sampling;

use std::collections::HashMap;
use std::net::IpAddr;

use anabranch_core::{LinkId, NodeId, Time};
use anabranch_links::faults::{Arrivals, Fates};
use anabranch_links::{Links, ServedQueue, Service, Totals};
use anabranch_plan::{ControlPlane, Plan, way_back};
use anabranch_queues::{Ecn, Item};

use crate::addresses::addresses;
use crate::events::{Events, Kind};
use crate::hops::Hop;
use crate::packet::Packet;
use crate::sample::{PathCount, Sample};

/// Greatest number of bytes in flight, so that a stopped link does not exhaust the memory.
const MOST_BYTES: u64 = 512 << 20;

/// A packet that has reached the end of its path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The packet, perhaps with a mark.
    pub packet: Packet,
    /// The node where the packet arrived.
    pub node: NodeId,
    /// Time of arrival.
    pub due: Time,
}

/// The counters of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Number of packets that the link took in.
    pub packets: u64,
    /// Number of packets that the link marked.
    pub marked: u64,
    /// The counters that the simulator has too.
    pub totals: Totals,
}

/// A path in one direction.
#[derive(Debug)]
pub(crate) struct Way {
    links: Vec<u32>,
    end: NodeId,
    /// Whether it is for control packets, which may have different faults.
    is_control: bool,
    /// Whether its packets experience only the delays of links.
    is_apart: bool,
    pub count: PathCount,
}

/// A packet in flight.
#[derive(Debug)]
pub(crate) struct Underway {
    pub packet: Packet,
    pub way: u32,
    /// Number of links of its path that the packet has crossed.
    passed: u32,
    /// Time at which the packet entered the network.
    since: u64,
}

/// All links of a plan in use, and the packets on them.
pub struct Network {
    pub(crate) now: u64,
    /// The links in use, in the order of the plan's network.
    pub(crate) used: Vec<LinkId>,
    pub(crate) links: Links,
    pub(crate) queues: Vec<Option<ServedQueue>>,
    /// The faults of data packets on each link, and those of control packets.
    fates: [Vec<Option<Box<Fates>>>; 2],
    /// The two directions of each path, first there and then back; then those of each hop.
    pub(crate) ways: Vec<Way>,
    pub(crate) paths: usize,
    by_addresses: HashMap<(IpAddr, IpAddr), u32>,
    packets: Vec<Option<Underway>>,
    free: Vec<u32>,
    bytes: u64,
    pub(crate) events: Events,
    delivered: Vec<Delivery>,
    pub(crate) dropped: Vec<Item>,
    pub(crate) taken: Vec<u64>,
    pub(crate) marked: Vec<u64>,
    /// The instants of future samples.
    pub(crate) instants: std::vec::IntoIter<Time>,
    pub(crate) samples: Vec<Sample>,
    strangers: u64,
    overflowed: u64,
}

impl Network {
    /// The empty network of a plan, with both directions of each path and of each hop.
    pub fn new(plan: &Plan, hops: &[Hop]) -> Self {
        let paths = (0..plan.paths.len()).map(|p| plan.paths.path(p));
        let there = paths.chain(hops.iter().map(|hop| std::slice::from_ref(&hop.link)));
        let both: Vec<[Vec<LinkId>; 2]> = there.map(|links| [links.to_vec(), way_back(&plan.network, links)]).collect();
        let mut used: Vec<LinkId> = both.iter().flatten().flatten().copied().collect();
        used.sort_unstable();
        used.dedup();
        let number = |l: &LinkId| used.binary_search(l).expect("it is in use") as u32;
        let way = |(place, path): (usize, &Vec<LinkId>)| {
            let is_control = place >= 2 * plan.paths.len();
            Way {
                links: path.iter().map(number).collect(),
                end: plan.network.link(path[path.len() - 1]).target,
                is_control,
                is_apart: is_control && plan.run.control != ControlPlane::InBand,
                count: PathCount::default(),
            }
        };
        let ways = both.iter().flatten().enumerate().map(way).collect();
        let pairs = (0..both.len()).map(addresses).map(|(from, to)| (IpAddr::from(from), IpAddr::from(to)));
        let by_addresses = pairs.flat_map(|(from, to)| [(from, to), (to, from)]).zip(0..).collect();
        let mut links = Links::default();
        for l in &used {
            let link = plan.network.link(*l);
            links.add(link.capacity, link.delay.0, &plan.links[l.index()]);
        }
        let seed = plan.run.seed;
        Self {
            now: 0,
            links,
            queues: used.iter().map(|l| ServedQueue::new(&plan.links[l.index()], seed, l.0)).collect(),
            fates: [
                used.iter().map(|l| Fates::new(&plan.links[l.index()].data, seed, 2 * l.0)).collect(),
                used.iter().map(|l| Fates::new(&plan.links[l.index()].control, seed, 2 * l.0 + 1)).collect(),
            ],
            ways,
            paths: plan.paths.len(),
            by_addresses,
            packets: Vec::new(),
            free: Vec::new(),
            bytes: 0,
            events: Events::default(),
            delivered: Vec::new(),
            dropped: Vec::new(),
            taken: vec![0; used.len()],
            marked: vec![0; used.len()],
            instants: Vec::new().into_iter(),
            samples: Vec::new(),
            strangers: 0,
            overflowed: 0,
            used,
        }
    }

    /// Handles a packet from the beginning or end of a path; a packet with addresses of no path is counted and
    /// discarded.
    pub fn handle(&mut self, packet: Packet, now: Time) {
        self.advance(now);
        let Some(&way) = self.by_addresses.get(&packet.addresses()) else {
            self.strangers += 1;
            return;
        };
        if self.bytes + u64::from(packet.size()) > MOST_BYTES {
            self.overflowed += 1;
            return;
        }
        self.ways[way as usize].count.sent += u64::from(packet.size());
        let index = self.insert(Underway { packet, way, passed: 0, since: self.now });
        self.enter(index);
    }

    /// Time of the next event; until then [`Self::pop`] returns only earlier arrivals.
    pub fn next_at(&self) -> Option<Time> {
        if self.delivered.is_empty() && self.samples.is_empty() {
            self.events.next_at().map(Time)
        } else {
            Some(Time(self.now))
        }
    }

    /// Removes the packets that have arrived by now, in the order of arrival.
    pub fn pop(&mut self, now: Time) -> impl Iterator<Item = Delivery> {
        self.advance(now);
        self.delivered.drain(..)
    }

    /// The links in use, each with its counters.
    pub fn counts(&self) -> impl Iterator<Item = (LinkId, Count)> {
        let count =
            |l: usize| Count { packets: self.taken[l], marked: self.marked[l], totals: self.links.totals(l, self.now) };
        self.used.iter().enumerate().map(move |(l, &link)| (link, count(l)))
    }

    /// Number of packets with addresses of no path.
    pub fn strangers(&self) -> u64 {
        self.strangers
    }

    /// Number of packets that exceeded the limit on bytes in flight.
    pub fn overflowed(&self) -> u64 {
        self.overflowed
    }

    /// Number of packets in flight.
    pub fn under_way(&self) -> usize {
        self.packets.len() - self.free.len()
    }

    /// Processes all events that are due, each at its time.
    fn advance(&mut self, now: Time) {
        while let Some((time, kind)) = self.events.pop(now.0) {
            self.now = self.now.max(time);
            match kind {
                Kind::Arrive(index) => self.on_arrival(index),
                Kind::Free(link) => self.on_free(link),
                Kind::Opportunity(link) => self.on_opportunity(link),
                Kind::Sample => self.on_instant(),
            }
        }
        self.now = self.now.max(now.0);
    }

    fn on_arrival(&mut self, index: u32) {
        let underway = self.underway(index);
        underway.passed += 1;
        let (way, passed) = (underway.way as usize, underway.passed as usize);
        if passed < self.ways[way].links.len() {
            return self.enter(index);
        }
        let Underway { packet, since, .. } = self.remove(index);
        let delay = self.now - since;
        let count = &mut self.ways[way].count;
        count.delivered += u64::from(packet.size());
        count.packets += 1;
        count.marked += u64::from(packet.ecn() == Ecn::Ce);
        count.delays += u128::from(delay);
        count.most_delay = count.most_delay.max(delay);
        self.delivered.push(Delivery { packet, node: self.ways[way].end, due: Time(self.now) });
    }

    /// Handles the arrival of a packet at the next link of its path.
    fn enter(&mut self, index: u32) {
        let underway = self.underway(index);
        let (way, passed) = (underway.way as usize, underway.passed as usize);
        let link = self.ways[way].links[passed];
        if self.ways[way].is_apart {
            let arrival = self.now.saturating_add(self.links.delay(link));
            self.arrive(link, index, arrival);
        } else if self.queues[link as usize].is_some() {
            let item = self.item(index);
            self.wait_at(link, item);
        } else {
            self.pass(link, index);
        }
    }

    /// Sends a packet over a link, or drops it; returns its departure.
    pub(crate) fn pass(&mut self, link: u32, index: u32) -> Option<u64> {
        let bytes = self.underway(index).packet.size();
        let Some(arrival) = self.links.enter(link, self.now, bytes) else {
            self.lose(index);
            return None;
        };
        self.taken[link as usize] += 1;
        self.arrive(link, index, arrival);
        Some(arrival - self.links.delay(link))
    }

    /// Handles the arrival of a packet at the end of a link at a time, with the faults of the link.
    fn arrive(&mut self, link: u32, index: u32, arrival: u64) {
        let way = self.underway(index).way as usize;
        let lane = usize::from(self.ways[way].is_control);
        let arrivals = match &mut self.fates[lane][link as usize] {
            Some(fates) => fates.next(arrival),
            None => Arrivals { first: Some(arrival), second: None },
        };
        match (arrivals.first, arrivals.second) {
            (None, None) => {
                self.links.drop_one(link);
                self.lose(index);
            }
            (Some(time), None) | (None, Some(time)) => self.events.schedule(time, Kind::Arrive(index)),
            (Some(first), Some(second)) => {
                let Underway { packet, way, passed, since } = self.underway(index);
                let copy = Underway { packet: packet.clone(), way: *way, passed: *passed, since: *since };
                let copy = self.insert(copy);
                self.events.schedule(first, Kind::Arrive(index));
                self.events.schedule(second, Kind::Arrive(copy));
            }
        }
    }

    /// The packet with this index.
    pub(crate) fn underway(&mut self, index: u32) -> &mut Underway {
        self.packets[index as usize].as_mut().expect("a packet under way has its place")
    }

    fn insert(&mut self, underway: Underway) -> u32 {
        self.bytes += u64::from(underway.packet.size());
        if let Some(index) = self.free.pop() {
            self.packets[index as usize] = Some(underway);
            return index;
        }
        self.packets.push(Some(underway));
        (self.packets.len() - 1) as u32
    }

    /// Handles the loss of a packet.
    pub(crate) fn lose(&mut self, index: u32) {
        let Underway { packet, way, .. } = self.remove(index);
        self.ways[way as usize].count.lost += u64::from(packet.size());
    }

    /// Removes a packet.
    fn remove(&mut self, index: u32) -> Underway {
        let underway = self.packets[index as usize].take().expect("a packet under way has its place");
        self.free.push(index);
        self.bytes -= u64::from(underway.packet.size());
        underway
    }
}

#[cfg(test)]
mod tests;
