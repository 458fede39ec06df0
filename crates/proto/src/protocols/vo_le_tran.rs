//! Vo-Le-Tran (reconstruction): upward max-min fair rates by prices of links [vo2019].
//!
//! Links raise their price while their load is over the capacity and lower it while it is under. A packet goes round each
//! subflow and brings back the largest price q of its links. When all are back, the connection divides what that price
//! leaves it by its portions, and the packets of the next round tell the links:
//!
//! ```text
//! link:    price <- max(0, price + gain (load - capacity))     once in a period; Mbit/s and 1/(Mbit/s)
//! source:  x_f = p_f claim min(1 / q_f, most),   p_f = x_f / sum x
//! ```
//!
//! Where it settles, `x_f / p_f` is the same on all paths in use and greatest on the link with the largest price: upward
//! max-min fair.
//!
//! The equations of the original were not to be had. This form follows from what is said about it: the largest price of
//! a path counts, as in MaxNet; a concave utility of the total rate is bounded from below at the present portions; links
//! learn of new rates from notices, keep no list of subflows, and use a constant gain of 0.002. It shows the oscillations
//! and the hundreds of rounds that are reported. What holds for it need not hold for the original.

use anabranch_core::quantity::{RateText, SpanText};
use anabranch_core::{Rate, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};

use crate::control::{ConnectionView, LinkControl, LinkView, Orders, Position, SourceControl};
use crate::packet::Header;

/// bit/s in a Mbit/s.
const MEGA: f64 = 1e6;

/// No portion falls below this: from zero none returns.
const LEAST_PORTION: f64 = 1e-9;

/// Parameters of Vo-Le-Tran.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Parameters {
    /// What a Mbit/s over the capacity adds to the price in a period, in 1/(Mbit/s); over 0 and at most 1.
    #[serde(deserialize_with = "gain")]
    #[schemars(range(min = 0, max = 1))]
    pub gain: f64,
    /// The price of a link to begin with, in 1/(Mbit/s), 0 to 1e6.
    #[serde(deserialize_with = "price")]
    #[schemars(range(min = 0, max = 1e6))]
    pub price: f64,
    /// What a connection of claim 1 takes at most, where prices are low.
    pub most: RateText,
    /// How often links change their price; the longest round trip of the network in use if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub period: Option<SpanText>,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { gain: 0.002, price: 0.05, most: RateText(Rate(100e6)), period: None }
    }
}

fn gain<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let value = f64::deserialize(deserializer)?;
    let good = value > 0.0 && value <= 1.0;
    if good { Ok(value) } else { Err(de::Error::custom(format!("it is {value}; it must be over 0 and at most 1"))) }
}

fn price<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let value = f64::deserialize(deserializer)?;
    let good = (0.0..=1e6).contains(&value);
    if good { Ok(value) } else { Err(de::Error::custom(format!("it is {value}; it must be 0 to 1e6"))) }
}

/// The fields of a packet: it tells links of a new rate and asks for their prices.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Notice {
    /// What links count the subflow with, in bit/s; whole.
    pub old_rate: f64,
    /// What they are to count it with now.
    pub new_rate: f64,
    /// The largest price so far, in 1/(Mbit/s).
    pub price: f64,
}

/// A source control.
pub fn source(parameters: &Parameters, connection: &ConnectionView) -> Box<dyn SourceControl> {
    let portion = 1.0 / connection.subflows as f64;
    let subflow = Subflow { portion, rate: 0.0, price: 0.0 };
    Box::new(Source {
        subflows: vec![subflow; connection.subflows],
        returned: 0,
        is_leaving: false,
        claim: connection.claim,
        most: parameters.most.0.0 / MEGA,
    })
}

/// A link control.
pub fn link(parameters: &Parameters) -> Box<dyn LinkControl> {
    Box::new(Link { load: 0, price: parameters.price, gain: parameters.gain })
}

#[derive(Clone, Copy, Debug)]
struct Subflow {
    portion: f64,
    /// In bit/s; whole.
    rate: f64,
    price: f64,
}

struct Source {
    subflows: Vec<Subflow>,
    returned: usize,
    is_leaving: bool,
    claim: f64,
    /// In Mbit/s.
    most: f64,
}

impl Source {
    fn next_round(&mut self, orders: &mut Orders) {
        let (claim, most) = (self.claim, self.most);
        let mut total = 0.0;
        for (f, subflow) in self.subflows.iter_mut().enumerate() {
            let rate = (subflow.portion * claim * (1.0 / subflow.price).min(most) * MEGA).floor();
            let notice = Notice { old_rate: subflow.rate, new_rate: rate, price: 0.0 };
            subflow.rate = rate;
            total += rate;
            orders.grant(f, Rate(rate));
            orders.probe(f, Header::VoLeTran(notice));
        }
        if total > 0.0 {
            for subflow in &mut self.subflows {
                subflow.portion = (subflow.rate / total).max(LEAST_PORTION);
            }
        }
    }

    fn end(&mut self, orders: &mut Orders) {
        for (f, subflow) in self.subflows.iter().enumerate() {
            let notice = Notice { old_rate: subflow.rate, new_rate: 0.0, price: 0.0 };
            orders.tell(f, Header::VoLeTran(notice));
        }
        orders.has_left = true;
    }
}

impl SourceControl for Source {
    fn join(&mut self, _: Time, orders: &mut Orders) {
        for f in 0..self.subflows.len() {
            orders.probe(f, Header::VoLeTran(Notice { old_rate: 0.0, new_rate: 0.0, price: 0.0 }));
        }
    }

    fn on_reply(&mut self, _: Time, subflow: usize, header: &Header, orders: &mut Orders) {
        let Header::VoLeTran(notice) = header else { return };
        self.subflows[subflow].price = notice.price;
        self.returned += 1;
        if self.returned == self.subflows.len() {
            self.returned = 0;
            if self.is_leaving { self.end(orders) } else { self.next_round(orders) }
        }
    }

    fn leave(&mut self, _: Time, _: &mut Orders) {
        self.is_leaving = true;
    }
}

/// What a link keeps: the sum of the rates it was told, in bit/s, and its price.
struct Link {
    load: i64,
    price: f64,
    gain: f64,
}

impl LinkControl for Link {
    fn on_arrival(&mut self, _: &LinkView, _: Position, header: &mut Header) {
        let Header::VoLeTran(notice) = header else { return };
        self.load += notice.new_rate as i64 - notice.old_rate as i64;
        notice.price = notice.price.max(self.price);
    }

    fn on_return(&mut self, _: &LinkView, _: Position, _: &mut Header) {}

    fn on_period(&mut self, link: &LinkView) {
        let excess = (self.load as f64 - link.capacity.0) / MEGA;
        self.price = (self.price + self.gain * excess).max(0.0);
    }

    fn is_clear(&self) -> bool {
        self.load == 0
    }
}
