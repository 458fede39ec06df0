//! The queue of a link with a queue discipline, which sends one packet after the other.
//!
//! A link without a discipline serves packets in the order of arrival, so the departure of a packet is known on its
//! arrival. With a discipline it depends on later arrivals. So such a link needs one more event for each packet: the
//! end of its transmission. The packet is then sent over the plain link, which is empty at that time, and which has the
//! capacity, delay, counters and faults.
//!
//! If a link may send only at opportunities, packets stay in the discipline until one comes: there is an event for each
//! opportunity before which something waits. A large packet moves to the plain link at the opportunity of its first
//! byte.
//!
//! A queue only decides. Its driver has the packets and the events; the return values of the queue tell it which events
//! to schedule.

use anabranch_core::random::{Purpose, stream};
use anabranch_core::{Rate, Span, Time};
use anabranch_plan::{CAPACITIES, LinkPlan};
use anabranch_queues::{Discipline, Item, Limits};

use crate::link::Links;

/// The discipline of a link and the state of its service.
pub struct ServedQueue {
    discipline: Box<dyn Discipline>,
    /// Whether a packet is in transmission, or an opportunity is awaited.
    is_busy: bool,
    has_opportunities: bool,
    /// Start of the time for which the link has been idle; `None` if it is busy or sends only at opportunities.
    idle_since: Option<u64>,
}

/// The action that has to follow when a packet has arrived at a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The link is free: [`ServedQueue::on_free`] determines the packet that it sends.
    Free,
    /// The link has an opportunity at this time: [`ServedQueue::on_opportunity`] determines the packets that it sends.
    Opportunity(u64),
    /// No action, since the next one is scheduled already, or no opportunity ever comes.
    Nothing,
}

impl ServedQueue {
    /// Makes the queue of a link, given by its number in the network; `None` for a link without a discipline.
    pub fn new(plan: &LinkPlan, seed: u64, link: u32) -> Option<Self> {
        // The packet in transmission counts in a plan, but not here. With opportunities, no packet is in transmission.
        let has_opportunities = plan.opportunities.is_some();
        let packets = plan.limit.packets.map(|most| if has_opportunities { most } else { most.max(2) - 1 });
        let limits = Limits { packets, bytes: plan.limit.bytes };
        let random = stream(seed, Purpose::Queues, link);
        let discipline = plan.discipline.as_ref()?.discipline(limits, random);
        let idle_since = (!has_opportunities).then_some(0);
        Some(Self { discipline, is_busy: false, has_opportunities, idle_since })
    }

    /// Backlog in bytes, without packets in transmission.
    pub fn backlog(&self) -> u64 {
        self.discipline.backlog().0
    }

    /// Adds a packet; packets for which there is no room go to `dropped`.
    pub fn enqueue(&mut self, links: &mut Links, link: u32, item: Item, dropped: &mut Vec<Item>) -> Next {
        let now = item.arrived;
        let capacity = self.capacity(links, link, now);
        if let Some(since) = self.idle_since.take() {
            let most = links.capacity(link as usize, now).0.min(*CAPACITIES.end());
            self.discipline.on_unused(Span(now.0 - since).seconds() * most / 8.0);
        }
        self.discipline.enqueue(now, item, capacity, dropped);
        let in_transmission = self.is_busy && !self.has_opportunities;
        let seconds = 8.0 * self.backlog() as f64 / links.capacity(link as usize, now).0;
        links.note_waiting(link, self.discipline.len() as u32 + u32::from(in_transmission), seconds);
        if self.is_busy {
            Next::Nothing
        } else if self.has_opportunities {
            // A packet that arrives at an opportunity is too late for it.
            self.await_opportunity(links, link, now.0 + 1).map_or(Next::Nothing, Next::Opportunity)
        } else {
            Next::Free
        }
    }

    /// Returns the packet that the free link sends now, with its new ECN field; `None` if nothing waits.
    pub fn on_free(&mut self, links: &Links, link: u32, now: u64, dropped: &mut Vec<Item>) -> Option<Item> {
        let next = self.dequeue(links, link, now, dropped);
        self.is_busy = next.is_some();
        self.idle_since = next.is_none().then_some(now);
        next
    }

    /// Returns a packet that the link sends at the present opportunity; `None` if nothing waits or no byte is left. The
    /// driver calls this until it returns `None`, and then asks for the next opportunity.
    pub fn on_opportunity(&mut self, links: &mut Links, link: u32, now: u64, dropped: &mut Vec<Item>) -> Option<Item> {
        if links.opportunity(link, now) != Some(now) {
            return None;
        }
        let unused = links.take_unused(link);
        if unused > 0 {
            self.discipline.on_unused(unused as f64);
        }
        self.dequeue(links, link, now, dropped)
    }

    /// Returns the time of the first opportunity of a link at `from` or later, if anything waits for it.
    pub fn await_opportunity(&mut self, links: &mut Links, link: u32, from: u64) -> Option<u64> {
        self.is_busy = !self.discipline.is_empty();
        if self.is_busy { links.opportunity(link, from) } else { None }
    }

    fn dequeue(&mut self, links: &Links, link: u32, now: u64, dropped: &mut Vec<Item>) -> Option<Item> {
        let capacity = self.capacity(links, link, Time(now));
        self.discipline.dequeue(Time(now), capacity, dropped)
    }

    /// Present capacity of the link. For a discipline that bases rates of sources on it, the capacity that the link
    /// reports, or the mean over a window where it may send only at opportunities.
    fn capacity(&self, links: &Links, link: u32, now: Time) -> Rate {
        let Some(window) = self.discipline.measured_over() else { return links.capacity(link as usize, now) };
        let measured = links.measured_capacity(link, now, window);
        measured.unwrap_or_else(|| links.known_capacity(link as usize, now))
    }
}

#[cfg(test)]
mod tests {
    use anabranch_plan::Limit;
    use anabranch_plan::opportunities::{Milliseconds, Opportunities};
    use anabranch_queues::Ecn;

    use super::*;
    use anabranch_core::units::MILLISECOND;

    /// A link of 8 Mbit/s, so 1,000 bytes take 1 ms; and its queue.
    fn queue(plan: &LinkPlan) -> (Links, ServedQueue) {
        let discipline = anabranch_queues::QueueDiscipline::named("drop-tail");
        let plan = LinkPlan { discipline, ..plan.clone() };
        let mut links = Links::default();
        links.add(Rate(8e6), 0, &plan);
        (links, ServedQueue::new(&plan, 1, 0).expect("it has a discipline"))
    }

    fn packet(packet: u32, arrived: u64) -> Item {
        Item { packet, bytes: 1000, flow: 0, ecn: Ecn::NotEct, arrived: Time(arrived) }
    }

    #[test]
    fn a_link_sends_one_packet_after_the_other_and_is_idle_again() {
        let (mut links, mut queue) = queue(&LinkPlan::default());
        let mut dropped = Vec::new();
        assert_eq!(queue.enqueue(&mut links, 0, packet(7, 0), &mut dropped), Next::Free);
        assert_eq!(queue.on_free(&links, 0, 0, &mut dropped).map(|item| item.packet), Some(7));
        // It is in transmission until 1 ms; what comes before that waits.
        assert_eq!(queue.enqueue(&mut links, 0, packet(8, MILLISECOND / 2), &mut dropped), Next::Nothing);
        assert_eq!((queue.backlog(), links.totals(0, 0).most_packets), (1000, 2));
        assert_eq!(queue.on_free(&links, 0, MILLISECOND, &mut dropped).map(|item| item.packet), Some(8));
        assert_eq!(queue.on_free(&links, 0, 2 * MILLISECOND, &mut dropped).map(|item| item.packet), None);
        assert_eq!(queue.enqueue(&mut links, 0, packet(9, 5 * MILLISECOND), &mut dropped), Next::Free);
    }

    #[test]
    fn the_packet_in_transmission_counts_in_the_limit_of_a_link() {
        let (mut links, mut queue) =
            queue(&LinkPlan { limit: Limit { packets: Some(2), bytes: None }, ..LinkPlan::default() });
        let mut dropped = Vec::new();
        queue.enqueue(&mut links, 0, packet(0, 0), &mut dropped);
        queue.on_free(&links, 0, 0, &mut dropped);
        queue.enqueue(&mut links, 0, packet(1, 0), &mut dropped);
        assert!(dropped.is_empty());
        queue.enqueue(&mut links, 0, packet(2, 0), &mut dropped);
        assert_eq!(dropped.iter().map(|item| item.packet).collect::<Vec<_>>(), [2]);
    }

    #[test]
    fn packets_wait_for_an_opportunity_after_they_came() {
        // 1,000 bytes at 1, 1 and 4 ms.
        let opportunities = Opportunities { times: Milliseconds::new(vec![1, 1, 4]).unwrap(), bytes: 1000 };
        let changes = opportunities.rates(Span(4 * MILLISECOND), Span(MILLISECOND));
        let plan = LinkPlan { changes, opportunities: Some(opportunities), ..LinkPlan::default() };
        let (mut links, mut queue) = queue(&plan);
        let (mut dropped, first) = (Vec::new(), MILLISECOND);
        assert_eq!(queue.enqueue(&mut links, 0, packet(0, 0), &mut dropped), Next::Opportunity(first));
        assert_eq!(queue.enqueue(&mut links, 0, packet(1, 0), &mut dropped), Next::Nothing);
        assert_eq!(queue.enqueue(&mut links, 0, packet(2, 0), &mut dropped), Next::Nothing);
        for number in 0..2 {
            let item = queue.on_opportunity(&mut links, 0, first, &mut dropped);
            assert_eq!(item.map(|item| item.packet), Some(number));
            links.enter(0, first, 1000);
        }
        // Both opportunities of 1 ms are taken; the third packet goes at 4 ms.
        assert_eq!(queue.on_opportunity(&mut links, 0, first, &mut dropped), None);
        assert_eq!(queue.await_opportunity(&mut links, 0, first + 1), Some(4 * MILLISECOND));
        assert_eq!(queue.on_opportunity(&mut links, 0, 4 * MILLISECOND, &mut dropped).map(|item| item.packet), Some(2));
        assert_eq!(queue.await_opportunity(&mut links, 0, 4 * MILLISECOND + 1), None);
    }
}
