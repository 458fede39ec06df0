//! Links with a queue discipline: what their queues say is done to packets and the calendar.

use anabranch_core::{LinkId, Time};
use anabranch_links::{Links, Next, Queue};
use anabranch_plan::Plan;
use anabranch_queues::Item;

use crate::packet::Role;
use crate::routes::Routes;
use crate::world::{Kind, World};

/// A queue for each link in use that has a discipline; an empty list if none has.
pub(crate) fn queues(plan: &Plan, routes: &Routes) -> Vec<Option<Queue>> {
    if plan.links.iter().all(|link| link.discipline.is_none()) {
        return Vec::new();
    }
    let of = |l: &LinkId| Queue::new(&plan.links[l.index()], plan.run.seed, l.0);
    routes.used.iter().map(of).chain(routes.demands.iter().map(|_| None)).collect()
}

impl World<'_> {
    /// Whether a link has a queue discipline.
    pub(crate) fn has_discipline(&self, link: u32) -> bool {
        self.queues.get(link as usize).is_some_and(Option::is_some)
    }

    /// A packet comes to a link with a discipline.
    pub(crate) fn wait_at(&mut self, link: u32, index: u32) {
        let packet = &self.packets[index];
        // Copies beside their paths are with the data of their subflow.
        let flow = 2 * packet.subflow + u32::from(packet.role == Role::Ack);
        let arrived = Time(self.now);
        let item = Item { packet: index, bytes: u32::from(packet.bytes), flow, ecn: packet.ecn, arrived };
        match self.ask_queue(link, |queue, links, dropped| queue.enqueue(links, link, item, dropped)) {
            Some(Next::Free) => self.on_free(link),
            Some(Next::Opportunity(time)) => self.schedule(time, Kind::Opportunity, link),
            Some(Next::Nothing) | None => {}
        }
    }

    /// A link with a discipline has opportunities to send: they take what it says until they are used up.
    pub(crate) fn on_opportunity(&mut self, link: u32) {
        let now = self.now;
        let next =
            |queue: &mut Queue, links: &mut Links, dropped: &mut _| queue.on_opportunity(links, link, now, dropped);
        while let Some(item) = self.ask_queue(link, next).flatten() {
            self.pass_item(link, &item);
        }
        let later = self.ask_queue(link, |queue, links, _| queue.await_opportunity(links, link, now + 1));
        if let Some(time) = later.flatten() {
            self.schedule(time, Kind::Opportunity, link);
        }
    }

    /// A link with a discipline is free: sends what that says, if anything waits.
    pub(crate) fn on_free(&mut self, link: u32) {
        let now = self.now;
        let next = self.ask_queue(link, |queue, links, dropped| queue.on_free(links, link, now, dropped)).flatten();
        if let Some(free_at) = next.and_then(|item| self.pass_item(link, &item)) {
            self.schedule(free_at, Kind::Free, link);
        }
    }

    /// What the queue of a link says; what it drops is lost.
    #[inline]
    fn ask_queue<T>(&mut self, link: u32, ask: impl FnOnce(&mut Queue, &mut Links, &mut Vec<Item>) -> T) -> Option<T> {
        let queue = self.queues[link as usize].as_mut()?;
        let said = ask(queue, &mut self.links, &mut self.dropped);
        if !self.dropped.is_empty() {
            self.drop_all(link);
        }
        Some(said)
    }

    /// A packet that has waited goes over a link; gives when it will have left.
    fn pass_item(&mut self, link: u32, item: &Item) -> Option<u64> {
        self.packets[item.packet].ecn = item.ecn;
        self.pass(link, item.packet, item.arrived.0)
    }

    fn drop_all(&mut self, link: u32) {
        let mut dropped = std::mem::take(&mut self.dropped);
        for item in dropped.drain(..) {
            self.links.drop_one(link);
            self.lose(item.packet);
        }
        self.dropped = dropped;
    }
}
