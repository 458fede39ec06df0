//! Prefetching: reads what the next events will need, so that the processor fetches all of it at once.
//!
//! In a large network nearly everything an event touches is far from the processor, and one thing leads to the next:
//! packet, step, link, queue. Served one by one, events would wait for each of these in turn. Here each step is read for
//! a batch of events before the next step is; the reads of a step do not wait for each other. Nothing depends on what is
//! read. Whatever events touch has methods `prefetch`, which read it and give a number that means nothing.

use crate::calendar::Event;
use crate::packet::Role;
use crate::routes::END;
use crate::world::{ID_BITS, Kind, World};

/// So many events are looked at together.
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
    /// Reads ahead if a batch of events has been served.
    #[inline]
    pub(crate) fn look_ahead(&self) {
        let events = self.calendar.preview(BATCH);
        if !events.is_empty() {
            std::hint::black_box(self.read_ahead(events));
        }
    }

    fn read_ahead(&self, events: &[Event]) -> u64 {
        // First what the events name: the packets, and where in their paths they are.
        let (mut steps, mut control_steps, mut senders) = (Few::new(), Few::new(), Few::new());
        let mut packets = Few::new();
        for event in events {
            let kind = event.key >> ID_BITS;
            if kind == Kind::Data as u32 {
                steps.push(self.packets[event.packet].at + 1);
                packets.push(event.packet);
            } else if kind == Kind::Control as u32 || kind == Kind::Headed as u32 {
                let packet = &self.control_links.packets[event.packet];
                control_steps.push(packet.at + u32::from(!packet.is_returning));
            } else if kind == Kind::Send as u32 {
                senders.push(event.key & ((1 << ID_BITS) - 1));
            } else if kind == Kind::Enter as u32 {
                steps.push(self.packets[event.packet].at);
                packets.push(event.packet);
            }
        }
        // Then the links that these lead to, and whose packets are there.
        let (mut links, mut control_links) = (Few::new(), Few::new());
        let (mut arriving, mut ending) = (Few::new(), Few::new());
        let mut seen = 0;
        for (step, packet) in steps.iter().zip(packets.iter()) {
            let link = self.routes.steps[step as usize];
            if link != END {
                links.push(link);
            } else if matches!(self.packets[packet].role, Role::Paced | Role::Stray) {
                arriving.push(self.packets[packet].subflow);
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
            links.push(self.routes.steps[subflow.first as usize]);
            seen ^= self.connections[subflow.connection as usize].left;
        }
        // Then what they hold.
        for link in links.iter() {
            seen ^= self.links.prefetch(link);
        }
        for link in control_links.iter() {
            seen ^= self.control_links.prefetch(link) ^ u64::from(self.controls[0].is_clear(link as usize));
        }
        for owner in arriving.iter() {
            seen ^= self.subflows[owner as usize].prefetch();
        }
        for link in links.iter() {
            seen ^= self.links.prefetch_at_queue(link);
        }
        if ending.count > 0 { seen ^ self.read_ends(&ending) } else { seen }
    }

    /// Reads what packets of the transport need at their ends, and the links that acknowledgements of them enter.
    fn read_ends(&self, packets: &Few) -> u64 {
        let (mut links, mut sources, mut sinks) = (Few::new(), Few::new(), Few::new());
        let mut seen = 0;
        for packet in packets.iter() {
            let (subflow, role) = (self.packets[packet].subflow, self.packets[packet].role);
            seen ^= self.payloads[packet as usize].prefetch() ^ self.subflows[subflow as usize].prefetch();
            match role {
                Role::Ack => sources.push(subflow),
                Role::Request => links.push(self.routes.steps[self.subflows[subflow as usize].first as usize]),
                Role::Segment | Role::Paced | Role::Stray => {
                    sinks.push(subflow);
                    links.push(self.routes.steps[self.routes.back[subflow as usize] as usize]);
                    if self.subflow_transports[subflow as usize].answers.is_some() {
                        sources.push(subflow);
                    }
                }
            }
        }
        let endpoint = |subflow: u32| &self.endpoints[self.subflows[subflow as usize].connection as usize];
        let path = |subflow: u32| {
            let first = self.routes.subflows[self.subflows[subflow as usize].connection as usize];
            (subflow - first) as usize
        };
        for link in links.iter() {
            seen ^= self.links.prefetch(link);
        }
        for subflow in sources.iter().chain(sinks.iter()) {
            seen ^= endpoint(subflow).completed_at ^ self.subflow_transports[subflow as usize].prefetch();
        }
        for subflow in sinks.iter() {
            seen ^= endpoint(subflow).sink.as_ref().map_or(0, |sink| sink.prefetch());
        }
        for subflow in sources.iter() {
            seen ^= endpoint(subflow).source.as_ref().map_or(0, |source| source.prefetch());
        }
        for subflow in sinks.iter() {
            seen ^= endpoint(subflow).sink.as_ref().map_or(0, |sink| sink.prefetch_at(path(subflow)));
        }
        for subflow in sources.iter() {
            seen ^= endpoint(subflow).source.as_ref().map_or(0, |source| source.prefetch_at(path(subflow)));
        }
        for subflow in sources.iter() {
            seen ^= endpoint(subflow).source.as_ref().map_or(0, |source| source.prefetch_at_sent(path(subflow)));
        }
        for link in links.iter() {
            seen ^= self.links.prefetch_at_queue(link);
        }
        seen
    }
}
