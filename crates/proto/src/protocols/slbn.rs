//! SLBN: max-min fair rates with three numbers at a link, however many sessions cross it [mozo2012].
//!
//! A probe circulates on its path. It carries the rate that it looks for, and what links hold of its session: for a
//! session that other links limit (`elsewhere`) its rate, for one that the link itself limits (`here`) only its
//! presence. The set of the links that limit it travels in the probe, as positions in its path. To each visitor a link
//! offers, both on the way down and on the way back,
//!
//! ```text
//! share = max( (capacity - rate_elsewhere) / here,  capacity / sessions )          its visitor counted as here
//! ```
//!
//! A probe that finds no more than it carries lowers its rate to the offer; at the link that last did so, the setter,
//! the rate may also grow. Each dependency between links takes one round trip.
//!
//! differs: two changes; `variant = "demands"` has only the first, `variant = "paper"` none.
//! - As printed, a session with a demand withholds the rest of its share from others, and never rises after its demand
//!   has. The source corrects both: where the demand is less than the rate found, or no link limits the session, the
//!   next probe asks for the demand and forgets the setter.
//! - As printed, the setter may raise the rate on the way back although links after it, already passed, offer less.
//!   With equal shares at several links that can go on for ever. So a probe on its way back carries the least share of
//!   the links after, its `room`; if the setter offers more, the rate rises to `room`, and the link of `room` becomes
//!   the setter.
//!
//! Rates are whole numbers of bit/s, and so are sums of them, so that sums return to exactly zero.

use anabranch_core::{Rate, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::account::{Account, CLAIM};
use crate::control::{
    ConnectionView, LinkControl, LinkControls, LinkOrders, LinkView, Orders, Position, SourceControl, Visitor,
};
use crate::packet::{Header, Positions};
use crate::protocols::capabilities::{Capabilities, Demands};
use crate::protocols::headroom::Headroom;
use crate::protocols::whole_rates::{UNLIMITED, whole};

/// What the protocol can serve.
pub const CAPABILITIES: Capabilities = Capabilities { demands: Demands::AtSource, ..Capabilities::SINGLE_PATH };

/// Value of `setter` where no link has set the rate.
const NONE: Position = Position::MAX;

/// Parameters of SLBN.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SlbnParameters")]
#[serde(deny_unknown_fields, default)]
pub struct Parameters {
    /// Variant of the protocol: "corrected"; "demands", with the correction for demands alone; or "paper" as it is
    /// printed, for comparison.
    pub variant: Variant,
    /// Part of each link's capacity that is not handed out, 0 to 0.5: room for control packets in band.
    #[serde(skip_serializing_if = "Headroom::is_none")]
    pub headroom: Headroom,
}

/// Variants of SLBN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SlbnVariant")]
#[serde(rename_all = "kebab-case")]
pub enum Variant {
    /// The protocol with both changes above.
    #[default]
    Corrected,
    /// The protocol with the first of the changes above.
    Demands,
    /// The protocol as printed.
    Paper,
}

/// The fields of the packets Join, Probe, `ProbeAck` and Leave; rates are whole, in bit/s.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probe {
    /// Purpose of the packet.
    pub kind: Kind,
    /// Rate with which links that do not limit the session have counted it since the cycle before the last (bw'').
    pub held: i64,
    /// Rate with which these links are to count the session from now on (bw').
    pub next: i64,
    /// Rate that the probe looks for (bw).
    pub rate: i64,
    /// Links that limit the session (B).
    pub bottlenecks: Positions,
    /// The link that last set `rate` (b).
    pub setter: Position,
    /// Least offer of the links passed on the way back; absent in the printed protocol.
    pub room: Offer,
    /// Whether links observe `room`.
    pub minds_room: bool,
    /// Cycle in which the packet was sent, by which a second copy of a reply is recognised.
    pub cycle: u32,
}

/// Offer of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offer {
    /// Offered rate in bit/s.
    pub rate: i64,
    /// Position of the link in the path.
    pub position: Position,
}

const UNLIMITED_OFFER: Offer = Offer { rate: UNLIMITED, position: NONE };

/// Purpose of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// The session begins; the reply counts as the reply to a probe.
    Join,
    /// The session asks for its rate.
    Probe,
    /// The session ends.
    Leave,
}

impl Probe {
    /// Whether a source or a link may have sent the packet, on a path of `links` links.
    pub fn is_sound(&self, links: Position) -> bool {
        let is_rate = |rate: i64| (0..=UNLIMITED).contains(&rate);
        let is_link = |position: Position| position < links || position == NONE;
        [self.held, self.next, self.rate, self.room.rate].into_iter().all(is_rate)
            && is_link(self.setter)
            && is_link(self.room.position)
            && self.bottlenecks.are_before(links)
    }

    /// Whether this can be what comes back of a packet `sent` over the link at a position: the links after it decide on
    /// the rate, their room and whether they limit the session, and on nothing else.
    pub fn answers(&self, sent: &Self, position: Position) -> bool {
        let before = |probe: &Self| probe.bottlenecks.up_to(position);
        before(self) == before(sent)
            && (self.kind, self.held, self.next) == (sent.kind, sent.held, sent.next)
            && (self.minds_room, self.cycle) == (sent.minds_room, sent.cycle)
    }

    /// Whether the packet is the first of its session.
    pub fn is_first(&self) -> bool {
        self.kind == Kind::Join
    }
}

/// Creates the control of a source.
pub fn source(parameters: &Parameters, connection: &ConnectionView) -> Box<dyn SourceControl> {
    let demand = whole(connection.demand);
    let probe = Probe {
        kind: Kind::Join,
        held: 0,
        next: 0,
        rate: demand,
        bottlenecks: Positions::default(),
        setter: NONE,
        room: UNLIMITED_OFFER,
        minds_room: parameters.variant == Variant::Corrected,
        cycle: 0,
    };
    Box::new(Source { probe, demand, is_leaving: false, is_printed: parameters.variant == Variant::Paper })
}

/// Creates the controls of `count` links.
pub fn links(_: &Parameters, count: usize) -> Box<dyn LinkControls> {
    Box::new(vec![Link::default(); count])
}

struct Source {
    /// The packet in flight.
    probe: Probe,
    demand: i64,
    is_leaving: bool,
    is_printed: bool,
}

impl Source {
    /// The packet of the next cycle, from the reply of this one (Fig. 1, lines 21 and 22), with the granted rate.
    fn next(&self, reply: &Probe) -> (i64, Probe) {
        let cycle = reply.cycle.wrapping_add(1);
        let next = Probe { kind: Kind::Probe, held: reply.next, next: reply.rate, cycle, ..*reply };
        if self.is_printed {
            return (reply.rate, Probe { rate: reply.rate.min(self.demand), ..next });
        }
        if reply.rate >= self.demand || reply.setter == NONE {
            let granted = reply.rate.min(self.demand);
            return (granted, Probe { next: granted, rate: self.demand, setter: NONE, ..next });
        }
        (reply.rate, next)
    }
}

impl SourceControl for Source {
    fn join(&mut self, _: Time, orders: &mut Orders) {
        orders.probe(0, Header::Slbn(self.probe));
    }

    fn on_reply(&mut self, _: Time, _: usize, header: &Header, orders: &mut Orders) {
        let Header::Slbn(reply) = header else { return };
        if reply.cycle != self.probe.cycle {
            return;
        }
        if self.is_leaving {
            orders.tell(0, Header::Slbn(Probe { kind: Kind::Leave, ..*reply }));
            orders.has_left = true;
            return;
        }
        let (granted, probe) = self.next(reply);
        self.probe = probe;
        orders.grant(0, Rate(granted as f64));
        orders.probe(0, Header::Slbn(probe));
    }

    fn on_demand(&mut self, _: Time, demand: Rate, _: &mut Orders) {
        self.demand = whole(demand);
    }

    fn leave(&mut self, _: Time, _: &mut Orders) {
        self.is_leaving = true;
    }
}

/// State of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Link {
    /// Sum of the rates of sessions that other links limit (BF).
    rate_elsewhere: i64,
    /// Number of sessions that this link limits (NR).
    here: i64,
    /// Number of all sessions (N).
    sessions: i64,
}

const _: () = assert!(std::mem::size_of::<Link>() == 24, "three numbers, however many sessions");

impl Link {
    /// Share of each of `here` sessions.
    fn share(&self, capacity: i64, here: i64) -> i64 {
        let left = capacity.saturating_sub(self.rate_elsewhere);
        (left / here.max(1)).max(capacity / self.sessions.max(1))
    }

    /// Decides by lines 13 to 23 and 28 to 38 of Fig. 2, and returns the offer of this link. `held` is the rate with
    /// which the link has counted the session if other links limit it, `room` the least offer of the links passed on
    /// the way back.
    fn decide(&mut self, capacity: i64, position: Position, probe: &mut Probe, held: i64, room: Offer) -> i64 {
        if probe.bottlenecks.contains(position) {
            probe.bottlenecks.remove(position);
        } else {
            self.rate_elsewhere = self.rate_elsewhere.wrapping_sub(held);
            self.here += 1;
        }
        let share = self.share(capacity, self.here);
        let is_here = probe.setter == position || probe.rate >= share;
        if is_here && share <= room.rate.max(probe.rate) {
            probe.bottlenecks.insert(position);
            probe.rate = share;
            probe.setter = position;
        } else {
            if is_here {
                // This link offers more than the links passed on the way back.
                probe.rate = probe.rate.max(room.rate);
                probe.setter = room.position;
            }
            self.rate_elsewhere = self.rate_elsewhere.wrapping_add(probe.next);
            self.here -= 1;
        }
        share
    }

    fn join(&mut self, capacity: i64, position: Position, probe: &mut Probe) {
        self.sessions += 1;
        if probe.rate >= self.share(capacity, self.here + 1) {
            probe.bottlenecks.insert(position);
            probe.setter = position;
            self.here += 1;
        }
    }

    fn leave(&mut self, position: Position, probe: &Probe) {
        if probe.bottlenecks.contains(position) {
            self.here -= 1;
        } else {
            self.rate_elsewhere = self.rate_elsewhere.wrapping_sub(probe.next);
        }
        self.sessions -= 1;
    }
}

impl LinkControl for Link {
    fn on_arrival(&mut self, link: &LinkView, visitor: Visitor, header: &mut Header, _: &mut LinkOrders) {
        let Header::Slbn(probe) = header else { return };
        let (capacity, position) = (whole(link.capacity), visitor.position);
        match probe.kind {
            Kind::Join => self.join(capacity, position, probe),
            Kind::Probe => _ = self.decide(capacity, position, probe, probe.held, UNLIMITED_OFFER),
            Kind::Leave => self.leave(position, probe),
        }
        probe.room = UNLIMITED_OFFER;
    }

    fn on_return(&mut self, link: &LinkView, visitor: Visitor, header: &mut Header, _: &mut LinkOrders) {
        let Header::Slbn(probe) = header else { return };
        let share = self.decide(whole(link.capacity), visitor.position, probe, probe.next, probe.room);
        if share < probe.room.rate && probe.minds_room {
            probe.room = Offer { rate: share, position: visitor.position };
        }
    }

    fn is_clear(&self) -> bool {
        *self == Self::default()
    }

    fn account(&self) -> Option<Account> {
        let claims = |sessions: i64| i128::from(sessions) * CLAIM;
        let (rate, here, all) = (self.rate_elsewhere.into(), claims(self.here), claims(self.sessions));
        Some(Account { rate, here, all, ..Account::default() })
    }

    fn set_account(&mut self, account: Account) {
        // Sums of whole numbers in 64 bits fit again.
        self.rate_elsewhere = account.rate as i64;
        self.here = (account.here / CLAIM) as i64;
        self.sessions = (account.all / CLAIM) as i64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{alone, view, visitor};

    /// Sends a probe over one link of 10 Mbit/s and back, and gives what came back.
    fn round(link: &mut Link, mut header: Header) -> Probe {
        let orders = &mut LinkOrders::default();
        link.on_arrival(&view(10e6), visitor(0, 0), &mut header, orders);
        link.on_return(&view(10e6), visitor(0, 0), &mut header, orders);
        let Header::Slbn(probe) = header else { panic!("it is still of SLBN") };
        probe
    }

    fn join(demand: f64, parameters: &Parameters) -> (Box<dyn SourceControl>, Header) {
        let mut source = source(parameters, &ConnectionView { demand: Rate(demand), ..alone() });
        let mut orders = Orders::default();
        source.join(Time(0), &mut orders);
        (source, orders.packets.remove(0).header)
    }

    /// What links that do not hold its session back are to count it with.
    fn next_rate(packet: &Header) -> i64 {
        let Header::Slbn(probe) = packet else { panic!("it is still of SLBN") };
        probe.next
    }

    /// Hands a reply to a source; gives what it was granted in bit/s, and its next packet.
    fn reply(source: &mut dyn SourceControl, probe: Probe) -> (f64, Header) {
        let mut orders = Orders::default();
        source.on_reply(Time(0), 0, &Header::Slbn(probe), &mut orders);
        (orders.grants.first().map_or(0.0, |grant| grant.1.0), orders.packets.remove(0).header)
    }

    /// Takes a session away when its packet is back.
    fn leave(link: &mut Link, mut source: Box<dyn SourceControl>, packet: Header) {
        source.leave(Time(0), &mut Orders::default());
        let (_, mut last) = reply(source.as_mut(), round(link, packet));
        link.on_arrival(&view(10e6), visitor(0, 0), &mut last, &mut LinkOrders::default());
    }

    #[test]
    fn what_a_demand_leaves_goes_to_others_unless_as_printed() {
        for (variant, rest) in [(Variant::Corrected, 6_000_000), (Variant::Paper, 5_000_000)] {
            let parameters = Parameters { variant, ..Parameters::default() };
            let mut link = Link::default();
            let mut all = [4e6, f64::INFINITY, f64::INFINITY].map(|demand| join(demand, &parameters));
            let rounds = |link: &mut Link, all: &mut [(Box<dyn SourceControl>, Header)]| {
                for _ in 0..5 {
                    for (source, packet) in all.iter_mut() {
                        *packet = reply(source.as_mut(), round(link, packet.clone())).1;
                    }
                }
                all.iter().map(|(_, packet)| next_rate(packet)).collect::<Vec<_>>()
            };
            // A third of 10 each holds the first back, too, which could use 4.
            assert_eq!(rounds(&mut link, &mut all), [3_333_333; 3]);
            // One goes: 4 and 6. As printed the link raises both to 5, and counts the first as held back by itself.
            let [first, second, (source, packet)] = all;
            leave(&mut link, source, packet);
            let mut left = [first, second];
            assert_eq!(rounds(&mut link, &mut left)[1], rest);
            for (source, packet) in left {
                leave(&mut link, source, packet);
            }
            assert!(link.is_clear());
        }
    }

    #[test]
    fn a_session_that_joins_and_leaves_at_once_leaves_nothing() {
        let mut link = Link::default();
        let (mut source, packet) = join(f64::INFINITY, &Parameters::default());
        source.leave(Time(0), &mut Orders::default());
        let (granted, mut last) = reply(source.as_mut(), round(&mut link, packet));
        assert_eq!((granted, link.sessions), (0.0, 1));
        link.on_arrival(&view(10e6), visitor(0, 0), &mut last, &mut LinkOrders::default());
        assert!(link.is_clear());
    }

    #[test]
    fn a_second_copy_of_a_reply_changes_nothing() {
        let mut link = Link::default();
        let (mut source, packet) = join(f64::INFINITY, &Parameters::default());
        let probe = round(&mut link, packet);
        assert!((reply(source.as_mut(), probe).0 - 10e6).abs() < 1e-9);
        let mut orders = Orders::default();
        source.on_reply(Time(0), 0, &Header::Slbn(probe), &mut orders);
        assert!(orders.packets.is_empty() && orders.grants.is_empty());
    }
}
