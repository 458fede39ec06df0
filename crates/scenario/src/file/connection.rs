//! `[[connection]]`, `[defaults.connection]` and `[demands]`: the connections of a scenario.

use std::fmt;

use anabranch_core::paths::MOST_PATHS;
use anabranch_core::quantity::{BytesText, RateText, SpanText};
use anabranch_core::units::Short;
use anabranch_core::{Bytes, Time};
use anabranch_plan::CAPACITIES;
use anabranch_proto::Protocol;
use schemars::JsonSchema;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use toml::Spanned;

use super::after::AfterChoice;
use super::choice::ProtocolChoice;
use super::distribution::Amount;
use super::sources::SourceChoice;
use super::words::{PACKETS, packet_size, whole_table};
use super::{check_order, no_time, one};

/// `[[connection]]`: one connection.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConnectionTable {
    /// Unique name; `source>target` if left out.
    pub name: Option<String>,
    /// Node where the traffic of the connection enters the network.
    pub source: Option<String>,
    /// Nodes from which the target fetches the data, by a request for each packet, instead of `source`; only under a
    /// protocol that keeps windows.
    #[schemars(with = "Option<Vec<SourceChoice>>")]
    pub sources: Option<Spanned<Vec<SourceChoice>>>,
    /// Node where the traffic of the connection leaves the network.
    pub target: String,
    /// Demand: the most that the connection can use; no limit if left out.
    pub demand: Option<RateText>,
    /// Claim relative to other connections.
    #[serde(default = "one")]
    pub weight: f64,
    /// Factor over 0 and at most 1 that lowers the claim.
    #[serde(default = "one")]
    pub qos: f64,
    /// Part of the rate that comes before the share that follows from the claim; none if left out. Solvers and d-SLEN take
    /// it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reserved: Option<RateText>,
    /// Time at which the connection begins.
    #[serde(default = "no_time")]
    pub start: SpanText,
    /// Time at which the connection ends. Without it, the connection ends when its amount has been sent.
    pub stop: Option<SpanText>,
    /// Paths by the nodes they visit, best first; or the number of shortest paths to use, from each source.
    #[schemars(with = "Option<PathChoice>")]
    pub paths: Option<Spanned<PathChoice>>,
    /// Paths by the links they take, best first.
    #[schemars(with = "Option<Vec<Vec<String>>>")]
    pub links: Option<Spanned<Vec<Vec<String>>>>,
    /// Protocol that controls the connection.
    #[schemars(with = "Option<ProtocolChoice>")]
    pub protocol: Option<Protocol>,
    /// Nodes at each of which one loop of the connection ends and the next begins, in order; each loop has its own
    /// control. Only under protocols that keep windows.
    #[schemars(with = "Option<Vec<String>>")]
    pub relays: Option<Spanned<Vec<String>>>,
    /// With `relays`: a protocol for each loop; the protocol of the connection if left out.
    #[schemars(with = "Option<Vec<ProtocolChoice>>")]
    pub loops: Option<Vec<Protocol>>,
    /// Connections that end where this connection begins, which sends on their data. This connection stops with the
    /// last of them unless it has a `stop`. Only under protocols that keep windows.
    #[schemars(with = "Option<Vec<AfterChoice>>")]
    pub after: Option<Spanned<Vec<AfterChoice>>>,
    /// Amount of data that the connection sends before it ends.
    pub amount: Option<Amount>,
    /// Size of data packets.
    #[serde(default, deserialize_with = "packet")]
    pub packet: Option<BytesText>,
    /// Changes of the demand after `demand`, with their times.
    #[serde(default, deserialize_with = "demand_changes")]
    #[schemars(with = "Option<Vec<DemandStep>>")]
    pub demand_changes: Option<Spanned<Vec<DemandStep>>>,
    /// Times at which each path may be used, if not all the time; only under a protocol that keeps windows.
    #[schemars(with = "Option<Vec<PathTimes>>")]
    pub path_times: Option<Spanned<Vec<PathTimes>>>,
}

/// Times at which a path of a connection may be used; `{}` for the lifetime of the connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PathTimes {
    /// Time of the run from which the path may be used, no earlier than the start of the connection; that start if left
    /// out.
    pub start: Option<SpanText>,
    /// Time of the run until which the path may be used, no later than the end of the connection; that end if left out.
    pub stop: Option<SpanText>,
}

/// A demand from a time on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DemandStep {
    /// Time of the change.
    pub at: SpanText,
    /// The most that the connection can use from then on, 1 bit/s to 1e15 bit/s.
    #[serde(deserialize_with = "later_demand")]
    pub demand: RateText,
}

impl DemandStep {
    /// Time of the change.
    pub fn time(&self) -> Time {
        Time(self.at.0.0)
    }
}

/// `[defaults.connection]`: values for every connection without its own.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConnectionDefaults {
    /// Protocol of the connections that set none. A run needs a protocol for each connection; solvers do not.
    #[schemars(with = "Option<ProtocolChoice>")]
    pub protocol: Option<Protocol>,
    /// Amount of data that each connection sends before it ends; no limit if left out.
    pub amount: Option<Amount>,
    /// Size of data packets; 1000 B if left out.
    #[serde(default, deserialize_with = "packet")]
    pub packet: Option<BytesText>,
    /// Number of shortest paths of each connection; if left out, 4, or 1 under a protocol that does not couple paths.
    pub paths: Option<PathCount>,
}

/// The values of a connection that sets none.
#[derive(Clone, Debug, PartialEq)]
pub struct ConnectionValues {
    /// Protocol of the connection, if the file has one.
    pub protocol: Option<Protocol>,
    /// Amount of data that the connection sends before it ends.
    pub amount: Amount,
    /// Size of data packets.
    pub packet: BytesText,
    /// Number of shortest paths, if the file has one.
    pub paths: Option<PathCount>,
}

impl ConnectionDefaults {
    /// Gives each value, written or default.
    pub fn values(&self) -> ConnectionValues {
        ConnectionValues {
            protocol: self.protocol.clone(),
            amount: self.amount.unwrap_or_default(),
            packet: self.packet.unwrap_or(BytesText(Bytes(1000))),
            paths: self.paths,
        }
    }
}

impl ConnectionValues {
    /// Number of shortest paths of a connection under `protocol`: the written number, or else the usual one of the
    /// protocol; 4 without a protocol.
    pub fn paths_under(&self, protocol: Option<&Protocol>) -> PathCount {
        self.paths.unwrap_or_else(|| PathCount::usual(protocol))
    }
}

impl From<ConnectionValues> for ConnectionDefaults {
    fn from(values: ConnectionValues) -> Self {
        let paths = values.paths_under(values.protocol.as_ref());
        let ConnectionValues { protocol, amount, packet, .. } = values;
        Self { protocol, amount: Some(amount), packet: Some(packet), paths: Some(paths) }
    }
}

/// `[demands]`: connections from a file, or made by a rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DemandsTable {
    /// A file of demands, relative to the folder of the scenario file.
    File(#[schemars(with = "String")] Spanned<String>),
    /// A rule with its rate, such as `gravity:40 Gbit/s`.
    Rule(String),
}

/// A number of shortest loopless paths by hops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum PathCount {
    /// A fixed number, 1 to 65,536.
    Exactly(#[schemars(range(min = 1, max = 65_536))] usize),
    /// A number drawn for each connection.
    Between(PathRange),
}

impl PathCount {
    /// The number of paths where none is written: the usual one of the protocol; 4 without a protocol.
    pub fn usual(protocol: Option<&Protocol>) -> Self {
        Self::Exactly(protocol.map_or(4, Protocol::usual_paths))
    }
}

/// A range of numbers of paths, all with the same probability.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PathRange {
    /// Least number, 1 or more.
    #[schemars(range(min = 1, max = 65_536))]
    pub least: usize,
    /// Greatest number, `least` or more, up to 65,536.
    #[schemars(range(min = 1, max = 65_536))]
    pub most: usize,
}

/// The paths of a connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum PathChoice {
    /// A number of shortest paths.
    Shortest(PathCount),
    /// The nodes of each path.
    Nodes(Vec<Vec<String>>),
}

impl<'de> Deserialize<'de> for PathCount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match deserializer.deserialize_any(Choice { takes_lists: false })? {
            PathChoice::Shortest(count) => Ok(count),
            PathChoice::Nodes(_) => unreachable!("lists were refused"),
        }
    }
}

impl<'de> Deserialize<'de> for PathChoice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Choice { takes_lists: true })
    }
}

struct Choice {
    takes_lists: bool,
}

impl<'de> Visitor<'de> for Choice {
    type Value = PathChoice;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the number of shortest paths, or { least = 1, most = 5 }")?;
        let lists = ", or a list of paths such as [[\"a\", \"b\"], [\"a\", \"c\", \"b\"]]";
        if self.takes_lists { f.write_str(lists) } else { Ok(()) }
    }

    fn visit_i64<E: Error>(self, count: i64) -> Result<PathChoice, E> {
        let count = usize::try_from(count).ok().filter(|n| (1..=MOST_PATHS).contains(n));
        let count = count.ok_or_else(|| E::custom("the number of paths must be 1 to 65,536"))?;
        Ok(PathChoice::Shortest(PathCount::Exactly(count)))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<PathChoice, A::Error> {
        let range: PathRange = whole_table(map)?;
        if range.least < 1 || range.most > MOST_PATHS || range.least > range.most {
            return Err(A::Error::custom("numbers of paths must be 1 to 65,536, and least no more than most"));
        }
        Ok(PathChoice::Shortest(PathCount::Between(range)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<PathChoice, A::Error> {
        if !self.takes_lists {
            return Err(A::Error::custom("paths by their nodes belong to one connection; give a number here"));
        }
        let mut paths = Vec::new();
        while let Some(path) = seq.next_element()? {
            paths.push(path);
        }
        Ok(PathChoice::Nodes(paths))
    }
}

fn demand_changes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Spanned<Vec<DemandStep>>>, D::Error> {
    let changes = Spanned::<Vec<DemandStep>>::deserialize(deserializer)?;
    check_order(changes.get_ref().iter().map(|change| change.at.0))?;
    Ok(Some(changes))
}

fn later_demand<'de, D: Deserializer<'de>>(deserializer: D) -> Result<RateText, D::Error> {
    let demand = RateText::deserialize(deserializer)?;
    let message = || format!("demand is {} bit/s; a run takes 1 to 1e15", Short(demand.0.0));
    if CAPACITIES.contains(&demand.0.0) { Ok(demand) } else { Err(D::Error::custom(message())) }
}

pub(super) fn packet<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<BytesText>, D::Error> {
    packet_size(deserializer, *PACKETS.start()).map(Some)
}
