//! What a topology manager answers, and that changes one by one come to the same as all at once.

use std::sync::Arc;

use anabranch_core::generate::{LinkKind, random_regular};
use anabranch_core::paths::{GroupSearch, Sharing};
use anabranch_core::random::{Purpose, stream};
use anabranch_core::{LinkId, Network, NetworkBuilder, NodeId, Rate, Span};
use anabranch_psi::topology_manager::Kind;
use anabranch_psi::{
    Filter, Identities, IdentityParameters, PathId, PathRecord, RequestId, TopologyError, TopologyManager, forward,
};
use proptest::prelude::*;
use rand::RngExt;

/// Two-way links between nodes given by number: link 2 i leads from the first to the second, 2 i + 1 back.
fn network(nodes: usize, ends: &[(usize, usize)]) -> Arc<Network> {
    let mut builder = NetworkBuilder::new();
    let nodes: Vec<_> = (0..nodes).map(|n| builder.node(&n.to_string(), None).unwrap()).collect();
    for &(a, b) in ends {
        builder.two_way(None, nodes[a], nodes[b], Rate(1.0), Span(0)).unwrap();
    }
    Arc::new(builder.build())
}

fn manager(network: &Arc<Network>, without: &[u32]) -> TopologyManager {
    let identities = Identities::new(network.links().len(), IdentityParameters::default()).unwrap();
    TopologyManager::new(Arc::clone(network), Arc::new(identities), Sharing::Links, &ids(without)).unwrap()
}

fn ids(links: &[u32]) -> Vec<LinkId> {
    links.iter().map(|&l| LinkId(l)).collect()
}

/// Links and group of each record.
fn shown(records: &[PathRecord]) -> Vec<(Vec<u32>, u32)> {
    records.iter().map(|record| (record.links.iter().map(|l| l.0).collect(), record.group)).collect()
}

/// Publishers 0 and 1, receiver 5: 0 - 2 - 5 (links 0 2), 0 - 3 - 5 (4 6), 1 - 3 - 5 (8 6), 1 - 4 - 5 (10 12).
fn two_publishers() -> Arc<Network> {
    network(6, &[(0, 2), (2, 5), (0, 3), (3, 5), (1, 3), (1, 4), (4, 5)])
}

const BOTH: [NodeId; 2] = [NodeId(0), NodeId(1)];

#[test]
fn a_receiver_is_told_paths_of_all_publishers_in_groups() {
    // The second of 0 and the first of 1 share link 6, from 3 to 5.
    let network = two_publishers();
    let mut manager = manager(&network, &[]);
    let request = manager.request(NodeId(5), &BOTH, 2).unwrap();
    let records = manager.records(request).unwrap();
    let expected = [(vec![0, 2], 0), (vec![4, 6], 1), (vec![8, 6], 1), (vec![10, 12], 2)];
    assert_eq!(shown(&records), expected);
    assert_eq!(records.iter().map(|r| r.publisher.0).collect::<Vec<_>>(), [0, 0, 1, 1]);
    // The way back of 0 - 2 - 5 is 5 - 2 - 0, by the twins.
    assert_eq!(records[0].back, Some(ids(&[3, 1])));
}

#[test]
fn filters_lead_there_and_back() {
    let network = two_publishers();
    let mut manager = manager(&network, &[]);
    let request = manager.request(NodeId(5), &BOTH, 2).unwrap();
    for record in manager.records(request).unwrap() {
        let led = |filter: Option<Filter>, from| forward(&network, manager.identities(), &filter.unwrap(), from);
        let there = led(record.forward, record.publisher).unwrap();
        assert_eq!(there.along(&record.links), record.links);
        let back = led(record.reverse, NodeId(5)).unwrap();
        assert!(back.reaches(&network, record.publisher));
    }
}

#[test]
fn links_left_out_join_nobody() {
    let network = two_publishers();
    let mut manager = manager(&network, &[6]);
    let request = manager.request(NodeId(5), &BOTH, 2).unwrap();
    let groups: Vec<u32> = manager.records(request).unwrap().iter().map(|record| record.group).collect();
    assert_eq!(groups, [0, 1, 2, 3]);
}

#[test]
fn groups_part_when_the_path_between_them_fails() {
    // Paths 0 - 2 (link 0 and 4), 0 - 1 - 2 by 2 4: three parallel links from 0 to 1 and three from 1 to 2. Paths
    // {0, 6}, {0, 8}, {2, 8}: when the middle one goes, the others are apart.
    let network = network(3, &[(0, 1), (0, 1), (0, 1), (1, 2), (1, 2), (1, 2)]);
    let mut manager = manager(&network, &[]);
    let request = manager.request(NodeId(2), &[NodeId(0)], 9).unwrap();
    let all: Vec<PathId> = manager.records(request).unwrap().iter().map(|record| record.path).collect();
    for (path, keep) in all.iter().zip([true, true, false, false, true, false, false, false, false]) {
        if !keep {
            manager.remove_path(request, *path).unwrap();
        }
    }
    let chain = [(vec![0, 6], 0), (vec![0, 8], 0), (vec![2, 8], 0)];
    assert_eq!(shown(&manager.records(request).unwrap()), chain);
    manager.remove_path(request, all[1]).unwrap();
    assert_eq!(shown(&manager.records(request).unwrap()), [(vec![0, 6], 0), (vec![2, 8], 1)]);
    // A new path by 2 and 10 joins the second.
    manager.add_path(request, &ids(&[2, 10])).unwrap();
    let joined = [(vec![0, 6], 0), (vec![2, 8], 1), (vec![2, 10], 1)];
    assert_eq!(shown(&manager.records(request).unwrap()), joined);
}

#[test]
fn a_failed_link_takes_paths_down_until_it_returns_and_only_their_requests_change() {
    let network = two_publishers();
    let mut manager = manager(&network, &[]);
    let one = manager.request(NodeId(5), &BOTH, 2).unwrap();
    let other = manager.request(NodeId(2), &[NodeId(0)], 1).unwrap();
    let before = manager.records(one).unwrap();
    assert_eq!(manager.fail(LinkId(6)).unwrap(), [one]);
    assert_eq!(shown(&manager.records(one).unwrap()), [(vec![0, 2], 0), (vec![10, 12], 1)]);
    // Again, and another link of a path that is down already: nothing new.
    assert_eq!(manager.fail(LinkId(6)).unwrap(), []);
    assert_eq!(manager.fail(LinkId(4)).unwrap(), []);
    // Link 1 leads from 2 to 0, the way back of both requests.
    assert_eq!(manager.fail(LinkId(1)).unwrap(), [one, other]);
    assert!(manager.records(other).unwrap().is_empty());
    assert_eq!(manager.restore(LinkId(6)).unwrap(), [one]);
    assert_eq!(manager.restore(LinkId(4)).unwrap(), [one]);
    assert_eq!(manager.restore(LinkId(1)).unwrap(), [one, other]);
    assert_eq!(manager.restore(LinkId(1)).unwrap(), []);
    assert_eq!(manager.records(one).unwrap(), before);
}

#[test]
fn new_requests_and_searches_lead_around_what_is_down() {
    let network = two_publishers();
    let mut manager = manager(&network, &[]);
    let early = manager.request(NodeId(5), &[NodeId(0)], 1).unwrap();
    manager.fail(LinkId(2)).unwrap();
    assert!(manager.records(early).unwrap().is_empty());
    let late = manager.request(NodeId(5), &[NodeId(0)], 3).unwrap();
    let around = [(vec![4, 6], 0), (vec![4, 9, 10, 12], 0)];
    assert_eq!(shown(&manager.records(late).unwrap()), around);
    assert!(manager.find_again(early).unwrap());
    assert_eq!(shown(&manager.records(early).unwrap()), around[..1]);
    assert!(!manager.find_again(early).unwrap());
}

#[test]
fn publishers_come_and_go() {
    let network = two_publishers();
    let mut manager = manager(&network, &[]);
    let request = manager.request(NodeId(5), &[NodeId(0)], 2).unwrap();
    let first = manager.records(request).unwrap();
    manager.set_publishers(request, &[NodeId(1), NodeId(0)]).unwrap();
    let both = [(vec![0, 2], 0), (vec![4, 6], 1), (vec![8, 6], 1), (vec![10, 12], 2)];
    let records = manager.records(request).unwrap();
    assert_eq!(shown(&records), both);
    assert_eq!(records[..2], first);
    manager.set_publishers(request, &[NodeId(1)]).unwrap();
    assert_eq!(shown(&manager.records(request).unwrap()), [(vec![8, 6], 0), (vec![10, 12], 1)]);
    manager.end(request).unwrap();
    assert_eq!(manager.requests().count(), 0);
    assert_eq!(manager.fail(LinkId(6)).unwrap(), []);
}

#[test]
fn a_path_over_one_way_links_has_no_filter_back() {
    let mut builder = NetworkBuilder::new();
    let [a, b] = ["a", "b"].map(|name| builder.node(name, None).unwrap());
    builder.link(None, a, b, Rate(1.0), Span(0)).unwrap();
    let mut manager = manager(&Arc::new(builder.build()), &[]);
    let request = manager.request(b, &[a], 1).unwrap();
    let record = &manager.records(request).unwrap()[0];
    assert!(record.forward.is_some() && record.reverse.is_none() && record.back.is_none());
}

#[test]
fn orders_that_cannot_be_are_refused() {
    let network = two_publishers();
    let mut manager = manager(&network, &[]);
    let said = |error: TopologyError| error.to_string();
    let node = NodeId;
    assert!(said(manager.request(node(9), &BOTH, 1).unwrap_err()).contains("no node number 9; the network has 6"));
    assert!(said(manager.request(node(5), &[], 1).unwrap_err()).contains("without a publisher"));
    assert!(said(manager.request(node(0), &BOTH, 1).unwrap_err()).contains("`0` is receiver and publisher"));
    assert!(said(manager.request(node(5), &[node(1); 2], 1).unwrap_err()).contains("`1` stands twice"));
    assert!(said(manager.request(node(5), &BOTH, 0).unwrap_err()).contains("1 to 65536"));
    let request = manager.request(node(5), &[node(0)], 1).unwrap();
    let mut add = |links: &[u32]| said(manager.add_path(request, &ids(links)).unwrap_err());
    assert!(add(&[]).contains("it has no links"));
    assert!(add(&[99]).contains("no link number 99; the network has 14"));
    assert!(add(&[0, 6]).contains("begins at node `3`, but the path has come to node `2`"));
    assert!(add(&[0]).contains("ends at node `2`"));
    assert!(add(&[10, 12]).contains("a path from `1`, which is no publisher"));
    assert!(add(&[0, 2]).contains("it has this path already, as path 0"));
    assert!(said(manager.fail(LinkId(14)).unwrap_err()).contains("no link number 14"));
    assert!(said(manager.end(RequestId(7)).unwrap_err()).contains("no request 7"));
    assert!(said(manager.remove_path(request, PathId(7)).unwrap_err()).contains("it has no path 7"));
    assert!(manager.is_down(LinkId(99)) && !manager.is_down(LinkId(0)));
    let identities = Arc::new(Identities::new(3, IdentityParameters::default()).unwrap());
    let refused = TopologyManager::new(network, identities, Sharing::Links, &[]).unwrap_err();
    assert!(said(refused).contains("drawn for 3 links, and the network has 14"));
}

/// Fails unless groups and paths of all requests are what they are by the definition.
fn assert_is_consistent(manager: &TopologyManager) {
    let network = manager.network();
    for request in manager.requests() {
        let records = manager.records(request).unwrap();
        let needs = |record: &PathRecord| [record.links.clone(), record.back.clone().unwrap()].concat();
        assert!(records.iter().flat_map(needs).all(|link| !manager.is_down(link)));
        let groups = GroupSearch::new(network, Sharing::Links, &[]).groups(records.iter().map(|r| r.links.as_slice()));
        assert_eq!(records.iter().map(|record| record.group).collect::<Vec<_>>(), groups);
    }
}

proptest! {
    #[test]
    fn changes_one_by_one_come_to_the_same_as_all_at_once(seed in any::<u64>()) {
        let kind = LinkKind { capacity: Rate(1e9), delay: Span(0) };
        let network = Arc::new(random_regular(60, 4, kind, seed).unwrap());
        let mut manager = manager(&network, &[]);
        let mut rng = stream(seed, Purpose::Demands, 0);
        let mut original = Vec::new();
        for _ in 0..6 {
            let node = |i: u32| NodeId(i % 60);
            let first = rng.random_range(0..60);
            let request = manager.request(node(first), &[node(first + 1), node(first + 17)], 6).unwrap();
            original.push((request, manager.records(request).unwrap()));
        }
        let mut down = Vec::new();
        for _ in 0..60 {
            // Mostly links that some path needs.
            let (_, records) = &original[rng.random_range(0..original.len())];
            let links: Vec<LinkId> = records.iter().flat_map(|record| record.links.clone()).collect();
            let before: Vec<_> = original.iter().map(|&(request, _)| manager.records(request).unwrap()).collect();
            let changed = if rng.random_range(0..2) == 0 || down.is_empty() {
                let link = links[rng.random_range(0..links.len())];
                down.push(link);
                manager.fail(link).unwrap()
            } else {
                let link = down.swap_remove(rng.random_range(0..down.len()));
                down.retain(|&other| other != link);
                manager.restore(link).unwrap()
            };
            let other = original.iter().zip(&before).filter(|((r, _), before)| manager.records(*r).unwrap() != **before);
            prop_assert_eq!(changed, other.map(|((request, _), _)| *request).collect::<Vec<_>>());
            assert_is_consistent(&manager);
        }
        for link in down {
            manager.restore(link).unwrap();
        }
        for (request, records) in original {
            prop_assert_eq!(manager.records(request).unwrap(), records);
        }
    }
}

#[test]
fn disjoint_paths_share_no_link_and_are_found_anew() {
    // 0 - 1 - 2 - 5 in a row (links 0 2 4), and 0 - 2 (6) and 1 - 5 (8): the shortest paths are 0 - 2 - 5 and 0 - 1 - 5,
    // which share nothing, and then the one through 1 and 2.
    let network = network(6, &[(0, 1), (1, 2), (2, 5), (0, 2), (1, 5)]);
    let mut manager = manager(&network, &[]);
    let request = manager.request_of(Kind::Disjoint, NodeId(5), &[NodeId(0)], 4).unwrap();
    let links = |manager: &TopologyManager| {
        let mut links: Vec<_> = shown(&manager.records(request).unwrap()).into_iter().map(|(links, _)| links).collect();
        links.sort();
        links
    };
    assert_eq!(links(&manager), [vec![0, 8], vec![6, 4]]);
    // Without the link from 0 to 2 there is one at a time.
    assert_eq!(manager.fail(LinkId(6)).unwrap(), [request]);
    manager.find_again(request).unwrap();
    assert_eq!(links(&manager), [vec![0, 8]]);
    manager.restore(LinkId(6)).unwrap();
    assert!(manager.find_again(request).unwrap());
    assert_eq!(links(&manager), [vec![0, 8], vec![6, 4]]);
}
