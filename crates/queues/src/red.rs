//! RED, random early detection: drops or marks at random on arrival, by the average queue [floyd1993].
//!
//! ```text
//! avg <- (1 - wq) avg + wq q      when a packet finds q > 0 packets waiting
//! avg <- (1 - wq)^m avg           when it finds none; m: typical packets that the link could have sent while idle
//! pb = 0                                       avg < min
//!      maxp (avg - min) / (max - min)          min <= avg < max
//!      maxp + (1 - maxp) (avg - max) / max     max <= avg < 2 max, if gentle
//!      1                                       otherwise
//! pa = pb / (1 - count pb)        count: packets let in since the last mark, or since avg reached min
//! ```
//!
//! A packet is marked with probability pa, or dropped if it cannot be marked. So the distance from mark to mark is 1 to
//! 1 / pb packets, each number with equal probability [floyd1993, sec. 7].
//!
//! differs: the paper's pseudo-code also counts the present packet, except for the first; its section 7 does not, and
//! only then are the numbers equally likely. A packet that can be marked is never dropped because of the average,
//! however large; the limits of the link drop packets. The queue consists of the waiting packets, without the packet in
//! transmission.

use anabranch_core::quantity::BytesText;
use anabranch_core::{Bytes, Rate, Time};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};

use super::discipline::{Discipline, Item, Limits};
use super::fifo::Fifo;
use super::read;

/// Parameters of RED: the thresholds of its paper, and the greatest probability that its authors recommended later.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "RedParameters")]
#[serde(deny_unknown_fields, default)]
pub struct Parameters {
    /// Average queue in packets below which nothing is marked (`min_th`); over 0 and at most 1e9.
    #[schemars(range(max = 1e9), extend("exclusiveMinimum" = 0))]
    pub min: f64,
    /// Average queue in packets from which on all are marked, or from which on the probability rises faster if `gentle`
    /// (`max_th`); more than `min`, by default three times as much.
    #[schemars(range(max = 1e9), extend("exclusiveMinimum" = 0))]
    pub max: f64,
    /// Marking probability as the average reaches `max` (`max_p`); over 0 and at most 1.
    #[schemars(range(max = 1), extend("exclusiveMinimum" = 0))]
    pub max_probability: f64,
    /// The weight of the present queue in the average (`w_q`); over 0 and at most 1.
    #[schemars(range(max = 1), extend("exclusiveMinimum" = 0))]
    pub weight: f64,
    /// Whether the probability rises to 1 between `max` and twice that, instead of at once.
    pub gentle: bool,
    /// Size of a typical packet, for the number of packets that an idle link could have sent; 1 B to 1 GB.
    pub typical_packet: BytesText,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            min: 5.0,
            max: 15.0,
            max_probability: 0.1,
            weight: 0.002,
            gentle: true,
            typical_packet: BytesText(Bytes(1500)),
        }
    }
}

/// The parameters as in a file, before the check of the thresholds.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Written {
    #[serde(deserialize_with = "threshold")]
    min: f64,
    #[serde(deserialize_with = "some_threshold")]
    max: Option<f64>,
    #[serde(deserialize_with = "read::share")]
    max_probability: f64,
    #[serde(deserialize_with = "read::share")]
    weight: f64,
    gentle: bool,
    #[serde(deserialize_with = "read::size")]
    typical_packet: BytesText,
}

impl Default for Written {
    fn default() -> Self {
        let Parameters { min, max: _, max_probability, weight, gentle, typical_packet } = Parameters::default();
        Self { min, max: None, max_probability, weight, gentle, typical_packet }
    }
}

impl<'de> Deserialize<'de> for Parameters {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Written { min, max, max_probability, weight, gentle, typical_packet } = Written::deserialize(deserializer)?;
        let max = max.unwrap_or(3.0 * min);
        if max > min {
            Ok(Self { min, max, max_probability, weight, gentle, typical_packet })
        } else {
            Err(de::Error::custom(format!("max is {max} and min is {min}; max must be more than min")))
        }
    }
}

fn threshold<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let value = f64::deserialize(deserializer)?;
    let is_good = value > 0.0 && value <= 1e9;
    if is_good {
        Ok(value)
    } else {
        Err(de::Error::custom(format!("it is {value}; it must be over 0 and at most 1e9")))
    }
}

fn some_threshold<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    threshold(deserializer).map(Some)
}

pub(super) fn discipline(parameters: &Parameters, limits: Limits, random: ChaCha8Rng) -> Box<dyn Discipline> {
    Box::new(Red { average: Average::new(parameters), limits, random, fifo: Fifo::default() })
}

struct Red {
    average: Average,
    limits: Limits,
    random: ChaCha8Rng,
    fifo: Fifo,
}

impl Discipline for Red {
    fn enqueue(&mut self, now: Time, mut item: Item, capacity: Rate, dropped: &mut Vec<Item>) {
        self.average.observe(now, self.fifo.len(), capacity);
        let chance = self.average.chance();
        // No number is drawn where none is needed.
        let is_chosen = chance >= 1.0 || chance > 0.0 && self.random.random::<f64>() < chance;
        if is_chosen {
            self.average.let_in = 0;
        }
        if is_chosen && !item.mark() {
            dropped.push(item);
        } else {
            self.fifo.push_within(now, item, &self.limits, dropped);
        }
    }

    fn dequeue(&mut self, now: Time, _: Rate, _: &mut Vec<Item>) -> Option<Item> {
        let item = self.fifo.pop()?;
        if self.fifo.is_empty() {
            self.average.empty_since = now;
        }
        Some(item)
    }

    fn backlog(&self) -> Bytes {
        Bytes(self.fifo.bytes())
    }

    fn len(&self) -> usize {
        self.fifo.len()
    }
}

/// The average queue, and the marking probability that follows from it.
struct Average {
    parameters: Parameters,
    /// Average queue in packets.
    packets: f64,
    empty_since: Time,
    /// Number of packets let in since the last mark, or since the average reached `min`.
    let_in: u64,
}

impl Average {
    fn new(parameters: &Parameters) -> Self {
        Self { parameters: parameters.clone(), packets: 0.0, empty_since: Time(0), let_in: 0 }
    }

    /// Updates the average for an arriving packet that finds `waiting` packets.
    fn observe(&mut self, now: Time, waiting: usize, capacity: Rate) {
        let weight = self.parameters.weight;
        if waiting > 0 {
            self.packets += weight * (waiting as f64 - self.packets);
        } else if now > self.empty_since {
            let seconds = (now - self.empty_since).seconds();
            let could_send = seconds * capacity.0 / (8.0 * self.parameters.typical_packet.0.0 as f64);
            self.packets *= (1.0 - weight).powf(could_send);
            self.empty_since = now;
        }
    }

    /// The probability with which this packet is marked (pa); the packet counts as let in.
    fn chance(&mut self) -> f64 {
        if self.packets < self.parameters.min {
            self.let_in = 0;
            return 0.0;
        }
        let probability = self.probability();
        let rest = 1.0 - self.let_in as f64 * probability;
        self.let_in += 1;
        if rest > probability { probability / rest } else { 1.0 }
    }

    /// Marking probability pb.
    fn probability(&self) -> f64 {
        let Parameters { min, max, max_probability, gentle, .. } = self.parameters;
        if self.packets < min {
            0.0
        } else if self.packets < max {
            max_probability * (self.packets - min) / (max - min)
        } else if gentle && self.packets < 2.0 * max {
            max_probability + (1.0 - max_probability) * (self.packets - max) / max
        } else {
            1.0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ecn;
    use crate::testing::{Driven, ms, packets, read, with_ecn};

    fn average(packets: f64) -> Average {
        let parameters = Parameters { weight: 0.5, gentle: true, ..Parameters::default() };
        Average { packets, ..Average::new(&parameters) }
    }

    fn assert_close(value: f64, wanted: f64) {
        assert!((value - wanted).abs() < 1e-12, "{value} instead of {wanted}");
    }

    #[test]
    fn the_average_moves_towards_the_queue() {
        let mut average = average(0.0);
        for (waiting, wanted) in [(4, 2.0), (4, 3.0), (1, 2.0)] {
            average.observe(Time(0), waiting, Rate(12e6));
            assert_close(average.packets, wanted);
        }
    }

    #[test]
    fn an_idle_link_halves_the_average_with_every_packet_that_it_could_have_sent() {
        // 12 Mbit/s send 1,500 bytes in 1 ms: 3 packets in 3 ms, so 8 becomes 8 / 2^3.
        let mut average = average(8.0);
        average.empty_since = ms(5.0);
        average.observe(ms(8.0), 0, Rate(12e6));
        assert_close(average.packets, 1.0);
        // What has passed once does not pass again.
        average.observe(ms(8.0), 0, Rate(12e6));
        assert_close(average.packets, 1.0);
    }

    #[test]
    fn the_probability_rises_in_two_steps_and_is_then_one() {
        // min 5, max 15, maxp 0.1. Half way: 0.05. Gentle from 15 to 30, half way at 22.5: 0.1 + 0.9 / 2.
        for (packets, wanted) in [(4.9, 0.0), (5.0, 0.0), (10.0, 0.05), (15.0, 0.1), (22.5, 0.55), (30.0, 1.0)] {
            assert_close(average(packets).probability(), wanted);
        }
        let steep = Average { packets: 15.0, ..Average::new(&Parameters { gentle: false, ..Parameters::default() }) };
        assert_close(steep.probability(), 1.0);
    }

    #[test]
    fn the_longer_no_packet_was_marked_the_likelier_it_gets() {
        // pb is 0.1 at 15 packets: 0.1 / 1, 0.1 / 0.9, ..., 0.1 / 0.1: the tenth at the latest.
        let mut average = average(15.0);
        for before in 0..10 {
            assert_close(average.chance(), (0.1 / (1.0 - 0.1 * f64::from(before))).min(1.0));
        }
        assert_close(average.chance(), 1.0);
    }

    #[test]
    fn from_mark_to_mark_there_are_one_to_ten_packets_each_as_often() {
        // With a weight of 1 the average is the queue: 15, one leaves for each that comes, and pb is 0.1.
        let mut queue = Driven::new("red = { weight = 1, min = 5, max = 15 }", Limits::default());
        queue.offer(with_ecn(packets(0..15, 1500), Ecn::Ect0));
        let mut gaps = [0_u32; 16];
        let mut gap = 0;
        for _ in 0..20_000 {
            queue.offer(with_ecn(packets(0..1, 1500), Ecn::Ect0));
            gap += 1;
            if queue.send().unwrap().ecn == Ecn::Ce {
                gaps[std::mem::take(&mut gap)] += 1;
            }
        }
        // 20,000 / 5.5 marks, 364 of each length; 18 is a standard deviation. The first gaps are of fewer packets.
        assert!(gaps[1..11].iter().all(|&times| times.abs_diff(364) < 80), "{gaps:?}");
        assert!(gaps[11..].iter().sum::<u32>() <= 1, "{gaps:?}");
    }

    #[test]
    fn what_can_be_marked_is_marked_and_the_rest_is_dropped() {
        // With a weight of 1 the average is the queue; 2 packets or more are twice the max.
        let mut queue = Driven::new("red = { weight = 1, min = 0.5, max = 1 }", Limits::default());
        queue.offer(packets(0..1, 1500));
        queue.offer(with_ecn(packets(1..3, 1500), Ecn::Ect0));
        queue.offer(packets(3..4, 1500));
        assert_eq!(queue.dropped(), [3]);
        assert_eq!(queue.send_all()[2].ecn, Ecn::Ce);
    }

    #[test]
    fn thresholds_that_contradict_each_other_are_refused() {
        let said = read("red = { min = 20, max = 15 }").unwrap_err().to_string();
        assert!(said.contains("max is 15 and min is 20; max must be more than min"), "{said}");
        let Ok(crate::QueueDiscipline::Red(parameters)) = read("red.min = 20") else { panic!("max is 60 then") };
        assert_close(parameters.max, 60.0);
    }
}
