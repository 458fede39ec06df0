//! The server of an agent: its connections to neighbours and applications, and its clock.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anabranch_agents::{Agent, AgentId, Answer, Ask, ClientId, Counts, Settings, View};
use anabranch_core::{Rate, Time};
use nix::time::{ClockId, clock_gettime};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval};

use super::connections::Connections;
use super::doors::{Limits, keep_door, taking};
use super::hops::{Caller, Talk, keep_hop};
use super::mutual::Peers;
use super::policy::Policy;
use super::questions::Answering;
use super::{LEASE, SILENCE};
use crate::quic::Endpoint;
use crate::security::Identity;
use crate::session::{SessionError, endpoint};
use crate::sockets::Sockets;

/// The most events that wait to be handled; readers of streams wait when there are more.
const MOST_WAITING: usize = 1024;

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
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
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

/// The certificates of an agent and of those around it, in the order of its [`Service`].
#[derive(Clone, Debug)]
pub struct Trust {
    /// Certificate of the agent, with its key.
    pub identity: Arc<Identity>,
    /// Those whom the agent calls.
    pub calls: Vec<Peers<()>>,
    /// Those who may call, for each door.
    pub doors: Vec<Peers<Guest>>,
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
    /// Processor time that it took to gather this.
    pub took: Duration,
}

impl AgentReport {
    pub(super) fn of(agent: &mut Agent) -> Self {
        let begun = processor_time();
        let (counts, view, is_clear) = (agent.counts(), agent.view(), agent.is_clear());
        Self { counts, view, is_clear, took: processor_time().saturating_sub(begun) }
    }
}

/// Processor time of the present thread so far, or none where the system does not tell.
pub fn processor_time() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(Duration::ZERO, Duration::from)
}

/// The server of an agent, with its sockets.
pub struct AgentServer {
    agent: Agent,
    calls: Vec<(Call, Endpoint)>,
    places: Arc<Places>,
    start: Instant,
    numbers: Arc<AtomicU64>,
    policy: Box<dyn Policy>,
    commands: mpsc::UnboundedReceiver<Command>,
    answering: Option<Answering>,
}

/// A handle to a running agent.
#[derive(Clone, Debug)]
pub struct AgentHandle {
    commands: mpsc::UnboundedSender<Command>,
    numbers: Arc<AtomicU64>,
    places: Arc<Places>,
}

/// What the tasks of connections know of the others, which can change.
#[derive(Debug)]
struct Places {
    calls: Vec<watch::Sender<Arc<Caller>>>,
    doors: Vec<(watch::Sender<Arc<Peers<Guest>>>, Endpoint)>,
}

#[derive(Debug)]
pub(super) enum Command {
    Capacity(u32, Rate),
    Report(oneshot::Sender<AgentReport>),
    Open(ClientId, Arc<str>, Ask, mpsc::Sender<Answer>),
    Ask(ClientId, Ask),
    Drain,
}

/// Greatest number of answers that wait for a session that was opened; with more it counts as gone.
const MOST_ANSWERS: usize = 1024;

impl AgentHandle {
    /// Reports a new capacity of a link to the agent.
    pub fn set_capacity(&self, link: u32, capacity: Rate) {
        // An agent that has ended needs no report.
        let _ = self.commands.send(Command::Capacity(link, capacity));
    }

    /// Opens a session that needs no connection, for an application or, without a name, for the agent itself. The answers
    /// end when the session has ended.
    pub fn open(&self, application: &str, ask: Ask) -> (ClientId, mpsc::Receiver<Answer>) {
        let id = ClientId(self.numbers.fetch_add(1, Ordering::Relaxed));
        let (tell, answers) = mpsc::channel(MOST_ANSWERS);
        let _ = self.commands.send(Command::Open(id, application.into(), ask, tell));
        (id, answers)
    }

    /// Asks something for a session that was opened.
    pub fn ask(&self, session: ClientId, ask: Ask) {
        let _ = self.commands.send(Command::Ask(session, ask));
    }

    /// Makes ready to end: paths over the links of the agent are avoided, and all its sessions leave.
    pub fn drain(&self) {
        let _ = self.commands.send(Command::Drain);
    }

    /// Replaces the certificates. Connections with those who are not expected any longer end; the others stay.
    ///
    /// # Errors
    /// Returns an error if a certificate cannot be used; nothing changes then.
    ///
    /// # Panics
    /// Panics if the numbers of calls and doors are others than at the start.
    pub fn set_trust(&self, trust: Trust) -> Result<(), SessionError> {
        let Trust { identity, calls, doors } = trust;
        let Places { calls: callers, doors: places } = &*self.places;
        assert_eq!((calls.len(), doors.len()), (callers.len(), places.len()));
        let doors: Vec<_> = doors.into_iter().map(Arc::new).collect();
        let configs: Result<Vec<_>, SessionError> =
            doors.iter().map(|guests| taking(&identity, guests.clone())).collect();
        for ((config, guests), (place, endpoint)) in configs?.into_iter().zip(doors).zip(places) {
            endpoint.set_server_config(Some(config));
            place.send_replace(guests);
        }
        for (who, place) in calls.into_iter().zip(callers) {
            place.send_replace(Arc::new(Caller { identity: identity.clone(), who: Arc::new(who) }));
        }
        Ok(())
    }

    /// Asks the agent for its report; `None` if the agent has ended.
    pub async fn report(&self) -> Option<AgentReport> {
        let (tell, told) = oneshot::channel();
        self.commands.send(Command::Report(tell)).ok()?;
        told.await.ok()
    }
}

impl AgentServer {
    /// Binds the sockets of an agent. Must be called in a tokio runtime.
    pub async fn bind(service: Service, policy: Box<dyn Policy>) -> Result<(Self, AgentHandle), SessionError> {
        let Service { settings, identity, calls: wanted, doors: wanted_doors } = service;
        let mut places = Places { calls: Vec::new(), doors: Vec::new() };
        let mut calls = Vec::new();
        for call in wanted {
            let sockets = Sockets::bind(&[call.local.into()]).await?;
            let caller = Caller { identity: identity.clone(), who: Arc::new(call.who.clone()) };
            places.calls.push(watch::Sender::new(Arc::new(caller)));
            calls.push((call, endpoint(sockets, None)?));
        }
        for Door { local, guests } in wanted_doors {
            let guests = Arc::new(guests);
            let config = taking(&identity, guests.clone())?;
            let endpoint = endpoint(Sockets::bind(&[local.into()]).await?, Some(config))?;
            places.doors.push((watch::Sender::new(guests), endpoint));
        }
        let (handle, commands) = mpsc::unbounded_channel();
        let agent = Agent::new(Time(0), settings);
        let (numbers, places) = (Arc::new(AtomicU64::new(0)), Arc::new(places));
        let handle = AgentHandle { commands: handle, numbers: numbers.clone(), places: places.clone() };
        let (start, answering) = (Instant::now(), None);
        Ok((Self { agent, calls, places, start, numbers, policy, commands, answering }, handle))
    }

    /// Answers questions of applications.
    #[must_use]
    pub fn answering(self, answering: Answering) -> Self {
        Self { answering: Some(answering), ..self }
    }

    /// The state of the agent.
    pub fn report(&mut self) -> AgentReport {
        AgentReport::of(&mut self.agent)
    }

    /// Serves until it is dropped, or for half a year: then the time of protocols comes to its end, and the agent has to
    /// start again.
    pub async fn run(mut self) {
        let (tell, mut events) = mpsc::channel(MOST_WAITING);
        let numbers = self.numbers.clone();
        let mut tasks = JoinSet::new();
        for ((call, endpoint), caller) in std::mem::take(&mut self.calls).into_iter().zip(&self.places.calls) {
            let talk = Talk { id: call.id, tell: tell.clone(), numbers: numbers.clone() };
            tasks.spawn(keep_hop(call.remote, endpoint, caller.subscribe(), talk));
        }
        for (guests, endpoint) in &self.places.doors {
            let tell = (tell.clone(), numbers.clone());
            tasks.spawn(keep_door(
                endpoint.clone(),
                guests.subscribe(),
                Limits::default(),
                tell,
                self.answering.clone(),
            ));
        }
        let start = self.start;
        let mut connections = Connections::new(self.policy);
        let mut beat = interval(LEASE / 4);
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while start.elapsed() < LONGEST {
            let next = self.agent.next_at().into_iter().chain(connections.next_at()).min();
            let next = next.map(|next| start + Duration::from_secs_f64(next.seconds()));
            let next = next.unwrap_or_else(|| Instant::now() + SILENCE);
            tokio::select! {
                Some(event) = events.recv() => connections.on_event(&mut self.agent, time(start), event),
                Some(command) = self.commands.recv() => connections.on_command(&mut self.agent, time(start), command),
                _ = beat.tick() => connections.beat(&mut self.agent, time(start)),
                () = tokio::time::sleep_until(next.into()) => {}
                else => return,
            }
            self.agent.on_time(time(start));
            connections.on_time(&mut self.agent, time(start));
            connections.obey(&mut self.agent, time(start));
        }
    }
}

/// The longest time that an agent runs; `Time` ends after 213 days.
const LONGEST: Duration = Duration::from_hours(180 * 24);

/// The time since a start.
pub(super) fn time(start: Instant) -> Time {
    Time::from_seconds(start.elapsed().as_secs_f64()).unwrap_or_default()
}
