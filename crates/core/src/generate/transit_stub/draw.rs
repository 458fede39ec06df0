//! GT-ITM's transit-stub algorithm, which draws the nodes and edges of the model [zegura1996].
//!
//! 1. A top-level graph has a node for each transit domain, on the whole plane.
//! 2. Each transit domain is a graph on a square around that node's point; the number of its nodes is random.
//! 3. Each of its nodes gets stubs, graphs on a square within reach; their number and sizes are random too. An edge
//!    leads to a random node of each.
//! 4. For each top-level edge, two edges join random nodes of the two domains.
//! 5. Extra edges join a transit node to a stub of another transit node, or two stubs.
//!
//! Every graph is drawn again until connected.

use rand::{Rng, RngExt};

use super::super::error::GenerateError;
use super::flat::{FlatGraph, Point, distance, draw_connected};
use super::{CHECKS, EdgeMethod, LinkClass, NodeKind, TransitStubParameters};
use crate::id::NodeId;

/// The nodes in the order of the model, and edges between their numbers.
pub(super) struct Drawing {
    pub(super) names: Vec<String>,
    pub(super) kinds: Vec<NodeKind>,
    pub(super) edges: Vec<Edge>,
    pub(super) diameters: Diameters,
}

/// A two-way edge.
pub(super) struct Edge {
    pub(super) a: usize,
    pub(super) b: usize,
    pub(super) class: LinkClass,
    pub(super) length: u32,
}

/// The diameters of domains: the most hops on a shortest path between two nodes of one domain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Diameters {
    /// Diameter of the widest transit domain.
    pub transit: u32,
    /// Diameter of the widest stub.
    pub stub: u32,
    /// Diameter of the graph of transit domains.
    pub top: u32,
}

impl Diameters {
    /// The weight of a link under which shortest paths go up, across and down.
    ///
    /// Let h(x) = floor(x / 2) + 1. A link between domains has weight tt = h(transit). A link between a transit node
    /// and a stub has weight ts = h(top tt) + h((top + 1) transit), which exceeds half of the longest path across the
    /// top. A link between two stubs has weight stub + 2 ts, so that it serves only these two.
    pub fn policy_weight(&self, class: LinkClass) -> u32 {
        let over_half = |x| x / 2 + 1;
        let inter_domain = over_half(self.transit);
        let transit_stub = over_half(self.top * inter_domain) + over_half((self.top + 1) * self.transit);
        match class {
            LinkClass::Transit | LinkClass::Stub | LinkClass::Host => 1,
            LinkClass::InterDomain => inter_domain,
            LinkClass::TransitStub => transit_stub,
            LinkClass::StubStub => self.stub + 2 * transit_stub,
        }
    }
}

impl Drawing {
    pub(super) fn draw(parameters: &TransitStubParameters, rng: &mut impl Rng) -> Result<Self, GenerateError> {
        let mut canvas = Canvas::new(parameters, rng);
        let top = canvas.draw_domains()?;
        canvas.join_domains(&top);
        canvas.join_stubs_to_other_transit_nodes();
        canvas.join_stubs();
        let Canvas { names, kinds, edges, diameters, .. } = canvas;
        Ok(Self { names, kinds, edges, diameters })
    }
}

/// The sides of the squares, in units of the plane.
///
/// A stub has at most Ns + 3 (K + 3 (Nt + 3 T)) nodes, since `spread` adds at most 3 n to one of n values; its square
/// has 16 points for each of these.
#[derive(Clone, Copy)]
struct Scales {
    top: i64,
    transit: i64,
    stub: i64,
}

impl Scales {
    fn of(p: &TransitStubParameters) -> Self {
        let [domains, nodes, stubs, stub_nodes] =
            [p.transit_domains, p.transit_nodes, p.stubs, p.stub_nodes].map(|n| n as f64);
        let top = (80.0 * domains * nodes * (1.0 + stubs * stub_nodes)).sqrt().round();
        let stub = (16.0 * (stub_nodes + 3.0 * (stubs + 3.0 * (nodes + 3.0 * domains)))).sqrt().round();
        // The even number nearest to half the plane: the square of a domain has a centre among the points.
        Self { top: top as i64, transit: 2 * (top / 4.0).round() as i64, stub: stub as i64 }
    }
}

/// The drawing in progress.
struct Canvas<'a, R> {
    parameters: &'a TransitStubParameters,
    scales: Scales,
    rng: &'a mut R,
    names: Vec<String>,
    kinds: Vec<NodeKind>,
    points: Vec<Point>,
    edges: Vec<Edge>,
    diameters: Diameters,
    /// The transit nodes of each domain.
    domains: Vec<Vec<usize>>,
    stub_routers: Vec<usize>,
    stubs: u32,
}

impl<'a, R: Rng> Canvas<'a, R> {
    fn new(parameters: &'a TransitStubParameters, rng: &'a mut R) -> Self {
        Self {
            parameters,
            scales: Scales::of(parameters),
            rng,
            names: Vec::new(),
            kinds: Vec::new(),
            points: Vec::new(),
            edges: Vec::new(),
            diameters: Diameters::default(),
            domains: Vec::new(),
            stub_routers: Vec::new(),
            stubs: 0,
        }
    }

    /// Draws all domains with their stubs; returns the top-level graph.
    fn draw_domains(&mut self) -> Result<FlatGraph, GenerateError> {
        let p = self.parameters;
        let top = self.flat("the top-level graph", p.transit_domains, self.scales.top, p.top_edges, 100)?;
        self.diameters.top = top.diameter;
        let sizes = spread(p.transit_domains, p.transit_nodes, self.rng);
        for (domain, nodes) in sizes.into_iter().enumerate() {
            let graph = self.flat("a transit domain", nodes, self.scales.transit, p.transit_edges, 100)?;
            self.diameters.transit = self.diameters.transit.max(graph.diameter);
            let centre = top.points[domain];
            let corner = (self.corner_around(centre.0), self.corner_around(centre.1));
            let kind = NodeKind::Transit { domain: domain as u32 };
            let members = self.add(&graph, corner, kind, LinkClass::Transit, |n| format!("t{domain}.{n}"));
            let stubs = spread(nodes, p.stubs, self.rng);
            for (&transit, stubs) in members.iter().zip(stubs) {
                self.draw_stubs(transit, stubs)?;
            }
            self.domains.push(members);
        }
        Ok(top)
    }

    /// Draws the stubs of a transit node, and the edge to each.
    fn draw_stubs(&mut self, transit: usize, stubs: usize) -> Result<(), GenerateError> {
        let p = self.parameters;
        let sizes = spread(stubs, p.stub_nodes, self.rng);
        for (stub, nodes) in sizes.into_iter().enumerate() {
            let graph = self.flat("a stub", nodes, self.scales.stub, p.stub_edges, 100_000)?;
            self.diameters.stub = self.diameters.stub.max(graph.diameter);
            let (x, y) = self.points[transit];
            let corner = (self.corner_in_reach(x), self.corner_in_reach(y));
            let kind = NodeKind::Stub { transit: NodeId::new(transit), stub: self.stubs };
            // The letter `s` replaces the transit node's `t`.
            let prefix = format!("s{}/{stub}", &self.names[transit][1..]);
            let members = self.add(&graph, corner, kind, LinkClass::Stub, |n| format!("{prefix}.{n}"));
            let entry = *pick(&members, self.rng);
            self.join(transit, entry, LinkClass::TransitStub);
            self.stub_routers.extend(members);
            self.stubs += 1;
        }
        Ok(())
    }

    fn flat(
        &mut self,
        graph: &'static str,
        nodes: usize,
        scale: i64,
        method: EdgeMethod,
        tries: u32,
    ) -> Result<FlatGraph, GenerateError> {
        let remedy = "raise the probability of its edges";
        let failure = GenerateError::NeverConnected { generator: CHECKS.0, graph, tries, remedy };
        draw_connected(nodes, scale, method, tries, self.rng).ok_or(failure)
    }

    /// The start of a domain's square with its centre at `centre`, moved to lie within the plane.
    fn corner_around(&self, centre: i64) -> i64 {
        (centre - self.scales.transit / 2).clamp(0, (self.scales.top - self.scales.transit).max(0))
    }

    /// The start of a stub's square, drawn at random so that the square reaches `at`, and within the plane if it fits.
    fn corner_in_reach(&mut self, at: i64) -> i64 {
        let first = (at - self.scales.stub).max(0);
        let last = at.min(self.scales.top - self.scales.stub).max(first);
        self.rng.random_range(first..=last)
    }

    /// Adds the nodes and edges of a domain; returns the numbers of its nodes.
    fn add(
        &mut self,
        graph: &FlatGraph,
        corner: Point,
        kind: NodeKind,
        class: LinkClass,
        name: impl Fn(usize) -> String,
    ) -> Vec<usize> {
        let first = self.kinds.len();
        for (n, &(x, y)) in graph.points.iter().enumerate() {
            self.names.push(name(n));
            self.kinds.push(kind);
            self.points.push((corner.0 + x, corner.1 + y));
        }
        self.edges.extend(graph.edges.iter().map(|&(a, b, length)| Edge { a: first + a, b: first + b, class, length }));
        (first..self.kinds.len()).collect()
    }

    /// Draws two edges for each edge of the top-level graph, as the program walks it in both directions.
    fn join_domains(&mut self, top: &FlatGraph) {
        for &(a, b, _) in &top.edges {
            for (from, to) in [(a, b), (b, a)] {
                let source = *pick(&self.domains[from], self.rng);
                let target = *pick(&self.domains[to], self.rng);
                self.join(source, target, LinkClass::InterDomain);
            }
        }
    }

    /// Draws extra edges from a random node of a random domain to a random stub router of another transit node.
    fn join_stubs_to_other_transit_nodes(&mut self) {
        for _ in 0..self.parameters.extra_transit_stub {
            let (transit, stub) = loop {
                let domain = pick(&self.domains, self.rng);
                let transit = *pick(domain, self.rng);
                let stub = *pick(&self.stub_routers, self.rng);
                if !matches!(self.kinds[stub], NodeKind::Stub { transit: own, .. } if own.index() == transit) {
                    break (transit, stub);
                }
            };
            self.join(transit, stub, LinkClass::TransitStub);
        }
    }

    /// Draws extra edges between random routers of different stubs.
    fn join_stubs(&mut self) {
        for _ in 0..self.parameters.extra_stub_stub {
            let (a, b) = loop {
                let a = *pick(&self.stub_routers, self.rng);
                let b = *pick(&self.stub_routers, self.rng);
                if self.kinds[a] != self.kinds[b] {
                    break (a, b);
                }
            };
            self.join(a, b, LinkClass::StubStub);
        }
    }

    /// Adds an edge whose length is the distance of its ends.
    fn join(&mut self, a: usize, b: usize, class: LinkClass) {
        let length = distance(self.points[a], self.points[b]).round() as u32;
        self.edges.push(Edge { a, b, class, length });
    }
}

/// A random element of `among`.
fn pick<'a, T>(among: &'a [T], rng: &mut impl Rng) -> &'a T {
    &among[rng.random_range(0..among.len())]
}

/// A list of `count` random numbers of 1 or more around `mean`, with the sum `count * mean`.
///
/// They begin equal; then, 3 `count` times, a number over 1 gives 1 to another.
fn spread(count: usize, mean: usize, rng: &mut impl Rng) -> Vec<usize> {
    let mut values = vec![mean; count];
    for _ in 0..3 * count {
        let giver = rng.random_range(0..count);
        if values[giver] > 1 {
            values[giver] -= 1;
            values[rng.random_range(0..count)] += 1;
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::random::{Purpose, stream};

    #[test]
    fn scales_are_those_of_the_sample_graphs() {
        // Line 2 of the .alt files of ts100 and ts600 has the three scales.
        let sides = |p| {
            let Scales { top, transit, stub } = Scales::of(&p);
            [top, transit, stub]
        };
        assert_eq!(sides(TransitStubParameters::ts100()), [89, 44, 36]);
        assert_eq!(sides(TransitStubParameters::ts600()), [219, 110, 52]);
    }

    #[test]
    fn policy_weights_are_those_of_the_sample_graphs() {
        // ts600-0: diameters 3, 5, 1, so tt = 2, ts = h(2) + h(6) = 2 + 4 = 6, ss = 5 + 12.
        let diameters = Diameters { transit: 3, stub: 5, top: 1 };
        let weights = [LinkClass::Transit, LinkClass::InterDomain, LinkClass::TransitStub, LinkClass::StubStub]
            .map(|class| diameters.policy_weight(class));
        assert_eq!(weights, [1, 2, 6, 17]);
    }

    proptest! {
        #[test]
        fn spreading_keeps_the_sum_and_leaves_everyone_one(count in 1usize..30, mean in 1usize..10, seed: u64) {
            let values = spread(count, mean, &mut stream(seed, Purpose::Topology, 0));
            prop_assert_eq!(values.len(), count);
            prop_assert_eq!(values.iter().sum::<usize>(), count * mean);
            prop_assert!(values.iter().all(|&v| v >= 1));
        }
    }
}
