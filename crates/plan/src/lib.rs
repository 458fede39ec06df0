//! The plan of a run: a scenario with everything drawn, resolved and checked, as arrays.

pub mod opportunities;
mod reports;
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
pub use crate::reports::{CapacityReport, CapacityReports};

/// Range of the capacity of a simulated link, unless the capacity is 0 or infinite.
pub const CAPACITIES: std::ops::RangeInclusive<f64> = 1.0..=1e15;

/// Least round-trip propagation delay of a path, since control packets circulate all the time and without delay would
/// do so endlessly at one instant.
pub const LEAST_ROUND_TRIP: Span = Span::us(1);

/// Longest delay of a packet on a link: a day.
pub const MOST_DELAY: Span = Span::s(86_400);

/// The plan of a run, with everything that the run depends on.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The network. Every link of a path has a twin.
    pub network: Arc<Network>,
    /// Further properties of each link.
    pub links: Vec<LinkPlan>,
    /// The connections, with their times of start and stop and their first demands.
    pub demands: Demands,
    /// The paths of the connections; each connection has one or more, each with at most `MOST_POSITIONS` links.
    pub paths: Paths,
    /// The data that each connection sends, with packet size and protocol.
    pub transfers: Vec<Transfer>,
    /// Later changes of demands, in the order of time; each connection concerned has a demand at its start.
    pub demand_changes: Vec<DemandChange>,
    /// Paths that begin later or end earlier than their connections, in the order of connections and paths; only of
    /// connections under window protocols.
    pub path_times: Vec<PathTime>,
    /// The connections whose targets request their data, in the order of connections; only under window protocols.
    pub fetches: Vec<Fetch>,
    /// The connections that send on the data of others, in the order of connections; all under window protocols.
    pub relays: Vec<Relay>,
    /// Information that the network gives to connections under window protocols.
    pub assistance: Assistance,
    /// The filters by which nodes forward data packets; `None` if these follow their paths.
    pub filters: Option<Filters>,
    /// The protocols in use, each with its parameters, without repetition.
    pub protocols: Vec<Protocol>,
    /// Duration, seed, sampling and other settings of the run.
    pub run: RunPlan,
    /// Defaults that a reader of the run's numbers must know, a sentence each.
    pub notes: Vec<String>,
}

/// The properties of a simulated link.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinkPlan {
    /// Limit on its data queue, including the packet in transmission.
    pub limit: Limit,
    /// Queue discipline; first in, first out if `None`.
    pub discipline: Option<QueueDiscipline>,
    /// Faults of data packets.
    pub data: Faults,
    /// Faults of control packets.
    pub control: Faults,
    /// Later capacities, in the order of time; before the first change the capacity is that of the network.
    pub changes: Vec<(Time, Rate)>,
    /// The opportunities at which packets leave; `None` if the link sends at any time. With opportunities, `changes`
    /// only reports their rate as the capacity.
    pub opportunities: Option<Opportunities>,
    /// The part of the capacity that each of some protocols may hand out, by the name of the protocol; over 0 and at most
    /// 1. The others may hand out all of it.
    pub shares: Vec<(&'static str, f64)>,
    /// The capacities that controls learn; `None` if they learn each capacity at once. Service does not depend on them.
    pub reports: Option<CapacityReports>,
}

/// A limit on the data that wait at a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limit {
    /// Limit in bytes; `None` for no limit.
    pub bytes: Option<Bytes>,
    /// Limit in packets; `None` for no limit.
    pub packets: Option<u32>,
}

/// The faults of packets on a link, each with its probability from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Faults {
    /// Probability that a packet is lost; below 1.
    pub loss: f64,
    /// Probability that a packet arrives twice.
    pub duplicate: f64,
    /// Probability that a packet arrives late, so that others overtake it.
    pub reorder: f64,
    /// Greatest additional delay of a late packet.
    pub late: Span,
}

impl LinkPlan {
    /// Whether the capacity that controls know may change, or is not the one of the network.
    pub fn varies(&self) -> bool {
        !self.changes.is_empty() || self.reports.is_some()
    }

    /// The times after the start at which controls learn a capacity.
    pub fn told(&self) -> impl Iterator<Item = Time> {
        let reports = self.reports.as_ref().map_or(&[][..], |reports| &reports.reports[1..]);
        let changes = if self.reports.is_none() { &self.changes[..] } else { &[] };
        changes.iter().map(|&(time, _)| time).chain(reports.iter().map(|report| report.time))
    }

    /// The greatest additional delay of any packet; 0 if none arrives late.
    pub fn latest(&self) -> Span {
        self.data.late.max(self.control.late)
    }
}

impl Faults {
    /// Whether the link has no faults.
    pub fn is_none(&self) -> bool {
        self.loss == 0.0 && self.duplicate == 0.0 && self.reorder == 0.0
    }
}

/// The data that a connection sends, with packet size and protocol.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transfer {
    /// Amount of data; `None` if the connection sends for as long as it stays.
    pub amount: Option<Bytes>,
    /// Size of the data packets, 40 to 65,535 bytes.
    pub packet: Bytes,
    /// Index of the protocol in [`Plan::protocols`].
    pub protocol: usize,
}

/// A change of a connection's demand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DemandChange {
    /// Time of the change.
    pub time: Time,
    /// The connection whose demand changes.
    pub connection: ConnectionId,
    /// The new demand; over 0 and finite.
    pub demand: Rate,
}

/// A path that is usable only for a part of its connection's lifetime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathTime {
    /// The connection of the path.
    pub connection: ConnectionId,
    /// Number of the path among those of its connection, from 0.
    pub path: usize,
    /// Time from which the path is usable; no earlier than the start of the connection.
    pub start: Time,
    /// Time at which the path ceases to be usable, later than `start`; `None` if it stays as long as its connection.
    pub stop: Option<Time>,
}

/// A connection whose target requests data from nodes, packet by packet, and keeps the windows itself. Its paths lead
/// from these nodes; its source is the first of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetch {
    /// The connection.
    pub connection: ConnectionId,
    /// The nodes that send the data; all different.
    pub servers: Vec<Server>,
    /// Time from its start until it knows the nodes and the paths.
    pub set_up: Span,
}

/// A connection that sends on the data of other connections, which end where it begins. Relays never form a cycle.
#[derive(Clone, Debug, PartialEq)]
pub struct Relay {
    /// The connection that leaves the relay.
    pub connection: ConnectionId,
    /// The connections that end at the relay; each belongs to one relay only.
    pub inputs: Vec<(ConnectionId, InputSettings)>,
    /// Buffer for each of these, in bytes.
    pub buffer: Bytes,
    /// The kind of rate that the relay reports to these connections.
    pub told: Told,
}

/// A node that answers requests for data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Server {
    /// The node.
    pub node: NodeId,
    /// Time from which the node answers.
    pub start: Time,
    /// Time until which the node answers, later than `start`; `None` for no end.
    pub stop: Option<Time>,
}

impl PathTime {
    /// Whether the path may be used at this time, if its connection is there.
    pub fn is_open(&self, now: Time) -> bool {
        self.start <= now && self.stop.is_none_or(|stop| now < stop)
    }

    /// Whether the path opens or closes at exactly this time.
    pub fn changes_at(&self, now: Time) -> bool {
        self.start == now || self.stop == Some(now)
    }
}

impl Plan {
    /// The share that a link has for the connections of a protocol, over 0 and at most 1; `None` if it has none.
    pub fn share(&self, link: LinkId, protocol: usize) -> Option<f64> {
        let name = self.protocols[protocol].name();
        self.links[link.index()].shares.iter().find(|(of, _)| *of == name).map(|(_, part)| *part)
    }

    /// The part of a link's capacity that a protocol hands out: what its headroom leaves of its share, or of all.
    pub fn handed_out(&self, link: LinkId, protocol: usize) -> f64 {
        self.share(link, protocol).unwrap_or(1.0) * (1.0 - self.protocols[protocol].headroom())
    }

    /// A search for the paths of a connection that share links.
    pub fn group_search(&self) -> GroupSearch {
        GroupSearch::new(&self.network, self.assistance.sharing, &self.assistance.without)
    }

    /// The relay that a connection leaves; `None` if it sends its own data.
    pub fn relay(&self, connection: ConnectionId) -> Option<&Relay> {
        let place = self.relays.binary_search_by_key(&connection, |relay| relay.connection);
        place.ok().map(|place| &self.relays[place])
    }

    /// For each connection the one that sends its data on; `None` if the data stay at its target.
    pub fn onward(&self) -> Vec<Option<ConnectionId>> {
        let mut onward = vec![None; self.transfers.len()];
        for relay in &self.relays {
            relay.inputs.iter().for_each(|(id, _)| onward[id.index()] = Some(relay.connection));
        }
        onward
    }

    /// The fetch of a connection whose target requests data; `None` if its source sends unasked.
    pub fn fetch(&self, connection: ConnectionId) -> Option<&Fetch> {
        let place = self.fetches.binary_search_by_key(&connection, |fetch| fetch.connection);
        place.ok().map(|place| &self.fetches[place])
    }
}

/// The path back: the twins of a path's links, from the last to the first.
///
/// # Panics
/// If a link has no twin; all links of a plan's paths have one.
pub fn way_back(network: &Network, path: &[LinkId]) -> Vec<LinkId> {
    path.iter().rev().map(|&link| network.link(link).twin.expect("every link of a path has a twin")).collect()
}

/// The transport of control packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ControlPlane {
    /// Separate queues, in which control packets use no capacity and take no time except the delay of the link.
    #[default]
    Separate,
    /// The data queues.
    InBand,
}

/// The kind of fair rates with which granted rates are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fairness {
    /// Max-min fairness where every connection has one path; otherwise upward max-min fairness, as c-SLEN computes it
    /// from equal portions.
    #[default]
    MaxMin,
    /// Proportional fairness.
    Proportional,
}

/// Duration, seed, sampling and other settings of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunPlan {
    /// Duration of the run.
    pub duration: Span,
    /// Time at the start that means leave out.
    pub warm_up: Span,
    /// Seed of all random numbers.
    pub seed: u64,
    /// Time between samples, over 0.
    pub sample: Span,
    /// Transport of control packets.
    pub control: ControlPlane,
    /// Size of control packets, which matters if they are in band or held back.
    pub control_packet: Bytes,
    /// Greatest part of a subflow's rate for its control packets, over 0 and at most 1: control packets are held back
    /// to comply, in their order. `None` if they are never held back.
    ///
    /// There are two exceptions. No control packet waits for longer than a second after the one before it, so that a
    /// slow subflow learns of a higher rate. At rate 0 none waits, so that a subflow without a rate gets one.
    pub control_share: Option<f64>,
    /// Whether hops repair losses, repetitions and reordering of control packets.
    pub repair: bool,
    /// Settings of sources and sinks of window protocols.
    pub transport: Transport,
    /// Whether data packets are sent, or only control packets.
    pub data: bool,
    /// Kind of the fair rates.
    pub fairness: Fairness,
    /// Quantities that are recorded.
    pub record: Record,
}

/// Information that the network gives to connections.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Assistance {
    /// Elements that two paths of one group share.
    pub sharing: Sharing,
    /// Links that do not count as shared, such as access links that are known not to be bottlenecks.
    pub without: Vec<LinkId>,
    /// Delay after a link fails or returns until connections leave the paths over it, in either direction, or use them
    /// again; `None` if the network does not inform connections.
    pub failures_after: Option<Span>,
}

/// The filters that data packets carry.
///
/// Connections under protocols whose data packets have headers have no filters.
#[derive(Clone, Debug)]
pub struct Filters {
    /// The link identities of which filters are made.
    pub identities: Identities,
    /// The filter of the packets of each path.
    pub there: Vec<Filter>,
    /// The filter of the packets on each path's way back, over the twins of its links; only under window protocols.
    pub back: Vec<Option<Filter>>,
}

/// Settings of sources and sinks of window protocols.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transport {
    /// Packets in the initial window [rfc6928].
    pub first_window: f64,
    /// Least time that a source waits for an acknowledgement.
    pub least_wait: Span,
    /// Time that a source waits for an acknowledgement before the first round-trip time is known.
    pub first_wait: Span,
    /// Number of packets for each acknowledgement.
    pub ack_every: u32,
    /// Longest delay of an acknowledgement.
    pub ack_delay: Span,
    /// Size of an acknowledgement.
    pub ack: Bytes,
    /// Buffer of a sink for data out of order; `None` for no limit.
    pub buffer: Option<Bytes>,
    /// Scheduler that chooses the path of the next packet.
    pub scheduler: Scheduler,
    /// Whether links may mark packets instead of dropping them.
    pub ecn: bool,
    /// Jitter: each packet waits at its source for a random part of this many transmission times of its path's slowest
    /// link.
    pub jitter: f64,
}

impl Default for Transport {
    /// The default settings of endpoints, with ten packets in the initial window [rfc6928], and with a jitter of one
    /// transmission time against phase effects [floyd1992].
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
    /// The settings of an endpoint for packets of this size.
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

/// The quantities that are recorded, besides the totals of each connection, subflow and link.
#[allow(clippy::struct_excessive_bools)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// Rates of connections, at each sample.
    pub connections: bool,
    /// Rates of subflows, at each sample.
    pub subflows: bool,
    /// Windows and round-trip times of subflows, at each sample.
    pub windows: bool,
    /// Waits of packets, at links and on the whole path, as a distribution over the run.
    pub waits: bool,
    /// Loads and queues of links, at each sample.
    pub links: bool,
    /// Every change of a granted rate, at its time.
    pub grants: bool,
    /// Fair rates and the distance of granted rates from them, at each sample.
    pub fairness: bool,
    /// Distribution of the errors of connections and bottlenecks, and the longest queue, at each sample.
    pub errors: bool,
}
