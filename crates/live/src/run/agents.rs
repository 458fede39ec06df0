//! The agents of a plan: one in each host, which acts for the links that leave its node.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anabranch_agents::{AgentId, Ask, Counts, LinkSettings, Settings, Step};
use anabranch_core::{ConnectionId, LinkId, NodeId, Span};
use anabranch_emulator::{Hop, Lab};
use anabranch_plan::Plan;
use tokio::runtime::Runtime;

use super::RunError;
use crate::agents::{
    AgentHandle, AgentServer, Application, Call, Door, Guest, LEASE, MOST_APPLICATIONS, Peer, Peers, SHARE, Service,
    Trusting,
};
use crate::security::{Fingerprint, Identity};
use crate::session::SessionError;
use crate::sockets::Sockets;

/// The port at which agents call each other.
const HOP_PORT: u16 = 4434;

/// Address at which applications call their agent.
const DOOR: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 4435);

/// The totals of the agents of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AgentsTotal {
    /// Number of agents.
    pub agents: usize,
    /// Counts of all agents together.
    pub counts: Counts,
    /// Whether no link holds state of a session.
    pub is_clear: bool,
}

/// The agents of a run.
pub(super) struct Agents {
    handles: Vec<AgentHandle>,
    pins: BTreeMap<NodeId, Fingerprint>,
    /// Certificate of all applications.
    identity: Arc<Identity>,
}

/// Whether a plan has connections with granted rates.
pub(super) fn has_rates(plan: &Plan) -> bool {
    plan.protocols.iter().any(|protocol| !protocol.capabilities().keeps_windows())
}

impl Agents {
    /// Starts an agent in each host, if there are connections with granted rates; time begins at `start`.
    pub fn start(plan: &Plan, lab: &Lab, runtime: &Runtime, start: Instant) -> Result<Self, RunError> {
        let identity = Arc::new(Identity::made()?);
        let mut all = Self { handles: Vec::new(), pins: BTreeMap::new(), identity };
        if !has_rates(plan) {
            return Ok(all);
        }
        let mut identities = BTreeMap::new();
        for host in lab.hosts() {
            let identity = Arc::new(Identity::made()?);
            all.pins.insert(host.node, identity.fingerprint());
            identities.insert(host.node, identity);
        }
        let links = links_by_source(plan);
        let mut servers = Vec::new();
        for (node, identity) in identities {
            let own = links.get(&node).map_or(&[][..], Vec::as_slice);
            let (server, agent) = all.server(plan, lab, runtime, (node, identity), own)?;
            follow_capacities(plan, own, &agent, runtime, start);
            all.handles.push(agent);
            servers.push(server);
        }
        // All sockets exist before the first call.
        for server in servers {
            runtime.spawn(server.run());
        }
        Ok(all)
    }

    /// Creates the agent of a node.
    fn server(
        &self,
        plan: &Plan,
        lab: &Lab,
        runtime: &Runtime,
        (node, identity): (NodeId, Arc<Identity>),
        links: &[LinkId],
    ) -> Result<(AgentServer, AgentHandle), RunError> {
        let (calls, mut doors) = self.neighbours(lab, node);
        let settings = Settings {
            links: links.iter().map(|&link| link_settings(plan, link)).collect(),
            neighbours: around(lab, node),
            lease: Span(LEASE.as_nanos() as u64 * 1000),
            clients: MOST_APPLICATIONS,
            // Agents of a run never restart.
            has_run: false,
            ..Settings::new(AgentId(node.0), 1, plan.protocols.clone())
        };
        let application = Peer::Pinned(self.identity.fingerprint());
        doors.push(Door { local: DOOR, guests: Peers::one(None, application, Guest::Application(String::new())) });
        let service = Service { settings, identity, calls, doors };
        let handle = runtime.handle().clone();
        let host = lab.host(node).expect("it is one of the lab's");
        let bound = host.run(move || handle.block_on(AgentServer::bind(service, Box::new(Trusting))));
        let name = || plan.network.node(node).name.clone();
        let failed = |reason| RunError::NoAgent { node: name(), reason: Box::new(reason) };
        bound.map_err(failed)
    }

    /// How a node meets its neighbours: of the two ends of a hop the second calls the first.
    fn neighbours(&self, lab: &Lab, node: NodeId) -> (Vec<Call>, Vec<Door>) {
        let (mut calls, mut doors) = (Vec::new(), Vec::new());
        for (place, hop) in lab.hops().iter().enumerate() {
            let (from, to) = lab.addresses_of_hop(place);
            let (from, to) = (SocketAddr::new(from, HOP_PORT), SocketAddr::new(to, 0));
            if hop.from == node {
                let guest = Guest::Neighbour(AgentId(hop.to.0));
                doors.push(Door { local: from, guests: Peers::one(None, Peer::Pinned(self.pins[&hop.to]), guest) });
            } else if hop.to == node {
                let who = Peers::one(None, Peer::Pinned(self.pins[&hop.from]), ());
                calls.push(Call { id: AgentId(hop.from.0), local: to, remote: from, who });
            }
        }
        (calls, doors)
    }

    /// The application of a connection, in the host of its source; `None` if the connection keeps windows.
    pub fn application(
        &self,
        plan: &Plan,
        lab: &Lab,
        runtime: &Runtime,
        id: ConnectionId,
    ) -> Result<Option<Application>, SessionError> {
        if plan.protocols[plan.transfers[id.index()].protocol].capabilities().keeps_windows() {
            return Ok(None);
        }
        let node = plan.demands.connections()[id.index()].source;
        let (identity, pin, handle) = (self.identity.clone(), self.pins[&node], runtime.handle().clone());
        let host = lab.host(node).expect("a path begins at a host");
        let application = host.run(move || {
            handle.block_on(async move {
                let sockets = Sockets::bind(&[SocketAddr::new(DOOR.ip(), 0).into()]).await?;
                Application::with(sockets, &identity, DOOR, Peers::one(None, Peer::Pinned(pin), ()))
            })
        })?;
        Ok(Some(application))
    }

    /// The totals of all agents; `None` if there are none.
    pub fn total(&self, runtime: &Runtime) -> Option<AgentsTotal> {
        if self.handles.is_empty() {
            return None;
        }
        let mut total = AgentsTotal { agents: self.handles.len(), counts: Counts::default(), is_clear: true };
        for agent in &self.handles {
            let report = runtime.block_on(agent.report());
            total.is_clear &= report.as_ref().is_some_and(|report| report.is_clear);
            total.counts = total.counts + report.map_or_else(Counts::default, |report| report.counts);
        }
        Some(total)
    }
}

/// The agents at the other ends of the hops of a node.
fn around(lab: &Lab, node: NodeId) -> Vec<AgentId> {
    let other = |hop: &Hop| match () {
        () if hop.from == node => Some(AgentId(hop.to.0)),
        () if hop.to == node => Some(AgentId(hop.from.0)),
        () => None,
    };
    lab.hops().iter().filter_map(other).collect()
}

/// The request of a connection to its agent.
pub(super) fn join(plan: &Plan, id: ConnectionId) -> Ask {
    let step = |&link: &LinkId| Step { agent: AgentId(plan.network.link(link).source.0), link: link.0 };
    let path = |links: &[LinkId]| {
        let end = plan.network.link(links[links.len() - 1]).target;
        (links.iter().map(step).collect(), AgentId(end.0))
    };
    Ask::Join {
        protocol: plan.transfers[id.index()].protocol as u8,
        claim: plan.demands.connections()[id.index()].claim(),
        reserved: plan.demands.connections()[id.index()].reserved.0,
        demand: f64::INFINITY,
        paths: plan.paths.of(id).map(path).collect(),
    }
}

/// The links of paths, grouped by the nodes that they leave.
fn links_by_source(plan: &Plan) -> BTreeMap<NodeId, Vec<LinkId>> {
    let mut links: Vec<LinkId> = (0..plan.paths.len()).flat_map(|path| plan.paths.path(path).iter().copied()).collect();
    links.sort_unstable();
    links.dedup();
    let mut all: BTreeMap<NodeId, Vec<LinkId>> = BTreeMap::new();
    for link in links {
        all.entry(plan.network.link(link).source).or_default().push(link);
    }
    all
}

fn link_settings(plan: &Plan, id: LinkId) -> LinkSettings {
    let link = plan.network.link(id);
    // What agents hold back themselves, and a protocol's headroom, are the same room: the larger counts.
    let part = |protocol: usize| {
        plan.share(id, protocol).unwrap_or(1.0) * SHARE.min(1.0 - plan.protocols[protocol].headroom())
    };
    let parts = (0..plan.protocols.len()).map(part).collect();
    LinkSettings { parts, ..LinkSettings::new(id.0, AgentId(link.target.0), link.capacity) }
}

/// Reports changes of the capacities of its links to an agent.
fn follow_capacities(plan: &Plan, links: &[LinkId], agent: &AgentHandle, runtime: &Runtime, start: Instant) {
    for &link in links {
        let (changes, agent) = (plan.links[link.index()].changes.clone(), agent.clone());
        runtime.spawn(async move {
            for (time, capacity) in changes {
                tokio::time::sleep_until((start + Duration::from_secs_f64(time.seconds())).into()).await;
                agent.set_capacity(link.0, capacity);
            }
        });
    }
}
