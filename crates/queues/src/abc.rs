//! ABC router: brakes enough packets of ABC sources to bring their rate to a target [goyal2020].
//!
//! ```text
//! target = eta capacity - capacity / delta (wait - target wait)+              paper
//! target = eta sent     + capacity / delta min(0, target wait - wait)         code
//! f      = target / (2 sent), 0 to 1                   the share of packets that accelerate their source
//! tokens = min(tokens + f, most), for each packet sent; if there is more than 1, the packet uses one and is not braked
//! ```
//!
//! The value `sent` is the rate of packets that left in the last T, including the present one. An acceleration makes
//! the source send two packets and a brake none, so accelerating half of the sent packets keeps a rate. Routers only
//! turn an acceleration into a brake: the tightest router on a path decides. A brake is the mark CE here, and an
//! acceleration is ECT(1), as in the authors' code.
//!
//! In the authors' code the wait is not that of the packet, but the backlog divided by the capacity. Besides, each
//! packet that an idle link could have sent yields 0.49 tokens, which is a parameter here. If a link may send only at
//! some instants, its capacity is the rate of its opportunities in the last T. The router does not change packets that
//! are not ECT(1).

use anabranch_core::quantity::SpanText;
use anabranch_core::{Bytes, Rate, Span, Time};
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::discipline::{Discipline, Ecn, Item, Limits};
use super::fifo::Fifo;
use super::meter::Meter;
use super::read;

/// Default limit on waiting packets, as in the authors' experiments.
const PACKETS: u32 = 250;

/// Tokens for a packet that an idle link could have sent, in the authors' code.
const UNUSED: f64 = 0.49;

/// Size of such a packet in bytes.
const FULL_PACKET: f64 = 1500.0;

/// Parameters of an ABC router.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "AbcQueueParameters")]
#[serde(deny_unknown_fields, default)]
pub struct Parameters {
    /// Formula of the target rate.
    pub form: Form,
    /// Target utilisation with an empty queue (eta); over 0 and at most 1.
    #[serde(deserialize_with = "read::share")]
    #[schemars(range(min = 0, max = 1))]
    pub utilisation: f64,
    /// Time in which the router drains a queue whose wait is too long (delta): over two thirds of the longest round
    /// trip.
    #[serde(deserialize_with = "read::span")]
    pub drain: SpanText,
    /// Target wait of packets (`d_t`).
    #[serde(deserialize_with = "read::span_or_none")]
    pub target: SpanText,
    /// Averaging time of the rates (T).
    #[serde(deserialize_with = "read::span")]
    pub window: SpanText,
    /// Greatest number of accelerations saved up; 1 or more.
    #[serde(deserialize_with = "read::count")]
    #[schemars(range(min = 1))]
    pub tokens: u32,
    /// Tokens for each 1,500 bytes that an idle link could have sent, 0 to 1. By default 0 for the paper's form and
    /// 0.49 for the code's.
    #[serde(deserialize_with = "read::some_probability", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 1))]
    pub unused: Option<f64>,
}

impl Default for Parameters {
    fn default() -> Self {
        let ms = |ms: u64| SpanText(Span::ms(ms));
        Self {
            form: Form::Paper,
            utilisation: 0.98,
            drain: ms(133),
            target: ms(50),
            window: ms(20),
            tokens: 5,
            unused: None,
        }
    }
}

impl Parameters {
    /// Tokens for each packet that an idle link could have sent.
    fn for_unused(&self) -> f64 {
        self.unused.unwrap_or(match self.form {
            Form::Paper => 0.0,
            Form::Code => UNUSED,
        })
    }
}

/// The formula of the target rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "AbcForm")]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// The formula from the capacity and the wait of the packet, as printed in the paper.
    Paper,
    /// The formula from the sent rate and an estimate of the wait, as in the authors' code.
    Code,
}

pub(super) fn discipline(parameters: &Parameters, limits: Limits, _: ChaCha8Rng) -> Box<dyn Discipline> {
    Box::new(Abc {
        parameters: parameters.clone(),
        limits: limits.or_packets(PACKETS),
        fifo: Fifo::default(),
        sent: Meter::new(parameters.window.0),
        tokens: f64::from(parameters.tokens),
    })
}

struct Abc {
    parameters: Parameters,
    limits: Limits,
    fifo: Fifo,
    /// Rate of sent packets of ABC sources.
    sent: Meter,
    tokens: f64,
}

impl Abc {
    /// Share of packets that accelerate, for rates in bit/s and a wait in seconds.
    fn share(&self, capacity: f64, sent: f64, wait: f64) -> f64 {
        let late = (wait - self.parameters.target.0.seconds()).max(0.0);
        let base = match self.parameters.form {
            Form::Paper => capacity,
            Form::Code => sent,
        };
        let target = self.parameters.utilisation * base - capacity / self.parameters.drain.0.seconds() * late;
        (0.5 * target / sent).clamp(0.0, 1.0)
    }

    /// Wait of a packet in seconds, according to the form.
    fn wait(&self, item: &Item, now: Time, capacity: f64) -> f64 {
        if self.parameters.form == Form::Code && capacity > 0.0 {
            8.0 * (self.fifo.bytes() + u64::from(item.bytes)) as f64 / capacity
        } else {
            item.wait(now).seconds()
        }
    }

    fn add_tokens(&mut self, more: f64) {
        self.tokens = (self.tokens + more).min(f64::from(self.parameters.tokens));
    }

    /// Brakes the source of a packet, or lets the packet accelerate it.
    fn decide(&mut self, item: &mut Item, now: Time, capacity: f64) {
        self.sent.add(now, item.bytes);
        let sent = self.sent.rate(now);
        let share = self.share(capacity, sent, self.wait(item, now, capacity));
        self.add_tokens(share);
        if item.ecn == Ecn::Ce {
            return;
        }
        if self.tokens > 1.0 {
            self.tokens -= 1.0;
        } else {
            item.mark();
        }
    }
}

impl Discipline for Abc {
    fn enqueue(&mut self, now: Time, item: Item, _: Rate, dropped: &mut Vec<Item>) {
        self.fifo.push_within(now, item, &self.limits, dropped);
    }

    fn dequeue(&mut self, now: Time, capacity: Rate, _: &mut Vec<Item>) -> Option<Item> {
        let mut item = self.fifo.pop()?;
        if matches!(item.ecn, Ecn::Ect1 | Ecn::Ce) {
            self.decide(&mut item, now, capacity.0.min(1e15));
        }
        Some(item)
    }

    fn on_unused(&mut self, bytes: f64) {
        self.add_tokens(self.parameters.for_unused() * (bytes / FULL_PACKET).floor());
    }

    fn measured_over(&self) -> Option<Span> {
        Some(self.parameters.window.0)
    }

    fn backlog(&self) -> Bytes {
        Bytes(self.fifo.bytes())
    }

    fn len(&self) -> usize {
        self.fifo.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Driven, ms, packets, with_ecn};

    fn abc(form: Form) -> Abc {
        let parameters = Parameters { form, ..Parameters::default() };
        let limits = Limits::default();
        let sent = Meter::new(parameters.window.0);
        Abc { parameters, limits, fifo: Fifo::default(), sent, tokens: 5.0 }
    }

    #[test]
    fn the_share_of_accelerations_is_as_printed_and_as_in_the_code() {
        // A packet a ms, 0.9 of it sent, 40 ms too late: 0.98 - 40 / 133 = 0.679248, by 1.8; and 0.882 - 0.300752.
        for (form, share) in [(Form::Paper, 0.377_360), (Form::Code, 0.322_916)] {
            assert!((abc(form).share(1000.0, 900.0, 0.09) - share).abs() < 1e-6, "{form:?}");
        }
    }

    /// Of 1,000 packets that leave one each millisecond, while so many wait, how many accelerate.
    fn accelerations(form: &str, waiting: u32) -> usize {
        let mut link = Driven::new(&format!("abc.form = \"{form}\""), Limits { packets: Some(5000), bytes: None });
        link.offer(with_ecn(packets(0..waiting, 1500), Ecn::Ect1));
        let sent = (0..1000).filter(|&i| {
            link.now = ms(f64::from(waiting + i));
            link.offer(with_ecn(packets(i..i + 1, 1500), Ecn::Ect1));
            link.send().unwrap().ecn == Ecn::Ect1
        });
        sent.count()
    }

    #[test]
    fn half_of_the_packets_accelerate_on_a_busy_link_with_a_short_queue() {
        // 49 of 100, and the five saved up.
        for form in ["paper", "code"] {
            let count = accelerations(form, 20);
            assert!((485..=500).contains(&count), "{form}: {count}");
        }
    }

    #[test]
    fn a_long_queue_brakes() {
        // All wait 103 ms, 53 too long: (0.98 - 53 / 133) / 2 = 0.291. From 181 ms on none accelerates.
        for form in ["paper", "code"] {
            let (some, none) = (accelerations(form, 102), accelerations(form, 190));
            assert!((285..=305).contains(&some) && none <= 5, "{form}: {some}, {none}");
        }
    }

    #[test]
    fn a_brake_stays_one_and_others_pass_as_they_are() {
        let mut link = Driven::new("abc", Limits::default());
        for ecn in [Ecn::Ce, Ecn::NotEct, Ecn::Ect0] {
            link.offer(with_ecn(packets(0..50, 1500), ecn));
            assert!(link.send_all().iter().all(|item| item.ecn == ecn));
        }
    }

    #[test]
    fn what_could_have_been_sent_brings_accelerations() {
        // Packets that wait 103 ms bring 0.291 tokens each, and 1,500 bytes that were not used 0.49: with four of these
        // between two packets there are 2.251 for each, so none brakes. In the paper's form they count only if told so.
        let accelerations = |parameters: &str| {
            let mut link = Driven::new(parameters, Limits::default());
            link.offer(with_ecn(packets(0..102, 1500), Ecn::Ect1));
            (0..100)
                .filter(|&i| {
                    link.now = ms(f64::from(102 + i));
                    link.queue.on_unused(6100.0);
                    link.offer(with_ecn(packets(i..i + 1, 1500), Ecn::Ect1));
                    link.send().unwrap().ecn == Ecn::Ect1
                })
                .count()
        };
        assert_eq!(accelerations("abc.form = \"code\""), 100);
        assert_eq!(accelerations("abc = { form = \"paper\", unused = 0.49 }"), 100);
        assert!(accelerations("abc.form = \"paper\"") < 40);
    }
}
