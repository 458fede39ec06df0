//! Relays in simulated time: nodes at which a loop of a chain ends and the next begins.
//!
//! Each piece of data carries the time at which it would have left its first source if it had never waited. At the end
//! of a chain this tells how long it has waited in all queues together, those of relays included. The time differs
//! between the loops that end at one relay. So the relay keeps it with each packet that waits, and with each packet
//! that may have to be retransmitted. A packet of the next loop that is put together from several has the time of its
//! first byte.

use std::collections::{BTreeMap, VecDeque};

use anabranch_core::random::{Purpose, stream};
use anabranch_core::{Bytes, Time};
use anabranch_proto::transport::{Ack, Chunk, NO_RATE, Relay, Source, Told};
use anabranch_queues::Ecn;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use crate::world::World;

/// A relay, which feeds the source of the connection that goes on from it.
pub(super) struct RelayEnd {
    relay: Relay,
    /// The rate that the relay reports to the loops before it.
    told: Told,
    inputs: Vec<Input>,
    /// The pieces of data handed to the next loop that may not have arrived there: the offset of the end of each, and
    /// its send time in picoseconds.
    taken: VecDeque<(u64, u64)>,
    /// Bytes handed to the next loop.
    offered: u64,
    random: ChaCha8Rng,
}

/// A loop that ends at a relay.
struct Input {
    connection: u32,
    /// The path of the connection that the last packet came over.
    path: usize,
    /// Data that arrived out of order: for each offset the number of bytes and their send time in picoseconds.
    early: BTreeMap<u64, (u32, u64)>,
    /// The number of bytes that arrived in order.
    complete: u64,
    /// Data in order that wait for the next loop: the number of bytes of each piece and their send time in picoseconds.
    waiting: VecDeque<(u64, u64)>,
}

/// The continuation of a connection at a relay: the connection of the next loop, and the number of the input there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Onward {
    pub connection: u32,
    pub input: u32,
}

impl RelayEnd {
    /// Creates an empty relay before a loop with packets of `packet` bytes.
    pub fn new(plan: &anabranch_plan::Relay, packet: Bytes, seed: u64) -> Self {
        let settings: Vec<_> = plan.inputs.iter().map(|(_, settings)| *settings).collect();
        let input = |connection: u32| Input {
            connection,
            path: 0,
            early: BTreeMap::new(),
            complete: 0,
            waiting: VecDeque::new(),
        };
        Self {
            relay: Relay::new(plan.buffer.0, packet.0 as u32, &settings),
            told: plan.told,
            inputs: plan.inputs.iter().map(|(id, _)| input(id.0)).collect(),
            taken: VecDeque::new(),
            offered: 0,
            random: stream(seed, Purpose::Relays, plan.connection.0),
        }
    }

    /// Decides at random whether an arriving packet of an input gets a mark.
    fn marks(&mut self, input: usize) -> bool {
        let share = self.relay.share(input);
        share > 0.0 && self.random.random_bool(share)
    }

    /// Takes in a packet of an input whose data were sent at `since`; all data before `complete` have arrived.
    fn on_segment(&mut self, input: usize, chunk: Chunk, complete: u64, since: u64) {
        let own = &mut self.inputs[input];
        if chunk.end() > own.complete {
            let kept = own.early.entry(chunk.offset).or_insert((chunk.bytes, since));
            // What was sent in two packets may be sent again in one, after a path was closed.
            if kept.0 < chunk.bytes {
                *kept = (chunk.bytes, since);
            }
        }
        while own.complete < complete {
            let Some((offset, (bytes, since))) = own.early.pop_first() else { break };
            let end = offset + u64::from(bytes);
            let new = end.saturating_sub(own.complete);
            if new > 0 {
                own.waiting.push_back((new, since));
                own.complete = end;
                self.relay.on_data(input, new);
            }
        }
    }

    /// Hands the source of the next loop the data of its next packet, if there are any.
    fn fill(&mut self, source: &mut Source, packet: u64) {
        while source.backlog() < packet {
            let Some((input, bytes)) = self.relay.take((packet - source.backlog()) as u32) else { return };
            let mut left = u64::from(bytes);
            while left > 0 {
                let (waiting, since) = self.inputs[input].waiting.front_mut().expect("the relay counts what waits");
                let taken = left.min(*waiting);
                let since = *since;
                *waiting -= taken;
                if *waiting == 0 {
                    self.inputs[input].waiting.pop_front();
                }
                left -= taken;
                self.offered += taken;
                self.taken.push_back((self.offered, since));
            }
            source.on_arrival(u64::from(bytes));
        }
    }

    /// The send time in picoseconds of the data at `offset` of the next loop.
    fn since(&self, offset: u64) -> u64 {
        let place = self.taken.partition_point(|&(end, _)| end <= offset);
        self.taken.get(place).map_or(0, |&(_, since)| since)
    }

    /// Forgets the data before `complete`, which have arrived over the next loop.
    fn forget(&mut self, complete: u64) {
        while self.taken.pop_front_if(|&mut (end, _)| end <= complete).is_some() {}
    }
}

impl World<'_> {
    /// The bytes of a connection's data that may wait for the next loop; `None` if the connection does not end at a
    /// relay.
    #[inline]
    pub(super) fn relay_buffer(&self, c: u32) -> Option<u64> {
        let Onward { connection, .. } = self.transport.endpoints[c as usize].onward?;
        self.transport.endpoints[connection as usize].relay.as_ref().map(|relay| relay.relay.buffer())
    }

    /// Whether a relay marks an arriving packet of a subflow.
    #[inline]
    pub(super) fn is_marked_by_relay(&mut self, s: u32, ecn: Ecn) -> bool {
        let Some(Onward { connection, input }) = self.onward(s) else { return false };
        let relay = self.transport.endpoints[connection as usize].relay.as_mut();
        ecn != Ecn::NotEct && relay.is_some_and(|relay| relay.marks(input as usize))
    }

    #[inline]
    fn onward(&self, s: u32) -> Option<Onward> {
        self.transport.endpoints[self.subflows[s as usize].connection() as usize].onward
    }

    /// Hands data of a subflow to the relay at its end, if there is one. The data were sent at `since`; all data before
    /// `complete` have arrived.
    pub(super) fn pass_on(&mut self, s: u32, chunk: Chunk, complete: u64, since: u64) {
        let Some(Onward { connection, input }) = self.onward(s) else { return };
        let waited =
            self.clock.now().saturating_sub(since).saturating_sub(self.transport.subflows[s as usize].propagation);
        let path = s as usize - self.routes.subflows_of(self.subflows[s as usize].connection()).start;
        if let Some(relay) = &mut self.transport.endpoints[connection as usize].relay {
            relay.inputs[input as usize].path = path;
            relay.on_segment(input as usize, chunk, complete, self.clock.now() - waited);
        }
    }

    /// Puts the report of a relay into an acknowledgement of a subflow.
    #[inline]
    pub(super) fn inform(&mut self, s: u32, ack: &mut Ack) {
        let Some(Onward { connection, input }) = self.onward(s) else { return };
        let endpoint = &mut self.transport.endpoints[connection as usize];
        let Some(relay) = &mut endpoint.relay else { return };
        let onward_bps = endpoint.source.as_ref().map_or(NO_RATE, |source| source.onward_bps(relay.told));
        relay.relay.set_onward(onward_bps);
        relay.relay.inform(input as usize, ack);
    }

    /// Lets the next loop send the data that a connection has brought, as far as it can.
    pub(super) fn pump_onward(&mut self, c: usize) {
        if let Some(onward) = self.transport.endpoints[c].onward {
            self.pump(onward.connection, 0);
        }
    }

    /// Hands a source the data of its next packet, if it sends what comes over other loops.
    #[inline]
    pub(super) fn fill_from_relay(&mut self, c: u32, source: &mut Source) {
        if let Some(relay) = &mut self.transport.endpoints[c as usize].relay {
            relay.fill(source, self.plan.transfers[c as usize].packet.0);
        }
    }

    /// Tells the loops before a relay that they have room again, after the relay has sent. All data before `complete`
    /// have arrived over the next loop.
    #[inline]
    pub(super) fn tell_of_room(&mut self, c: u32, complete: u64) {
        if let Some(relay) = &mut self.transport.endpoints[c as usize].relay {
            relay.forget(complete);
            for input in 0..relay.inputs.len() {
                self.tell_input_of_room(c, input);
            }
        }
    }

    fn tell_input_of_room(&mut self, c: u32, input: usize) {
        self.learn_onward_rate(c, input);
        let Some(relay) = &self.transport.endpoints[c as usize].relay else { return };
        let Input { connection, path, .. } = relay.inputs[input];
        let packet = self.plan.transfers[connection as usize].packet.0;
        if !relay.relay.is_to_be_told(input, packet) && !relay.relay.is_to_be_told_of_rate(input, packet) {
            return;
        }
        let s = (self.routes.subflows_of(connection).start + path) as u32;
        let settings = self.settings(s);
        let Some(sink) = &mut self.transport.endpoints[connection as usize].sink else { return };
        let ack = sink.tell(&settings, Time(self.clock.now()), path);
        self.send_ack(s, ack);
    }

    /// Reads the rate of the next loop, if a loop before it has to hear of a higher rate.
    #[inline]
    fn learn_onward_rate(&mut self, c: u32, input: usize) {
        let endpoint = &mut self.transport.endpoints[c as usize];
        let Some(relay) = &mut endpoint.relay else { return };
        let packet = self.plan.transfers[relay.inputs[input].connection as usize].packet.0;
        if relay.relay.is_slow(input, packet) {
            relay.relay.set_onward(endpoint.source.as_ref().map_or(NO_RATE, |source| source.onward_bps(relay.told)));
        }
    }

    /// The send time in picoseconds of the data of a packet that leaves now.
    #[inline]
    pub(super) fn under_way_since(&self, c: u32, offset: u64) -> u64 {
        self.transport.endpoints[c as usize].relay.as_ref().map_or(self.clock.now(), |relay| relay.since(offset))
    }
}

#[cfg(test)]
mod tests {
    use anabranch_core::ConnectionId;
    use anabranch_proto::transport::{InputSettings, Marking};

    use super::*;

    #[test]
    fn what_has_arrived_is_passed_on_however_it_was_cut() {
        // 500 to 800 come alone and with what follows to 1,500, before 0 to 500; 2,000 to 2,100 wait for more.
        let input = (ConnectionId(0), InputSettings { weight: 1.0, marking: Marking::Never });
        let plan = anabranch_plan::Relay {
            connection: ConnectionId(1),
            inputs: vec![input],
            buffer: Bytes(5000),
            told: Told::Through,
        };
        let mut end = RelayEnd::new(&plan, Bytes(1000), 1);
        for (offset, bytes, complete) in [(500, 300, 0), (500, 1000, 0), (2000, 100, 0), (0, 500, 1500)] {
            end.on_segment(0, Chunk { offset, bytes }, complete, 0);
        }
        assert_eq!(end.relay.waiting(0), 1500);
        end.on_segment(0, Chunk { offset: 1500, bytes: 500 }, 2100, 0);
        assert_eq!(end.relay.waiting(0), 2100);
    }
}
