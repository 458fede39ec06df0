//! The transit-stub model of an internetwork, as the program GT-ITM draws it [zegura1996].
//!
//! Transit domains are joined by a random top-level graph. Each transit node has stub domains, which carry the hosts. A
//! path between two stubs goes up, across the transit nodes and down. The program's algorithm is in `draw.rs`, its
//! random graphs are in `flat.rs`, and sizes in use are in `presets.rs`.
//!
//! differs: the program draws its random numbers in another order, so one seed gives different graphs there and here.

mod draw;
mod flat;
mod parameters;
mod presets;

use std::collections::HashSet;

use crate::id::NodeId;
use crate::network::Network;
use crate::random::{Purpose, stream};

use draw::{Drawing, Edge};

pub use draw::Diameters;
pub use flat::EdgeMethod;
pub use parameters::{CoincidentEdges, TransitStubHosts, TransitStubLinks, TransitStubParameters};

use super::draft::Draft;
use super::error::{Checks, GenerateError};
use super::link::LinkRule;

/// A transit-stub network, and the model's data about its nodes and links.
#[derive(Clone, Debug)]
pub struct TransitStub {
    /// The network. Routers come first, domain by domain: its transit nodes `t{domain}.{n}`, then for each of these the
    /// nodes `s{domain}.{n}/{stub}.{k}` of its stubs. Hosts `h0`, `h1`, ... come last.
    pub network: Network,
    /// The kind of each node, by node id.
    pub kinds: Vec<NodeKind>,
    /// The class of each link, by link id.
    pub classes: Vec<LinkClass>,
    /// The length of each link by link id, in units of the model's plane; 0 for host links.
    pub lengths: Vec<u32>,
    /// The weight of each link by link id, under which a shortest path never crosses a third stub; 1 for host links.
    pub policy_weights: Vec<u32>,
    /// The diameters of the domains.
    pub diameters: Diameters,
}

/// The kind of a node in a transit-stub network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// A router of a transit domain.
    Transit {
        /// Number of the domain, from 0.
        domain: u32,
    },
    /// A router of a stub.
    Stub {
        /// The transit node that the stub belongs to.
        transit: NodeId,
        /// Number of the stub in the whole network, from 0.
        stub: u32,
    },
    /// A host.
    Host {
        /// The stub router that the host is attached to.
        router: NodeId,
    },
}

/// The class of a link in a transit-stub network, by the nodes that it joins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LinkClass {
    /// A link between two nodes of one transit domain.
    Transit,
    /// A link between two transit domains.
    InterDomain,
    /// A link between a transit node and a stub.
    TransitStub,
    /// A link between two nodes of one stub.
    Stub,
    /// A link between two stubs.
    StubStub,
    /// A link between a host and its stub router.
    Host,
}

impl TransitStub {
    /// The hosts, in the order of their numbers.
    pub fn hosts(&self) -> Vec<NodeId> {
        let numbered = self.kinds.iter().enumerate();
        numbered.filter(|(_, kind)| matches!(kind, NodeKind::Host { .. })).map(|(n, _)| NodeId::new(n)).collect()
    }
}

/// Draws a transit-stub network.
///
/// # Errors
/// Returns an error for invalid parameters, too many nodes, or a domain that never becomes connected. The top level and
/// a transit domain are drawn at most 100 times, as in the program; a stub is drawn at most 100,000 times, where the
/// program has no limit.
pub fn transit_stub(parameters: &TransitStubParameters, seed: u64) -> Result<TransitStub, GenerateError> {
    parameters.check()?;
    let mut drawing = Drawing::draw(parameters, &mut stream(seed, Purpose::Topology, 0))?;
    if parameters.coincident == CoincidentEdges::Merge {
        merge_coincident(&mut drawing.edges);
    }
    add_hosts(&mut drawing, parameters);
    CHECKS.size(drawing.kinds.len(), drawing.edges.len())?;
    Ok(assemble(drawing, parameters, seed))
}

const CHECKS: Checks = Checks("transit-stub");

/// Keeps only the first of the edges between the same two nodes.
fn merge_coincident(edges: &mut Vec<Edge>) {
    let mut seen = HashSet::with_capacity(edges.len());
    edges.retain(|e| seen.insert((e.a.min(e.b), e.a.max(e.b))));
}

fn add_hosts(drawing: &mut Drawing, parameters: &TransitStubParameters) {
    let Some(hosts) = parameters.hosts else { return };
    let routers = drawing.kinds.len();
    for router in 0..routers {
        if !matches!(drawing.kinds[router], NodeKind::Stub { .. }) {
            continue;
        }
        for _ in 0..hosts.per_stub_router {
            let host = drawing.kinds.len();
            drawing.names.push(format!("h{}", host - routers));
            drawing.kinds.push(NodeKind::Host { router: NodeId::new(router) });
            drawing.edges.push(Edge { a: host, b: router, class: LinkClass::Host, length: 0 });
        }
    }
}

/// Makes a network of the drawing, with capacities and delays.
fn assemble(drawing: Drawing, parameters: &TransitStubParameters, seed: u64) -> TransitStub {
    let Drawing { names, kinds, edges, diameters } = drawing;
    let mut draft = Draft::new();
    draft.reserve(names.len(), edges.len());
    for name in names {
        draft.node(&name);
    }
    let mut delays = stream(seed, Purpose::Delays, 0);
    for edge in &edges {
        let kind = parameters.rule(edge.class).draw(f64::from(edge.length), &mut delays);
        draft.join(NodeId::new(edge.a), NodeId::new(edge.b), kind);
    }
    // The two directions of an edge have consecutive ids.
    let both_ways = || edges.iter().flat_map(|e| [e, e]);
    TransitStub {
        network: draft.build(),
        classes: both_ways().map(|e| e.class).collect(),
        lengths: both_ways().map(|e| e.length).collect(),
        policy_weights: both_ways().map(|e| diameters.policy_weight(e.class)).collect(),
        kinds,
        diameters,
    }
}

impl TransitStubParameters {
    fn rule(&self, class: LinkClass) -> LinkRule {
        match class {
            LinkClass::Transit | LinkClass::InterDomain => self.links.transit_transit,
            LinkClass::TransitStub => self.links.transit_stub,
            LinkClass::Stub | LinkClass::StubStub => self.links.stub_stub,
            LinkClass::Host => self.hosts.expect("a host link is drawn only if there are hosts").link,
        }
    }
}

#[cfg(test)]
mod tests;
