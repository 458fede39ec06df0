//! The running agent.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use anabranch_agents::message::number_of;
use anabranch_agents::{AgentId, Answer, Ask, LinkSettings, Settings};
use anabranch_live::agents::{AgentHandle, AgentServer, Call, Door, Guest, Peer, Peers, Service};
use anabranch_live::authority::{Authority, Name, Signed};
use anabranch_live::security::{Identity, SecurityError};
use anabranch_live::session::SessionError;
use tokio::net::UnixListener;
use tokio::task::JoinSet;

use crate::config::{Config, demand};
use crate::router::Router;
use crate::shown::Names;
use crate::socket;
use crate::state::next_epoch;

/// The reason why an agent cannot run.
#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    /// A certificate or a key cannot be used.
    #[error("{0}")]
    Security(#[from] SecurityError),
    /// The certificate has another name than the agent.
    #[error(
        "{certificate}: it is not a certificate of the agent `{node}` that is valid now and that the authority issued{found}"
    )]
    NotOwn {
        /// The file of the certificate.
        certificate: String,
        /// The node of the agent.
        node: String,
        /// What it is instead.
        found: String,
    },
    /// The agent cannot keep its state.
    #[error("the agent cannot keep its state in {folder}: {error}; it must be a folder that it may write to")]
    State {
        /// The folder.
        folder: String,
        /// Error of the system.
        error: io::Error,
    },
    /// There can be no threads.
    #[error("there can be no threads: {0}")]
    Threads(io::Error),
    /// A socket cannot be opened.
    #[error("{0}")]
    Socket(#[from] SessionError),
}

/// An agent with its sockets.
pub struct Daemon {
    server: AgentServer,
    handle: AgentHandle,
    questions: UnixListener,
    config: Config,
}

impl Daemon {
    /// Binds the sockets of an agent. Must be called in a tokio runtime.
    ///
    /// # Errors
    /// Returns an error for a certificate, a folder or an address that cannot be used.
    pub async fn bind(config: Config) -> Result<Self, DaemonError> {
        let authority = Authority::read(&config.authority)?;
        let identity = Identity::read(&config.certificate, &config.certificate)?;
        let own = Name::Agent(config.node.clone());
        let found = identity.name(&authority);
        if found.as_ref() != Some(&own) {
            return Err(DaemonError::NotOwn {
                certificate: config.certificate.display().to_string(),
                node: config.node.clone(),
                found: found.map_or_else(String::new, |found| format!(", but of {found}")),
            });
        }
        let unkept = |error| DaemonError::State { folder: config.state.display().to_string(), error };
        let epoch = next_epoch(&config.state).map_err(unkept)?;
        let service = service(&config, &authority, identity, epoch)?;
        let node = config.map.node(&config.node).expect("the configuration was checked");
        let router = Router::new(config.map.clone(), node, config.rights.clone());
        let (server, handle) = AgentServer::bind(service, Box::new(router)).await?;
        let questions = socket::bind(&config.state).map_err(unkept)?;
        Ok(Self { server, handle, questions, config })
    }

    /// A handle to the agent.
    pub fn handle(&self) -> AgentHandle {
        self.handle.clone()
    }

    /// Serves until it is dropped, or for half a year.
    pub async fn run(self) {
        let mut tasks = JoinSet::new();
        for session in &self.config.sessions {
            let ask = Ask::Open {
                target: session.to.clone(),
                paths: session.paths,
                protocol: 0,
                claim: session.weight,
                demand: demand(session.demand).0,
            };
            tasks.spawn(keep(self.handle.clone(), ask));
        }
        tasks.spawn(socket::serve(self.questions, self.handle, Names::of(&self.config)));
        self.server.run().await;
    }
}

/// Keeps a session that always exists.
async fn keep(handle: AgentHandle, ask: Ask) {
    loop {
        let (_, mut answers) = handle.open(ask.clone());
        while let Some(answer) = answers.recv().await {
            if matches!(answer, Answer::Refused { .. }) {
                break;
            }
        }
        drop(answers);
        tokio::time::sleep(anabranch_live::agents::LEASE).await;
    }
}

fn service(config: &Config, authority: &Authority, identity: Identity, epoch: u64) -> Result<Service, DaemonError> {
    let node = config.map.node(&config.node).expect("the configuration was checked");
    let peer = |name: &str| Peer::Named(Name::Agent(name.to_owned()));
    let (mut calls, mut guests) = (Vec::new(), Vec::new());
    for (name, &remote) in &config.neighbours {
        let id = AgentId::of(name);
        // Of two neighbours that with the later name calls.
        if config.node > *name {
            let local = SocketAddr::new(config.listen.ip(), 0);
            calls.push(Call { id, local, remote, who: Peers::one(Some(authority.clone()), peer(name), ()) });
        } else {
            guests.push((peer(name), Guest::Neighbour(id)));
        }
    }
    let applications = config
        .rights
        .iter()
        .map(|rights| (Peer::Named(Name::Application(rights.name.clone())), Guest::Application(rights.name.clone())));
    let door = |local, all| Door { local, guests: Peers { authority: Some(authority.clone()), all } };
    let doors = vec![door(config.listen, guests), door(config.applications, applications.collect())];
    let links = config.map.own_links(node).map(|(name, to, capacity)| {
        let own = config.links.get(name);
        let capacity = own.and_then(|own| own.capacity).map_or(capacity, |text| text.0);
        let mut settings = LinkSettings::new(number_of(name), to, capacity);
        settings.claims = own.and_then(|own| own.claims).unwrap_or(settings.claims);
        settings.parts = vec![config.share];
        settings
    });
    let settings = Settings {
        links: links.collect(),
        neighbours: config.neighbours.keys().map(|name| AgentId::of(name)).collect(),
        clients: 20_000,
        proofs: Arc::new(Signed::new(authority.clone(), &identity)?),
        ..Settings::new(config.map.agent(node), epoch, vec![config.protocol.clone()])
    };
    Ok(Service { settings, identity: Arc::new(identity), calls, doors })
}
