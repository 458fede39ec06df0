//! Connections under window protocols: their sources and sinks, and what carries these out in simulated time.
//!
//! Their packets go with the data, acknowledgements over the twins of the path's links. Against phase effects each
//! packet waits at its source for a random part of a transmission time of its path's slowest link, and packets of a
//! subflow keep their order [floyd1992]: otherwise drop-tail queues that fill in step with round trips drop the packets of
//! some connections and never those of others. The random part depends on nothing but seed, subflow and packet number. It
//! is no part of round trips: a host is slow to send, not the network.

use anabranch_core::units::BIT_PICOSECONDS;
use anabranch_core::{ConnectionId, Rate, Time};
use anabranch_plan::Plan;
use anabranch_proto::WindowControl;
use anabranch_proto::transport::{Ack, Segment, Settings, Sink, Source};
use anabranch_queues::Ecn;

use crate::connections::{State, UNSET};
use crate::packet::{DataPacket, NO_COPIES, Payload, Role};
use crate::relays::{Onward, RelayEnd};
use crate::routes::Routes;
use crate::world::{Kind, World};

/// Both ends of a connection; of one from one shard to another each keeps its own.
#[derive(Default)]
pub(crate) struct Endpoint {
    pub source: Option<Box<Source>>,
    pub sink: Option<Box<Sink>>,
    /// When the source is polled next.
    poll: u64,
    /// When the sink had all.
    pub completed_at: u64,
    /// If it sends what comes over other loops, where these end; and where what comes over it goes on.
    pub relay: Option<Box<RelayEnd>>,
    pub onward: Option<Onward>,
}

/// The window of a subflow at an instant, and what belongs to it; NaN for what there is not.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    pub bytes: f64,
    /// Smoothed, in seconds.
    pub rtt: f64,
    /// In bits a second.
    pub pace: f64,
    /// The smoothed share of marked packets.
    pub marked_share: f64,
}

impl Window {
    /// That of a subflow that keeps none.
    pub const NONE: Self = Self { bytes: f64::NAN, rtt: f64::NAN, pace: f64::NAN, marked_share: f64::NAN };
}

/// What the transport keeps of a subflow in simulated time, besides its source and its sink.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SubflowTransport {
    /// When its patience is looked at, and when its sink may have to acknowledge.
    patience: u64,
    tell: u64,
    /// When the last packet entered its first link.
    entered: u64,
    /// Packets wait for a random part of so many picoseconds.
    jitter: f64,
    /// What links may do to packets.
    ecn: Ecn,
    /// From when on its source answers and until when, if the target asks for data.
    pub answers: Option<(u64, u64)>,
    /// How long its links take to carry a packet on, without sending it.
    pub propagation: u64,
    /// Packets that arrived marked.
    pub marked: u64,
}

impl Endpoint {
    /// One for each connection; none if no connection is under the transport.
    pub fn all(plan: &Plan) -> Vec<Self> {
        let new = |_: &_| Self { poll: UNSET, completed_at: UNSET, ..Self::default() };
        let mut all: Vec<Self> = if is_needed(plan) { plan.transfers.iter().map(new).collect() } else { Vec::new() };
        for relay in &plan.relays {
            for (input, (id, _)) in (0..).zip(&relay.inputs) {
                all[id.index()].onward = Some(Onward { connection: relay.connection.0, input });
            }
            let own = relay.connection.index();
            all[own].relay = Some(Box::new(RelayEnd::new(relay, plan.transfers[own].packet, plan.run.seed)));
        }
        all
    }
}

impl SubflowTransport {
    /// Reads it; to fetch it early.
    #[inline]
    pub fn prefetch(&self) -> u64 {
        self.patience
    }

    /// One for each subflow; none if no connection is under the transport.
    pub fn all(plan: &Plan, routes: &Routes) -> Vec<Self> {
        if !is_needed(plan) {
            return Vec::new();
        }
        let slowest = |path: &[_]| path.iter().map(|&l| plan.network.link(l).capacity.0).fold(f64::INFINITY, f64::min);
        let of = |c: usize| plan.paths.of(ConnectionId::new(c)).map(move |path| (c, path));
        let line = |(c, path): (usize, &[_])| {
            let bits = plan.transfers[c].packet.0 as f64 * BIT_PICOSECONDS;
            let slowest = slowest(path);
            let jitter = if slowest > 0.0 { plan.run.transport.jitter * bits / slowest } else { 0.0 };
            let is_scalable = plan.protocols[plan.transfers[c].protocol].capabilities().is_scalable();
            let ecn = match (is_scalable, plan.run.transport.ecn) {
                (true, _) => Ecn::Ect1,
                (false, true) => Ecn::Ect0,
                (false, false) => Ecn::NotEct,
            };
            let node = path.first().map(|&link| plan.network.link(link).source);
            let server = plan.fetch(ConnectionId::new(c)).and_then(|f| f.servers.iter().find(|s| Some(s.node) == node));
            let answers = server.map(|server| (server.start.0, server.stop.map_or(UNSET, |stop| stop.0)));
            let propagation = path.iter().map(|&link| plan.network.link(link).delay.0).sum();
            Self { patience: UNSET, tell: UNSET, entered: 0, jitter, ecn, answers, propagation, marked: 0 }
        };
        let lines: Vec<Self> = (0..plan.transfers.len()).flat_map(of).map(line).collect();
        debug_assert_eq!(lines.len(), routes.first.len(), "a line for each subflow");
        lines
    }
}

fn is_needed(plan: &Plan) -> bool {
    plan.protocols.iter().any(|protocol| protocol.capabilities().keeps_windows())
}

/// A number from 0 to 1 that depends on these and on nothing else; the mixing is that of splitmix64.
fn random_part(seed: u64, subflow: u32, number: u64) -> f64 {
    let mut x = seed.wrapping_add(u64::from(subflow).wrapping_mul(0xd1b5_4a32_d192_ed03)) ^ number.rotate_left(32);
    for _ in 0..2 {
        x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
        x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^= x >> 31;
    }
    (x >> 11) as f64 / (1u64 << 53) as f64
}

impl World<'_> {
    /// What does not change while the connection of a subflow lasts.
    #[inline]
    pub(crate) fn settings(&self, s: u32) -> Settings {
        let c = self.subflows[s as usize].connection;
        let mut settings = self.plan.run.transport.settings(self.plan.transfers[c as usize].packet);
        if self.subflow_transports[s as usize].answers.is_some() {
            // Source and sink are one, and know at once.
            settings.ack_every = 1;
        }
        if let Some(buffer) = self.relay_buffer(c) {
            settings.buffer = settings.buffer.min(buffer);
        }
        settings
    }

    /// The source of a connection begins to send.
    pub(crate) fn begin_transport(&mut self, c: u32, control: Box<dyn WindowControl>) {
        if !self.plan.run.data {
            return;
        }
        let (transfer, own) = (&self.plan.transfers[c as usize], self.subflows_of(c));
        let settings = self.settings(own.start as u32);
        let demand = Rate(self.connections[c as usize].demand);
        let amount = transfer.amount.map(|amount| amount.0);
        let mut source = Source::new(control, settings, Time(self.now), own.len(), amount, demand);
        let id = ConnectionId(c);
        let is_usable = |path: &usize| self.plan.is_usable(id, *path, Time(self.now));
        (0..own.len()).filter(is_usable).for_each(|path| source.open(path, Time(self.now)));
        self.regroup(c, &mut source);
        if self.endpoints[c as usize].relay.is_some() {
            source.on_arrival(0);
        }
        self.tell_capacities(c, &mut source);
        self.endpoints[c as usize].source = Some(Box::new(source));
        self.pump(c, 0);
    }

    /// Sends what the source of a connection may send, after something has happened on a path.
    pub(crate) fn pump(&mut self, c: u32, hint: usize) {
        let Some(mut source) = self.endpoints[c as usize].source.take() else { return };
        let first = self.subflows_of(c).start;
        loop {
            self.fill_from_relay(c, &mut source);
            let Some((path, segment)) = source.poll(Time(self.now), hint) else { break };
            let left = self.send_segment((first + path) as u32, segment);
            source.left(path, segment.number, left);
            if path != hint {
                self.watch_path(&source, (first + path) as u32, path);
            }
        }
        self.watch_path(&source, (first + hint) as u32, hint);
        if let Some(time) = source.wake_at() {
            let poll = &mut self.endpoints[c as usize].poll;
            if time.0 < *poll {
                *poll = time.0;
                self.schedule(time.0, Kind::Poll, c);
            }
        }
        let complete = source.complete();
        let connection = &mut self.connections[c as usize];
        if connection.stopped_at == UNSET && source.is_sent() {
            connection.stopped_at = self.now;
        }
        if source.is_done() {
            self.finish_transport(c);
        } else {
            self.endpoints[c as usize].source = Some(source);
        }
        // Now that the source is in its place: loops before it are told how fast it sends, too.
        self.tell_of_room(c, complete);
    }

    /// Schedules a look at a path's deadline, unless one comes before it anyway.
    fn watch_path(&mut self, source: &Source, s: u32, path: usize) {
        let line = &mut self.subflow_transports[s as usize];
        if let Some(time) = source.deadline(path)
            && time.0 < line.patience
        {
            line.patience = time.0;
            self.schedule(time.0, Kind::Patience, s);
        }
    }

    /// All that a source had to send has arrived.
    fn finish_transport(&mut self, c: u32) {
        let connection = &mut self.connections[c as usize];
        connection.state = State::Gone;
        connection.left = 0;
        connection.left_at = self.now;
        self.has_changed = true;
    }

    /// A connection is to end: its source stops at once.
    pub(crate) fn end_transport(&mut self, c: u32) {
        let Some(endpoint) = self.endpoints.get_mut(c as usize) else { return };
        if endpoint.source.take().is_some() {
            let connection = &mut self.connections[c as usize];
            connection.stopped_at = connection.stopped_at.min(self.now);
            self.finish_transport(c);
        }
    }

    /// A connection can use more or less.
    pub(crate) fn on_transport_demand(&mut self, c: u32, demand: Rate) {
        let Some(endpoint) = self.endpoints.get_mut(c as usize) else { return };
        if let Some(source) = &mut endpoint.source {
            source.set_demand(Time(self.now), demand);
            self.pump(c, 0);
        }
    }

    /// What the window of a subflow comes to; `None` if it has none.
    pub(crate) fn window_rate(&self, s: usize) -> Option<Rate> {
        let c = self.subflows[s].connection;
        let source = self.endpoints.get(c as usize)?.source.as_ref()?;
        Some(source.rate(s - self.subflows_of(c).start))
    }

    /// The window of a subflow, and what belongs to it; `None` if it keeps no window now.
    pub(crate) fn window(&self, s: usize) -> Option<Window> {
        let c = self.subflows[s].connection as usize;
        let source = self.endpoints.get(c)?.source.as_ref()?;
        let path = s - self.routes.subflows[c] as usize;
        let (packets, rtt) = source.state(path);
        let (pace, marked_share) = source.pace_and_marks(path);
        (packets > 0.0).then(|| Window {
            bytes: packets * self.plan.transfers[c].packet.0 as f64,
            rtt: if rtt > 0.0 { rtt } else { f64::NAN },
            pace: pace.map_or(f64::NAN, |pace| pace.0),
            marked_share: marked_share.unwrap_or(f64::NAN),
        })
    }

    /// A data packet leaves its source, or the target asks for one, now or a little later; gives when.
    fn send_segment(&mut self, s: u32, segment: Segment) -> Time {
        let subflow = &mut self.subflows[s as usize];
        subflow.sent += u64::from(segment.chunk.bytes);
        let since = self.under_way_since(self.subflows[s as usize].connection, segment.chunk.offset);
        let line = &self.subflow_transports[s as usize];
        let packet = if line.answers.is_some() {
            let (at, bytes) = (self.routes.back[s as usize], self.plan.run.transport.ack.0 as u16);
            DataPacket { at, bytes, role: Role::Request, ecn: Ecn::NotEct, ..self.segment(s, &segment) }
        } else {
            self.segment(s, &segment)
        };
        let index = self.packets.insert(packet);
        let line = &mut self.subflow_transports[s as usize];
        if line.jitter == 0.0 {
            self.put_payload(index, Payload::Segment(segment, since));
            self.enter_first(index);
            return Time(self.now);
        }
        let wait = (line.jitter * random_part(self.plan.run.seed, s, segment.number)) as u64;
        let time = self.now.saturating_add(wait).max(line.entered.saturating_add(1));
        line.entered = time;
        // A host that is slow to send is no queue.
        self.put_payload(index, Payload::Segment(segment, since.saturating_add(time - self.now)));
        self.schedule_packet(time, Kind::Enter, s, index);
        Time(time)
    }

    /// A data packet of a subflow, at its first link.
    fn segment(&self, s: u32, segment: &Segment) -> DataPacket {
        let (at, bytes) = (self.subflows[s as usize].first, segment.chunk.bytes as u16);
        let ecn = self.subflow_transports[s as usize].ecn;
        DataPacket { sent: self.now, at, subflow: s, bytes, role: Role::Segment, ecn, copies: NO_COPIES }
    }

    /// A source is asked for data: it answers with them, or not at all.
    fn on_request(&mut self, packet: DataPacket, segment: Segment) {
        let answer = DataPacket { copies: packet.copies, ..self.segment(packet.subflow, &segment) };
        let answers = self.subflow_transports[packet.subflow as usize].answers;
        if answers.is_none_or(|(start, stop)| self.now < start || stop <= self.now) {
            return self.count_lost(answer);
        }
        let index = self.packets.insert(answer);
        self.put_payload(index, Payload::Segment(segment, self.now));
        self.enter_first(index);
    }

    /// A packet enters its first link.
    pub(crate) fn on_enter(&mut self, index: u32) {
        self.enter_first(index);
    }

    fn enter_first(&mut self, index: u32) {
        let link = self.routes.steps[self.packets[index].at as usize];
        self.enter(link, index);
    }

    /// Keeps what a packet of the transport carries.
    #[inline]
    pub(crate) fn put_payload(&mut self, index: u32, payload: Payload) {
        let place = index as usize;
        if place >= self.payloads.len() {
            self.payloads.resize(place + 1, payload);
        }
        self.payloads[place] = payload;
    }

    /// A packet of the transport is at its end.
    pub(crate) fn arrive(&mut self, packet: DataPacket, index: u32) {
        let payload = self.payloads[index as usize];
        if let (Role::Request, Payload::Segment(segment, _)) = (packet.role, payload) {
            return self.on_request(packet, segment);
        }
        if packet.copies != NO_COPIES {
            self.settle_copy(packet.copies, true);
        }
        match payload {
            Payload::Segment(segment, since) => self.on_segment(packet, &segment, since),
            Payload::Ack(ack) => self.on_ack(packet.subflow, &ack),
            Payload::Paced(_) => unreachable!("packets of the transport carry what belongs to it"),
        }
    }

    /// A data packet is at its sink.
    fn on_segment(&mut self, packet: DataPacket, segment: &Segment, since: u64) {
        let s = packet.subflow;
        let settings = self.settings(s);
        let is_marked = packet.ecn == Ecn::Ce || self.is_marked_by_relay(s, packet.ecn);
        let subflow = &mut self.subflows[s as usize];
        let c = subflow.connection as usize;
        let own = self.routes.subflows[c] as usize..self.routes.subflows[c + 1] as usize;
        let transfer = &self.plan.transfers[c];
        let is_fetched = self.subflow_transports[s as usize].answers.is_some();
        let endpoint = &mut self.endpoints[c];
        let sink = endpoint.sink.get_or_insert_with(|| Box::new(Sink::new(own.len())));
        let path = s as usize - own.start;
        let (new, ack) = sink.on_segment(&settings, Time(self.now), path, segment, is_marked);
        let due = sink.due(path);
        if endpoint.completed_at == UNSET && transfer.amount.is_some_and(|amount| sink.complete() >= amount.0) {
            endpoint.completed_at = self.now;
        }
        subflow.delivered += new;
        subflow.repeated += u64::from(segment.chunk.bytes) - new;
        self.subflow_transports[s as usize].marked += u64::from(is_marked);
        let delay = self.now - packet.sent;
        subflow.packets += 1;
        subflow.delay_sum += delay as f64;
        subflow.delay_most = subflow.delay_most.max(delay);
        subflow.settled_at = self.now;
        let is_relayed = endpoint.onward.is_some();
        let complete = sink.complete();
        if new > 0 {
            self.note_wait_of(s, since);
        }
        if is_relayed {
            self.pass_on(s, segment.chunk, complete, since);
        }
        if let Some(ack) = ack {
            if is_fetched { self.on_ack(s, &ack) } else { self.send_ack(s, ack) }
        } else if let Some(due) = due {
            let line = &mut self.subflow_transports[s as usize];
            if due.0 < line.tell {
                line.tell = due.0;
                self.schedule(due.0, Kind::Tell, s);
            }
        }
        if is_relayed {
            self.pump_onward(c);
        }
    }

    /// A sink acknowledges.
    pub(crate) fn send_ack(&mut self, s: u32, mut ack: Ack) {
        self.inform(s, &mut ack);
        let at = self.routes.back[s as usize];
        let bytes = self.plan.run.transport.ack.0 as u16;
        let (role, ecn) = (Role::Ack, Ecn::NotEct);
        let index =
            self.packets.insert(DataPacket { sent: self.now, at, subflow: s, bytes, role, ecn, copies: NO_COPIES });
        self.put_payload(index, Payload::Ack(ack));
        self.enter_first(index);
    }

    /// A sink may have waited long enough.
    pub(crate) fn on_tell(&mut self, s: u32) {
        let line = &mut self.subflow_transports[s as usize];
        if line.tell != self.now {
            return;
        }
        line.tell = UNSET;
        let c = self.subflows[s as usize].connection;
        let path = s as usize - self.subflows_of(c).start;
        let settings = self.settings(s);
        let Some(sink) = &mut self.endpoints[c as usize].sink else { return };
        let Some(due) = sink.due(path) else { return };
        if due.0 > self.now {
            self.subflow_transports[s as usize].tell = due.0;
            return self.schedule(due.0, Kind::Tell, s);
        }
        let ack = sink.tell(&settings, Time(self.now), path);
        self.send_ack(s, ack);
    }

    /// An acknowledgement is back at its source.
    fn on_ack(&mut self, s: u32, ack: &Ack) {
        let c = self.subflows[s as usize].connection;
        let path = s as usize - self.subflows_of(c).start;
        let Some(source) = &mut self.endpoints[c as usize].source else { return };
        source.on_ack(Time(self.now), path, ack);
        self.pump(c, path);
    }

    /// A path may have waited long enough.
    pub(crate) fn on_patience(&mut self, s: u32) {
        let line = &mut self.subflow_transports[s as usize];
        if line.patience != self.now {
            return;
        }
        line.patience = UNSET;
        let c = self.subflows[s as usize].connection;
        let path = s as usize - self.subflows_of(c).start;
        let Some(source) = &mut self.endpoints[c as usize].source else { return };
        if source.deadline(path).is_some_and(|time| time.0 <= self.now) {
            source.on_deadline(Time(self.now), path);
        }
        self.pump(c, path);
    }

    /// A source may have something to send.
    pub(crate) fn on_poll(&mut self, c: u32) {
        let poll = &mut self.endpoints[c as usize].poll;
        if *poll == self.now {
            *poll = UNSET;
            self.pump(c, 0);
        }
    }
}
