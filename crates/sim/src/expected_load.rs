//! An estimate of the packets that each subflow sends, from the plan alone.

use std::sync::Arc;

use anabranch_core::LinkId;
use anabranch_core::units::BITS;
use anabranch_fair::{Problem, ProblemParts, Start, Stop, upward};
use anabranch_plan::{CAPACITIES, LEAST_ROUND_TRIP, Plan};

use crate::routes::Routes;

/// Estimates the packets that each subflow sends, control packets included. It assumes that all connections are present
/// together with the rates of one pass of upward max-min, each as long as it stays or until it has sent all its data.
pub fn packets(plan: &Plan, routes: &Routes) -> Vec<f64> {
    let rates = if plan.run.data { rates(plan, routes) } else { vec![0.0; plan.paths.len()] };
    let mut packets = Vec::with_capacity(plan.paths.len());
    for (c, (connection, transfer)) in plan.demands.connections().iter().zip(&plan.transfers).enumerate() {
        let end = connection.stop.map_or(plan.run.duration.0, |stop| stop.0.min(plan.run.duration.0));
        let seconds = end.saturating_sub(connection.start.0) as f64 / 1e12;
        let own = routes.subflows[c] as usize..routes.subflows[c + 1] as usize;
        let most = transfer.amount.map_or(f64::INFINITY, |amount| amount.0 as f64);
        let bytes = rates[own.clone()].iter().sum::<f64>() * seconds / BITS;
        let part = if bytes > most { most / bytes } else { 1.0 };
        // A source sends some control packets each second, however little data it sends.
        let control = |p: usize| 2.0 * seconds / round_trip(plan, p).max(LEAST_ROUND_TRIP.0 as f64 / 1e12);
        packets.extend(own.map(|p| control(p) + part * rates[p] * seconds / BITS / transfer.packet.0 as f64));
    }
    packets
}

/// The propagation delay of a path there and back, in seconds.
fn round_trip(plan: &Plan, path: usize) -> f64 {
    2.0 * plan.paths.path(path).iter().map(|&l| plan.network.link(l).delay.0 as f64 / 1e12).sum::<f64>()
}

/// The expected rate of each subflow, in bit/s.
fn rates(plan: &Plan, routes: &Routes) -> Vec<f64> {
    let capacity = |link: &LinkId| {
        let changes = plan.links[link.index()].changes.iter().map(|&(_, rate)| rate.0);
        changes.fold(plan.network.link(*link).capacity.0, f64::max)
    };
    let capacity = routes.used.iter().map(capacity).collect();
    let mut parts = ProblemParts { capacity, path_offsets: vec![0], ..ProblemParts::default() };
    for (c, connection) in plan.demands.connections().iter().enumerate() {
        for s in routes.subflows[c]..routes.subflows[c + 1] {
            parts.path_links.extend(routes.path(s as usize).iter().filter(|&&l| !routes.is_of_demand(l)));
            parts.path_offsets.push(parts.path_links.len());
            parts.path_connection.push(c as u32);
        }
        parts.demand.push(connection.demand.map_or(*CAPACITIES.end(), |demand| demand.0));
        parts.weight.push(connection.claim());
    }
    let problem = Arc::new(Problem::new(parts).expect("the scenario was checked"));
    upward::upward_max_min(problem, &Start::Equal, Stop::Certificate(1.0), 1).expect("equal portions can be").path_rates
}
