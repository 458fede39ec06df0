//! Small plans for tests: links, connections by the nodes of their paths, and the rest by default.

pub mod random;
pub mod scenario;

use std::sync::Arc;

use anabranch_core::paths::links_along;
pub use anabranch_core::units::MILLISECOND;
use anabranch_core::{Bytes, Connection, Demands, LinkId, Network, NetworkBuilder, Paths, Rate, Span, Time};
use anabranch_plan::{Assistance, ControlPlane, Fairness, LinkPlan, Plan, Record, RunPlan, Transfer, Transport};
use anabranch_proto::Protocol;
use anabranch_sim::{Outcome, simulate};

pub const MEGA: f64 = 1e6;
/// A network of two-way links: ends, capacity in Mbit/s, delay in ms.
pub fn network(links: &[(&str, &str, f64, f64)]) -> Network {
    let mut builder = NetworkBuilder::new();
    for &(a, b, mbps, ms) in links {
        let mut node = |name: &str| builder.find_node(name).unwrap_or_else(|| builder.node(name, None).unwrap());
        let (a, b) = (node(a), node(b));
        builder.two_way(None, a, b, Rate(mbps * MEGA), Span::from_seconds(ms / 1e3).unwrap()).unwrap();
    }
    builder.build()
}

/// Connections by the nodes of their paths; they start at 0, stay, and send 1,000-byte packets under `protocol`.
pub fn plan(network: Network, connections: &[&[&[&str]]], protocol: Protocol, seconds: f64) -> Plan {
    let mut paths = Paths::new();
    let mut all = Vec::new();
    for (c, own) in connections.iter().enumerate() {
        let links: Vec<Vec<LinkId>> = own
            .iter()
            .map(|nodes| {
                let nodes: Vec<String> = nodes.iter().map(|&n| n.to_owned()).collect();
                links_along(&network, &nodes, "a test's path").unwrap()
            })
            .collect();
        let node = |name: &str| network.find_node(name).unwrap();
        let (source, target) = (node(own[0][0]), node(own[0][own[0].len() - 1]));
        all.push(Connection::new(format!("c{}", c + 1), source, target));
        paths.push_connection(links);
    }
    of_paths(network, all, paths, protocol, seconds)
}

/// The same, from connections and paths.
pub fn of_paths(network: Network, all: Vec<Connection>, paths: Paths, protocol: Protocol, seconds: f64) -> Plan {
    let transfer = Transfer { amount: None, packet: Bytes(1000), protocol: 0 };
    Plan {
        links: vec![LinkPlan::default(); network.links().len()],
        transfers: vec![transfer; all.len()],
        demands: Demands::new(&network, all).unwrap(),
        network: Arc::new(network),
        paths,
        demand_changes: Vec::new(),
        path_times: Vec::new(),
        fetches: Vec::new(),
        relays: Vec::new(),
        assistance: Assistance::default(),
        filters: None,
        protocols: vec![protocol],
        run: RunPlan {
            duration: Span::from_seconds(seconds).unwrap(),
            warm_up: Span(0),
            seed: 1,
            sample: Span::from_seconds(seconds / 100.0).unwrap(),
            control: ControlPlane::Separate,
            control_packet: Bytes(64),
            control_share: None,
            repair: true,
            transport: Transport::default(),
            data: true,
            fairness: Fairness::default(),
            record: Record {
                connections: true,
                subflows: true,
                windows: false,
                waits: false,
                links: true,
                grants: true,
                fairness: true,
                errors: false,
            },
        },
        notes: Vec::new(),
    }
}

/// Changes when connections start, and whether they stop.
pub fn timed(plan: &mut Plan, times: &[(f64, Option<f64>)]) {
    let mut all = plan.demands.connections().to_vec();
    for (connection, &(start, stop)) in all.iter_mut().zip(times) {
        connection.start = Time::from_seconds(start).unwrap();
        connection.stop = stop.map(|s| Time::from_seconds(s).unwrap());
    }
    plan.demands = Demands::new(&plan.network, all).unwrap();
}

pub fn run(plan: &Plan) -> Outcome {
    simulate(plan, &mut |_| true)
}

/// How far granted rates were from fair at the last sample.
#[derive(Debug)]
pub struct Gauge {
    pub residual: f64,
    pub overload: f64,
}

/// How far granted rates were from fair at the last sample of a run that recorded it.
pub fn last_gauge(outcome: &Outcome) -> Gauge {
    let last = |column: &[f64]| *column.last().expect("it was recorded");
    Gauge { residual: last(&outcome.samples.residual), overload: last(&outcome.samples.overload) }
}

/// Rates of connections in Mbit/s at the last sample.
pub fn last_rates(plan: &Plan, outcome: &Outcome) -> Vec<f64> {
    let rates = &outcome.samples.connection_granted_bps;
    rates[rates.len() - plan.transfers.len()..].iter().map(|bps| bps / MEGA).collect()
}

pub fn assert_close(got: &[f64], wanted: &[f64], tolerance: f64) {
    assert_eq!(got.len(), wanted.len());
    for (got_one, wanted_one) in got.iter().zip(wanted) {
        assert!((got_one - wanted_one).abs() <= tolerance, "{got:?} is not {wanted:?} to {tolerance}");
    }
}
