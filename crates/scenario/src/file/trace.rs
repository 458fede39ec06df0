//! The key `trace` of a link: its capacity over time, from a file.

use anabranch_core::quantity::{BytesText, SpanText};
use anabranch_core::{Bytes, Span};
use anabranch_plan::opportunities::Milliseconds;
use schemars::JsonSchema;
use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize};

use super::run::some_duration;
use super::words::text_or_table;

/// Bytes of an opportunity by default: the largest packet of most paths.
const OPPORTUNITY: Bytes = Bytes(1500);

/// Time over which opportunities are counted by default.
const BIN: Span = Span::ms(20);

/// A trace: a file, or a table with parameters.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum TraceChoice {
    /// A file, relative to the folder of the scenario file; its first line tells the format.
    File(String),
    /// A table with parameters.
    Table(TraceTable),
}

/// A trace with parameters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TraceTable {
    /// File of the trace, relative to the folder of the scenario file.
    pub file: Option<String>,
    /// The content of such a file in milliseconds, instead of a file.
    pub opportunities_ms: Option<Milliseconds>,
    /// For opportunities: bytes that the link may send at each; 1500 B if left out.
    #[serde(default, deserialize_with = "opportunity")]
    pub opportunity: Option<BytesText>,
    /// For opportunities: time over which they are counted for the capacity that others see; 20 ms if left out.
    #[serde(default, deserialize_with = "some_duration")]
    pub bin: Option<SpanText>,
    /// For capacities: whether they begin again at the time of the last line.
    pub repeat: Option<bool>,
}

impl TraceTable {
    /// Bytes of an opportunity, 1 to `u32::MAX`.
    pub fn opportunity(&self) -> Bytes {
        self.opportunity.map_or(OPPORTUNITY, |bytes| bytes.0)
    }

    /// Time over which opportunities are counted; over 0.
    pub fn bin(&self) -> Span {
        self.bin.map_or(BIN, |bin| bin.0)
    }
}

impl TraceChoice {
    /// The trace as a table, without the parameters that are not given.
    pub fn table(&self) -> TraceTable {
        match self {
            Self::File(file) => TraceTable { file: Some(file.clone()), ..TraceTable::default() },
            Self::Table(table) => table.clone(),
        }
    }
}

impl From<TraceTable> for TraceChoice {
    fn from(table: TraceTable) -> Self {
        Self::Table(table)
    }
}

impl<'de> Deserialize<'de> for TraceChoice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let expected = "a file such as \"LTE.down\", or { file = \"LTE.down\", bin = \"100 ms\" }";
        text_or_table::<_, TraceTable, _>(deserializer, expected, |text| Ok(Self::File(text.to_owned())))
    }
}

fn opportunity<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<BytesText>, D::Error> {
    let bytes = BytesText::deserialize(deserializer)?;
    if (1..=u64::from(u32::MAX)).contains(&bytes.0.0) {
        return Ok(Some(bytes));
    }
    Err(D::Error::custom(format!("an opportunity of {} B cannot be; it must be 1 B to {} B", bytes.0.0, u32::MAX)))
}
