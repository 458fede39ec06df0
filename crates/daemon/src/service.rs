//! The running agent.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use anabranch_agents::message::{MOST_PROOF, number_of};
use anabranch_agents::{AgentId, LinkSettings, Settings};
use anabranch_core::Rate;
use anabranch_enforce::EnforceError;
use anabranch_http::Server;
use anabranch_live::agents::{AgentServer, Call, Door, Service, Trust};
use anabranch_live::security::SecurityError;
use anabranch_live::session::SessionError;
use tokio::net::UnixListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::changes::Change;
use crate::config::{Config, ConfigError};
use crate::control::{Control, Parts};
use crate::directory::Directory;
use crate::enforced::Enforced;
use crate::http::Site;
use crate::interfaces::{Watched, follow};
use crate::papers::{CurrentProofs, Papers};
use crate::questions::{self, Turns};
use crate::rights::Rights;
use crate::router::Router;
use crate::sessions::Sessions;
use crate::shown::Names;
use crate::socket;
use crate::state::next_epoch;
use crate::topology::{self, Topology};
use crate::watch::{Status, Watch};

/// The reason why an agent cannot run.
#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    /// The configuration cannot be used.
    #[error("{0}")]
    Config(#[from] ConfigError),
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
    /// Other agents would not take what this one signs.
    #[error("a proof by the certificate has {length} bytes, and may have {MOST_PROOF}: give the node a shorter name")]
    LongProof {
        /// Length of a proof, in bytes.
        length: usize,
    },
    /// The agent cannot keep its state.
    #[error("the agent cannot keep its state in {folder}: {error}; it must be a folder that it may write to")]
    State {
        /// The folder.
        folder: String,
        /// Error of the system.
        error: io::Error,
    },
    /// The address for HTTP cannot be used.
    #[error("http: {listen} cannot be used: {error}; another program may have it, or it is no address of this machine")]
    Http {
        /// The address.
        listen: SocketAddr,
        /// Error of the system.
        error: io::Error,
    },
    /// There can be no threads.
    #[error("there can be no threads: {0}")]
    Threads(io::Error),
    /// A socket cannot be opened.
    #[error("{0}")]
    Socket(#[from] SessionError),
    /// Traffic cannot be kept to rates.
    #[error("{file}: enforce: {error}")]
    Enforce {
        /// The file of the agent.
        file: String,
        /// The reason.
        error: EnforceError,
    },
}

/// An agent with its sockets.
pub struct Daemon {
    server: AgentServer,
    questions: UnixListener,
    http: Option<(Server, Vec<String>)>,
    interfaces: watch::Receiver<Vec<Watched>>,
    asked: topology::Commands,
    directory: Directory,
    control: Control,
    page: Option<Arc<str>>,
}

impl Daemon {
    /// Binds the sockets of an agent. Must be called in a tokio runtime.
    ///
    /// # Errors
    /// Returns an error for a certificate, a folder or an address that cannot be used.
    pub async fn bind(config: Config) -> Result<Self, DaemonError> {
        let papers = Papers::read(&config)?;
        let unkept = |error| DaemonError::State { folder: config.state.display().to_string(), error };
        let start = next_epoch(&config.state).map_err(unkept)?;
        let (directory, rights) = (Directory::default(), Rights::new(config.rights.clone()));
        let node = config.map.node(&config.node).expect("the configuration was checked");
        let router = Router::new(config.map.clone(), node, rights.clone(), directory.clone());
        let proofs = Arc::new(CurrentProofs::new(papers.signed()?));
        let service = service(&config, &papers, proofs.clone(), start);
        let (mut server, agent) = AgentServer::bind(service, Box::new(router)).await?;
        let questions = socket::bind(&config.state).map_err(unkept)?;
        let enforced = enforced(&config).await?;
        let names = Names::of(&config, directory.clone(), enforced.clone());
        let http = match config.http.clone() {
            Some(setting) => {
                let listen = setting.listen;
                let unbound = |error| DaemonError::Http { listen, error };
                Some((Server::bind(listen).await.map_err(unbound)?, setting.hosts))
            }
            None => None,
        };
        let status = Status { is_draining: false, certificate_until_s: papers.until_s() };
        let watch = Watch::new(names.state(&server.report(), status, None), status);
        let sessions = Sessions::new(agent.clone(), directory.clone(), enforced.clone());
        let (given, interfaces) = watch::channel(config.interfaces());
        let (topology, asked) = Topology::new();
        let (turns, config) = (Turns::default(), config.into());
        let parts = Parts { agent, names, watch, sessions, topology, turns, enforced, rights, proofs, given, config };
        let control = Control::new(parts);
        let answerer = control.clone();
        let server =
            server.answering(Arc::new(move |question| Box::pin(questions::answer(question, answerer.clone()))));
        Ok(Self { server, questions, http, interfaces, asked, directory, control, page: None })
    }

    /// Shows a page by HTTP, which is HTML.
    #[must_use]
    pub fn with_page(self, page: Option<Arc<str>>) -> Self {
        Self { page, ..self }
    }

    /// A handle to the agent.
    pub fn control(&self) -> Control {
        self.control.clone()
    }

    /// Serves until it is dropped, or for half a year.
    pub async fn run(self) {
        let Self { server, questions, http, interfaces, asked, directory, control, page } = self;
        let mut tasks = JoinSet::new();
        control.begin();
        tasks.spawn(follow(interfaces, control.agent().clone()));
        tasks.spawn(control.clone().look());
        tasks.spawn(control.enforced().run());
        tasks.spawn(topology::keep(control.topology().clone(), asked, control.names().clone(), directory));
        if let Some((server, hosts)) = http {
            if let Ok(address) = server.address() {
                control.watch().tell(Change::Http { address, is_open: !address.ip().is_loopback() });
            }
            tasks.spawn(server.serve(Site::new(control.clone(), hosts, page.as_deref())));
        }
        tasks.spawn(socket::serve(questions, control));
        server.run().await;
    }
}

/// Sets up what keeps traffic to rates; programs run meanwhile.
async fn enforced(config: &Config) -> Result<Enforced, DaemonError> {
    let (own, file) = (config.clone(), config.path.display().to_string());
    let started = tokio::task::spawn_blocking(move || Enforced::start(&own)).await;
    let started = started.unwrap_or_else(|error| Err(EnforceError::System(error.to_string())));
    started.map_err(|error| DaemonError::Enforce { file, error })
}

/// The settings of the server of an agent.
fn service(config: &Config, papers: &Papers, proofs: Arc<CurrentProofs>, (epoch, has_run): (u64, bool)) -> Service {
    let node = config.map.node(&config.node).expect("the configuration was checked");
    let Trust { identity, calls, doors } = papers.trust(config);
    let local = SocketAddr::new(config.listen.ip(), 0);
    let called = config.called().zip(calls);
    let calls = called.map(|((name, remote), who)| Call { id: AgentId::of(name), local, remote, who });
    let places = [config.listen, config.applications];
    let doors = places.into_iter().zip(doors).map(|(local, guests)| Door { local, guests });
    let capacities = config.capacities();
    let links = config.map.own_links(node).map(|(name, to, _)| {
        let link = number_of(name);
        let capacity = capacities.iter().find(|(number, _)| *number == link).map(|&(_, capacity)| capacity);
        // One that is an interface begins without a capacity, until the interface is looked at.
        let mut settings = LinkSettings::new(link, to, capacity.unwrap_or(Rate(0.0)));
        let claims = config.links.get(name).and_then(|own| own.claims);
        settings.claims = claims.unwrap_or(settings.claims);
        settings.parts = vec![config.share];
        settings
    });
    let settings = Settings {
        links: links.collect(),
        neighbours: config.neighbours.keys().map(|name| AgentId::of(name)).collect(),
        clients: 20_000,
        gap: config.gap,
        has_run,
        proofs,
        known: Some(Arc::new(config.map.known())),
        ..Settings::new(config.map.agent(node), epoch, vec![config.protocol.clone()])
    };
    Service { settings, identity, calls: calls.collect(), doors: doors.collect() }
}
