//! The parameters of the transit-stub model, of its links and of its hosts.

use super::super::error::GenerateError;
use super::super::link::{DelayRule, LinkKind, LinkRule};
use super::{CHECKS, EdgeMethod};
use crate::units::{Rate, Span};

/// Size and shape of a transit-stub network; it has exactly T Nt (1 + K Ns) routers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TransitStubParameters {
    /// Number of transit domains, T.
    pub transit_domains: usize,
    /// Mean number of nodes in a transit domain, Nt.
    pub transit_nodes: usize,
    /// Mean number of stubs of a transit node, K.
    pub stubs: usize,
    /// Mean number of nodes in a stub, Ns.
    pub stub_nodes: usize,
    /// Number of extra edges from a transit node to a stub of another, beyond the edge from each stub to its own.
    pub extra_transit_stub: usize,
    /// Number of extra edges between two stubs.
    pub extra_stub_stub: usize,
    /// Edge probability between transit domains.
    pub top_edges: EdgeMethod,
    /// Edge probability between nodes of a transit domain.
    pub transit_edges: EdgeMethod,
    /// Edge probability between nodes of a stub.
    pub stub_edges: EdgeMethod,
    /// Treatment of two edges between the same nodes.
    pub coincident: CoincidentEdges,
    /// Capacities and delays, which are not part of the model.
    pub links: TransitStubLinks,
    /// Hosts on the stub routers, which are not part of the model either.
    pub hosts: Option<TransitStubHosts>,
}

/// The treatment of two edges that were drawn between the same two nodes.
///
/// Joined domains have two edges between random nodes, which may coincide; so may extra edges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CoincidentEdges {
    /// One edge stays: the network has no parallel links.
    #[default]
    Merge,
    /// Both edges stay, as in the program.
    Keep,
}

/// Capacities and delays of the links between routers; the unit of length is that of the model's plane.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TransitStubLinks {
    /// Links within and between transit domains.
    pub transit_transit: LinkRule,
    /// Links between a transit node and a stub.
    pub transit_stub: LinkRule,
    /// Links within and between stubs.
    pub stub_stub: LinkRule,
}

impl TransitStubLinks {
    /// Links with these capacities, and delays drawn from 1 to 10 ms for each link.
    pub fn with_capacities(transit_transit: Rate, transit_stub: Rate, stub_stub: Rate) -> Self {
        use crate::units::MILLISECOND;

        let delay = DelayRule::Uniform { least: Span(MILLISECOND), most: Span(10 * MILLISECOND) };
        let rule = |capacity| LinkRule { capacity, delay };
        Self { transit_transit: rule(transit_transit), transit_stub: rule(transit_stub), stub_stub: rule(stub_stub) }
    }
}

/// Number and links of the hosts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TransitStubHosts {
    /// Number of hosts on each router of a stub.
    pub per_stub_router: usize,
    /// Links from host to router; the length of these links is 0.
    pub link: LinkRule,
}

impl TransitStubHosts {
    /// Puts `per_stub_router` hosts on each stub router, with identical links.
    pub fn new(per_stub_router: usize, link: LinkKind) -> Self {
        let LinkKind { capacity, delay } = link;
        Self { per_stub_router, link: LinkRule { capacity, delay: DelayRule::Fixed(delay) } }
    }
}

impl TransitStubParameters {
    /// The number of routers, at most `usize::MAX`.
    pub fn routers(&self) -> usize {
        let of_transit_node = self.stubs.saturating_mul(self.stub_nodes).saturating_add(1);
        self.transit_domains.saturating_mul(self.transit_nodes).saturating_mul(of_transit_node)
    }

    pub(super) fn check(&self) -> Result<(), GenerateError> {
        CHECKS.at_least(1, "transit_domains", self.transit_domains)?;
        CHECKS.at_least(1, "transit_nodes", self.transit_nodes)?;
        CHECKS.at_least(1, "stubs", self.stubs)?;
        CHECKS.at_least(1, "stub_nodes", self.stub_nodes)?;
        self.top_edges.check("top_edges")?;
        self.transit_edges.check("transit_edges")?;
        self.stub_edges.check("stub_edges")?;
        CHECKS.link_rule("links.transit_transit", &self.links.transit_transit)?;
        CHECKS.link_rule("links.transit_stub", &self.links.transit_stub)?;
        CHECKS.link_rule("links.stub_stub", &self.links.stub_stub)?;
        if let Some(hosts) = &self.hosts {
            CHECKS.link_rule("hosts.link", &hosts.link)?;
        }
        self.check_extra_edges()?;
        self.check_size()
    }

    /// Checks that extra edges find two ends that they may join.
    fn check_extra_edges(&self) -> Result<(), GenerateError> {
        let transit_nodes = self.transit_domains.saturating_mul(self.transit_nodes);
        let possible = self.extra_transit_stub == 0 || transit_nodes >= 2;
        let remedy = "it must be 0 where a single transit node has all stubs";
        CHECKS.require(possible, "extra_transit_stub", self.extra_transit_stub, remedy)?;
        let possible = self.extra_stub_stub == 0 || transit_nodes.saturating_mul(self.stubs) >= 2;
        CHECKS.require(possible, "extra_stub_stub", self.extra_stub_stub, "it must be 0 where there is a single stub")
    }

    fn check_size(&self) -> Result<(), GenerateError> {
        let routers = self.routers();
        CHECKS.number(routers, "routers")?;
        CHECKS.size(routers, self.extra_transit_stub.saturating_add(self.extra_stub_stub))?;
        let stub_routers = routers - self.transit_domains * self.transit_nodes;
        let hosts = self.hosts.map_or(0, |h| stub_routers.saturating_mul(h.per_stub_router));
        CHECKS.size(routers.saturating_add(hosts), hosts)
    }
}
