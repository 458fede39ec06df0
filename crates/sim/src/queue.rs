//! Links with a queue discipline: packets wait in it, and one after the other is sent.
//!
//! A link without one serves in the order of arrival, so when a packet enters it is known when it leaves; here it depends
//! on what comes later. So such a link has an event more for each packet: when it is free again. The packet that is sent
//! goes over the plain link (`anabranch_links`), which is empty then, and has its capacity, delay, counts and faults.
//!
//! Where a link has opportunities to send, packets stay in the discipline until one comes: the event is then for each
//! opportunity before which something waits. At that of a large packet's first byte it goes to the plain link.

use anabranch_core::random::{Purpose, stream};
use anabranch_core::{Rate, Span, Time};
use anabranch_proto::queues::{Discipline, Item, Limits};
use anabranch_scenario::plan::{LinkPlan, Plan};

use crate::packet::Role;
use crate::routes::Routes;
use crate::world::{Kind, World};

/// In bits a second; of a link without a limit.
const MOST_CAPACITY: f64 = 1e15;

/// What waits at a link.
pub(crate) struct Queue {
    discipline: Box<dyn Discipline>,
    /// Whether a packet is in transmission, or an opportunity awaited.
    is_busy: bool,
    has_opportunities: bool,
    /// Since when it has been free with nothing to send, if it sends at any time.
    idle_since: Option<u64>,
}

impl Queue {
    /// One for each link in use that has a discipline; an empty list if none has.
    pub fn all(plan: &Plan, routes: &Routes) -> Vec<Option<Self>> {
        if plan.links.iter().all(|link| link.discipline.is_none()) {
            return Vec::new();
        }
        let of = |l: &anabranch_core::LinkId| Self::new(&plan.links[l.index()], plan.run.seed, l.0);
        routes.used.iter().map(of).chain(routes.demands.iter().map(|_| None)).collect()
    }

    fn new(plan: &LinkPlan, seed: u64, link: u32) -> Option<Self> {
        // The packet in transmission counts in a plan, and not here. Before an opportunity comes there is none.
        let has_opportunities = plan.opportunities.is_some();
        let packets = plan.limit.packets.map(|most| if has_opportunities { most } else { most.max(2) - 1 });
        let limits = Limits { packets, bytes: plan.limit.bytes };
        let random = stream(seed, Purpose::Queues, link);
        let discipline = plan.discipline.as_ref()?.discipline(limits, random);
        let idle_since = (!has_opportunities).then_some(0);
        Some(Self { discipline, is_busy: false, has_opportunities, idle_since })
    }

    /// Bytes that wait, without those in transmission.
    pub fn backlog(&self) -> u64 {
        self.discipline.backlog().0
    }
}

impl World<'_> {
    /// Whether a link has a queue discipline.
    pub(crate) fn has_discipline(&self, link: u32) -> bool {
        self.queues.get(link as usize).is_some_and(Option::is_some)
    }

    /// A packet comes to a link with a discipline.
    pub(crate) fn wait_at(&mut self, link: u32, index: u32) {
        let capacity = self.present_capacity(link);
        let Some(queue) = &mut self.queues[link as usize] else { return };
        let packet = &self.packets[index];
        // Copies beside their paths are with the data of their subflow.
        let flow = 2 * packet.subflow + u32::from(packet.role == Role::Ack);
        let now = Time(self.now);
        let item = Item { packet: index, bytes: u32::from(packet.bytes), flow, ecn: packet.ecn, arrived: now };
        if let Some(since) = queue.idle_since.take() {
            queue.discipline.on_unused(Span(self.now - since).seconds() * capacity.0.min(MOST_CAPACITY) / 8.0);
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
            self.schedule(time, Kind::Opportunity, link);
        }
    }

    /// A link with a discipline has opportunities to send: they take what it says until they are used up.
    pub(crate) fn on_opportunity(&mut self, link: u32) {
        while self.links.opportunity(link, self.now) == Some(self.now) {
            self.tell_of_unused(link);
            let Some(item) = self.dequeue(link) else { break };
            self.pass_item(link, &item);
        }
        self.await_opportunity(link, self.now + 1);
    }

    /// Tells a discipline of the opportunities that nothing has taken.
    fn tell_of_unused(&mut self, link: u32) {
        let unused = self.links.take_unused(link);
        if unused > 0
            && let Some(queue) = &mut self.queues[link as usize]
        {
            queue.discipline.on_unused(unused as f64);
        }
    }

    /// A link with a discipline is free: sends what that says, if anything waits.
    pub(crate) fn on_free(&mut self, link: u32) {
        let next = self.dequeue(link);
        if let Some(queue) = &mut self.queues[link as usize] {
            queue.is_busy = next.is_some();
            queue.idle_since = next.is_none().then_some(self.now);
        }
        if let Some(free_at) = next.and_then(|item| self.pass_item(link, &item)) {
            self.schedule(free_at, Kind::Free, link);
        }
    }

    /// The packet that a discipline sends next, if any waits.
    fn dequeue(&mut self, link: u32) -> Option<Item> {
        let capacity = self.present_capacity(link);
        let queue = self.queues[link as usize].as_mut()?;
        let mut dropped = std::mem::take(&mut self.dropped);
        let next = queue.discipline.dequeue(Time(self.now), capacity, &mut dropped);
        self.drop_all(link, dropped);
        let item = next?;
        self.packets[item.packet].ecn = item.ecn;
        Some(item)
    }

    /// A packet that has waited goes over a link; gives when it will have left.
    fn pass_item(&mut self, link: u32, item: &Item) -> Option<u64> {
        let role = self.packets[item.packet].role;
        let leaves = self.pass(link, item.packet)?;
        self.note_wait_at(link, role, item.arrived.0, leaves.saturating_add(self.links.delay(link)));
        Some(leaves)
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
