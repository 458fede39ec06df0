//! A scenario made ready to run: everything drawn, resolved and checked, as arrays.

pub mod opportunities;
mod usable;
mod warnings;

use std::sync::Arc;

use anabranch_core::paths::{GroupSearch, Sharing};
use anabranch_core::{Bytes, ConnectionId, Demands, LinkId, Network, NodeId, Paths, Rate, Span, Time};
use anabranch_proto::Protocol;
use anabranch_proto::transport::{InputSettings, Scheduler, Settings, Told};
use anabranch_psi::{Filter, Identities};
use anabranch_queues::QueueDiscipline;

use crate::opportunities::Opportunities;

/// The least and the most that a link under simulation may carry, unless it carries nothing or is without limit.
pub const CAPACITIES: std::ops::RangeInclusive<f64> = 1.0..=1e15;

/// The least that a path may take there and back: control packets go round and round, and without delay for ever.
pub const LEAST_ROUND_TRIP: Span = Span::us(1);

/// The longest that a link may delay a packet: a day.
pub const MOST_DELAY: Span = Span::s(86_400);

/// All that a run depends on.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The network. Every link of a path has a twin.
    pub network: Arc<Network>,
    /// For each link what else there is to know of it.
    pub links: Vec<LinkPlan>,
    /// The connections; what they start with and stop at are theirs.
    pub demands: Demands,
    /// Their paths; each connection has one or more, each with at most `MOST_POSITIONS` links.
    pub paths: Paths,
    /// For each connection what it sends, and how.
    pub transfers: Vec<Transfer>,
    /// What connections can use from some times on, in the order of time; each had a demand to begin with.
    pub demand_changes: Vec<DemandChange>,
    /// Paths that begin later or end earlier than their connections, in the order of connections and paths; only of
    /// connections under protocols that keep windows.
    pub path_times: Vec<PathTime>,
    /// The connections whose targets ask for what they get, in the order of connections; only under protocols that keep
    /// windows.
    pub fetches: Vec<Fetch>,
    /// The connections that send what comes over others, in the order of connections; all under protocols that keep
    /// windows.
    pub relays: Vec<Relay>,
    /// What the network tells connections under protocols that keep windows.
    pub assistance: Assistance,
    /// The filters by which nodes forward data packets; `None` if these follow their paths.
    pub filters: Option<Filters>,
    /// The protocols in use, each with its parameters, without repetition.
    pub protocols: Vec<Protocol>,
    /// The run itself.
    pub run: RunPlan,
}

/// A link under simulation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinkPlan {
    /// The most that may wait in its data queue, the packet in transmission included.
    pub limit: Limit,
    /// What waits there in which order, and what is dropped or marked; first in, first out if there is none.
    pub discipline: Option<QueueDiscipline>,
    /// What may happen to data packets.
    pub data: Faults,
    /// What may happen to control packets.
    pub control: Faults,
    /// Capacities from some times on, in the order of time; before the first it is that of the network.
    pub changes: Vec<(Time, Rate)>,
    /// When packets leave, in place of what `changes` would let through: these are then the rate of the opportunities,
    /// for those who ask for the capacity.
    pub opportunities: Option<Opportunities>,
}

/// The most that may wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limit {
    /// In bytes.
    pub bytes: Option<Bytes>,
    /// In packets.
    pub packets: Option<u32>,
}

/// What may happen to a packet on a link, each with its probability from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Faults {
    /// It does not arrive; below 1.
    pub loss: f64,
    /// It arrives twice.
    pub duplicate: f64,
    /// It arrives late, so that others overtake it.
    pub reorder: f64,
    /// By how much at most.
    pub late: Span,
}

impl LinkPlan {
    /// By how much packets may come late, at the most.
    pub fn latest(&self) -> Span {
        self.data.late.max(self.control.late)
    }
}

impl Faults {
    /// Whether nothing ever happens.
    pub fn is_none(&self) -> bool {
        self.loss == 0.0 && self.duplicate == 0.0 && self.reorder == 0.0
    }
}

/// What a connection sends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transfer {
    /// How much; `None` for as long as it stays.
    pub amount: Option<Bytes>,
    /// In packets of this size, 40 to 65,535 bytes.
    pub packet: Bytes,
    /// Under which of [`Plan::protocols`].
    pub protocol: usize,
}

/// A connection can use more or less from now on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DemandChange {
    /// When.
    pub time: Time,
    /// Which.
    pub connection: ConnectionId,
    /// How much; over 0 and finite.
    pub demand: Rate,
}

/// A path that may not be used as long as its connection is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathTime {
    /// Whose.
    pub connection: ConnectionId,
    /// Among the paths of its connection, from 0.
    pub path: usize,
    /// From when on; no earlier than the connection begins.
    pub start: Time,
    /// Until when, later than `start`; `None` for as long as the connection is there.
    pub stop: Option<Time>,
}

/// A connection whose target asks nodes for data, packet by packet, and keeps the windows itself. Its paths lead from
/// these nodes; its source is the first of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetch {
    /// Which.
    pub connection: ConnectionId,
    /// Whom it asks; all different.
    pub servers: Vec<Server>,
    /// From its beginning until it knows whom to ask, and over which paths.
    pub set_up: Span,
}

/// A connection that sends what comes over others, which end where it begins. None comes before itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Relay {
    /// Which.
    pub connection: ConnectionId,
    /// The others; each is one of one relay only.
    pub inputs: Vec<(ConnectionId, InputSettings)>,
    /// The bytes of each that may wait.
    pub buffer: Bytes,
    /// What these are told that they may count on.
    pub told: Told,
}

/// A node that answers with data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Server {
    /// Which.
    pub node: NodeId,
    /// From when on it answers.
    pub start: Time,
    /// Until when, later than `start`; `None` for ever.
    pub stop: Option<Time>,
}

impl PathTime {
    /// Whether the path may be used at this time, if its connection is there.
    pub fn is_open(&self, now: Time) -> bool {
        self.start <= now && self.stop.is_none_or(|stop| now < stop)
    }

    /// Whether the path opens or closes at this very time.
    pub fn changes_at(&self, now: Time) -> bool {
        self.start == now || self.stop == Some(now)
    }
}

impl Plan {
    /// What finds which paths of a connection share links.
    pub fn group_search(&self) -> GroupSearch {
        GroupSearch::new(&self.network, self.assistance.sharing, &self.assistance.without)
    }

    /// The relay that a connection goes on from; `None` if it sends data of its own.
    pub fn relay(&self, connection: ConnectionId) -> Option<&Relay> {
        let place = self.relays.binary_search_by_key(&connection, |relay| relay.connection);
        place.ok().map(|place| &self.relays[place])
    }

    /// For each connection the one that sends on what comes over it; `None` if its target keeps that.
    pub fn onward(&self) -> Vec<Option<ConnectionId>> {
        let mut onward = vec![None; self.transfers.len()];
        for relay in &self.relays {
            relay.inputs.iter().for_each(|(id, _)| onward[id.index()] = Some(relay.connection));
        }
        onward
    }

    /// Whom the target of a connection asks for data; `None` if its source sends unasked.
    pub fn fetch(&self, connection: ConnectionId) -> Option<&Fetch> {
        let place = self.fetches.binary_search_by_key(&connection, |fetch| fetch.connection);
        place.ok().map(|place| &self.fetches[place])
    }
}

/// The twins of a path's links, from the last on.
///
/// # Panics
/// If one has no twin; all those of a plan's paths have.
pub fn way_back(network: &Network, path: &[LinkId]) -> Vec<LinkId> {
    path.iter().rev().map(|&link| network.link(link).twin.expect("every link of a path has a twin")).collect()
}

/// How control packets travel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ControlPlane {
    /// In queues of their own, taking no capacity and no time but the delay of the link.
    #[default]
    Separate,
    /// In the data queues.
    InBand,
}

/// Which rates are the fair ones that granted rates are set beside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fairness {
    /// Max-min where every connection has one path; otherwise upward max-min, as c-SLEN finds it from equal portions.
    #[default]
    MaxMin,
    /// Proportional.
    Proportional,
}

/// The run itself.
#[derive(Clone, Debug, PartialEq)]
pub struct RunPlan {
    /// How long.
    pub duration: Span,
    /// What of it does not count in means.
    pub warm_up: Span,
    /// For everything random.
    pub seed: u64,
    /// The time between samples, over 0.
    pub sample: Span,
    /// How control packets travel.
    pub control: ControlPlane,
    /// How large control packets are, if in band or held back.
    pub control_packet: Bytes,
    /// The most that control packets of a subflow may take of its rate, over 0 and at most 1: they are held back until
    /// it is so, and none passes another. `None` if they never are.
    ///
    /// Two exceptions: none waits for longer than a second after the one before it, so that a slow subflow hears of a
    /// higher rate; and at rate 0 none waits, so that a subflow without a rate gets one.
    pub control_share: Option<f64>,
    /// Whether hops repair losses, repetitions and reordering of control packets.
    pub repair: bool,
    /// How sources and sinks of window protocols work.
    pub transport: Transport,
    /// Whether data packets are sent, or only control packets.
    pub data: bool,
    /// Which rates are the fair ones.
    pub fairness: Fairness,
    /// What is recorded.
    pub record: Record,
}

/// What the network tells connections.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Assistance {
    /// What paths must share to be of one group.
    pub sharing: Sharing,
    /// Links that count as shared by nobody, such as access links that are known to be no bottleneck.
    pub without: Vec<LinkId>,
    /// So long after a link has failed, or is there again, connections leave the paths over it, there or back, or take
    /// them up again; `None` if nobody tells them.
    pub failures_after: Option<Span>,
}

/// The filters that data packets carry.
///
/// None is of a connection under a protocol whose data packets have headers.
#[derive(Clone, Debug)]
pub struct Filters {
    /// The identities that they are made of.
    pub identities: Identities,
    /// For each path that of its packets.
    pub there: Vec<Filter>,
    /// For each path that of packets on its way back, over the twins of its links; only under protocols that keep windows.
    pub back: Vec<Option<Filter>>,
}

/// How sources and sinks of window protocols work.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transport {
    /// Packets in the first window [rfc6928].
    pub first_window: f64,
    /// How long sources wait for an acknowledgement: at the least, and before the first round trip is known.
    pub least_wait: Span,
    /// See `least_wait`.
    pub first_wait: Span,
    /// One acknowledgement for so many packets, or after so long.
    pub ack_every: u32,
    /// See `ack_every`.
    pub ack_delay: Span,
    /// How large acknowledgements are.
    pub ack: Bytes,
    /// How much sinks keep of what is not in order; `None` for all.
    pub buffer: Option<Bytes>,
    /// Which path takes the next packet.
    pub scheduler: Scheduler,
    /// Whether links may mark packets instead of dropping them.
    pub ecn: bool,
    /// Each packet waits at its source for a random part of so many transmission times of its path's slowest link.
    pub jitter: f64,
}

impl Default for Transport {
    /// The default settings of endpoints; ten packets [rfc6928]; and one transmission time against phase effects
    /// [floyd1992].
    fn default() -> Self {
        let Settings { least_wait, first_wait, ack_every, ack_delay, scheduler, .. } = Settings::default();
        Self {
            first_window: 10.0,
            least_wait,
            first_wait,
            ack_every,
            ack_delay,
            ack: Bytes(40),
            buffer: None,
            scheduler,
            ecn: false,
            jitter: 1.0,
        }
    }
}

impl Transport {
    /// As an endpoint takes it, for packets of this size.
    pub fn settings(&self, packet: Bytes) -> Settings {
        Settings {
            packet,
            least_wait: self.least_wait,
            first_wait: self.first_wait,
            ack_every: self.ack_every,
            ack_delay: self.ack_delay,
            buffer: self.buffer.map_or(u64::MAX / 4, |buffer| buffer.0),
            scheduler: self.scheduler,
        }
    }
}

/// What is recorded, besides the totals of each connection, subflow and link.
#[allow(clippy::struct_excessive_bools)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// At each sample, rates of connections.
    pub connections: bool,
    /// At each sample, rates of subflows.
    pub subflows: bool,
    /// At each sample, windows and round trips of subflows.
    pub windows: bool,
    /// How long packets wait, at links and on their whole way, as a distribution over the run.
    pub waits: bool,
    /// At each sample, loads and queues of links.
    pub links: bool,
    /// Every change of a granted rate, when it happens.
    pub grants: bool,
    /// At each sample, fair rates, and how far granted rates are from them.
    pub fairness: bool,
    /// At each sample, how the errors of connections and bottlenecks are spread, and the longest queue.
    pub errors: bool,
}
