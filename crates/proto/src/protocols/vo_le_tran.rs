//! Vo-Le-Tran (reconstruction): upward max-min fair rates by prices of links [vo2019].
//!
//! Links raise their price while their load exceeds the capacity, and lower it while it does not. In alternating turns
//! a connection reports its new rates to its links, and asks for their prices; on each path the largest price q counts.
//! When all answers are there, the connection computes its total rate from that price and divides it by its portions.
//! The turns are needed because portions and prices both integrate: a price that does not yet reflect the rates of its
//! own round makes the loop oscillate for ever.
//!
//! ```text
//! link:    price <- max(0, price + gain / n (load - capacity))     whenever one of its n subflows asks
//! source:  x_f = p_f claim min(1 / q_f, most),   p_f = x_f / sum x               in `unit` and 1 / `unit`
//! ```
//!
//! Where prices and portions rest, `x_f / p_f` is the same on all paths in use, and each has a saturated link on which
//! no connection has more: upward max-min fair. The protocol need not come to rest. Portions follow prices and prices
//! follow loads; near the fair rates a portion may creep for thousands of rounds, and where `gain` times the square of
//! the capacity is large, rates oscillate. Suitable values depend on the unit: the reported gain, 0.002, is a number
//! for rates in Mbit/s, and links of 1 to 100 Mbit/s. A network that is a thousand times as fast behaves the same with
//! a `unit` a thousand times as large.
//!
//! The equations of the original were not available. This form follows from descriptions of it: the largest price of a
//! path counts, as in `MaxNet`; a concave utility of the total rate is bounded from below at the present portions;
//! links learn new rates from notices, keep no list of subflows, and use a constant gain of 0.002. It shows the
//! oscillations and the hundreds of rounds that are reported. Results for it need not hold for the original.
//!
//! Rates in bit/s travel and are summed in steps of 2^-60, so that sums return to exactly zero; portions never leave
//! their source.

use anabranch_core::quantity::RateText;
use anabranch_core::{Rate, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};

use crate::control::{ConnectionView, LinkControl, LinkControls, LinkOrders, LinkView, Orders, SourceControl, Visitor};
use crate::packet::Header;
use crate::protocols::capabilities::{Capabilities, Claims, Paths};
use crate::protocols::expect::Expect;
use crate::protocols::headroom::Headroom;
use crate::protocols::steps::{MOST_RATE, Sum, rate_in_steps};

/// What the protocol can serve.
pub const CAPABILITIES: Capabilities = Capabilities {
    claims: Claims::Weighted { reason: "divides a price by it" },
    paths: Paths::Together,
    expect: Expect { settles_s: 60.0, settles_held_back: false, ..Expect::USUAL },
    ..Capabilities::SINGLE_PATH
};

/// Least portion: a portion of zero could not grow again.
const LEAST_PORTION: f64 = 1e-9;

/// Parameters of Vo-Le-Tran.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "VoLeTranParameters")]
#[serde(deny_unknown_fields, default)]
pub struct Parameters {
    /// Unit of rate for the other parameters, 1 to 1e15 bit/s. For links that are a thousand times as fast, a thousand
    /// times as much.
    #[serde(deserialize_with = "unit")]
    pub unit: RateText,
    /// Increase of the price in a round for one `unit` over the capacity, in 1 / `unit`; over 0 and at most 1.
    #[serde(deserialize_with = "gain")]
    #[schemars(range(max = 1), extend("exclusiveMinimum" = 0))]
    pub gain: f64,
    /// Initial price of a link, in 1 / `unit`, 0 to 1e6.
    #[serde(deserialize_with = "price")]
    #[schemars(range(min = 0, max = 1e6))]
    pub price: f64,
    /// Largest rate of a connection of claim 1 where prices are low, in `unit`; 1e-6 to 1e15.
    #[serde(deserialize_with = "most")]
    #[schemars(range(min = 1e-6, max = 1e15))]
    pub most: f64,
    /// Part of each link's capacity that is not handed out, 0 to 0.5: room for control packets in band.
    #[serde(skip_serializing_if = "Headroom::is_none")]
    pub headroom: Headroom,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { unit: RateText(Rate(1e6)), gain: 0.002, price: 0.05, most: 100.0, headroom: Headroom::default() }
    }
}

fn gain<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let value = f64::deserialize(deserializer)?;
    let good = value > 0.0 && value <= 1.0;
    if good { Ok(value) } else { Err(de::Error::custom(format!("it is {value}; it must be over 0 and at most 1"))) }
}

fn unit<'de, D: Deserializer<'de>>(deserializer: D) -> Result<RateText, D::Error> {
    let value = RateText::deserialize(deserializer)?;
    let good = (1.0..=1e15).contains(&value.0.0);
    if good { Ok(value) } else { Err(de::Error::custom(format!("it is {}; it must be 1 to 1e15 bit/s", value.0))) }
}

fn most<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let value = f64::deserialize(deserializer)?;
    let good = (1e-6..=1e15).contains(&value);
    if good { Ok(value) } else { Err(de::Error::custom(format!("it is {value}; it must be 1e-6 to 1e15"))) }
}

fn price<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let value = f64::deserialize(deserializer)?;
    let good = (0.0..=1e6).contains(&value);
    if good { Ok(value) } else { Err(de::Error::custom(format!("it is {value}; it must be 0 to 1e6"))) }
}

/// The fields of a packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Notice {
    /// Purpose of the packet.
    pub kind: Kind,
    /// Turn in which the packet was sent, by which a second copy of a reply is recognised.
    pub turn: u32,
    /// Rate with which links count the subflow, in bit/s.
    pub old_rate: f64,
    /// Rate with which links are to count the subflow now, in bit/s.
    pub new_rate: f64,
    /// Largest price so far, in 1 / `unit`.
    pub price: f64,
}

/// Purpose of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The subflow begins and asks for prices.
    Join,
    /// The subflow reports a new rate.
    Tell,
    /// The subflow asks for prices.
    Ask,
    /// The subflow ends.
    Leave,
}

/// Creates the control of a source.
pub fn source(parameters: &Parameters, connection: &ConnectionView) -> Box<dyn SourceControl> {
    let portion = 1.0 / connection.subflows as f64;
    let subflow = Subflow { portion, rate: 0.0, told: 0.0, price: 0.0, turn: 0 };
    Box::new(Source {
        subflows: vec![subflow; connection.subflows],
        returned: 0,
        turn: 0,
        is_asking: true,
        is_leaving: false,
        claim: connection.claim,
        most: parameters.most,
        unit: parameters.unit.0.0,
    })
}

/// Creates the controls of `count` links.
pub fn links(parameters: &Parameters, count: usize) -> Box<dyn LinkControls> {
    let (unit, price, gain) = (parameters.unit.0.0, parameters.price, parameters.gain);
    Box::new(vec![Link { subflows: 0, load: Sum::default(), price, gain, unit }; count])
}

#[derive(Clone, Copy, Debug)]
struct Subflow {
    portion: f64,
    /// Rate of the subflow in bit/s.
    rate: f64,
    /// Rate with which links count the subflow.
    told: f64,
    price: f64,
    /// Turn of the reply that is due.
    turn: u32,
}

struct Source {
    subflows: Vec<Subflow>,
    returned: usize,
    turn: u32,
    is_asking: bool,
    is_leaving: bool,
    claim: f64,
    /// Largest rate in units.
    most: f64,
    /// The unit in bit/s.
    unit: f64,
}

impl Source {
    fn send(&self, kind: Kind, orders: &mut Orders) {
        for (f, subflow) in self.subflows.iter().enumerate() {
            let new_rate = if kind == Kind::Leave { 0.0 } else { subflow.rate };
            let notice = Notice { kind, turn: self.turn, old_rate: subflow.told, new_rate, price: 0.0 };
            if kind == Kind::Leave {
                orders.tell(f, Header::VoLeTran(notice));
            } else {
                orders.probe(f, Header::VoLeTran(notice));
            }
        }
    }

    /// Computes new rates and portions when all prices are known.
    fn decide(&mut self, orders: &mut Orders) {
        let (claim, most, unit) = (self.claim, self.most, self.unit);
        let (mut total, mut exact) = (0.0, Vec::with_capacity(self.subflows.len()));
        for (f, subflow) in self.subflows.iter_mut().enumerate() {
            let rate = (subflow.portion * claim * (1.0 / subflow.price).min(most) * unit).min(MOST_RATE);
            subflow.rate = rate_in_steps(rate);
            total += rate;
            exact.push(rate);
            orders.grant(f, Rate(subflow.rate));
        }
        if total > 0.0 {
            for (subflow, rate) in self.subflows.iter_mut().zip(exact) {
                subflow.portion = (rate / total).max(LEAST_PORTION);
            }
        }
    }

    fn next_turn(&mut self, orders: &mut Orders) {
        if self.is_leaving {
            self.send(Kind::Leave, orders);
            orders.has_left = true;
        } else if self.is_asking {
            self.decide(orders);
            self.send(Kind::Tell, orders);
        } else {
            self.send(Kind::Ask, orders);
        }
        self.is_asking = !self.is_asking;
    }
}

impl SourceControl for Source {
    fn join(&mut self, _: Time, orders: &mut Orders) {
        self.send(Kind::Join, orders);
    }

    fn on_reply(&mut self, _: Time, subflow: usize, header: &Header, orders: &mut Orders) {
        let Header::VoLeTran(notice) = header else { return };
        let subflow = &mut self.subflows[subflow];
        if notice.turn != self.turn || subflow.turn != self.turn {
            return;
        }
        subflow.price = notice.price;
        subflow.told = notice.new_rate;
        subflow.turn = self.turn.wrapping_add(1);
        self.returned += 1;
        if self.returned == self.subflows.len() {
            self.returned = 0;
            self.turn = self.turn.wrapping_add(1);
            self.next_turn(orders);
        }
    }

    fn leave(&mut self, _: Time, _: &mut Orders) {
        self.is_leaving = true;
    }
}

/// State of a link: number of subflows, sum of their reported rates in bit/s, and price.
#[derive(Clone, Copy, Debug)]
struct Link {
    subflows: i64,
    load: Sum,
    price: f64,
    gain: f64,
    /// The unit in bit/s.
    unit: f64,
}

impl LinkControl for Link {
    fn on_arrival(&mut self, link: &LinkView, _: Visitor, header: &mut Header, _: &mut LinkOrders) {
        let Header::VoLeTran(notice) = header else { return };
        self.load.add(notice.new_rate);
        self.load.subtract(notice.old_rate);
        match notice.kind {
            Kind::Join => self.subflows += 1,
            Kind::Leave => self.subflows -= 1,
            Kind::Tell => {}
            Kind::Ask => {
                let excess = (self.load.value() - link.capacity.0) / self.unit;
                let share = self.gain / self.subflows.max(1) as f64;
                self.price = (self.price + share * excess).max(0.0);
            }
        }
    }

    fn on_return(&mut self, _: &LinkView, _: Visitor, header: &mut Header, _: &mut LinkOrders) {
        let Header::VoLeTran(notice) = header else { return };
        notice.price = notice.price.max(self.price);
    }

    fn is_clear(&self) -> bool {
        self.subflows == 0 && self.load == Sum::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{alone, view, visitor};

    fn send(link: &mut Link, kind: Kind, old: f64, new: f64) -> f64 {
        let (view, orders) = (view(10e6), &mut LinkOrders::default());
        let mut header = Header::VoLeTran(Notice { kind, turn: 0, old_rate: old, new_rate: new, price: 0.0 });
        link.on_arrival(&view, visitor(0, 0), &mut header, orders);
        link.on_return(&view, visitor(0, 0), &mut header, orders);
        let Header::VoLeTran(notice) = header else { panic!("it is still of Vo-Le-Tran") };
        notice.price
    }

    #[test]
    fn prices_rise_with_what_is_over_the_capacity_and_leaving_leaves_nothing() {
        let mut link = Link { subflows: 0, load: Sum::default(), price: 0.05, gain: 0.002, unit: 1e6 };
        for _ in 0..2 {
            assert!((send(&mut link, Kind::Join, 0.0, 0.0) - 0.05).abs() < 1e-12);
        }
        send(&mut link, Kind::Tell, 0.0, 12e6);
        send(&mut link, Kind::Tell, 0.0, 3e6);
        // 5 Mbit/s over, by two subflows: each that asks adds 0.002 / 2 * 5 = 0.005.
        assert!((send(&mut link, Kind::Ask, 12e6, 12e6) - 0.055).abs() < 1e-12);
        assert!((send(&mut link, Kind::Ask, 3e6, 3e6) - 0.060).abs() < 1e-12);
        send(&mut link, Kind::Leave, 12e6, 0.0);
        send(&mut link, Kind::Leave, 3e6, 0.0);
        assert!(link.is_clear());
    }

    #[test]
    fn rates_stay_where_sums_hold_them_whatever_the_unit() {
        let parameters = Parameters { unit: RateText(Rate(1e15)), most: 1e15, price: 0.0, ..Parameters::default() };
        let connection = ConnectionView { subflows: 2, ..alone() };
        let (mut source, mut orders) = (source(&parameters, &connection), Orders::default());
        source.join(Time(0), &mut orders);
        // Joining is turn 0, asking turn 1; then rates are decided.
        for (turn, f) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            let free = Notice { kind: Kind::Ask, turn, old_rate: 0.0, new_rate: 0.0, price: 0.0 };
            source.on_reply(Time(0), f, &Header::VoLeTran(free), &mut orders);
        }
        let granted: Vec<f64> = orders.grants.iter().map(|&(_, rate)| rate.0).collect();
        assert_eq!(granted, [rate_in_steps(MOST_RATE); 2]);
    }
}
