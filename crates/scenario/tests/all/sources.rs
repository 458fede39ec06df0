//! Connections whose targets ask several sources.

use std::collections::HashSet;

use anabranch_core::{ConnectionId, Span, Time};
use anabranch_plan::Plan;

use crate::{plan, refused};

/// Three nodes that can give, and one that takes; all links take 1 ms.
const STAR: &str = "[[link]]\nsource = \"a\"\ntarget = \"x\"\ncapacity = \"1 Mbit/s\"\ndelay = \"1 ms\"\n\
                    [[link]]\nsource = \"b\"\ntarget = \"x\"\ncapacity = \"1 Mbit/s\"\ndelay = \"1 ms\"\n\
                    [[link]]\nsource = \"c\"\ntarget = \"x\"\ncapacity = \"1 Mbit/s\"\ndelay = \"1 ms\"\n";

fn star(connection: &str) -> Plan {
    plan(&format!("{STAR}[[connection]]\ntarget = \"x\"\nprotocol = \"nmcc\"\n{connection}\n")).unwrap()
}

/// The names of the nodes that a connection's target asks.
fn asked(plan: &Plan, connection: usize) -> Vec<&str> {
    let fetch = plan.fetch(ConnectionId::new(connection)).unwrap();
    fetch.servers.iter().map(|server| plan.network.node(server.node).name.as_str()).collect()
}

#[test]
fn paths_lead_from_each_source_in_turn() {
    let plan = star("sources = [\"b\", { node = \"a\", start = \"1 s\", stop = \"2 s\" }]\npaths = 4");
    let connection = &plan.demands.connections()[0];
    assert_eq!((connection.name.as_str(), asked(&plan, 0)), ("b+a>x", vec!["b", "a"]));
    let begins = plan.paths.of(ConnectionId(0)).map(|path| &plan.network.node(plan.network.link(path[0]).source).name);
    assert_eq!(begins.collect::<Vec<_>>(), ["b", "a"]);
    let server = plan.fetch(ConnectionId(0)).unwrap().servers[1];
    assert_eq!((server.start, server.stop), (Time::s(1), Some(Time::s(2))));
}

#[test]
fn given_paths_may_begin_at_any_source() {
    let plan = star("sources = [\"a\", \"c\"]\npaths = [[\"c\", \"x\"], [\"a\", \"x\"]]");
    assert_eq!(plan.paths.of(ConnectionId(0)).len(), 2);
}

#[test]
fn one_source_may_be_asked_too_and_one_that_sends_is_not() {
    assert_eq!(asked(&star("sources = [\"a\"]"), 0), ["a"]);
    assert!(star("source = \"a\"").fetch(ConnectionId(0)).is_none());
}

#[test]
fn a_subscription_goes_by_way_of_rendezvous_and_manager() {
    // x asks a (1 ms), a asks b (2 ms), b answers x (1 ms).
    let plan = plan(&format!(
        "{STAR}[[connection]]\ntarget = \"x\"\nprotocol = \"nmcc\"\nsources = [\"c\"]\n\
         [assistance]\nrendezvous = \"a\"\nmanager = \"b\"\n"
    ));
    assert_eq!(plan.unwrap().fetches[0].set_up, Span::ms(4));
}

#[test]
fn traffic_asks_so_many_different_sources_each() {
    let plan = plan(
        "[network]\ngenerate.ring.nodes = 20\n[[traffic]]\ncount = 50\nfrom = [\"n0\", \"n1\", \"n2\", \"n3\"]\nsources = 3\n\
         protocol = \"nmcc\"\npaths = 2\n",
    )
    .unwrap();
    for c in 0..50 {
        let asked: HashSet<&str> = asked(&plan, c).into_iter().collect();
        let target = &plan.network.node(plan.demands.connections()[c].target).name;
        assert!(asked.len() == 3 && !asked.contains(target.as_str()));
        assert_eq!(plan.paths.of(ConnectionId::new(c)).len(), 6);
    }
}

#[test]
fn ten_thousand_targets_on_eleven_thousand_routers_subscribe() {
    // One search from each of the two nodes, not one for each target.
    let text = "[network]\ngenerate.transit-stub.routers = 11_000\n[[traffic]]\ncount = 10_000\nfrom = \"s*\"\nsources = 3\n\
        paths = 1\nprotocol = \"nmcc\"\n[run]\nrecord = [\"links\"]\n[assistance]\n";
    let plan = plan(&format!("{text}rendezvous = \"t0.0\"\nmanager = \"t0.1\"\n")).unwrap();
    assert!(plan.fetches.iter().all(|fetch| fetch.servers.len() == 3));
    assert!(plan.fetches.iter().any(|fetch| fetch.set_up > Span(0)));
}

#[test]
fn sources_that_cannot_be_are_refused_where_they_stand() {
    let cases = [
        ("sources = [\"a\"]\nsource = \"a\"", "it has both `source` and `sources`; leave one out"),
        ("", "connection to `x`: it has no `source`; name a node, or several in `sources`"),
        ("sources = []", "`sources` names no node"),
        ("sources = [\"a\", \"a\"]", "connection `a+a>x`: source `a` is named twice; name it once"),
        ("sources = [\"x\"]", "source `x` is its target"),
        ("sources = [\"d\"]", "source: there is no node `d`"),
        ("sources = [{ node = \"a\", start = \"2 s\", stop = \"1 s\" }]", "source `a` stops before it starts"),
        ("sources = [{ stop = \"1 s\" }]", "the key `node` is missing"),
        ("sources = [3]", "a node such as"),
        ("sources = [\"a\"]\npaths = [[\"b\", \"x\"]]", "it begins at node `b`, not at the connection's source `a`"),
        (
            "sources = [\"a\", \"c\"]\npaths = [[\"c\", \"x\"], [\"b\", \"x\"]]",
            "connection `a+c>x`, path 2: it begins at node `b`, not at one of the connection's sources `a`, `c`; a path must",
        ),
        ("sources = [\"a\"]\n[assistance]\nrendezvous = \"a\"", "of `rendezvous` and `manager` one is given"),
        ("sources = [\"a\"]\n[assistance]\nrendezvous = \"a\"\nmanager = \"m\"", "there is no node `m`"),
        ("sources = [\"a\"]\n[assistance]\nwithout = [\"l\"]", "without: there is no link `l`"),
    ];
    for (keys, reason) in cases {
        let said = refused(&format!("{STAR}[[connection]]\ntarget = \"x\"\nprotocol = \"nmcc\"\n{keys}\n"));
        assert!(said.contains(reason), "{keys}: {said}");
    }
    let rates = refused(&format!("{STAR}[[connection]]\ntarget = \"x\"\nsources = [\"a\"]\n"));
    assert!(rates.contains("d-SLEN sets rates, and a target asks `sources` for data only under"), "{rates}");
    let one_path =
        "sources, and ABC serves one path, which leads from one; name one source, or a protocol of several paths";
    let two = refused(&format!("{STAR}[[connection]]\ntarget = \"x\"\nprotocol = \"abc\"\nsources = [\"a\", \"b\"]\n"));
    assert!(two.contains(&format!("connection `a+b>x`: it has 2 {one_path}")), "{two}");
    let drawn =
        refused("[network]\ngenerate.ring.nodes = 20\n[[traffic]]\ncount = 5\nprotocol = \"abc\"\nsources = 3\n");
    assert!(drawn.contains(&format!("it has 3 {one_path}")), "{drawn}");
    let ring = "[network]\ngenerate.ring.nodes = 20\n[[traffic]]\ncount = 5\nprotocol = \"nmcc\"\n";
    let few = refused(&format!("{ring}from = [\"n0\", \"n1\"]\nsources = 3\n"));
    assert!(few.contains("is to ask 3 sources, and `from` has"), "{few}");
    assert!(refused(&format!("{ring}sources = 65\n")).contains("it must be 1 to 64"));
}
