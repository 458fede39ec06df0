//! `trace` of a link: what it can carry, from a file.

use anabranch_core::quantity::{BytesText, SpanText};
use anabranch_core::{Bytes, Span};
use anabranch_plan::opportunities::Milliseconds;
use schemars::JsonSchema;
use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize};

use super::run::some_duration;
use super::words::text_or_table;

/// The largest packet of most paths.
const OPPORTUNITY: Bytes = Bytes(1500);

/// 20 ms.
const BIN: Span = Span::ms(20);

/// A trace by its file, or with parameters.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum TraceChoice {
    /// By its file, seen from the folder of the scenario file; its first line tells the format.
    File(String),
    /// With parameters.
    Table(TraceTable),
}

/// A trace with parameters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TraceTable {
    /// Its file, seen from the folder of the scenario file.
    pub file: Option<String>,
    /// Instead of a file the milliseconds that would stand in it.
    pub opportunities_ms: Option<Milliseconds>,
    /// Of opportunities: how much the link may send at each; 1500 B if left out.
    #[serde(default, deserialize_with = "opportunity")]
    pub opportunity: Option<BytesText>,
    /// Of opportunities: over how long they are counted for the capacity that others see; 20 ms if left out.
    #[serde(default, deserialize_with = "some_duration")]
    pub bin: Option<SpanText>,
    /// Of capacities: whether they begin again at the time of the last line.
    pub repeat: Option<bool>,
}

impl TraceTable {
    /// Bytes of an opportunity, 1 to `u32::MAX`.
    pub fn opportunity(&self) -> Bytes {
        self.opportunity.map_or(OPPORTUNITY, |bytes| bytes.0)
    }

    /// Over how long opportunities are counted; over 0.
    pub fn bin(&self) -> Span {
        self.bin.map_or(BIN, |bin| bin.0)
    }
}

impl TraceChoice {
    /// With parameters, those left out that are not given.
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
