//! CoDel, controlled delay: drops or marks at the head while packets wait longer than a target
//! (RFC 8289) [nichols2018].
//!
//! A packet that leaves is over target if it waited `target` or longer and more than one full packet is left behind it.
//! If all packets of an `interval` were over target, CoDel drops one, and then another at the times
//!
//! ```text
//! t <- t + interval / sqrt(count)      count: packets dropped since dropping began
//! ```
//!
//! so that the rate of a TCP falls linearly with time, until a packet is not over target. If dropping begins again
//! soon, it continues with nearly the former count.
//!
//! CoDel marks a packet instead of dropping it where possible. A full packet is the largest that has arrived so far.

use anabranch_core::quantity::SpanText;
use anabranch_core::{Bytes, Rate, Span, Time};
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::discipline::{Discipline, Item, Limits};
use super::fifo::Fifo;
use super::read;

/// Number of intervals after the last drop at which CoDel starts again from a count of 1 [nichols2018, sec. 5.5].
const RECENT_INTERVALS: u64 = 16;

/// Parameters of CoDel [nichols2018, sec. 4].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CoDelParameters")]
#[serde(deny_unknown_fields, default)]
pub struct Parameters {
    /// Acceptable wait of packets in a standing queue; 1 us to 100 s.
    #[serde(deserialize_with = "read::span")]
    pub target: SpanText,
    /// Longest time for which packets may exceed the target, about a round trip; 1 us to 100 s.
    #[serde(deserialize_with = "read::span")]
    pub interval: SpanText,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { target: SpanText(Span::ms(5)), interval: SpanText(Span::ms(100)) }
    }
}

pub(super) fn discipline(parameters: &Parameters, limits: Limits, _: ChaCha8Rng) -> Box<dyn Discipline> {
    let Parameters { target: SpanText(target), interval: SpanText(interval) } = *parameters;
    let settings = Settings { target, interval, full_packet: 0 };
    Box::new(Codel { settings, control: Control::default(), limits, fifo: Fifo::default() })
}

struct Codel {
    settings: Settings,
    control: Control,
    limits: Limits,
    fifo: Fifo,
}

impl Discipline for Codel {
    fn enqueue(&mut self, now: Time, item: Item, _: Rate, dropped: &mut Vec<Item>) {
        self.settings.see(&item);
        self.fifo.push_within(now, item, &self.limits, dropped);
    }

    fn dequeue(&mut self, now: Time, _: Rate, dropped: &mut Vec<Item>) -> Option<Item> {
        self.control.dequeue(now, &mut self.fifo, &self.settings, dropped)
    }

    fn backlog(&self) -> Bytes {
        Bytes(self.fifo.bytes())
    }

    fn len(&self) -> usize {
        self.fifo.len()
    }
}

/// The settings that all queues of a discipline share.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    pub(super) target: Span,
    pub(super) interval: Span,
    /// Size of the largest packet so far, in bytes.
    pub(super) full_packet: u32,
}

impl Settings {
    /// Updates the size of a full packet from a packet.
    pub(super) fn see(&mut self, item: &Item) {
        self.full_packet = self.full_packet.max(item.bytes);
    }

    /// Time of the next drop after one at `time`, which was number `count`.
    fn next_drop(&self, time: Time, count: u32) -> Time {
        let span = self.interval.0 as f64 / f64::from(count.max(1)).sqrt();
        Time(time.0.saturating_add(span as u64))
    }
}

/// CoDel's control of one queue.
#[derive(Clone, Debug, Default)]
pub(super) struct Control {
    /// Time from which packets will have been over target for an interval; `None` if they are below target.
    overdue_at: Option<Time>,
    is_dropping: bool,
    /// Time of the next drop, while CoDel is dropping.
    next_drop: Time,
    /// Number of packets dropped or marked since dropping began.
    count: u32,
    /// Value of `count` when dropping began.
    first_count: u32,
}

impl Control {
    /// Returns the next packet to send of `fifo`; `None` only if nothing is left.
    pub(super) fn dequeue(
        &mut self,
        now: Time,
        fifo: &mut Fifo,
        settings: &Settings,
        dropped: &mut Vec<Item>,
    ) -> Option<Item> {
        let (mut item, mut is_overdue) = self.take(now, fifo, settings)?;
        self.is_dropping &= is_overdue;
        if self.is_dropping {
            while self.is_dropping && now >= self.next_drop {
                self.count = self.count.saturating_add(1);
                self.next_drop = settings.next_drop(self.next_drop, self.count);
                if item.mark() {
                    break;
                }
                dropped.push(item);
                (item, is_overdue) = self.take(now, fifo, settings)?;
                self.is_dropping = is_overdue;
            }
        } else if is_overdue {
            self.begin(now, settings);
            if !item.mark() {
                dropped.push(item);
                (item, _) = self.take(now, fifo, settings)?;
            }
        }
        Some(item)
    }

    /// Begins to drop.
    fn begin(&mut self, now: Time, settings: &Settings) {
        let is_soon = now.0.saturating_sub(self.next_drop.0) < settings.interval.0.saturating_mul(RECENT_INTERVALS);
        let more = self.count.saturating_sub(self.first_count);
        self.count = if is_soon && more > 1 { more } else { 1 };
        self.first_count = self.count;
        self.next_drop = settings.next_drop(now, self.count);
        self.is_dropping = true;
    }

    /// Removes the first packet; returns it, and whether packets were over target for an interval.
    fn take(&mut self, now: Time, fifo: &mut Fifo, settings: &Settings) -> Option<(Item, bool)> {
        let Some(item) = fifo.pop() else {
            self.overdue_at = None;
            self.is_dropping = false;
            return None;
        };
        if item.wait(now) < settings.target || fifo.bytes() <= u64::from(settings.full_packet) {
            self.overdue_at = None;
            return Some((item, false));
        }
        let overdue_at = *self.overdue_at.get_or_insert(Time(now.0.saturating_add(settings.interval.0)));
        Some((item, now >= overdue_at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ecn;
    use crate::testing::{Driven, at_most, ms, packets, with_ecn};

    /// A queue of 5,000 packets that came at 0, from which one leaves every millisecond; when a packet was dropped or
    /// marked, in milliseconds.
    fn drops_of_a_standing_queue(ecn: Ecn, until: u32) -> Vec<u32> {
        let mut queue = Driven::new("codel", Limits::default());
        queue.offer(with_ecn(packets(0..5000, 1500), ecn));
        let mut times = Vec::new();
        for millisecond in 1..=until {
            queue.now = ms(f64::from(millisecond));
            let sent = queue.send().unwrap();
            if sent.ecn == Ecn::Ce || !queue.drops.is_empty() {
                times.push(millisecond);
            }
            queue.drops.clear();
        }
        times
    }

    #[test]
    fn drops_come_faster_by_the_square_root_of_their_count() {
        // Over target from 5 ms on, so overdue at 105 ms: the first drop. Then at
        // 105 + 100 = 205, 205 + 100 / sqrt(2) = 275.7, + 100 / sqrt(3) = 333.4, + 50 = 383.4, + 44.7 = 428.2,
        // each with the packet that leaves next.
        assert_eq!(drops_of_a_standing_queue(Ecn::NotEct, 450), [105, 205, 276, 334, 384, 429]);
    }

    #[test]
    fn what_can_be_marked_is_marked_at_the_same_times() {
        assert_eq!(drops_of_a_standing_queue(Ecn::Ect0, 450), [105, 205, 276, 334, 384, 429]);
    }

    #[test]
    fn a_short_wait_ends_the_dropping_and_a_return_soon_goes_on_where_it_was() {
        let settings = Settings { target: Span(5), interval: Span(100), full_packet: 1 };
        let mut control = Control { count: 9, first_count: 2, next_drop: Time(1000), ..Control::default() };
        // 16 intervals after the last drop was due are 2,600.
        control.begin(Time(2599), &settings);
        assert_eq!((control.count, control.next_drop), (7, Time(2599 + 37)));
        let mut control = Control { count: 9, first_count: 2, next_drop: Time(1000), ..Control::default() };
        control.begin(Time(2600), &settings);
        assert_eq!((control.count, control.next_drop), (1, Time(2700)));
        // A count that rose by 1 only is no reason to go on.
        let mut control = Control { count: 3, first_count: 2, next_drop: Time(1000), ..Control::default() };
        control.begin(Time(1100), &settings);
        assert_eq!(control.count, 1);
    }

    #[test]
    fn the_last_full_packet_is_never_dropped() {
        let mut queue = Driven::new("codel", Limits::default());
        queue.offer(packets(0..2, 1500));
        for millisecond in [1000.0, 2000.0] {
            queue.now = ms(millisecond);
            assert!(queue.send().is_some() && queue.drops.is_empty());
        }
        assert!(queue.send().is_none());
    }

    #[test]
    fn a_short_queue_stays_whole() {
        // A packet comes and one leaves every millisecond, each waits 4 ms.
        let mut queue = Driven::new("codel", at_most(100));
        queue.offer(packets(0..4, 1500));
        for millisecond in 1..1000 {
            queue.now = ms(f64::from(millisecond));
            queue.offer(packets(0..1, 1500));
            assert!(queue.send().is_some() && queue.drops.is_empty());
        }
    }
}
