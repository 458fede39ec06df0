//! Links with a queue discipline: carries out with packets and the calendar what their queues decide.

use anabranch_core::{LinkId, Time};
use anabranch_links::{Later, Links, ServedQueue, Service};
use anabranch_plan::Plan;
use anabranch_queues::Item;

use crate::packet::Role;
use crate::routes::Routes;
use crate::world::World;
use crate::world::clock::Kind;

/// The queues of links with a discipline.
pub(super) struct Queues {
    /// A queue for each link in use that has a discipline; empty if none has.
    of_links: Vec<Option<ServedQueue>>,
    /// The packets that a queue drops while it is asked, kept so that the list is not allocated anew each time.
    dropped: Vec<Item>,
}

impl Queues {
    /// Creates the empty queues of a plan.
    pub fn new(plan: &Plan, routes: &Routes) -> Self {
        let of = |l: &LinkId| ServedQueue::new(&plan.links[l.index()], plan.run.seed, l.0);
        let has_some = plan.links.iter().any(|link| link.discipline.is_some());
        let all = || routes.used.iter().map(of).chain(routes.demands.iter().map(|_| None)).collect();
        Self { of_links: if has_some { all() } else { Vec::new() }, dropped: Vec::new() }
    }

    /// Bytes that wait in the queue of a link with a discipline; 0 for a link without one.
    pub fn backlog(&self, link: usize) -> u64 {
        self.of_links.get(link).and_then(Option::as_ref).map_or(0, ServedQueue::backlog)
    }
}

impl World<'_> {
    /// Whether a link has a queue discipline.
    pub(super) fn has_discipline(&self, link: u32) -> bool {
        self.data.queues.of_links.get(link as usize).is_some_and(Option::is_some)
    }

    /// Describes a packet to the queue of a link.
    pub(super) fn item(&self, index: u32) -> Item {
        let packet = &self.data.packets[index];
        // Copies beside their paths are with the data of their subflow.
        let flow = 2 * packet.subflow + u32::from(packet.role == Role::Ack);
        let arrived = Time(self.clock.now());
        Item { packet: index, bytes: u32::from(packet.bytes), flow, ecn: packet.ecn, arrived }
    }
}

impl Service for World<'_> {
    fn now(&self) -> u64 {
        self.clock.now()
    }

    fn parts(&mut self, link: u32) -> Option<(&mut ServedQueue, &mut Links, &mut Vec<Item>)> {
        let queues = &mut self.data.queues;
        Some((queues.of_links[link as usize].as_mut()?, &mut self.links, &mut queues.dropped))
    }

    fn pass_item(&mut self, link: u32, item: &Item) -> Option<u64> {
        self.data.packets[item.packet].ecn = item.ecn;
        self.pass(link, item.packet, item.arrived.0)
    }

    fn lose_item(&mut self, link: u32, item: &Item) {
        self.links.drop_one(link);
        self.lose(item.packet);
    }

    fn ask_later(&mut self, time: u64, link: u32, what: Later) {
        let kind = match what {
            Later::Free => Kind::Free,
            Later::Opportunity => Kind::Opportunity,
        };
        self.clock.schedule(time, kind, link);
    }
}
