//! Random networks with random connections, and how a protocol fares on them.

use anabranch_core::generate::{
    DelayRule, LinkKind, LinkRule, TransitStubParameters, WaxmanParameters, fat_tree, random_regular, transit_stub,
    waxman,
};
use anabranch_core::paths::{Metric, k_shortest};
use anabranch_core::random::{Purpose, stream};
use anabranch_core::{Connection, ConnectionId, Demands, LinkId, Network, NodeId, Paths, Rate, Span, Time};
use anabranch_fair::{Problem, ProblemParts, certify};
use anabranch_plan::{Faults, Plan};
use anabranch_proto::Protocol;
use anabranch_sim::Outcome;
use rand::{Rng, RngExt};

use super::{MILLISECOND, of_paths, run};

/// When connections come and go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// All at once, and stay.
    AtOnce,
    /// Within 200 ms, and stay.
    Spread,
    /// Half of them come within 200 ms, stay for up to 400 ms and leave, some before their first round is over.
    Churn,
}

pub const PATTERNS: [Pattern; 3] = [Pattern::AtOnce, Pattern::Spread, Pattern::Churn];

/// A round trip of the longest path, and when the comings and goings are over.
#[derive(Clone, Copy, Debug)]
pub struct Rounds {
    pub round_trip: u64,
    pub quiet_from: u64,
}

/// Network number `seed`: 30 to 100 nodes, 20 to 200 connections with 1 to `most_paths` shortest paths each.
///
/// All connections leave `rounds` round trips after the last change, and the run ends when all traces should be gone.
pub fn random_plan(seed: u64, most_paths: usize, pattern: Pattern, protocol: Protocol, rounds: u64) -> (Plan, Rounds) {
    let mut random = stream(seed, Purpose::Demands, 1);
    let network = random_network(seed, &mut random);
    let count = random.random_range(20..=200);
    let nodes: Vec<NodeId> = (0..network.nodes().len()).map(NodeId::new).collect();
    let (mut connections, paths) = connections(&network, &nodes, count, most_paths, &mut random);
    let round_trip = longest_round_trip(&network, &paths);
    let quiet_from = come_and_go(&mut connections, pattern, &mut random);
    let end = quiet_from + rounds * round_trip;
    for connection in &mut connections {
        connection.stop.get_or_insert(Time(end));
    }
    let mut plan = of_paths(network, connections, paths, protocol, 1.0);
    plan.run.duration = Span(end + 4000 * round_trip);
    plan.run.sample = plan.run.duration;
    plan.run.data = false;
    plan.run.record = anabranch_plan::Record { grants: true, ..Default::default() };
    (plan, Rounds { round_trip, quiet_from })
}

/// Network number `seed` of four kinds, with 20 to 400 connections that have 1 to 5 shortest paths each.
///
/// Capacities are about 10 `unit`: all 10, or 10 and 50, or from 1 to 100. The run ends `rounds` round trips after the
/// last change, and what connections were granted is recorded at 400 samples.
pub fn mixed_plan(seed: u64, pattern: Pattern, unit: f64, protocol: Protocol, rounds: u64) -> (Plan, Rounds) {
    let mut random = stream(seed, Purpose::Demands, 2);
    let (network, ends) = mixed_network(seed, unit, &mut random);
    let count = (20.0 * 20f64.powf(random.random_range(0.0..1.0))) as usize;
    let (mut connections, paths) = connections(&network, &ends, count, 5, &mut random);
    let round_trip = longest_round_trip(&network, &paths);
    let quiet_from = come_and_go(&mut connections, pattern, &mut random);
    let mut plan = of_paths(network, connections, paths, protocol, 1.0);
    plan.run.duration = Span(quiet_from + rounds * round_trip);
    plan.run.sample = Span(plan.run.duration.0 / 400);
    plan.run.data = false;
    plan.run.record =
        anabranch_plan::Record { connections: true, subflows: true, fairness: true, ..Default::default() };
    (plan, Rounds { round_trip, quiet_from })
}

/// Waxman, random regular, transit-stub or fat tree, and the nodes where connections begin and end.
fn mixed_network(seed: u64, unit: f64, random: &mut impl Rng) -> (Network, Vec<NodeId>) {
    let delay = DelayRule::Uniform { least: Span(MILLISECOND), most: Span(10 * MILLISECOND) };
    let link = LinkRule { capacity: Rate(10.0 * unit), delay };
    let kind = LinkKind { capacity: Rate(10.0 * unit), delay: Span(MILLISECOND) };
    let network = match seed % 4 {
        0 => {
            let nodes = random.random_range(30..=100);
            waxman(&WaxmanParameters { nodes, alpha: 0.4, beta: 0.2, link }, seed).unwrap()
        }
        1 => random_regular(2 * random.random_range(15..=50), 3, kind, seed).unwrap(),
        2 => transit_stub(&TransitStubParameters::ts100(), seed).unwrap().network,
        _ => fat_tree(if random.random_bool(0.5) { 4 } else { 6 }, kind, Some(kind)).unwrap(),
    };
    let spread = random.random_range(0..3);
    let capacity = |random: &mut dyn FnMut(f64, f64) -> f64| match spread {
        0 => 10.0 * unit,
        1 => {
            if random(0.0, 1.0) < 0.5 {
                10.0 * unit
            } else {
                50.0 * unit
            }
        }
        _ => unit * 10f64.powf(random(0.0, 2.0)),
    };
    let mut draw = |least, most| random.random_range(least..most);
    let capacities: Vec<Rate> = network.links().iter().map(|_| Rate(capacity(&mut draw))).collect();
    let network = network.with_capacities(&capacities).unwrap();
    let is_end = |n: &NodeId| seed % 4 != 3 || network.node(*n).name.starts_with('h');
    let ends = (0..network.nodes().len()).map(NodeId::new).filter(is_end).collect();
    (network, ends)
}

/// How far the last rates of the connections that stay are from fair.
pub fn fair_residual(plan: &Plan, outcome: &Outcome) -> f64 {
    let rates = &outcome.samples.subflow_granted_bps;
    let problem = problem(plan, &|connection| connection.stop.is_none());
    certify(&problem, &rates[rates.len() - plan.paths.len()..], 1e-3).residual
}

/// Connections between random pairs of these nodes, each with 1 to `most_paths` shortest paths.
fn connections(
    network: &Network,
    nodes: &[NodeId],
    count: usize,
    most_paths: usize,
    random: &mut impl Rng,
) -> (Vec<Connection>, Paths) {
    let (mut connections, mut paths) = (Vec::new(), Paths::new());
    for c in 0..count {
        let (source, target) = pair(nodes, random);
        let k = random.random_range(1..=most_paths);
        let found = k_shortest(network, &[(source, target)], k, &Metric::Hops, &|_| true).unwrap();
        connections.push(Connection::new(format!("c{c}"), source, target));
        paths.push_connection(found.of(ConnectionId::new(0)).map(<[LinkId]>::to_vec));
    }
    (connections, paths)
}

/// That of the longest path.
fn longest_round_trip(network: &Network, paths: &Paths) -> u64 {
    let trip = |path: &[LinkId]| path.iter().map(|&l| 2 * network.link(l).delay.0).sum::<u64>();
    (0..paths.len()).map(|p| trip(paths.path(p))).max().unwrap()
}

/// Gives connections weights from 0.5 to 2, and two of three a reserved part of up to `most`.
pub fn reserve(plan: &mut Plan, seed: u64, most: Rate) {
    let mut random = stream(seed, Purpose::Demands, 3);
    let mut connections = plan.demands.connections().to_vec();
    for (c, connection) in connections.iter_mut().enumerate() {
        connection.weight = random.random_range(0.5..2.0);
        connection.reserved = Rate(if c % 3 == 0 { 0.0 } else { most.0 * random.random_range(0.0..1.0) });
    }
    plan.demands = Demands::new(&plan.network, connections).unwrap();
}

/// What may happen to control packets on every link.
pub fn lose_control(plan: &mut Plan, faults: Faults) {
    plan.links.iter_mut().for_each(|link| link.control = faults);
}

fn random_network(seed: u64, random: &mut impl Rng) -> Network {
    let delay = DelayRule::Uniform { least: Span(MILLISECOND), most: Span(10 * MILLISECOND) };
    let link = LinkRule { capacity: Rate(10e6), delay };
    let network = match seed % 3 {
        0 => {
            let nodes = random.random_range(30..=100);
            waxman(&WaxmanParameters { nodes, alpha: 0.4, beta: 0.2, link }, seed).unwrap()
        }
        1 => {
            let nodes = 2 * random.random_range(15..=50);
            let kind = LinkKind { capacity: Rate(10e6), delay: Span(4 * MILLISECOND) };
            random_regular(nodes, 3, kind, seed).unwrap()
        }
        _ => transit_stub(&TransitStubParameters::ts100(), seed).unwrap().network,
    };
    let capacities: Vec<Rate> =
        network.links().iter().map(|_| Rate(if random.random_bool(0.5) { 10e6 } else { 50e6 })).collect();
    network.with_capacities(&capacities).unwrap()
}

fn pair(nodes: &[NodeId], random: &mut impl Rng) -> (NodeId, NodeId) {
    let count = nodes.len();
    let source = random.random_range(0..count);
    (nodes[source], nodes[(source + random.random_range(1..count)) % count])
}

/// Sets starts and stops, and says when the last of them is.
fn come_and_go(connections: &mut [Connection], pattern: Pattern, random: &mut impl Rng) -> u64 {
    for (c, connection) in connections.iter_mut().enumerate() {
        if pattern != Pattern::AtOnce {
            connection.start = Time(random.random_range(0..200 * MILLISECOND));
        }
        if pattern == Pattern::Churn && c % 2 == 1 {
            let life = random.random_range(1..400 * MILLISECOND);
            connection.stop = Some(Time(connection.start.0 + life));
        }
    }
    let last = |c: &Connection| c.stop.unwrap_or(c.start).0;
    connections.iter().map(last).max().unwrap()
}

/// How a run went.
#[derive(Clone, Debug)]
pub struct Course {
    /// The worst load of a link relative to its capacity at any instant, and when all was quiet.
    pub worst_load: f64,
    pub last_load: f64,
    /// How far the rates at the end of quiet were from fair, see `anabranch_fair::certify`.
    pub residual: f64,
    /// Round trips of quiet until 95 % of the connections stayed within 1 % of their last rates, and until all did.
    pub most_settled: f64,
    pub all_settled: f64,
    /// Grants that were no rate.
    pub bad_grants: u64,
    /// Links that held something of a connection after all had left, and packets still under way.
    pub not_clear: u64,
}

/// Runs a plan of [`random_plan`] and looks at every rate that was granted.
pub fn course(plan: &Plan, rounds: Rounds) -> Course {
    let outcome = run(plan);
    let connections = plan.demands.connections();
    let end = connections.iter().filter_map(|c| c.stop).max().unwrap().0;
    let problem = problem(plan, &|connection| connection.stop == Some(Time(end)));
    let mut rates = vec![0.0; plan.paths.len()];
    let mut loads = vec![0.0; plan.links.len()];
    let mut worst_load: f64 = 0.0;
    for grant in outcome.grants.iter().filter(|g| g.time.0 < end) {
        let s = grant.subflow as usize;
        for l in plan.paths.path(s) {
            loads[l.index()] += grant.rate.0 - rates[s];
            worst_load = worst_load.max(loads[l.index()] / plan.network.link(*l).capacity.0);
        }
        rates[s] = grant.rate.0;
    }
    let certificate = certify(&problem, &rates, 1e-3);
    let settled = settled(&outcome, plan, &rates, rounds, end);
    let at = |share: f64| settled[((settled.len() - 1) as f64 * share).ceil() as usize];
    Course {
        worst_load,
        last_load: 1.0 + certificate.overload,
        residual: certificate.residual,
        most_settled: at(0.95),
        all_settled: at(1.0),
        bad_grants: outcome.bad_grants,
        not_clear: outcome.links_not_clear + outcome.under_way,
    }
}

/// For each connection that stays the round trips of quiet until it keeps within 1 % of its last rate, rising.
fn settled(outcome: &Outcome, plan: &Plan, last: &[f64], rounds: Rounds, end: u64) -> Vec<f64> {
    let connections = plan.demands.connections();
    let owner: Vec<usize> = outcome.subflows.iter().map(|s| s.connection as usize).collect();
    let mut finals = vec![0.0; connections.len()];
    owner.iter().zip(last).for_each(|(&c, rate)| finals[c] += rate);
    let (mut rates, mut totals) = (vec![0.0; last.len()], vec![0.0; finals.len()]);
    let mut settled_at = vec![0; finals.len()];
    let mut grants = outcome.grants.iter().filter(|g| g.time.0 < end).peekable();
    while let Some(grant) = grants.next() {
        let (s, c) = (grant.subflow as usize, owner[grant.subflow as usize]);
        totals[c] += grant.rate.0 - rates[s];
        rates[s] = grant.rate.0;
        // The subflows of a connection are granted one after the other at the same time.
        let is_last = grants.peek().is_none_or(|next| next.time != grant.time || owner[next.subflow as usize] != c);
        if is_last && (totals[c] - finals[c]).abs() > 0.01 * finals[c] {
            settled_at[c] = grant.time.0;
        }
    }
    let stays = |c: &usize| connections[*c].stop == Some(Time(end));
    let since = |c: usize| settled_at[c].saturating_sub(rounds.quiet_from) as f64 / rounds.round_trip as f64;
    let mut settled: Vec<f64> = (0..finals.len()).filter(stays).map(since).collect();
    settled.sort_by(f64::total_cmp);
    settled
}

/// The sharing among the connections that stay.
fn problem(plan: &Plan, stays: &dyn Fn(&Connection) -> bool) -> Problem {
    let connections = plan.demands.connections();
    let mut parts = ProblemParts { path_offsets: vec![0], ..ProblemParts::default() };
    parts.capacity = plan.network.links().iter().map(|l| l.capacity.0).collect();
    for (c, connection) in connections.iter().enumerate() {
        // Those that have left ask for nothing, which their paths then have.
        parts.demand.push(if stays(connection) { f64::INFINITY } else { 0.0 });
        parts.weight.push(connection.claim());
        parts.reserved.push(connection.reserved.0);
        for path in plan.paths.of(ConnectionId::new(c)) {
            parts.path_connection.push(c as u32);
            parts.path_links.extend(path.iter().map(|l| l.0));
            parts.path_offsets.push(parts.path_links.len());
        }
    }
    Problem::new(parts).unwrap()
}

/// Median, 90th and 99th percentile and greatest.
pub fn percentiles(mut values: Vec<f64>) -> [f64; 4] {
    values.sort_by(f64::total_cmp);
    [0.5, 0.9, 0.99, 1.0].map(|p| values[((values.len() - 1) as f64 * p).round() as usize])
}
