//! Demands made by rule and seed: gravity, uniform, hot spots, random pairs.
//!
//! All but random pairs have a connection for each ordered pair of distinct nodes, except where the demand would be 0.
//! They take a list of the nodes that send and receive, such as the hosts; without it, all nodes do. A connection is
//! named `source>target`, and a second one of the same pair `source>target#2`.

use std::collections::HashSet;

use rand::RngExt;
use rand::seq::index;

use crate::demand::{Connection, Demands};
use crate::id::NodeId;
use crate::names::FreeNames;
use crate::network::Network;
use crate::random::{Purpose, stream};
use crate::units::{Rate, Short};

use super::error::{Checks, GenerateError};

/// The amounts that nodes send and receive, relative to each other, in [`gravity`].
#[derive(Clone, Debug, PartialEq)]
pub enum Masses {
    /// Masses drawn from the exponential distribution, after [roughan2005].
    Exponential,
    /// One mass for each node of the list, or of the network; 0 or more.
    Given(Vec<f64>),
    /// The total capacity of the links that leave the node.
    Capacity,
}

/// Demands proportional to the product of the masses of their ends; their sum is `total` [roughan2005].
///
/// # Errors
/// Returns an error if fewer than two nodes can have a demand, masses are invalid, or the total is not positive and at
/// most 1e100 bit/s.
pub fn gravity(
    network: &Network,
    nodes: Option<&[NodeId]>,
    total: Rate,
    masses: &Masses,
    seed: u64,
) -> Result<Demands, GenerateError> {
    let checks = Checks("gravity");
    let members = members(checks, network, nodes)?;
    checks.demand("total in bit/s", total)?;
    let masses = node_masses(checks, network, &members, masses, seed)?;

    // Over ordered pairs i != j the products m_i m_j sum to (sum m)^2 - sum m^2, but that difference may cancel.
    let largest = masses.iter().copied().fold(0.0, f64::max);
    let masses: Vec<f64> = masses.iter().map(|m| m / largest).collect();
    let sum: f64 = masses.iter().sum();
    let products: f64 = masses.iter().enumerate().map(|(i, m)| m * sum_without(&masses, i, sum)).sum();
    checks.require(products > 0.0, "masses", "positive for one node only", "two or more nodes must have a mass")?;
    every_pair(checks, network, &members, |i, j| total.0 * (masses[i] * masses[j] / products))
}

/// The sum of all masses but one; added up anew where that one is most of the sum.
fn sum_without(masses: &[f64], i: usize, sum: f64) -> f64 {
    if 2.0 * masses[i] < sum {
        return sum - masses[i];
    }
    masses.iter().enumerate().filter(|&(j, _)| j != i).map(|(_, m)| m).sum()
}

fn node_masses(
    checks: Checks,
    network: &Network,
    members: &[NodeId],
    masses: &Masses,
    seed: u64,
) -> Result<Vec<f64>, GenerateError> {
    let masses: Vec<f64> = match masses {
        Masses::Exponential => {
            let mut rng = stream(seed, Purpose::Demands, 0);
            // The inverse of its distribution function, at a draw over 0 and at most 1.
            members.iter().map(|_| -(1.0 - rng.random::<f64>()).ln()).collect()
        }
        Masses::Given(given) => {
            let remedy = format!("there must be one for each of the {} nodes", members.len());
            checks.require(given.len() == members.len(), "number of masses", given.len(), &remedy)?;
            given.clone()
        }
        Masses::Capacity => {
            let attached = |&n| network.links_from(n).iter().map(|&l| network.link(l).capacity.0).sum();
            members.iter().map(attached).collect()
        }
    };
    for (mass, &member) in masses.iter().zip(members) {
        let remedy = format!("that of node `{}` must be finite and 0 or more", network.node(member).name);
        checks.require(mass.is_finite() && *mass >= 0.0, "mass", Short(*mass), &remedy)?;
    }
    Ok(masses)
}

/// The demand of each pair in [`uniform`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum UniformDemand {
    /// An equal demand for all pairs.
    Equal(Rate),
    /// A demand drawn for each pair, uniformly from 0 to this rate.
    UpTo(Rate),
}

/// Demands of the same size, or of the same distribution, for every pair.
///
/// # Errors
/// Returns an error for fewer than two nodes, or a demand that is not positive and at most 1e100 bit/s.
pub fn uniform(
    network: &Network,
    nodes: Option<&[NodeId]>,
    demand: UniformDemand,
    seed: u64,
) -> Result<Demands, GenerateError> {
    let checks = Checks("uniform demands");
    let members = members(checks, network, nodes)?;
    let (UniformDemand::Equal(most) | UniformDemand::UpTo(most)) = demand;
    checks.demand("demand in bit/s", most)?;
    let mut rng = stream(seed, Purpose::Demands, 0);
    every_pair(checks, network, &members, |_, _| match demand {
        UniformDemand::Equal(_) => most.0,
        UniformDemand::UpTo(_) => most.0 * rng.random::<f64>(),
    })
}

/// A few nodes that have a large share of the demands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HotSpots {
    /// Number of hot spots, drawn from the nodes.
    pub count: usize,
    /// The part of the total that the hot spots send or receive, over 0 and at most 1.
    pub share: f64,
    /// The sum of all demands.
    pub total: Rate,
}

/// Demands of which a few nodes drawn at random send or receive a given share.
///
/// The share is divided equally among the pairs with a hot spot at one end or both, and the rest among the other pairs.
///
/// # Errors
/// Returns an error for fewer than two nodes, no hot spots or too many to leave a pair for the rest, or an invalid
/// share or total.
pub fn hot_spots(
    network: &Network,
    nodes: Option<&[NodeId]>,
    spots: &HotSpots,
    seed: u64,
) -> Result<Demands, GenerateError> {
    let checks = Checks("hot spots");
    let members = members(checks, network, nodes)?;
    checks.probability("share", spots.share)?;
    checks.demand("total in bit/s", spots.total)?;
    let cold_needed = if spots.share < 1.0 { 2 } else { 0 };
    let most = members.len() - cold_needed;
    let remedy = format!("it must be 1 to {most}: of {} nodes {cold_needed} carry the rest", members.len());
    checks.require((1..=most).contains(&spots.count), "count", spots.count, &remedy)?;

    let mut rng = stream(seed, Purpose::Demands, 0);
    let mut hot = vec![false; members.len()];
    for i in index::sample(&mut rng, members.len(), spots.count) {
        hot[i] = true;
    }
    let pairs = |nodes: usize| nodes as f64 * (nodes as f64 - 1.0);
    let cold_pairs = pairs(members.len() - spots.count);
    let hot_demand = spots.total.0 * spots.share / (pairs(members.len()) - cold_pairs);
    let cold_demand = if spots.share < 1.0 { spots.total.0 * (1.0 - spots.share) / cold_pairs } else { 0.0 };
    every_pair(checks, network, &members, |i, j| if hot[i] || hot[j] { hot_demand } else { cold_demand })
}

/// Makes `count` connections between nodes drawn at random, all with the same demand or with none.
///
/// A pair may be drawn more than once.
///
/// # Errors
/// Returns an error for fewer than two nodes, no connections or too many, or a demand that is not positive and at most
/// 1e100 bit/s.
pub fn random_pairs(
    network: &Network,
    nodes: Option<&[NodeId]>,
    count: usize,
    demand: Option<Rate>,
    seed: u64,
) -> Result<Demands, GenerateError> {
    let checks = Checks("random pairs");
    let members = members(checks, network, nodes)?;
    checks.at_least(1, "count", count)?;
    checks.number(count, "connections")?;
    if let Some(demand) = demand {
        checks.demand("demand in bit/s", demand)?;
    }
    let mut rng = stream(seed, Purpose::Demands, 0);
    let mut connections = Named::new(network, count);
    for _ in 0..count {
        let i = rng.random_range(0..members.len());
        // Drawn among the other nodes: numbers from i on stand for the node after.
        let j = rng.random_range(0..members.len() - 1);
        connections.add(members[i], members[if j < i { j } else { j + 1 }], demand);
    }
    Ok(connections.demands())
}

/// The nodes that send and receive: at least two nodes of this network, none of them twice.
fn members(checks: Checks, network: &Network, nodes: Option<&[NodeId]>) -> Result<Vec<NodeId>, GenerateError> {
    let all = network.nodes().len();
    let Some(nodes) = nodes else {
        checks.at_least(2, "number of nodes", all)?;
        return Ok((0..all).map(NodeId::new).collect());
    };
    checks.at_least(2, "number of listed nodes", nodes.len())?;
    let mut seen = HashSet::with_capacity(nodes.len());
    for &node in nodes {
        checks.require(node.index() < all, "listed node", node, "the network has no node of that number")?;
        checks.require(seen.insert(node), "listed node", &network.node(node).name, "it must be listed once")?;
    }
    Ok(nodes.to_vec())
}

/// A connection for each ordered pair of different members whose demand in bit/s is positive.
fn every_pair(
    checks: Checks,
    network: &Network,
    members: &[NodeId],
    mut demand: impl FnMut(usize, usize) -> f64,
) -> Result<Demands, GenerateError> {
    let pairs = members.len().saturating_mul(members.len() - 1);
    checks.number(pairs, "connections")?;
    let mut connections = Named::new(network, pairs);
    for (i, &source) in members.iter().enumerate() {
        for (j, &target) in members.iter().enumerate().filter(|&(j, _)| j != i) {
            let bps = demand(i, j);
            if bps > 0.0 {
                connections.add(source, target, Some(Rate(bps)));
            }
        }
    }
    Ok(connections.demands())
}

/// Connections with unique names.
struct Named<'a> {
    network: &'a Network,
    connections: Vec<Connection>,
    taken: HashSet<String>,
    free_names: FreeNames,
}

impl<'a> Named<'a> {
    fn new(network: &'a Network, count: usize) -> Self {
        let (connections, taken) = (Vec::with_capacity(count), HashSet::with_capacity(count));
        Self { network, connections, taken, free_names: FreeNames::new() }
    }

    fn add(&mut self, source: NodeId, target: NodeId, demand: Option<Rate>) {
        let base = format!("{}>{}", self.network.node(source).name, self.network.node(target).name);
        let name = self.free_names.find(base, |name| self.taken.contains(name));
        self.taken.insert(name.clone());
        self.connections.push(Connection { demand, ..Connection::new(name, source, target) });
    }

    fn demands(self) -> Demands {
        Demands::new(self.network, self.connections).expect("names are unique, ends differ and demands are positive")
    }
}

#[cfg(test)]
mod tests;
