//! B-Neck: max-min fair rates, and no control packets once all are found [mozo2011].
//!
//! A link knows each session that crosses it: the sessions that it limits itself, `here`, and the sessions that other
//! links limit, `elsewhere`, with their rates. Each session here can have the level
//! ```text
//! level = (capacity - rates elsewhere) / here                                          no limit if here = 0
//! ```
//!
//! A session sends a probe, which comes back as a response with the least level of its path. A link is a bottleneck if
//! all sessions that it limits are idle at its level. It notifies these sessions, and each of them reports to its other
//! links with `SetBottleneck` that it is limited elsewhere. Whenever a level rises, or falls below the rate of an idle
//! session, the link sends that session an update, and the session sends a probe again. When no link has anything to
//! report, no packet is in flight, and none is sent until a session joins, leaves or changes its demand.
//!
//! Written from published descriptions of the rules, without the listing. Differs:
//! - A link claims a session as its own, in `SetBottleneck`, only if it limits that session.
//! - Packets carry the number of the cycle of their session, and links ignore packets of other cycles. An update or a
//!   bottleneck that overtakes an earlier response counts when the response arrives. So control packets may come in any
//!   order, but none may be lost or come twice: a second copy of a join that comes after its session has left would
//!   stay at the link. Hops repair both.
//! - A session that leaves while a probe is in flight waits for the response.
//! - A link whose capacity changes notifies its sessions, also when no packet is in flight.
//!
//! Rates that differ by less than a ten-millionth count as equal; otherwise rounding would keep the protocol awake.

use anabranch_core::{Rate, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::control::{ConnectionView, LinkControls, Orders, Position, SourceControl};
use crate::packet::Header;
use crate::protocols::b_neck_link::Link;
use crate::protocols::capabilities::{Capabilities, Demands};
use crate::protocols::headroom::Headroom;

/// What the protocol can serve.
pub const CAPABILITIES: Capabilities =
    Capabilities { demands: Demands::AtSource, hears_capacities: true, turn, ..Capabilities::SINGLE_PATH };

/// Value of `setter` for a rate that the source has set, and no link.
pub(super) const SOURCE: Position = Position::MAX;

/// A rate above any capacity, in bit/s.
pub(super) const UNLIMITED: f64 = 1e18;

/// Relative difference below which rates count as equal.
pub(super) const TIE: f64 = 1e-7;

/// Parameters of B-Neck.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "BNeckParameters")]
pub struct Parameters {
    /// Whether sessions may send at a rate that is not known to be final, or is out of date and lower than their
    /// present one. Otherwise they send nothing until a final rate is found, and keep the old rate until the next is
    /// found, so links are overloaded for longer.
    pub provisional: bool,
    /// Part of each link's capacity that is not handed out, 0 to 0.5: room for control packets in band.
    #[serde(skip_serializing_if = "Headroom::is_none")]
    pub headroom: Headroom,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { provisional: true, headroom: Headroom::default() }
    }
}

/// The fields of a packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Packet {
    /// Purpose of the packet.
    pub kind: Kind,
    /// Cycle of the session to which the packet belongs.
    pub cycle: u32,
    /// In a probe and its response, the least level so far (lambda), in bit/s.
    pub rate: f64,
    /// Position of the link that set the rate (eta).
    pub setter: Position,
}

/// Purpose of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The session begins and asks for its rate.
    Join,
    /// The session asks for its rate.
    Probe,
    /// A probe on its way back, with what is known of its rate.
    Response(Verdict),
    /// A link asks the session to send a probe.
    Update,
    /// The rate of the session is final.
    Bottleneck,
    /// The session reports to its links that its rate is final.
    SetBottleneck {
        /// Whether a link or the demand is known to limit the session.
        is_claimed: bool,
    },
    /// The session ends.
    Leave,
}

/// Status of the rate in a response (tau).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The rate may be final.
    Open,
    /// The rate is out of date.
    Stale,
    /// The rate is final.
    Final,
}

/// Turns a packet round at the sink: answers a probe, and asks a session that no link has claimed to try again.
fn turn(header: &mut Header) -> bool {
    let Header::BNeck(packet) = header else { return false };
    match packet.kind {
        Kind::Join | Kind::Probe => packet.kind = Kind::Response(Verdict::Open),
        Kind::SetBottleneck { is_claimed: false } => packet.kind = Kind::Update,
        _ => return false,
    }
    true
}

/// Whether `a` exceeds `b` by more than rounding.
pub(super) fn exceeds(a: f64, b: f64) -> bool {
    a - b > TIE * a.max(b)
}

/// Whether two rates count as equal.
pub(super) fn ties(a: f64, b: f64) -> bool {
    !exceeds(a, b) && !exceeds(b, a)
}

/// Creates the control of a source.
pub fn source(parameters: &Parameters, connection: &ConnectionView) -> Box<dyn SourceControl> {
    Box::new(Source {
        demand: connection.demand.0.min(UNLIMITED),
        cycle: 0,
        rate: 0.0,
        granted: 0.0,
        is_waiting: false,
        verdict: Verdict::Open,
        is_leaving: false,
        is_provisional: parameters.provisional,
    })
}

/// Creates the controls of `count` links.
pub fn links(_: &Parameters, count: usize) -> Box<dyn LinkControls> {
    Box::new(vec![Link::default(); count])
}

struct Source {
    /// Demand in bit/s.
    demand: f64,
    cycle: u32,
    /// Rate of the last response, and rate at which the session may send, in bit/s.
    rate: f64,
    granted: f64,
    is_waiting: bool,
    /// Status of the rate; while a response is due, of the rate that will come.
    verdict: Verdict,
    is_leaving: bool,
    is_provisional: bool,
}

impl Source {
    fn packet(&self, kind: Kind) -> Header {
        Header::BNeck(Packet { kind, cycle: self.cycle, rate: self.demand, setter: SOURCE })
    }

    fn ask(&mut self, kind: Kind, orders: &mut Orders) {
        self.cycle = self.cycle.wrapping_add(1);
        (self.is_waiting, self.verdict) = (true, Verdict::Open);
        orders.probe(0, self.packet(kind));
    }

    fn ask_again(&mut self, orders: &mut Orders) {
        if self.is_waiting {
            self.verdict = Verdict::Stale;
        } else if !self.is_leaving {
            self.ask(Kind::Probe, orders);
        }
    }

    fn on_response(&mut self, rate: f64, verdict: Verdict, orders: &mut Orders) {
        self.is_waiting = false;
        if self.is_leaving {
            return self.take_leave(orders);
        }
        let is = |wanted: Verdict| verdict == wanted || self.verdict == wanted;
        let is_stale = is(Verdict::Stale);
        let is_final = !is_stale && (is(Verdict::Final) || ties(rate, self.demand));
        self.rate = rate;
        if is_final {
            return self.settle(orders);
        }
        if self.is_provisional && (!is_stale || rate < self.granted) {
            self.grant(orders);
        }
        if is_stale {
            self.ask(Kind::Probe, orders);
        }
    }

    /// Makes the present rate final.
    fn settle(&mut self, orders: &mut Orders) {
        self.verdict = Verdict::Final;
        self.grant(orders);
        let is_claimed = ties(self.rate, self.demand);
        orders.probe(0, self.packet(Kind::SetBottleneck { is_claimed }));
    }

    fn grant(&mut self, orders: &mut Orders) {
        self.granted = self.rate;
        orders.grant(0, Rate(self.rate));
    }

    fn take_leave(&self, orders: &mut Orders) {
        orders.tell(0, self.packet(Kind::Leave));
        orders.has_left = true;
    }
}

impl SourceControl for Source {
    fn join(&mut self, _: Time, orders: &mut Orders) {
        self.ask(Kind::Join, orders);
    }

    fn on_reply(&mut self, _: Time, _: usize, header: &Header, orders: &mut Orders) {
        let Header::BNeck(packet) = header else { return };
        if packet.cycle != self.cycle {
            return;
        }
        match packet.kind {
            Kind::Response(verdict) if self.is_waiting => self.on_response(packet.rate, verdict, orders),
            Kind::Update => self.ask_again(orders),
            Kind::Bottleneck if self.is_waiting && self.verdict == Verdict::Open => self.verdict = Verdict::Final,
            Kind::Bottleneck if !self.is_waiting && self.verdict != Verdict::Final && !self.is_leaving => {
                self.settle(orders);
            }
            _ => {}
        }
    }

    fn on_demand(&mut self, _: Time, demand: Rate, orders: &mut Orders) {
        self.demand = demand.0.min(UNLIMITED);
        self.ask_again(orders);
    }

    fn leave(&mut self, _: Time, orders: &mut Orders) {
        self.is_leaving = true;
        if !self.is_waiting {
            self.take_leave(orders);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::alone;

    fn packet(kind: Kind, cycle: u32, rate: f64) -> Packet {
        Packet { kind, cycle, rate, setter: SOURCE }
    }

    #[test]
    fn a_source_hears_news_before_its_response_and_leaves_after_it() {
        let (open, mut orders) = (Kind::Response(Verdict::Open), Orders::default());
        let mut one = source(&Parameters::default(), &alone());
        one.join(Time(0), &mut orders);
        let tell = |source: &mut dyn SourceControl, kind, cycle, orders: &mut Orders| {
            orders.clear();
            source.on_reply(Time(0), 0, &Header::BNeck(packet(kind, cycle, 5e6)), orders);
            orders.packets.iter().map(|order| order.header.clone()).collect::<Vec<_>>()
        };
        // An update that comes first makes it ask again; one of an old cycle does not.
        assert!(tell(one.as_mut(), Kind::Update, 1, &mut orders).is_empty());
        assert!(tell(one.as_mut(), Kind::Bottleneck, 1, &mut orders).is_empty());
        let again = tell(one.as_mut(), open, 1, &mut orders);
        assert!(matches!(again[..], [Header::BNeck(Packet { kind: Kind::Probe, cycle: 2, .. })]));
        assert!(orders.grants.is_empty());
        assert!(tell(one.as_mut(), Kind::Update, 1, &mut orders).is_empty());
        // So does a bottleneck make it final, once.
        assert!(tell(one.as_mut(), Kind::Bottleneck, 2, &mut orders).is_empty());
        let knows = tell(one.as_mut(), open, 2, &mut orders);
        assert!(matches!(knows[..], [Header::BNeck(Packet { kind: Kind::SetBottleneck { is_claimed: false }, .. })]));
        assert_eq!(orders.grants, [(0, Rate(5e6))]);
        assert!(tell(one.as_mut(), Kind::Bottleneck, 2, &mut orders).is_empty());
        // It leaves while it waits.
        tell(one.as_mut(), Kind::Update, 2, &mut orders);
        orders.clear();
        one.leave(Time(0), &mut orders);
        assert!(!orders.has_left && orders.packets.is_empty());
        let left = tell(one.as_mut(), open, 3, &mut orders);
        assert!(matches!(left[..], [Header::BNeck(Packet { kind: Kind::Leave, .. })]) && orders.has_left);
    }
}
