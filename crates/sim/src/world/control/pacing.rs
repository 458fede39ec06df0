//! The pace of control packets, where they may take only a share of the rate: packets that come too early are held
//! back.
//!
//! The control packets of a subflow leave in the order in which its source sent them, one gap apart. The first packet
//! that is held back has an event in the calendar; the others wait behind it. Where a newer packet says all that an
//! older one does, it replaces the older one.

use std::collections::{BTreeMap, VecDeque};

use anabranch_core::units::BIT_PICOSECONDS;

use crate::world::World;
use crate::world::clock::Kind;

/// The longest gap in picoseconds: a second.
const MOST_GAP: f64 = 1e12;

/// For each subflow, the control packets that wait behind the one that is held back; few subflows have any.
#[derive(Default)]
pub(super) struct Waiting(BTreeMap<u32, VecDeque<u32>>);

impl Waiting {
    fn push(&mut self, s: u32, index: u32) {
        self.0.entry(s).or_default().push_back(index);
    }

    fn pop(&mut self, s: u32) -> Option<u32> {
        let waiting = self.0.get_mut(&s)?;
        let next = waiting.pop_front();
        if next.is_none() {
            self.0.remove(&s);
        }
        next
    }
}

impl World<'_> {
    /// Holds a control packet back if the last one of its subflow was sent only just now, or another waits. Says
    /// whether it does.
    pub(super) fn hold_back(&mut self, s: u32, index: u32) -> bool {
        let Some(held) = self.subflows[s as usize].held() else { return self.hold_until_due(s, index) };
        if self.plan.protocols[self.control_links.packets[index].protocol as usize].capabilities().supersedes {
            self.control_links.packets[held] = self.control_links.packets.take(index);
        } else {
            self.control_links.waiting.push(s, index);
        }
        true
    }

    /// Holds a control packet back until the gap after the last one of its subflow is over. Says whether it does: not
    /// if the gap is over already.
    fn hold_until_due(&mut self, s: u32, index: u32) -> bool {
        let Some(due) = self.control_due(s).filter(|due| *due > self.clock.now()) else { return false };
        if self.control_links.are_in_rate(&self.control_links.packets[index]) {
            return false;
        }
        self.subflows[s as usize].hold(index);
        self.clock.schedule_packet(due, Kind::Release, s, index);
        true
    }

    /// The time in picoseconds from which the next control packet of a subflow may leave. `None` means at once, as at
    /// rate 0 and for a connection that ends.
    fn control_due(&self, s: u32) -> Option<u64> {
        let share = self.plan.run.control_share?;
        let subflow = &self.subflows[s as usize];
        let rate = subflow.rate().0;
        let sent = subflow.control_sent()?;
        if !self.connections[subflow.connection()].is_present() || rate == 0.0 {
            return None;
        }
        let gap = self.plan.run.control_packet.0 as f64 * BIT_PICOSECONDS / (share * rate);
        Some(sent.saturating_add(gap.min(MOST_GAP) as u64))
    }

    /// The gap before a control packet that was held back is over.
    pub(in crate::world) fn on_release(&mut self, s: u32, index: u32) {
        if self.subflows[s as usize].held() == Some(index) {
            self.release(s);
        }
    }

    /// Sends the control packet of a subflow that was held back, if there is one, and the packets behind it that are
    /// due then.
    pub(in crate::world) fn release(&mut self, s: u32) {
        let Some(held) = self.subflows[s as usize].release() else { return };
        self.depart(s, held);
        while let Some(next) = self.control_links.waiting.pop(s) {
            if self.hold_until_due(s, next) {
                return;
            }
            self.depart(s, next);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use anabranch_core::Rate;
    use anabranch_plan::Plan;
    use anabranch_proto::Header;
    use anabranch_proto::control::Orders;
    use anabranch_proto::protocols::cobb::Probe;
    use anabranch_scenario::{NetworkSource, Scenario};

    use super::*;
    use crate::routes::Routes;
    use crate::shard::{Owners, Shard};
    use anabranch_core::units::MICROSECOND;

    /// A connection that begins later, over a link so long that nothing comes back. Its control packets of 64 bytes may
    /// take a hundredth of its rate.
    fn plan(protocol: &str) -> Plan {
        let text = format!(
            "[run]\nduration = \"10 s\"\ncontrol_share = 0.01\n\
             [[link]]\nsource = \"a\"\ntarget = \"b\"\ncapacity = \"10 Mbit/s\"\ndelay = \"10 s\"\n\
             [[connection]]\nsource = \"a\"\ntarget = \"b\"\nprotocol = \"{protocol}\"\nstart = \"9 s\"\n"
        );
        let scenario = Scenario::parse(&text).unwrap();
        let NetworkSource::Inline(network) = scenario.network().unwrap() else { panic!("it is in the text") };
        scenario.plan(Arc::new(network), None, &|_| Err(String::new()), &|_| true).unwrap()
    }

    /// The number of the packet that is held back; 0 if none is.
    fn held(world: &World) -> u32 {
        let Some(held) = world.subflows[0].held() else { return 0 };
        let Header::CobbLike(probe) = world.control_links.packets[held].header else { panic!("it is one of ours") };
        probe.number
    }

    /// Sends packets 1 to 5 at once from a source with a rate of 10 Mbit/s. At each of `times`, in microseconds, gives the
    /// time at which the last packet left, the number of packets that left, and the number of the one that is held back.
    /// Calls `meanwhile` before each look.
    fn looks(protocol: &str, times: &[u64], mut meanwhile: impl FnMut(&mut World, u64)) -> Vec<(u64, u64, u32)> {
        let plan = plan(protocol);
        let routes = Routes::new(&plan);
        let owners = Owners::alone(&plan, &routes);
        let mut world = World::new(&plan, &routes, Shard::new(&owners, 0));
        world.connections.begin_by_hand(0);
        world.subflows[0].set_rate(Rate(1e7));
        for number in 1..=5 {
            let mut orders = Orders::default();
            orders.probe(0, Header::CobbLike(Probe { number, rate: 0.0, share: 0.0 }));
            world.launch(0, orders.packets.remove(0));
        }
        let mut look = |&time: &u64| {
            world.serve_until(time * MICROSECOND + 1, u64::MAX);
            meanwhile(&mut world, time);
            (world.subflows[0].control_sent().unwrap() / MICROSECOND, world.hops(), held(&world))
        };
        times.iter().map(&mut look).collect()
    }

    // A gap: 512 bits at a hundredth of 10 Mbit/s take 5.12 ms.

    #[test]
    fn packets_leave_in_order_and_one_gap_apart() {
        let wanted = [(0, 1, 2), (0, 1, 2), (5120, 2, 3), (10_240, 3, 4), (15_360, 4, 5), (20_480, 5, 0)];
        assert_eq!(looks("cobb-like", &[0, 5119, 5120, 10_240, 15_360, 50_000], |_, _| {}), wanted);
    }

    #[test]
    fn a_newer_packet_takes_the_place_of_the_one_held_back_where_it_says_everything() {
        let wanted = [(0, 1, 5), (0, 1, 5), (5120, 2, 0)];
        assert_eq!(looks("rcp", &[0, 5119, 50_000], |_, _| {}), wanted);
    }

    #[test]
    fn all_that_are_held_back_go_at_once_when_the_connection_stops() {
        let stop = |world: &mut World, time: u64| {
            if time == 5120 {
                world.leave(0);
            }
        };
        assert_eq!(looks("cobb-like", &[5119, 5120, 50_000], stop), [(0, 1, 2), (5120, 5, 0), (5120, 5, 0)]);
    }

    #[test]
    fn at_rate_0_those_behind_go_with_the_one_whose_gap_had_begun() {
        let fall = |world: &mut World, _| _ = world.subflows[0].set_rate(Rate(0.0));
        assert_eq!(looks("cobb-like", &[1, 5119, 5120], fall), [(0, 1, 2), (0, 1, 2), (5120, 5, 0)]);
    }

    #[test]
    fn no_gap_is_longer_than_a_second() {
        // At 1 bit/s a gap would be 51,200 s.
        let slow = |world: &mut World, _| _ = world.subflows[0].set_rate(Rate(1.0));
        assert_eq!(
            looks("cobb-like", &[1, 5120, 999_999, 1_005_120], slow)[1..],
            [(5120, 2, 3), (5120, 2, 3), (1_005_120, 3, 4)]
        );
    }
}
