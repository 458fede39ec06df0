//! The present connections of an agent, and what it does over them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use anabranch_agents::message::encode;
use anabranch_agents::{Action, Agent, AgentId, Answer, Ask, ClientId, Event as AgentEvent, HopMessage};
use anabranch_core::{Span, Time};
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

use super::messages::{Sender, close};
use super::policy::Policy;
use super::server::{AgentReport, Command};
use crate::quic::Connection;

/// An event on an agent's connections.
pub(super) enum Event {
    Up(AgentId, u64, Sender, Connection),
    Hop(AgentId, u64, HopMessage),
    Down(AgentId, u64),
    /// Nothing was heard since a time.
    Silent(AgentId, u64, Instant),
    Alive(AgentId, u64),
    Came(ClientId, Arc<str>, Sender),
    Asked(ClientId, Ask),
    Gone(ClientId),
}

/// The present connection to a neighbour.
struct Hop {
    number: u64,
    sender: Sender,
    connection: Connection,
}

impl Hop {
    /// Ends the connection, from which nothing more is heard.
    fn end(self, reason: &str) {
        close(&self.connection, reason);
    }
}

/// The present connections.
pub(super) struct Connections {
    hops: BTreeMap<AgentId, Hop>,
    clients: BTreeMap<ClientId, Client>,
    policy: Box<dyn Policy>,
    rerouting: Rerouting,
}

/// When sessions are asked whether they have to take other paths: that takes time, in which the agent does nothing else.
#[derive(Debug, Default)]
struct Rerouting {
    /// The time at which that is due, if links have changed.
    due: Option<Time>,
    /// The earliest time of the next.
    earliest: Time,
}

/// Time for which changes of links are gathered.
const GATHER: Span = Span::ms(10);

/// Least time between two searches for paths, and least multiple of the time that the last one took.
const REST: (Span, u64) = (Span::ms(100), 4);

/// Greatest time between two searches, in microseconds, however long the last one took.
const MOST_REST: u64 = 10_000_000;

/// Where the answers for a session go.
enum Client {
    /// Over a stream of an application of this name.
    Stream(Arc<str>, Sender),
    /// To a session without a stream, of the application of this name or of the agent itself.
    Own(Arc<str>, mpsc::Sender<Answer>),
}

impl Client {
    /// Passes an answer on; whether the other end still takes answers.
    fn tell(&self, answer: Answer) -> bool {
        match self {
            Self::Stream(_, sender) => match encode(&answer) {
                Ok(word) => !matches!(sender.try_send(word), Err(TrySendError::Full(_))),
                Err(_) => true,
            },
            Self::Own(_, sender) => sender.try_send(answer).is_ok(),
        }
    }
}

impl Connections {
    pub(super) fn new(policy: Box<dyn Policy>) -> Self {
        Self { hops: BTreeMap::new(), clients: BTreeMap::new(), policy, rerouting: Rerouting::default() }
    }

    pub(super) fn on_event(&mut self, agent: &mut Agent, now: Time, event: Event) {
        match event {
            Event::Up(id, number, sender, connection) => {
                if let Some(former) = self.hops.insert(id, Hop { number, sender, connection }) {
                    former.end("a newer connection takes its place");
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
            Event::Silent(id, number, since) if self.is_of(id, number) => {
                let silence = Span::from_seconds(since.elapsed().as_secs_f64()).unwrap_or_default();
                agent.handle(now, AgentEvent::Silent(id, Time(now.0.saturating_sub(silence.0))));
            }
            Event::Alive(id, number) if self.is_of(id, number) => agent.handle(now, AgentEvent::Alive(id)),
            Event::Hop(..) | Event::Down(..) | Event::Silent(..) | Event::Alive(..) => {}
            Event::Came(id, name, sender) => _ = self.clients.insert(id, Client::Stream(name, sender)),
            Event::Asked(id, ask) => self.on_ask(agent, now, id, ask),
            Event::Gone(id) => self.end(agent, now, id),
        }
    }

    pub(super) fn on_command(&mut self, agent: &mut Agent, now: Time, command: Command) {
        match command {
            Command::Capacity(link, capacity) => agent.handle(now, AgentEvent::Capacity(link, capacity)),
            Command::Report(tell) => _ = tell.send(AgentReport::of(agent)),
            Command::Open(id, name, ask, tell) => {
                self.clients.insert(id, Client::Own(name, tell));
                self.on_ask(agent, now, id, ask);
            }
            Command::Ask(id, ask) => self.on_ask(agent, now, id, ask),
            Command::Drain => self.drain(agent, now),
        }
    }

    /// Makes ready to end: others take paths that avoid the agent, and all sessions leave.
    fn drain(&mut self, agent: &mut Agent, now: Time) {
        agent.handle(now, AgentEvent::Drain);
        for &id in self.clients.keys() {
            agent.handle(now, AgentEvent::Ask(id, Ask::Leave));
        }
    }

    /// Sessions without streams are always there.
    pub(super) fn beat(&mut self, agent: &mut Agent, now: Time) {
        for (&id, client) in &self.clients {
            if let Client::Own(_, tell) = client {
                let ask = if tell.is_closed() { Ask::Leave } else { Ask::Here };
                agent.handle(now, AgentEvent::Ask(id, ask));
            }
        }
    }

    fn on_ask(&mut self, agent: &mut Agent, now: Time, id: ClientId, ask: Ask) {
        let Some(client) = self.clients.get(&id) else { return };
        let (Client::Stream(name, _) | Client::Own(name, _)) = client;
        match self.policy.admit(name, id, ask) {
            Ok(ask) => agent.handle(now, AgentEvent::Ask(id, ask)),
            Err(refusal) => {
                client.tell(refusal.into());
                self.forget_own(id);
            }
        }
    }

    /// Forgets a session without a stream, which was refused or has left.
    fn forget_own(&mut self, id: ClientId) {
        if matches!(self.clients.get(&id), Some(Client::Own(..))) {
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

    fn cut(&mut self, id: AgentId, reason: &str) {
        if let Some(hop) = self.hops.remove(&id) {
            hop.end(reason);
        }
    }

    /// Whether this is the present connection to a neighbour.
    fn is_of(&self, id: AgentId, number: u64) -> bool {
        self.hops.get(&id).is_some_and(|hop| hop.number == number)
    }

    /// The time at which [`Self::on_time`] has to be called.
    pub(super) fn next_at(&self) -> Option<Time> {
        self.rerouting.due
    }

    /// Has sessions take other paths, if that is due.
    pub(super) fn on_time(&mut self, agent: &mut Agent, now: Time) {
        if self.rerouting.due.is_none_or(|due| due > now) {
            return;
        }
        let begun = Instant::now();
        let asks = self.policy.reroute();
        let took = begun.elapsed().as_micros() as u64;
        let rest = Span::us(REST.1.saturating_mul(took).min(MOST_REST)).max(REST.0);
        self.rerouting = Rerouting { due: None, earliest: now + rest };
        for (id, ask) in asks {
            agent.handle(now, AgentEvent::Ask(id, ask));
        }
    }

    /// Carries out the actions of the agent.
    pub(super) fn obey(&mut self, agent: &mut Agent, now: Time) {
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
                let (Some(hop), Ok(word)) = (self.hops.get(&id), encode(&message)) else { return };
                // A lost connection is reported soon, and the message is repeated on the next.
                if matches!(hop.sender.try_send(word), Err(TrySendError::Full(_))) {
                    self.cut(id, "it takes no messages");
                    agent.handle(now, AgentEvent::Down(id));
                }
            }
            Action::Cut(id) => self.cut(id, "it sent what it may not, or is held off"),
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
                if self.policy.on_link(owner, link, capacity) {
                    self.rerouting.due.get_or_insert((now + GATHER).max(self.rerouting.earliest));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use anabranch_agents::{Refusal, Settings};

    use super::*;

    /// Counts how often paths are searched.
    struct Counting(Arc<AtomicUsize>);

    impl Policy for Counting {
        fn admit(&mut self, _: &str, _: ClientId, ask: Ask) -> Result<Ask, Refusal> {
            Ok(ask)
        }

        fn on_link(&mut self, _: AgentId, _: u32, _: f64) -> bool {
            true
        }

        fn reroute(&mut self) -> Vec<(ClientId, Ask)> {
            self.0.fetch_add(1, Ordering::Relaxed);
            Vec::new()
        }

        fn on_end(&mut self, _: ClientId) {}
    }

    #[test]
    fn paths_are_searched_once_for_many_links_and_no_more_than_ten_times_a_second() {
        let searches = Arc::new(AtomicUsize::new(0));
        let mut connections = Connections::new(Box::new(Counting(searches.clone())));
        let mut agent = Agent::new(Time(0), Settings::new(AgentId(1), 1, Vec::new()));
        let mut now = Time(0);
        // A second with a thousand links each millisecond.
        for _ in 0..1000 {
            for link in 0..1000 {
                connections.act(&mut agent, now, Action::Link(AgentId(0), link, 1e6));
            }
            connections.on_time(&mut agent, now);
            now = now + Span::ms(1);
        }
        let count = searches.load(Ordering::Relaxed);
        assert!((2..=11).contains(&count), "{count} searches");
        // What came last is not forgotten.
        now = now + Span::s(11);
        connections.on_time(&mut agent, now);
        assert!(searches.load(Ordering::Relaxed) > count && connections.next_at().is_none());
    }
}
