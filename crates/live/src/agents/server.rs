//! The server of an agent: its connections to neighbours and applications, and its clock.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anabranch_agents::message::encode;
use anabranch_agents::{
    Action, Agent, AgentId, Answer, Ask, ClientId, Counts, Event as AgentEvent, HopMessage, Settings, View,
};
use anabranch_core::{Rate, Time};
use rustls::pki_types::CertificateDer;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval};

use super::messages::{Ended, Sender, close, read, sender};
use super::mutual::{Peers, called, calling};
use super::policy::Policy;
use super::{BACK_OFF, BEAT, LEASE, MOST_APPLICATIONS, SILENCE};
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
    /// The neighbour as it is expected.
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
    /// An application, by its name.
    Application(String),
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
    numbers: Arc<AtomicU64>,
    policy: Box<dyn Policy>,
    commands: mpsc::UnboundedReceiver<Command>,
}

/// A handle to a running agent.
#[derive(Clone, Debug)]
pub struct AgentHandle {
    commands: mpsc::UnboundedSender<Command>,
    numbers: Arc<AtomicU64>,
}

#[derive(Debug)]
enum Command {
    Capacity(u32, Rate),
    Report(oneshot::Sender<AgentReport>),
    Open(ClientId, Ask, mpsc::Sender<Answer>),
    Ask(ClientId, Ask),
}

/// Greatest number of answers that wait for a session of the agent's own; with more it counts as gone.
const MOST_ANSWERS: usize = 1024;

impl AgentHandle {
    /// Reports a new capacity of a link to the agent.
    pub fn set_capacity(&self, link: u32, capacity: Rate) {
        // An agent that has ended needs no report.
        let _ = self.commands.send(Command::Capacity(link, capacity));
    }

    /// Opens a session of the agent's own, which needs no connection; the answers end when the session has ended.
    pub fn open(&self, ask: Ask) -> (ClientId, mpsc::Receiver<Answer>) {
        let id = ClientId(self.numbers.fetch_add(1, Ordering::Relaxed));
        let (tell, answers) = mpsc::channel(MOST_ANSWERS);
        let _ = self.commands.send(Command::Open(id, ask, tell));
        (id, answers)
    }

    /// Asks something for a session of the agent's own.
    pub fn ask(&self, session: ClientId, ask: Ask) {
        let _ = self.commands.send(Command::Ask(session, ask));
    }

    /// Asks the agent for its report; `None` if the agent has ended.
    pub async fn report(&self) -> Option<AgentReport> {
        let (tell, told) = oneshot::channel();
        self.commands.send(Command::Report(tell)).ok()?;
        told.await.ok()
    }
}

/// An event on an agent's connections.
enum Event {
    Up(AgentId, u64, Sender),
    Hop(AgentId, u64, HopMessage),
    Down(AgentId, u64),
    Came(ClientId, Arc<str>, Sender),
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
    pub async fn bind(service: Service, policy: Box<dyn Policy>) -> Result<(Self, AgentHandle), SessionError> {
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
        let numbers = Arc::new(AtomicU64::new(0));
        let handle = AgentHandle { commands: handle, numbers: numbers.clone() };
        Ok((Self { agent, identity, calls, doors, start: Instant::now(), numbers, policy, commands }, handle))
    }

    /// Serves until it is dropped, or for half a year: then the time of protocols comes to its end, and the agent has to
    /// start again.
    pub async fn run(mut self) {
        let (tell, mut events) = mpsc::channel(MOST_WAITING);
        let numbers = self.numbers.clone();
        let mut tasks = JoinSet::new();
        for (call, endpoint) in std::mem::take(&mut self.calls) {
            let talk = Talk { id: call.id, tell: tell.clone(), numbers: numbers.clone() };
            tasks.spawn(keep_hop(call, endpoint, self.identity.clone(), talk));
        }
        for (guests, endpoint) in std::mem::take(&mut self.doors) {
            tasks.spawn(keep_door(endpoint, guests, tell.clone(), numbers.clone()));
        }
        let start = self.start;
        let mut connections = Connections::new(self.policy);
        let mut beat = interval(LEASE / 4);
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while start.elapsed() < LONGEST {
            let next = self.agent.next_at().map(|next| start + Duration::from_secs_f64(next.seconds()));
            let next = next.unwrap_or_else(|| Instant::now() + SILENCE);
            tokio::select! {
                Some(event) = events.recv() => connections.on_event(&mut self.agent, time(start), event),
                Some(command) = self.commands.recv() => connections.on_command(&mut self.agent, time(start), command),
                _ = beat.tick() => connections.beat(&mut self.agent, time(start)),
                () = tokio::time::sleep_until(next.into()) => {}
                else => return,
            }
            self.agent.on_time(time(start));
            connections.obey(&mut self.agent, time(start));
        }
    }
}

/// The longest time that an agent runs; `Time` ends after 213 days.
const LONGEST: Duration = Duration::from_hours(180 * 24);

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
struct Connections {
    hops: BTreeMap<AgentId, (u64, Sender)>,
    clients: BTreeMap<ClientId, Client>,
    policy: Box<dyn Policy>,
}

/// Where the answers for a session go.
enum Client {
    /// Over a stream of an application of this name.
    Stream(Arc<str>, Sender),
    /// To a session of the agent's own.
    Own(mpsc::Sender<Answer>),
}

impl Client {
    /// Passes an answer on; whether the other end still takes answers.
    fn tell(&self, answer: Answer) -> bool {
        match self {
            Self::Stream(_, sender) => match encode(&answer) {
                Ok(word) => !matches!(sender.try_send(word), Err(TrySendError::Full(_))),
                Err(_) => true,
            },
            Self::Own(sender) => sender.try_send(answer).is_ok(),
        }
    }
}

impl Connections {
    fn new(policy: Box<dyn Policy>) -> Self {
        Self { hops: BTreeMap::new(), clients: BTreeMap::new(), policy }
    }

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
            Event::Came(id, name, sender) => _ = self.clients.insert(id, Client::Stream(name, sender)),
            Event::Asked(id, ask) => self.on_ask(agent, now, id, ask),
            Event::Gone(id) => self.end(agent, now, id),
        }
    }

    fn on_command(&mut self, agent: &mut Agent, now: Time, command: Command) {
        match command {
            Command::Capacity(link, capacity) => agent.handle(now, AgentEvent::Capacity(link, capacity)),
            Command::Report(tell) => {
                let (counts, view, is_clear) = (agent.counts(), agent.view(), agent.is_clear());
                let _ = tell.send(AgentReport { counts, view, is_clear });
            }
            Command::Open(id, ask, tell) => {
                self.clients.insert(id, Client::Own(tell));
                self.on_ask(agent, now, id, ask);
            }
            Command::Ask(id, ask) => self.on_ask(agent, now, id, ask),
        }
    }

    /// The sessions of the agent's own are always there.
    fn beat(&mut self, agent: &mut Agent, now: Time) {
        for (&id, client) in &self.clients {
            if let Client::Own(tell) = client {
                let ask = if tell.is_closed() { Ask::Leave } else { Ask::Here };
                agent.handle(now, AgentEvent::Ask(id, ask));
            }
        }
    }

    fn on_ask(&mut self, agent: &mut Agent, now: Time, id: ClientId, ask: Ask) {
        let Some(client) = self.clients.get(&id) else { return };
        let name = if let Client::Stream(name, _) = client { name } else { "" };
        match self.policy.admit(name, id, ask) {
            Ok(ask) => agent.handle(now, AgentEvent::Ask(id, ask)),
            Err(reason) => {
                client.tell(Answer::Refused { reason });
                self.forget_own(id);
            }
        }
    }

    /// Forgets a session of the agent's own, which was refused or has left.
    fn forget_own(&mut self, id: ClientId) {
        if matches!(self.clients.get(&id), Some(Client::Own(_))) {
            self.clients.remove(&id);
            self.policy.on_end(id);
        }
    }

    /// Handles the end of a stream, and of its session.
    fn end(&mut self, agent: &mut Agent, now: Time, id: ClientId) {
        self.clients.remove(&id);
        self.policy.on_end(id);
        agent.handle(now, AgentEvent::Ask(id, Ask::Leave));
    }

    /// Whether this is the present connection to a neighbour.
    fn is_of(&self, id: AgentId, number: u64) -> bool {
        self.hops.get(&id).is_some_and(|connection| connection.0 == number)
    }

    /// Carries out the actions of the agent.
    fn obey(&mut self, agent: &mut Agent, now: Time) {
        loop {
            let actions: Vec<Action> = agent.actions().collect();
            if actions.is_empty() {
                return;
            }
            for action in actions {
                self.act(agent, now, action);
            }
        }
    }

    fn act(&mut self, agent: &mut Agent, now: Time, action: Action) {
        match action {
            Action::Hop(id, message) => {
                let (Some((_, sender)), Ok(word)) = (self.hops.get(&id), encode(&message)) else { return };
                // A lost connection is reported soon, and the message is repeated on the next.
                if matches!(sender.try_send(word), Err(TrySendError::Full(_))) {
                    self.hops.remove(&id);
                    agent.handle(now, AgentEvent::Down(id));
                }
            }
            // The stream ends, and the connection with it.
            Action::Cut(id) => _ = self.hops.remove(&id),
            Action::Tell(id, answer) => {
                let Some(client) = self.clients.get(&id) else { return };
                let is_last = matches!(answer, Answer::Left | Answer::Refused { .. });
                if !client.tell(answer) {
                    // The application does not read: its stream ends, and it counts as gone.
                    self.end(agent, now, id);
                } else if is_last {
                    self.forget_own(id);
                }
            }
            Action::Link(owner, link, capacity) => {
                for (id, ask) in self.policy.on_link(owner, link, capacity) {
                    agent.handle(now, AgentEvent::Ask(id, ask));
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

/// The pace at which messages of one neighbour are read, so that none keeps the agent from the others.
struct Pace {
    window: Instant,
    messages: u32,
}

/// The most messages of a neighbour in a window.
const MOST_IN_WINDOW: u32 = 4000;
const WINDOW: Duration = Duration::from_millis(100);

impl Default for Pace {
    fn default() -> Self {
        Self { window: Instant::now(), messages: 0 }
    }
}

impl Pace {
    /// Waits until another message may be read.
    async fn wait(&mut self) {
        self.messages += 1;
        if self.messages <= MOST_IN_WINDOW {
            return;
        }
        tokio::time::sleep(WINDOW.saturating_sub(self.window.elapsed())).await;
        *self = Self { window: Instant::now(), messages: 1 };
    }
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
        let mut pace = Pace::default();
        loop {
            pace.wait().await;
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
                    Some(Guest::Application(name)) => serve_all(&connection, name.as_str().into(), tell, numbers).await,
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
async fn serve_all(connection: &Connection, name: Arc<str>, tell: mpsc::Sender<Event>, numbers: Arc<AtomicU64>) {
    let mut sessions = JoinSet::new();
    while let Ok((send, receive)) = connection.accept_bi().await {
        while sessions.try_join_next().is_some() {}
        let (name, tell, id) = (name.clone(), tell.clone(), ClientId(numbers.fetch_add(1, Ordering::Relaxed)));
        sessions.spawn(async move {
            let Err(_ended) = serve(send, receive, (id, name), &tell).await;
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
    (id, name): (ClientId, Arc<str>),
    tell: &mpsc::Sender<Event>,
) -> Result<Infallible, Ended> {
    let say = async |event| tell.send(event).await.map_err(|_| Ended::Over);
    say(Event::Came(id, name, sender(send))).await?;
    loop {
        let ask = read(&mut receive).await?;
        say(Event::Asked(id, ask)).await?;
    }
}
