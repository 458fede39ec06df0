//! FQ-CoDel: flows in hashed queues take turns, sparse ones first, with CoDel in each queue (RFC 8290) [hoeiland2018].
//!
//! A flow's packets go to one of `queues` queues, by a hash. Queues have credits in bytes; a queue sends while its
//! credits are positive, and then goes to the end of the old queues with `quantum` more credits. A queue that becomes
//! active is added to the new queues, which come before the old. Once it has spent its credits, or is empty, it is old.
//! An old queue that is empty is no longer active.
//!
//! Packets over the limit are dropped at the head of the queue with the most bytes: half of its packets, but at most 64
//! [hoeiland2018, sec. 4.1].

use std::collections::VecDeque;

use anabranch_core::quantity::{BytesText, SpanText};
use anabranch_core::{Bytes, Rate, Time};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};

use super::codel::{self, Control, Settings};
use super::discipline::{Discipline, Item, Limits};
use super::fifo::Fifo;
use super::flows::mix;
use super::read;

/// Limit in packets where the link has none [hoeiland2018, sec. 5.2.3].
const LIMIT: u32 = 10_240;

/// Greatest number of packets that are dropped at once because there is no room [hoeiland2018, sec. 5.2.8].
const BATCH: usize = 64;

/// Greatest number of queues.
const MOST_QUEUES: u32 = 65_536;

/// Parameters of FQ-CoDel [hoeiland2018, sec. 5.2]. If a link has no limit, 10,240 packets may wait.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "FqCoDelParameters")]
#[serde(deny_unknown_fields, default)]
pub struct Parameters {
    /// Acceptable wait of packets in a standing queue; 1 us to 100 s.
    #[serde(deserialize_with = "read::span")]
    pub target: SpanText,
    /// Longest time for which packets may exceed the target, about a round trip; 1 us to 100 s.
    #[serde(deserialize_with = "read::span")]
    pub interval: SpanText,
    /// Bytes that a queue may send in its turn; 1 B to 1 GB.
    #[serde(deserialize_with = "read::size")]
    pub quantum: BytesText,
    /// Number of queues to which flows are hashed; 1 to 65536.
    #[serde(deserialize_with = "queue_count")]
    #[schemars(range(min = 1, max = 65536))]
    pub queues: u32,
}

impl Default for Parameters {
    fn default() -> Self {
        let codel::Parameters { target, interval } = codel::Parameters::default();
        Self { target, interval, quantum: BytesText(Bytes(1514)), queues: 1024 }
    }
}

fn queue_count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    let value = u32::deserialize(deserializer)?;
    let is_good = (1..=MOST_QUEUES).contains(&value);
    if is_good { Ok(value) } else { Err(de::Error::custom(format!("it is {value}; it must be 1 to {MOST_QUEUES}"))) }
}

pub(super) fn discipline(parameters: &Parameters, limits: Limits, mut random: ChaCha8Rng) -> Box<dyn Discipline> {
    let Parameters { target: SpanText(target), interval: SpanText(interval), quantum, queues } = *parameters;
    Box::new(FqCodel {
        settings: Settings { target, interval, full_packet: 0 },
        quantum: quantum.0.0 as i64,
        limits: limits.or_packets(LIMIT),
        seed: random.next_u64(),
        numbers: vec![None; queues.max(1) as usize],
        queues: Vec::new(),
        new: VecDeque::new(),
        old: VecDeque::new(),
        packets: 0,
        bytes: 0,
    })
}

struct FqCodel {
    settings: Settings,
    quantum: i64,
    limits: Limits,
    /// Seed of the hash.
    seed: u64,
    /// For each hash, the number of its queue once it has been used.
    numbers: Vec<Option<u32>>,
    queues: Vec<FlowQueue>,
    /// Active queues in the order of their turns; the new queues come before the old.
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    packets: usize,
    bytes: u64,
}

#[derive(Clone, Debug, Default)]
struct FlowQueue {
    fifo: Fifo,
    control: Control,
    /// Credits in bytes.
    credits: i64,
    is_active: bool,
}

impl FqCodel {
    /// The queue of a flow.
    fn queue_of(&mut self, flow: u32) -> u32 {
        let hash = mix(u64::from(flow) ^ self.seed) % self.numbers.len() as u64;
        *self.numbers[hash as usize].get_or_insert_with(|| {
            self.queues.push(FlowQueue::default());
            self.queues.len() as u32 - 1
        })
    }

    /// Updates the sums after a packet left.
    fn forget(&mut self, item: &Item) {
        self.packets -= 1;
        self.bytes -= u64::from(item.bytes);
    }

    /// Drops from the queue with the most bytes; if no queue has bytes, from one that has packets.
    fn drop_from_fattest(&mut self, dropped: &mut Vec<Item>) {
        let size = |queue: &&mut FlowQueue| (queue.fifo.bytes(), queue.fifo.len());
        let fattest = self.queues.iter_mut().max_by_key(size).expect("a packet waits somewhere");
        for _ in 0..(fattest.fifo.len() / 2).clamp(1, BATCH) {
            let item = fattest.fifo.pop().expect("the fattest queue has packets");
            self.packets -= 1;
            self.bytes -= u64::from(item.bytes);
            dropped.push(item);
        }
    }

    /// The next active queue, if its credits are positive. Otherwise the queue gets credits, and its turn is over.
    fn turn(&mut self) -> Option<Turn> {
        let (is_new, number) = match (self.new.front(), self.old.front()) {
            (Some(&number), _) => (true, number),
            (None, Some(&number)) => (false, number),
            (None, None) => return None,
        };
        let queue = &mut self.queues[number as usize];
        if queue.credits > 0 {
            return Some(Turn::Sends { is_new, number });
        }
        queue.credits += self.quantum;
        self.put_off(is_new);
        Some(Turn::IsOver)
    }

    /// Puts the next active queue at the end of the old ones.
    fn put_off(&mut self, is_new: bool) {
        let next = if is_new { self.new.pop_front() } else { self.old.pop_front() };
        self.old.extend(next);
    }

    /// Gives all queues at once the credits of the turns in which none of them could send.
    ///
    /// This is valid only when all queues are old and none has credits; with a small quantum there may be many such
    /// turns.
    fn skip_turns(&mut self) {
        let debt = self.old.iter().map(|&number| -self.queues[number as usize].credits).min().unwrap_or(0);
        let credits = debt.max(0) / self.quantum * self.quantum;
        for &number in &self.old {
            self.queues[number as usize].credits += credits;
        }
    }
}

/// The result of the turn of a queue.
enum Turn {
    Sends { is_new: bool, number: u32 },
    IsOver,
}

impl Discipline for FqCodel {
    fn enqueue(&mut self, now: Time, item: Item, _: Rate, dropped: &mut Vec<Item>) {
        if !self.limits.allow(1, u64::from(item.bytes)) {
            dropped.push(item);
            return;
        }
        self.settings.see(&item);
        let number = self.queue_of(item.flow);
        let queue = &mut self.queues[number as usize];
        queue.fifo.push(now, item);
        self.packets += 1;
        self.bytes += u64::from(item.bytes);
        if !queue.is_active {
            queue.is_active = true;
            queue.credits = self.quantum;
            self.new.push_back(number);
        }
        while !self.limits.allow(self.packets, self.bytes) {
            self.drop_from_fattest(dropped);
        }
    }

    fn dequeue(&mut self, now: Time, _: Rate, dropped: &mut Vec<Item>) -> Option<Item> {
        let mut over_in_a_row = 0;
        loop {
            let Turn::Sends { is_new, number } = self.turn()? else {
                over_in_a_row += 1;
                if over_in_a_row > self.old.len() && self.new.is_empty() {
                    self.skip_turns();
                    over_in_a_row = 0;
                }
                continue;
            };
            let queue = &mut self.queues[number as usize];
            let dropped_before = dropped.len();
            let item = queue.control.dequeue(now, &mut queue.fifo, &self.settings, dropped);
            if let Some(item) = &item {
                queue.credits -= i64::from(item.bytes);
            } else if is_new {
                self.put_off(is_new);
            } else {
                queue.is_active = false;
                self.old.pop_front();
            }
            dropped[dropped_before..].iter().chain(&item).for_each(|gone| self.forget(gone));
            if item.is_some() {
                return item;
            }
            over_in_a_row = 0;
        }
    }

    fn backlog(&self) -> Bytes {
        Bytes(self.bytes)
    }

    fn len(&self) -> usize {
        self.packets
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Driven, at_most, at_most_bytes, ms, of_flow, packets};

    #[test]
    fn a_new_flow_goes_before_old_ones() {
        // A quantum of 1,500 bytes is one packet. Flow 1 has sent one and is old when flow 2 comes with two packets:
        // flow 2 sends one at once, then it is old too and they take turns.
        let mut queue = Driven::new("fq-codel.quantum = \"1500 B\"", Limits::default());
        queue.offer(of_flow(packets(10..14, 1500), 1));
        assert_eq!(queue.send().unwrap().packet, 10);
        queue.offer(of_flow(packets(20..22, 1500), 2));
        assert_eq!(queue.sent(), [20, 11, 21, 12, 13]);
    }

    #[test]
    fn a_flow_that_comes_back_at_once_is_not_new() {
        // Flow 2 sends its only packet as a new queue. Empty, it becomes old before it is forgotten: with its next
        // packet it waits for its turn.
        let mut queue = Driven::new("fq-codel.quantum = \"1500 B\"", Limits::default());
        queue.offer(of_flow(packets(10..14, 1500), 1));
        queue.offer(of_flow(packets(20..21, 500), 2));
        assert_eq!([queue.send(), queue.send()].map(|item| item.unwrap().packet), [10, 20]);
        assert_eq!(queue.send().unwrap().packet, 11);
        queue.offer(of_flow(packets(21..22, 500), 2));
        assert_eq!(queue.sent(), [21, 12, 13]);
    }

    #[test]
    fn the_fattest_queue_loses_half_of_its_packets_from_the_head() {
        // 10 packets are allowed. Flow 1 has eight of 500 bytes, flow 2 has two of 1,500 and brings a third: 4,500
        // bytes are more than 4,000, so one of its three goes.
        let mut queue = Driven::new("fq-codel", at_most(10));
        queue.offer(of_flow(packets(10..18, 500), 1));
        queue.offer(of_flow(packets(20..23, 1500), 2));
        assert_eq!(queue.dropped(), [20]);
        // Now flow 1 has the most with 4,000 of 7,000; one more makes it nine, of which four go.
        queue.offer(of_flow(packets(18..19, 500), 1));
        assert_eq!(queue.dropped(), [20, 10, 11, 12, 13]);
    }

    #[test]
    fn no_more_than_64_are_dropped_at_once() {
        let mut queue = Driven::new("fq-codel", at_most(1000));
        queue.offer(packets(0..1001, 1500));
        assert_eq!(queue.dropped(), (0..64).collect::<Vec<_>>());
        assert_eq!(queue.queue.len(), 937);
    }

    #[test]
    fn without_a_limit_at_the_link_10240_packets_may_wait() {
        let mut queue = Driven::new("fq-codel", Limits::default());
        queue.offer(packets(0..10_240, 1500));
        assert!(queue.drops.is_empty());
        queue.offer(packets(10_240..10_241, 1500));
        assert_eq!(queue.drops.len(), 64);
        let mut queue = Driven::new("fq-codel", at_most_bytes(1 << 40));
        queue.offer(packets(0..10_241, 1500));
        assert!(queue.drops.is_empty());
    }

    #[test]
    fn a_quantum_of_a_byte_shares_as_evenly_and_takes_no_longer() {
        let mut queue = Driven::new("fq-codel.quantum = \"1 B\"", Limits::default());
        queue.offer(of_flow(packets(0..3, 1_000_000_000), 1));
        queue.offer(of_flow(packets(10..13, 1_000_000_000), 2));
        assert_eq!(queue.sent(), [0, 10, 1, 11, 2, 12]);
    }

    #[test]
    fn each_flow_has_its_own_codel() {
        // Flow 1 has a standing queue, flow 2 sends a packet every 10 ms; both get what they ask for until CoDel drops
        // of flow 1 alone.
        let mut queue = Driven::new("fq-codel", Limits::default());
        queue.offer(of_flow(packets(0..1000, 1500), 1));
        for millisecond in 1..500 {
            queue.now = ms(f64::from(millisecond));
            if millisecond % 10 == 0 {
                queue.offer(of_flow(packets(0..1, 1500), 2));
            }
            queue.send().unwrap();
        }
        assert!(queue.drops.len() > 3 && queue.drops.iter().all(|item| item.flow == 1));
    }
}
