//! The common part of RCP and its relatives: a link offers one rate to all, and corrects it by the load that results.
//!
//! At the end of each interval a link knows the load y that arrived. A law turns it into the link's rate R until the
//! end of the next interval. Sources probe their path: a probe collects the least R on the way down, and when it is
//! back, its source sends at that rate. A link estimates the round trip by an average d of those that sources report
//! [dukkipati2005; the authors' ns-2 code]:
//!
//! ```text
//! s = mean of the round trips reported in the interval T, weighed by bytes; that before if there is none
//! d <- k s + (1 - k) d,   k = T / d  if s >= d,   R / C * s / d * T / d  if not
//! ```
//!
//! differs: the original has a header on every data packet. Here the fields are in separate probes, which a source
//! sends every `spacing`, or every round trip if that is less; but not more often than data packets, of which at least
//! one is sent every 100 ms. A probe carries the bytes that its source was granted to send since the probe before, so
//! that the mean is the same. The first probe stands for the SYN, and is sent again every 500 ms until a reply arrives.
//!
//! differs: a link stamps its rate on a probe that arrives at the queue. The ns-2 code stamps it on a packet that
//! leaves the queue, so there a source learns a rate that is newer by the wait of the packets.
//!
//! differs: a data packet counts at its arrival, also if the interval ends while it is sent. Where control packets
//! travel apart from data, round trips contain no wait in queues. A link begins its first interval with the first
//! probe; in the ns-2 code timers run from the beginning, and the first interval has a normal distribution with mean T
//! and deviation T / 5.

use anabranch_core::quantity::{RateText, SpanText};
use anabranch_core::{Bytes, Rate, Span, Time};
use serde::{Deserialize, Deserializer, de};

use crate::control::{ConnectionView, LinkControl, LinkOrders, LinkView, Orders, SourceControl, Visitor};
use crate::packet::Header;
use crate::protocols::capabilities::Capabilities;
use crate::protocols::expect::Expect;

/// What protocols of rate feedback can serve. A newer probe contains all that an older one does.
///
/// Data packets have 40 bytes in tests, so that an interval has 150 of them; with 6 packets the load would be noise.
pub(super) const CAPABILITIES: Capabilities = Capabilities {
    supersedes: true,
    expect: Expect { settles_s: 5.0, packet: 40, measures_load: true, ..Expect::USUAL },
    ..Capabilities::SINGLE_PATH
};

/// Time in seconds that a source waits for its first reply before it asks again.
const RETRY: f64 = 0.5;

/// The longest time between probes of a source, in seconds.
const SLOWEST: f64 = 0.1;

/// A rate above any capacity, in bit/s.
const MOST_RATE: f64 = 1e15;

/// Intervals without a packet after which a link sleeps.
const MOST_QUIET: u32 = 1000;

/// The shortest interval, in seconds.
const LEAST_INTERVAL: f64 = 1e-6;

/// The fields of a probe.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Probe {
    /// Least rate offered so far, in bit/s; infinite before the first link.
    pub rate: f64,
    /// Round trip that the source has measured; 0 before the first.
    pub round_trip: Span,
    /// Bytes that the source was granted to send since the probe before; at least a data packet.
    pub bytes: Bytes,
    /// Size of a full data packet.
    pub packet: Bytes,
    /// Time at which the probe was sent.
    pub sent: Time,
}

/// Measurements of a link in an interval.
pub(super) struct Seen {
    /// Capacity to be shared, in bit/s; over 0.
    pub capacity: f64,
    /// Traffic that arrived, in bit/s.
    pub load: f64,
    /// Queue at the end in bits, without the packet in transmission, which the ns-2 code does not count.
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
    /// Rate that the link offers to all, in bit/s; `None` until it has a capacity.
    rate: Option<f64>,
    /// Average round trip, and mean of the last interval with reports, in seconds.
    round_trip: f64,
    last_mean: Option<f64>,
    packet: u64,
    is_awake: bool,
    quiet: u32,
    // Sums since the interval began.
    began: Time,
    arrived: u64,
    probes: u32,
    told_bytes: f64,
    told_round_trips: f64,
}

impl<L: Law> Link<L> {
    pub fn new(law: L, beginning: Beginning) -> Self {
        Self {
            law,
            beginning,
            rate: None,
            round_trip: beginning.round_trip,
            last_mean: None,
            packet: 0,
            is_awake: false,
            quiet: 0,
            began: Time(0),
            arrived: 0,
            probes: 0,
            told_bytes: 0.0,
            told_round_trips: 0.0,
        }
    }

    fn begin_interval(&mut self, link: &LinkView, orders: &mut LinkOrders) {
        (self.began, self.arrived) = (link.now, link.queue.arrived().0);
        (self.probes, self.told_bytes, self.told_round_trips) = (0, 0.0, 0.0);
        orders.wake(after(link.now, self.law.interval(self.round_trip).max(LEAST_INTERVAL)));
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

    /// Ends an interval: sets the rate for the next; true if the link may sleep.
    fn decide(&mut self, link: &LinkView) -> bool {
        let bytes = link.queue.arrived().0.saturating_sub(self.arrived);
        let is_quiet = bytes == 0 && self.probes == 0;
        self.quiet = if is_quiet { self.quiet + 1 } else { 0 };
        let interval = (link.now.0.saturating_sub(self.began.0) as f64 / 1e12).max(LEAST_INTERVAL);
        let capacity = self.beginning.utilisation * link.capacity.0;
        let Some(rate) = self.rate.filter(|_| capacity > 0.0) else { return is_quiet };
        self.average(interval, rate / capacity);
        let backlog = link.queue.backlog().0;
        let seen = Seen {
            capacity,
            load: bytes as f64 * 8.0 / interval,
            queue: backlog.saturating_sub(self.packet) as f64 * 8.0,
            interval,
            round_trip: self.round_trip,
        };
        let next = self.law.next(rate, &seen).max(self.law.least(self.round_trip)).min(capacity);
        self.rate = Some(next);
        is_quiet && (next >= capacity && backlog == 0 || self.quiet >= MOST_QUIET)
    }
}

impl<L: Law> LinkControl for Link<L> {
    fn on_arrival(&mut self, link: &LinkView, _: Visitor, header: &mut Header, orders: &mut LinkOrders) {
        let Header::Rcp(probe) = header else { return };
        if !self.is_awake {
            self.is_awake = true;
            self.begin_interval(link, orders);
        }
        let capacity = self.beginning.utilisation * link.capacity.0;
        if self.rate.is_none() && capacity > 0.0 {
            self.rate = Some(self.beginning.rate * link.capacity.0);
        }
        self.probes = self.probes.saturating_add(1);
        self.packet = probe.packet.0;
        if probe.round_trip > Span(0) {
            self.told_bytes += probe.bytes.0 as f64;
            self.told_round_trips += probe.bytes.0 as f64 * probe.round_trip.seconds();
        }
        probe.rate = probe.rate.min(self.rate.unwrap_or(0.0)).min(capacity);
    }

    fn on_return(&mut self, _: &LinkView, _: Visitor, _: &mut Header, _: &mut LinkOrders) {}

    fn on_timer(&mut self, link: &LinkView, orders: &mut LinkOrders) {
        if !self.is_awake {
            return;
        }
        if self.decide(link) {
            (self.is_awake, self.quiet) = (false, 0);
        } else {
            self.begin_interval(link, orders);
        }
    }

    /// Links keep no state of connections.
    fn is_clear(&self) -> bool {
        true
    }
}

/// A source, which sends at the rate that its probes bring back.
pub(super) struct Source {
    spacing: f64,
    packet: Bytes,
    /// Granted rate in bit/s.
    rate: f64,
    round_trip: Span,
    /// Bits granted since the last probe, up to a time.
    granted: f64,
    counted: Time,
    /// Time at which the latest probe that came back was sent.
    latest: Option<Time>,
    /// Time at which the next probe is due.
    due: Time,
}

impl Source {
    pub fn new(spacing: SpanText, connection: &ConnectionView) -> Self {
        Self {
            spacing: spacing.0.seconds(),
            packet: connection.packet,
            rate: 0.0,
            round_trip: Span(0),
            granted: 0.0,
            counted: Time(0),
            latest: None,
            due: Time(0),
        }
    }

    /// Time in seconds from one probe to the next.
    fn pause(&self) -> f64 {
        if self.latest.is_none() {
            return RETRY;
        }
        let packet = self.packet.0 as f64 * 8.0 / self.rate.max(1.0);
        self.spacing.min(self.round_trip.seconds()).max(packet.min(SLOWEST)).max(LEAST_INTERVAL)
    }

    fn probe(&mut self, now: Time, orders: &mut Orders) {
        let bytes = Bytes(((self.granted / 8.0) as u64).max(self.packet.0));
        let (round_trip, packet) = (self.round_trip, self.packet);
        orders.probe(0, Header::Rcp(Probe { rate: f64::INFINITY, round_trip, bytes, packet, sent: now }));
        self.granted = 0.0;
        self.due = after(now, self.pause());
        orders.wake(self.due);
    }

    /// Adds the bits that were granted until now.
    fn count(&mut self, now: Time) {
        self.granted += self.rate * (now.0.saturating_sub(self.counted.0) as f64 / 1e12);
        self.counted = now;
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
        self.count(now);
        let is_first = self.latest.is_none();
        self.latest = Some(reply.sent);
        self.round_trip = Span(now.0.saturating_sub(reply.sent.0).max(1));
        self.rate = reply.rate.clamp(0.0, MOST_RATE);
        orders.grant(0, Rate(self.rate));
        if is_first {
            self.probe(now, orders);
        }
    }

    fn on_timer(&mut self, now: Time, orders: &mut Orders) {
        // A timer from before the first reply may be left over.
        if now == self.due {
            self.count(now);
            self.probe(now, orders);
        }
    }

    fn leave(&mut self, _: Time, orders: &mut Orders) {
        orders.has_left = true;
    }
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
mod tests {
    use super::*;
    use crate::testing::{Fixed, alone, visitor};
    use anabranch_core::units::MILLISECOND;

    /// Offers what is left, every 10 ms.
    #[derive(Clone)]
    struct Rest;

    impl Law for Rest {
        fn interval(&self, _: f64) -> f64 {
            0.01
        }

        fn least(&self, _: f64) -> f64 {
            1e3
        }

        fn next(&mut self, _: f64, seen: &Seen) -> f64 {
            seen.capacity - seen.load - seen.queue / seen.interval
        }
    }

    fn rest(round_trip: f64) -> Link<Rest> {
        Link::new(Rest, Beginning { utilisation: 0.9, rate: 0.05, round_trip })
    }

    /// A link of 10 Mbit/s at a time in ms.
    fn at(ms: u64, queue: &Fixed) -> LinkView<'_> {
        LinkView { now: Time(ms * MILLISECOND), capacity: Rate(10e6), queue }
    }

    fn offer(link: &mut Link<Rest>, view: &LinkView, round_trip_ms: u64, orders: &mut LinkOrders) -> f64 {
        let round_trip = Span(round_trip_ms * MILLISECOND);
        let probe = Probe { rate: 8.9e6, round_trip, bytes: Bytes(4000), packet: Bytes(1000), sent: Time(0) };
        let mut header = Header::Rcp(probe);
        link.on_arrival(view, visitor(0, 0), &mut header, orders);
        let Header::Rcp(probe) = header else { panic!("it is still a probe") };
        probe.rate
    }

    #[test]
    fn a_link_measures_what_comes_and_sleeps_when_nothing_does() {
        let (mut link, orders) = (rest(0.2), &mut LinkOrders::default());
        let begins = 0.05 * 10e6;
        assert!((offer(&mut link, &at(0, &Fixed { arrived: 7000, backlog: 0 }), 0, orders) - begins).abs() < 1e-6);
        assert_eq!(orders.wake.take(), Some(Time(10 * MILLISECOND)));
        // 5,000 bytes in 10 ms are 4 Mbit/s. Of 9 to be used 5 are left, less 1,000 bytes that wait, 0.8 Mbit/s.
        let queue = Fixed { arrived: 12_000, backlog: 2000 };
        link.on_timer(&at(10, &queue), orders);
        assert_eq!(orders.wake.take(), Some(Time(20 * MILLISECOND)));
        assert!((offer(&mut link, &at(12, &queue), 0, orders) - 4.2e6).abs() < 1e-6);
        assert_eq!(orders.wake, None);
        // Nothing more: all is left, and once that is offered there is nothing to wake for until somebody comes.
        let quiet = Fixed { arrived: 12_000, backlog: 0 };
        link.on_timer(&at(20, &quiet), orders);
        assert_eq!(orders.wake.take(), Some(Time(30 * MILLISECOND)));
        link.on_timer(&at(30, &quiet), orders);
        assert_eq!(orders.wake, None);
        // A packet that offers less already keeps that; the rate is 9 Mbit/s.
        assert!((offer(&mut link, &at(500, &quiet), 0, orders) - 8.9e6).abs() < 1e-6);
        assert_eq!(orders.wake.take(), Some(Time(510 * MILLISECOND)));
    }

    #[test]
    fn the_average_round_trip_rises_quickly_and_falls_slowly() {
        let (mut link, orders, queue) = (rest(0.1), &mut LinkOrders::default(), Fixed { arrived: 0, backlog: 0 });
        for round_trip in [300, 100] {
            offer(&mut link, &at(0, &queue), round_trip, orders);
        }
        link.on_timer(&at(10, &queue), orders);
        // As many bytes with 300 as with 100 ms: 200 on average. A tenth of the way there in a tenth of 100 ms.
        assert!((link.round_trip - 0.11).abs() < 1e-12);
        // Now 55 ms: half of 110, in 1/11 of it, offering all that is to be used.
        offer(&mut link, &at(10, &queue), 55, orders);
        link.on_timer(&at(20, &queue), orders);
        assert!((link.round_trip - (0.11 - 0.055 * 0.5 / 11.0)).abs() < 1e-12);
    }

    #[test]
    fn a_link_that_is_down_offers_nothing_and_sleeps() {
        let (mut link, orders, queue) = (rest(0.1), &mut LinkOrders::default(), Fixed { arrived: 0, backlog: 0 });
        let down = |ms| LinkView { capacity: Rate(0.0), ..at(ms, &queue) };
        assert!(offer(&mut link, &down(0), 50, orders).abs() < 1e-9);
        link.on_timer(&down(10), orders);
        orders.clear();
        link.on_timer(&down(20), orders);
        assert_eq!(orders.wake, None);
        assert!(offer(&mut link, &at(30, &queue), 50, orders) > 0.0);
    }

    /// The packets and grants of a call.
    fn call(source: &mut Source, ask: impl FnOnce(&mut Source, &mut Orders)) -> (Vec<Probe>, Vec<f64>, Option<Time>) {
        let mut orders = Orders::default();
        ask(source, &mut orders);
        let probe = |order: crate::control::PacketOrder| match order.header {
            Header::Rcp(probe) => probe,
            _ => panic!("it is a probe"),
        };
        (orders.packets.into_iter().map(probe).collect(), orders.grants.iter().map(|g| g.1.0).collect(), orders.wake)
    }

    #[test]
    fn a_source_says_how_long_replies_take_and_what_it_was_granted() {
        let time = |ms: u64| Time(ms * MILLISECOND);
        let mut source = Source::new(SpanText(Span(10 * MILLISECOND)), &alone());
        let (first, _, wake) = call(&mut source, |s, orders| s.join(time(0), orders));
        assert_eq!((first.len(), wake), (1, Some(time(500))));
        // No reply: it asks again.
        let (again, ..) = call(&mut source, |s, orders| s.on_timer(time(500), orders));
        let reply = Header::Rcp(Probe { rate: 8e6, ..again[0] });
        let (second, grants, wake) = call(&mut source, |s, orders| s.on_reply(time(530), 0, &reply, orders));
        assert_eq!((second[0].round_trip, second[0].bytes), (Span(30 * MILLISECOND), Bytes(1000)));
        assert!((grants[0] - 8e6).abs() < 1e-9 && wake == Some(time(540)));
        // At 8 Mbit/s for 10 ms. The timer of the first probe, and a second copy of the reply, change nothing.
        let (third, ..) = call(&mut source, |s, orders| s.on_timer(time(540), orders));
        assert_eq!(third[0].bytes, Bytes(10_000));
        let stale = call(&mut source, |s, orders| {
            s.on_timer(time(541), orders);
            s.on_reply(time(545), 0, &reply, orders);
        });
        assert_eq!(stale, (Vec::new(), Vec::new(), None));
    }

    #[test]
    fn a_slow_source_probes_with_each_packet_but_every_100_ms_at_the_least() {
        let mut source = Source::new(SpanText(Span(10 * MILLISECOND)), &alone());
        source.latest = Some(Time(0));
        source.round_trip = Span(30 * MILLISECOND);
        for (rate, pause) in [(8e6, 0.01), (400e3, 0.02), (8e3, 0.1), (0.0, 0.1)] {
            source.rate = rate;
            assert!((source.pause() - pause).abs() < 1e-12);
        }
        source.round_trip = Span(2 * MILLISECOND);
        source.rate = 1e9;
        assert!((source.pause() - 0.002).abs() < 1e-12);
    }
}
