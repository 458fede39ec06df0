//! Links with a queue discipline: what their queues say is done to packets and the calendar.

use anabranch_core::{LinkId, Time};
use anabranch_links::{Later, Links, ServedQueue, Service};
use anabranch_plan::Plan;
use anabranch_queues::Item;

use crate::packet::Role;
use crate::routes::Routes;
use crate::world::{Kind, World};

/// A queue for each link in use that has a discipline; an empty list if none has.
pub(crate) fn queues(plan: &Plan, routes: &Routes) -> Vec<Option<ServedQueue>> {
    if plan.links.iter().all(|link| link.discipline.is_none()) {
        return Vec::new();
    }
    let of = |l: &LinkId| ServedQueue::new(&plan.links[l.index()], plan.run.seed, l.0);
    routes.used.iter().map(of).chain(routes.demands.iter().map(|_| None)).collect()
}

impl World<'_> {
    /// Whether a link has a queue discipline.
    pub(crate) fn has_discipline(&self, link: u32) -> bool {
        self.queues.get(link as usize).is_some_and(Option::is_some)
    }

    /// A packet as the queue of a link sees it.
    pub(crate) fn item(&self, index: u32) -> Item {
        let packet = &self.packets[index];
        // Copies beside their paths are with the data of their subflow.
        let flow = 2 * packet.subflow + u32::from(packet.role == Role::Ack);
        Item { packet: index, bytes: u32::from(packet.bytes), flow, ecn: packet.ecn, arrived: Time(self.now) }
    }
}

impl Service for World<'_> {
    fn now(&self) -> u64 {
        self.now
    }

    fn parts(&mut self, link: u32) -> Option<(&mut ServedQueue, &mut Links, &mut Vec<Item>)> {
        Some((self.queues[link as usize].as_mut()?, &mut self.links, &mut self.dropped))
    }

    fn pass_item(&mut self, link: u32, item: &Item) -> Option<u64> {
        self.packets[item.packet].ecn = item.ecn;
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
        self.schedule(time, kind, link);
    }
}
