//! DualPI2: a low-latency queue for ECT(1) and CE coupled with a classic queue (RFC 9332) [deschepper2023].
//!
//! Let d be the longer of the waits of the first packets in the two queues at an update, and d' its value at the update
//! before:
//!
//! ```text
//! p <- p + alpha (d - target) + beta (d - d')     0 to sqrt(most), most = min(1, 1 / k^2)
//! pC  = p^2                                       classic packets: dropped, or marked if ECT(0)
//! pCL = k p                                       low-latency packets: marked with probability max(pL, pCL)
//! pL  = 0 to 1 as the wait goes from threshold to threshold + ramp; 0 if no other packet is behind
//! ```
//!
//! A classic source sends about 1 / sqrt(pC) packets in a round trip and a scalable one 2 / pCL, so that with k = 2
//! both get about the same rate [deschepper2023, sec. 2.1]. When pCL reaches 1, marks no longer suffice: then packets
//! of either queue are dropped with probability pC, whether they can be marked or not [deschepper2023, app. A.2].
//!
//! Packets are chosen as in the RFC: each adds its probability to a sum, and the packet with which the sum exceeds 1 is
//! chosen.
//!
//! Updates are computed when the next packet arrives or leaves: until then the queues do not change.
//!
//! differs: the limit is that of the link; a link without a limit has room for 250 ms at the largest capacity so far,
//! and at least for two packets of 1,500 bytes.

use anabranch_core::quantity::SpanText;
use anabranch_core::{Bytes, Rate, Span, Time};
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};

use super::discipline::{Discipline, Ecn, Item, Limits};
pub use super::dualpi2_turns::Scheduler;
use super::dualpi2_turns::Turns;
use super::fifo::Fifo;
use super::periods::Periods;
use super::read;

/// Seconds of transmission that may wait at a link without a limit [deschepper2023, app. A.1].
const LIMIT: f64 = 0.25;

/// Least limit in bytes at such a link.
const LEAST_LIMIT: f64 = 3000.0;

/// Parameters of DualPI2 [deschepper2023, app. A.1].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "DualPi2Parameters")]
#[serde(deny_unknown_fields, default)]
pub struct Parameters {
    /// Target delay of classic packets; 1 us to 100 s.
    #[serde(deserialize_with = "read::span")]
    pub target: SpanText,
    /// Time between updates (Tupdate); 1 us to 100 s.
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
    /// Coupling factor of the marking probability of low-latency packets (k); over 0 and at most 100.
    #[serde(deserialize_with = "coupling")]
    #[schemars(range(max = 100), extend("exclusiveMinimum" = 0))]
    pub coupling: f64,
    /// Least wait of low-latency packets at which some are marked (minTh); at most 100 s.
    #[serde(deserialize_with = "read::span_or_none")]
    pub threshold: SpanText,
    /// Additional wait from which on all are marked (range); at most 100 s, 0 s for a step.
    #[serde(deserialize_with = "read::span_or_none")]
    pub ramp: SpanText,
    /// Scheduler that chooses a queue when both have packets.
    pub scheduler: Scheduler,
    /// Least share of the capacity for classic packets under `weighted`; over 0 and at most 1.
    #[serde(deserialize_with = "read::share")]
    #[schemars(range(max = 1), extend("exclusiveMinimum" = 0))]
    pub classic_share: f64,
    /// Time that is added to the wait of low-latency packets under `time-shift`; at most 100 s.
    #[serde(deserialize_with = "read::span_or_none")]
    pub time_shift: SpanText,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            target: SpanText(Span::ms(15)),
            update: SpanText(Span::ms(16)),
            alpha: 0.16,
            beta: 3.2,
            coupling: 2.0,
            threshold: SpanText(Span::us(800)),
            ramp: SpanText(Span::us(400)),
            scheduler: Scheduler::Weighted,
            classic_share: 0.1,
            time_shift: SpanText(Span::ms(30)),
        }
    }
}

fn coupling<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let value = f64::deserialize(deserializer)?;
    let is_good = value > 0.0 && value <= 100.0;
    if is_good {
        Ok(value)
    } else {
        Err(de::Error::custom(format!("it is {value}; it must be over 0 and at most 100")))
    }
}

pub(super) fn discipline(parameters: &Parameters, limits: Limits, _: ChaCha8Rng) -> Box<dyn Discipline> {
    Box::new(DualPi2::new(parameters, limits))
}

struct DualPi2 {
    parameters: Parameters,
    limits: Limits,
    periods: Periods,
    control: Control,
    low_latency: Lane,
    classic: Lane,
    turns: Turns,
    largest_capacity: Rate,
}

/// One of the two queues.
#[derive(Default)]
struct Lane {
    fifo: Fifo,
    /// Sum of the probabilities of packets since the last that was chosen.
    sum: f64,
}

impl Lane {
    /// Whether a packet with this probability is chosen.
    fn chooses(&mut self, probability: f64) -> bool {
        self.sum += probability;
        let is_chosen = self.sum > 1.0;
        if is_chosen {
            self.sum -= 1.0;
        }
        is_chosen
    }
}

/// The controller.
#[derive(Clone, Debug, Default)]
struct Control {
    /// Base probability p.
    base: f64,
    /// Delay at the last update, in seconds.
    delay: f64,
    /// Whether p has its greatest value.
    is_overloaded: bool,
}

/// The greatest value of p, at which either pCL or pC is 1.
fn most_base(parameters: &Parameters) -> f64 {
    (1.0 / parameters.coupling).min(1.0)
}

impl Control {
    /// Makes an update, with the delay in seconds.
    fn update(&mut self, delay: f64, parameters: &Parameters) {
        let Parameters { target, alpha, beta, .. } = *parameters;
        let change = alpha * (delay - target.0.seconds()) + beta * (delay - self.delay);
        let most = most_base(parameters);
        self.base = (self.base + change).clamp(0.0, most);
        self.is_overloaded = self.base >= most;
        self.delay = delay;
    }

    /// Drop probability pC of classic packets.
    fn classic(&self) -> f64 {
        self.base * self.base
    }

    /// Coupled marking probability pCL, at most 1.
    fn coupled(&self, coupling: f64) -> f64 {
        (coupling * self.base).min(1.0)
    }
}

impl DualPi2 {
    fn new(parameters: &Parameters, limits: Limits) -> Self {
        Self {
            parameters: parameters.clone(),
            limits,
            periods: Periods::new(parameters.update.0),
            control: Control::default(),
            low_latency: Lane::default(),
            classic: Lane::default(),
            turns: Turns::new(parameters.scheduler, parameters.classic_share, parameters.time_shift.0),
            largest_capacity: Rate(0.0),
        }
    }

    /// Makes the updates that are due.
    fn catch_up(&mut self, now: Time) {
        self.periods.skip_old(now);
        while let Some(at) = self.periods.due(now) {
            let wait = self.classic.fifo.wait(at).max(self.low_latency.fifo.wait(at));
            self.control.update(wait.seconds(), &self.parameters);
        }
    }

    /// Whether one more packet may wait.
    fn has_room(&self, item: &Item) -> bool {
        let bytes = self.backlog().0 + u64::from(item.bytes);
        if self.limits == Limits::default() {
            // A packet that is larger than the limit would never pass.
            self.len() == 0 || bytes as f64 <= (LIMIT * self.largest_capacity.0 / 8.0).max(LEAST_LIMIT)
        } else {
            self.limits.allow(self.len() + 1, bytes)
        }
    }

    /// Native marking probability pL.
    fn native(&self, wait: Span) -> f64 {
        let Parameters { threshold, ramp, .. } = self.parameters;
        let over = wait.0.saturating_sub(threshold.0.0);
        if self.low_latency.fifo.is_empty() || wait <= threshold.0 {
            0.0
        } else if over < ramp.0.0 {
            over as f64 / ramp.0.0 as f64
        } else {
            1.0
        }
    }

    /// Passes a low-latency packet, perhaps marked; returns `None` if it has to be dropped.
    fn pass_low_latency(&mut self, now: Time, mut item: Item) -> Option<Item> {
        let is_overloaded = self.control.is_overloaded;
        if is_overloaded && self.low_latency.chooses(self.control.classic()) {
            return None;
        }
        let coupled = self.control.coupled(self.parameters.coupling);
        let probability = if is_overloaded { coupled } else { coupled.max(self.native(item.wait(now))) };
        if probability >= 1.0 || self.low_latency.chooses(probability) {
            item.mark();
        }
        Some(item)
    }

    /// Passes a classic packet, perhaps marked; returns `None` if it has to be dropped.
    fn pass_classic(&mut self, mut item: Item) -> Option<Item> {
        let is_chosen = self.classic.chooses(self.control.classic());
        let passes = !is_chosen || !self.control.is_overloaded && item.mark();
        passes.then_some(item)
    }
}

impl Discipline for DualPi2 {
    fn enqueue(&mut self, now: Time, item: Item, capacity: Rate, dropped: &mut Vec<Item>) {
        self.catch_up(now);
        self.largest_capacity = Rate(self.largest_capacity.0.max(capacity.0));
        if !self.has_room(&item) {
            dropped.push(item);
            return;
        }
        let lane = if matches!(item.ecn, Ecn::Ect1 | Ecn::Ce) { &mut self.low_latency } else { &mut self.classic };
        lane.fifo.push(now, item);
    }

    fn dequeue(&mut self, now: Time, _: Rate, dropped: &mut Vec<Item>) -> Option<Item> {
        self.catch_up(now);
        loop {
            let is_low_latency = self.turns.is_for_low_latency(now, &self.low_latency.fifo, &self.classic.fifo);
            let lane = if is_low_latency { &mut self.low_latency } else { &mut self.classic };
            let item = lane.fifo.pop()?;
            let passed = if is_low_latency { self.pass_low_latency(now, item) } else { self.pass_classic(item) };
            match passed {
                Some(passed) => {
                    let are_both_waiting = !self.low_latency.fifo.is_empty() && !self.classic.fifo.is_empty();
                    self.turns.account(&passed, is_low_latency, are_both_waiting);
                    return Some(passed);
                }
                None => dropped.push(item),
            }
        }
    }

    fn backlog(&self) -> Bytes {
        Bytes(self.low_latency.fifo.bytes() + self.classic.fifo.bytes())
    }

    fn len(&self) -> usize {
        self.low_latency.fifo.len() + self.classic.fifo.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Driven, packets, with_ecn};

    fn at(base: f64) -> DualPi2 {
        let mut queue = DualPi2::new(&Parameters::default(), Limits::default());
        queue.control.base = base;
        queue
    }

    /// Of so many packets that pass, how many are marked and how many are dropped.
    fn chosen(queue: &mut DualPi2, ecn: Ecn, count: u32) -> (u32, u32) {
        let (mut marked, mut dropped) = (0, 0);
        for item in with_ecn(packets(0..count, 1500), ecn) {
            let is_low_latency = ecn == Ecn::Ect1;
            let passed = if is_low_latency { queue.pass_low_latency(Time(0), item) } else { queue.pass_classic(item) };
            marked += u32::from(passed.is_some_and(|item| item.ecn == Ecn::Ce));
            dropped += u32::from(passed.is_none());
        }
        (marked, dropped)
    }

    #[test]
    fn an_update_adds_what_the_delay_is_over_target_and_what_it_grew() {
        // 25 ms after 20 ms: 0.16 * 0.010 + 3.2 * 0.005 = 0.0176. Then 15 ms: 3.2 * -0.010 takes it to 0.
        let mut control = Control { base: 0.0, delay: 0.020, is_overloaded: false };
        control.update(0.025, &Parameters::default());
        assert!((control.base - 0.0176).abs() < 1e-12);
        control.update(0.015, &Parameters::default());
        assert!(control.base <= 0.0);
        // However long the delay, p is at most 1/2: pC 1/4 and pCL 1.
        control.update(1000.0, &Parameters::default());
        assert!((control.base - 0.5).abs() < 1e-12 && control.is_overloaded);
    }

    #[test]
    fn marks_of_low_latency_are_coupled_to_the_square_root_of_classic_drops() {
        // p = 0.125: pC = 1/64 and pCL = 1/4. The sum has to come over 1, so the first is chosen after 65 and 5
        // packets.
        for (ecn, expected) in [(Ecn::NotEct, (0, 10)), (Ecn::Ect0, (10, 0)), (Ecn::Ect1, (160, 0))] {
            let (marked, dropped) = chosen(&mut at(0.125), ecn, 641);
            assert_eq!((marked, dropped), expected, "{ecn:?}");
        }
    }

    #[test]
    fn under_overload_packets_that_can_be_marked_are_dropped_too() {
        let mut queue = at(0.5);
        queue.control.is_overloaded = true;
        // A quarter of either is dropped, and what is left of low latency is marked.
        assert_eq!(chosen(&mut queue, Ecn::Ect0, 401), (0, 100));
        assert_eq!(chosen(&mut queue, Ecn::Ect1, 401), (301, 100));
    }

    #[test]
    fn a_packet_of_low_latency_is_marked_by_how_long_it_waited() {
        let mut queue = at(0.0);
        assert!(queue.native(Span::ms(2)) <= 0.0, "nothing is behind it");
        queue.low_latency.fifo.push(Time(0), packets(0..1, 1500)[0]);
        for (microseconds, wanted) in [(700, 0.0), (800, 0.0), (900, 0.25), (1000, 0.5), (1200, 1.0), (5000, 1.0)] {
            let found = queue.native(Span::us(microseconds));
            assert!((found - wanted).abs() < 1e-12, "{found} after {microseconds} us");
        }
        queue.parameters.ramp = SpanText(Span(0));
        assert!(queue.native(Span(800_000_001)) >= 1.0 && queue.native(Span::us(800)) <= 0.0);
    }

    #[test]
    fn without_a_limit_250_ms_may_wait() {
        // 12 Mbit/s send 250 packets of 1,500 bytes in 250 ms; both queues share the room.
        let mut queue = Driven::new("dualpi2", Limits::default());
        queue.offer(packets(0..200, 1500));
        queue.offer(with_ecn(packets(200..251, 1500), Ecn::Ect1));
        assert_eq!(queue.dropped(), [250]);
    }

    #[test]
    fn a_packet_that_is_larger_than_that_still_passes() {
        // 80 kbit/s send 2,500 bytes in 250 ms.
        let mut queue = Driven::new("dualpi2", Limits::default());
        queue.capacity = Rate(80e3);
        queue.offer(packets(0..2, 9000));
        assert_eq!(queue.dropped(), [1]);
        assert_eq!(queue.send().map(|item| item.bytes), Some(9000));
    }
}
