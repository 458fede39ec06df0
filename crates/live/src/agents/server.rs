//! The server of an agent: its connections to neighbours and applications, and its clock.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anabranch_agents::message::encode;
use anabranch_agents::{
    Action, Agent, AgentId, Ask, ClientId, Counts, Event as AgentEvent, HopMessage, Settings, View,
};
use anabranch_core::{Rate, Time};
use rustls::pki_types::CertificateDer;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use super::messages::{Ended, Sender, close, read, sender};
use super::mutual::{Peers, called, calling};
use super::{BACK_OFF, BEAT, MOST_APPLICATIONS, SILENCE};
use crate::authority::lasts;
use crate::control::{Group, named};
use crate::quic::{ClientConfig, Connection, Endpoint, RecvStream, SendStream, ServerConfig, TransportConfig};
use crate::quic_config::QuicConfig;
use crate::security::Identity;
use crate::session::{SessionError, endpoint};
use crate::sockets::Sockets;

/// Assumed round trip to a neighbour; a first packet that is lost is sent again after three.
const NEAR: Duration = Duration::from_millis(50);

/// The most events that wait to be handled; readers of streams wait when there are more.
const MOST_WAITING: usize = 1024;

/// The most calls of a neighbour at a time, since ended ones may not be detected yet.
const MOST_CALLS: usize = 4;

/// A neighbouring agent that is called.
#[derive(Clone, Debug)]
pub struct Call {
    /// Number of the neighbour among agents.
    pub id: AgentId,
    /// Local address of connections with the neighbour.
    pub local: SocketAddr,
    /// Address at which the neighbour is called.
    pub remote: SocketAddr,
    /// Who the neighbour has to be.
    pub who: Peers<()>,
}

/// An address at which an agent is called, and by whom.
#[derive(Clone, Debug)]
pub struct Door {
    /// The address.
    pub local: SocketAddr,
    /// Those who may call.
    pub guests: Peers<Guest>,
}

/// What somebody is who calls.
#[derive(Clone, Debug, PartialEq)]
pub enum Guest {
    /// A neighbouring agent.
    Neighbour(AgentId),
    /// An application.
    Application,
}

/// The settings of an agent's server.
#[derive(Debug)]
pub struct Service {
    /// Settings of the agent.
    pub settings: Settings,
    /// Certificate of the agent, with its key.
    pub identity: Arc<Identity>,
    /// Neighbours that the agent calls.
    pub calls: Vec<Call>,
    /// Addresses at which other neighbours and applications call the agent.
    pub doors: Vec<Door>,
}

/// The state of a running agent.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentReport {
    /// Counts of events so far.
    pub counts: Counts,
    /// What the agent shows of itself.
    pub view: View,
    /// Whether no link holds state of a session.
    pub is_clear: bool,
}

/// The server of an agent, with its sockets.
pub struct AgentServer {
    agent: Agent,
    identity: Arc<Identity>,
    calls: Vec<(Call, Endpoint)>,
    doors: Vec<(Arc<Peers<Guest>>, Endpoint)>,
    start: Instant,
    commands: mpsc::UnboundedReceiver<Command>,
}

/// A handle to a running agent.
#[derive(Clone, Debug)]
pub struct AgentHandle(mpsc::UnboundedSender<Command>);

enum Command {
    Capacity(u32, Rate),
    Report(oneshot::Sender<AgentReport>),
}

impl AgentHandle {
    /// Reports a new capacity of a link to the agent.
    pub fn set_capacity(&self, link: u32, capacity: Rate) {
        // An agent that has ended needs no report.
        let _ = self.0.send(Command::Capacity(link, capacity));
    }

    /// Asks the agent for its report; `None` if the agent has ended.
    pub async fn report(&self) -> Option<AgentReport> {
        let (tell, told) = oneshot::channel();
        self.0.send(Command::Report(tell)).ok()?;
        told.await.ok()
    }
}

/// An event on an agent's connections.
enum Event {
    Up(AgentId, u64, Sender),
    Hop(AgentId, u64, HopMessage),
    Down(AgentId, u64),
    Came(ClientId, Sender),
    Asked(ClientId, Ask),
    Gone(ClientId),
}

/// The transport settings of control connections: one path, with signs of life.
pub(super) fn transport() -> TransportConfig {
    let group = Group::new(&named("reno").expect("it is a protocol")).expect("it controls real connections");
    let quic_config = QuicConfig { idle: SILENCE, uni_streams: 0, ..QuicConfig::default() };
    let mut transport = quic_config.transport(group);
    transport.keep_alive_interval(Some(BEAT)).default_path_keep_alive_interval(Some(BEAT)).initial_rtt(NEAR);
    transport
}

impl AgentServer {
    /// Binds the sockets of an agent. Must be called in a tokio runtime.
    pub async fn bind(service: Service) -> Result<(Self, AgentHandle), SessionError> {
        let Service { settings, identity, calls: wanted, doors: places } = service;
        let mut calls = Vec::new();
        for call in wanted {
            let sockets = Sockets::bind(&[call.local.into()]).await?;
            calls.push((call, endpoint(sockets, None)?));
        }
        let mut doors = Vec::new();
        for Door { local, guests } in places {
            let guests = Arc::new(guests);
            let config = taking(&identity, guests.clone())?;
            doors.push((guests, endpoint(Sockets::bind(&[local.into()]).await?, Some(config))?));
        }
        let (handle, commands) = mpsc::unbounded_channel();
        let agent = Agent::new(Time(0), settings);
        Ok((Self { agent, identity, calls, doors, start: Instant::now(), commands }, AgentHandle(handle)))
    }

    /// Serves until it is dropped.
    pub async fn run(mut self) {
        let (tell, mut events) = mpsc::channel(MOST_WAITING);
        let numbers = Arc::new(AtomicU64::new(0));
        let mut tasks = JoinSet::new();
        for (call, endpoint) in std::mem::take(&mut self.calls) {
            let talk = Talk { id: call.id, tell: tell.clone(), numbers: numbers.clone() };
            tasks.spawn(keep_hop(call, endpoint, self.identity.clone(), talk));
        }
        for (guests, endpoint) in std::mem::take(&mut self.doors) {
            tasks.spawn(keep_door(endpoint, guests, tell.clone(), numbers.clone()));
        }
        let start = self.start;
        let mut connections = Connections::default();
        loop {
            let next = self.agent.next_at().map(|next| start + Duration::from_secs_f64(next.seconds()));
            let next = next.unwrap_or_else(|| Instant::now() + SILENCE);
            tokio::select! {
                Some(event) = events.recv() => connections.on_event(&mut self.agent, time(start), event),
                Some(command) = self.commands.recv() => self.on_command(time(start), command),
                () = tokio::time::sleep_until(next.into()) => {}
                else => return,
            }
            self.agent.on_time(time(start));
            connections.obey(&mut self.agent);
        }
    }

    fn on_command(&mut self, now: Time, command: Command) {
        match command {
            Command::Capacity(link, capacity) => self.agent.handle(now, AgentEvent::Capacity(link, capacity)),
            Command::Report(tell) => {
                let (counts, view, is_clear) = (self.agent.counts(), self.agent.view(), self.agent.is_clear());
                let _ = tell.send(AgentReport { counts, view, is_clear });
            }
        }
    }
}

fn time(start: Instant) -> Time {
    Time::from_seconds(start.elapsed().as_secs_f64()).unwrap_or_default()
}

/// The settings of a server that these guests may call.
fn taking(identity: &Identity, guests: Arc<Peers<Guest>>) -> Result<ServerConfig, SessionError> {
    let mut config = ServerConfig::with_crypto(Arc::new(called(identity, guests)?));
    config.transport_config(Arc::new(transport()));
    Ok(config)
}

/// The present connections.
#[derive(Default)]
struct Connections {
    hops: BTreeMap<AgentId, (u64, Sender)>,
    clients: BTreeMap<ClientId, Sender>,
}

impl Connections {
    fn on_event(&mut self, agent: &mut Agent, now: Time, event: Event) {
        match event {
            Event::Up(id, number, sender) => {
                if self.hops.insert(id, (number, sender)).is_some() {
                    agent.handle(now, AgentEvent::Down(id));
                }
                agent.handle(now, AgentEvent::Up(id));
            }
            Event::Hop(id, number, message) if self.is_of(id, number) => {
                agent.handle(now, AgentEvent::Hop(id, message));
            }
            Event::Down(id, number) if self.is_of(id, number) => {
                self.hops.remove(&id);
                agent.handle(now, AgentEvent::Down(id));
            }
            Event::Hop(..) | Event::Down(..) => {}
            Event::Came(id, sender) => _ = self.clients.insert(id, sender),
            Event::Asked(id, ask) => agent.handle(now, AgentEvent::Ask(id, ask)),
            Event::Gone(id) => {
                self.clients.remove(&id);
                agent.handle(now, AgentEvent::Ask(id, Ask::Leave));
            }
        }
    }

    /// Whether this is the present connection to a neighbour.
    fn is_of(&self, id: AgentId, number: u64) -> bool {
        self.hops.get(&id).is_some_and(|connection| connection.0 == number)
    }

    /// Carries out the actions of the agent.
    fn obey(&mut self, agent: &mut Agent) {
        for action in agent.actions() {
            match action {
                Action::Hop(id, message) => {
                    let (Some((_, sender)), Ok(word)) = (self.hops.get(&id), encode(&message)) else { continue };
                    // A lost connection is reported soon, and the message is repeated on the next.
                    if matches!(sender.try_send(word), Err(TrySendError::Full(_))) {
                        self.hops.remove(&id);
                    }
                }
                // The stream ends, and the connection with it.
                Action::Cut(id) => _ = self.hops.remove(&id),
                Action::Tell(id, answer) => {
                    let (Some(sender), Ok(word)) = (self.clients.get(&id), encode(&answer)) else { continue };
                    if matches!(sender.try_send(word), Err(TrySendError::Full(_))) {
                        // The application does not read: its stream ends, and it counts as gone.
                        self.clients.remove(&id);
                    }
                }
            }
        }
    }
}

/// Sender of events of the connections to a neighbour.
#[derive(Clone)]
struct Talk {
    id: AgentId,
    tell: mpsc::Sender<Event>,
    /// Source of the numbers of connections.
    numbers: Arc<AtomicU64>,
}

/// Keeps a connection to a neighbour, and makes a new one when it is lost.
async fn keep_hop(neighbour: Call, endpoint: Endpoint, identity: Arc<Identity>, talk: Talk) {
    let mut wait = BACK_OFF.0;
    let who = Arc::new(neighbour.who);
    loop {
        if let Some(connection) = call(&endpoint, &identity, neighbour.remote, who.clone()).await {
            let begun = Instant::now();
            while_valid(&connection, who.authority.is_some(), talk.over(connection.clone(), true)).await;
            if begun.elapsed() > BACK_OFF.1 {
                wait = BACK_OFF.0;
            }
        }
        tokio::time::sleep(wait).await;
        wait = (wait * 2).min(BACK_OFF.1);
    }
}

async fn call(endpoint: &Endpoint, identity: &Identity, remote: SocketAddr, who: Arc<Peers<()>>) -> Option<Connection> {
    let mut config = ClientConfig::new(Arc::new(calling(identity, who).ok()?));
    config.transport_config(Arc::new(transport()));
    endpoint.connect_with(config, remote, "anabranch").ok()?.await.ok()
}

impl Talk {
    /// Reports the messages of the neighbour over a connection, with its beginning and its end.
    async fn over(&self, connection: Connection, calls: bool) {
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        let Err(ended) = self.listen(&connection, calls, number).await;
        close(&connection, &ended.to_string());
        // Sending fails only if the agent has ended.
        let _ = self.tell.send(Event::Down(self.id, number)).await;
    }

    async fn listen(&self, connection: &Connection, calls: bool, number: u64) -> Result<Infallible, Ended> {
        let (send, mut receive) = if calls { connection.open_bi().await? } else { connection.accept_bi().await? };
        self.say(Event::Up(self.id, number, sender(send))).await?;
        loop {
            let message = read(&mut receive).await?;
            self.say(Event::Hop(self.id, number, message)).await?;
        }
    }

    async fn say(&self, event: Event) -> Result<(), Ended> {
        self.tell.send(event).await.map_err(|_| Ended::Over)
    }
}

/// Takes the calls of guests. A neighbour that restarts may call before its old connection is known to be lost.
async fn keep_door(door: Endpoint, guests: Arc<Peers<Guest>>, tell: mpsc::Sender<Event>, numbers: Arc<AtomicU64>) {
    let mut calls = JoinSet::new();
    while let Some(incoming) = door.accept().await {
        while calls.try_join_next().is_some() {}
        if calls.len() >= MOST_APPLICATIONS + MOST_CALLS {
            incoming.refuse();
            continue;
        }
        let (guests, tell, numbers) = (guests.clone(), tell.clone(), numbers.clone());
        calls.spawn(async move {
            let Ok(connecting) = incoming.accept() else { return };
            let Ok(connection) = connecting.await else { return };
            let Some(certificate) = certificate(&connection) else { return };
            let serving = async {
                match guests.find(&certificate) {
                    Some(&Guest::Neighbour(id)) => Talk { id, tell, numbers }.over(connection.clone(), false).await,
                    Some(Guest::Application) => serve_all(&connection, tell, numbers).await,
                    None => {}
                }
            };
            while_valid(&connection, guests.authority.is_some(), serving).await;
        });
    }
}

/// Does something with a connection, which does not outlive the certificate of the other end if that can expire.
async fn while_valid(connection: &Connection, can_expire: bool, work: impl Future<Output = ()>) {
    let certificate = certificate(connection).filter(|_| can_expire);
    let lasts = certificate.map_or(Duration::MAX, |certificate| lasts(&certificate));
    let mut work = std::pin::pin!(work);
    if tokio::time::timeout(lasts, &mut work).await.is_err() {
        close(connection, "the certificate has expired");
        work.await;
    }
}

/// The certificate at the other end.
fn certificate(connection: &Connection) -> Option<CertificateDer<'static>> {
    let chain = connection.peer_identity()?.downcast::<Vec<CertificateDer<'static>>>().ok()?;
    chain.first().cloned()
}

/// Serves an application: each of its streams has a session.
async fn serve_all(connection: &Connection, tell: mpsc::Sender<Event>, numbers: Arc<AtomicU64>) {
    let mut sessions = JoinSet::new();
    while let Ok((send, receive)) = connection.accept_bi().await {
        while sessions.try_join_next().is_some() {}
        let (tell, id) = (tell.clone(), ClientId(numbers.fetch_add(1, Ordering::Relaxed)));
        sessions.spawn(async move {
            let Err(_ended) = serve(send, receive, id, &tell).await;
            let _ = tell.send(Event::Gone(id)).await;
        });
    }
    // The streams have ended with the connection; each says so.
    while sessions.join_next().await.is_some() {}
}

/// Reports the messages of a session.
async fn serve(
    send: SendStream,
    mut receive: RecvStream,
    id: ClientId,
    tell: &mpsc::Sender<Event>,
) -> Result<Infallible, Ended> {
    let say = async |event| tell.send(event).await.map_err(|_| Ended::Over);
    say(Event::Came(id, sender(send))).await?;
    loop {
        let ask = read(&mut receive).await?;
        say(Event::Asked(id, ask)).await?;
    }
}
