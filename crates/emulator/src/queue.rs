//! Links with a queue discipline: the decisions of their queues apply to packets and events, as in the simulator.

use anabranch_core::Time;
use anabranch_links::{Later, Links, ServedQueue, Service};
use anabranch_queues::{Ecn, Item};

use crate::events::Kind;
use crate::network::Network;

impl Network {
    /// A packet in the form that the queue of a link sees.
    pub(crate) fn item(&mut self, index: u32) -> Item {
        let arrived = Time(self.now);
        let underway = self.underway(index);
        Item { packet: index, bytes: underway.packet.size(), flow: underway.way, ecn: underway.packet.ecn(), arrived }
    }
}

impl Service for Network {
    fn now(&self) -> u64 {
        self.now
    }

    fn parts(&mut self, link: u32) -> Option<(&mut ServedQueue, &mut Links, &mut Vec<Item>)> {
        Some((self.queues[link as usize].as_mut()?, &mut self.links, &mut self.dropped))
    }

    fn pass_item(&mut self, link: u32, item: &Item) -> Option<u64> {
        let packet = &mut self.underway(item.packet).packet;
        if packet.ecn() != item.ecn {
            packet.set_ecn(item.ecn);
            self.marked[link as usize] += u64::from(item.ecn == Ecn::Ce);
        }
        self.pass(link, item.packet)
    }

    fn lose_item(&mut self, link: u32, item: &Item) {
        self.links.drop_one(link);
        self.lose(item.packet);
    }

    fn ask_later(&mut self, time: u64, link: u32, what: Later) {
        let kind = match what {
            Later::Free => Kind::Free(link),
            Later::Opportunity => Kind::Opportunity(link),
        };
        self.events.schedule(time, kind);
    }
}
