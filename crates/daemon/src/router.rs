//! The rights of applications to ask for rates, and the paths that sessions take.

use std::collections::BTreeMap;

use anabranch_agents::{AgentId, Ask, ClientId};
use anabranch_core::{NodeId, Rate};
use anabranch_live::agents::Policy;

use crate::config::{Application, demand};
use crate::network::Map;

/// The paths of sessions, and the rights of applications.
pub(crate) struct Router {
    map: Map,
    node: NodeId,
    rights: Vec<Application>,
    sessions: BTreeMap<ClientId, Session>,
}

struct Session {
    application: String,
    target: NodeId,
    paths: usize,
    most: Rate,
}

impl Router {
    pub fn new(map: Map, node: NodeId, rights: Vec<Application>) -> Self {
        Self { map, node, rights, sessions: BTreeMap::new() }
    }

    /// The rights of an application; all for the agent itself.
    fn rights(&self, application: &str, to: &str) -> Result<(Rate, f64, usize), String> {
        if application.is_empty() {
            return Ok((Rate(f64::INFINITY), f64::INFINITY, usize::MAX));
        }
        let own = self.rights.iter().find(|rights| rights.name == application);
        let own = own.ok_or_else(|| format!("this agent knows no application `{application}`"))?;
        if !own.to.iter().any(|allowed| allowed == "*" || allowed == to) {
            return Err(format!("`{application}` may not ask for rates to `{to}`, but to {}", own.to.join(", ")));
        }
        Ok((demand(own.most), own.weight, own.sessions))
    }
}

impl Policy for Router {
    fn admit(&mut self, application: &str, client: ClientId, ask: Ask) -> Result<Ask, String> {
        match ask {
            Ask::Open { target: name, paths, protocol, claim, demand } => {
                if self.sessions.contains_key(&client) {
                    return Err("it has joined already".to_owned());
                }
                let target = self.map.node(&name)?;
                if target == self.node {
                    return Err(format!("`{name}` is the node of this agent"));
                }
                let (most, weight, count) = self.rights(application, &name)?;
                if claim > weight {
                    return Err(format!("`{application}` may ask with a weight of at most {weight}, not {claim}"));
                }
                let present = self.sessions.values().filter(|session| session.application == application).count();
                if present >= count {
                    return Err(format!("`{application}` has {count} sessions already, which is the most"));
                }
                let found = self.map.paths(self.node, target, paths.into());
                if found.is_empty() {
                    return Err(format!("there is no path to `{name}` now"));
                }
                let session = Session { application: application.to_owned(), target, paths: paths.into(), most };
                self.sessions.insert(client, session);
                Ok(Ask::Join { protocol, claim, demand: demand.min(most.0), paths: found })
            }
            Ask::Join { .. } | Ask::Paths { .. } => Err("this agent finds the paths itself; name the node".to_owned()),
            Ask::Demand { demand } => {
                let most = self.sessions.get(&client).map_or(f64::INFINITY, |session| session.most.0);
                Ok(Ask::Demand { demand: demand.min(most) })
            }
            ask @ (Ask::Leave | Ask::Here) => Ok(ask),
        }
    }

    fn on_link(&mut self, agent: AgentId, link: u32, capacity: f64) -> Vec<(ClientId, Ask)> {
        if !self.map.set_capacity(agent, link, Rate(capacity)) {
            return Vec::new();
        }
        let mut asks = Vec::new();
        for (&client, session) in &self.sessions {
            let paths = self.map.paths(self.node, session.target, session.paths);
            // Without any path the present ones stay: they are tried again.
            if !paths.is_empty() {
                asks.push((client, Ask::Paths { paths }));
            }
        }
        asks
    }

    fn on_end(&mut self, client: ClientId) {
        self.sessions.remove(&client);
    }
}
