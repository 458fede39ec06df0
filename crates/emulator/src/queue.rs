//! Links with a queue discipline: what their queues say is done to packets and the events, as in the simulator.

use anabranch_core::Time;
use anabranch_links::{Links, Next, Queue};
use anabranch_queues::Ecn;
use anabranch_queues::Item;

use crate::events::Kind;
use crate::network::Network;

impl Network {
    /// A packet comes to a link with a discipline.
    pub(crate) fn wait_at(&mut self, link: u32, index: u32) {
        let arrived = Time(self.now);
        let underway = self.underway(index);
        let (bytes, flow, ecn) = (underway.packet.size(), underway.way, underway.packet.ecn());
        let item = Item { packet: index, bytes, flow, ecn, arrived };
        match self.ask_queue(link, |queue, links, dropped| queue.enqueue(links, link, item, dropped)) {
            Some(Next::Free) => self.on_free(link),
            Some(Next::Opportunity(time)) => self.events.schedule(time, Kind::Opportunity(link)),
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
            self.events.schedule(time, Kind::Opportunity(link));
        }
    }

    /// A link with a discipline is free: sends what that says, if anything waits.
    pub(crate) fn on_free(&mut self, link: u32) {
        let now = self.now;
        let next = self.ask_queue(link, |queue, links, dropped| queue.on_free(links, link, now, dropped)).flatten();
        if let Some(free_at) = next.and_then(|item| self.pass_item(link, &item)) {
            self.events.schedule(free_at, Kind::Free(link));
        }
    }

    /// What the queue of a link says; what it drops is lost.
    fn ask_queue<T>(&mut self, link: u32, ask: impl FnOnce(&mut Queue, &mut Links, &mut Vec<Item>) -> T) -> Option<T> {
        let queue = self.queues[link as usize].as_mut()?;
        let mut dropped = std::mem::take(&mut self.dropped);
        let said = ask(queue, &mut self.links, &mut dropped);
        for item in dropped.drain(..) {
            self.links.drop_one(link);
            self.lose(item.packet);
        }
        self.dropped = dropped;
        Some(said)
    }

    /// A packet that has waited goes over a link, with the ECN field that it got; gives when it will have left.
    fn pass_item(&mut self, link: u32, item: &Item) -> Option<u64> {
        let packet = &mut self.underway(item.packet).packet;
        if packet.ecn() != item.ecn {
            packet.set_ecn(item.ecn);
            self.marked[link as usize] += u64::from(item.ecn == Ecn::Ce);
        }
        self.pass(link, item.packet)
    }
}
