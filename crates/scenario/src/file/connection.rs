//! `[[connection]]`, `[defaults.connection]` and `[demands]`.

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

/// `[[connection]]`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConnectionTable {
    /// Unique; `source>target` if left out.
    pub name: Option<String>,
    /// Node where its traffic enters.
    pub source: Option<String>,
    /// Instead of `source`: nodes that have what the target wants, which asks them for it, packet by packet; only under a
    /// protocol that keeps windows.
    #[schemars(with = "Option<Vec<SourceChoice>>")]
    pub sources: Option<Spanned<Vec<SourceChoice>>>,
    /// Node where its traffic leaves.
    pub target: String,
    /// The most it can use; no limit if left out.
    pub demand: Option<RateText>,
    /// Its claim relative to others.
    #[serde(default = "one")]
    pub weight: f64,
    /// The factor, over 0 and at most 1, that lowers its claim.
    #[serde(default = "one")]
    pub qos: f64,
    /// When it begins.
    #[serde(default = "no_time")]
    pub start: SpanText,
    /// When it ends; it stays if left out.
    pub stop: Option<SpanText>,
    /// Its paths by the nodes they visit, best first; or the number of shortest paths to use, from each of its sources.
    #[schemars(with = "Option<PathChoice>")]
    pub paths: Option<Spanned<PathChoice>>,
    /// Its paths by the links they take, best first.
    #[schemars(with = "Option<Vec<Vec<String>>>")]
    pub links: Option<Spanned<Vec<Vec<String>>>>,
    /// Which protocol sets its rates.
    #[schemars(with = "Option<ProtocolChoice>")]
    pub protocol: Option<Protocol>,
    /// Nodes on its way, in order, at each of which one loop of it ends and the next begins, each with a control of its own;
    /// only under protocols that keep windows.
    #[schemars(with = "Option<Vec<String>>")]
    pub relays: Option<Spanned<Vec<String>>>,
    /// With `relays`: a protocol for each loop; that of the connection if left out.
    #[schemars(with = "Option<Vec<ProtocolChoice>>")]
    pub loops: Option<Vec<Protocol>>,
    /// It sends what comes over these connections, which end where it begins, and stops with the last of them unless it has
    /// a `stop`; only under protocols that keep windows.
    #[schemars(with = "Option<Vec<AfterChoice>>")]
    pub after: Option<Spanned<Vec<AfterChoice>>>,
    /// How much it sends before it ends.
    pub amount: Option<Amount>,
    /// The size of its data packets.
    #[serde(default, deserialize_with = "packet")]
    pub packet: Option<BytesText>,
    /// The most it can use from some times on, after `demand`.
    #[serde(default, deserialize_with = "demand_changes")]
    #[schemars(with = "Option<Vec<DemandStep>>")]
    pub demand_changes: Option<Spanned<Vec<DemandStep>>>,
    /// When each of its paths may be used, if not all the time; only under a protocol that keeps windows.
    #[schemars(with = "Option<Vec<PathTimes>>")]
    pub path_times: Option<Spanned<Vec<PathTimes>>>,
}

/// When a path of a connection may be used; `{}` for as long as the connection is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PathTimes {
    /// From when on, by the clock of the run and no earlier than its connection; when that begins if left out.
    pub start: Option<SpanText>,
    /// Until when, no later than its connection; when that ends if left out.
    pub stop: Option<SpanText>,
}

/// A demand from a time on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DemandStep {
    /// From when on.
    pub at: SpanText,
    /// The most that the connection can use from then on, 1 bit/s to 1e15 bit/s.
    #[serde(deserialize_with = "later_demand")]
    pub demand: RateText,
}

impl DemandStep {
    /// From when on.
    pub fn time(&self) -> Time {
        Time(self.at.0.0)
    }
}

/// `[defaults.connection]`: for every connection that does not say otherwise itself.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConnectionDefaults {
    /// Which protocol sets their rates; d-SLEN if left out.
    #[schemars(with = "Option<ProtocolChoice>")]
    pub protocol: Option<Protocol>,
    /// How much each sends before it ends; no limit if left out.
    pub amount: Option<Amount>,
    /// The size of their data packets; 1000 B if left out.
    #[serde(default, deserialize_with = "packet")]
    pub packet: Option<BytesText>,
    /// The number of shortest paths of each; if left out, 4, or 1 under a protocol that serves one path.
    pub paths: Option<PathCount>,
}

/// What holds for a connection that says nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct ConnectionValues {
    /// Which protocol sets its rates.
    pub protocol: Protocol,
    /// How much it sends before it ends.
    pub amount: Amount,
    /// The size of its data packets.
    pub packet: BytesText,
    /// The number of its shortest paths, if one is written.
    pub paths: Option<PathCount>,
}

impl ConnectionDefaults {
    /// Each value, whether it is written or not.
    pub fn values(&self) -> ConnectionValues {
        ConnectionValues {
            protocol: self.protocol.clone().unwrap_or_default(),
            amount: self.amount.unwrap_or_default(),
            packet: self.packet.unwrap_or(BytesText(Bytes(1000))),
            paths: self.paths,
        }
    }
}

impl ConnectionValues {
    /// The number of shortest paths of a connection under `protocol`: as it is written, or else as many as it serves, up
    /// to 4.
    pub fn paths_under(&self, protocol: &Protocol) -> PathCount {
        let unwritten = if protocol.capabilities().many_paths { 4 } else { 1 };
        self.paths.unwrap_or(PathCount::Exactly(unwritten))
    }
}

impl From<ConnectionValues> for ConnectionDefaults {
    fn from(values: ConnectionValues) -> Self {
        let paths = values.paths_under(&values.protocol);
        let ConnectionValues { protocol, amount, packet, .. } = values;
        Self { protocol: Some(protocol), amount: Some(amount), packet: Some(packet), paths: Some(paths) }
    }
}

/// `[demands]`: connections from a file, or made by a rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DemandsTable {
    /// A file of demands, seen from the folder of the scenario file.
    File(#[schemars(with = "String")] Spanned<String>),
    /// A rule with its rate, such as `gravity:40 Gbit/s`.
    Rule(String),
}

/// So many shortest loopless paths by hops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum PathCount {
    /// Always so many, 1 to 65,536.
    Exactly(#[schemars(range(min = 1, max = 65_536))] usize),
    /// Drawn for each connection.
    Between(PathRange),
}

/// Numbers of paths, all alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PathRange {
    /// 1 or more.
    #[schemars(range(min = 1, max = 65_536))]
    pub least: usize,
    /// `least` or more, up to 65,536.
    #[schemars(range(min = 1, max = 65_536))]
    pub most: usize,
}

/// The paths of a connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum PathChoice {
    /// So many shortest ones.
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
