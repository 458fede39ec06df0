//! A queue in the hands of a test.

use std::ops::Range;

use anabranch_core::random::{Purpose, stream};
use anabranch_core::{Bytes, Rate, Time};
use serde::Deserialize;

use super::{Discipline, Ecn, Item, Limits, QueueDiscipline};

#[derive(Deserialize)]
struct Link {
    queue: QueueDiscipline,
}

/// Reads `codel`, or `codel.target = "5 ms"`, as after `queue` in a file.
pub fn read(text: &str) -> Result<QueueDiscipline, toml::de::Error> {
    let line = if text.contains('=') { format!("queue.{text}") } else { format!("queue = \"{text}\"") };
    toml::from_str::<Link>(&line).map(|link| link.queue)
}

/// A time in milliseconds.
pub fn ms(milliseconds: f64) -> Time {
    Time::from_seconds(milliseconds * 1e-3).unwrap()
}

/// Packets of a size, all of flow 0 and none that can be marked.
pub fn packets(numbers: Range<u32>, bytes: u32) -> Vec<Item> {
    numbers.map(|packet| Item { packet, bytes, flow: 0, ecn: Ecn::NotEct, arrived: Time(0) }).collect()
}

/// Sets the ECN field of packets.
pub fn with_ecn(items: Vec<Item>, ecn: Ecn) -> Vec<Item> {
    items.into_iter().map(|item| Item { ecn, ..item }).collect()
}

/// Assigns packets to a flow.
pub fn of_flow(items: Vec<Item>, flow: u32) -> Vec<Item> {
    items.into_iter().map(|item| Item { flow, ..item }).collect()
}

/// A queue at a link of 12 Mbit/s, which sends a packet of 1,500 bytes in a millisecond.
pub struct Driven {
    pub queue: Box<dyn Discipline>,
    pub now: Time,
    pub capacity: Rate,
    pub drops: Vec<Item>,
}

impl Driven {
    pub fn new(queue: &str, limits: Limits) -> Self {
        Self::of(&read(queue).unwrap(), limits)
    }

    pub fn of(queue: &QueueDiscipline, limits: Limits) -> Self {
        let queue = queue.discipline(limits, stream(1, Purpose::Faults, 0));
        Self { queue, now: Time(0), capacity: Rate(12e6), drops: Vec::new() }
    }

    /// Packets come now.
    pub fn offer(&mut self, items: Vec<Item>) {
        for item in items {
            self.queue.enqueue(self.now, item, self.capacity, &mut self.drops);
        }
    }

    /// The next packet leaves now.
    pub fn send(&mut self) -> Option<Item> {
        self.queue.dequeue(self.now, self.capacity, &mut self.drops)
    }

    /// Sends all packets now, and returns them in order.
    pub fn send_all(&mut self) -> Vec<Item> {
        std::iter::from_fn(|| self.send()).collect()
    }

    /// Sends all packets now, and returns their numbers in order.
    pub fn sent(&mut self) -> Vec<u32> {
        self.send_all().iter().map(|item| item.packet).collect()
    }

    /// The numbers of the packets that were dropped so far.
    pub fn dropped(&self) -> Vec<u32> {
        self.drops.iter().map(|item| item.packet).collect()
    }
}

/// A limit in packets.
pub fn at_most(packets: u32) -> Limits {
    Limits { packets: Some(packets), bytes: None }
}

/// A limit in bytes.
pub fn at_most_bytes(bytes: u64) -> Limits {
    Limits { packets: None, bytes: Some(Bytes(bytes)) }
}
