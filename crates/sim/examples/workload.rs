//! How many packets a second the engine moves: sessions on random walks of eight links, under d-SLEN, with all queues real.
//!
//! `cargo run --release -p anabranch-sim --example workload -- wan` (1,000 links, 12,500 sessions) or `large` (50,000 links,
//! 180,000 sessions). Delays are such that about 100,000 and 1,000,000 data packets are under way.

use std::sync::Arc;
use std::time::Instant;

use anabranch_core::random::{Purpose, stream};
use anabranch_core::{Bytes, Connection, Demands, LinkId, Network, NetworkBuilder, NodeId, Paths, Rate, Span, Time};
use anabranch_proto::Protocol;
use anabranch_scenario::plan::{ControlPlane, LinkPlan, Plan, Record, RunPlan, Transfer, Transport};
use anabranch_sim::simulate;
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
    let (began, cpu) = (Instant::now(), cpu_seconds());
    let (mut before, mut last) = ((0.0, 0), Instant::now());
    let outcome = simulate(&plan, &mut |progress| {
        if last.elapsed().as_secs_f64() > 1.0 {
            let rate = (progress.events - before.1) as f64 / last.elapsed().as_secs_f64() / 1e6;
            eprintln!("{:6.3} s simulated, {rate:.1} million events a second", progress.time_s);
            (before, last) = ((progress.time_s, progress.events), Instant::now());
        }
        true
    });
    let (wall, cpu) = (began.elapsed().as_secs_f64(), cpu_seconds() - cpu);
    let (hops, events) = (outcome.hops as f64 / 1e6, outcome.events as f64 / 1e6);
    println!(
        "{cpu:.2} s of one core, {wall:.2} s by the clock, {hops:.1} million packet-hops, {events:.1} million events"
    );
    println!("{:.2} million packet-hops a second, {} packets under way at the end", hops / cpu, outcome.under_way);
    println!("peak memory {} MB", peak_memory_mb());
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
        protocols: vec![Protocol::default()],
        run: RunPlan {
            duration: Span::from_seconds(size.seconds).expect("some seconds"),
            warm_up: Span(0),
            seed: 1,
            sample: Span::from_seconds(size.seconds).expect("some seconds"),
            control: ControlPlane::Separate,
            control_packet: Bytes(64),
            control_share: None,
            repair: true,
            transport: Transport::default(),
            data: true,
            record: Record::default(),
        },
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

/// What this process has used of a core, if the system tells; in steps of 10 ms.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let ticks = after_name.split_whitespace().skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok());
    ticks.sum::<f64>() / 100.0
}

/// The most memory that this process ever held, if the system tells.
fn peak_memory_mb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kb| kb.parse::<u64>().ok()).unwrap_or(0) / 1024
}
