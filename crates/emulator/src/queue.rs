//! Links with a queue discipline: packets wait in it, and one after the other is sent, as in the simulator.
//!
//! The packet that is sent goes over the plain link, which is empty then. Where a link has opportunities to send, packets
//! stay in the discipline until one comes.

use anabranch_core::random::{Purpose, stream};
use anabranch_core::{Rate, Span, Time};
use anabranch_proto::Ecn;
use anabranch_proto::queues::{Discipline, Item, Limits};
use anabranch_scenario::plan::{CAPACITIES, LinkPlan};

use crate::events::Kind;
use crate::network::Network;

/// What waits at a link.
pub(crate) struct Queue {
    pub discipline: Box<dyn Discipline>,
    /// Whether a packet is in transmission, or an opportunity awaited.
    is_busy: bool,
    has_opportunities: bool,
    /// Since when it has been free with nothing to send, if it sends at any time.
    idle_since: Option<u64>,
}

impl Queue {
    /// That of a link, by its number in the network; `None` for one without a discipline.
    pub fn new(plan: &LinkPlan, seed: u64, link: u32) -> Option<Self> {
        // The packet in transmission counts in a plan, and not here. Before an opportunity comes there is none.
        let has_opportunities = plan.opportunities.is_some();
        let packets = plan.limit.packets.map(|most| if has_opportunities { most } else { most.max(2) - 1 });
        let limits = Limits { packets, bytes: plan.limit.bytes };
        let random = stream(seed, Purpose::Queues, link);
        let discipline = plan.discipline.as_ref()?.discipline(limits, random);
        let idle_since = (!has_opportunities).then_some(0);
        Some(Self { discipline, is_busy: false, has_opportunities, idle_since })
    }
}

impl Network {
    /// A packet comes to a link with a discipline.
    pub(crate) fn wait_at(&mut self, link: u32, index: u32) {
        let capacity = self.present_capacity(link);
        let now = Time(self.now);
        let underway = self.underway(index);
        let (bytes, flow, ecn) = (underway.packet.size(), underway.way, underway.packet.ecn());
        let item = Item { packet: index, bytes, flow, ecn, arrived: now };
        let Some(queue) = &mut self.queues[link as usize] else { return };
        if let Some(since) = queue.idle_since.take() {
            let most = capacity.0.min(*CAPACITIES.end());
            queue.discipline.on_unused(Span(self.now - since).seconds() * most / 8.0);
        }
        let mut dropped = std::mem::take(&mut self.dropped);
        queue.discipline.enqueue(now, item, capacity, &mut dropped);
        let (waiting, is_busy, has_opportunities) =
            (queue.discipline.len() as u32, queue.is_busy, queue.has_opportunities);
        self.links.note_waiting(link, waiting + u32::from(is_busy && !has_opportunities));
        self.drop_all(link, dropped);
        if is_busy {
            return;
        }
        // What comes at an opportunity is too late for it.
        if has_opportunities { self.await_opportunity(link, self.now + 1) } else { self.on_free(link) }
    }

    /// A link with a discipline will have an opportunity to send: it is looked at again then, if anything waits.
    fn await_opportunity(&mut self, link: u32, from: u64) {
        let Some(queue) = &mut self.queues[link as usize] else { return };
        queue.is_busy = !queue.discipline.is_empty();
        if queue.is_busy
            && let Some(time) = self.links.opportunity(link, from)
        {
            self.events.schedule(time, Kind::Opportunity(link));
        }
    }

    /// A link with a discipline has opportunities to send: they take what it says until they are used up.
    pub(crate) fn on_opportunity(&mut self, link: u32) {
        while self.links.opportunity(link, self.now) == Some(self.now) {
            let unused = self.links.take_unused(link);
            if unused > 0
                && let Some(queue) = &mut self.queues[link as usize]
            {
                queue.discipline.on_unused(unused as f64);
            }
            let Some(item) = self.dequeue(link) else { break };
            self.pass(link, item.packet);
        }
        self.await_opportunity(link, self.now + 1);
    }

    /// A link with a discipline is free: sends what that says, if anything waits.
    pub(crate) fn on_free(&mut self, link: u32) {
        let next = self.dequeue(link);
        if let Some(queue) = &mut self.queues[link as usize] {
            queue.is_busy = next.is_some();
            queue.idle_since = next.is_none().then_some(self.now);
        }
        if let Some(free_at) = next.and_then(|item| self.pass(link, item.packet)) {
            self.events.schedule(free_at, Kind::Free(link));
        }
    }

    /// The packet that a discipline sends next, if any waits; with the ECN field that it gave it.
    fn dequeue(&mut self, link: u32) -> Option<Item> {
        let capacity = self.present_capacity(link);
        let queue = self.queues[link as usize].as_mut()?;
        let mut dropped = std::mem::take(&mut self.dropped);
        let next = queue.discipline.dequeue(Time(self.now), capacity, &mut dropped);
        self.drop_all(link, dropped);
        let item = next?;
        let packet = &mut self.underway(item.packet).packet;
        if packet.ecn() != item.ecn {
            packet.set_ecn(item.ecn);
            self.marked[link as usize] += u64::from(item.ecn == Ecn::Ce);
        }
        Some(item)
    }

    fn drop_all(&mut self, link: u32, mut dropped: Vec<Item>) {
        for item in dropped.drain(..) {
            self.links.drop_one(link);
            self.lose(item.packet);
        }
        self.dropped = dropped;
    }

    /// What a link with a discipline can carry now, or could in the last while if that measures it.
    fn present_capacity(&self, link: u32) -> Rate {
        let now = Time(self.now);
        let window = self.queues[link as usize].as_ref().and_then(|queue| queue.discipline.measured_over());
        let measured = window.and_then(|window| self.links.measured_capacity(link, now, window));
        measured.unwrap_or_else(|| self.links.capacity(link as usize, now))
    }
}
