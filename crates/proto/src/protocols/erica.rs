//! ERICA: a link shares its target among the sessions whose packets arrive in an interval [kalyanaraman2000].
//!
//! A source sends RM packets among its data, each with its rate r; they bring back the offers of links. A link works
//! in averaging intervals. At the end of each it compares the traffic that arrived with its target, and counts the
//! sessions n whose packets arrived:
//!
//! ```text
//! target     = utilisation capacity f              f = 1 without queue control
//! overload z = load / target
//! fair share = target / n
//! offer      = max(fair share, r / z)                            if z > 1 + delta
//!            = max(fair share, r / z, most offered in the interval before)   otherwise
//! offer      = fair share                                        if r was below that: one step at a time
//! ```
//!
//! A session gets one new offer in an interval. Overload from 1 to 1 + delta is not reduced, so rates settle up to
//! delta above fair; without that band they would not become fair at all.
//!
//! With queue control (ERICA+) the target depends on the queue: q bytes wait, and Q bytes should.
//!
//! ```text
//! f = b Q / ((b - 1) q + Q) if q <= Q,   max(1 / 2, a Q / ((a - 1) q + Q)) otherwise          a = 1.15, b = 1.05
//! ```
//!
//! A session is active in an interval in which any of its packets arrives, data or RM. One of `nrm` cells of a session is
//! an RM cell, as in ATM: a source sends an RM packet for every (nrm - 1) cells of data that it may send, and at least
//! one in `longest` (Trm). RM packets are part of the rate and wait with data in band; no share of control packets holds
//! them back.
//! A session whose packets are further apart than an interval counts in some intervals only. So links overload where
//! many sessions are slow, and a longer interval helps.
//!
//! differs:
//! - Packets stand for cells: a data packet for as many as its bytes fill, an RM packet for one. An RM packet has the
//!   size of control packets. A source sends at most 100,000 RM packets a second.
//! - A source sends the first data when its first RM packet has come back, at the rate that this brings (no ICR), and
//!   follows every newer offer at once (RIF 1). It keeps its rate if no RM packet comes back (no ADTF, no CRM).
//! - In an interval without data the load is the traffic that arrived or the sum of the rates of active sessions,
//!   whichever is more: a run without data has no other load.
//! - Links know a session from its first RM packet until it leaves, or until it has been silent for a second.
//! - RM packets have no priority over data at a queue.

use std::collections::BTreeMap;

use anabranch_core::quantity::{BytesText, SpanText};
use anabranch_core::{Bytes, Rate, Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};

use crate::control::{ConnectionView, LinkControl, LinkControls, LinkOrders, LinkView, Orders, SourceControl, Visitor};
use crate::packet::Header;
use crate::protocols::capabilities::Capabilities;
use crate::protocols::expect::Expect;

/// What the protocol can serve. A newer RM packet contains all that an older one does.
pub const CAPABILITIES: Capabilities = Capabilities {
    in_rate: true,
    sees_data: true,
    supersedes: true,
    // Overload of a link up to a tenth of its capacity is not reduced.
    expect: Expect { excess: 0.1, ..Expect::USUAL },
    ..Capabilities::SINGLE_PATH
};

/// A rate above any capacity, in bit/s.
const UNLIMITED: f64 = 1e15;

/// Least and greatest overload that count: a link may have no load, or no capacity.
const OVERLOADS: (f64, f64) = (1e-9, 1e9);

/// Queue control: steepness with which the target falls when the queue is too long (a).
const STEEPNESS: f64 = 1.15;

/// Queue control: target of an empty queue, relative to that without queue control (b).
const MOST_TARGET: f64 = 1.05;

/// Queue control: least target, relative to that without queue control.
const LEAST_TARGET: f64 = 0.5;

/// The least time between RM packets of a session.
const LEAST_PAUSE: Span = Span(10_000_000);

/// Time for which a session may be silent until links forget it, in seconds.
const SILENCE: f64 = 1.0;

/// A time that never comes.
const NEVER: Time = Time(u64::MAX);

/// Parameters of ERICA.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "EricaParameters")]
pub struct Parameters {
    /// Part of the capacity that is shared; over 0 and at most 1. The authors take 0.9 to 0.95; with 1, queues may
    /// grow, and rates come out a little too large as in [mozo2012, sec. V].
    #[serde(deserialize_with = "utilisation")]
    #[schemars(range(max = 1), extend("exclusiveMinimum" = 0))]
    pub utilisation: f64,
    /// Relative overload that is tolerated, 0 to 1; the authors take 0.1.
    #[serde(deserialize_with = "delta")]
    #[schemars(range(min = 0, max = 1))]
    pub delta: f64,
    /// Averaging interval of links, 1 us to 100 s.
    #[serde(deserialize_with = "span")]
    pub interval: SpanText,
    /// Of how many cells of a session one is an RM cell (Nrm), 2 to 256.
    #[serde(deserialize_with = "nrm")]
    #[schemars(range(min = 2, max = 256))]
    pub nrm: u32,
    /// Size of a cell, 1 to 65,535 bytes: an RM packet goes for every (nrm - 1) cells of data.
    #[serde(deserialize_with = "cell")]
    pub cell: BytesText,
    /// The longest time between RM packets of a session (Trm), 1 us to 100 s.
    #[serde(deserialize_with = "span")]
    pub longest: SpanText,
    /// Whether the target depends on the queue (ERICA+).
    pub queue_control: bool,
    /// Target of the queueing delay under queue control, 1 us to 100 s.
    #[serde(deserialize_with = "span")]
    pub queue_delay: SpanText,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            utilisation: 1.0,
            delta: 0.1,
            interval: milliseconds(20),
            nrm: 32,
            cell: BytesText(Bytes(53)),
            longest: milliseconds(100),
            queue_control: false,
            queue_delay: milliseconds(5),
        }
    }
}

fn milliseconds(ms: u64) -> SpanText {
    SpanText(Span::ms(ms))
}

fn utilisation<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let value = f64::deserialize(deserializer)?;
    let good = value > 0.0 && value <= 1.0;
    if good { Ok(value) } else { Err(de::Error::custom(format!("it is {value}; it must be over 0 and at most 1"))) }
}

fn delta<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let value = f64::deserialize(deserializer)?;
    let good = (0.0..=1.0).contains(&value);
    if good { Ok(value) } else { Err(de::Error::custom(format!("it is {value}; it must be 0 to 1"))) }
}

fn nrm<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    let value = u32::deserialize(deserializer)?;
    let good = (2..=256).contains(&value);
    if good { Ok(value) } else { Err(de::Error::custom(format!("it is {value}; it must be 2 to 256"))) }
}

fn cell<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BytesText, D::Error> {
    let value = BytesText::deserialize(deserializer)?;
    let good = (1..=65_535).contains(&value.0.0);
    if good { Ok(value) } else { Err(de::Error::custom(format!("it is {} B; it must be 1 B to 65535 B", value.0.0))) }
}

fn span<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SpanText, D::Error> {
    let value = SpanText::deserialize(deserializer)?;
    let good = (1e-6..=100.0).contains(&value.0.seconds());
    if good { Ok(value) } else { Err(de::Error::custom(format!("it is {}; it must be 1 us to 100 s", value.0))) }
}

/// The fields of an RM packet; rates in bit/s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rm {
    /// Number of the packet, by which late packets and second copies are recognised.
    pub number: u32,
    /// Rate at which the session may send now (CCR).
    pub rate: f64,
    /// Least offer of the links (ER).
    pub offer: f64,
    /// Whether the session ends.
    pub is_last: bool,
}

/// Creates the control of a source.
pub fn source(parameters: &Parameters, _: &ConnectionView) -> Box<dyn SourceControl> {
    Box::new(Source::new(parameters))
}

/// Creates the controls of `count` links.
pub fn links(parameters: &Parameters, count: usize) -> Box<dyn LinkControls> {
    Box::new(vec![Link::new(parameters); count])
}

struct Source {
    /// Bits of data for which an RM packet goes.
    gap: f64,
    longest: Span,
    /// Granted rate in bit/s.
    rate: f64,
    /// Bits that may have been sent since the last RM packet, up to a time.
    granted: f64,
    counted: Time,
    /// Time at which the last RM packet was sent.
    last: Time,
    /// Time of the timer that counts.
    due: Time,
    /// Number of RM packets sent, and number of the last reply.
    sent: u32,
    heard: u32,
}

impl Source {
    fn new(parameters: &Parameters) -> Self {
        Self {
            gap: f64::from(parameters.nrm - 1) * parameters.cell.0.0 as f64 * 8.0,
            longest: parameters.longest.0,
            rate: 0.0,
            granted: 0.0,
            counted: Time(0),
            last: Time(0),
            due: NEVER,
            sent: 0,
            heard: 0,
        }
    }

    /// Adds the bits that were granted until now.
    fn count(&mut self, now: Time) {
        self.granted += self.rate * Span(now.0.saturating_sub(self.counted.0)).seconds();
        self.counted = now;
    }

    /// Time at which the next RM packet is due.
    fn next(&self) -> Time {
        let data = Span::from_seconds((self.gap - self.granted).max(0.0) / self.rate);
        let after_data = data.map_or(NEVER.0, |span| self.counted.0.saturating_add(span.0));
        Time(after_data.max(self.last.0 + LEAST_PAUSE.0).min(self.last.0.saturating_add(self.longest.0)))
    }

    /// Sets the timer for the next RM packet, if it is not set for an earlier time.
    fn arm(&mut self, orders: &mut Orders) {
        let next = self.next();
        if next < self.due {
            self.due = next;
            orders.wake(next);
        }
    }

    fn send(&mut self, now: Time, orders: &mut Orders) {
        self.sent = self.sent.wrapping_add(1);
        (self.granted, self.last) = (0.0, now);
        let rm = Rm { number: self.sent, rate: self.rate, offer: UNLIMITED, is_last: false };
        orders.probe(0, Header::Erica(rm));
        self.arm(orders);
    }
}

impl SourceControl for Source {
    fn join(&mut self, now: Time, orders: &mut Orders) {
        self.count(now);
        self.send(now, orders);
    }

    fn on_reply(&mut self, now: Time, _: usize, header: &Header, orders: &mut Orders) {
        let Header::Erica(rm) = header else { return };
        let is_newer = rm.number.wrapping_sub(self.heard).wrapping_sub(1) < u32::MAX / 2;
        if is_newer {
            self.heard = rm.number;
            self.count(now);
            self.rate = rm.offer;
            orders.grant(0, Rate(rm.offer));
            self.arm(orders);
        }
    }

    fn on_timer(&mut self, now: Time, orders: &mut Orders) {
        // A timer that was overtaken by an earlier one may be left over.
        if now != self.due {
            return;
        }
        self.due = NEVER;
        // The rate may have fallen since. What rounding leaves is less than a picosecond.
        if now.0 + 1 >= self.next().0 {
            self.count(now);
            self.send(now, orders);
        } else {
            self.arm(orders);
        }
    }

    fn leave(&mut self, _: Time, orders: &mut Orders) {
        orders.tell(0, Header::Erica(Rm { number: self.sent, rate: 0.0, offer: 0.0, is_last: true }));
        orders.has_left = true;
    }
}

/// State of a session at a link.
#[derive(Clone, Copy, Debug, Default)]
struct Session {
    /// Rate at which the session may send (CCR), and its last offer; in bit/s.
    rate: f64,
    offer: f64,
    /// Interval of the last offer, and of the last packet.
    offered_in: u32,
    seen_in: u32,
}

const _: () = assert!(std::mem::size_of::<(Visitor, Session)>() == 32, "few bytes a session");

/// An averaging interval that has begun.
#[derive(Clone, Copy, Debug)]
struct Interval {
    since: Time,
    /// Bytes that had arrived before the interval.
    arrived: u64,
}

#[derive(Clone, Debug)]
struct Link {
    sessions: BTreeMap<Visitor, Session>,
    /// Number of sessions with a packet in this interval.
    active: u32,
    /// Whether a data packet has come in this interval.
    has_data: bool,
    /// The present interval; `None` without sessions.
    interval: Option<Interval>,
    /// Number of the interval, counted from 1.
    number: u32,
    /// Sum of the rates of the sessions with a packet in this interval, in bit/s.
    told: f64,
    /// Target, fair share (both in bit/s) and overload from the interval before.
    target: f64,
    fair_share: f64,
    overload: f64,
    /// Greatest offer in the interval before, and in this one.
    most_before: f64,
    most: f64,
    utilisation: f64,
    delta: f64,
    length: Span,
    /// Target of the queueing delay under queue control, in seconds.
    queue_delay: Option<f64>,
}

impl Link {
    fn new(parameters: &Parameters) -> Self {
        Self {
            sessions: BTreeMap::new(),
            active: 0,
            has_data: false,
            interval: None,
            number: 0,
            told: 0.0,
            target: 0.0,
            fair_share: 0.0,
            overload: 1.0,
            most_before: 0.0,
            most: 0.0,
            utilisation: parameters.utilisation,
            delta: parameters.delta,
            length: parameters.interval.0,
            queue_delay: parameters.queue_control.then(|| parameters.queue_delay.0.seconds()),
        }
    }

    /// Rate that is to be shared, in bit/s.
    fn target(&self, link: &LinkView) -> f64 {
        let part = self.queue_delay.map_or(1.0, |delay| {
            let wanted = delay * link.capacity.0 / 8.0;
            part_for_queue(link.queue.backlog().0 as f64, wanted)
        });
        self.utilisation * part * link.capacity.0
    }

    /// Begins the first interval, as if the first session were alone.
    fn start(&mut self, link: &LinkView, orders: &mut LinkOrders) {
        self.target = self.target(link);
        self.fair_share = self.target;
        self.overload = 1.0;
        (self.most_before, self.most) = (0.0, self.target);
        self.begin(link, orders);
    }

    fn begin(&mut self, link: &LinkView, orders: &mut LinkOrders) {
        self.number = self.number.wrapping_add(1).max(1);
        (self.active, self.has_data, self.told) = (0, false, 0.0);
        self.interval = Some(Interval { since: link.now, arrived: link.queue.arrived().0 });
        orders.wake(link.now + self.length);
    }

    /// Ends an interval, and sets the offers of the next.
    fn end(&mut self, link: &LinkView, interval: Interval) {
        let bits = link.queue.arrived().0.saturating_sub(interval.arrived) as f64 * 8.0;
        let measured = bits / Span(link.now.0.saturating_sub(interval.since.0).max(1)).seconds();
        let load = if self.has_data { measured } else { measured.max(self.told) };
        self.target = self.target(link);
        let (least, most) = OVERLOADS;
        self.overload = if self.target > 0.0 { (load / self.target).clamp(least, most) } else { most };
        self.fair_share = self.target / f64::from(self.active.max(1));
        (self.most_before, self.most) = (self.most, self.fair_share);
        self.forget_silent();
    }

    /// Forgets the sessions that have been silent for long; looks at all sessions once in that time.
    fn forget_silent(&mut self) {
        let silence = (SILENCE / self.length.seconds()).ceil().max(2.0) as u32;
        if self.number.is_multiple_of(silence) {
            let now = self.number;
            self.sessions.retain(|_, session| now.wrapping_sub(session.seen_in) < silence);
        }
    }

    /// A packet of a session arrives; gives the session.
    fn see(&mut self, visitor: Visitor) -> Option<&mut Session> {
        let session = self.sessions.get_mut(&visitor)?;
        if session.seen_in != self.number {
            session.seen_in = self.number;
            self.active += 1;
            self.told += session.rate;
        }
        Some(session)
    }

    /// An RM packet of a session says at what rate the session sends.
    fn hear(&mut self, visitor: Visitor, rate: f64) {
        self.sessions.entry(visitor).or_default();
        let Some(session) = self.see(visitor) else { return };
        let change = rate - std::mem::replace(&mut session.rate, rate);
        self.told += change;
    }

    fn forget(&mut self, visitor: Visitor) {
        if let Some(session) = self.sessions.remove(&visitor).filter(|session| session.seen_in == self.number) {
            self.active -= 1;
            self.told -= session.rate;
        }
    }

    /// Offer for a session; `None` for an unknown session.
    fn offer(&mut self, visitor: Visitor) -> Option<f64> {
        let session = self.sessions.get_mut(&visitor)?;
        if session.offered_in != self.number {
            let mut offer = self.fair_share.max(session.rate / self.overload);
            if self.overload <= 1.0 + self.delta {
                offer = offer.max(self.most_before);
            }
            self.most = self.most.max(offer);
            if session.rate < self.fair_share {
                offer = self.fair_share;
            }
            session.offer = offer;
            session.offered_in = self.number;
        }
        Some(session.offer.min(self.target))
    }
}

/// Part of the capacity to share with `waiting` bytes in the queue, where `wanted` bytes should wait.
fn part_for_queue(waiting: f64, wanted: f64) -> f64 {
    if waiting <= wanted {
        let bytes = (MOST_TARGET - 1.0) * waiting + wanted;
        return if bytes > 0.0 { MOST_TARGET * wanted / bytes } else { 1.0 };
    }
    (STEEPNESS * wanted / ((STEEPNESS - 1.0) * waiting + wanted)).max(LEAST_TARGET)
}

impl LinkControl for Link {
    fn on_arrival(&mut self, link: &LinkView, visitor: Visitor, header: &mut Header, orders: &mut LinkOrders) {
        let Header::Erica(rm) = header else { return };
        if rm.is_last {
            return self.forget(visitor);
        }
        if self.interval.is_none() {
            self.start(link, orders);
        }
        self.hear(visitor, rm.rate);
    }

    fn on_data(&mut self, visitor: Visitor) {
        self.has_data = true;
        self.see(visitor);
    }

    fn on_return(&mut self, link: &LinkView, visitor: Visitor, header: &mut Header, _: &mut LinkOrders) {
        let Header::Erica(rm) = header else { return };
        let offer = self.offer(visitor).unwrap_or(self.utilisation * link.capacity.0);
        rm.offer = rm.offer.min(offer);
    }

    fn on_timer(&mut self, link: &LinkView, orders: &mut LinkOrders) {
        let Some(interval) = self.interval.take() else { return };
        self.end(link, interval);
        if !self.sessions.is_empty() {
            self.begin(link, orders);
        }
    }

    fn is_clear(&self) -> bool {
        self.sessions.is_empty()
    }
}

#[cfg(test)]
#[path = "erica_tests.rs"]
mod tests;
