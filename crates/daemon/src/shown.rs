//! What a running agent shows, with names in place of numbers. Rates and capacities are in bit/s; one without a limit is
//! absent.

use std::collections::BTreeMap;
use std::sync::Arc;

use anabranch_agents::message::number_of;
use anabranch_agents::{
    AgentId, Counts, Limit as AgentLimit, NeighbourState, PathView, SessionState, SessionView, Step,
};
use anabranch_core::{Network, Rate};
use anabranch_live::agents::AgentReport;
use schemars::JsonSchema;
use serde::Serialize;

use crate::config::Config;
pub use crate::directory::AskedFor;
use crate::directory::{Directory, Entries};
use crate::enforced::Enforced;
use crate::network::Map;
use crate::watch::Status;

/// The state of an agent.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct State {
    /// The node of the agent.
    pub node: String,
    /// The protocol.
    pub protocol: String,
    /// The generation in which links count, in hexadecimal digits.
    pub generation: String,
    /// Whether the agent makes ready to end.
    pub is_draining: bool,
    /// The end of the agent's certificate, in seconds since 1970.
    pub certificate_until_s: f64,
    /// The neighbours.
    pub neighbours: Vec<Neighbour>,
    /// The sessions of the agent's own and of its applications, in the order of their numbers.
    pub sessions: Vec<Arc<Session>>,
    /// The links that leave the node.
    pub links: Vec<Link>,
    /// Numbers of what programs ask beside rates.
    pub asked_for: AskedFor,
    /// Number of control packets on their way.
    pub packets_in_flight: usize,
    /// Whether no link holds anything of a session.
    pub is_clear: bool,
    /// Counters since the start.
    pub counts: Counts,
    /// How traffic is kept to rates, if it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enforcement: Option<Enforcement>,
}

/// How traffic is kept to rates.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Enforcement {
    /// What carries commands out: `kernel`, or `print`.
    pub backend: &'static str,
    /// Number of sessions whose traffic is kept to rates now.
    pub sessions: usize,
    /// Number of commands that the kernel refused so far.
    pub refused: u64,
    /// What goes wrong, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// What the kernel counts of the packets on a path, with all their headers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Measured {
    /// The rate over the last second.
    pub rate_bps: f64,
    /// Bytes that were sent since the path is there.
    pub bytes: u64,
    /// Packets that found the queue full since the path is there.
    pub drops: u64,
    /// Bytes that wait.
    pub waiting_bytes: u64,
}

/// What a session has sent since its traffic is kept to rates, on all paths that it had.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Total {
    /// Bytes of packets with all their headers.
    pub bytes: u64,
    /// Packets that found the queue full.
    pub drops: u64,
}

/// A neighbour.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Neighbour {
    /// Its node.
    pub node: String,
    /// Its state: `up`, `waiting`, `given-up` or `held-off`.
    #[schemars(extend("enum" = ["up", "waiting", "given-up", "held-off"]))]
    pub state: &'static str,
    /// Number of messages that it has not acknowledged.
    pub waiting: usize,
}

/// A session.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Session {
    /// Its number at this agent.
    pub number: u64,
    /// Its name, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The application that asked for it, if it is not one of the agent's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub application: Option<String>,
    /// The node to which it leads.
    pub to: String,
    /// Its state: `active`, `waiting` or `leaving`.
    #[schemars(extend("enum" = ["active", "waiting", "leaving"]))]
    pub state: &'static str,
    /// Weight relative to other sessions.
    pub weight: f64,
    /// The reserved part of its rate, which comes before its share.
    #[serde(skip_serializing_if = "is_zero")]
    pub reserved_bps: f64,
    /// The rate that is enough for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub demand_bps: Option<f64>,
    /// The granted rate over all paths.
    pub rate_bps: f64,
    /// What it has sent, if its traffic is kept to rates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<Total>,
    /// The paths.
    pub paths: Vec<Path>,
}

/// A path of a session.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Path {
    /// The links in order.
    pub links: Vec<String>,
    /// Whether packets get through.
    pub works: bool,
    /// The granted rate.
    pub rate_bps: f64,
    /// What limits the rate: `demand`, or the name of a link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<Limit>,
    /// What is measured, if traffic is kept to the rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measured: Option<Measured>,
}

/// What limits the rate of a path.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Limit {
    /// The demand of the session.
    Demand,
    /// A link.
    Link(String),
}

/// A link that leaves the node.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Link {
    /// Its name.
    pub link: String,
    /// The node at its end.
    pub to: String,
    /// The capacity that is divided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity_bps: Option<f64>,
    /// Sum of the weights of all sessions on the link.
    pub claims: f64,
    /// Sum of the weights of the sessions that the link limits.
    pub claims_limited_here: f64,
    /// Sum of the reserved parts of all sessions on the link.
    #[serde(skip_serializing_if = "is_zero")]
    pub reserved_bps: f64,
}

/// The names of nodes and links by their numbers.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    node: String,
    protocol: String,
    nodes: BTreeMap<AgentId, String>,
    links: BTreeMap<Step, (String, String)>,
    map: Map,
    directory: Directory,
    enforced: Enforced,
}

impl Names {
    pub fn of(config: &Config, directory: Directory, enforced: Enforced) -> Self {
        let map = config.map.clone();
        let network = map.network();
        let name = |id| network.node(id).name.clone();
        let nodes = network.nodes().iter().map(|node| (AgentId::of(&node.name), node.name.clone())).collect();
        let links = network.links().iter().map(|link| {
            let step = Step { agent: map.agent(link.source), link: number_of(&link.name) };
            (step, (link.name.clone(), name(link.target)))
        });
        let (node, protocol) = (config.node.clone(), config.protocol.title().to_owned());
        Self { node, protocol, nodes, links: links.collect(), map, directory, enforced }
    }

    /// The state that a report describes. What is as it was before is taken from there.
    pub fn state(&self, report: &AgentReport, status: Status, before: Option<(&AgentReport, &State)>) -> State {
        let own = AgentId::of(&self.node);
        let neighbours = report.view.neighbours.iter().map(|neighbour| Neighbour {
            node: self.nodes.get(&neighbour.id).cloned().unwrap_or_default(),
            state: match neighbour.state {
                NeighbourState::Up => "up",
                NeighbourState::Waiting => "waiting",
                NeighbourState::GivenUp => "given-up",
                NeighbourState::HeldOff => "held-off",
            },
            waiting: neighbour.waiting,
        });
        let links = report.view.links.iter().map(|link| {
            let (name, to) = self.link(Step { agent: own, link: link.link });
            Link {
                link: name,
                to,
                capacity_bps: limited(link.capacity),
                claims: link.claims,
                claims_limited_here: link.claims_here,
                reserved_bps: link.reserved.0,
            }
        });
        let entries = self.directory.open();
        State {
            node: self.node.clone(),
            protocol: self.protocol.clone(),
            generation: format!("{:016x}", report.view.generation),
            is_draining: status.is_draining,
            certificate_until_s: status.certificate_until_s,
            neighbours: neighbours.collect(),
            sessions: self.sessions(&report.view.sessions, before, &entries),
            links: links.collect(),
            asked_for: entries.asked_for,
            packets_in_flight: report.view.in_flight,
            is_clear: report.is_clear,
            counts: report.counts,
            enforcement: self.enforced.shown(),
        }
    }

    /// The network as its file has it.
    pub fn network(&self) -> &Network {
        self.map.network()
    }

    /// The capacities of links as the agent has heard of them last.
    pub fn capacities(&self) -> BTreeMap<&str, Rate> {
        let entries = self.directory.open();
        let named = entries.capacities.iter().filter_map(|(&(agent, link), &capacity)| {
            let (name, _) = self.links.get(&Step { agent, link })?;
            Some((&**name, capacity))
        });
        named.collect()
    }

    /// The names of the links of a path from this node, by their numbers; empty if there is no such path.
    pub(crate) fn path_names(&self, links: &[u32]) -> Vec<String> {
        let node = self.map.node(&self.node).ok();
        let places = node.and_then(|node| self.map.places(node, links.iter().copied())).unwrap_or_default();
        places.into_iter().map(|place| self.map.network().links()[place].name.clone()).collect()
    }

    /// Numbers of requests that were refused: for good, and for the moment.
    pub fn refused(&self) -> (u64, u64) {
        self.directory.open().refused
    }

    fn link(&self, step: Step) -> (String, String) {
        self.links.get(&step).cloned().unwrap_or_default()
    }

    /// The sessions, of which most are as they were.
    fn sessions(
        &self,
        views: &[SessionView],
        before: Option<(&AgentReport, &State)>,
        entries: &Entries,
    ) -> Vec<Arc<Session>> {
        let known = before.into_iter().flat_map(|(report, state)| report.view.sessions.iter().zip(&state.sessions));
        let mut known = known.peekable();
        let measures = self.enforced.shown().is_some();
        // Of a session of the agent's own the name comes later, and what is measured is always other.
        let is_settled = |session: &Session| !measures && (session.application.is_some() || session.name.is_some());
        let mut sessions = Vec::with_capacity(views.len());
        for view in views {
            while known.next_if(|(old, _)| old.client < view.client).is_some() {}
            let same = known.peek().filter(|(old, session)| *old == view && is_settled(session));
            let same = same.map(|(_, session)| Arc::clone(session));
            sessions.push(same.unwrap_or_else(|| Arc::new(self.session(view, entries))));
        }
        sessions
    }

    fn session(&self, session: &SessionView, entries: &Entries) -> Session {
        let admitted = entries.admitted.get(&session.client);
        let name = entries.names.get(&session.client);
        let application = admitted.map(|session| session.application.clone()).filter(|name| !name.is_empty());
        // Traffic of applications is on other machines.
        let kept = name.filter(|_| application.is_none());
        Session {
            number: session.client.0,
            name: name.cloned(),
            application,
            to: admitted.map(|session| self.map.network().node(session.target).name.clone()).unwrap_or_default(),
            state: match session.state {
                SessionState::Active => "active",
                SessionState::Waiting => "waiting",
                SessionState::Leaving => "leaving",
            },
            weight: session.claim,
            reserved_bps: session.reserved.0,
            demand_bps: limited(session.demand),
            rate_bps: session.paths.iter().filter_map(|path| path.rate).map(|rate| rate.0).sum(),
            total: kept.and_then(|name| self.enforced.total(name)),
            paths: session.paths.iter().map(|path| self.path(kept, path)).collect(),
        }
    }

    fn path(&self, session: Option<&String>, path: &PathView) -> Path {
        let links = || path.steps.iter().map(|step| step.link).collect::<Vec<_>>();
        Path {
            links: path.steps.iter().map(|&step| self.link(step).0).collect(),
            works: path.rate.is_some(),
            rate_bps: path.rate.map_or(0.0, |rate| rate.0),
            limit: path.limit.map(|limit| match limit {
                AgentLimit::Demand => Limit::Demand,
                AgentLimit::Link(step) => Limit::Link(self.link(step).0),
            }),
            measured: session.and_then(|name| self.enforced.measured(name, &links())),
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it")]
fn is_zero(bps: &f64) -> bool {
    *bps == 0.0
}

fn limited(rate: Rate) -> Option<f64> {
    Some(rate.0).filter(|bps| bps.is_finite())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A session of the agent `a` to `b`, with a rate over the link between them, which limits it.
    pub fn session(number: u64, rate_bps: f64) -> Session {
        let limit = Some(Limit::Link("a-b".to_owned()));
        Session {
            number,
            name: None,
            application: None,
            to: "b".to_owned(),
            state: "active",
            weight: 1.0,
            reserved_bps: 0.0,
            demand_bps: None,
            rate_bps,
            total: None,
            paths: vec![Path { links: vec!["a-b".to_owned()], works: true, rate_bps, limit, measured: None }],
        }
    }

    /// The state of the agent `a` with some sessions.
    pub fn state(sessions: Vec<Session>) -> State {
        State {
            node: "a".to_owned(),
            protocol: "d-SLEN".to_owned(),
            generation: String::new(),
            is_draining: false,
            certificate_until_s: 0.0,
            neighbours: Vec::new(),
            sessions: sessions.into_iter().map(Arc::new).collect(),
            links: vec![Link {
                link: "a-b".to_owned(),
                to: "b".to_owned(),
                capacity_bps: Some(20e6),
                claims: 3.0,
                claims_limited_here: 3.0,
                reserved_bps: 0.0,
            }],
            asked_for: AskedFor::default(),
            packets_in_flight: 0,
            is_clear: true,
            counts: Counts::default(),
            enforcement: None,
        }
    }
}
