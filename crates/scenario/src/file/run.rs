//! `[run]`: how long, what is simulated, and what is recorded.

use anabranch_core::quantity::{BytesText, SpanText};
use anabranch_core::{Bytes, Span};
use anabranch_plan::{ControlPlane, Fairness, Record, RunPlan};
use schemars::JsonSchema;
use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize};

use super::transport::TransportTable;
use super::words::{MOST_DURATION, packet_size};

/// Samples in a run, if nothing is said.
const SAMPLES: u64 = 500;

/// `[run]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RunTable {
    /// How long, at most 4800 h (200 days).
    #[serde(deserialize_with = "duration")]
    pub duration: SpanText,
    /// What of it does not count in means; less than the duration.
    pub warm_up: SpanText,
    /// For everything random.
    #[serde(deserialize_with = "seed")]
    #[schemars(range(max = 9_223_372_036_854_775_807_u64))]
    pub seed: u64,
    /// The time between samples; a 500th of the duration if left out.
    #[serde(deserialize_with = "some_duration")]
    pub sample: Option<SpanText>,
    /// How control packets travel.
    pub control: Control,
    /// How large control packets are, if in band or held back.
    #[serde(deserialize_with = "control_packet")]
    pub control_packet: BytesText,
    /// The most that control packets of a subflow may take of its rate, over 0 and at most 1; they are held back until it
    /// is so, but no longer than a second and not at rate 0, or never if left out.
    #[serde(deserialize_with = "control_share")]
    #[schemars(range(max = 1), extend("exclusiveMinimum" = 0))]
    pub control_share: Option<f64>,
    /// Whether hops repair losses, repetitions and reordering of control packets.
    pub repair: bool,
    /// How sources and sinks of window protocols work.
    pub transport: TransportTable,
    /// Whether data packets are sent, or only control packets.
    pub data: bool,
    /// Which rates are the fair ones that granted rates are set beside.
    pub fairness: FairnessChoice,
    /// What is recorded.
    pub record: Vec<Recorded>,
}

/// Which rates are the fair ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FairnessChoice {
    /// Max-min where every connection has one path; otherwise upward max-min, as c-SLEN finds it from equal portions.
    #[default]
    MaxMin,
    /// Proportional: what weighted Vegas aims at.
    Proportional,
}

/// How control packets travel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Control {
    /// In queues of their own, taking no capacity and no time but the delay of the link.
    #[default]
    Separate,
    /// In the data queues.
    InBand,
}

/// What may be recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Recorded {
    /// At each sample, rates of connections.
    Connections,
    /// At each sample, rates of subflows.
    Subflows,
    /// At each sample, windows, round trips, paces and smoothed shares of marked packets of subflows; none of those under
    /// protocols that set rates.
    Windows,
    /// How long data packets wait after the warm-up, as a distribution: at each link, and of each subflow in all queues on
    /// its way.
    Waits,
    /// At each sample, loads and queues of links.
    Links,
    /// Every change of a granted rate, when it happens.
    Grants,
    /// At each sample, fair rates, and how far granted rates are from them.
    Fairness,
    /// At each sample, how the errors of connections and bottlenecks are spread, and the longest queue; for networks too
    /// large to record each of them.
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
    /// The time between samples.
    pub fn sample(&self) -> Span {
        self.sample.map_or_else(|| Span((self.duration.0.0 / SAMPLES).max(1)), |sample| sample.0)
    }

    /// As the simulator takes it.
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

    /// The first mistake between two keys, if any.
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

/// A seed that TOML can hold.
pub(super) fn seed<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let seed = i64::deserialize(deserializer)?;
    u64::try_from(seed).map_err(|_| D::Error::custom(format!("seed is {seed}; it must be 0 to 9223372036854775807")))
}
