//! Relays in simulated time: where a loop of a chain ends and the next begins, at one node.
//!
//! With each piece of data goes when it would have left its first source if it had never waited: that is what tells, at the
//! end of a chain, for how long it has waited in all queues together, those of relays included. What loops that end in one
//! wait for differs; so it is kept with each packet that waits, and with each that may have to be sent again. Where packets
//! of the next loop are put together from several, it is that of their first byte.

use std::collections::{BTreeMap, VecDeque};

use anabranch_core::random::{Purpose, stream};
use anabranch_core::{Bytes, Time};
use anabranch_proto::transport::{Ack, Chunk, NO_RATE, Relay, Source, Told};
use anabranch_queues::Ecn;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use crate::world::World;

/// A relay, at the source of the connection that goes on from it.
pub(crate) struct RelayEnd {
    relay: Relay,
    told: Told,
    inputs: Vec<Input>,
    /// What was taken for the next loop: behind which byte of that each piece ends, and since when it is under way.
    taken: VecDeque<(u64, u64)>,
    offered: u64,
    random: ChaCha8Rng,
}

/// A loop that ends at a relay.
struct Input {
    connection: u32,
    /// The path by which the last packet came.
    path: usize,
    /// What has arrived and waits for something before it: by offset its bytes, and since when it is under way.
    early: BTreeMap<u64, (u32, u64)>,
    /// The bytes that are there in order.
    complete: u64,
    /// What is there in order: its bytes, since when it is under way.
    waiting: VecDeque<(u64, u64)>,
}

/// Where what comes over a connection goes on: over which, and as which of its inputs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Onward {
    pub connection: u32,
    pub input: u32,
}

impl RelayEnd {
    /// An empty one, before a loop with packets of this size.
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

    /// Whether a packet of an input that arrives is to be marked.
    fn marks(&mut self, input: usize) -> bool {
        let share = self.relay.share(input);
        share > 0.0 && self.random.random_bool(share)
    }

    /// A packet of an input has arrived, of data that are under way since `since`; all before `complete` are there.
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

    /// Hands the source of the next loop its next packet, if there is one.
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

    /// Since when the data at `offset` of the next loop are under way.
    fn since(&self, offset: u64) -> u64 {
        let place = self.taken.partition_point(|&(end, _)| end <= offset);
        self.taken.get(place).map_or(0, |&(_, since)| since)
    }

    /// All before `complete` have arrived over the next loop.
    fn forget(&mut self, complete: u64) {
        while self.taken.pop_front_if(|&mut (end, _)| end <= complete).is_some() {}
    }
}

impl World<'_> {
    /// How much of what comes over a connection may wait for the next loop, if it goes on.
    #[inline]
    pub(crate) fn relay_buffer(&self, c: u32) -> Option<u64> {
        let Onward { connection, .. } = self.endpoints[c as usize].onward?;
        self.endpoints[connection as usize].relay.as_ref().map(|relay| relay.relay.buffer())
    }

    /// Whether a packet of a subflow that arrives is marked by a relay.
    #[inline]
    pub(crate) fn is_marked_by_relay(&mut self, s: u32, ecn: Ecn) -> bool {
        let Some(Onward { connection, input }) = self.onward(s) else { return false };
        let relay = self.endpoints[connection as usize].relay.as_mut();
        ecn != Ecn::NotEct && relay.is_some_and(|relay| relay.marks(input as usize))
    }

    #[inline]
    fn onward(&self, s: u32) -> Option<Onward> {
        self.endpoints[self.subflows[s as usize].connection as usize].onward
    }

    /// Data of a subflow have arrived, under way since `since`; all before `complete` are there, and go on.
    pub(crate) fn pass_on(&mut self, s: u32, chunk: Chunk, complete: u64, since: u64) {
        let Some(Onward { connection, input }) = self.onward(s) else { return };
        let waited = self.now.saturating_sub(since).saturating_sub(self.subflow_transports[s as usize].propagation);
        let path = s as usize - self.subflows_of(self.subflows[s as usize].connection).start;
        if let Some(relay) = &mut self.endpoints[connection as usize].relay {
            relay.inputs[input as usize].path = path;
            relay.on_segment(input as usize, chunk, complete, self.now - waited);
        }
    }

    /// Puts into an acknowledgement of a subflow what a relay has to say.
    #[inline]
    pub(crate) fn inform(&mut self, s: u32, ack: &mut Ack) {
        let Some(Onward { connection, input }) = self.onward(s) else { return };
        let endpoint = &mut self.endpoints[connection as usize];
        let Some(relay) = &mut endpoint.relay else { return };
        let onward_bps = endpoint.source.as_ref().map_or(NO_RATE, |source| source.onward_bps(relay.told));
        relay.relay.set_onward(onward_bps);
        relay.relay.inform(input as usize, ack);
    }

    /// The next loop takes what it can of what a connection has brought.
    pub(crate) fn pump_onward(&mut self, c: usize) {
        if let Some(onward) = self.endpoints[c].onward {
            self.pump(onward.connection, 0);
        }
    }

    /// Hands a source its next packet, if it sends what comes over other loops.
    #[inline]
    pub(crate) fn fill_from_relay(&mut self, c: u32, source: &mut Source) {
        if let Some(relay) = &mut self.endpoints[c as usize].relay {
            relay.fill(source, self.plan.transfers[c as usize].packet.0);
        }
    }

    /// After a relay has sent, and all before `complete` have arrived over the next loop: tells loops before it that had
    /// no room, and have some now.
    #[inline]
    pub(crate) fn tell_of_room(&mut self, c: u32, complete: u64) {
        if let Some(relay) = &mut self.endpoints[c as usize].relay {
            relay.forget(complete);
            for input in 0..relay.inputs.len() {
                self.tell_input_of_room(c, input);
            }
        }
    }

    fn tell_input_of_room(&mut self, c: u32, input: usize) {
        self.learn_onward_rate(c, input);
        let Some(relay) = &self.endpoints[c as usize].relay else { return };
        let Input { connection, path, .. } = relay.inputs[input];
        let packet = self.plan.transfers[connection as usize].packet.0;
        if !relay.relay.is_to_be_told(input, packet) && !relay.relay.is_to_be_told_of_rate(input, packet) {
            return;
        }
        let s = (self.subflows_of(connection).start + path) as u32;
        let settings = self.settings(s);
        let Some(sink) = &mut self.endpoints[connection as usize].sink else { return };
        let ack = sink.tell(&settings, Time(self.now), path);
        self.send_ack(s, ack);
    }

    /// Finds out what the next loop sends at, for a loop before that is to hear if it is more.
    #[inline]
    fn learn_onward_rate(&mut self, c: u32, input: usize) {
        let endpoint = &mut self.endpoints[c as usize];
        let Some(relay) = &mut endpoint.relay else { return };
        let packet = self.plan.transfers[relay.inputs[input].connection as usize].packet.0;
        if relay.relay.is_slow(input, packet) {
            relay.relay.set_onward(endpoint.source.as_ref().map_or(NO_RATE, |source| source.onward_bps(relay.told)));
        }
    }

    /// Since when the data of a packet that leaves now are under way.
    #[inline]
    pub(crate) fn under_way_since(&self, c: u32, offset: u64) -> u64 {
        self.endpoints[c as usize].relay.as_ref().map_or(self.now, |relay| relay.since(offset))
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
