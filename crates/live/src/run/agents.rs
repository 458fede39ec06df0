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
use crate::agents::{AgentHandle, AgentServer, Application, LEASE, MOST_APPLICATIONS, Neighbour, SHARE, Service};
use crate::security::{Fingerprint, Identity};
use crate::session::SessionError;
use crate::sockets::Sockets;

/// The port at which agents call each other.
const HOP_PORT: u16 = 4434;

/// Address at which applications call their agent.
const DOOR: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 4435);

/// The least time between two control packets of a path.
const GAP: Span = Span(2_000_000_000);

/// The most messages that wait for a neighbour.
const MOST_WAITING: usize = 100_000;

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
        let neighbours = self.neighbours(lab, node);
        let settings = Settings {
            id: AgentId(node.0),
            // Agents of a run never restart.
            epoch: 1,
            protocols: plan.protocols.clone(),
            links: links.iter().map(|&link| link_settings(plan, link)).collect(),
            neighbours: neighbours.iter().map(|neighbour| neighbour.id).collect(),
            gap: GAP,
            lease: Span(LEASE.as_nanos() as u64 * 1000),
            clients: MOST_APPLICATIONS,
            waiting: MOST_WAITING,
        };
        let applications = (DOOR, vec![self.identity.fingerprint()]);
        let service = Service { settings, identity, neighbours, applications };
        let handle = runtime.handle().clone();
        let host = lab.host(node).expect("it is one of the lab's");
        let bound = host.run(move || handle.block_on(AgentServer::bind(service)));
        let name = || plan.network.node(node).name.clone();
        let failed = |reason| RunError::NoAgent { node: name(), reason: Box::new(reason) };
        bound.map_err(failed)
    }

    /// The neighbours of a node: the agents at the other ends of its hops.
    fn neighbours(&self, lab: &Lab, node: NodeId) -> Vec<Neighbour> {
        let neighbour = |(place, hop): (usize, &Hop)| {
            let (from, to) = lab.addresses_of_hop(place);
            let (other, local, remote) = match () {
                () if hop.from == node => (hop.to, SocketAddr::new(from, HOP_PORT), None),
                () if hop.to == node => (hop.from, SocketAddr::new(to, 0), Some(SocketAddr::new(from, HOP_PORT))),
                () => return None,
            };
            Some(Neighbour { id: AgentId(other.0), local, remote, pin: self.pins[&other] })
        };
        lab.hops().iter().enumerate().filter_map(neighbour).collect()
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
                Application::with(sockets, &identity, DOOR, pin)
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
            total.is_clear &= report.is_some_and(|report| report.is_clear);
            total.counts = total.counts + report.map_or_else(Counts::default, |report| report.counts);
        }
        Some(total)
    }
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
    LinkSettings { link: id.0, to: AgentId(link.target.0), capacity: link.capacity, parts }
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
