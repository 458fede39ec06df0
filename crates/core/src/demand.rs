//! The demands of a scenario: connections between nodes, with their demands, weights, and times of start and stop.

use std::collections::HashSet;
use std::ops::RangeInclusive;

use thiserror::Error;

use crate::id::NodeId;
use crate::network::Network;
use crate::units::{Rate, Short, Time};

/// The range of a weight, and of a weight times its QoS factor.
const CLAIMS: RangeInclusive<f64> = 1e-30..=1e30;

/// The greatest reserved part, in bit/s.
const MOST_RESERVED: f64 = 1e15;

/// A pair of nodes with a demand.
#[derive(Clone, Debug, PartialEq)]
pub struct Connection {
    /// Name of the connection, unique among the demands.
    pub name: String,
    /// The node where the connection's traffic enters the network.
    pub source: NodeId,
    /// The node where the connection's traffic leaves the network.
    pub target: NodeId,
    /// The demand; `None` if the connection takes every rate it can get.
    pub demand: Option<Rate>,
    /// The weight relative to other connections, 1e-30 to 1e30.
    pub weight: f64,
    /// The reserved part of the rate, which comes before the share that follows from the weight; 0 for none.
    pub reserved: Rate,
    /// The QoS factor, which lowers the claim, over 0 and at most 1 [ludena2021, sec. IV].
    pub qos: f64,
    /// Time of the start.
    pub start: Time,
    /// Time of the stop; `None` if the connection stays.
    pub stop: Option<Time>,
}

impl Connection {
    /// A connection without a limited demand and without a reserved part, with weight 1, from time 0 on.
    pub fn new(name: impl Into<String>, source: NodeId, target: NodeId) -> Self {
        let (weight, reserved, qos, start) = (1.0, Rate(0.0), 1.0, Time(0));
        Self { name: name.into(), source, target, demand: None, weight, reserved, qos, start, stop: None }
    }

    /// The effective claim: weight times QoS factor.
    pub fn claim(&self) -> f64 {
        self.weight * self.qos
    }
}

/// The reason why connections are invalid.
#[derive(Clone, Debug, PartialEq, Error)]
#[allow(missing_docs)]
pub enum DemandError {
    #[error("connection `{0}`: the name is already taken; names must be unique")]
    DuplicateName(String),
    #[error("connection `{0}`: source and target are both node `{1}`; they must differ")]
    SameEnds(String, String),
    #[error(
        "connection `{0}`: demand is {bps} bit/s; it must be 0 to 1e100 (leave it out for no limit)",
        bps = Short(*.1)
    )]
    Demand(String, f64),
    #[error("connection `{0}`: weight is {weight}; it must be 1e-30 to 1e30", weight = Short(*.1))]
    Weight(String, f64),
    #[error("connection `{0}`: {bps} bit/s are reserved; it must be 0 to 1e15", bps = Short(*.1))]
    Reserved(String, f64),
    #[error("connection `{0}`: qos is {qos}; it must be over 0 and at most 1", qos = Short(*.1))]
    Qos(String, f64),
    #[error("connection `{0}`: weight times qos is {claim}; it must be 1e-30 or more", claim = Short(*.1))]
    Claim(String, f64),
    #[error("connection `{0}`: it stops at {1} s and starts at {2} s; it must stop after it starts")]
    StopBeforeStart(String, f64, f64),
}

/// The checked connections of a scenario; immutable.
#[derive(Clone, Debug, PartialEq)]
pub struct Demands {
    connections: Vec<Connection>,
}

impl Demands {
    /// Checks the connections against each other and against the network whose node ids they hold.
    ///
    /// # Errors
    /// Returns the first invalid connection, and the reason.
    pub fn new(network: &Network, connections: Vec<Connection>) -> Result<Self, DemandError> {
        let mut names = HashSet::with_capacity(connections.len());
        for c in &connections {
            let name = || c.name.clone();
            if !names.insert(c.name.as_str()) {
                return Err(DemandError::DuplicateName(name()));
            }
            if c.source == c.target {
                return Err(DemandError::SameEnds(name(), network.node(c.source).name.clone()));
            }
            if let Some(demand) = c.demand
                && !demand.is_amount()
            {
                return Err(DemandError::Demand(name(), demand.0));
            }
            if !CLAIMS.contains(&c.weight) {
                return Err(DemandError::Weight(name(), c.weight));
            }
            if !(0.0..=MOST_RESERVED).contains(&c.reserved.0) {
                return Err(DemandError::Reserved(name(), c.reserved.0));
            }
            if !(c.qos > 0.0 && c.qos <= 1.0) {
                return Err(DemandError::Qos(name(), c.qos));
            }
            if !CLAIMS.contains(&c.claim()) {
                return Err(DemandError::Claim(name(), c.claim()));
            }
            if let Some(stop) = c.stop
                && stop <= c.start
            {
                return Err(DemandError::StopBeforeStart(name(), stop.seconds(), c.start.seconds()));
            }
        }
        Ok(Self { connections })
    }

    /// All connections, by id.
    pub fn connections(&self) -> &[Connection] {
        &self.connections
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::NetworkBuilder;

    #[test]
    fn each_mistake_names_its_connection() {
        let mut builder = NetworkBuilder::new();
        let a = builder.node("a", None).unwrap();
        let b = builder.node("b", None).unwrap();
        let network = builder.build();
        let plain = || Connection::new("x", a, b);
        let mistakes = [
            Connection { target: a, ..plain() },
            Connection { demand: Some(Rate(-1.0)), ..plain() },
            Connection { demand: Some(Rate(f64::NAN)), ..plain() },
            Connection { demand: Some(Rate(1e200)), ..plain() },
            Connection { demand: Some(Rate(f64::INFINITY)), ..plain() },
            Connection { weight: 0.0, ..plain() },
            Connection { weight: 1e-31, ..plain() },
            Connection { weight: 1e31, ..plain() },
            Connection { qos: 1.5, ..plain() },
            Connection { reserved: Rate(-1.0), ..plain() },
            Connection { reserved: Rate(f64::NAN), ..plain() },
            Connection { reserved: Rate(1e16), ..plain() },
            Connection { weight: 1e-20, qos: 1e-11, ..plain() },
            Connection { stop: Some(Time(0)), ..plain() },
        ];
        for mistake in mistakes {
            let said = Demands::new(&network, vec![mistake]).unwrap_err().to_string();
            assert!(said.starts_with("connection `x`: ") && said.len() < 120, "{said}");
        }
        assert!(Demands::new(&network, vec![plain(), plain()]).is_err());
        assert!(Demands::new(&network, vec![plain(), Connection::new("y", a, b)]).is_ok());
    }
}
