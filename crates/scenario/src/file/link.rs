//! `[[node]]`, `[[link]]` and `[defaults.link]`: nodes and links with their settings.

use std::borrow::Cow;
use std::fmt;

use anabranch_core::quantity::{BytesText, SpanText};
use anabranch_core::{Bytes, Span, Time};
use anabranch_plan::{Faults, Limit};
use anabranch_queues::QueueDiscipline as Discipline;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserializer, Error};
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};
use toml::Spanned;

use super::choice::DisciplineChoice;
use super::report::ReportTable;
use super::shares::Shares;
use super::trace::TraceChoice;
use super::words::{Capacity, from_text, text};
use super::{check_order, no_time, yes};

/// The greatest multiple of the bandwidth-delay product that a queue may hold.
const MOST_PRODUCTS: f64 = 1000.0;

/// `[[node]]`: a node with its position.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NodeTable {
    /// Unique name.
    pub name: String,
    /// Longitude in degrees, east positive.
    pub longitude: Option<f64>,
    /// Latitude in degrees, north positive.
    pub latitude: Option<f64>,
}

/// `[[link]]`: a link, one-way or with its way back.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkTable {
    /// Unique name; made of its ends if left out. The way back of a named two-way link has a `~` after the name.
    pub name: Option<String>,
    /// Node where the link begins.
    pub source: String,
    /// Node where the link ends.
    pub target: String,
    /// Capacity: the rate that the link can carry.
    pub capacity: Capacity,
    /// Propagation delay.
    #[serde(default = "no_time")]
    pub delay: SpanText,
    /// Whether there is a way back with equal settings.
    #[serde(default = "yes")]
    pub two_way: bool,
    /// Name of the one-way link that is the way back of this one-way link; either may name the other.
    #[schemars(with = "Option<String>")]
    pub twin: Option<Spanned<String>>,
    /// The most that may wait in each direction, including the packet in transmission. If left out where some connection
    /// keeps windows: one bandwidth-delay product of the longest round trip over the link, or 1000 packets under a
    /// discipline that drops or marks early and has no limit of its own. If left out elsewhere: no limit.
    pub queue: Option<QueueLimit>,
    /// Queue discipline: the order of waiting packets, and which are dropped or marked; first in, first out if left
    /// out.
    #[schemars(with = "Option<DisciplineChoice>")]
    pub discipline: Option<Discipline>,
    /// Faults of data packets, with their probabilities.
    #[serde(default, deserialize_with = "faults")]
    pub faults: Option<FaultTable>,
    /// Faults of control packets, with their probabilities.
    #[serde(default, deserialize_with = "faults")]
    pub control_faults: Option<FaultTable>,
    /// Changes of the capacity, with their times.
    #[serde(default, deserialize_with = "changes")]
    pub capacity_changes: Option<Vec<CapacityChange>>,
    /// File of capacities with their times, or of opportunities to send; instead of `capacity_changes`.
    #[schemars(with = "Option<TraceChoice>")]
    pub trace: Option<Spanned<TraceChoice>>,
    /// Part of the capacity that each of some protocols that grant rates may hand out; others hand out all of it.
    pub shares: Option<Shares>,
    /// Delay and errors of the capacities that controls learn; they learn each capacity at once if left out.
    pub capacity_report: Option<ReportTable>,
}

/// `[defaults.link]`: values for every link without its own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkSettings {
    /// The most that may wait, including the packet in transmission.
    pub queue: Option<QueueLimit>,
    /// Queue discipline: the order of waiting packets, and which are dropped or marked; first in, first out if left
    /// out.
    #[schemars(with = "Option<DisciplineChoice>")]
    pub discipline: Option<Discipline>,
    /// Faults of data packets, with their probabilities.
    #[serde(default, deserialize_with = "faults")]
    pub faults: Option<FaultTable>,
    /// Faults of control packets, with their probabilities.
    #[serde(default, deserialize_with = "faults")]
    pub control_faults: Option<FaultTable>,
    /// Changes of the capacity, with their times.
    #[serde(default, deserialize_with = "changes")]
    pub capacity_changes: Option<Vec<CapacityChange>>,
    /// File of capacities with their times, or of opportunities to send; instead of `capacity_changes`.
    #[schemars(with = "Option<TraceChoice>")]
    pub trace: Option<Spanned<TraceChoice>>,
    /// Part of the capacity that each of some protocols that grant rates may hand out; others hand out all of it.
    pub shares: Option<Shares>,
    /// Delay and errors of the capacities that controls learn; they learn each capacity at once if left out.
    pub capacity_report: Option<ReportTable>,
}

impl LinkTable {
    /// The settings of this table that `[defaults.link]` may have too.
    pub fn settings(&self) -> LinkSettings {
        LinkSettings {
            queue: self.queue,
            discipline: self.discipline.clone(),
            faults: self.faults,
            control_faults: self.control_faults,
            capacity_changes: self.capacity_changes.clone(),
            trace: self.trace.clone(),
            shares: self.shares.clone(),
            capacity_report: self.capacity_report,
        }
    }
}

impl LinkSettings {
    /// The settings, with `defaults` for those that are missing.
    #[must_use]
    pub fn or(self, defaults: &Self) -> Self {
        let has_changes = self.capacity_changes.is_some() || self.trace.is_some();
        let changes = if has_changes { &self } else { defaults };
        Self {
            queue: self.queue.or(defaults.queue),
            faults: self.faults.or(defaults.faults),
            control_faults: self.control_faults.or(defaults.control_faults),
            capacity_changes: changes.capacity_changes.clone(),
            trace: changes.trace.clone(),
            capacity_report: self.capacity_report.or(defaults.capacity_report),
            discipline: self.discipline.or_else(|| defaults.discipline.clone()),
            shares: self.shares.or_else(|| defaults.shares.clone()),
        }
    }
}

/// The most that may wait at a link: `"100 packets"`, `"64 KiB"`, `"1 BDP"` or `"unlimited"`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum QueueLimit {
    /// No limit.
    Unlimited,
    /// A number of packets, 1 or more.
    Packets(u32),
    /// A number of bytes, 1 or more.
    Bytes(BytesText),
    /// A multiple of the link's bandwidth-delay product, over 0 and at most 1,000.
    Product(f64),
}

impl QueueLimit {
    /// The limit as the simulator takes it; `bytes_of` gives the bytes of a multiple of the bandwidth-delay product,
    /// `None` for no limit.
    pub fn limit(self, bytes_of: impl FnOnce(f64) -> Option<Bytes>) -> Limit {
        match self {
            Self::Unlimited => Limit::default(),
            Self::Packets(packets) => Limit { packets: Some(packets), bytes: None },
            Self::Bytes(bytes) => Limit { packets: None, bytes: Some(bytes.0) },
            Self::Product(factor) => Limit { packets: None, bytes: bytes_of(factor) },
        }
    }
}

impl From<Limit> for QueueLimit {
    fn from(limit: Limit) -> Self {
        match (limit.bytes, limit.packets) {
            (Some(bytes), _) => Self::Bytes(BytesText(bytes)),
            (None, Some(packets)) => Self::Packets(packets),
            (None, None) => Self::Unlimited,
        }
    }
}

impl fmt::Display for QueueLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unlimited => f.write_str("unlimited"),
            Self::Packets(packets) => write!(f, "{packets} packets"),
            Self::Bytes(bytes) => bytes.fmt(f),
            Self::Product(factor) => write!(f, "{factor} BDP"),
        }
    }
}

impl Serialize for QueueLimit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for QueueLimit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        text(deserializer, "\"100 packets\", a size such as \"64 KiB\", \"1 BDP\", or \"unlimited\"", read_queue)
    }
}

fn read_queue(text: &str) -> Result<QueueLimit, String> {
    let trimmed = text.trim();
    if trimmed == "unlimited" {
        return Ok(QueueLimit::Unlimited);
    }
    let zero = || format!("`{text}` leaves no room for a packet; it must be 1 packet or 1 byte or more");
    if let Some(count) = trimmed.strip_suffix("packets").or_else(|| trimmed.strip_suffix("packet")) {
        let packets: u32 = count.trim().parse().map_err(|_| {
            format!("`{text}` is not a number of packets; write it like `100 packets`, up to {}", u32::MAX)
        })?;
        return if packets == 0 { Err(zero()) } else { Ok(QueueLimit::Packets(packets)) };
    }
    if let Some(factor) = trimmed.strip_suffix("BDP").or_else(|| trimmed.strip_suffix("bdp")) {
        let factor = factor.trim().parse().ok().filter(|&factor: &f64| factor > 0.0 && factor <= MOST_PRODUCTS);
        return factor.map(QueueLimit::Product).ok_or_else(|| {
            format!(
                "`{text}` is no multiple of the bandwidth-delay product; write it like `1 BDP`, over 0 and at most 1000"
            )
        });
    }
    match from_text::<BytesText>(trimmed) {
        Ok(bytes) if bytes.0.0 == 0 => Err(zero()),
        Ok(bytes) => Ok(QueueLimit::Bytes(bytes)),
        Err(error) => Err(format!("{error}, `100 packets`, `1 BDP` or `unlimited`")),
    }
}

impl JsonSchema for QueueLimit {
    fn schema_name() -> Cow<'static, str> {
        "Queue".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "The most that may wait: packets, a size, a multiple of the bandwidth-delay product, or no limit.",
            "examples": ["100 packets", "64 KiB", "1 BDP", "unlimited"]
        })
    }
}

/// Faults of packets on a link, each with its probability.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FaultTable {
    /// Probability that a packet is lost; 0 or more, below 1.
    #[serde(deserialize_with = "below_one")]
    #[schemars(range(min = 0), extend("exclusiveMaximum" = 1))]
    pub loss: f64,
    /// Probability that a packet arrives twice; 0 to 1.
    #[serde(deserialize_with = "probability")]
    #[schemars(range(min = 0, max = 1))]
    pub duplicate: f64,
    /// Probability that a packet arrives late, so that others overtake it; 0 to 1.
    #[serde(deserialize_with = "probability")]
    #[schemars(range(min = 0, max = 1))]
    pub reorder: f64,
    /// The longest delay of a late packet.
    pub late: SpanText,
}

impl Default for FaultTable {
    fn default() -> Self {
        Self { loss: 0.0, duplicate: 0.0, reorder: 0.0, late: no_time() }
    }
}

impl FaultTable {
    /// The faults as the simulator takes them.
    pub fn faults(&self) -> Faults {
        let Self { loss, duplicate, reorder, late } = *self;
        Faults { loss, duplicate, reorder, late: late.0 }
    }
}

/// A capacity from a time on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CapacityChange {
    /// Time of the change.
    pub at: SpanText,
    /// Capacity of the link from then on.
    pub capacity: Capacity,
}

impl CapacityChange {
    /// Time of the change.
    pub fn time(&self) -> Time {
        Time(self.at.0.0)
    }
}

fn changes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<CapacityChange>>, D::Error> {
    let changes = Vec::<CapacityChange>::deserialize(deserializer)?;
    check_order(changes.iter().map(|change| change.at.0))?;
    Ok(Some(changes))
}

fn faults<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<FaultTable>, D::Error> {
    let table = FaultTable::deserialize(deserializer)?;
    if table.reorder > 0.0 && table.late.0 == Span(0) {
        return Err(D::Error::custom("packets are to arrive late, and no time is given; add late = \"1 ms\""));
    }
    Ok(Some(table))
}

fn below_one<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let value = f64::deserialize(deserializer)?;
    let good = (0.0..1.0).contains(&value);
    if good { Ok(value) } else { Err(D::Error::custom(format!("it is {value}; it must be 0 or more and below 1"))) }
}

fn probability<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let value = f64::deserialize(deserializer)?;
    let good = (0.0..=1.0).contains(&value);
    if good { Ok(value) } else { Err(D::Error::custom(format!("it is {value}; a probability must be 0 to 1"))) }
}
