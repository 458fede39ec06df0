//! Networks as `ietf-network` and `ietf-network-topology` (RFC 8345) have them in JSON, with the attributes for traffic
//! engineering of RFC 8795. What these have no place for goes under `anabranch:`.

// Fields are called as the standards call them.
#![allow(clippy::struct_field_names)]

use schemars::JsonSchema;
use serde::Serialize;

/// Networks as RFC 8345 has them.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Topology {
    /// The networks, of which there is one.
    #[serde(rename = "ietf-network:networks")]
    pub networks: Networks,
}

/// A list of networks.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Networks {
    /// The networks.
    pub network: Vec<Network>,
}

/// A network.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "TopologyNetwork")]
#[serde(rename_all = "kebab-case")]
pub(super) struct Network {
    /// Its id.
    pub network_id: String,
    /// Its types.
    pub network_types: Types,
    /// The nodes.
    pub node: Vec<Node>,
    /// The links, each in one direction.
    #[serde(rename = "ietf-network-topology:link")]
    pub link: Vec<Link>,
}

/// The types of a network.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "TopologyTypes")]
pub(super) struct Types {
    /// It has attributes for traffic engineering (RFC 8795).
    #[serde(rename = "ietf-te-topology:te-topology")]
    pub te_topology: Empty,
}

/// An object without anything in it.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Empty {}

/// A node.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "TopologyNode")]
#[serde(rename_all = "kebab-case")]
pub(super) struct Node {
    /// Its id.
    pub node_id: String,
    /// Its state; absent if the agent does not know it.
    #[serde(rename = "ietf-te-topology:te", skip_serializing_if = "Option::is_none")]
    pub te: Option<NodeTe>,
    /// Its longitude in degrees.
    #[serde(rename = "anabranch:longitude", skip_serializing_if = "Option::is_none")]
    pub longitude: Option<f64>,
    /// Its latitude in degrees.
    #[serde(rename = "anabranch:latitude", skip_serializing_if = "Option::is_none")]
    pub latitude: Option<f64>,
}

/// The state of a node.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) struct NodeTe {
    /// `up` or `down`.
    #[schemars(extend("enum" = ["up", "down"]))]
    pub oper_status: &'static str,
}

/// A link.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "TopologyLink")]
#[serde(rename_all = "kebab-case")]
pub(super) struct Link {
    /// Its id.
    pub link_id: String,
    /// Where it begins.
    pub source: Source,
    /// Where it ends.
    pub destination: Destination,
    /// Its attributes for traffic engineering.
    #[serde(rename = "ietf-te-topology:te")]
    pub te: LinkTe,
    /// Its capacity in bit/s, or `Infinity`.
    #[serde(rename = "anabranch:capacity-bps")]
    pub capacity_bps: Number,
    /// Its delay in seconds.
    #[serde(rename = "anabranch:delay-s")]
    pub delay_s: f64,
    /// The link that leads back, if both are one two-way link.
    #[serde(rename = "anabranch:twin")]
    pub twin: String,
    /// What sessions of this agent are granted on the link, in bit/s.
    #[serde(rename = "anabranch:granted-bps")]
    pub granted_bps: f64,
}

/// A number, or `Infinity`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum Number {
    /// A number.
    Finite(f64),
    /// Without a limit.
    Infinite(&'static str),
}

impl Number {
    pub fn of(value: f64) -> Self {
        if value.is_finite() { Self::Finite(value) } else { Self::Infinite("Infinity") }
    }
}

/// Where a link begins.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Source {
    /// The node.
    pub source_node: String,
}

/// Where a link ends.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Destination {
    /// The node.
    pub dest_node: String,
}

/// The attributes of a link for traffic engineering.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) struct LinkTe {
    /// The attributes.
    pub te_link_attributes: Attributes,
    /// `up` or `down`.
    #[schemars(extend("enum" = ["up", "down"]))]
    pub oper_status: &'static str,
}

/// The attributes themselves.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "TeLinkAttributes")]
#[serde(rename_all = "kebab-case")]
pub(super) struct Attributes {
    /// The capacity; absent without a limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_link_bandwidth: Option<Bandwidth>,
    /// The delay in microseconds.
    pub te_delay_metric: u32,
}

/// A bandwidth.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Bandwidth {
    /// The bandwidth of packet networks.
    pub te_bandwidth: Generic,
}

/// A bandwidth of packet networks.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Generic {
    /// Bytes a second, as RFC 8294 writes a float of 32 bits.
    pub generic: String,
}

impl Bandwidth {
    /// The bandwidth of a rate in bit/s; `None` if it is infinite or too large for a float of 32 bits.
    pub fn of(bps: f64) -> Option<Self> {
        let bytes = (bps / 8.0) as f32;
        bytes.is_finite().then(|| Self { te_bandwidth: Generic { generic: hexadecimal(bytes) } })
    }
}

/// A float in the hexadecimal form of RFC 8294: `0x1.8p20`. What is smaller than its least number is 0.
fn hexadecimal(value: f32) -> String {
    if value < f32::MIN_POSITIVE || value < 1.0 {
        return "0x0p0".to_owned();
    }
    let bits = value.to_bits();
    let exponent = (bits >> 23) as i32 - 127;
    let digits = format!("{:06x}", (bits & 0x7f_ffff) << 1);
    let digits = digits.trim_end_matches('0');
    let point = if digits.is_empty() { "" } else { "." };
    format!("0x1{point}{digits}p{exponent}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bandwidths_are_hexadecimal_floats() {
        for (bytes, text) in [
            (0.0, "0x0p0"),
            (0.5, "0x0p0"),
            (1.0, "0x1p0"),
            (1.5, "0x1.8p0"),
            (2_500_000.0, "0x1.312dp21"),
            (f32::MAX, "0x1.fffffep127"),
        ] {
            assert_eq!(hexadecimal(bytes), text);
        }
        assert!(Bandwidth::of(f64::INFINITY).is_none() && Bandwidth::of(1e300).is_none());
    }
}
