//! What a driver of links with queue disciplines does when packets come and links are free: what their queues say is done
//! to its packets and its events.

use anabranch_queues::Item;

use crate::link::Links;
use crate::queue::{Next, ServedQueue};

/// What is to be asked of a queue later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Later {
    /// The link is free again: [`Service::on_free`].
    Free,
    /// The link has an opportunity to send: [`Service::on_opportunity`].
    Opportunity,
}

/// A driver of links, which has the packets and the events, in any time.
pub trait Service {
    /// The present, in picoseconds.
    fn now(&self) -> u64;

    /// The queue of a link with a discipline, all links, and the place for what the queue drops; `None` without one.
    fn parts(&mut self, link: u32) -> Option<(&mut ServedQueue, &mut Links, &mut Vec<Item>)>;

    /// Sends a packet that has waited over a link, with the ECN field that it got; gives when it will have left.
    fn pass_item(&mut self, link: u32, item: &Item) -> Option<u64>;

    /// A packet that waited at a link is lost.
    fn lose_item(&mut self, link: u32, item: &Item);

    /// Has the queue of a link asked again at a time.
    fn ask_later(&mut self, time: u64, link: u32, what: Later);

    /// A packet comes to a link with a discipline.
    fn wait_at(&mut self, link: u32, item: Item) {
        match self.ask_queue(link, |queue, links, dropped| queue.enqueue(links, link, item, dropped)) {
            Some(Next::Free) => self.on_free(link),
            Some(Next::Opportunity(time)) => self.ask_later(time, link, Later::Opportunity),
            Some(Next::Nothing) | None => {}
        }
    }

    /// A link with a discipline has opportunities to send: they take what it says until they are used up.
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

    /// A link with a discipline is free: sends what that says, if anything waits.
    fn on_free(&mut self, link: u32) {
        let now = self.now();
        let next = self.ask_queue(link, |queue, links, dropped| queue.on_free(links, link, now, dropped)).flatten();
        if let Some(free_at) = next.and_then(|item| self.pass_item(link, &item)) {
            self.ask_later(free_at, link, Later::Free);
        }
    }

    /// What the queue of a link says; what it drops is lost.
    #[inline]
    fn ask_queue<T>(
        &mut self,
        link: u32,
        ask: impl FnOnce(&mut ServedQueue, &mut Links, &mut Vec<Item>) -> T,
    ) -> Option<T> {
        let (queue, links, dropped) = self.parts(link)?;
        let said = ask(queue, links, dropped);
        if !dropped.is_empty() {
            // The place is given back, so that it need not grow anew.
            let mut all = std::mem::take(dropped);
            all.drain(..).for_each(|item| self.lose_item(link, &item));
            if let Some((_, _, dropped)) = self.parts(link) {
                *dropped = all;
            }
        }
        Some(said)
    }
}
