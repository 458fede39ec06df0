//! `sources` of a connection: the nodes from which its target takes what it wants.

use anabranch_core::quantity::SpanText;
use schemars::JsonSchema;
use serde::de::Deserializer;
use serde::{Deserialize, Serialize};

use super::words::text_or_table;

/// A node that has what the target of a connection wants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum SourceChoice {
    /// It answers as long as the connection is there.
    Always(String),
    /// It answers for a time; what is asked of it before or after gets no answer, and nobody is told.
    Timed(TimedSource),
}

/// A source that answers for a time only.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TimedSource {
    /// Which node.
    pub node: String,
    /// From when on it answers, by the clock of the run; from its beginning if left out.
    pub start: Option<SpanText>,
    /// Until when; until its end if left out.
    pub stop: Option<SpanText>,
}

impl SourceChoice {
    /// Which node.
    pub fn node(&self) -> &str {
        match self {
            Self::Always(node) => node,
            Self::Timed(source) => &source.node,
        }
    }

    /// From when on it answers, and until when.
    pub fn times(&self) -> (Option<SpanText>, Option<SpanText>) {
        match self {
            Self::Always(_) => (None, None),
            Self::Timed(source) => (source.start, source.stop),
        }
    }
}

impl From<TimedSource> for SourceChoice {
    fn from(source: TimedSource) -> Self {
        Self::Timed(source)
    }
}

impl<'de> Deserialize<'de> for SourceChoice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let expected = "a node such as \"p1\", or { node = \"p1\", stop = \"5 s\" }";
        text_or_table::<_, TimedSource, _>(deserializer, expected, |text| Ok(Self::Always(text.to_owned())))
    }
}
