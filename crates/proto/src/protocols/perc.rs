//! PERC: max-min fair rates by messages between links and sessions [jose2015].
//!
//! A packet circulates on its path. It carries the rate that each link offered its session last. On the way down and on
//! the way back, a link takes the least offer of the other links as the limit of the session. Its own offer is the
//! share that a max-min fair division of its capacity among all its sessions, each within its limit, gives a session
//! without limit:
//! ```text
//! offer = (capacity - sum of limits below offer) / (sessions - number of limits below offer)
//!         with the limit that the link knew of its visitor taken away
//! ```
//!
//! The rate of a session is the least offer of its links.
//!
//! A packet costs a search, and a walk along the different limits below the offer. A link keeps the limit of each
//! session: 16 bytes, and 12 more if no other session has the same limit, and the spare room of trees.
//!
//! Rates are whole numbers of bit/s.

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

/// Parameters of PERC.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PercParameters")]
#[serde(deny_unknown_fields, default)]
pub struct Parameters {
    /// Part of each link's capacity that is not handed out, 0 to 0.5: room for control packets in band.
    #[serde(skip_serializing_if = "Headroom::is_none")]
    pub headroom: Headroom,
}

/// The fields of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Whether the session ends.
    pub is_last: bool,
    /// Cycle in which the packet was sent, by which a second copy of a reply is recognised.
    pub cycle: u32,
    /// Last offer of each link of the path in whole bit/s; links after the last that limits anything are omitted.
    pub offers: Vec<i64>,
}

impl Probe {
    /// Least offer of the links other than that at `position`.
    fn limit(&self, position: Position) -> i64 {
        let others = self.offers.iter().enumerate().filter(|&(p, _)| p != usize::from(position));
        others.map(|(_, &offer)| offer).fold(UNLIMITED, i64::min).max(0)
    }

    fn set(&mut self, position: Position, offer: i64) {
        let position = usize::from(position);
        if self.offers.len() <= position {
            self.offers.resize(position + 1, UNLIMITED);
        }
        self.offers[position] = offer;
    }
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
        if let Header::Perc(probe) = header { Some(probe) } else { None }
    }

    fn header(self) -> Header {
        Header::Perc(self)
    }

    fn first() -> Self {
        Self { is_last: false, cycle: 0, offers: Vec::new() }
    }

    fn cycle(&self) -> u32 {
        self.cycle
    }

    fn granted(&self) -> Rate {
        Rate(self.offers.iter().copied().fold(UNLIMITED, i64::min) as f64)
    }

    fn next(&self, cycle: u32, is_last: bool, _: Span) -> Self {
        let offers = if is_last { Vec::new() } else { self.offers.clone() };
        Self { is_last, cycle, offers }
    }
}

#[derive(Clone, Debug, Default)]
struct Link {
    /// Limit of each session.
    sessions: BTreeMap<Visitor, i64>,
    /// All limits in order.
    limits: RateCounts,
}

const _: () = assert!(std::mem::size_of::<(Visitor, i64)>() == 16, "sixteen bytes for each session");

impl Link {
    /// Offer to one more session without limit.
    fn offer(&self, capacity: i64, others: i64) -> i64 {
        let (mut left, mut number) = (capacity.max(0), others + 1);
        for (limit, count) in self.limits.rising() {
            if limit >= left / number {
                break;
            }
            left -= limit * count;
            number -= count;
        }
        left / number
    }

    fn exchange(&mut self, link: &LinkView, visitor: Visitor, probe: &mut Probe) {
        let limit = probe.limit(visitor.position);
        if let Some(old) = self.sessions.insert(visitor, limit) {
            self.limits.remove(old);
        }
        probe.set(visitor.position, self.offer(whole(link.capacity), self.sessions.len() as i64 - 1));
        self.limits.insert(limit);
    }
}

impl LinkControl for Link {
    fn on_arrival(&mut self, link: &LinkView, visitor: Visitor, header: &mut Header, _: &mut LinkOrders) {
        let Header::Perc(probe) = header else { return };
        if !probe.is_last {
            self.exchange(link, visitor, probe);
        } else if let Some(old) = self.sessions.remove(&visitor) {
            self.limits.remove(old);
        }
    }

    fn on_return(&mut self, link: &LinkView, visitor: Visitor, header: &mut Header, _: &mut LinkOrders) {
        let Header::Perc(probe) = header else { return };
        self.exchange(link, visitor, probe);
    }

    fn is_clear(&self) -> bool {
        self.sessions.is_empty() && self.limits.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{alone, is_granted_once, view, visitor};

    /// Shows a packet of a session to a link of 10 Mbit/s at position 1 with another link's offer; gives the link's own.
    fn ask(link: &mut Link, session: u32, limit: i64) -> i64 {
        let mut header = Header::Perc(Probe { is_last: false, cycle: 0, offers: vec![limit] });
        link.on_arrival(&view(10e6), visitor(session, 1), &mut header, &mut LinkOrders::default());
        let Header::Perc(probe) = header else { panic!("it is still of PERC") };
        assert_eq!((probe.offers.len(), probe.limit(1)), (2, limit));
        probe.offers[1]
    }

    #[test]
    fn the_offer_is_a_fair_share_within_the_limits_of_others() {
        let mut link = Link::default();
        let offers = [0, 1, 2].map(|session| ask(&mut link, session, UNLIMITED));
        assert_eq!(offers, [10_000_000, 5_000_000, 3_333_333]);
        // The first is limited to 1, and the second to 4: 9 for two, then 5 for the third.
        assert_eq!(ask(&mut link, 0, 1_000_000), 3_333_333);
        assert_eq!(ask(&mut link, 1, 4_000_000), 4_500_000);
        assert_eq!(ask(&mut link, 2, UNLIMITED), 5_000_000);
        // A limit of 6 is above the share: both get 4.5.
        assert_eq!(ask(&mut link, 1, 6_000_000), 4_500_000);
        assert_eq!(ask(&mut link, 2, UNLIMITED), 4_500_000);
        for session in [0, 1, 2, 7] {
            let mut last = Header::Perc(Probe { is_last: true, cycle: 0, offers: Vec::new() });
            link.on_arrival(&view(10e6), visitor(session, 1), &mut last, &mut LinkOrders::default());
        }
        assert!(link.is_clear());
    }

    #[test]
    fn the_least_offer_is_granted_once() {
        let reply = Header::Perc(Probe { is_last: false, cycle: 0, offers: vec![5, 3, UNLIMITED, 4] });
        is_granted_once(source(&Parameters::default(), &alone()), &reply, 3.0);
    }
}
