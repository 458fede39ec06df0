//! Headroom: the part of each link's capacity that a protocol of exact rates does not hand out.
//!
//! Control packets in band need room besides the data that sources send at granted rates: where all of a link is handed
//! out, its queue grows. Who drives the protocol reduces the capacities that links see, so that the protocol itself
//! knows of no headroom.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize};

use super::range;

/// The greatest headroom.
const MOST: f64 = 0.5;

/// A part of each link's capacity that is not handed out, 0 to 0.5.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Headroom(pub f64);

impl Headroom {
    /// Whether links are handed out as a whole.
    #[allow(clippy::trivially_copy_pass_by_ref)]
    pub(super) fn is_none(&self) -> bool {
        self.0 == 0.0
    }
}

impl<'de> Deserialize<'de> for Headroom {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        range::number(0.0..=MOST, deserializer).map(Self)
    }
}

impl JsonSchema for Headroom {
    fn schema_name() -> Cow<'static, str> {
        "Headroom".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "number", "minimum": 0, "maximum": MOST, "default": 0.0 })
    }
}
