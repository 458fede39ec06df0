//! The pace of control packets, where they may take only a share of the rate: what comes too early is held back.
//!
//! Those of a subflow leave in the order in which its source sent them, one gap apart. The first of those that wait has an
//! event in the calendar; the others stand behind it. Where a newer packet says all that an older one does, it takes its
//! place.

use std::collections::{BTreeMap, VecDeque};

use anabranch_core::units::BIT_PICOSECONDS;

use crate::connections::{NONE, State, UNSET};
use crate::world::{Kind, World};

/// The gap is no longer than this: a second.
const MOST_GAP: f64 = 1e12;

/// For each subflow, the control packets that wait behind the one that is held back; few have any.
pub(crate) type Waiting = BTreeMap<u32, VecDeque<u32>>;

impl World<'_> {
    /// Keeps a control packet back if the last one of its subflow was sent only just now, or another waits.
    pub(crate) fn hold_back(&mut self, s: u32, index: u32) -> bool {
        let held = self.subflows[s as usize].held;
        if held == NONE {
            return self.hold_until_due(s, index);
        }
        if self.plan.protocols[self.control_links.packets[index].protocol as usize].capabilities().supersedes {
            self.control_links.packets[held] = self.control_links.packets.take(index);
        } else {
            self.control_links.behind.entry(s).or_default().push_back(index);
        }
        true
    }

    /// Keeps a control packet back until the gap after the last one of its subflow is over, unless it is.
    fn hold_until_due(&mut self, s: u32, index: u32) -> bool {
        let Some(due) = self.control_due(s).filter(|due| *due > self.now) else { return false };
        self.subflows[s as usize].held = index;
        self.schedule_packet(due, Kind::Release, s, index);
        true
    }

    /// When the next control packet of a subflow may go; `None` if at once, as at rate 0 and of who takes leave.
    fn control_due(&self, s: u32) -> Option<u64> {
        let share = self.plan.run.control_share?;
        let subflow = &self.subflows[s as usize];
        let is_active = self.connections[subflow.connection as usize].state == State::Active;
        let rate = subflow.pace.rate().0;
        if subflow.control_sent == UNSET || !is_active || rate == 0.0 {
            return None;
        }
        let gap = self.plan.run.control_packet.0 as f64 * BIT_PICOSECONDS / (share * rate);
        Some(subflow.control_sent.saturating_add(gap.min(MOST_GAP) as u64))
    }

    /// A control packet was held back long enough.
    pub(crate) fn on_release(&mut self, s: u32, index: u32) {
        if self.subflows[s as usize].held == index {
            self.release(s);
        }
    }

    /// Sends the control packet of a subflow that was held back, if there is one, and those behind it that are due then.
    pub(crate) fn release(&mut self, s: u32) {
        let held = std::mem::replace(&mut self.subflows[s as usize].held, NONE);
        if held == NONE {
            return;
        }
        self.depart(s, held);
        while let Some(next) = self.control_links.behind.get_mut(&s).and_then(VecDeque::pop_front) {
            if self.hold_until_due(s, next) {
                return;
            }
            self.depart(s, next);
        }
        self.control_links.behind.remove(&s);
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

    /// A connection, which is to begin later, over a link so long that nothing comes back; control packets of 64 bytes may
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
        let held = world.subflows[0].held;
        if held == NONE {
            return 0;
        }
        let Header::CobbLike(probe) = world.control_links.packets[held].header else { panic!("it is one of ours") };
        probe.number
    }

    /// Has packets 1 to 5 sent at once, where a source has a rate of 10 Mbit/s. After so many microseconds each: when the
    /// last packet had left, how many had, and which was the next. Before it looks, `meanwhile` happens.
    fn looks(protocol: &str, times: &[u64], mut meanwhile: impl FnMut(&mut World, u64)) -> Vec<(u64, u64, u32)> {
        let plan = plan(protocol);
        let routes = Routes::new(&plan);
        let owners = Owners::alone(&plan, &routes);
        let mut world = World::new(&plan, &routes, Shard::new(&owners, 0));
        world.connections[0].state = State::Active;
        world.subflows[0].pace.set_rate(Rate(1e7));
        for number in 1..=5 {
            let mut orders = Orders::default();
            orders.probe(0, Header::CobbLike(Probe { number, rate: 0.0, share: 0.0 }));
            world.launch(0, orders.packets.remove(0));
        }
        let mut look = |&time: &u64| {
            world.serve_until(time * MICROSECOND + 1, u64::MAX);
            meanwhile(&mut world, time);
            (world.subflows[0].control_sent / MICROSECOND, world.hops, held(&world))
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
        assert_eq!(looks("erica", &[0, 5119, 50_000], |_, _| {}), wanted);
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
        let fall = |world: &mut World, _| world.subflows[0].pace.set_rate(Rate(0.0));
        assert_eq!(looks("cobb-like", &[1, 5119, 5120], fall), [(0, 1, 2), (0, 1, 2), (5120, 5, 0)]);
    }

    #[test]
    fn no_gap_is_longer_than_a_second() {
        // At 1 bit/s a gap would be 51,200 s.
        let slow = |world: &mut World, _| world.subflows[0].pace.set_rate(Rate(1.0));
        assert_eq!(
            looks("cobb-like", &[1, 5120, 999_999, 1_005_120], slow)[1..],
            [(5120, 2, 3), (5120, 2, 3), (1_005_120, 3, 4)]
        );
    }
}
