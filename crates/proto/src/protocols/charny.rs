//! Charny: max-min fair rates by marks on sessions that other links limit [charny1995].
//!
//! A packet circulates on its path. It carries the rate that its session asks for. A link records that rate, marks the
//! sessions that ask for less than it advertises, and lowers the packet's rate to what it advertises:
//!
//! ```text
//! advertised = (capacity - sum of marked rates) / sessions without mark
//!              or, with all marked, capacity - sum of rates + greatest rate
//! ```
//!
//! When its packet arrives, a session loses its mark. Then all sessions with rates up to the advertised rate get a
//! mark; then those with rates above the newly advertised rate lose it again. The rate that comes back is the
//! session's. If some link could not give more, the session asks for the same rate again, otherwise for an unlimited
//! one.
//!
//! A packet costs a look at every session of the link, at which a session takes 24 bytes and the spare room of trees.
//! The protocol has been shown to settle within about four round trips for each level of bottlenecks.
//!
//! The text of the original was not available; this is a reconstruction from descriptions of it. A demand is a link of
//! that capacity at the beginning of the path.
//!
//! Sums are computed anew at each packet, so that rounding does not build up and nothing stays behind. But a rate that
//! takes all that a link has left may differ from the advertised rate by a rounding error. It must count as the same.
//! Otherwise its session asks for an unlimited rate and takes capacity from others, and this goes on for ever: hence
//! `TOLERANCE`.

use std::collections::BTreeMap;

use anabranch_core::{Rate, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::control::{ConnectionView, LinkControl, LinkControls, LinkOrders, LinkView, SourceControl, Visitor};
use crate::packet::Header;
use crate::protocols::capabilities::Capabilities;
use crate::protocols::headroom::Headroom;
use crate::protocols::probe_cycle::{CycleProbe, CycleSource};

/// What the protocol can serve.
pub const CAPABILITIES: Capabilities = Capabilities::SINGLE_PATH;

/// Relative difference below which rates count as equal.
const TOLERANCE: f64 = 1e-9;

/// A rate above any capacity, in bit/s.
const UNLIMITED: f64 = 1e18;

/// Parameters of Charny.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CharnyParameters")]
#[serde(deny_unknown_fields, default)]
pub struct Parameters {
    /// Part of each link's capacity that is not handed out, 0 to 0.5: room for control packets in band.
    #[serde(skip_serializing_if = "Headroom::is_none")]
    pub headroom: Headroom,
}

/// The fields of a packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Probe {
    /// Whether the session ends.
    pub is_last: bool,
    /// Cycle in which the packet was sent, by which a second copy of a reply is recognised.
    pub cycle: u32,
    /// Rate that the session asks for, lowered by links, in bit/s.
    pub rate: f64,
    /// Whether a link could not give more than that (u).
    pub is_held: bool,
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
        if let Header::Charny(probe) = header { Some(probe) } else { None }
    }

    fn header(self) -> Header {
        Header::Charny(self)
    }

    fn first() -> Self {
        Self { is_last: false, cycle: 0, rate: UNLIMITED, is_held: false }
    }

    fn cycle(&self) -> u32 {
        self.cycle
    }

    fn granted(&self) -> Rate {
        Rate(self.rate)
    }

    fn next(&self, cycle: u32, is_last: bool, _: Span) -> Self {
        Self { is_last, cycle, rate: if self.is_held { self.rate } else { UNLIMITED }, is_held: false }
    }
}

/// Whether a rate is less than another or equal to it within the tolerance.
fn is_at_most(rate: f64, other: f64) -> bool {
    rate <= other * (1.0 + TOLERANCE)
}

/// State of a session at a link.
#[derive(Clone, Copy, Debug)]
struct Record {
    /// Rate that the session last asked for, in bit/s.
    rate: f64,
    /// Whether other links limit the session.
    is_marked: bool,
}

#[derive(Clone, Debug, Default)]
struct Link {
    sessions: BTreeMap<Visitor, Record>,
}

impl Link {
    fn advertised(&self, capacity: f64) -> f64 {
        let (mut marked, mut sum, mut greatest) = (0, 0.0, 0.0_f64);
        for record in self.sessions.values().filter(|record| record.is_marked) {
            marked += 1;
            sum += record.rate;
            greatest = greatest.max(record.rate);
        }
        let others = self.sessions.len() - marked;
        if others == 0 { capacity - sum + greatest } else { (capacity - sum) / others as f64 }
    }

    /// Records the rate that a session asks for, and returns the advertised rate after that.
    fn record(&mut self, capacity: f64, visitor: Visitor, rate: f64) -> f64 {
        self.sessions.insert(visitor, Record { rate, is_marked: false });
        let first = self.advertised(capacity);
        for record in self.sessions.values_mut() {
            record.is_marked |= is_at_most(record.rate, first);
        }
        let second = self.advertised(capacity);
        for record in self.sessions.values_mut() {
            record.is_marked &= is_at_most(record.rate, second);
        }
        self.advertised(capacity)
    }
}

impl LinkControl for Link {
    fn on_arrival(&mut self, link: &LinkView, visitor: Visitor, header: &mut Header, _: &mut LinkOrders) {
        let Header::Charny(probe) = header else { return };
        if probe.is_last {
            self.sessions.remove(&visitor);
            return;
        }
        // NaN becomes 0.
        let asked = if probe.rate > 0.0 { probe.rate.min(UNLIMITED) } else { 0.0 };
        let advertised = self.record(link.capacity.0, visitor, asked);
        probe.is_held |= is_at_most(advertised, asked);
        probe.rate = asked.min(advertised);
    }

    fn on_return(&mut self, _: &LinkView, _: Visitor, _: &mut Header, _: &mut LinkOrders) {}

    fn is_clear(&self) -> bool {
        self.sessions.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::Orders;
    use crate::testing::{alone, view, visitor};
    use anabranch_core::Time;

    /// Asks a link of 10 Mbit/s for `mbps`; gives what it leaves of that, in kbit/s, and whether it has no more.
    fn ask(link: &mut Link, session: u32, mbps: f64) -> (i64, bool) {
        let mut header = Header::Charny(Probe { is_last: false, cycle: 0, rate: mbps * 1e6, is_held: false });
        link.on_arrival(&view(10e6), visitor(session, 0), &mut header, &mut LinkOrders::default());
        let Header::Charny(probe) = header else { panic!("it is still of Charny") };
        ((probe.rate / 1e3).round() as i64, probe.is_held)
    }

    #[test]
    fn who_asks_for_less_than_a_share_leaves_the_rest_to_others() {
        let mut link = Link::default();
        let rates = [0, 1, 2].map(|session| ask(&mut link, session, f64::INFINITY));
        assert_eq!(rates, [(10_000, true), (5000, true), (3333, true)]);
        // One asks for 1: 9 for two. Another asks for 4: with that marked, too, 5 for the last.
        assert_eq!(ask(&mut link, 0, 1.0), (1000, false));
        assert_eq!(ask(&mut link, 1, 4.0), (4000, false));
        assert_eq!(ask(&mut link, 2, f64::INFINITY), (5000, true));
        // The first wants all again: the second, with 4 above a third, loses its mark.
        assert_eq!(ask(&mut link, 0, f64::INFINITY), (3333, true));
        // All ask for less than a share: 10 - 1 - 1 for one more.
        for session in [0, 1] {
            assert_eq!(ask(&mut link, session, 1.0), (1000, false));
        }
        assert_eq!(ask(&mut link, 2, 2.0), (2000, false));
        assert_eq!(ask(&mut link, 2, f64::NAN), (0, false));
        assert_eq!(ask(&mut link, 2, f64::INFINITY), (8000, true));
        for session in [0, 1, 2, 7] {
            let mut last = Header::Charny(Probe { is_last: true, cycle: 0, rate: 0.0, is_held: false });
            link.on_arrival(&view(10e6), visitor(session, 0), &mut last, &mut LinkOrders::default());
        }
        assert!(link.is_clear());
    }

    #[test]
    fn a_session_asks_for_all_unless_a_link_held_it() {
        let (mut source, orders) = (source(&Parameters::default(), &alone()), &mut Orders::default());
        let packet = |cycle, rate, is_held| Header::Charny(Probe { is_last: false, cycle, rate, is_held });
        source.on_reply(Time(0), 0, &packet(0, 7.0, true), orders);
        source.on_reply(Time(0), 0, &packet(0, 8.0, false), orders);
        assert_eq!(orders.packets.len(), 1, "a second copy of a reply changes nothing");
        source.on_reply(Time(0), 0, &packet(1, 6.0, false), orders);
        assert_eq!(orders.packets[0].header, packet(1, 7.0, false));
        assert_eq!(orders.packets[1].header, packet(2, UNLIMITED, false));
        source.leave(Time(0), orders);
        source.on_reply(Time(0), 0, &packet(2, 5.0, true), orders);
        let Header::Charny(last) = orders.packets[2].header else { panic!("it is of Charny") };
        assert!(last.is_last && orders.has_left && orders.grants.len() == 2);
    }
}
