//! Tests of the model on small networks; its statistics are in `tests/transit_stub.rs`.

use std::collections::HashSet;

use proptest::prelude::*;

use super::super::draft::tests::{degree, is_connected, shape, size};
use super::super::link::{DelayRule, LinkKind};
use super::*;
use crate::units::{Rate, Span};

fn count(drawn: &TransitStub, class: LinkClass) -> usize {
    drawn.classes.iter().filter(|&&c| c == class).count() / 2
}

/// The smallest network that has two of everything: 2 domains of 1 node, with 1 stub of 2 nodes each, all joined.
fn smallest() -> TransitStubParameters {
    let certain = EdgeMethod::PureRandom { alpha: 1.0 };
    TransitStubParameters {
        transit_domains: 2,
        transit_nodes: 1,
        stubs: 1,
        stub_nodes: 2,
        top_edges: certain,
        transit_edges: certain,
        stub_edges: certain,
        ..TransitStubParameters::ts100()
    }
}

#[test]
fn nodes_are_numbered_and_named_domain_by_domain() {
    let drawn = transit_stub(&smallest(), 1).unwrap();
    let names: Vec<&str> = drawn.network.nodes().iter().map(|n| n.name.as_str()).collect();
    assert_eq!(names, ["t0.0", "s0.0/0.0", "s0.0/0.1", "t1.0", "s1.0/0.0", "s1.0/0.1"]);
    assert_eq!(drawn.kinds[3], NodeKind::Transit { domain: 1 });
    assert_eq!(drawn.kinds[5], NodeKind::Stub { transit: NodeId(3), stub: 1 });
}

#[test]
fn coincident_edges_merge_unless_kept() {
    // Domains of one node have both of their edges between the same two: 1 or 2, with 2 stub edges and 2 to stubs.
    let kept = TransitStubParameters { coincident: CoincidentEdges::Keep, ..smallest() };
    let (merged, kept) = (transit_stub(&smallest(), 1).unwrap(), transit_stub(&kept, 1).unwrap());
    assert_eq!((size(&merged.network), count(&merged, LinkClass::InterDomain)), ((6, 5), 1));
    assert_eq!((size(&kept.network), count(&kept, LinkClass::InterDomain)), ((6, 6), 2));
    assert!(kept.network.find_link("t1.0-t0.0#2").is_some());
}

#[test]
fn every_link_has_the_capacity_and_delay_of_its_class() {
    let parameters = TransitStubParameters {
        links: TransitStubLinks::ludena2021(),
        hosts: Some(TransitStubHosts::mozo2012()),
        ..smallest()
    };
    let drawn = transit_stub(&parameters, 4).unwrap();
    for (link, class) in drawn.network.links().iter().zip(&drawn.classes) {
        let bps = match class {
            LinkClass::Transit | LinkClass::InterDomain => 50e6,
            LinkClass::TransitStub | LinkClass::Stub | LinkClass::StubStub => 10e6,
            LinkClass::Host => 100e6,
        };
        assert_eq!(link.capacity, Rate(bps), "{}", link.name);
        let milliseconds = if *class == LinkClass::Host { 1e-3..=1e-3 } else { 1.0..=10.0 };
        assert!(milliseconds.contains(&(link.delay.seconds() * 1e3)), "{}: {}", link.name, link.delay);
    }
}

#[test]
fn hosts_hang_on_stub_routers_only() {
    let host = LinkKind { capacity: Rate(1e8), delay: Span::us(1) };
    let parameters = TransitStubParameters { hosts: Some(TransitStubHosts::new(3, host)), ..smallest() };
    let drawn = transit_stub(&parameters, 1).unwrap();
    let hosts = drawn.hosts();
    // 4 stub routers of 3 hosts each.
    assert_eq!(hosts.len(), 12);
    assert_eq!(drawn.network.find_node("h11"), hosts.last().copied());
    for &host in &hosts {
        let NodeKind::Host { router } = drawn.kinds[host.index()] else { panic!("hosts are hosts") };
        assert!(matches!(drawn.kinds[router.index()], NodeKind::Stub { .. }));
        assert_eq!(degree(&drawn.network, host), 1);
        assert_eq!(drawn.network.link(drawn.network.links_from(host)[0]).target, router);
    }
}

#[test]
fn hosts_leave_the_routers_as_they_were() {
    let bare = transit_stub(&TransitStubParameters::ts100(), 9).unwrap();
    let parameters =
        TransitStubParameters { hosts: Some(TransitStubHosts::ludena2021(1)), ..TransitStubParameters::ts100() };
    let hosted = transit_stub(&parameters, 9).unwrap();
    let (bare_links, hosted_links) = (bare.network.links(), hosted.network.links());
    assert_eq!(bare_links, &hosted_links[..bare_links.len()]);
    assert_eq!(hosted_links.len(), bare_links.len() + 2 * 96);
}

#[test]
fn extra_edges_join_what_was_apart() {
    let parameters = TransitStubParameters {
        extra_transit_stub: 30,
        extra_stub_stub: 40,
        coincident: CoincidentEdges::Keep,
        ..TransitStubParameters::ts100()
    };
    let drawn = transit_stub(&parameters, 2).unwrap();
    // 12 stubs have an edge of their own.
    assert_eq!(count(&drawn, LinkClass::TransitStub), 12 + 30);
    assert_eq!(count(&drawn, LinkClass::StubStub), 40);
    let (mut to_own, mut to_other) = (0, 0);
    for (link, class) in drawn.network.links().iter().zip(&drawn.classes) {
        let ends = [drawn.kinds[link.source.index()], drawn.kinds[link.target.index()]];
        match (class, ends) {
            (LinkClass::TransitStub, [NodeKind::Transit { .. }, NodeKind::Stub { transit, .. }]) => {
                let counted = if transit == link.source { &mut to_own } else { &mut to_other };
                *counted += 1;
            }
            (LinkClass::StubStub, [NodeKind::Stub { stub: a, .. }, NodeKind::Stub { stub: b, .. }]) => assert_ne!(a, b),
            (LinkClass::StubStub, _) => panic!("{} does not join stubs", link.name),
            _ => {}
        }
    }
    assert_eq!((to_own, to_other), (12, 30));
}

#[test]
fn delay_may_follow_length() {
    let mut parameters = TransitStubParameters::ts100();
    parameters.links.transit_stub.delay = DelayRule::PerLength(Span::us(1));
    let drawn = transit_stub(&parameters, 3).unwrap();
    for (n, link) in drawn.network.links().iter().enumerate() {
        if drawn.classes[n] == LinkClass::TransitStub {
            assert_eq!(link.delay, Span(1_000_000 * u64::from(drawn.lengths[n])));
        }
    }
}

#[test]
fn a_seed_repeats_itself_and_another_differs() {
    let make = |seed| transit_stub(&TransitStubParameters::ts100(), seed).unwrap();
    let (first, again, other) = (make(1), make(1), make(2));
    assert_eq!(shape(&first.network), shape(&again.network));
    assert_eq!((first.kinds, first.lengths), (again.kinds, again.lengths));
    assert_ne!(shape(&first.network), shape(&other.network));
}

#[test]
fn bad_parameters_are_refused() {
    let said = |p: TransitStubParameters| transit_stub(&p, 1).unwrap_err().to_string();
    let good = TransitStubParameters::ts100;
    let method = |alpha| EdgeMethod::PureRandom { alpha };
    assert_eq!(said(TransitStubParameters { stubs: 0, ..good() }), "transit-stub: stubs is 0; it must be 1 or more");
    assert_eq!(
        said(TransitStubParameters { stub_edges: method(1.5), ..good() }),
        "transit-stub: stub_edges is PureRandom { alpha: 1.5 }; alpha must be over 0 and at most 1"
    );
    assert_eq!(
        said(TransitStubParameters { transit_nodes: 30, transit_edges: method(0.01), ..good() }),
        "transit-stub: a transit domain did not come out connected in 100 tries; raise the probability of its edges"
    );
    let alone = TransitStubParameters { transit_nodes: 1, ..good() };
    assert!(said(TransitStubParameters { extra_transit_stub: 1, ..alone }).contains("extra_transit_stub is 1"));
    assert!(said(TransitStubParameters { stubs: 1, extra_stub_stub: 1, ..alone }).contains("extra_stub_stub is 1"));
    assert!(said(TransitStubParameters { transit_domains: usize::MAX, ..good() }).contains("routers"));
    let hosts = TransitStubHosts { per_stub_router: 1 << 31, ..TransitStubHosts::mozo2012() };
    assert!(said(TransitStubParameters { hosts: Some(hosts), ..good() }).contains("ask for fewer"));
    let broken = TransitStubLinks::with_capacities(Rate(-1.0), Rate(1.0), Rate(1.0));
    assert!(said(TransitStubParameters { links: broken, ..good() }).contains("links.transit_transit"));
}

proptest! {
    #[test]
    fn every_network_is_connected_and_has_its_number_of_routers(
        transit_domains in 1usize..5,
        transit_nodes in 1usize..6,
        stubs in 1usize..4,
        stub_nodes in 1usize..6,
        extra in 0usize..4,
        method in 1u32..7,
        seed: u64,
    ) {
        prop_assume!(extra == 0 || transit_domains * transit_nodes >= 2);
        let edges = EdgeMethod::numbered(method, 0.9, 0.9, 5.0).unwrap();
        let edges = if method == 6 { EdgeMethod::Locality { alpha: 0.9, beta: 0.5, gamma: 0.4 } } else { edges };
        let parameters = TransitStubParameters {
            transit_domains, transit_nodes, stubs, stub_nodes,
            extra_transit_stub: extra,
            extra_stub_stub: extra,
            top_edges: edges,
            transit_edges: edges,
            stub_edges: edges,
            ..TransitStubParameters::ts100()
        };
        let drawn = transit_stub(&parameters, seed).unwrap();
        prop_assert!(is_connected(&drawn.network));
        prop_assert_eq!(drawn.kinds.len(), transit_domains * transit_nodes * (1 + stubs * stub_nodes));
        prop_assert_eq!(drawn.kinds.len(), drawn.network.nodes().len());
        prop_assert_eq!(drawn.classes.len(), drawn.network.links().len());
        // Merged, no two links have the same ends.
        let ends: HashSet<_> = drawn.network.links().iter().map(|l| (l.source, l.target)).collect();
        prop_assert_eq!(ends.len(), drawn.network.links().len());
    }
}

#[test]
fn every_known_size_has_so_many_routers() {
    for size in TransitStubParameters::SIZES {
        assert_eq!(TransitStubParameters::of_size(size).unwrap().routers(), size);
    }
    assert_eq!(TransitStubParameters::of_size(111), None);
}
