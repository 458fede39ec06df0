//! Samples during a run, and its outcome afterwards.

use anabranch_core::{Rate, Samples, Time};
use anabranch_links::Totals;
use anabranch_plan::{Plan, Record};

use crate::engine::Shards;
use crate::fairness::Fairness;
use crate::summary::Summary;
use crate::world::{ControlCount, UNSET, Wait, World};

/// A change of a granted rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grant {
    /// The time of the change.
    pub time: Time,
    /// The number of the subflow.
    pub subflow: u32,
    /// The rate that the subflow may send at from then on.
    pub rate: Rate,
}

/// The outcome of a connection; each time is infinite if the run ended before it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConnectionTotal {
    /// The time in seconds at which the last byte was sent, or the connection was stopped.
    pub stopped_s: f64,
    /// The time in seconds from which all bytes sent were delivered or lost, once the connection had stopped.
    pub finished_s: f64,
    /// The time in seconds at which the protocol was done with the connection.
    pub left_s: f64,
}

/// The outcome of a subflow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SubflowTotal {
    /// The number of its connection.
    pub connection: u32,
    /// Bytes sent: bytes delivered, bytes lost, and bytes still under way.
    pub sent: u64,
    /// Bytes delivered, each byte once.
    pub delivered: u64,
    /// Bytes lost.
    pub lost: u64,
    /// Bytes that arrived a second time.
    pub repeated: u64,
    /// Packets that arrived with a mark of a link or a relay.
    pub marked: u64,
    /// The number of links that copies of its packets, and of packets on its way back, entered beside its path.
    pub strays: u64,
    /// Bytes delivered after the warm-up.
    pub delivered_warm: u64,
    /// The mean delay of its packets in seconds; 0 if none arrived.
    pub mean_delay_s: f64,
    /// The longest delay of its packets in seconds; 0 if none arrived.
    pub most_delay_s: f64,
    /// Its control packets, counted at its source.
    pub control: ControlCount,
}

/// The outcome of a link of the network.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LinkTotal {
    /// Its counts over the whole run.
    pub totals: Totals,
    /// Bytes that it sent after the warm-up.
    pub sent_warm: u64,
    /// The number of control packets that entered it: those of sources, sinks and links, and the frames of repaired
    /// hops.
    pub control_packets: u64,
}

/// The outcome of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The number of threads that most of the run used; nothing else depends on it.
    pub threads: u32,
    /// Whether the run came to its end.
    pub is_whole: bool,
    /// The simulated time that the run reached.
    pub reached: Time,
    /// The number of events served.
    pub events: u64,
    /// The number of times that a packet of any kind entered a link of the network.
    pub hops: u64,
    /// Data and control packets still under way.
    pub under_way: u64,
    /// Grants that were no rate, because they were negative or not finite.
    pub bad_grants: u64,
    /// Links, those of demands included, whose controls still hold something of a connection; 0 while control packets
    /// are under way.
    pub links_not_clear: u64,
    /// The outcome of each connection.
    pub connections: Vec<ConnectionTotal>,
    /// The outcome of each subflow.
    pub subflows: Vec<SubflowTotal>,
    /// The outcome of each link of the network.
    pub links: Vec<LinkTotal>,
    /// The samples of everything that the plan records over time.
    pub samples: Samples,
    /// All changes of granted rates; empty unless they are recorded.
    pub grants: Vec<Grant>,
    /// The waits of data packets at links of the network; empty unless they are recorded.
    pub link_waits: Vec<Wait>,
    /// The waits of data packets on the whole way of each subflow; empty unless they are recorded.
    pub subflow_waits: Vec<Wait>,
}

/// Takes samples, and makes the outcome in the end.
pub(crate) struct Recorder {
    asked: Record,
    has_changes: bool,
    fairness: Option<Fairness>,
    samples: Samples,
    /// The time of the previous sample in picoseconds.
    last_time: u64,
    /// Bytes that each subflow had delivered at the previous sample.
    last_delivered: Vec<u64>,
    /// Bytes that each link had sent at the previous sample; empty unless links are recorded.
    last_carried: Vec<u64>,
    /// The counts at the end of the warm-up, once it is over.
    warm: Option<Warm>,
}

/// Counts at the end of the warm-up.
struct Warm {
    /// Bytes delivered of each subflow.
    delivered: Vec<u64>,
    /// Bytes sent by each link in use.
    carried: Vec<u64>,
}

impl Recorder {
    /// Creates a recorder without samples.
    pub fn new(plan: &Plan) -> Self {
        let asked = plan.run.record;
        Self {
            asked,
            has_changes: plan.links.iter().any(|link| !link.changes.is_empty()),
            fairness: (asked.fairness || asked.errors).then(|| Fairness::new(plan)),
            samples: Samples::default(),
            last_time: 0,
            last_delivered: vec![0; plan.paths.len()],
            last_carried: if asked.links { vec![0; plan.links.len()] } else { Vec::new() },
            warm: None,
        }
    }

    /// Whether a plan records anything at samples.
    pub fn has_samples(plan: &Plan) -> bool {
        let Record { connections, subflows, windows, links, fairness, errors, grants: _, waits: _ } = plan.run.record;
        connections || subflows || windows || links || fairness || errors
    }

    /// The samples taken so far.
    pub fn samples(&self) -> &Samples {
        &self.samples
    }

    /// Takes note of the counts at the end of the warm-up.
    pub fn on_warm(&mut self, shards: &mut Shards<'_, '_>) {
        self.warm = Some(Warm {
            delivered: (0..shards.plan.paths.len()).map(|s| shards.sink_of(s).subflow(s).delivered()).collect(),
            carried: (0..shards.routes.used.len()).map(|l| shards.totals(l).sent).collect(),
        });
    }

    /// Takes a sample.
    pub fn on_sample(&mut self, shards: &mut Shards<'_, '_>) {
        self.samples.time_s.push(Time(shards.now).seconds());
        let period = (shards.now - self.last_time) as f64 / 1e12;
        let granted: Vec<f64> = (0..shards.plan.paths.len()).map(|s| shards.granted(s).0).collect();
        if self.asked.connections || self.asked.subflows {
            self.sample_rates(shards, &granted, period);
        }
        if self.asked.windows {
            for window in (0..shards.plan.paths.len()).map(|s| shards.window(s)) {
                self.samples.subflow_window_bytes.push(window.bytes);
                self.samples.subflow_rtt_s.push(window.rtt);
                self.samples.subflow_pace_bps.push(window.pace);
                self.samples.subflow_marked_share.push(window.marked_share);
            }
        }
        if self.asked.links {
            self.sample_links(shards, &granted, period);
        } else if self.asked.errors {
            let peaks = (0..shards.routes.used.len()).map(|l| shards.peak(l));
            self.samples.peak_packets.push(peaks.max().unwrap_or(0));
        }
        if let Some(fairness) = &mut self.fairness {
            fairness.update(shards);
            if self.asked.fairness {
                let gauge = fairness.gauge(&granted);
                self.samples.residual.push(gauge.residual);
                self.samples.overload.push(gauge.overload);
                self.samples.present.push(gauge.present);
                self.samples.connection_fair_bps.extend(fairness.rates());
            }
            if self.asked.fairness && self.asked.links {
                self.samples.link_fair_bps.extend(shards.of_network(fairness.loads(), 0.0));
            }
            if self.asked.errors {
                push_errors(&mut self.samples, &fairness.errors(shards, &granted));
            }
        }
        self.last_time = shards.now;
    }

    fn sample_rates(&mut self, shards: &Shards<'_, '_>, granted: &[f64], period: f64) {
        let delivered: Vec<f64> = self
            .last_delivered
            .iter_mut()
            .enumerate()
            .map(|(s, last)| {
                let now = shards.sink_of(s).subflow(s).delivered();
                (now - std::mem::replace(last, now)) as f64 * 8.0 / period
            })
            .collect();
        if self.asked.connections {
            for own in shards.routes.subflows.windows(2).map(|w| w[0] as usize..w[1] as usize) {
                // Folded from 0, since an empty sum of floats is -0.
                let sum = |rates: &[f64]| rates[own.clone()].iter().fold(0.0, |sum, rate| sum + rate);
                self.samples.connection_granted_bps.push(sum(granted));
                self.samples.connection_delivered_bps.push(sum(&delivered));
            }
        }
        if self.asked.subflows {
            self.samples.subflow_granted_bps.extend(granted);
            self.samples.subflow_delivered_bps.extend(delivered);
        }
    }

    fn sample_links(&mut self, shards: &mut Shards<'_, '_>, granted: &[f64], period: f64) {
        let loads = shards.loads(granted);
        let samples = &mut self.samples;
        let totals: Vec<Totals> = (0..shards.routes.used.len()).map(|l| shards.totals(l)).collect();
        let sent: Vec<u64> = totals.iter().map(|totals| totals.sent).collect();
        samples.link_granted_bps.extend(shards.of_network(&loads, 0.0));
        for (last, sent) in self.last_carried.iter_mut().zip(shards.of_network(&sent, 0)) {
            // What is left of the packet in transmission is rounded.
            let carried = sent.saturating_sub(std::mem::replace(last, sent));
            samples.link_carried_bps.push(carried as f64 * 8.0 / period);
        }
        if self.has_changes {
            samples.link_capacity_bps.extend(shards.capacities());
        }
        let used = 0..shards.routes.used.len();
        let backlogs: Vec<u64> = used.clone().map(|l| shards.backlog(l)).collect();
        let peaks: Vec<u32> = used.map(|l| shards.peak(l)).collect();
        if self.asked.errors {
            samples.peak_packets.push(peaks.iter().copied().max().unwrap_or(0));
        }
        samples.link_backlog_bytes.extend(shards.of_network(&backlogs, 0));
        samples.link_peak_packets.extend(shards.of_network(&peaks, 0));
    }

    /// Makes the outcome of the run; `threads` is the number of threads that drove most of it.
    pub fn finish(self, shards: &Shards<'_, '_>, is_whole: bool, threads: usize) -> Outcome {
        let plan = shards.plan;
        let warm = self.warm.as_ref();
        let subflows: Vec<SubflowTotal> =
            (0..plan.paths.len()).map(|s| subflow_total(shards, s, warm.map_or(0, |w| w.delivered[s]))).collect();
        let connections = (0..plan.transfers.len()).map(|c| connection_total(shards, c, &subflows)).collect();
        let used: Vec<LinkTotal> = (0..shards.routes.used.len())
            .map(|l| {
                let totals = shards.totals(l);
                let sent_warm = totals.sent.saturating_sub(warm.map_or(0, |w| w.carried[l]));
                LinkTotal { totals, sent_warm, control_packets: shards.crossed(l) }
            })
            .collect();
        let controls = shards.control_under_way();
        let not_clear = if controls == 0 { shards.links_not_clear() } else { 0 };
        Outcome {
            threads: threads as u32,
            is_whole,
            reached: Time(shards.now),
            events: shards.sum(World::events),
            hops: shards.sum(World::hops),
            under_way: shards.sum(|world| world.data().under_way() as u64) + controls,
            bad_grants: shards.sum(|world| world.connections().bad_grants()),
            links_not_clear: not_clear,
            connections,
            subflows,
            links: shards.of_network(&used, LinkTotal::default()).collect(),
            samples: self.samples,
            grants: shards.grants(),
            link_waits: shards.link_waits(),
            subflow_waits: shards.subflow_waits(),
        }
    }
}

fn subflow_total(shards: &Shards<'_, '_>, s: usize, warm: u64) -> SubflowTotal {
    let (source, sink) = (shards.source_of(s).subflow(s), shards.sink_of(s).subflow(s));
    SubflowTotal {
        connection: source.connection(),
        sent: source.sent(),
        delivered: sink.delivered(),
        lost: shards.sum(|world| world.subflow(s).lost()),
        repeated: sink.repeated(),
        marked: shards.sink_of(s).transport().marked(s),
        strays: shards.sum(|world| world.data().strays(s)),
        delivered_warm: sink.delivered() - warm,
        mean_delay_s: sink.mean_delay_s(),
        most_delay_s: sink.most_delay().seconds(),
        control: shards.source_of(s).control().count(s),
    }
}

fn connection_total(shards: &Shards<'_, '_>, c: usize, subflows: &[SubflowTotal]) -> ConnectionTotal {
    let connection = shards.connection(c);
    let own = shards.routes.subflows[c] as usize..shards.routes.subflows[c + 1] as usize;
    let is_settled = own.clone().all(|s| subflows[s].sent == subflows[s].delivered + subflows[s].lost);
    let settled_at = own.map(|s| shards.latest(|world| world.subflow(s).settled_at())).max().unwrap_or(0);
    if let Some(completed_at) = shards.completed_at(c) {
        // Under the transport packets may be under way that are needed no longer.
        let finished_at = if completed_at == UNSET { connection.left_at() } else { completed_at };
        let (stopped, left) = (connection.stopped_at(), connection.left_at());
        return ConnectionTotal {
            stopped_s: seconds(stopped),
            finished_s: seconds(if stopped == UNSET { UNSET } else { finished_at }),
            left_s: seconds(left),
        };
    }
    let is_finished = is_settled && connection.stopped_at() != UNSET;
    ConnectionTotal {
        stopped_s: seconds(connection.stopped_at()),
        finished_s: seconds(if is_finished { settled_at.max(connection.stopped_at()) } else { UNSET }),
        left_s: seconds(connection.left_at()),
    }
}

fn seconds(time: u64) -> f64 {
    if time == UNSET { f64::INFINITY } else { Time(time).seconds() }
}

/// Adds a sample of the spread of errors of connections and of links.
fn push_errors(samples: &mut Samples, [connections, links]: &[Summary; 2]) {
    samples.connection_errors_count.push(connections.count);
    samples.connection_errors_mean.push(connections.mean);
    samples.connection_errors_magnitude.push(connections.magnitude);
    samples.connection_errors_least.push(connections.least);
    samples.connection_errors_p10.push(connections.p10);
    samples.connection_errors_p50.push(connections.p50);
    samples.connection_errors_p90.push(connections.p90);
    samples.connection_errors_most.push(connections.most);
    samples.link_errors_count.push(links.count);
    samples.link_errors_mean.push(links.mean);
    samples.link_errors_magnitude.push(links.magnitude);
    samples.link_errors_least.push(links.least);
    samples.link_errors_p10.push(links.p10);
    samples.link_errors_p50.push(links.p50);
    samples.link_errors_p90.push(links.p90);
    samples.link_errors_most.push(links.most);
}
