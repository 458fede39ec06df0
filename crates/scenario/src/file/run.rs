//! `[run]`: duration of the run, what is simulated, and what is recorded.

use anabranch_core::quantity::{BytesText, SpanText};
use anabranch_core::{Bytes, Span};
use anabranch_plan::{ControlPlane, Fairness, Record, RunPlan};
use schemars::JsonSchema;
use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize};

use super::transport::TransportTable;
use super::words::{MOST_DURATION, packet_size};

/// Number of samples in a run by default.
const SAMPLES: u64 = 500;

/// `[run]`: duration of the run, what is simulated, and what is recorded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RunTable {
    /// Duration, at most 4800 h (200 days).
    #[serde(deserialize_with = "duration")]
    pub duration: SpanText,
    /// Initial time that does not count in means; less than the duration.
    pub warm_up: SpanText,
    /// Seed of everything random.
    #[serde(deserialize_with = "seed")]
    #[schemars(range(max = 9_223_372_036_854_775_807_u64))]
    pub seed: u64,
    /// Time between samples; a 500th of the duration if left out.
    #[serde(deserialize_with = "some_duration")]
    pub sample: Option<SpanText>,
    /// How control packets travel.
    pub control: Control,
    /// Size of control packets, if they travel in band or are paced.
    #[serde(deserialize_with = "control_packet")]
    pub control_packet: BytesText,
    /// Greatest share of a subflow's rate for its control packets, over 0 and at most 1. Control packets are paced to
    /// it, except that none waits longer than a second, and none at rate 0. Without this key they are not paced.
    #[serde(deserialize_with = "control_share")]
    #[schemars(range(max = 1), extend("exclusiveMinimum" = 0))]
    pub control_share: Option<f64>,
    /// Whether hops repair losses, repetitions and reordering of control packets.
    pub repair: bool,
    /// Settings of sources and sinks of window protocols.
    pub transport: TransportTable,
    /// Whether data packets are sent, or only control packets.
    pub data: bool,
    /// The fair rates with which granted rates are compared.
    pub fairness: FairnessChoice,
    /// Recorded quantities.
    pub record: Vec<Recorded>,
}

/// The kind of fair rates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FairnessChoice {
    /// Max-min fair where every connection has one path; otherwise upward max-min fair, as c-SLEN finds it from equal
    /// portions.
    #[default]
    MaxMin,
    /// Proportionally fair, which weighted Vegas aims at.
    Proportional,
}

/// How control packets travel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Control {
    /// In separate queues, with no capacity and no time but the delay of the link.
    #[default]
    Separate,
    /// In the data queues.
    InBand,
}

/// A quantity that can be recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Recorded {
    /// Rates of connections, at each sample.
    Connections,
    /// Rates of subflows, at each sample.
    Subflows,
    /// Windows, round trips, paces and smoothed shares of marked packets of subflows, at each sample; only under
    /// protocols that keep windows.
    Windows,
    /// Distribution of the waiting times of data packets after the warm-up: at each link, and for each subflow in all
    /// queues on its way.
    Waits,
    /// Loads and queues of links, at each sample.
    Links,
    /// Every change of a granted rate, at its time.
    Grants,
    /// Fair rates, and distances of granted rates from them, at each sample.
    Fairness,
    /// Distribution of the errors of connections and bottlenecks, and the longest queue, at each sample; for networks
    /// too large to record each of them.
    Errors,
}

impl Default for RunTable {
    fn default() -> Self {
        use Recorded::{Connections, Fairness, Links, Subflows};
        Self {
            duration: SpanText(Span::s(10)),
            warm_up: SpanText(Span(0)),
            seed: 1,
            sample: None,
            control: Control::default(),
            control_packet: BytesText(Bytes(64)),
            control_share: None,
            repair: true,
            transport: TransportTable::default(),
            data: true,
            fairness: FairnessChoice::default(),
            record: vec![Connections, Subflows, Links, Fairness],
        }
    }
}

impl RunTable {
    /// Time between samples.
    pub fn sample(&self) -> Span {
        self.sample.map_or_else(|| Span((self.duration.0.0 / SAMPLES).max(1)), |sample| sample.0)
    }

    /// The run as the simulator takes it.
    pub fn plan(&self) -> RunPlan {
        let has = |wanted| self.record.contains(&wanted);
        RunPlan {
            duration: self.duration.0,
            warm_up: self.warm_up.0,
            seed: self.seed,
            sample: self.sample(),
            control: match self.control {
                Control::Separate => ControlPlane::Separate,
                Control::InBand => ControlPlane::InBand,
            },
            control_packet: self.control_packet.0,
            control_share: self.control_share,
            repair: self.repair,
            transport: self.transport.plan(),
            data: self.data,
            fairness: match self.fairness {
                FairnessChoice::MaxMin => Fairness::MaxMin,
                FairnessChoice::Proportional => Fairness::Proportional,
            },
            record: Record {
                connections: has(Recorded::Connections),
                subflows: has(Recorded::Subflows),
                windows: has(Recorded::Windows),
                waits: has(Recorded::Waits),
                links: has(Recorded::Links),
                grants: has(Recorded::Grants),
                fairness: has(Recorded::Fairness),
                errors: has(Recorded::Errors),
            },
        }
    }

    /// The first mistake between two keys; `None` if there is none.
    pub(crate) fn mistake(&self) -> Option<String> {
        let (duration, warm_up) = (self.duration.0, self.warm_up.0);
        let message = format!("warm_up is {warm_up} of a run of {duration}; it must be shorter than the run");
        (warm_up >= duration).then_some(message)
    }
}

fn duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SpanText, D::Error> {
    let span = SpanText::deserialize(deserializer)?;
    let good = span.0.0 > 0 && span.0 <= MOST_DURATION;
    if good { Ok(span) } else { Err(D::Error::custom("it must be over 0 and at most 4800 h (200 days)")) }
}

pub(super) fn some_duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<SpanText>, D::Error> {
    duration(deserializer).map(Some)
}

fn control_packet<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BytesText, D::Error> {
    packet_size(deserializer, 1)
}

fn control_share<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    let share = f64::deserialize(deserializer)?;
    let good = share > 0.0 && share <= 1.0;
    let message =
        || format!("control_share is {share}; it must be over 0 and at most 1, or left out to hold none back");
    if good { Ok(Some(share)) } else { Err(D::Error::custom(message())) }
}

/// Reads a seed, which must be a number that TOML can hold.
pub(super) fn seed<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let seed = i64::deserialize(deserializer)?;
    u64::try_from(seed).map_err(|_| D::Error::custom(format!("seed is {seed}; it must be 0 to 9223372036854775807")))
}
