//! The parameters of the transit-stub model and of what is hung on it.

use super::super::error::GenerateError;
use super::super::link::{DelayRule, LinkKind, LinkRule};
use super::{CHECKS, EdgeMethod};
use crate::units::{Rate, Span};

/// Size and shape of a transit-stub network; it has T Nt (1 + K Ns) routers exactly.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TransitStubParameters {
    /// T: how many transit domains there are.
    pub transit_domains: usize,
    /// Nt: how many nodes a transit domain has on average.
    pub transit_nodes: usize,
    /// K: how many stubs a transit node has on average.
    pub stubs: usize,
    /// Ns: how many nodes a stub has on average.
    pub stub_nodes: usize,
    /// Edges from a transit node to a stub of another, beyond the one from each stub to its own.
    pub extra_transit_stub: usize,
    /// Edges from a stub to another.
    pub extra_stub_stub: usize,
    /// Which transit domains are joined.
    pub top_edges: EdgeMethod,
    /// Which nodes of a transit domain are joined.
    pub transit_edges: EdgeMethod,
    /// Which nodes of a stub are joined.
    pub stub_edges: EdgeMethod,
    /// What becomes of two edges between the same nodes.
    pub coincident: CoincidentEdges,
    /// Capacities and delays, which are no part of the model.
    pub links: TransitStubLinks,
    /// Hosts on the stub routers, which are no part of the model either.
    pub hosts: Option<TransitStubHosts>,
}

/// What becomes of two edges that were drawn between the same two nodes.
///
/// Joined domains have two edges between random nodes, which may be the same; extra edges may be too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CoincidentEdges {
    /// One stays: the network has no parallel links.
    #[default]
    Merge,
    /// Both stay, as the program has it.
    Keep,
}

/// Capacities and delays of the links between routers; the unit of length is that of the model's plane.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TransitStubLinks {
    /// Within and between transit domains.
    pub transit_transit: LinkRule,
    /// Between a transit node and a stub.
    pub transit_stub: LinkRule,
    /// Within and between stubs.
    pub stub_stub: LinkRule,
}

impl TransitStubLinks {
    /// These capacities, and delays drawn from 1 to 10 ms for each link.
    pub fn with_capacities(transit_transit: Rate, transit_stub: Rate, stub_stub: Rate) -> Self {
        use crate::units::MILLISECOND;

        let delay = DelayRule::Uniform { least: Span(MILLISECOND), most: Span(10 * MILLISECOND) };
        let rule = |capacity| LinkRule { capacity, delay };
        Self { transit_transit: rule(transit_transit), transit_stub: rule(transit_stub), stub_stub: rule(stub_stub) }
    }
}

/// How many hosts there are, and how they are linked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TransitStubHosts {
    /// On each router of a stub.
    pub per_stub_router: usize,
    /// From host to router; the length of these links is 0.
    pub link: LinkRule,
}

impl TransitStubHosts {
    /// `per_stub_router` hosts with links all alike.
    pub fn new(per_stub_router: usize, link: LinkKind) -> Self {
        let LinkKind { capacity, delay } = link;
        Self { per_stub_router, link: LinkRule { capacity, delay: DelayRule::Fixed(delay) } }
    }
}

impl TransitStubParameters {
    /// How many routers there will be, or `usize::MAX` if more.
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

    /// Extra edges find two ends that they may join.
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
