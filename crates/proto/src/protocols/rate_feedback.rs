//! The common part of RCP and its relatives: a link offers one rate to all, and corrects it by the load that results.
//!
//! At the end of each interval a link knows the load y that arrived. A law turns it into the link's rate R until the
//! end of the next interval. A source first sends a probe (SYN). Then every data packet has a header, which collects
//! the least R on the way; a link stamps its R on a packet that leaves the queue. The header returns with the
//! acknowledgement, and the source sends at that rate. A source that sent no header for `spacing` sends a probe (REF).
//! A link estimates the round trip by an average d of those that data packets report [dukkipati2005; the authors' ns-2
//! code]:
//!
//! ```text
//! s = mean of the round trips reported in the interval T, weighed by bytes; that before if there is none
//! d <- k s + (1 - k) d,   k = T / d  if s >= d,   R / C * s / d * T / d  if not
//! ```
//!
//! Links have timers from the beginning of a run on. The first interval has a normal distribution with mean T and
//! deviation T / 5, so that links do not decide in step. Of a packet whose transmission would last beyond the end of an
//! interval, only a part counts in the interval. The queue has no packet in transmission. A timer without work stops;
//! the link makes up for its intervals when a packet comes, as if the traffic of that time had come evenly.
//!
//! differs:
//! - The length of the first interval depends on the number of the link, and not on the seed of the run.
//! - A source sends a probe every 500 ms until it has a rate, without end. In the code both the limit of 10 probes and
//!   the time between them are settings. The time after which a source sends a probe between data packets is a setting,
//!   too; the default of 100 ms is ours.
//! - Lost data are not sent again.
//! - Acknowledgements and probes have the size of control packets. They count as load where they travel in band; apart
//!   from data they count nowhere and do not wait, and a link stamps a probe at its arrival. On hops that repair losses
//!   of control packets, a link stamps a probe before the first attempt to send it.
//! - Acknowledgements are whole in the interval of their arrival.
//! - The queue is counted in whole packets of the source whose packet came last.
//! - Links of infinite capacity offer no rate. A source that crosses no other link sends at 1e15 bit/s.

use anabranch_core::quantity::{RateText, SpanText};
use anabranch_core::random::{Purpose, stream};
use anabranch_core::{Bytes, Rate, Span, Time};
use rand::RngExt;
use serde::{Deserialize, Deserializer, de};

use crate::control::{ConnectionView, LinkControl, LinkOrders, LinkView, Orders, SourceControl, Visitor};
use crate::packet::Header;
use crate::protocols::capabilities::{Capabilities, Sources};
use crate::protocols::expect::Expect;

/// What protocols of rate feedback can serve. A newer probe contains all that an older one does.
///
/// Data packets have 40 bytes in tests, so that an interval has 150 of them; with 6 packets the load would be noise.
pub(super) const CAPABILITIES: Capabilities = Capabilities {
    sources: Sources::HeadedRates,
    stamps_departures: true,
    supersedes: true,
    expect: Expect { settles_s: 5.0, packet: 40, measures_load: true, ..Expect::USUAL },
    ..Capabilities::SINGLE_PATH
};

/// Time in seconds that a source waits for its first reply before it asks again.
const RETRY: f64 = 0.5;

/// Standard deviation of the first interval, as a part of its mean.
const SPREAD: f64 = 0.2;

/// A rate above any capacity, in bit/s.
const MOST_RATE: f64 = 1e15;

/// Intervals without a packet after which a link sleeps, even if its queue is not empty.
const MOST_QUIET: u32 = 1000;

/// Intervals of a sleep that a link makes up for one by one.
const MOST_MISSED: u32 = 10_000;

/// The shortest interval, in seconds.
const LEAST_INTERVAL: f64 = 1e-6;

/// The header of a data packet, or the fields of a probe.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Probe {
    /// Least rate offered so far, in bit/s; infinite before the first link.
    pub rate: f64,
    /// Round trip that the source has measured; 0 before the first.
    pub round_trip: Span,
    /// Bytes of the data packet that has the header; 0 for a probe.
    pub bytes: Bytes,
    /// Size of a full data packet.
    pub packet: Bytes,
    /// Time at which the packet was sent.
    pub sent: Time,
}

/// Measurements of a link in an interval.
pub(super) struct Seen {
    /// Capacity to be shared, in bit/s; over 0.
    pub capacity: f64,
    /// Traffic that arrived, in bit/s.
    pub load: f64,
    /// Queue at the end in bits, without the packet in transmission.
    pub queue: f64,
    /// Length of the interval in seconds.
    pub interval: f64,
    /// Average round trip in seconds.
    pub round_trip: f64,
}

impl Seen {
    /// Unused capacity, as a share of the capacity; negative if more traffic arrived.
    pub fn room(&self) -> f64 {
        (self.capacity - self.load) / self.capacity
    }
}

/// The rule by which a link updates its rate.
pub(super) trait Law: Clone + Send {
    /// Length of the next interval in seconds.
    fn interval(&self, round_trip: f64) -> f64;

    /// Least rate that a link offers, in bit/s.
    fn least(&self, round_trip: f64) -> f64;

    /// Rate of the next interval after `rate`, both in bit/s.
    fn next(&mut self, rate: f64, seen: &Seen) -> f64;
}

/// Initial values of links.
#[derive(Clone, Copy, Debug)]
pub(super) struct Beginning {
    /// Share of the capacity that is to be used.
    pub utilisation: f64,
    /// First rate, as a share of the capacity.
    pub rate: f64,
    /// Average round trip in seconds.
    pub round_trip: f64,
}

/// State of a link.
#[derive(Clone)]
pub(super) struct Link<L> {
    law: L,
    beginning: Beginning,
    /// Number of the link.
    number: u32,
    /// Rate that the link offers to all, in bit/s; `None` until it has a capacity.
    rate: Option<f64>,
    /// Average round trip, and mean of the last interval with reports, in seconds.
    round_trip: f64,
    last_mean: Option<f64>,
    packet: u64,
    is_awake: bool,
    quiet: u32,
    /// Times at which the present interval began and at which it ends; `None` before the first packet.
    interval: Option<(Time, Time)>,
    /// Bytes that had arrived when the interval began.
    arrived: u64,
    /// Bytes of this interval that arrived in the one before, and bytes that arrived in this one for the next.
    spilled: f64,
    spills: f64,
    // Sums since the interval began.
    headers: u32,
    told_bytes: f64,
    told_round_trips: f64,
}

impl<L: Law> Link<L> {
    /// Creates `count` links that have seen no packet.
    pub fn all(law: &L, beginning: Beginning, count: usize) -> Vec<Self> {
        (0..count as u32).map(|number| Self::new(law.clone(), beginning, number)).collect()
    }

    fn new(law: L, beginning: Beginning, number: u32) -> Self {
        Self {
            law,
            beginning,
            number,
            rate: None,
            round_trip: beginning.round_trip,
            last_mean: None,
            packet: 0,
            is_awake: false,
            quiet: 0,
            interval: None,
            arrived: 0,
            spilled: 0.0,
            spills: 0.0,
            headers: 0,
            told_bytes: 0.0,
            told_round_trips: 0.0,
        }
    }

    /// Length of an interval in seconds.
    fn length(&self) -> f64 {
        self.law.interval(self.round_trip).max(LEAST_INTERVAL)
    }

    /// Capacity to be shared, in bit/s.
    fn shared(&self, link: &LinkView) -> f64 {
        self.beginning.utilisation * link.capacity.0
    }

    /// Begins an interval at the end of the last one, with nothing measured yet.
    fn begin_interval(&mut self, link: &LinkView, began: Time) {
        self.interval = Some((began, after(began, self.length())));
        self.arrived = link.queue.arrived().0;
        (self.spilled, self.spills) = (self.spills, 0.0);
        (self.headers, self.told_bytes, self.told_round_trips) = (0, 0.0, 0.0);
    }

    /// Makes up for the intervals since the link fell asleep, or since the beginning of the run.
    fn wake_up(&mut self, link: &LinkView, orders: &mut LinkOrders) {
        self.is_awake = true;
        let (began, mut end) = self.interval.unwrap_or_else(|| {
            let first = self.length() * (1.0 + SPREAD * normal(self.number)).max(0.0);
            (Time(0), after(Time(0), first.max(LEAST_INTERVAL)))
        });
        let bytes = link.queue.arrived().0.saturating_sub(self.arrived);
        let load = bytes as f64 * 8.0 / seconds_between(began, link.now).max(LEAST_INTERVAL);
        let mut begin = began;
        for _ in 0..MOST_MISSED {
            if end > link.now {
                break;
            }
            self.update(self.shared(link), load, 0.0, seconds_between(begin, end));
            (begin, end) = (end, after(end, self.length()));
        }
        if end <= link.now {
            // The timer went on through intervals that changed little.
            let length = Span::from_seconds(self.length()).map_or(1, |span| span.0.max(1));
            let missed = (link.now.0 - end.0) / length + 1;
            (begin, end) = (Time(end.0 + (missed - 1) * length), Time(end.0 + missed * length));
        }
        self.begin_interval(link, begin);
        self.interval = Some((begin, end));
        orders.wake(end);
    }

    /// Adds the reported round trips to the average; `share` is the rate as a share of the capacity.
    fn average(&mut self, interval: f64, share: f64) {
        if self.told_bytes > 0.0 {
            self.last_mean = Some(self.told_round_trips / self.told_bytes);
        }
        let Some(mean) = self.last_mean else { return };
        let step = interval / self.round_trip;
        let weight = if mean >= self.round_trip { step } else { share * (mean / self.round_trip) * step };
        self.round_trip += weight.min(1.0) * (mean - self.round_trip);
    }

    /// Sets the rate for the next interval; the load is in bit/s, the queue in bits.
    fn update(&mut self, capacity: f64, load: f64, queue: f64, interval: f64) {
        let Some(rate) = self.rate.filter(|_| capacity > 0.0) else { return };
        self.average(interval, rate / capacity);
        let seen = Seen { capacity, load, queue, interval, round_trip: self.round_trip };
        let next = self.law.next(rate, &seen).max(self.law.least(self.round_trip)).min(capacity);
        self.rate = Some(next);
    }

    /// Ends an interval: sets the rate for the next; true if the link may sleep.
    fn decide(&mut self, link: &LinkView, began: Time) -> bool {
        let bytes = link.queue.arrived().0.saturating_sub(self.arrived);
        let is_quiet = bytes == 0 && self.headers == 0;
        self.quiet = if is_quiet { self.quiet + 1 } else { 0 };
        let interval = seconds_between(began, link.now).max(LEAST_INTERVAL);
        let backlog = link.queue.backlog().0;
        let waiting = backlog.saturating_sub(1) / self.packet.max(1) * self.packet;
        let load = (bytes as f64 + self.spilled - self.spills) * 8.0 / interval;
        self.update(self.shared(link), load.max(0.0), waiting as f64 * 8.0, interval);
        is_quiet && (backlog == 0 || link.capacity.0 <= 0.0 || self.quiet >= MOST_QUIET)
    }

    /// Counts a data packet that arrives now: a part of it is of the next interval if its transmission takes longer.
    fn count(&mut self, link: &LinkView, bytes: Bytes) {
        let (Some((_, end)), size) = (self.interval, bytes.0 as f64) else { return };
        let time = size * 8.0 / link.capacity.0;
        let beyond = time - seconds_between(link.now, end);
        if beyond > 0.0 {
            self.spills += if time.is_finite() { size * (beyond / time).min(1.0) } else { size };
        }
    }
}

impl<L: Law> LinkControl for Link<L> {
    fn on_arrival(&mut self, link: &LinkView, _: Visitor, header: &mut Header, orders: &mut LinkOrders) {
        let Header::Rcp(probe) = header else { return };
        if self.rate.is_none() && self.shared(link) > 0.0 {
            self.rate = Some(self.beginning.rate * link.capacity.0);
        }
        if !self.is_awake {
            self.wake_up(link, orders);
        }
        self.headers = self.headers.saturating_add(1);
        self.packet = probe.packet.0;
        if probe.bytes > Bytes(0) {
            self.count(link, probe.bytes);
            self.told_bytes += probe.bytes.0 as f64;
            self.told_round_trips += probe.bytes.0 as f64 * probe.round_trip.seconds();
        }
    }

    fn on_departure(&mut self, link: &LinkView, _: Visitor, header: &mut Header) {
        let Header::Rcp(probe) = header else { return };
        probe.rate = probe.rate.min(self.rate.unwrap_or(0.0)).min(self.shared(link));
    }

    fn on_return(&mut self, _: &LinkView, _: Visitor, _: &mut Header, _: &mut LinkOrders) {}

    fn on_timer(&mut self, link: &LinkView, orders: &mut LinkOrders) {
        let Some((began, end)) = self.interval.filter(|_| self.is_awake) else { return };
        if self.decide(link, began) {
            (self.is_awake, self.quiet) = (false, 0);
        }
        self.begin_interval(link, end);
        if let (true, Some((_, end))) = (self.is_awake, self.interval) {
            orders.wake(end);
        }
    }

    /// Links keep no state of connections.
    fn is_clear(&self) -> bool {
        true
    }
}

/// A source, which sends at the rate that its headers bring back.
pub(super) struct Source {
    spacing: f64,
    packet: Bytes,
    round_trip: Span,
    /// Time at which the latest packet that came back was sent.
    latest: Option<Time>,
    /// Time at which the last header was sent.
    last: Time,
    /// Time of the timer that counts.
    due: Time,
}

impl Source {
    pub fn new(spacing: SpanText, connection: &ConnectionView) -> Self {
        Self {
            spacing: spacing.0.seconds(),
            packet: connection.packet,
            round_trip: Span(0),
            latest: None,
            last: Time(0),
            due: Time(0),
        }
    }

    fn header(&mut self, now: Time, bytes: Bytes) -> Header {
        self.last = now;
        let (round_trip, packet) = (self.round_trip, self.packet);
        Header::Rcp(Probe { rate: f64::INFINITY, round_trip, bytes, packet, sent: now })
    }

    fn probe(&mut self, now: Time, orders: &mut Orders) {
        let header = self.header(now, Bytes(0));
        orders.probe(0, header);
        self.wait(orders);
    }

    /// Sets the timer for the next probe.
    fn wait(&mut self, orders: &mut Orders) {
        let pause = if self.latest.is_none() { RETRY } else { self.spacing };
        self.due = after(self.last, pause);
        orders.wake(self.due);
    }
}

impl SourceControl for Source {
    fn join(&mut self, now: Time, orders: &mut Orders) {
        self.probe(now, orders);
    }

    fn on_reply(&mut self, now: Time, _: usize, header: &Header, orders: &mut Orders) {
        let Header::Rcp(reply) = header else { return };
        // Ignores a second copy, or an older reply that was overtaken.
        if self.latest.is_some_and(|latest| reply.sent <= latest) {
            return;
        }
        let is_first = self.latest.is_none();
        self.latest = Some(reply.sent);
        if is_first || reply.bytes > Bytes(0) {
            self.round_trip = Span(now.0.saturating_sub(reply.sent.0).max(1));
        }
        orders.grant(0, Rate(reply.rate.clamp(0.0, MOST_RATE)));
        if is_first {
            self.last = now;
            self.wait(orders);
        }
    }

    fn data_header(&mut self, now: Time, _: usize, size: Bytes) -> Option<Header> {
        Some(self.header(now, size))
    }

    fn on_timer(&mut self, now: Time, orders: &mut Orders) {
        // A timer from before the first reply may be left over.
        if now != self.due {
            return;
        }
        if self.latest.is_none() || now >= after(self.last, self.spacing) {
            self.probe(now, orders);
        } else {
            self.wait(orders);
        }
    }

    fn leave(&mut self, _: Time, orders: &mut Orders) {
        orders.has_left = true;
    }
}

/// A number that belongs to a link, from a normal distribution with mean 0 and deviation 1.
fn normal(link: u32) -> f64 {
    let mut random = stream(0, Purpose::LinkTimers, link);
    // The sum of twelve numbers from 0 to 1 has a mean of 6 and a deviation of 1.
    (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0
}

fn seconds_between(from: Time, to: Time) -> f64 {
    to.0.saturating_sub(from.0) as f64 / 1e12
}

fn after(now: Time, seconds: f64) -> Time {
    Time(now.0.saturating_add(((seconds * 1e12) as u64).max(1)))
}

/// Reads a share that is over 0 and at most 1.
pub(super) fn share<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let value = f64::deserialize(deserializer)?;
    let is_good = value > 0.0 && value <= 1.0;
    if is_good { Ok(value) } else { Err(de::Error::custom(format!("it is {value}; it must be over 0 and at most 1"))) }
}

/// Reads a gain that is over 0 and at most 10.
pub(super) fn gain<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let value = f64::deserialize(deserializer)?;
    let is_good = value > 0.0 && value <= 10.0;
    if is_good { Ok(value) } else { Err(de::Error::custom(format!("it is {value}; it must be over 0 and at most 10"))) }
}

/// Reads a gain that may be 0, at most 10.
pub(super) fn gain_or_none<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let value = f64::deserialize(deserializer)?;
    let is_good = (0.0..=10.0).contains(&value);
    if is_good { Ok(value) } else { Err(de::Error::custom(format!("it is {value}; it must be 0 to 10"))) }
}

/// Reads a time from 1 us to 100 s.
pub(super) fn span<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SpanText, D::Error> {
    let value = SpanText::deserialize(deserializer)?;
    let is_good = (1_000_000..=100_000_000_000_000).contains(&value.0.0);
    if is_good { Ok(value) } else { Err(de::Error::custom(format!("it is {}; it must be 1 us to 100 s", value.0))) }
}

/// Reads a rate from 1 to 1e15 bit/s.
pub(super) fn least<'de, D: Deserializer<'de>>(deserializer: D) -> Result<RateText, D::Error> {
    let value = RateText::deserialize(deserializer)?;
    let is_good = (1.0..=MOST_RATE).contains(&value.0.0);
    if is_good { Ok(value) } else { Err(de::Error::custom(format!("it is {}; it must be 1 to 1e15 bit/s", value.0))) }
}

#[cfg(test)]
#[path = "rate_feedback_tests.rs"]
mod tests;
