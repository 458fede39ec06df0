//! BFYZ (reconstruction): max-min fair rates with one number for each session at a link [bartal2002].
//!
//! A packet circulates on its path. On the way down it carries the rate of its session and the link that set it; on the
//! way back it collects the least level of the links, which is the new rate. A link keeps for each session whether
//! other links limit it (`elsewhere`), with its rate, or the link itself does (`here`). The packet counts its session
//! as limited here; then
//!
//! ```text
//! residual = (capacity - sum of rates elsewhere) / here
//! down:  rate < residual, and another link set it:  elsewhere at that rate
//! back:  level = max(residual, greatest rate elsewhere)
//!        or, with none here, capacity - sum of rates elsewhere + greatest rate elsewhere
//! ```
//!
//! A rate elsewhere that exceeds the residual may be out of date; the greatest of them keeps the level from falling
//! because of it. The link that set the rate does not count the session as elsewhere, so that the session shares
//! capacity that the link has to spare.
//!
//! A packet costs the search of two ordered trees. At each link a session takes 16 bytes, and 12 more if no other
//! session there has the same rate; with the spare room of trees about 25 and 20.
//!
//! The equations of the original were not available. This form follows from its abstract and from a synchronous form of
//! it by an author of s-PERC [jose2019]. differs: links of the original do a constant amount of work for each packet;
//! here the greatest rate is looked up in an ordered tree, and is exact.
//!
//! Rates are whole numbers of bit/s, and so are sums of them, so that sums return to exactly zero.

use std::collections::BTreeMap;

use anabranch_core::{Rate, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::control::{
    ConnectionView, LinkControl, LinkControls, LinkOrders, LinkView, Position, SourceControl, Visitor,
};
use crate::packet::Header;
use crate::protocols::capabilities::Capabilities;
use crate::protocols::headroom::Headroom;
use crate::protocols::probe_cycle::{CycleProbe, CycleSource};
use crate::protocols::whole_rates::{RateCounts, UNLIMITED, whole};

/// What the protocol can serve.
pub const CAPABILITIES: Capabilities = Capabilities::SINGLE_PATH;

/// Value of `setter` where no link has set the rate.
const NONE: Position = Position::MAX;

/// Value in place of a rate for a session that the link limits itself.
const HERE: i64 = -1;

/// Parameters of BFYZ.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "BfyzParameters")]
#[serde(deny_unknown_fields, default)]
pub struct Parameters {
    /// Part of each link's capacity that is not handed out, 0 to 0.5: room for control packets in band.
    #[serde(skip_serializing_if = "Headroom::is_none")]
    pub headroom: Headroom,
}

/// The fields of a packet. Rates are whole, in bit/s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Whether the session ends.
    pub is_last: bool,
    /// Cycle in which the packet was sent, by which a second copy of a reply is recognised.
    pub cycle: u32,
    /// The rate of the session (AR).
    pub rate: i64,
    /// Position of the link that set the rate (t).
    pub setter: Position,
    /// On the way back, the least level so far (minB).
    pub level: i64,
    /// Position of the link with that level (minT).
    pub lowest: Position,
}

/// Creates the control of a source.
pub fn source(_: &Parameters, _: &ConnectionView) -> Box<dyn SourceControl> {
    Box::new(CycleSource::<Probe>::new())
}

/// Creates the controls of `count` links.
pub fn links(_: &Parameters, count: usize) -> Box<dyn LinkControls> {
    Box::new(vec![Link::default(); count])
}

impl CycleProbe for Probe {
    fn of(header: &Header) -> Option<&Self> {
        if let Header::Bfyz(probe) = header { Some(probe) } else { None }
    }

    fn header(self) -> Header {
        Header::Bfyz(self)
    }

    fn first() -> Self {
        Self { is_last: false, cycle: 0, rate: UNLIMITED, setter: NONE, level: UNLIMITED, lowest: NONE }
    }

    fn cycle(&self) -> u32 {
        self.cycle
    }

    fn granted(&self) -> Rate {
        Rate(self.level as f64)
    }

    fn next(&self, cycle: u32, is_last: bool, _: Span) -> Self {
        Self { is_last, cycle, rate: self.level, setter: self.lowest, level: UNLIMITED, lowest: NONE }
    }
}

#[derive(Clone, Debug, Default)]
struct Link {
    /// For each session its rate if other links limit it, otherwise [`HERE`].
    sessions: BTreeMap<Visitor, i64>,
    shares: Shares,
}

const _: () = assert!(std::mem::size_of::<(Visitor, i64)>() == 16, "sixteen bytes for each session");

/// Sums over the labels of all sessions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Shares {
    /// Number of sessions that the link limits.
    here: i64,
    /// Rates of all other sessions, in order, and their sum.
    elsewhere: RateCounts,
    rate_elsewhere: i64,
}

impl Shares {
    /// Adds a session with a label.
    fn add(&mut self, label: i64) {
        if label == HERE {
            self.here += 1;
        } else {
            self.elsewhere.insert(label);
            self.rate_elsewhere = self.rate_elsewhere.wrapping_add(label);
        }
    }

    /// Removes a session with a label.
    fn remove(&mut self, label: i64) {
        if label == HERE {
            self.here -= 1;
        } else {
            self.elsewhere.remove(label);
            self.rate_elsewhere = self.rate_elsewhere.wrapping_sub(label);
        }
    }

    /// Capacity that is left for each of `here` sessions (R).
    fn residual(&self, capacity: i64, here: i64) -> i64 {
        capacity.saturating_sub(self.rate_elsewhere) / here.max(1)
    }

    /// Level of the link (B).
    fn level(&self, capacity: i64) -> i64 {
        let greatest = self.elsewhere.greatest().unwrap_or(0);
        let residual = self.residual(capacity, self.here);
        let level = if self.here == 0 { residual.saturating_add(greatest) } else { residual.max(greatest) };
        level.clamp(0, UNLIMITED)
    }
}

impl Link {
    fn label(&mut self, capacity: i64, visitor: Visitor, probe: &Probe) {
        let label = self.sessions.entry(visitor).or_insert_with(|| {
            self.shares.add(HERE);
            HERE
        });
        self.shares.remove(*label);
        let rate = probe.rate.max(0);
        let is_elsewhere = rate < self.shares.residual(capacity, self.shares.here + 1);
        *label = if is_elsewhere && probe.setter != visitor.position { rate } else { HERE };
        self.shares.add(*label);
    }
}

impl LinkControl for Link {
    fn on_arrival(&mut self, link: &LinkView, visitor: Visitor, header: &mut Header, _: &mut LinkOrders) {
        let Header::Bfyz(probe) = header else { return };
        if !probe.is_last {
            self.label(whole(link.capacity), visitor, probe);
        } else if let Some(label) = self.sessions.remove(&visitor) {
            self.shares.remove(label);
        }
    }

    fn on_return(&mut self, link: &LinkView, visitor: Visitor, header: &mut Header, _: &mut LinkOrders) {
        let Header::Bfyz(probe) = header else { return };
        let level = self.shares.level(whole(link.capacity));
        if level < probe.level {
            probe.level = level;
            probe.lowest = visitor.position;
        }
    }

    fn is_clear(&self) -> bool {
        self.sessions.is_empty() && self.shares == Shares::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::Orders;
    use crate::testing::{alone, view, visitor};
    use anabranch_core::Time;

    fn probe(rate: i64, setter: Position) -> Probe {
        Probe { is_last: false, cycle: 0, rate, setter, level: UNLIMITED, lowest: NONE }
    }

    /// Shows a packet of a session to a link of 10 Mbit/s on both ways; gives the level that it comes back with.
    fn round(link: &mut Link, session: u32, probe: Probe) -> i64 {
        let (orders, mut header) = (&mut LinkOrders::default(), Header::Bfyz(probe));
        link.on_arrival(&view(10e6), visitor(session, 0), &mut header, orders);
        link.on_return(&view(10e6), visitor(session, 0), &mut header, orders);
        let Header::Bfyz(probe) = header else { panic!("it is still of BFYZ") };
        probe.level
    }

    fn leave(link: &mut Link, session: u32) {
        let mut header = Header::Bfyz(Probe { is_last: true, ..probe(0, NONE) });
        link.on_arrival(&view(10e6), visitor(session, 0), &mut header, &mut LinkOrders::default());
    }

    #[test]
    fn what_others_hold_back_is_left_to_the_rest() {
        let mut link = Link::default();
        let new = probe(UNLIMITED, NONE);
        assert_eq!([0, 1, 2].map(|session| round(&mut link, session, new)), [10_000_000, 5_000_000, 3_333_333]);
        // The first is held back to 1 by a link behind: 9 for two.
        assert_eq!(round(&mut link, 0, probe(1_000_000, 3)), 4_500_000);
        // The second is held back to 4: 5 for the third.
        assert_eq!(round(&mut link, 1, probe(4_000_000, 2)), 5_000_000);
        // It was this link that set the rate of the third: it stays here, and may rise.
        assert_eq!(round(&mut link, 2, probe(3_333_333, 0)), 5_000_000);
        // The third is held back to 2, and none is here: the greatest, 4, could have 10 - 1 - 2 = 7.
        assert_eq!(round(&mut link, 2, probe(2_000_000, 1)), 7_000_000);
        for session in [0, 1, 2, 7] {
            leave(&mut link, session);
        }
        assert!(link.is_clear());
    }

    #[test]
    fn the_level_stays_above_rates_that_are_out_of_date() {
        let mut link = Link::default();
        assert_eq!(round(&mut link, 0, probe(9_000_000, 1)), 10_000_000);
        // Two share what a rate of 9 leaves, 0.5 each, but while one has 9 none is told less.
        let new = probe(UNLIMITED, NONE);
        assert_eq!([1, 2].map(|session| round(&mut link, session, new)), [9_000_000; 2]);
        assert_eq!(round(&mut link, 0, probe(9_000_000, 1)), 3_333_333);
    }

    #[test]
    fn a_second_copy_of_a_reply_changes_nothing_and_the_last_packet_says_so() {
        let (mut source, orders) = (source(&Parameters::default(), &alone()), &mut Orders::default());
        let reply = Header::Bfyz(Probe { level: 3, lowest: 2, ..probe(UNLIMITED, NONE) });
        source.on_reply(Time(0), 0, &reply, orders);
        assert_eq!(orders.packets[0].header, Header::Bfyz(Probe { cycle: 1, ..probe(3, 2) }));
        orders.clear();
        source.on_reply(Time(0), 0, &reply, orders);
        assert!(orders.packets.is_empty() && orders.grants.is_empty());
        source.leave(Time(0), orders);
        source.on_reply(Time(0), 0, &Header::Bfyz(Probe { cycle: 1, ..probe(3, 2) }), orders);
        let Header::Bfyz(last) = orders.packets[0].header else { panic!("it is of BFYZ") };
        assert!(last.is_last && !orders.packets[0].wants_reply && orders.has_left && orders.grants.is_empty());
    }
}
