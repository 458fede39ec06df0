//! Connections under window protocols: their sources and sinks, and what carries out their decisions in simulated time.
//!
//! Data packets of the transport take the path, acknowledgements the twins of its links. Against phase effects each
//! packet waits at its source for a random part of a transmission time on its path's slowest link, and packets of a
//! subflow keep their order [floyd1992]: otherwise drop-tail queues that fill in step with round trips drop the packets
//! of some connections and never those of others. The random part depends on nothing but seed, subflow and packet
//! number. It is no part of round trips: a host is slow to send, not the network.

mod capacities;
mod open_paths;
mod relays;

use anabranch_core::paths::GroupSearch;
use anabranch_core::units::BIT_PICOSECONDS;
use anabranch_core::{ConnectionId, Rate, Time};
use anabranch_plan::Plan;
use anabranch_proto::WindowControl;
use anabranch_proto::transport::{Ack, Segment, Settings, Sink, Source};
use anabranch_queues::Ecn;

use super::World;
use super::clock::Kind;
use super::connections::UNSET;
use crate::packet::{DataPacket, NO_COPIES, Payload, Role};
use crate::routes::Routes;
use capacities::Hearers;
use relays::{Onward, RelayEnd};

/// Everything that window protocols keep.
pub(crate) struct Transport {
    /// The ends of each connection; empty if no connection is under a window protocol.
    endpoints: Vec<Endpoint>,
    /// The state of each subflow besides that of source and sink; empty if no connection is under a window protocol.
    subflows: Vec<SubflowTransport>,
    /// Finds out which paths share links, for sources that are told; created for the first such source.
    groups: Option<Box<GroupSearch>>,
    hearers: Hearers,
}

/// Both ends of a connection. If it leads from one shard to another, each of the two shards keeps its end.
#[derive(Default)]
pub(super) struct Endpoint {
    source: Option<Box<Source>>,
    sink: Option<Box<Sink>>,
    /// The time in picoseconds at which the source is polled next.
    poll: u64,
    /// The time in picoseconds at which the sink had all data; `UNSET` before.
    completed_at: u64,
    /// The relay that feeds the connection, if it sends what comes over other loops.
    relay: Option<Box<RelayEnd>>,
    /// The connection that takes on what comes over this one, if it ends at a relay.
    onward: Option<Onward>,
}

/// The congestion window of a subflow at an instant, with the values that belong to it; NaN for a value that is
/// missing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    /// The window in bytes.
    pub bytes: f64,
    /// The smoothed round-trip time in seconds.
    pub rtt: f64,
    /// The pace in bit/s.
    pub pace: f64,
    /// The smoothed share of marked packets.
    pub marked_share: f64,
}

impl Window {
    /// The values of a subflow that keeps no window.
    pub const NONE: Self = Self { bytes: f64::NAN, rtt: f64::NAN, pace: f64::NAN, marked_share: f64::NAN };
}

/// The state of a subflow in simulated time, besides that of its source and its sink.
#[derive(Clone, Copy, Debug)]
pub(super) struct SubflowTransport {
    /// The time in picoseconds of the next look at its retransmission timer.
    patience: u64,
    /// The time in picoseconds at which its sink may have to acknowledge.
    tell: u64,
    /// The time in picoseconds at which the last packet entered its first link.
    entered: u64,
    /// The longest random wait of a packet at its source, in picoseconds.
    jitter: f64,
    /// The ECN field of packets that leave the source.
    ecn: Ecn,
    /// The times in picoseconds from which and until which its source answers requests, if the target asks for data.
    answers: Option<(u64, u64)>,
    /// The propagation delay of its path in picoseconds.
    propagation: u64,
    /// Packets that arrived marked.
    marked: u64,
}

impl Transport {
    /// Creates the transport of a plan; no source has begun.
    pub fn new(plan: &Plan, routes: &Routes) -> Self {
        Self {
            endpoints: Endpoint::all(plan),
            subflows: SubflowTransport::all(plan, routes),
            groups: None,
            hearers: Hearers::new(plan, routes),
        }
    }

    /// The time in picoseconds at which the sink of a connection had all data; `UNSET` before.
    pub fn completed_at(&self, connection: usize) -> u64 {
        self.endpoints[connection].completed_at
    }

    /// Packets of a subflow that arrived marked.
    pub fn marked(&self, subflow: usize) -> u64 {
        self.subflows.get(subflow).map_or(0, |own| own.marked)
    }

    /// The ends of a connection.
    #[inline]
    pub(super) fn endpoint(&self, connection: u32) -> &Endpoint {
        &self.endpoints[connection as usize]
    }

    /// The state of a subflow.
    #[inline]
    pub(super) fn subflow(&self, subflow: u32) -> &SubflowTransport {
        &self.subflows[subflow as usize]
    }
}

impl Endpoint {
    /// The source, while it sends.
    #[inline]
    pub fn source(&self) -> Option<&Source> {
        self.source.as_deref()
    }

    /// The sink, once a packet has arrived.
    #[inline]
    pub fn sink(&self) -> Option<&Sink> {
        self.sink.as_deref()
    }

    /// Reads what stands beside source and sink.
    #[inline]
    pub fn prefetch(&self) -> u64 {
        self.completed_at
    }

    /// Creates the ends of each connection; none if no connection is under a window protocol.
    fn all(plan: &Plan) -> Vec<Self> {
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
    /// Reads what every packet needs at the ends of a path.
    #[inline]
    pub fn prefetch(&self) -> u64 {
        self.patience
    }

    /// Whether the target asks for data, so that source and sink decide together at the target.
    #[inline]
    pub fn is_fetched(&self) -> bool {
        self.answers.is_some()
    }

    /// Creates the state of each subflow; none if no connection is under a window protocol.
    fn all(plan: &Plan, routes: &Routes) -> Vec<Self> {
        if !is_needed(plan) {
            return Vec::new();
        }
        let slowest = |path: &[_]| path.iter().map(|&l| plan.network.link(l).capacity.0).fold(f64::INFINITY, f64::min);
        let of = |c: usize| plan.paths.of(ConnectionId::new(c)).map(move |path| (c, path));
        let new = |(c, path): (usize, &[_])| {
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
        let all: Vec<Self> = (0..plan.transfers.len()).flat_map(of).map(new).collect();
        debug_assert_eq!(all.len(), routes.first.len(), "one for each subflow");
        all
    }
}

fn is_needed(plan: &Plan) -> bool {
    plan.protocols.iter().any(|protocol| protocol.capabilities().keeps_windows())
}

/// A number from 0 to 1 that depends only on seed, subflow and packet number, which are mixed as in splitmix64.
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
    /// The settings of a subflow, which do not change while its connection lasts.
    #[inline]
    fn settings(&self, s: u32) -> Settings {
        let c = self.subflows[s as usize].connection();
        let mut settings = self.plan.run.transport.settings(self.plan.transfers[c as usize].packet);
        if self.transport.subflows[s as usize].answers.is_some() {
            // Source and sink are one, and know at once.
            settings.ack_every = 1;
        }
        if let Some(buffer) = self.relay_buffer(c) {
            settings.buffer = settings.buffer.min(buffer);
        }
        settings
    }

    /// The source of a connection begins to send.
    pub(super) fn begin_transport(&mut self, c: u32, control: Box<dyn WindowControl>) {
        if !self.plan.run.data {
            return;
        }
        let (transfer, own) = (&self.plan.transfers[c as usize], self.routes.subflows_of(c));
        let settings = self.settings(own.start as u32);
        let demand = Rate(self.connections[c].demand());
        let amount = transfer.amount.map(|amount| amount.0);
        let mut source = Source::new(control, settings, Time(self.clock.now()), own.len(), amount, demand);
        let id = ConnectionId(c);
        let is_usable = |path: &usize| self.plan.is_usable(id, *path, Time(self.clock.now()));
        (0..own.len()).filter(is_usable).for_each(|path| source.open(path, Time(self.clock.now())));
        self.regroup(c, &mut source);
        if self.transport.endpoints[c as usize].relay.is_some() {
            source.on_arrival(0);
        }
        self.tell_capacities(c, &mut source);
        self.transport.endpoints[c as usize].source = Some(Box::new(source));
        self.pump(c, 0);
    }

    /// Sends what the source of a connection may send, after something has happened on a path.
    pub(super) fn pump(&mut self, c: u32, hint: usize) {
        let Some(mut source) = self.transport.endpoints[c as usize].source.take() else { return };
        let first = self.routes.subflows_of(c).start;
        loop {
            self.fill_from_relay(c, &mut source);
            let Some((path, segment)) = source.poll(Time(self.clock.now()), hint) else { break };
            let left = self.send_segment((first + path) as u32, segment);
            source.left(path, segment.number, left);
            if path != hint {
                self.watch_path(&source, (first + path) as u32, path);
            }
        }
        self.watch_path(&source, (first + hint) as u32, hint);
        if let Some(time) = source.wake_at() {
            let poll = &mut self.transport.endpoints[c as usize].poll;
            if time.0 < *poll {
                *poll = time.0;
                self.clock.schedule(time.0, Kind::Poll, c);
            }
        }
        let complete = source.complete();
        if source.is_sent() {
            self.connections[c].stop_sending(self.clock.now());
        }
        if source.is_done() {
            self.connections.finish(c, self.clock.now());
        } else {
            self.transport.endpoints[c as usize].source = Some(source);
        }
        // Now that the source is in its place: loops before it are told how fast it sends, too.
        self.tell_of_room(c, complete);
    }

    /// Schedules a look at the retransmission timer of a path, unless an earlier look is in the calendar.
    fn watch_path(&mut self, source: &Source, s: u32, path: usize) {
        let own = &mut self.transport.subflows[s as usize];
        if let Some(time) = source.deadline(path)
            && time.0 < own.patience
        {
            own.patience = time.0;
            self.clock.schedule(time.0, Kind::Patience, s);
        }
    }

    /// A connection has to end: its source stops at once.
    pub(super) fn end_transport(&mut self, c: u32) {
        let Some(endpoint) = self.transport.endpoints.get_mut(c as usize) else { return };
        if endpoint.source.take().is_some() {
            self.connections[c].stop_sending(self.clock.now());
            self.connections.finish(c, self.clock.now());
        }
    }

    /// The demand of a connection changes.
    pub(super) fn on_transport_demand(&mut self, c: u32, demand: Rate) {
        let Some(endpoint) = self.transport.endpoints.get_mut(c as usize) else { return };
        if let Some(source) = &mut endpoint.source {
            source.set_demand(Time(self.clock.now()), demand);
            self.pump(c, 0);
        }
    }

    /// The rate that the window of a subflow comes to; `None` if it keeps no window.
    pub(crate) fn window_rate(&self, s: usize) -> Option<Rate> {
        let c = self.subflows[s].connection();
        let source = self.transport.endpoints.get(c as usize)?.source.as_ref()?;
        Some(source.rate(s - self.routes.subflows_of(c).start))
    }

    /// The window of a subflow, and the values that belong to it; `None` if it keeps no window now.
    pub(crate) fn window(&self, s: usize) -> Option<Window> {
        let c = self.subflows[s].connection() as usize;
        let source = self.transport.endpoints.get(c)?.source.as_ref()?;
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

    /// A data packet leaves its source, or the target requests one, now or a little later; gives the time.
    fn send_segment(&mut self, s: u32, segment: Segment) -> Time {
        let now = self.clock.now();
        let subflow = &mut self.subflows[s as usize];
        subflow.on_sent(u64::from(segment.chunk.bytes));
        let since = self.under_way_since(self.subflows[s as usize].connection(), segment.chunk.offset);
        let packet = if self.transport.subflows[s as usize].answers.is_some() {
            let (at, bytes) = (self.routes.back[s as usize], self.plan.run.transport.ack.0 as u16);
            DataPacket { at, bytes, role: Role::Request, ecn: Ecn::NotEct, ..self.segment(s, &segment) }
        } else {
            self.segment(s, &segment)
        };
        let own = &mut self.transport.subflows[s as usize];
        if own.jitter == 0.0 {
            let index = self.data.insert(packet, Payload::Segment(segment, since));
            self.enter_first(index);
            return Time(now);
        }
        let wait = (own.jitter * random_part(self.plan.run.seed, s, segment.number)) as u64;
        let time = now.saturating_add(wait).max(own.entered.saturating_add(1));
        own.entered = time;
        // A host that is slow to send is no queue.
        let index = self.data.insert(packet, Payload::Segment(segment, since.saturating_add(time - now)));
        self.clock.schedule_packet(time, Kind::Enter, s, index);
        Time(time)
    }

    /// A data packet of a subflow, at its first link.
    fn segment(&self, s: u32, segment: &Segment) -> DataPacket {
        let (at, bytes) = (self.subflows[s as usize].first(), segment.chunk.bytes as u16);
        let ecn = self.transport.subflows[s as usize].ecn;
        DataPacket { sent: self.clock.now(), at, subflow: s, bytes, role: Role::Segment, ecn, copies: NO_COPIES }
    }

    /// A request reaches a source, which answers with the data, or not at all.
    fn on_request(&mut self, packet: DataPacket, segment: Segment) {
        let answer = DataPacket { copies: packet.copies, ..self.segment(packet.subflow, &segment) };
        let answers = self.transport.subflows[packet.subflow as usize].answers;
        if answers.is_none_or(|(start, stop)| self.clock.now() < start || stop <= self.clock.now()) {
            return self.count_lost(answer);
        }
        let index = self.data.insert(answer, Payload::Segment(segment, self.clock.now()));
        self.enter_first(index);
    }

    /// A packet enters its first link.
    pub(super) fn on_enter(&mut self, index: u32) {
        self.enter_first(index);
    }

    fn enter_first(&mut self, index: u32) {
        let link = self.routes.steps[self.data.packet(index).at as usize];
        self.enter(link, index);
    }

    /// A packet of the transport is at the end of its path.
    pub(super) fn arrive(&mut self, packet: DataPacket, index: u32) {
        let payload = *self.data.payload(index);
        if let (Role::Request, Payload::Segment(segment, _)) = (packet.role, payload) {
            return self.on_request(packet, segment);
        }
        if packet.copies != NO_COPIES {
            self.data.settle_copy(packet.copies, true);
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
        let c = subflow.connection() as usize;
        let own = self.routes.subflows_of(c as u32);
        let transfer = &self.plan.transfers[c];
        let is_fetched = self.transport.subflows[s as usize].answers.is_some();
        let endpoint = &mut self.transport.endpoints[c];
        let sink = endpoint.sink.get_or_insert_with(|| Box::new(Sink::new(own.len())));
        let path = s as usize - own.start;
        let (new, ack) = sink.on_segment(&settings, Time(self.clock.now()), path, segment, is_marked);
        let due = sink.due(path);
        if endpoint.completed_at == UNSET && transfer.amount.is_some_and(|amount| sink.complete() >= amount.0) {
            endpoint.completed_at = self.clock.now();
        }
        subflow.on_delivered(self.clock.now(), packet.sent, new, u64::from(segment.chunk.bytes) - new);
        self.transport.subflows[s as usize].marked += u64::from(is_marked);
        let is_relayed = endpoint.onward.is_some();
        let complete = sink.complete();
        if new > 0 {
            self.data.note_wait_of(self.clock.now(), s, since);
        }
        if is_relayed {
            self.pass_on(s, segment.chunk, complete, since);
        }
        if let Some(ack) = ack {
            if is_fetched { self.on_ack(s, &ack) } else { self.send_ack(s, ack) }
        } else if let Some(due) = due {
            let own = &mut self.transport.subflows[s as usize];
            if due.0 < own.tell {
                own.tell = due.0;
                self.clock.schedule(due.0, Kind::Tell, s);
            }
        }
        if is_relayed {
            self.pump_onward(c);
        }
    }

    /// A sink acknowledges.
    fn send_ack(&mut self, s: u32, mut ack: Ack) {
        self.inform(s, &mut ack);
        let at = self.routes.back[s as usize];
        let bytes = self.plan.run.transport.ack.0 as u16;
        let (role, ecn) = (Role::Ack, Ecn::NotEct);
        let packet = DataPacket { sent: self.clock.now(), at, subflow: s, bytes, role, ecn, copies: NO_COPIES };
        let index = self.data.insert(packet, Payload::Ack(ack));
        self.enter_first(index);
    }

    /// A delayed acknowledgement of a sink may be due.
    pub(super) fn on_tell(&mut self, s: u32) {
        let own = &mut self.transport.subflows[s as usize];
        if own.tell != self.clock.now() {
            return;
        }
        own.tell = UNSET;
        let c = self.subflows[s as usize].connection();
        let path = s as usize - self.routes.subflows_of(c).start;
        let settings = self.settings(s);
        let Some(sink) = &mut self.transport.endpoints[c as usize].sink else { return };
        let Some(due) = sink.due(path) else { return };
        if due.0 > self.clock.now() {
            self.transport.subflows[s as usize].tell = due.0;
            return self.clock.schedule(due.0, Kind::Tell, s);
        }
        let ack = sink.tell(&settings, Time(self.clock.now()), path);
        self.send_ack(s, ack);
    }

    /// An acknowledgement is back at its source.
    fn on_ack(&mut self, s: u32, ack: &Ack) {
        let c = self.subflows[s as usize].connection();
        let path = s as usize - self.routes.subflows_of(c).start;
        let Some(source) = &mut self.transport.endpoints[c as usize].source else { return };
        source.on_ack(Time(self.clock.now()), path, ack);
        self.pump(c, path);
    }

    /// The retransmission timer of a path may have expired.
    pub(super) fn on_patience(&mut self, s: u32) {
        let own = &mut self.transport.subflows[s as usize];
        if own.patience != self.clock.now() {
            return;
        }
        own.patience = UNSET;
        let c = self.subflows[s as usize].connection();
        let path = s as usize - self.routes.subflows_of(c).start;
        let Some(source) = &mut self.transport.endpoints[c as usize].source else { return };
        if source.deadline(path).is_some_and(|time| time.0 <= self.clock.now()) {
            source.on_deadline(Time(self.clock.now()), path);
        }
        self.pump(c, path);
    }

    /// A source may have something to send.
    pub(super) fn on_poll(&mut self, c: u32) {
        let poll = &mut self.transport.endpoints[c as usize].poll;
        if *poll == self.clock.now() {
            *poll = UNSET;
            self.pump(c, 0);
        }
    }
}
