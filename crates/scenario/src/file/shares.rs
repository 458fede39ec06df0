//! `shares` of links: the part of a link that each protocol that grants rates may hand out.

use std::borrow::Cow;
use std::collections::BTreeMap;

use anabranch_core::spelling::nearest;
use anabranch_proto::Protocol;
use anabranch_proto::protocols::PROTOCOLS;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize};

/// The part of a link's capacity for each of some protocols, by its name: `{ slbn = 0.5, bfyz = 0.3 }`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Shares(BTreeMap<&'static str, f64>);

impl Shares {
    /// The names of the protocols with their parts, each over 0 and at most 1.
    pub fn parts(&self) -> Vec<(&'static str, f64)> {
        self.0.iter().map(|(&name, &part)| (name, part)).collect()
    }
}

impl<'de> Deserialize<'de> for Shares {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let given = BTreeMap::<String, f64>::deserialize(deserializer)?;
        given
            .iter()
            .map(|(name, &part)| share(name, part))
            .collect::<Result<_, _>>()
            .map(Self)
            .map_err(D::Error::custom)
    }
}

fn share(name: &str, part: f64) -> Result<(&'static str, f64), String> {
    let Some(protocol) = Protocol::named(name) else {
        let hint =
            nearest(name, granters().into_iter()).map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
        return Err(format!("there is no protocol `{name}`{hint}"));
    };
    if protocol.capabilities().keeps_windows() {
        let title = protocol.title();
        return Err(format!(
            "{title} keeps windows, and links grant it nothing; shares are of protocols that grant rates, and {title} has \
             what these leave"
        ));
    }
    if part > 0.0 && part <= 1.0 {
        return Ok((protocol.name(), part));
    }
    Err(format!("the share of `{name}` is {part}; it must be over 0 and at most 1"))
}

/// The names of the protocols that grant rates.
fn granters() -> Vec<&'static str> {
    let grants = |name: &&str| Protocol::named(name).is_some_and(|protocol| !protocol.capabilities().keeps_windows());
    PROTOCOLS.iter().map(|(name, ..)| *name).filter(grants).collect()
}

impl JsonSchema for Shares {
    fn schema_name() -> Cow<'static, str> {
        "Shares".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "description": "The part of the capacity for each of some protocols that grant rates.",
            "propertyNames": { "enum": granters() },
            "additionalProperties": { "type": "number", "exclusiveMinimum": 0, "maximum": 1 },
            "examples": [{ "slbn": 0.5, "bfyz": 0.3 }]
        })
    }
}
