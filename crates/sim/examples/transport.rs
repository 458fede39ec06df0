//! How many packets a second the engine moves with byte streams over it: many connections over one link, or a permutation
//! of hosts in a fat tree.
//!
//! `cargo run --release -p anabranch-sim --example transport -- dumbbell` (100 Reno connections over 1 Gbit/s, packets of
//! 1,000 bytes, 10 s) or `fat-tree 16 8` (each host of a 16-ary fat tree, 1,024 of them, sends to another over 8 random
//! paths under LIA, links of 1 Gbit/s, 20 ms; 5 ms from 8,192 hosts on). A packet-hop is one packet, data or
//! acknowledgement, over one link.

mod common;

use std::sync::Arc;

use anabranch_core::generate::{LinkKind, dumbbell, fat_tree};
use anabranch_core::random::{Purpose, stream};
use anabranch_core::{Bytes, Connection, Demands, LinkId, Network, NodeId, Paths, Rate, Span, Time};
use anabranch_plan::{Assistance, Limit, LinkPlan, Plan, Transfer};
use anabranch_proto::Protocol;
use rand::RngExt;
use rand::seq::SliceRandom;

/// A gigabit a second and a microsecond.
const GIGABIT: LinkKind = LinkKind { capacity: Rate(1e9), delay: Span::us(1) };

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let number = |word: &str| word.parse::<usize>().unwrap_or_else(|_| panic!("`{word}` is no whole number"));
    let plan = match words[..] {
        [] | ["dumbbell"] => dumbbell_plan(100),
        ["dumbbell", count] => dumbbell_plan(number(count)),
        ["fat-tree", k, subflows] => fat_tree_plan(number(k), number(subflows)),
        _ => panic!("it is `dumbbell [CONNECTIONS]` or `fat-tree K SUBFLOWS`, not `{}`", words.join(" ")),
    };
    println!("{}: {} links, {} connections", words.join(" "), plan.links.len(), plan.transfers.len());
    common::time(&plan);
}

fn dumbbell_plan(pairs: usize) -> Plan {
    let access = LinkKind { capacity: Rate(10e9), delay: Span::ms(1) };
    let bottleneck = LinkKind { delay: Span::ms(10), ..GIGABIT };
    let network = dumbbell(pairs, access, bottleneck).expect("some pairs");
    let path = |pair: usize| {
        let (source, target) = (format!("s{pair}-left"), format!("right-t{pair}"));
        [source.as_str(), "left-right", target.as_str()]
            .map(|name| network.find_link(name).expect("it is there"))
            .to_vec()
    };
    let paths = (0..pairs).map(|pair| vec![path(pair)]).collect();
    // They begin one after the other within a tenth of a second.
    plan(network, paths, "reno", 3000, 10.0, 0.1)
}

/// Each host sends to another, none to itself, over random paths of six links.
fn fat_tree_plan(k: usize, subflows: usize) -> Plan {
    let network = fat_tree(k, GIGABIT, Some(GIGABIT)).expect("an even number");
    let half = k / 2;
    let hosts = k * half * half;
    let mut random = stream(1, Purpose::Demands, 0);
    let mut targets: Vec<usize> = (0..hosts).collect();
    while targets.iter().enumerate().any(|(source, &target)| source == target) {
        targets.shuffle(&mut random);
    }
    let place = |host: usize| (host / (half * half), host / half % half, host % half);
    let link = |from: &str, to: &str| network.find_link(&format!("{from}-{to}")).expect("neighbours");
    let twin = |link: LinkId| network.link(link).twin.expect("all links are two-way");
    let mut connection = |(source, &target): (usize, &usize)| {
        let ((pod, edge, n), (to_pod, to_edge, to_n)) = (place(source), place(target));
        let (host, to_host) = (format!("h{pod}.{edge}.{n}"), format!("h{to_pod}.{to_edge}.{to_n}"));
        let (edge, to_edge) = (format!("edge{pod}.{edge}"), format!("edge{to_pod}.{to_edge}"));
        let (up, down) = (link(&host, &edge), twin(link(&to_host, &to_edge)));
        let mut path = |_| {
            if edge == to_edge {
                return vec![up, down];
            }
            let (a, c) = (random.random_range(0..half), random.random_range(0..half));
            let (agg, to_agg, core) = (format!("agg{pod}.{a}"), format!("agg{to_pod}.{a}"), format!("core{a}.{c}"));
            let (rise, fall) = (link(&edge, &agg), twin(link(&to_edge, &to_agg)));
            if pod == to_pod {
                return vec![up, rise, fall, down];
            }
            vec![up, rise, link(&agg, &core), twin(link(&to_agg, &core)), fall, down]
        };
        (0..subflows).map(&mut path).collect()
    };
    let paths = targets.iter().enumerate().map(&mut connection).collect();
    let seconds = if hosts < 8192 { 0.02 } else { 0.005 };
    plan(network, paths, if subflows == 1 { "reno" } else { "lia" }, 100, seconds, 0.0005)
}

/// Connections over these paths, with room for so many packets at each link, that begin within some time.
fn plan(network: Network, paths: Vec<Vec<Vec<LinkId>>>, protocol: &str, room: u32, seconds: f64, within: f64) -> Plan {
    let mut random = stream(1, Purpose::TrafficArrivals, 0);
    let ends = |paths: &[Vec<LinkId>]| -> (NodeId, NodeId) {
        let path = &paths[0];
        (network.link(path[0]).source, network.link(path[path.len() - 1]).target)
    };
    let connections = paths.iter().enumerate().map(|(c, own)| {
        let (source, target) = ends(own);
        let start = Time::from_seconds(random.random_range(0.0..within)).expect("a moment");
        Connection { start, ..Connection::new(format!("c{c}"), source, target) }
    });
    let connections: Vec<Connection> = connections.collect();
    let mut all = Paths::new();
    for own in paths {
        all.push_connection(own);
    }
    let limit = Limit { packets: Some(room), bytes: None };
    Plan {
        links: vec![LinkPlan { limit, ..LinkPlan::default() }; network.links().len()],
        transfers: vec![Transfer { amount: None, packet: Bytes(1000), protocol: 0 }; connections.len()],
        demands: Demands::new(&network, connections).expect("they are checked"),
        network: Arc::new(network),
        paths: all,
        demand_changes: Vec::new(),
        path_times: Vec::new(),
        fetches: Vec::new(),
        relays: Vec::new(),
        assistance: Assistance::default(),
        filters: None,
        protocols: vec![Protocol::named(protocol).expect("it is known")],
        run: common::run_plan(seconds),
        notes: Vec::new(),
    }
}
