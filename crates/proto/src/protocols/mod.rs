//! All protocols: a line in [`Protocol`] makes one known to the scenario file, its schema, the command line and the tests.

pub mod d_slen;
mod d_slen_as_printed;
pub mod vo_le_tran;

use std::fmt;

use schemars::JsonSchema;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};

use crate::control::{ConnectionView, LinkControls, SourceControl};

/// A protocol with its parameters, written `protocol = "d-slen"` or `protocol.d-slen = { variant = "paper" }`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// d-SLEN: links tell saturation levels, sources set rates and portions [ludena2021, sec. II-C].
    DSlen(d_slen::Parameters),
    /// Vo-Le-Tran (reconstruction): links raise and lower prices, sources follow the largest of a path [vo2019].
    VoLeTran(vo_le_tran::Parameters),
}

/// The name of each protocol in files, the name that people read, and what it does.
pub const PROTOCOLS: [(&str, &str, &str); 2] = [
    ("d-slen", "d-SLEN", "upward max-min fair rates by saturation levels [ludena2021]"),
    ("vo-le-tran", "Vo-Le-Tran (reconstruction)", "upward max-min fair rates by prices of links [vo2019]"),
];

impl Default for Protocol {
    fn default() -> Self {
        Self::DSlen(d_slen::Parameters::default())
    }
}

impl Protocol {
    fn number(&self) -> usize {
        match self {
            Self::DSlen(_) => 0,
            Self::VoLeTran(_) => 1,
        }
    }

    /// Its name in files: `d-slen`.
    pub fn name(&self) -> &'static str {
        PROTOCOLS[self.number()].0
    }

    /// Its name as people read it: `d-SLEN`.
    pub fn title(&self) -> &'static str {
        PROTOCOLS[self.number()].1
    }

    /// A source control for a connection.
    pub fn source(&self, connection: &ConnectionView) -> Box<dyn SourceControl> {
        match self {
            Self::DSlen(parameters) => d_slen::source(parameters, connection),
            Self::VoLeTran(parameters) => vo_le_tran::source(parameters, connection),
        }
    }

    /// Link controls for so many links.
    pub fn links(&self, count: usize) -> Box<dyn LinkControls> {
        match self {
            Self::DSlen(parameters) => d_slen::links(parameters, count),
            Self::VoLeTran(parameters) => vo_le_tran::links(parameters, count),
        }
    }

    /// Why it cannot serve connections with this claim, if so.
    ///
    /// # Errors
    /// What is wrong, and what would do.
    pub fn check_claim(&self, claim: f64) -> Result<(), String> {
        let reason = match self {
            Self::DSlen(_) => "carries portions in steps of 2^-30",
            Self::VoLeTran(_) => "divides a price by it",
        };
        let good = (1e-3..=1e3).contains(&claim);
        let title = self.title();
        if good {
            Ok(())
        } else {
            Err(format!("weight times qos is {claim}; {title} {reason}, so it must be 0.001 to 1000"))
        }
    }

    /// The protocol of this name with its default parameters.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "d-slen" => Self::DSlen(d_slen::Parameters::default()),
            "vo-le-tran" => Self::VoLeTran(vo_le_tran::Parameters::default()),
            _ => return None,
        })
    }
}

impl<'de> Deserialize<'de> for Protocol {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Named;

        impl<'de> Visitor<'de> for Named {
            type Value = Protocol;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a protocol such as \"d-slen\", or with parameters { d-slen = { variant = \"paper\" } }")
            }

            fn visit_str<E: de::Error>(self, name: &str) -> Result<Protocol, E> {
                Protocol::named(name).ok_or_else(|| unknown(name))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Protocol, A::Error> {
                let one = || de::Error::custom("one protocol is wanted, such as { d-slen = { variant = \"paper\" } }");
                let name: String = map.next_key()?.ok_or_else(one)?;
                let protocol = match name.as_str() {
                    "d-slen" => Protocol::DSlen(map.next_value()?),
                    "vo-le-tran" => Protocol::VoLeTran(map.next_value()?),
                    _ => return Err(unknown(&name)),
                };
                match map.next_key::<String>()? {
                    Some(_) => Err(one()),
                    None => Ok(protocol),
                }
            }
        }

        deserializer.deserialize_any(Named)
    }
}

fn unknown<E: de::Error>(name: &str) -> E {
    let names = PROTOCOLS.map(|(known, ..)| known);
    let hint = anabranch_core::spelling::nearest(name, names.into_iter())
        .map_or_else(String::new, |n| format!(" (did you mean `{n}`?)"));
    E::custom(format!("there is no protocol `{name}`{hint}; there is {}", names.join(", ")))
}
