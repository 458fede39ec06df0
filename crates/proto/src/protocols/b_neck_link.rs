//! The link control of B-Neck, which `b_neck.rs` describes.

use std::collections::{BTreeMap, BTreeSet};

use crate::control::{LinkControl, LinkOrders, LinkView, Visitor};
use crate::packet::Header;
use crate::protocols::b_neck::{Kind, Packet, SOURCE, TIE, UNLIMITED, Verdict, exceeds, ties};

/// State of a session at a link.
#[derive(Clone, Copy, Debug)]
struct Session {
    cycle: u32,
    state: State,
    /// Whether this link limits the session.
    is_here: bool,
    /// Rate of the last response that was not out of date, in bit/s; it counts if the session is idle or elsewhere.
    rate: f64,
}

/// Progress of a session in its cycle (mu).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The response of the session has passed.
    Idle,
    /// The session is to send a probe.
    WaitsForProbe,
    /// The probe of the session has passed.
    WaitsForResponse,
}

/// Sessions in order of rate: for rates of 0 or more, bits have the order of numbers.
type ByRate = BTreeSet<(u64, Visitor)>;

#[derive(Clone, Debug, Default)]
pub(super) struct Link {
    /// Capacity when the control last looked, in bit/s; 0 before the first packet.
    capacity: f64,
    sessions: BTreeMap<Visitor, Session>,
    /// Number of sessions that the link limits, and those of them that are idle.
    here: usize,
    idle_here: ByRate,
    /// Sessions that other links limit, and the sum of their rates in bit/s.
    elsewhere: ByRate,
    rate_elsewhere: f64,
}

impl Link {
    fn level(&self) -> f64 {
        if self.here > 0 {
            return ((self.capacity - self.rate_elsewhere) / self.here as f64).max(0.0);
        }
        // The link limits no session; but the sessions elsewhere may exceed its capacity.
        if exceeds(self.rate_elsewhere, self.capacity) { 0.0 } else { UNLIMITED }
    }

    /// Whether all sessions that the link limits are idle at its level.
    fn is_bottleneck(&self) -> bool {
        let is_at_level = |end: Option<&(u64, Visitor)>| end.is_some_and(|e| ties(f64::from_bits(e.0), self.level()));
        self.idle_here.len() == self.here && is_at_level(self.idle_here.first()) && is_at_level(self.idle_here.last())
    }

    /// Idle sessions here whose rates equal the level, except `other`.
    fn at_level(&self, other: Visitor) -> Vec<Visitor> {
        let level = self.level();
        let from = (level * (1.0 - 2.0 * TIE)).to_bits();
        let above = self.idle_here.range((from, Visitor { subflow: 0, position: 0 })..);
        let tied = above.take_while(|(rate, _)| !exceeds(f64::from_bits(*rate), level));
        tied.filter(|(rate, v)| *v != other && ties(f64::from_bits(*rate), level)).map(|&(_, v)| v).collect()
    }

    /// Sets the state of a session and moves it to the right list.
    fn set(&mut self, visitor: Visitor, session: Session) {
        self.take_out(visitor);
        let key = (session.rate.to_bits(), visitor);
        if session.is_here {
            self.here += 1;
            if session.state == State::Idle {
                self.idle_here.insert(key);
            }
        } else {
            self.elsewhere.insert(key);
            self.rate_elsewhere += session.rate;
        }
        self.sessions.insert(visitor, session);
    }

    fn take_out(&mut self, visitor: Visitor) {
        let Some(session) = self.sessions.remove(&visitor) else { return };
        let key = (session.rate.to_bits(), visitor);
        if session.is_here {
            self.here -= 1;
            self.idle_here.remove(&key);
        } else {
            self.elsewhere.remove(&key);
            // Without sessions elsewhere, the sum is exactly 0 despite rounding.
            self.rate_elsewhere = if self.elsewhere.is_empty() { 0.0 } else { self.rate_elsewhere - session.rate };
        }
    }

    /// Sends updates to sessions, so that they send probes.
    fn update(&mut self, visitors: &[Visitor], orders: &mut LinkOrders) {
        for &visitor in visitors {
            let Some(&session) = self.sessions.get(&visitor) else { continue };
            self.set(visitor, Session { state: State::WaitsForProbe, ..session });
            orders.send_upstream(visitor, notice(Kind::Update, session));
        }
    }

    /// Applies a level that has fallen: limits the sessions whose rates it has reached, and notifies the idle ones that
    /// have more.
    fn settle(&mut self, orders: &mut LinkOrders) {
        while let Some(&(rate, visitor)) = self.elsewhere.last() {
            if exceeds(self.level(), f64::from_bits(rate)) {
                break;
            }
            let session = self.sessions[&visitor];
            self.set(visitor, Session { is_here: true, ..session });
        }
        let level = self.level();
        let over = self.idle_here.iter().rev().take_while(|(rate, _)| exceeds(f64::from_bits(*rate), level));
        let over: Vec<Visitor> = over.map(|&(_, visitor)| visitor).collect();
        self.update(&over, orders);
    }

    /// Applies a change of the capacity, which the first packet or a notice of the change reveals.
    fn look(&mut self, capacity: f64, orders: &mut LinkOrders) {
        if !ties(capacity, self.capacity) {
            let at_level = if exceeds(capacity, self.capacity) { self.at_level(NOBODY) } else { Vec::new() };
            self.capacity = capacity;
            self.update(&at_level, orders);
            self.settle(orders);
        }
    }

    fn on_probe(&mut self, visitor: Visitor, packet: &mut Packet, orders: &mut LinkOrders) {
        let rate = self.sessions.get(&visitor).map_or(0.0, |session| session.rate);
        let session = Session { cycle: packet.cycle, state: State::WaitsForResponse, is_here: true, rate };
        self.set(visitor, session);
        self.settle(orders);
        let level = self.level();
        if exceeds(packet.rate, level) {
            packet.rate = level;
            packet.setter = visitor.position;
        }
    }

    fn on_response(
        &mut self,
        visitor: Visitor,
        session: Session,
        packet: &Packet,
        verdict: Verdict,
        orders: &mut LinkOrders,
    ) -> Verdict {
        let level = self.level();
        let is_own = packet.setter == visitor.position;
        let is_right = if is_own { ties(packet.rate, level) } else { !exceeds(packet.rate, level) };
        if verdict == Verdict::Stale || !is_right {
            self.set(visitor, Session { state: State::WaitsForProbe, ..session });
            return Verdict::Stale;
        }
        self.set(visitor, Session { state: State::Idle, rate: packet.rate, ..session });
        if !self.is_bottleneck() {
            return verdict;
        }
        for &(_, other) in self.idle_here.iter().filter(|(_, other)| *other != visitor) {
            orders.send_upstream(other, notice(Kind::Bottleneck, self.sessions[&other]));
        }
        Verdict::Final
    }

    /// Updates whether a session is idle and whether it is claimed.
    fn on_set_bottleneck(&mut self, visitor: Visitor, is_claimed: &mut bool, orders: &mut LinkOrders) {
        let session = self.sessions[&visitor];
        if !session.is_here {
            return;
        }
        if self.is_bottleneck() {
            *is_claimed = true;
        } else if exceeds(self.level(), session.rate) {
            let at_level = self.at_level(visitor);
            self.set(visitor, Session { is_here: false, ..session });
            self.update(&at_level, orders);
        }
    }

    fn on_leave(&mut self, visitor: Visitor, orders: &mut LinkOrders) {
        if self.sessions.contains_key(&visitor) {
            let at_level = self.at_level(visitor);
            self.take_out(visitor);
            self.update(&at_level, orders);
        }
    }
}

/// A visitor that no link has.
const NOBODY: Visitor = Visitor { subflow: u32::MAX, position: SOURCE };

/// The packet by which a link notifies a session.
fn notice(kind: Kind, session: Session) -> Header {
    Header::BNeck(Packet { kind, cycle: session.cycle, rate: session.rate, setter: SOURCE })
}

impl LinkControl for Link {
    fn on_arrival(&mut self, link: &LinkView, visitor: Visitor, header: &mut Header, orders: &mut LinkOrders) {
        let Header::BNeck(packet) = header else { return };
        self.look(link.capacity.0, orders);
        let session = self.sessions.get(&visitor).copied();
        let is_newer = |session: Session| packet.cycle.wrapping_sub(session.cycle).wrapping_sub(1) < u32::MAX / 2;
        match (&mut packet.kind, session) {
            (Kind::Join, None) => self.on_probe(visitor, packet, orders),
            (Kind::Probe, Some(session)) if is_newer(session) => self.on_probe(visitor, packet, orders),
            (Kind::SetBottleneck { is_claimed }, Some(session))
                if session.cycle == packet.cycle && session.state == State::Idle =>
            {
                self.on_set_bottleneck(visitor, is_claimed, orders);
            }
            (Kind::Leave, _) => self.on_leave(visitor, orders),
            _ => orders.drop_packet(),
        }
    }

    fn on_return(&mut self, link: &LinkView, visitor: Visitor, header: &mut Header, orders: &mut LinkOrders) {
        let Header::BNeck(packet) = header else { return };
        self.look(link.capacity.0, orders);
        let session = self.sessions.get(&visitor).copied();
        let Some(session) = session.filter(|s| s.cycle == packet.cycle && s.state != State::WaitsForProbe) else {
            return orders.drop_packet();
        };
        match packet.kind {
            Kind::Response(verdict) if session.state == State::WaitsForResponse => {
                packet.kind = Kind::Response(self.on_response(visitor, session, packet, verdict, orders));
            }
            Kind::Update if session.state == State::Idle => {
                self.set(visitor, Session { state: State::WaitsForProbe, ..session });
            }
            Kind::Update => {}
            Kind::Bottleneck if session.is_here => {}
            _ => orders.drop_packet(),
        }
    }

    fn on_capacity(&mut self, link: &LinkView, orders: &mut LinkOrders) {
        self.look(link.capacity.0, orders);
    }

    fn is_clear(&self) -> bool {
        self.sessions.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{view, visitor};

    const OPEN: Kind = Kind::Response(Verdict::Open);

    fn packet(kind: Kind, cycle: u32, rate: f64) -> Packet {
        Packet { kind, cycle, rate, setter: SOURCE }
    }

    /// Shows a packet on its way to the sink to a link of 10 Mbit/s; gives it back unless it was dropped.
    fn down(link: &mut Link, subflow: u32, packet: Packet, orders: &mut LinkOrders) -> Option<Packet> {
        let mut header = Header::BNeck(packet);
        link.on_arrival(&view(10e6), visitor(subflow, 0), &mut header, orders);
        took(&header, orders)
    }

    /// Shows a packet on its way back to the link; gives the packet that the link sends, if any.
    fn up(link: &mut Link, subflow: u32, packet: Packet, orders: &mut LinkOrders) -> Option<Packet> {
        let mut header = Header::BNeck(packet);
        link.on_return(&view(10e6), visitor(subflow, 0), &mut header, orders);
        took(&header, orders)
    }

    fn took(header: &Header, orders: &mut LinkOrders) -> Option<Packet> {
        let Header::BNeck(packet) = header else { panic!("it is still of B-Neck") };
        (!std::mem::take(&mut orders.drops)).then_some(*packet)
    }

    /// What a link sent, to whom.
    fn sent(orders: &mut LinkOrders) -> Vec<(u32, Kind)> {
        let kind = |header| if let Header::BNeck(packet) = header { packet.kind } else { panic!("it is of B-Neck") };
        orders.upstream.drain(..).map(|(to, header)| (to.subflow, kind(header))).collect()
    }

    #[test]
    fn a_link_tells_those_who_have_too_much_and_then_all_that_it_is_their_bottleneck() {
        let (mut link, mut orders) = (Link::default(), LinkOrders::default());
        let first = down(&mut link, 0, packet(Kind::Join, 1, UNLIMITED), &mut orders).unwrap();
        let first = up(&mut link, 0, Packet { kind: OPEN, ..first }, &mut orders).unwrap();
        // Alone it has all 10, and that is final.
        assert_eq!((first.kind, first.setter), (Kind::Response(Verdict::Final), 0));
        assert!(ties(first.rate, 10e6) && sent(&mut orders).is_empty());
        // Another comes: 5 each, so that the first must ask again.
        let second = down(&mut link, 1, packet(Kind::Join, 1, UNLIMITED), &mut orders).unwrap();
        assert_eq!(sent(&mut orders), [(0, Kind::Update)]);
        let second = up(&mut link, 1, Packet { kind: OPEN, ..second }, &mut orders).unwrap();
        assert!(second.kind == OPEN && ties(second.rate, 5e6));
        let first = down(&mut link, 0, packet(Kind::Probe, 2, UNLIMITED), &mut orders).unwrap();
        let first = up(&mut link, 0, Packet { kind: OPEN, ..first }, &mut orders).unwrap();
        assert_eq!(first.kind, Kind::Response(Verdict::Final));
        assert_eq!(sent(&mut orders), [(1, Kind::Bottleneck)]);
        // The second is claimed, leaves, and the first is told.
        let told = down(&mut link, 1, packet(Kind::SetBottleneck { is_claimed: false }, 1, 5e6), &mut orders);
        assert_eq!(told.unwrap().kind, Kind::SetBottleneck { is_claimed: true });
        down(&mut link, 1, packet(Kind::Leave, 1, 0.0), &mut orders);
        assert_eq!(sent(&mut orders), [(0, Kind::Update)]);
        down(&mut link, 0, packet(Kind::Leave, 2, 0.0), &mut orders);
        assert!(link.is_clear() && link.elsewhere.is_empty() && link.idle_here.is_empty() && link.here == 0);
    }

    #[test]
    fn what_one_session_cannot_use_goes_to_the_others() {
        let (mut link, mut orders) = (Link::default(), LinkOrders::default());
        for subflow in [0, 1] {
            down(&mut link, subflow, packet(Kind::Join, 1, UNLIMITED), &mut orders);
        }
        up(&mut link, 1, Packet { setter: 0, ..packet(OPEN, 1, 5e6) }, &mut orders);
        // The first comes back with 2 from another link, and is held back there.
        up(&mut link, 0, Packet { setter: 3, ..packet(OPEN, 1, 2e6) }, &mut orders);
        let told = down(&mut link, 0, packet(Kind::SetBottleneck { is_claimed: false }, 1, 2e6), &mut orders);
        assert_eq!(told.unwrap().kind, Kind::SetBottleneck { is_claimed: false });
        // The other had 5 and can have 8.
        assert_eq!(sent(&mut orders), [(1, Kind::Update)]);
        assert!(ties(link.level(), 8e6));
    }

    #[test]
    fn packets_of_other_cycles_and_of_the_unknown_are_dropped() {
        let (mut link, mut orders) = (Link::default(), LinkOrders::default());
        for kind in [Kind::Probe, Kind::SetBottleneck { is_claimed: false }] {
            assert_eq!(down(&mut link, 7, packet(kind, 1, 1e6), &mut orders), None);
        }
        for kind in [OPEN, Kind::Update, Kind::Bottleneck] {
            assert_eq!(up(&mut link, 7, packet(kind, 1, 1e6), &mut orders), None);
        }
        down(&mut link, 7, packet(Kind::Leave, 1, 0.0), &mut orders);
        assert!(link.is_clear());
        down(&mut link, 0, packet(Kind::Join, 5, UNLIMITED), &mut orders);
        for old in [packet(Kind::Join, 5, 1e6), packet(Kind::Probe, 4, 1e6), packet(Kind::Probe, 5, 1e6)] {
            assert_eq!(down(&mut link, 0, old, &mut orders), None);
        }
        assert_eq!(up(&mut link, 0, packet(OPEN, 4, 1e6), &mut orders), None);
    }

    #[test]
    fn a_link_whose_capacity_changes_tells_those_whom_it_holds_back() {
        let (mut link, mut orders) = (Link::default(), LinkOrders::default());
        link.on_capacity(&view(10e6), &mut orders);
        assert!(sent(&mut orders).is_empty(), "nobody is there");
        for subflow in [0, 1] {
            down(&mut link, subflow, packet(Kind::Join, 1, UNLIMITED), &mut orders);
        }
        // Another link holds the second to 2, this one the first to 8.
        up(&mut link, 1, Packet { setter: 3, ..packet(OPEN, 1, 2e6) }, &mut orders);
        down(&mut link, 1, packet(Kind::SetBottleneck { is_claimed: false }, 1, 2e6), &mut orders);
        up(&mut link, 0, Packet { setter: 0, ..packet(OPEN, 1, 8e6) }, &mut orders);
        assert!(sent(&mut orders).is_empty());
        // Of 20 the first can have more.
        link.on_capacity(&view(20e6), &mut orders);
        assert_eq!(sent(&mut orders), [(0, Kind::Update)]);
        // Of 3 both can have 1.5; the first asks already. A change that is none tells nobody.
        link.on_capacity(&view(3e6), &mut orders);
        assert_eq!(sent(&mut orders), [(1, Kind::Update)]);
        link.on_capacity(&view(3e6), &mut orders);
        assert!(sent(&mut orders).is_empty());
    }

    #[test]
    fn a_link_that_loses_capacity_tells_those_that_have_more_than_is_left() {
        let (mut link, mut orders) = (Link::default(), LinkOrders::default());
        let all = down(&mut link, 0, packet(Kind::Join, 1, UNLIMITED), &mut orders).unwrap();
        up(&mut link, 0, Packet { kind: OPEN, ..all }, &mut orders);
        link.on_capacity(&view(6e6), &mut orders);
        assert_eq!(sent(&mut orders), [(0, Kind::Update)]);
    }
}
