//! `[network]`: a network in a separate file, or made by a rule.

use anabranch_core::generate::{LinkRule, TransitStubHosts, TransitStubLinks};
use anabranch_core::quantity::SpanText;
use anabranch_core::{Rate, Span};
use schemars::JsonSchema;
use serde::de::Deserializer;
use serde::{Deserialize, Serialize};
use toml::Spanned;

use super::count;
use super::words::Capacity;

/// `[network]`: where the network comes from, instead of `[[node]]` and `[[link]]` tables.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NetworkTable {
    /// File of the network, relative to the folder of the scenario file.
    #[schemars(with = "Option<String>")]
    pub file: Option<Spanned<String>>,
    /// With a file: capacity of links without one.
    pub capacity: Option<Capacity>,
    /// With a file: delay of links without one: a time, or "coordinates" for the time that light takes in fibre.
    pub delay: Option<String>,
    /// The rule that makes the network, instead of a file.
    #[schemars(with = "Option<Generator>")]
    pub generate: Option<Spanned<Generator>>,
    /// With a rule: seed of everything that it draws; the seed of the run if left out.
    #[serde(default, deserialize_with = "seed")]
    #[schemars(range(max = 9_223_372_036_854_775_807_u64))]
    pub seed: Option<u64>,
}

/// A rule that makes a network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Generator {
    /// A dumbbell: pairs of hosts that share one bottleneck.
    Dumbbell(Dumbbell),
    /// A parking lot: bottlenecks in a row, each with its own pairs of hosts.
    ParkingLot(ParkingLot),
    /// A ring of nodes.
    Ring(Ring),
    /// A grid of nodes.
    Grid(Grid),
    /// A fat tree: switches in three layers.
    FatTree(FatTree),
    /// A leaf-spine network: switches in two layers.
    LeafSpine(LeafSpine),
    /// A Waxman graph: nodes on a square, where links between near nodes are more likely.
    Waxman(Waxman),
    /// A random graph in which all nodes have the same degree.
    RandomRegular(RandomRegular),
    /// A network of transit and stub domains, as in the Internet.
    TransitStub(TransitStub),
}

/// A dumbbell: pairs of hosts that share one bottleneck.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Dumbbell {
    /// Number of senders, and of receivers.
    #[serde(deserialize_with = "count")]
    pub pairs: usize,
    /// Capacity of the links of hosts.
    #[serde(default = "mbit::<100>")]
    pub access: Capacity,
    /// Capacity of the bottleneck.
    #[serde(default = "mbit::<10>")]
    pub bottleneck: Capacity,
    /// Delay of the links of hosts.
    #[serde(default = "micros::<1000>")]
    pub access_delay: SpanText,
    /// Delay of the bottleneck.
    #[serde(default = "micros::<10_000>")]
    pub bottleneck_delay: SpanText,
}

/// A parking lot: bottlenecks in a row, each with its own pairs of hosts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ParkingLot {
    /// Number of bottlenecks.
    #[serde(deserialize_with = "count")]
    pub hops: usize,
    /// Number of pairs of hosts at each bottleneck, besides the pair that crosses all.
    #[serde(default = "number::<1>", deserialize_with = "count")]
    pub cross_pairs: usize,
    /// Capacity of the links of hosts.
    #[serde(default = "mbit::<100>")]
    pub access: Capacity,
    /// Capacity of each bottleneck.
    #[serde(default = "mbit::<10>")]
    pub bottleneck: Capacity,
    /// Delay of the links of hosts.
    #[serde(default = "micros::<1000>")]
    pub access_delay: SpanText,
    /// Delay of each bottleneck.
    #[serde(default = "micros::<10_000>")]
    pub bottleneck_delay: SpanText,
}

/// A ring of nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ring {
    /// Number of nodes, 3 or more.
    #[serde(deserialize_with = "count")]
    pub nodes: usize,
    /// Capacity of each link.
    #[serde(default = "mbit::<10_000>")]
    pub capacity: Capacity,
    /// Delay of each link.
    #[serde(default = "micros::<1000>")]
    pub delay: SpanText,
}

/// A grid of nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Grid {
    /// Number of rows.
    #[serde(deserialize_with = "count")]
    pub rows: usize,
    /// Number of columns.
    #[serde(deserialize_with = "count")]
    pub columns: usize,
    /// Whether the last row and column are joined to the first.
    #[serde(default)]
    pub wrapped: bool,
    /// Capacity of each link.
    #[serde(default = "mbit::<10_000>")]
    pub capacity: Capacity,
    /// Delay of each link.
    #[serde(default = "micros::<1000>")]
    pub delay: SpanText,
}

/// A fat tree: switches in three layers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FatTree {
    /// Number of ports of a switch; even.
    #[serde(deserialize_with = "count")]
    pub k: usize,
    /// Whether the edge switches have hosts, k^3/4 in all.
    #[serde(default = "super::yes")]
    pub hosts: bool,
    /// Capacity of each link.
    #[serde(default = "mbit::<10_000>")]
    pub capacity: Capacity,
    /// Delay of links between switches.
    #[serde(default = "micros::<10>")]
    pub delay: SpanText,
    /// Delay of links to hosts.
    #[serde(default = "micros::<1>")]
    pub host_delay: SpanText,
}

/// A leaf-spine network: switches in two layers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LeafSpine {
    /// Number of leaf switches, which carry hosts.
    #[serde(deserialize_with = "count")]
    pub leaves: usize,
    /// Number of spine switches, which join the leaves.
    #[serde(deserialize_with = "count")]
    pub spines: usize,
    /// Number of hosts on each leaf switch, 0 or more.
    #[serde(default, deserialize_with = "count")]
    pub hosts_per_leaf: usize,
    /// Capacity of links from leaf to spine.
    #[serde(default = "mbit::<100_000>")]
    pub uplink: Capacity,
    /// Capacity of links from host to leaf.
    #[serde(default = "mbit::<25_000>")]
    pub host: Capacity,
    /// Delay of each link.
    #[serde(default = "micros::<1>")]
    pub delay: SpanText,
}

/// A Waxman graph: nodes on a square, where links between near nodes are more likely.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Waxman {
    /// Number of nodes, 1 or more.
    #[serde(deserialize_with = "count")]
    pub nodes: usize,
    /// Probability of a link at distance zero; over 0 and at most 1.
    #[serde(default = "hundredths::<40>")]
    pub alpha: f64,
    /// Reach of links as a part of the diagonal; positive.
    #[serde(default = "hundredths::<20>")]
    pub beta: f64,
    /// Capacity of each link.
    #[serde(default = "mbit::<10_000>")]
    pub capacity: Capacity,
    /// Delay of each link.
    #[serde(default = "micros::<1000>")]
    pub delay: SpanText,
}

/// A random graph in which all nodes have the same degree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RandomRegular {
    /// Number of nodes, 2 or more.
    #[serde(deserialize_with = "count")]
    pub nodes: usize,
    /// Number of links at each node.
    #[serde(deserialize_with = "count")]
    pub degree: usize,
    /// Capacity of each link.
    #[serde(default = "mbit::<10_000>")]
    pub capacity: Capacity,
    /// Delay of each link.
    #[serde(default = "micros::<1000>")]
    pub delay: SpanText,
}

/// A network of transit and stub domains, as in the Internet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TransitStub {
    /// Number of routers, one with known parameters: 100, 110, 600, 1100 or 11000. With a shape, the number that the
    /// shape makes, or left out; otherwise 110 if left out.
    #[serde(default, deserialize_with = "some_count")]
    pub routers: Option<usize>,
    /// Numbers of domains and nodes, instead of the known ones for the number of routers.
    pub shape: Option<Shape>,
    /// Published experiment whose capacities apply where none are given below.
    #[serde(default)]
    pub preset: Preset,
    /// Capacity of links between transit routers.
    pub transit: Option<Capacity>,
    /// Capacity of links between routers that are not both transit routers.
    pub stub: Option<Capacity>,
    /// Least and greatest delay of links between routers; each link draws its delay between them.
    #[serde(default = "one_to_ten_milliseconds")]
    pub delay: [SpanText; 2],
    /// Number of hosts on each stub router.
    #[serde(default, deserialize_with = "count")]
    pub hosts: usize,
    /// Capacity of the links of hosts.
    pub host: Option<Capacity>,
    /// Delay of the links of hosts.
    #[serde(default = "micros::<1>")]
    pub host_delay: SpanText,
}

/// The numbers of domains and nodes of a transit-stub network. It has
/// `transit_domains * transit_nodes * (1 + stubs * stub_nodes)` routers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Shape {
    /// Number of transit domains, 1 or more.
    #[serde(deserialize_with = "count")]
    pub transit_domains: usize,
    /// Mean number of nodes in a transit domain, 1 or more.
    #[serde(deserialize_with = "count")]
    pub transit_nodes: usize,
    /// Mean number of stubs of a transit node, 1 or more.
    #[serde(deserialize_with = "count")]
    pub stubs: usize,
    /// Mean number of nodes in a stub, 1 or more.
    #[serde(deserialize_with = "count")]
    pub stub_nodes: usize,
}

/// Capacities of published experiments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// 5 Gbit/s between transit routers, 1 Gbit/s between others, 100 Mbit/s to hosts [mozo2012].
    #[default]
    Mozo2012,
    /// 50 Mbit/s between transit routers, 10 Mbit/s between others, 10 Gbit/s to hosts [ludena2021].
    Ludena2021,
}

/// The number of routers where neither a number nor a shape is given: that of [ludena2021, scenario 3].
const ROUTERS: usize = 110;

impl TransitStub {
    /// The rule with the number of routers and every capacity written out.
    #[must_use]
    pub fn filled(&self) -> Self {
        let (links, hosts) = match self.preset {
            Preset::Mozo2012 => (TransitStubLinks::mozo2012(), TransitStubHosts::mozo2012()),
            Preset::Ludena2021 => (TransitStubLinks::ludena2021(), TransitStubHosts::ludena2021(0)),
        };
        let or = |given: Option<Capacity>, preset: LinkRule| Some(given.unwrap_or(preset.capacity.into()));
        let (transit, stub) = (or(self.transit, links.transit_transit), or(self.stub, links.stub_stub));
        let routers = self.routers.or_else(|| self.shape.is_none().then_some(ROUTERS));
        Self { routers, transit, stub, host: or(self.host, hosts.link), ..self.clone() }
    }
}

fn some_count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<usize>, D::Error> {
    count(deserializer).map(Some)
}

fn mbit<const MBIT: u32>() -> Capacity {
    Rate(f64::from(MBIT) * 1e6).into()
}

fn micros<const MICROSECONDS: u64>() -> SpanText {
    SpanText(Span::us(MICROSECONDS))
}

fn number<const NUMBER: usize>() -> usize {
    NUMBER
}

fn hundredths<const HUNDREDTHS: u32>() -> f64 {
    f64::from(HUNDREDTHS) / 100.0
}

fn one_to_ten_milliseconds() -> [SpanText; 2] {
    [micros::<1000>(), micros::<10_000>()]
}

fn seed<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    super::run::seed(deserializer).map(Some)
}
