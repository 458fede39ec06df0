//! Packets that go by filters: the links that copies take beside the paths, and what that costs others.

use crate::common::scenario::{mistake, planned};
use crate::common::{network, plan, run};
use anabranch_core::{Bytes, Rate};
use anabranch_plan::{Filters, Limit, Plan, way_back};
use anabranch_proto::Protocol;
use anabranch_proto::protocols::PROTOCOLS;
use anabranch_psi::{Filter, Identities, IdentityParameters, Ones, forward};
use anabranch_sim::{LinkTotal, Outcome};

/// A path from s to t by m; links that leave each of them, and one that goes on.
const STAR: [(&str, &str, f64, f64); 6] = [
    ("s", "m", 10.0, 5.0),
    ("m", "t", 10.0, 5.0),
    ("m", "x", 10.0, 5.0),
    ("x", "y", 10.0, 5.0),
    ("s", "w", 10.0, 5.0),
    ("t", "z", 10.0, 5.0),
];

/// Gives packets of each path, and those on its way back, a filter over the links they take and those named besides.
///
/// Every link has a bit of its own, so nothing else matches.
fn stray_over(plan: &mut Plan, besides: &[[&[&str]; 2]]) {
    let own = IdentityParameters { ones: Ones::Growing, tables: 1, most_fill: 1.0, ..Default::default() };
    let identities = Identities::new(plan.network.links().len(), own).unwrap();
    let filter = |mut links: Vec<_>, names: &[&str]| {
        links.extend(names.iter().map(|name| plan.network.find_link(name).unwrap()));
        Filter::new(&identities, 0, &links)
    };
    let there = besides.iter().enumerate().map(|(p, names)| filter(plan.paths.path(p).to_vec(), names[0])).collect();
    let keeps_windows = plan.protocols.iter().any(|protocol| protocol.capabilities().keeps_windows());
    let back = |(p, names): (usize, &[&[&str]; 2])| {
        keeps_windows.then(|| filter(way_back(&plan.network, plan.paths.path(p)), names[1]))
    };
    let back = besides.iter().enumerate().map(back).collect();
    plan.filters = Some(Filters { identities, there, back });
}

fn link(plan: &Plan, outcome: &Outcome, name: &str) -> LinkTotal {
    outcome.links[plan.network.find_link(name).unwrap().index()]
}

/// One connection from s to t that sends 100 packets of 1,000 bytes under a protocol.
fn star(protocol: &str) -> Plan {
    let path: &[&[&str]] = &[&["s", "m", "t"]];
    let mut plan = plan(network(&STAR), &[path], Protocol::named(protocol).unwrap(), 2.0);
    plan.transfers[0].amount = Some(Bytes(100_000));
    plan
}

#[test]
fn every_packet_takes_each_stray_once_and_arrives_once() {
    // Strays leave s, m and t, and one goes on from x: four for each of 100 packets. With and without the link of a
    // demand before the path.
    for demand in [None, Some(Rate(4e6))] {
        let mut plan = star("d-slen");
        let mut all = plan.demands.connections().to_vec();
        all[0].demand = demand;
        plan.demands = anabranch_core::Demands::new(&plan.network, all).unwrap();
        let without = run(&plan);
        stray_over(&mut plan, &[[&["s-w", "m-x", "x-y", "t-z"], &[]]]);
        let outcome = run(&plan);
        assert_eq!((without.subflows[0].strays, outcome.subflows[0].strays), (0, 400));
        let bytes = |name| link(&plan, &outcome, name).totals.sent;
        assert!(["s-w", "m-x", "x-y", "t-z", "s-m", "m-t"].into_iter().all(|name| bytes(name) == 100_000));
        assert!(["m-s", "x-m", "y-x"].into_iter().all(|name| bytes(name) == 0));
        // No stray is in the way of the packets here.
        assert_eq!(outcome.connections, without.connections);
        let (own, other) = (&outcome.subflows[0], &without.subflows[0]);
        assert_eq!((own.sent, own.delivered, own.lost, own.repeated), (100_000, 100_000, 0, 0));
        assert!((own.mean_delay_s - other.mean_delay_s).abs() < 1e-15);
        assert_eq!((outcome.hops, outcome.under_way), (without.hops + 400, 0));
    }
}

#[test]
fn a_short_cut_delivers_nothing_early_or_twice() {
    // The path is s - a - b - c - t. By the stray s - c a copy is at c first, and passed on from there to b by another
    // stray, but along the path c - t goes the packet alone: after 40 ms and four times 0.8 ms.
    let links = [("s", "a"), ("a", "b"), ("b", "c"), ("c", "t"), ("s", "c")].map(|(a, b)| (a, b, 10.0, 10.0));
    let path: &[&[&str]] = &[&["s", "a", "b", "c", "t"]];
    let mut plan = plan(network(&links), &[path], Protocol::named("d-slen").unwrap(), 2.0);
    plan.transfers[0].amount = Some(Bytes(100_000));
    stray_over(&mut plan, &[[&["s-c", "c-b"], &[]]]);
    let outcome = run(&plan);
    let bytes = |name| link(&plan, &outcome, name).totals.sent;
    assert!(["s-a", "a-b", "b-c", "c-t", "s-c", "c-b"].into_iter().all(|name| bytes(name) == 100_000));
    let own = &outcome.subflows[0];
    assert_eq!((own.strays, own.delivered, own.repeated), (200, 100_000, 0));
    assert!((own.mean_delay_s - 0.0432).abs() < 1e-6, "{} s", own.mean_delay_s);
}

#[test]
fn acknowledgements_go_astray_by_a_filter_of_their_own() {
    // 100 packets take m-x, and so do their 100 acknowledgements of 40 bytes, which take s-w besides.
    let mut plan = star("reno");
    stray_over(&mut plan, &[[&["m-x"], &["m-x", "s-w"]]]);
    let outcome = run(&plan);
    let bytes = |name| link(&plan, &outcome, name).totals.sent;
    assert_eq!((bytes("m-x"), bytes("s-w")), (104_000, 4_000));
    assert_eq!((outcome.subflows[0].strays, outcome.subflows[0].delivered), (300, 100_000));
}

#[test]
fn strays_take_capacity_from_others() {
    // c1 sends 4 Mbit/s from s to t, and strays over m-x of 10 Mbit/s, which c2 has to itself otherwise.
    let paths: [&[&[&str]]; 2] = [&[&["s", "m", "t"]], &[&["w", "s", "m", "x"]]];
    let mut links = STAR;
    (links[0].2, links[4].2) = (100.0, 100.0);
    let mut plan = plan(network(&links), &paths, Protocol::named("reno").unwrap(), 20.0);
    let mut all = plan.demands.connections().to_vec();
    all[0].demand = Some(Rate(4e6));
    plan.demands = anabranch_core::Demands::new(&plan.network, all).unwrap();
    plan.links.iter_mut().for_each(|link| link.limit = Limit { packets: Some(50), bytes: None });
    let mbps = |outcome: &Outcome| [0, 1].map(|s: usize| outcome.subflows[s].delivered as f64 * 8.0 / 20.0 / 1e6);
    let [slow, alone] = mbps(&run(&plan));
    stray_over(&mut plan, &[[&["m-x"], &[]], [&[], &[]]]);
    let outcome = run(&plan);
    let [still, beside] = mbps(&outcome);
    assert!(slow > 3.9 && alone > 9.0, "{slow} and {alone} Mbit/s without strays");
    assert!(still > 3.9 && (5.0..6.1).contains(&beside), "{still} and {beside} Mbit/s with strays");
    assert_eq!(outcome.subflows[1].strays, 0);
    // What m-x carries is both.
    let carried = link(&plan, &outcome, "m-x").totals.sent;
    assert!(carried >= outcome.subflows[1].delivered + 900 * outcome.subflows[0].strays, "{carried} bytes");
}

#[test]
fn strays_that_are_dropped_are_no_losses() {
    // The stray m-x has a tenth of the path's capacity, and room for one packet.
    let mut links = STAR;
    links[2].2 = 1.0;
    for protocol in ["d-slen", "reno"] {
        let path: &[&[&str]] = &[&["s", "m", "t"]];
        let mut plan = plan(network(&links), &[path], Protocol::named(protocol).unwrap(), 2.0);
        plan.transfers[0].amount = Some(Bytes(1_000_000));
        stray_over(&mut plan, &[[&["m-x"], &[]]]);
        let narrow = plan.network.find_link("m-x").unwrap();
        plan.links[narrow.index()].limit.packets = Some(1);
        let outcome = run(&plan);
        let (own, stray) = (&outcome.subflows[0], outcome.links[narrow.index()].totals);
        assert_eq!((own.sent, own.delivered, own.lost), (1_000_000, 1_000_000, 0), "{protocol}");
        assert!(stray.dropped > 500, "{protocol}: {} dropped", stray.dropped);
        assert_eq!(own.strays + stray.dropped, 1000, "{protocol}");
        assert_eq!(stray.sent, 1000 * own.strays, "{protocol}");
    }
}

/// A grid with a connection across it that sends 100 kB, under filters with so many false positives that several strays
/// are taken; its ends as the keys of the connection say.
fn crossing(protocol: &str, ends: &str, seed: u64) -> Plan {
    let text = format!(
        "[network]\ngenerate.grid = {{ rows = 4, columns = 4 }}\n[filters]\nbits = 24\nones = 2\ntables = 1\nmost_fill = 1\n\
         [run]\nduration = \"3 s\"\nseed = {seed}\n\
         [[connection]]\n{ends}\nprotocol = \"{protocol}\"\npaths = 1\namount = \"100 kB\"\n"
    );
    planned(&text).unwrap_or_else(|reason| panic!("{reason}: {text}"))
}

#[test]
fn packets_take_the_strays_that_forwarding_says() {
    // 100 packets and, under window protocols, as many that go back: acknowledgements, or requests.
    let unasked = "source = \"n0.0\"\ntarget = \"n3.3\"";
    let asked = "sources = [\"n0.0\", \"n0.3\"]\ntarget = \"n3.3\"";
    let mut taken = 0;
    for (protocol, ends) in [("slbn", unasked), ("reno", unasked), ("lia", asked)] {
        for seed in 1..20 {
            let plan = crossing(protocol, ends, seed);
            let filters = plan.filters.as_ref().unwrap();
            let strays = |filter: &Filter, path: &[_]| {
                let from = plan.network.link(path[0]).source;
                forward(&plan.network, &filters.identities, filter, from).unwrap().strays(path) as u64
            };
            let outcome = run(&plan);
            assert_eq!(mistake(&outcome), None);
            assert_eq!(outcome.subflows.iter().map(|s| s.delivered).sum::<u64>(), 100_000);
            for (p, subflow) in outcome.subflows.iter().enumerate() {
                let path = plan.paths.path(p);
                let back = filters.back[p].map_or(0, |back| strays(&back, &way_back(&plan.network, path)));
                let packets = subflow.sent / 1000;
                assert_eq!(subflow.sent, subflow.delivered + subflow.repeated, "{protocol}, seed {seed}");
                assert_eq!(
                    subflow.strays,
                    packets * (strays(&filters.there[p], path) + back),
                    "{protocol}, seed {seed}"
                );
                taken += subflow.strays;
            }
        }
    }
    assert!(taken > 5000, "{taken} strays in all");
}

#[test]
fn under_every_protocol_all_arrives_with_faults_and_disciplines_beside() {
    // Links that repeat and delay what comes, or queue it by flows, with room for all: nothing is lost.
    let extras = ["faults = { duplicate = 0.1, reorder = 0.1, late = \"1 ms\" }", "discipline = \"fq-codel\""];
    let served = PROTOCOLS.iter().filter(|(name, ..)| !Protocol::named(name).unwrap().capabilities().has_headers());
    for (name, ..) in served {
        for extra in extras {
            let link = |a: &str, b: &str| {
                format!(
                    "[[link]]\nsource = \"{a}\"\ntarget = \"{b}\"\ncapacity = \"10 Mbit/s\"\ndelay = \"5 ms\"\n{extra}\n"
                )
            };
            let links = [("s", "m"), ("m", "t"), ("m", "x"), ("x", "t"), ("x", "s")].map(|(a, b)| link(a, b)).concat();
            let text = format!(
                "[filters]\nbits = 8\nones = 1\ntables = 1\nmost_fill = 0.9\nseed = 7\n[run]\nduration = \"5 s\"\n{links}\
                 [[connection]]\nsource = \"s\"\ntarget = \"t\"\nprotocol = \"{name}\"\npaths = 1\namount = \"30 kB\"\n"
            );
            let outcome = run(&planned(&text).unwrap());
            assert_eq!(mistake(&outcome), None, "{name}");
            let own = &outcome.subflows[0];
            assert!(own.strays >= 30, "{name}: {} strays", own.strays);
            assert_eq!((own.delivered, outcome.under_way), (30_000, 0), "{name}, {extra}");
            assert!(own.lost == 0 || own.repeated > 0, "{name}, {extra}");
        }
    }
}
