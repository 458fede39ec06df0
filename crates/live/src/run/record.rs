//! The records of a live run, and its outcome.

use std::sync::Arc;

use anabranch_core::{ConnectionId, Samples, Span, Time};
use anabranch_emulator::{LinkState, PathCount, Report, Sample};
use anabranch_plan::Plan;

use super::agents::AgentsTotal;
use super::connection::{ConnectionTotal, Status};
use super::relay::RelayTotal;
use super::{OUTER, packet_size};

/// Number of progress reports in a run without samples.
const STEPS: u64 = 100;

/// Results of the connection ends at the end of a run.
pub(super) struct Ends {
    pub connections: Vec<ConnectionTotal>,
    pub relays: Vec<RelayTotal>,
}

/// The totals of a subflow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SubflowTotal {
    /// Number of the subflow's connection.
    pub connection: u32,
    /// Counts over the whole run.
    pub count: PathCount,
    /// Bytes delivered after the warm-up.
    pub delivered_warm: u64,
}

/// The totals of a link of the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkTotal {
    /// Bytes that the link sent.
    pub sent: u64,
    /// Packets for which the queue had no room, or that were lost on the way.
    pub dropped: u64,
    /// The most packets that waited.
    pub most_packets: u32,
    /// Longest time that the link needed to send all that waited, in picoseconds.
    pub most_wait: u64,
    /// Bytes that the link sent after the warm-up.
    pub sent_warm: u64,
}

/// The outcome of a live run.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Whether the run is complete.
    pub is_whole: bool,
    /// Time that the run reached.
    pub reached: Time,
    /// Number of packets that entered a link.
    pub hops: u64,
    /// The totals of each connection.
    pub connections: Vec<ConnectionTotal>,
    /// The totals of each subflow.
    pub subflows: Vec<SubflowTotal>,
    /// The totals of each link of the network.
    pub links: Vec<LinkTotal>,
    /// The totals of each loop that ends at a relay.
    pub relays: Vec<RelayTotal>,
    /// Samples of the recorded quantities.
    pub samples: Samples,
    /// Report of the emulator on its lateness.
    pub report: Report,
    /// The 99th percentile of the lateness of connection ends.
    pub ends_late: Span,
    /// Totals of the agents of links; `None` if there are none.
    pub agents: Option<AgentsTotal>,
}

/// Times of the samples: as in the plan, at the end of the warm-up and at the end of the run.
pub(super) fn instants(plan: &Plan) -> Vec<Time> {
    let (end, period) = (plan.run.duration.0, period(plan).max(1));
    let mut all: Vec<u64> = (1..=end / period).map(|count| count * period).collect();
    all.extend([plan.run.warm_up.0.min(end), end]);
    all.sort_unstable();
    all.dedup();
    all.into_iter().map(Time).collect()
}

fn period(plan: &Plan) -> u64 {
    if has_samples(plan) { plan.run.sample.0 } else { plan.run.duration.0 / STEPS }
}

fn has_samples(plan: &Plan) -> bool {
    let record = plan.run.record;
    record.connections || record.subflows || record.windows || record.links
}

/// The recorder of samples.
pub(super) struct Recorder<'p> {
    plan: &'p Plan,
    /// Connection of each path.
    connection: Vec<u32>,
    has_changes: bool,
    samples: Samples,
    last_time: u64,
    last_delivered: Vec<u64>,
    last_carried: Vec<u64>,
    warm: Option<Sample>,
    latest: Sample,
}

impl<'p> Recorder<'p> {
    pub fn new(plan: &'p Plan) -> Self {
        let of = |c: usize| plan.paths.of(ConnectionId::new(c)).map(move |_| c as u32);
        let paths = vec![PathCount::default(); plan.paths.len()];
        Self {
            plan,
            connection: (0..plan.transfers.len()).flat_map(of).collect(),
            has_changes: plan.links.iter().any(|link| !link.changes.is_empty()),
            samples: Samples::default(),
            last_time: 0,
            last_delivered: vec![0; plan.paths.len()],
            last_carried: vec![0; plan.links.len()],
            warm: None,
            latest: Sample { time: Time(0), links: Vec::new(), paths, hops: 0 },
        }
    }

    /// Records a sample.
    pub fn on_sample(&mut self, sample: &Sample, all: &[Arc<Status>]) {
        if sample.time.0 == self.plan.run.warm_up.0 {
            self.warm = Some(sample.clone());
        }
        self.latest = sample.clone();
        if !has_samples(self.plan) || !sample.time.0.is_multiple_of(period(self.plan).max(1)) {
            return;
        }
        self.samples.time_s.push(sample.time.seconds());
        let seconds = (sample.time.0 - self.last_time) as f64 / 1e12;
        let granted = self.sample_windows(sample.time, all);
        self.sample_rates(sample, &granted, seconds);
        if self.plan.run.record.links {
            self.sample_links(sample, &granted, seconds);
        }
        self.last_time = sample.time.0;
    }

    /// Records windows and related quantities; returns the rate that each subflow may send at.
    fn sample_windows(&mut self, time: Time, all: &[Arc<Status>]) -> Vec<f64> {
        let mut granted = Vec::with_capacity(self.connection.len());
        for (c, status) in all.iter().enumerate() {
            let states = status.states(time);
            let packet = packet_size(self.plan.transfers[c].packet.0) as f64;
            for path in 0..self.plan.paths.of(ConnectionId::new(c)).count() {
                let state = states.get(path).copied().flatten();
                let known = state.filter(|state| state.rtt > 0.0);
                // Paces count payload.
                let whole = packet / (packet - OUTER as f64);
                let pace = state.and_then(|state| state.pace).map_or(f64::NAN, |pace| pace.0 * whole);
                let rate = known.map_or(0.0, |state| 8.0 * packet * state.window / state.rtt);
                granted.push(if pace.is_nan() { rate } else { rate.min(pace) });
                if self.plan.run.record.windows {
                    self.samples.subflow_window_bytes.push(state.map_or(f64::NAN, |state| state.window * packet));
                    self.samples.subflow_rtt_s.push(known.map_or(f64::NAN, |state| state.rtt));
                    self.samples.subflow_pace_bps.push(pace);
                }
            }
        }
        granted
    }

    fn sample_rates(&mut self, sample: &Sample, granted: &[f64], seconds: f64) {
        let delivered: Vec<f64> = (self.last_delivered.iter_mut().zip(&sample.paths))
            .map(|(last, path)| {
                let bytes = path.delivered - std::mem::replace(last, path.delivered);
                bytes as f64 * 8.0 / seconds
            })
            .collect();
        if self.plan.run.record.connections {
            let sums = |rates: &[f64]| {
                let mut sums = vec![0.0; self.plan.transfers.len()];
                self.connection.iter().zip(rates).for_each(|(&c, rate)| sums[c as usize] += rate);
                sums
            };
            self.samples.connection_granted_bps.extend(sums(granted));
            self.samples.connection_delivered_bps.extend(sums(&delivered));
        }
        if self.plan.run.record.subflows {
            self.samples.subflow_granted_bps.extend(granted);
            self.samples.subflow_delivered_bps.extend(delivered);
        }
    }

    fn sample_links(&mut self, sample: &Sample, granted: &[f64], seconds: f64) {
        let count = self.plan.links.len();
        let mut loads = vec![0.0; count];
        for (path, rate) in granted.iter().enumerate() {
            self.plan.paths.path(path).iter().for_each(|link| loads[link.index()] += rate);
        }
        let links = by_link(count, sample);
        self.samples.link_granted_bps.extend(loads);
        for (l, state) in links.iter().enumerate() {
            let sent = state.map_or(0, |state| state.totals.sent);
            let carried = sent.saturating_sub(std::mem::replace(&mut self.last_carried[l], sent));
            self.samples.link_carried_bps.push(carried as f64 * 8.0 / seconds);
            self.samples.link_backlog_bytes.push(state.map_or(0, |state| state.backlog));
            self.samples.link_peak_packets.push(state.map_or(0, |state| state.peak_packets));
            if self.has_changes {
                let unused = self.plan.network.links()[l].capacity.0;
                self.samples.link_capacity_bps.push(state.map_or(unused, |state| state.capacity.0));
            }
        }
    }

    /// Creates the outcome of the run.
    pub fn finish(
        self,
        is_whole: bool,
        ends: Ends,
        (report, ends_late): (Report, Span),
        agents: Option<AgentsTotal>,
    ) -> Outcome {
        let warm = self.warm.as_ref().filter(|warm| warm.time.0 > 0);
        let subflow = |(s, count): (usize, &PathCount)| SubflowTotal {
            connection: self.connection[s],
            count: *count,
            delivered_warm: count.delivered - warm.map_or(0, |warm| warm.paths[s].delivered),
        };
        let count = self.plan.links.len();
        let warm_links = warm.map_or_else(|| vec![None; count], |warm| by_link(count, warm));
        let link = |(now, warm): (Option<&LinkState>, Option<&LinkState>)| {
            now.map_or_else(LinkTotal::default, |now| LinkTotal {
                sent: now.totals.sent,
                dropped: now.totals.dropped,
                most_packets: now.totals.most_packets,
                most_wait: now.totals.longest_wait,
                sent_warm: now.totals.sent.saturating_sub(warm.map_or(0, |warm| warm.totals.sent)),
            })
        };
        Outcome {
            is_whole,
            reached: self.latest.time,
            hops: self.latest.hops,
            connections: ends.connections,
            subflows: self.latest.paths.iter().enumerate().map(subflow).collect(),
            links: by_link(count, &self.latest).into_iter().zip(warm_links).map(link).collect(),
            relays: ends.relays,
            samples: self.samples,
            report,
            ends_late,
            agents,
        }
    }
}

/// The links of the network, with their states in a sample if they are in use.
fn by_link(count: usize, sample: &Sample) -> Vec<Option<&LinkState>> {
    let mut all = vec![None; count];
    sample.links.iter().for_each(|state| all[state.link.index()] = Some(state));
    all
}
