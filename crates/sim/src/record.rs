//! What is written down during a run, and what is left of it afterwards.

use anabranch_core::{Rate, Time};
use anabranch_scenario::plan::{Plan, Record};

use crate::connections::UNSET;
use crate::fairness::{Fairness, Gauge};
use crate::link::Totals;
use crate::routes::Routes;
use crate::world::{Kind, World};

/// A change of a granted rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grant {
    /// When.
    pub time: Time,
    /// Whose.
    pub subflow: u32,
    /// What it may send from now on.
    pub rate: Rate,
}

/// How things were, sample after sample. Tables have a row for each sample and a column for each thing; a table that
/// was not asked for is empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Samples {
    /// In seconds.
    pub time_s: Vec<f64>,
    /// What connections were granted at the instant, and what of theirs arrived since the sample before; in bit/s.
    pub connection_granted_bps: Vec<f64>,
    /// See `connection_granted_bps`.
    pub connection_delivered_bps: Vec<f64>,
    /// The same of subflows.
    pub subflow_granted_bps: Vec<f64>,
    /// See `subflow_granted_bps`.
    pub subflow_delivered_bps: Vec<f64>,
    /// The sum of what subflows over the link were granted at the instant, in bit/s.
    pub link_granted_bps: Vec<f64>,
    /// What the link sent since the sample before, in bit/s.
    pub link_carried_bps: Vec<f64>,
    /// What the link could carry at the instant, in bit/s; empty if no capacity ever changes.
    pub link_capacity_bps: Vec<f64>,
    /// What waited at the instant.
    pub link_backlog_bytes: Vec<u64>,
    /// The most packets that waited at a time since the sample before.
    pub link_peak_packets: Vec<u32>,
    /// The fair rates of connections in bit/s; NaN for those that were not there.
    pub connection_fair_bps: Vec<f64>,
    /// What links would carry at the fair rates, in bit/s; empty if links were not asked for.
    pub link_fair_bps: Vec<f64>,
    /// Of each sample: how far granted rates were from fair.
    pub gauges: Vec<Gauge>,
}

/// What came of a connection; times in seconds, infinite if it did not come to that.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConnectionTotal {
    /// When the last byte was sent, or it was told to stop.
    pub stopped_s: f64,
    /// When all that it sent was delivered or lost, after it had stopped.
    pub finished_s: f64,
    /// When its protocol had taken leave.
    pub left_s: f64,
}

/// What came of a subflow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SubflowTotal {
    /// Its connection.
    pub connection: u32,
    /// Bytes by fate; what is missing is under way.
    pub sent: u64,
    /// See `sent`.
    pub delivered: u64,
    /// See `sent`.
    pub lost: u64,
    /// Bytes that arrived twice.
    pub repeated: u64,
    /// Bytes delivered after the warm-up.
    pub delivered_warm: u64,
    /// Mean and greatest delay of its packets in seconds; 0 if none arrived.
    pub mean_delay_s: f64,
    /// See `mean_delay_s`.
    pub most_delay_s: f64,
}

/// What came of a link of the network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkTotal {
    /// Counts.
    pub totals: Totals,
    /// Bytes that it sent after the warm-up.
    pub sent_warm: u64,
}

/// What is left of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Whether the run came to its end.
    pub is_whole: bool,
    /// How far it came.
    pub reached: Time,
    /// Events served.
    pub events: u64,
    /// Packets that entered a link of the network, of any kind.
    pub hops: u64,
    /// Data and control packets still under way.
    pub under_way: u64,
    /// Grants that were no rate.
    pub bad_grants: u64,
    /// Links, those of demands included, whose controls still hold something of a connection; 0 while control packets
    /// are under way.
    pub links_not_clear: u64,
    /// Of each connection.
    pub connections: Vec<ConnectionTotal>,
    /// Of each subflow.
    pub subflows: Vec<SubflowTotal>,
    /// Of each link of the network.
    pub links: Vec<LinkTotal>,
    /// How things were.
    pub samples: Samples,
    /// All changes of granted rates, if asked for.
    pub grants: Vec<Grant>,
}

/// What a world writes down.
pub(crate) struct Recorder {
    asked: Record,
    pub bad_grants: u64,
    fairness: Option<Fairness>,
    samples: Samples,
    grants: Vec<Grant>,
    /// Counts at the sample before.
    last_time: u64,
    last_delivered: Vec<u64>,
    last_carried: Vec<u64>,
    /// Counts at the end of the warm-up, once it is over.
    warm: Option<Warm>,
}

struct Warm {
    delivered: Vec<u64>,
    carried: Vec<u64>,
}

impl Recorder {
    /// Nothing written down yet.
    pub fn new(plan: &Plan, routes: &Routes) -> Self {
        let links = plan.network.links();
        Self {
            asked: plan.run.record,
            bad_grants: 0,
            fairness: plan.run.record.fairness.then(|| Fairness::new(plan)),
            samples: Samples::default(),
            grants: Vec::new(),
            last_time: 0,
            last_delivered: vec![0; routes.first.len()],
            last_carried: vec![0; links.len()],
            warm: None,
        }
    }

    /// Whether there is anything to write down at samples.
    pub fn has_samples(&self) -> bool {
        let Record { connections, subflows, links, fairness, grants: _ } = self.asked;
        connections || subflows || links || fairness
    }

    /// A connection came or went.
    pub fn on_change(&mut self) {
        if let Some(fairness) = &mut self.fairness {
            fairness.on_change();
        }
    }

    /// A granted rate changed.
    pub fn on_grant(&mut self, now: u64, subflow: usize, rate: Rate) {
        if self.asked.grants {
            self.grants.push(Grant { time: Time(now), subflow: subflow as u32, rate });
        }
    }
}

impl World<'_> {
    /// Writes down how things are.
    pub(crate) fn on_sample(&mut self) {
        let record = self.recorder.asked;
        self.recorder.samples.time_s.push(Time(self.now).seconds());
        let period = (self.now - self.recorder.last_time) as f64 / 1e12;
        let granted: Vec<f64> = self.subflows.iter().map(|s| s.pace.rate().0).collect();
        if record.connections || record.subflows {
            self.sample_rates(&granted, period);
        }
        if record.links {
            self.sample_links(&granted, period);
        }
        if let Some(mut fairness) = self.recorder.fairness.take() {
            let gauge = fairness.gauge(self, &granted);
            self.recorder.samples.gauges.push(gauge);
            self.recorder.samples.connection_fair_bps.extend(fairness.rates());
            if record.links {
                self.recorder.samples.link_fair_bps.extend(fairness.loads());
            }
            self.recorder.fairness = Some(fairness);
        }
        self.recorder.last_time = self.now;
        self.schedule(self.now.saturating_add(self.plan.run.sample.0), Kind::Sample, 0);
    }

    /// Takes the counts from which means begin.
    pub(crate) fn on_warm(&mut self) {
        self.recorder.warm = Some(Warm {
            delivered: self.subflows.iter().map(|s| s.delivered).collect(),
            carried: (0..self.links.len()).map(|l| self.links.totals(l, self.now).sent).collect(),
        });
    }

    fn sample_rates(&mut self, granted: &[f64], period: f64) {
        let recorder = &mut self.recorder;
        let delivered: Vec<f64> = self
            .subflows
            .iter()
            .zip(&mut recorder.last_delivered)
            .map(|(subflow, last)| {
                (subflow.delivered - std::mem::replace(last, subflow.delivered)) as f64 * 8.0 / period
            })
            .collect();
        if recorder.asked.connections {
            for own in self.routes.subflows.windows(2).map(|w| w[0] as usize..w[1] as usize) {
                // Folded from 0, since an empty sum of floats is -0.
                let sum = |rates: &[f64]| rates[own.clone()].iter().fold(0.0, |sum, rate| sum + rate);
                recorder.samples.connection_granted_bps.push(sum(granted));
                recorder.samples.connection_delivered_bps.push(sum(&delivered));
            }
        }
        if recorder.asked.subflows {
            recorder.samples.subflow_granted_bps.extend(granted);
            recorder.samples.subflow_delivered_bps.extend(delivered);
        }
    }

    fn sample_links(&mut self, granted: &[f64], period: f64) {
        let mut loads = vec![0.0; self.links.len()];
        for (s, &rate) in granted.iter().enumerate().filter(|(_, rate)| **rate > 0.0) {
            for &link in self.routes.path(s) {
                loads[link as usize] += rate;
            }
        }
        let samples = &mut self.recorder.samples;
        for (l, last) in self.recorder.last_carried.iter_mut().enumerate() {
            let bytes = self.links.totals(l, self.now).sent;
            // What is left of the packet in transmission is rounded.
            let carried = bytes.saturating_sub(std::mem::replace(last, bytes));
            samples.link_granted_bps.push(loads[l]);
            samples.link_carried_bps.push(carried as f64 * 8.0 / period);
            if self.has_changes {
                samples.link_capacity_bps.push(self.links.capacity(l, Time(self.now)).0);
            }
            samples.link_backlog_bytes.push(self.links.backlog(l, self.now));
            samples.link_peak_packets.push(self.links.peak(l, self.now));
        }
    }
}

impl Outcome {
    /// What is left of a world.
    pub(crate) fn new(world: World<'_>, is_whole: bool) -> Self {
        let warm = world.recorder.warm.as_ref();
        let subflow = |(s, subflow): (usize, &crate::connections::Subflow)| SubflowTotal {
            connection: subflow.connection,
            sent: subflow.sent,
            delivered: subflow.delivered,
            lost: subflow.lost,
            repeated: subflow.repeated,
            delivered_warm: subflow.delivered - warm.map_or(0, |w| w.delivered[s]),
            mean_delay_s: if subflow.packets > 0 { subflow.delay_sum / subflow.packets as f64 / 1e12 } else { 0.0 },
            most_delay_s: Time(subflow.delay_most).seconds(),
        };
        let connection = |connection: &crate::connections::Connection| ConnectionTotal {
            stopped_s: seconds(connection.stopped_at),
            finished_s: seconds(connection.finished_at),
            left_s: seconds(connection.left_at),
        };
        let link = |l: usize| {
            let totals = world.links.totals(l, world.now);
            LinkTotal { totals, sent_warm: totals.sent.saturating_sub(warm.map_or(0, |w| w.carried[l])) }
        };
        let is_held = |l: &usize| world.controls.iter().any(|controls| !controls.is_clear(*l));
        let not_clear = (0..world.links.len()).filter(is_held).count() as u64;
        let controls = world.lanes.under_way();
        let under_way = (world.packets.len() + controls) as u64;
        Self {
            is_whole,
            reached: Time(world.now),
            events: world.events,
            hops: world.hops,
            under_way,
            bad_grants: world.recorder.bad_grants,
            links_not_clear: if controls == 0 { not_clear } else { 0 },
            connections: world.connections.iter().map(connection).collect(),
            subflows: world.subflows.iter().enumerate().map(subflow).collect(),
            links: (0..world.plan.links.len()).map(link).collect(),
            samples: world.recorder.samples,
            grants: world.recorder.grants,
        }
    }
}

fn seconds(time: u64) -> f64 {
    if time == UNSET { f64::INFINITY } else { Time(time).seconds() }
}
