//! How many packets a second the engine moves: sessions on random walks of eight links, under d-SLEN, with all queues real.
//!
//! `cargo run --release -p anabranch-sim --example workload -- wan` (1,000 links, 12,500 sessions) or `large` (50,000 links,
//! 180,000 sessions). Delays are such that about 100,000 and 1,000,000 data packets are under way.

mod common;

use std::sync::Arc;

use anabranch_core::random::{Purpose, stream};
use anabranch_core::{Bytes, Connection, Demands, LinkId, Network, NetworkBuilder, NodeId, Paths, Rate, Span, Time};
use anabranch_plan::{Assistance, LinkPlan, Plan, Transfer};
use anabranch_proto::Protocol;
use rand::RngExt;

struct Size {
    nodes: usize,
    /// Directed links that leave each node; each has a twin.
    degree: usize,
    sessions: usize,
    hops: usize,
    /// In milliseconds.
    delays: (f64, f64),
    seconds: f64,
}

fn main() {
    let name = std::env::args().nth(1).unwrap_or_else(|| "wan".into());
    let size = match name.as_str() {
        "wan" => Size { nodes: 125, degree: 8, sessions: 12_500, hops: 8, delays: (7.0, 13.0), seconds: 2.0 },
        "large" => Size { nodes: 6250, degree: 8, sessions: 180_000, hops: 8, delays: (1.6, 2.6), seconds: 0.2 },
        _ => panic!("the workload is `wan` or `large`, not `{name}`"),
    };
    let plan = plan(&size);
    println!("{name}: {} links, {} sessions", plan.links.len(), plan.transfers.len());
    common::time(&plan);
}

fn plan(size: &Size) -> Plan {
    let network = network(size);
    let mut random = stream(1, Purpose::Demands, 0);
    let (mut paths, mut connections) = (Paths::new(), Vec::new());
    while connections.len() < size.sessions {
        let start = NodeId::new(random.random_range(0..size.nodes));
        let Some(path) = walk(&network, start, size.hops, &mut random) else { continue };
        let end = network.link(*path.last().expect("eight links")).target;
        let mut connection = Connection::new(format!("c{}", connections.len()), start, end);
        connection.start = Time(random.random_range(0..100_000_000_000));
        connections.push(connection);
        paths.push_connection([path]);
    }
    let transfer = Transfer { amount: None, packet: Bytes(1000), protocol: 0 };
    Plan {
        links: vec![LinkPlan::default(); network.links().len()],
        transfers: vec![transfer; connections.len()],
        demands: Demands::new(&network, connections).expect("they are checked"),
        network: Arc::new(network),
        paths,
        demand_changes: Vec::new(),
        path_times: Vec::new(),
        fetches: Vec::new(),
        relays: Vec::new(),
        assistance: Assistance::default(),
        filters: None,
        protocols: vec![Protocol::default()],
        run: common::run_plan(size.seconds),
        notes: Vec::new(),
    }
}

/// Two-way links of 100 Mbit/s from each node to `degree / 2` others.
fn network(size: &Size) -> Network {
    let mut random = stream(1, Purpose::Topology, 0);
    let mut builder = NetworkBuilder::new();
    let nodes: Vec<NodeId> = (0..size.nodes).map(|n| builder.node(&format!("n{n}"), None).expect("new")).collect();
    for (n, &node) in nodes.iter().enumerate() {
        for _ in 0..size.degree / 2 {
            let other = nodes[(n + random.random_range(1..size.nodes)) % size.nodes];
            let delay = Span::from_seconds(random.random_range(size.delays.0..size.delays.1) / 1e3).expect("some ms");
            builder.two_way(None, node, other, Rate(100e6), delay).expect("two different nodes");
        }
    }
    builder.build()
}

/// A random walk that comes to no node twice.
fn walk(network: &Network, start: NodeId, hops: usize, random: &mut impl rand::Rng) -> Option<Vec<LinkId>> {
    let (mut path, mut seen) = (Vec::with_capacity(hops), vec![start]);
    while path.len() < hops {
        let links = network.links_from(seen[seen.len() - 1]);
        let free: Vec<LinkId> = links.iter().copied().filter(|&l| !seen.contains(&network.link(l).target)).collect();
        let link = *free.get(random.random_range(0..free.len().max(1)))?;
        seen.push(network.link(link).target);
        path.push(link);
    }
    Some(path)
}
