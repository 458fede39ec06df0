//! Whether sessions are admitted, and the paths that they take.

use std::collections::{BTreeMap, BTreeSet};

use anabranch_agents::{AgentId, Ask, ClientId, Refusal};
use anabranch_core::{NodeId, Rate};
use anabranch_live::agents::Policy;

use crate::directory::{Admitted, Directory};
use crate::network::Map;
use crate::rights::{Bounds, Rights};

/// The paths of sessions, with the rights of applications.
pub(crate) struct Router {
    map: Map,
    node: NodeId,
    rights: Rights,
    directory: Directory,
}

impl Router {
    pub fn new(map: Map, node: NodeId, rights: Rights, directory: Directory) -> Self {
        Self { map, node, rights, directory }
    }

    /// What is done about what an application asks.
    fn decide(&mut self, application: &str, client: ClientId, ask: Ask) -> Result<Ask, Refusal> {
        match ask {
            Ask::Open { target: name, paths, protocol, claim, reserved, demand } => {
                let admitted = &mut self.directory.open().admitted;
                if admitted.contains_key(&client) {
                    return Err(Refusal::lasting("it has joined already"));
                }
                let target = self.map.node(&name)?;
                if target == self.node {
                    return Err(Refusal::lasting(format!("`{name}` is the node of this agent")));
                }
                let Bounds { demand: Rate(most), sessions: count } =
                    self.rights.session(application, &name, claim, reserved)?;
                let present = admitted.values().filter(|session| session.application == application).count();
                if present >= count {
                    let reason = format!("`{application}` has {count} sessions already, which is the most");
                    return Err(Refusal::passing(reason));
                }
                let found = self.map.paths(self.node, target, paths.into());
                if found.is_empty() {
                    return Err(Refusal::passing(format!("there is no path to `{name}` now")));
                }
                let (application, paths, weight) = (application.to_owned(), paths.into(), claim);
                admitted.insert(client, Admitted { application, target, paths, weight, reserved, demand, most });
                Ok(Ask::Join { protocol, claim, reserved, demand: demand.min(most), paths: found })
            }
            Ask::Join { .. } | Ask::Paths { .. } => {
                Err(Refusal::lasting("this agent finds the paths itself; name the node"))
            }
            Ask::Demand { .. } | Ask::Here => {
                let admitted = &mut self.directory.open().admitted;
                let Some(session) = admitted.get_mut(&client) else { return Ok(ask) };
                // Rights may have changed since.
                let to = self.map.name(session.target);
                let Bounds { demand: Rate(most), .. } =
                    self.rights.session(application, to, session.weight, session.reserved)?;
                let is_other = most.to_bits() != session.most.to_bits() || matches!(ask, Ask::Demand { .. });
                if let Ask::Demand { demand } = ask {
                    session.demand = demand;
                }
                session.most = most;
                Ok(if is_other { Ask::Demand { demand: session.demand.min(most) } } else { Ask::Here })
            }
            Ask::Leave => Ok(ask),
        }
    }
}

impl Policy for Router {
    fn admit(&mut self, application: &str, client: ClientId, ask: Ask) -> Result<Ask, Refusal> {
        let answer = self.decide(application, client, ask);
        if let Err(refusal) = &answer {
            let refused = &mut self.directory.open().refused;
            *(if refusal.is_lasting { &mut refused.0 } else { &mut refused.1 }) += 1;
        }
        answer
    }

    fn on_link(&mut self, agent: AgentId, link: u32, capacity: f64) -> bool {
        let capacity = Rate(capacity);
        if self.map.has(agent, link) && capacity.is_capacity() {
            self.directory.open().capacities.insert((agent, link), capacity);
        }
        let is_other = self.map.set_capacity(agent, link, capacity);
        if is_other {
            self.directory.tell_of_links();
        }
        is_other
    }

    fn reroute(&mut self) -> Vec<(ClientId, Ask)> {
        let admitted = &self.directory.open().admitted;
        let wanted: BTreeSet<_> = admitted.values().map(|session| (session.target, session.paths)).collect();
        let find = |(target, count)| ((target, count), self.map.paths(self.node, target, count));
        let found: BTreeMap<_, _> = wanted.into_iter().map(find).collect();
        let ask = |(&client, session): (&ClientId, &Admitted)| {
            let paths = found.get(&(session.target, session.paths)).filter(|paths| !paths.is_empty())?;
            // Without any path the present ones stay: they are tried again.
            Some((client, Ask::Paths { paths: paths.clone() }))
        };
        admitted.iter().filter_map(ask).collect()
    }

    fn on_end(&mut self, client: ClientId) {
        let mut directory = self.directory.open();
        directory.admitted.remove(&client);
        directory.names.remove(&client);
    }
}
