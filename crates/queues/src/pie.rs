//! PIE, proportional integral controller enhanced: drops or marks at random on arrival to keep the delay at a target
//! (RFC 8033) [pan2017].
//!
//! Let d be the delay at an update, and d' the delay at the update before:
//!
//! ```text
//! p <- p + s(p) (alpha (d - target) + beta (d - d'))      s(p): 1/2048, 1/512, 1/128, 1/32, 1/8, 1/2, 1 as p reaches
//!                                                               0, 1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1
//! ```
//!
//! An arriving packet is dropped with probability p, or marked if it can be marked and p is at most `most_marked`. No
//! packet is dropped while a burst is allowed, while the delay was below half the target and p is below 0.2, or while
//! at most two full packets wait. A full packet is the largest that has arrived so far.
//!
//! Updates are computed when the next packet arrives or leaves: until then the queue does not change.
//!
//! differs: the delay is the backlog divided by the capacity of the link, which is known here [pan2017, sec. 5.2
//! estimates it]. The optional parts are absent: no de-randomisation, no cap on the growth of p, no switching off
//! [pan2017, sec. 5].

use anabranch_core::quantity::SpanText;
use anabranch_core::{Bytes, Rate, Span, Time};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::discipline::{Discipline, Item, Limits};
use super::fifo::Fifo;
use super::periods::Periods;
use super::read;

/// Divisors of changes of p, each below the given probability [pan2017, sec. 4.2].
const SCALES: [(f64, f64); 6] = [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (0.01, 8.0), (0.1, 2.0)];

/// Factor by which p falls at an update when nothing waits and nothing waited [pan2017, sec. 4.2].
const DECAY: f64 = 0.98;

/// Below this p a short delay keeps packets from being dropped [pan2017, sec. 4.1].
const SMALL: f64 = 0.2;

/// Greatest delay in seconds; a link without capacity makes the delay infinite.
const LONGEST: f64 = 1e6;

/// Parameters of PIE [pan2017, sec. 4].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PieParameters")]
#[serde(deny_unknown_fields, default)]
pub struct Parameters {
    /// Target delay (`QDELAY_REF`); 1 us to 100 s.
    #[serde(deserialize_with = "read::span")]
    pub target: SpanText,
    /// Time between updates (`T_UPDATE`); 1 us to 100 s.
    #[serde(deserialize_with = "read::span")]
    pub update: SpanText,
    /// Gain for the excess of the delay over the target, in 1/s; 0 to 1000.
    #[serde(deserialize_with = "read::gain")]
    #[schemars(range(min = 0, max = 1000))]
    pub alpha: f64,
    /// Gain for the growth of the delay, in 1/s; 0 to 1000.
    #[serde(deserialize_with = "read::gain")]
    #[schemars(range(min = 0, max = 1000))]
    pub beta: f64,
    /// Duration of a burst before any packet is dropped (`MAX_BURST`); at most 100 s.
    #[serde(deserialize_with = "read::span_or_none")]
    pub burst: SpanText,
    /// Probability above which packets are dropped even if they can be marked (`mark_ecnth`) [pan2017, sec. 5.1]; 0 to
    /// 1.
    #[serde(deserialize_with = "read::probability")]
    #[schemars(range(min = 0, max = 1))]
    pub most_marked: f64,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            target: SpanText(Span::ms(15)),
            update: SpanText(Span::ms(15)),
            alpha: 0.125,
            beta: 1.25,
            burst: SpanText(Span::ms(150)),
            most_marked: 0.1,
        }
    }
}

pub(super) fn discipline(parameters: &Parameters, limits: Limits, random: ChaCha8Rng) -> Box<dyn Discipline> {
    Box::new(Pie {
        periods: Periods::new(parameters.update.0),
        control: Control::new(parameters),
        limits,
        random,
        fifo: Fifo::default(),
        full_packet: 0,
    })
}

struct Pie {
    periods: Periods,
    control: Control,
    limits: Limits,
    random: ChaCha8Rng,
    fifo: Fifo,
    full_packet: u32,
}

impl Pie {
    /// Makes the updates that are due.
    fn catch_up(&mut self, now: Time, capacity: Rate) {
        self.periods.skip_old(now);
        while self.periods.due(now).is_some() {
            self.control.update(delay(self.fifo.bytes(), capacity));
        }
    }

    /// Whether the arriving packet is to be marked or dropped.
    fn chooses(&mut self) -> bool {
        let is_short = self.fifo.bytes() <= 2 * u64::from(self.full_packet);
        !is_short && !self.control.is_lenient() && self.random.random::<f64>() < self.control.probability
    }
}

impl Discipline for Pie {
    fn enqueue(&mut self, now: Time, mut item: Item, capacity: Rate, dropped: &mut Vec<Item>) {
        self.catch_up(now, capacity);
        self.full_packet = self.full_packet.max(item.bytes);
        let may_mark = self.control.probability <= self.control.parameters.most_marked;
        if self.chooses() && !(may_mark && item.mark()) {
            dropped.push(item);
        } else {
            self.fifo.push_within(now, item, &self.limits, dropped);
        }
    }

    fn dequeue(&mut self, now: Time, capacity: Rate, _: &mut Vec<Item>) -> Option<Item> {
        self.catch_up(now, capacity);
        self.fifo.pop()
    }

    fn backlog(&self) -> Bytes {
        Bytes(self.fifo.bytes())
    }

    fn len(&self) -> usize {
        self.fifo.len()
    }
}

/// Transmission time of a backlog, in seconds.
fn delay(bytes: u64, capacity: Rate) -> f64 {
    if bytes == 0 { 0.0 } else { (8.0 * bytes as f64 / capacity.0).min(LONGEST) }
}

/// The controller.
struct Control {
    parameters: Parameters,
    probability: f64,
    /// Delay at the last update, in seconds.
    delay: f64,
    /// Rest of the burst that is allowed.
    burst: Span,
}

impl Control {
    fn new(parameters: &Parameters) -> Self {
        Self { parameters: parameters.clone(), probability: 0.0, delay: 0.0, burst: parameters.burst.0 }
    }

    /// Whether the controller lets everything in for now.
    fn is_lenient(&self) -> bool {
        self.burst > Span(0) || self.is_short(self.delay) && self.probability < SMALL
    }

    fn is_short(&self, delay: f64) -> bool {
        delay < 0.5 * self.parameters.target.0.seconds()
    }

    /// Makes an update, with the delay in seconds.
    fn update(&mut self, delay: f64) {
        let Parameters { target, update, alpha, beta, burst, .. } = self.parameters;
        let change = alpha * (delay - target.0.seconds()) + beta * (delay - self.delay);
        let scale = SCALES.iter().find(|(below, _)| self.probability < *below).map_or(1.0, |(_, scale)| *scale);
        self.probability += change / scale;
        if delay <= 0.0 && self.delay <= 0.0 {
            self.probability *= DECAY;
        }
        self.probability = self.probability.clamp(0.0, 1.0);
        self.burst = Span(self.burst.0.saturating_sub(update.0.0));
        if self.probability <= 0.0 && self.is_short(delay) && self.is_short(self.delay) {
            self.burst = burst.0;
        }
        self.delay = delay;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ecn;
    use crate::testing::{Driven, ms, packets, with_ecn};

    fn control(probability: f64, delay: f64) -> Control {
        Control { probability, delay, burst: Span(0), ..Control::new(&Parameters::default()) }
    }

    #[test]
    fn changes_are_smaller_the_smaller_the_probability() {
        // 25 ms after 20 ms: 0.125 * 0.010 + 1.25 * 0.005 = 0.0075, divided by what p calls for.
        for (before, divisor) in [
            (0.0, 2048.0),
            (9e-7, 2048.0),
            (1e-6, 512.0),
            (1e-5, 128.0),
            (1e-4, 32.0),
            (1e-3, 8.0),
            (0.01, 2.0),
            (0.1, 1.0),
            (0.5, 1.0),
        ] {
            let mut control = control(before, 0.020);
            control.update(0.025);
            assert!((control.probability - (before + 0.0075 / divisor)).abs() < 1e-15, "{before}");
        }
    }

    #[test]
    fn without_a_queue_the_probability_decays_and_ends_at_nothing() {
        // 0.5 - 0.125 * 0.015 = 0.498125, times 0.98.
        let mut control = control(0.5, 0.0);
        control.update(0.0);
        assert!((control.probability - 0.488_162_5).abs() < 1e-12);
        for _ in 0..1000 {
            control.update(0.0);
        }
        assert!(control.probability <= 0.0);
    }

    #[test]
    fn a_burst_is_allowed_ten_updates_and_anew_when_all_is_quiet() {
        let mut control = Control::new(&Parameters::default());
        for left in (0..10).rev() {
            assert!(control.is_lenient());
            control.update(0.1);
            assert_eq!(control.burst, Span(left * 15_000_000_000));
        }
        assert!(!control.is_lenient());
        control.probability = 0.0;
        control.update(0.001);
        assert_eq!(control.burst, Span(0), "the delay before was long");
        control.update(0.001);
        assert_eq!(control.burst, Span::ms(150));
    }

    #[test]
    fn updates_are_made_up_for_when_a_packet_leaves() {
        // 31 packets of 1 ms wait from 0 on. At 46 ms three updates are due, all with 31 ms: the first adds
        // (0.125 * 0.016 + 1.25 * 0.031) / 2048, the next two 0.125 * 0.016 / 512 as p is over 1e-6 then.
        let random = anabranch_core::random::stream(1, anabranch_core::random::Purpose::Faults, 0);
        let parameters = Parameters::default();
        let mut pie = Pie {
            periods: Periods::new(parameters.update.0),
            control: Control::new(&parameters),
            limits: Limits::default(),
            random,
            fifo: Fifo::default(),
            full_packet: 0,
        };
        for item in packets(0..31, 1500) {
            pie.enqueue(Time(0), item, Rate(12e6), &mut Vec::new());
        }
        pie.dequeue(ms(46.0), Rate(12e6), &mut Vec::new());
        let wanted = 0.04075 / 2048.0;
        let scale = if wanted < 1e-5 { 512.0 } else { 128.0 };
        assert!((pie.control.probability - (wanted + 2.0 * 0.002 / scale)).abs() < 1e-12);
    }

    #[test]
    fn over_a_tenth_packets_are_dropped_even_if_they_can_be_marked() {
        for (probability, is_dropped) in [(0.1, false), (0.11, true)] {
            let random = anabranch_core::random::stream(1, anabranch_core::random::Purpose::Faults, 0);
            let parameters = Parameters { update: SpanText(Span(u64::MAX)), ..Parameters::default() };
            let mut pie = Pie {
                periods: Periods::new(parameters.update.0),
                control: Control { probability, delay: 0.02, burst: Span(0), ..Control::new(&parameters) },
                limits: Limits::default(),
                random,
                fifo: Fifo::default(),
                full_packet: 0,
            };
            let mut dropped = Vec::new();
            for item in with_ecn(packets(0..1000, 1500), Ecn::Ect0) {
                pie.enqueue(Time(0), item, Rate(12e6), &mut dropped);
            }
            let marked = std::iter::from_fn(|| pie.fifo.pop()).filter(|item| item.ecn == Ecn::Ce).count();
            let chosen = marked + dropped.len();
            assert_eq!((marked == 0, dropped.is_empty()), (is_dropped, !is_dropped));
            assert!(chosen.abs_diff(100) < 40, "{chosen} of 1,000");
        }
    }

    #[test]
    fn two_packets_may_always_wait() {
        let mut queue = Driven::new("pie.burst = \"0 s\"", Limits::default());
        queue.capacity = Rate(0.0);
        queue.offer(packets(0..2, 1500));
        queue.now = ms(1e6);
        queue.offer(packets(2..10, 1500));
        // Nothing was sent for 1,000 s, so p is 1: the third still finds two packets only.
        assert_eq!(queue.dropped(), [3, 4, 5, 6, 7, 8, 9]);
    }
}
