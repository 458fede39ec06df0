//! The operation of links with queue disciplines: it applies the decisions of their queues to the packets and events of
//! a driver.

use anabranch_queues::Item;

use crate::link::Links;
use crate::queue::{Next, ServedQueue};

/// The kind of a later event at a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Later {
    /// The link is free again: [`Service::on_free`] handles it.
    Free,
    /// The link has an opportunity to send: [`Service::on_opportunity`] handles it.
    Opportunity,
}

/// A driver of links with its packets and events, in simulated or real time.
pub trait Service {
    /// The present time, in picoseconds.
    fn now(&self) -> u64;

    /// The queue of a link with a discipline, all links, and a list for dropped packets; `None` for a link without a
    /// discipline.
    fn parts(&mut self, link: u32) -> Option<(&mut ServedQueue, &mut Links, &mut Vec<Item>)>;

    /// Sends a packet from a queue over its link, with its new ECN field; returns its departure.
    fn pass_item(&mut self, link: u32, item: &Item) -> Option<u64>;

    /// Handles the loss of a packet that waited at a link.
    fn lose_item(&mut self, link: u32, item: &Item);

    /// Schedules a later event at the queue of a link.
    fn ask_later(&mut self, time: u64, link: u32, what: Later);

    /// Handles the arrival of a packet at a link with a discipline.
    fn wait_at(&mut self, link: u32, item: Item) {
        match self.ask_queue(link, |queue, links, dropped| queue.enqueue(links, link, item, dropped)) {
            Some(Next::Free) => self.on_free(link),
            Some(Next::Opportunity(time)) => self.ask_later(time, link, Later::Opportunity),
            Some(Next::Nothing) | None => {}
        }
    }

    /// Handles an opportunity of a link with a discipline: sends packets of its queue until the opportunity is used up.
    fn on_opportunity(&mut self, link: u32) {
        let now = self.now();
        let next = |queue: &mut ServedQueue, links: &mut Links, dropped: &mut _| {
            queue.on_opportunity(links, link, now, dropped)
        };
        while let Some(item) = self.ask_queue(link, next).flatten() {
            self.pass_item(link, &item);
        }
        let later = self.ask_queue(link, |queue, links, _| queue.await_opportunity(links, link, now + 1));
        if let Some(time) = later.flatten() {
            self.ask_later(time, link, Later::Opportunity);
        }
    }

    /// Handles the end of a transmission on a link with a discipline: sends the next packet, if any waits.
    fn on_free(&mut self, link: u32) {
        let now = self.now();
        let next = self.ask_queue(link, |queue, links, dropped| queue.on_free(links, link, now, dropped)).flatten();
        if let Some(free_at) = next.and_then(|item| self.pass_item(link, &item)) {
            self.ask_later(free_at, link, Later::Free);
        }
    }

    /// Calls the queue of a link, and handles the loss of the packets that it drops.
    #[inline]
    fn ask_queue<T>(
        &mut self,
        link: u32,
        ask: impl FnOnce(&mut ServedQueue, &mut Links, &mut Vec<Item>) -> T,
    ) -> Option<T> {
        let (queue, links, dropped) = self.parts(link)?;
        let said = ask(queue, links, dropped);
        if !dropped.is_empty() {
            // The list is given back, so that it need not grow anew.
            let mut all = std::mem::take(dropped);
            all.drain(..).for_each(|item| self.lose_item(link, &item));
            if let Some((_, _, dropped)) = self.parts(link) {
                *dropped = all;
            }
        }
        Some(said)
    }
}
