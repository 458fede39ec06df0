//! The key `sources` of a connection: the nodes from which its target fetches data.

use anabranch_core::quantity::SpanText;
use schemars::JsonSchema;
use serde::de::Deserializer;
use serde::{Deserialize, Serialize};

use super::words::text_or_table;

/// A node from which the target of a connection fetches data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum SourceChoice {
    /// A node that answers as long as the connection lasts.
    Always(String),
    /// A node that answers for a time. Requests before or after get no answer, and no connection is informed.
    Timed(TimedSource),
}

/// A source that answers for a time only.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TimedSource {
    /// Name of the node.
    pub node: String,
    /// Time of the run from which the node answers; the start of the connection if left out.
    pub start: Option<SpanText>,
    /// Time of the run until which the node answers; the end of the connection if left out.
    pub stop: Option<SpanText>,
}

impl SourceChoice {
    /// Name of the node.
    pub fn node(&self) -> &str {
        match self {
            Self::Always(node) => node,
            Self::Timed(source) => &source.node,
        }
    }

    /// Times from and until which the node answers.
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
