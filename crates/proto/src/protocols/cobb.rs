//! COBB-like: max-min fair rates from counts that links take anew in every period, in the manner of [cobb2008].
//!
//! A source sends one probe in every period, with the rate that it was granted last. A link sums the rates of the
//! sessions with less than its share, `elsewhere`, and counts the others, `here`. At the end of its period it offers a
//! new share, and begins to count anew:
//!
//! ```text
//! share = max( (capacity - elsewhere) / here,  capacity / sessions,  largest rate elsewhere )       here > 0
//!       = max( capacity - elsewhere + largest rate elsewhere,  capacity / sessions )                here = 0
//! ```
//!
//! A link keeps no state of a session. But every session must send a probe in each period: where probes take longer
//! than a period to come back, or wait in queues, sessions are missed and shares are far too large.
//!
//! The rules of the original were not available. This form follows from descriptions of it: constant state at a link,
//! stabilisation from any state, a constant period that must be longer than the round trip of control packets. It shows
//! the large errors that are reported where that does not hold [mozo2012, sec. V]. Results for it may not hold for the
//! original.

use anabranch_core::quantity::SpanText;
use anabranch_core::{Rate, Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};

use crate::control::{ConnectionView, LinkControl, LinkControls, LinkOrders, LinkView, Orders, SourceControl, Visitor};
use crate::packet::Header;
use crate::protocols::capabilities::Capabilities;
use crate::protocols::expect::Expect;
use crate::protocols::headroom::Headroom;

/// What the protocol can serve.
// Links count probes anew in every period, and miss those that come late.
pub const CAPABILITIES: Capabilities =
    Capabilities { expect: Expect { may_wait: false, ..Expect::USUAL }, ..Capabilities::SINGLE_PATH };

/// A rate above any capacity, in bit/s.
const UNLIMITED: f64 = 1e15;

/// Relative difference below which rates count as equal.
const TIE: f64 = 1e-9;

/// Length of a link's first period, relative to the others. It is shorter, so that no period ends just when the first
/// session passes, or when many others pass in a network of round delays.
const FIRST_PERIOD: f64 = 0.381_966;

/// Parameters of COBB-like.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "CobbLikeParameters")]
pub struct Parameters {
    /// The period of links, and of sources unless their round trip is longer; 1 us to 100 s. It should be longer than
    /// any round trip; [mozo2012, sec. V] take 70 ms.
    #[serde(deserialize_with = "period")]
    pub period: SpanText,
    /// Part of each link's capacity that is not handed out, 0 to 0.5: room for control packets in band.
    #[serde(skip_serializing_if = "Headroom::is_none")]
    pub headroom: Headroom,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { period: SpanText(Span::ms(70)), headroom: Headroom::default() }
    }
}

fn period<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SpanText, D::Error> {
    let value = SpanText::deserialize(deserializer)?;
    let good = (1e-6..=100.0).contains(&value.0.seconds());
    if good { Ok(value) } else { Err(de::Error::custom(format!("it is {}; it must be 1 us to 100 s", value.0))) }
}

/// The fields of a probe; rates in bit/s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Probe {
    /// Number of the probe, by which a second copy of a reply is recognised.
    pub number: u32,
    /// Rate that the session was last granted; unlimited at first.
    pub rate: f64,
    /// Least share of the links so far.
    pub share: f64,
}

/// Creates the control of a source.
pub fn source(parameters: &Parameters, _: &ConnectionView) -> Box<dyn SourceControl> {
    Box::new(Source { period: parameters.period.0, rate: UNLIMITED, number: 0, due: Time(0), is_waiting: false })
}

/// Creates the controls of `count` links.
pub fn links(parameters: &Parameters, count: usize) -> Box<dyn LinkControls> {
    Box::new(vec![Link { period: parameters.period.0, share: None, counts: Counts::default() }; count])
}

struct Source {
    period: Span,
    /// Granted rate in bit/s.
    rate: f64,
    /// Number of the last probe.
    number: u32,
    /// Time at which the next probe is due.
    due: Time,
    /// Whether the reply to the last probe is due.
    is_waiting: bool,
}

impl Source {
    fn send(&mut self, now: Time, orders: &mut Orders) {
        self.number = self.number.wrapping_add(1);
        self.due = now + self.period;
        self.is_waiting = true;
        orders.probe(0, Header::CobbLike(Probe { number: self.number, rate: self.rate, share: UNLIMITED }));
    }
}

impl SourceControl for Source {
    fn join(&mut self, now: Time, orders: &mut Orders) {
        self.send(now, orders);
    }

    fn on_reply(&mut self, now: Time, _: usize, header: &Header, orders: &mut Orders) {
        let Header::CobbLike(probe) = header else { return };
        if probe.number != self.number || !self.is_waiting {
            return;
        }
        self.is_waiting = false;
        self.rate = probe.share;
        orders.grant(0, Rate(probe.share));
        if self.due <= now {
            self.send(now, orders);
        } else {
            orders.wake(self.due);
        }
    }

    fn on_timer(&mut self, now: Time, orders: &mut Orders) {
        self.send(now, orders);
    }

    fn leave(&mut self, _: Time, orders: &mut Orders) {
        orders.has_left = true;
    }
}

/// Counts of a link in a period; rates in bit/s.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    /// Number of all sessions, and of those with the share or more.
    sessions: u64,
    here: u64,
    /// Sum of the rates of the other sessions, and the largest of them.
    elsewhere: f64,
    largest: f64,
}

#[derive(Clone, Copy, Debug)]
struct Link {
    period: Span,
    /// Share that the link offers, in bit/s; `None` until a session passes.
    share: Option<f64>,
    counts: Counts,
}

impl Counts {
    fn add(&mut self, rate: f64, share: f64) {
        self.sessions += 1;
        if rate >= share * (1.0 - TIE) {
            self.here += 1;
        } else {
            self.elsewhere += rate;
            self.largest = self.largest.max(rate);
        }
    }

    /// Share of each session, from the counts of a period.
    fn share(&self, capacity: f64) -> f64 {
        let left = capacity - self.elsewhere;
        let each = if self.here > 0 { left / self.here as f64 } else { left + self.largest };
        each.max(capacity / self.sessions.max(1) as f64).max(self.largest.min(capacity))
    }
}

impl LinkControl for Link {
    fn on_arrival(&mut self, link: &LinkView, _: Visitor, header: &mut Header, orders: &mut LinkOrders) {
        let Header::CobbLike(probe) = header else { return };
        let share = *self.share.get_or_insert_with(|| {
            orders.wake(link.now + Span((self.period.0 as f64 * FIRST_PERIOD) as u64));
            link.capacity.0
        });
        self.counts.add(probe.rate, share);
        probe.share = probe.share.min(share);
    }

    fn on_return(&mut self, _: &LinkView, _: Visitor, _: &mut Header, _: &mut LinkOrders) {}

    fn on_timer(&mut self, link: &LinkView, orders: &mut LinkOrders) {
        let counts = std::mem::take(&mut self.counts);
        self.share = (counts.sessions > 0).then(|| counts.share(link.capacity.0));
        if self.share.is_some() {
            orders.wake(link.now + self.period);
        }
    }

    /// Links keep no state of sessions.
    fn is_clear(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{alone, view, visitor};

    const PERIOD: u64 = 70_000_000_000;

    fn new_link() -> Link {
        Link { period: Span(PERIOD), share: None, counts: Counts::default() }
    }

    /// Rates of sessions after a period of a link of 12 Mbit/s that they pass; one that is held back elsewhere keeps its.
    fn period(link: &mut Link, rates: &mut [f64], elsewhere: Option<f64>) {
        for rate in rates.iter_mut() {
            let mut header = Header::CobbLike(Probe { number: 1, rate: *rate, share: UNLIMITED });
            link.on_arrival(&view(12e6), visitor(0, 0), &mut header, &mut LinkOrders::default());
            let Header::CobbLike(probe) = header else { panic!("it is still of COBB-like") };
            *rate = probe.share;
        }
        if let Some(held) = elsewhere {
            rates[0] = rates[0].min(held);
        }
        link.on_timer(&view(12e6), &mut LinkOrders::default());
    }

    #[test]
    fn a_link_starts_with_far_too_much_and_ends_fair() {
        let mut link = new_link();
        let mut rates = [UNLIMITED; 3];
        period(&mut link, &mut rates, Some(2e6));
        // Nobody was counted before: all of 12 for each but the first, that cannot have more than 2.
        assert!((rates.iter().sum::<f64>() - 26e6).abs() < 1.0);
        for _ in 0..5 {
            period(&mut link, &mut rates, Some(2e6));
        }
        // 10 are left for two. Shares 4, 5, 6, 5, 5, as rates come a period late: with 2 + 4 + 4 nobody has 5, with
        // 2 + 5 + 5 nobody 6.
        for (rate, wanted) in rates.iter().zip([2e6, 5e6, 5e6]) {
            assert!((rate - wanted).abs() < 1e-3, "{rates:?}");
        }
    }

    #[test]
    fn a_link_that_nobody_passes_rests_and_starts_anew() {
        let mut link = new_link();
        let mut orders = LinkOrders::default();
        let mut header = Header::CobbLike(Probe { number: 1, rate: UNLIMITED, share: UNLIMITED });
        link.on_arrival(&view(12e6), visitor(0, 0), &mut header, &mut orders);
        assert!(orders.wake.take().is_some());
        link.on_timer(&view(12e6), &mut orders);
        assert!(orders.wake.take().is_some());
        link.on_timer(&view(12e6), &mut orders);
        assert!(orders.wake.is_none() && link.share.is_none());
        link.on_arrival(&view(12e6), visitor(0, 0), &mut header, &mut orders);
        assert!(orders.wake.is_some());
    }

    #[test]
    fn a_source_waits_for_its_reply_and_for_its_period() {
        let mut source = source(&Parameters::default(), &alone());
        let mut orders = Orders::default();
        source.join(Time(0), &mut orders);
        let first = orders.packets.remove(0).header;
        // Back early: the next goes after the period. A second copy changes nothing.
        source.on_reply(Time(1), 0, &first, &mut orders);
        assert_eq!((orders.wake, orders.packets.len(), orders.grants.len()), (Some(Time(PERIOD)), 0, 1));
        orders.clear();
        source.on_reply(Time(2), 0, &first, &mut orders);
        assert_eq!((orders.wake, orders.packets.len(), orders.grants.len()), (None, 0, 0));
        source.on_timer(Time(PERIOD), &mut orders);
        let second = orders.packets.remove(0).header;
        // Back late: the next goes at once.
        source.on_reply(Time(3 * PERIOD), 0, &second, &mut orders);
        assert_eq!((orders.wake, orders.packets.len()), (None, 1));
    }

    #[test]
    fn whatever_comes_by_the_share_is_a_number() {
        for (capacity, rates) in [(0.0, [0.0, 1.0]), (0.0, [1e15, 1e15]), (1.0, [1e15, 0.0]), (1e15, [0.0, 1e-9])] {
            let mut counts = Counts::default();
            for share in [0.0, 0.5, 1e15] {
                for rate in rates {
                    counts.add(rate, share);
                }
                let share = counts.share(capacity);
                assert!((0.0..=capacity).contains(&share), "{share} of {capacity}");
            }
        }
    }
}
