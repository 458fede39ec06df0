//! Prefetching: reads the values that the next events need, so that the processor fetches them all at once.
//!
//! In a large network nearly every value that an event needs lies in main memory, and one leads to the next: packet,
//! step, link, queue. Events that are served one by one would wait for each of these in turn. Here one step is read for
//! a batch of events before the next step is; the reads of a step do not wait for each other. Nothing depends on the
//! values that are read. Everything that events touch has methods `prefetch`, which read it and give a number without
//! meaning.

use anabranch_proto::transport::{Sink, Source};

use super::World;
use super::clock::{Kind, id};
use crate::calendar::Event;
use crate::packet::Role;
use crate::routes::END;

/// The number of events that are read together.
const BATCH: usize = 32;

/// Up to a batch of numbers.
struct Few {
    numbers: [u32; BATCH],
    count: usize,
}

impl Few {
    fn new() -> Self {
        Self { numbers: [0; BATCH], count: 0 }
    }

    #[inline]
    fn push(&mut self, number: u32) {
        self.numbers[self.count % BATCH] = number;
        self.count += 1;
    }

    #[inline]
    fn iter(&self) -> std::iter::Copied<std::slice::Iter<'_, u32>> {
        self.numbers[..self.count.min(BATCH)].iter().copied()
    }
}

impl World<'_> {
    /// Reads ahead once a batch of events has been served.
    #[inline]
    pub(super) fn look_ahead(&self) {
        let events = self.clock.preview(BATCH);
        if !events.is_empty() {
            std::hint::black_box(self.read_ahead(events));
        }
    }

    fn read_ahead(&self, events: &[Event]) -> u64 {
        // First the packets that the events name, and their places on their paths.
        let (mut steps, mut control_steps, mut senders) = (Few::new(), Few::new(), Few::new());
        let mut packets = Few::new();
        for event in events {
            if Kind::Data.is_of(event) {
                steps.push(self.data.packet(event.packet).at + 1);
                packets.push(event.packet);
            } else if Kind::Control.is_of(event) || Kind::Headed.is_of(event) {
                let packet = self.control_links.packet(event.packet);
                control_steps.push(packet.at + u32::from(!packet.is_returning));
            } else if Kind::Send.is_of(event) {
                senders.push(id(event));
            } else if Kind::Enter.is_of(event) {
                steps.push(self.data.packet(event.packet).at);
                packets.push(event.packet);
            }
        }
        // Then the links that come next, and the subflows of packets at their ends.
        let (mut links, mut control_links) = (Few::new(), Few::new());
        let (mut arriving, mut ending) = (Few::new(), Few::new());
        let mut seen = 0;
        for (step, packet) in steps.iter().zip(packets.iter()) {
            let link = self.routes.steps[step as usize];
            if link != END {
                links.push(link);
            } else if matches!(self.data.packet(packet).role, Role::Paced | Role::Stray) {
                arriving.push(self.data.packet(packet).subflow);
            } else {
                ending.push(packet);
            }
        }
        for step in control_steps.iter() {
            let link = self.routes.steps[step as usize];
            if link != END {
                control_links.push(link);
            }
        }
        for sender in senders.iter() {
            let subflow = &self.subflows[sender as usize];
            links.push(self.routes.steps[subflow.first() as usize]);
            seen ^= self.connections[subflow.connection()].prefetch();
        }
        // Then the values of these links and subflows.
        for link in links.iter() {
            seen ^= self.links.prefetch(link);
        }
        for link in control_links.iter() {
            seen ^= self.control_links.prefetch(link);
        }
        for owner in arriving.iter() {
            seen ^= self.subflows[owner as usize].prefetch();
        }
        for link in links.iter() {
            seen ^= self.links.prefetch_at_queue(link);
        }
        if ending.count > 0 { seen ^ self.read_ends(&ending) } else { seen }
    }

    /// Reads the values that packets of the transport need at their ends, and the links that their acknowledgements
    /// enter.
    fn read_ends(&self, packets: &Few) -> u64 {
        let (mut links, mut sources, mut sinks) = (Few::new(), Few::new(), Few::new());
        let mut seen = 0;
        for packet in packets.iter() {
            let (subflow, role) = (self.data.packet(packet).subflow, self.data.packet(packet).role);
            seen ^= self.data.payload(packet).prefetch() ^ self.subflows[subflow as usize].prefetch();
            match role {
                Role::Ack => sources.push(subflow),
                Role::Request => links.push(self.routes.steps[self.subflows[subflow as usize].first() as usize]),
                Role::Segment | Role::Paced | Role::Stray => {
                    sinks.push(subflow);
                    links.push(self.routes.steps[self.routes.back[subflow as usize] as usize]);
                    if self.transport.subflow(subflow).is_fetched() {
                        sources.push(subflow);
                    }
                }
            }
        }
        let endpoint = |subflow: u32| self.transport.endpoint(self.subflows[subflow as usize].connection());
        let path = |subflow: u32| {
            let first = self.routes.subflows[self.subflows[subflow as usize].connection() as usize];
            (subflow - first) as usize
        };
        for link in links.iter() {
            seen ^= self.links.prefetch(link);
        }
        for subflow in sources.iter().chain(sinks.iter()) {
            seen ^= endpoint(subflow).prefetch() ^ self.transport.subflow(subflow).prefetch();
        }
        for subflow in sinks.iter() {
            seen ^= endpoint(subflow).sink().map_or(0, Sink::prefetch);
        }
        for subflow in sources.iter() {
            seen ^= endpoint(subflow).source().map_or(0, Source::prefetch);
        }
        for subflow in sinks.iter() {
            seen ^= endpoint(subflow).sink().map_or(0, |sink| sink.prefetch_at(path(subflow)));
        }
        for subflow in sources.iter() {
            seen ^= endpoint(subflow).source().map_or(0, |source| source.prefetch_at(path(subflow)));
        }
        for subflow in sources.iter() {
            seen ^= endpoint(subflow).source().map_or(0, |source| source.prefetch_at_sent(path(subflow)));
        }
        for link in links.iter() {
            seen ^= self.links.prefetch_at_queue(link);
        }
        seen
    }
}
