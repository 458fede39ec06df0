//! A network of agents in virtual time.

use std::collections::{BTreeMap, BTreeSet};

use anabranch_core::{Rate, Span, Time};
use anabranch_proto::Protocol;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::message::{decode, encode};
use crate::{Action, Agent, AgentId, Answer, Ask, ClientId, Event, HopMessage, LinkSettings, Settings, Step};

pub const MILLISECOND: u64 = 1_000_000_000;

/// How long a message takes to a neighbour.
const DELAY: u64 = 5 * MILLISECOND;

/// How long neighbours are without a connection when one breaks.
const BREAK: u64 = 30 * MILLISECOND;

pub const LEASE: Span = Span(500 * MILLISECOND);

#[derive(Debug)]
enum Coming {
    Message(AgentId, AgentId, Vec<u8>),
    Up(AgentId, AgentId),
}

/// Agents in a row, 0 to the last, with links from each to the next: link number, from, Mbit/s.
pub struct Row {
    pub now: u64,
    links: Vec<(u32, u32, f64)>,
    protocol: Protocol,
    agents: BTreeMap<AgentId, Agent>,
    coming: BTreeMap<(u64, u64), Coming>,
    count: u64,
    /// Pairs with a connection, and the number of that.
    connections: BTreeMap<(AgentId, AgentId), u64>,
    /// Applications that say that they are there.
    alive: BTreeSet<(AgentId, ClientId)>,
    /// The last answer of each that was granted rates, in Mbit/s.
    pub rates: BTreeMap<ClientId, Vec<f64>>,
    pub left: BTreeSet<ClientId>,
    pub refused: BTreeMap<ClientId, String>,
    /// Of how many messages one breaks its connection.
    pub fragility: Option<u32>,
    random: ChaCha8Rng,
    epoch: u64,
}

impl Row {
    pub fn new(protocol: Protocol, agents: u32, links: &[(u32, u32, f64)]) -> Self {
        let mut row = Self {
            now: 0,
            links: links.to_vec(),
            protocol,
            agents: BTreeMap::new(),
            coming: BTreeMap::new(),
            count: 0,
            connections: BTreeMap::new(),
            alive: BTreeSet::new(),
            rates: BTreeMap::new(),
            left: BTreeSet::new(),
            refused: BTreeMap::new(),
            fragility: None,
            random: ChaCha8Rng::seed_from_u64(1),
            epoch: 0,
        };
        for id in 0..agents {
            row.start(AgentId(id), agents);
        }
        for id in 1..agents {
            row.connect(AgentId(id - 1), AgentId(id));
        }
        row
    }

    fn start(&mut self, id: AgentId, agents: u32) {
        self.epoch += 1;
        let own = self.links.iter().filter(|link| link.1 == id.0);
        let settings = Settings {
            id,
            epoch: self.epoch,
            protocols: vec![self.protocol.clone()],
            links: own
                .map(|&(link, from, mbps)| LinkSettings { link, to: AgentId(from + 1), capacity: Rate(mbps * 1e6) })
                .collect(),
            neighbours: [id.0.checked_sub(1), Some(id.0 + 1).filter(|&next| next < agents)]
                .into_iter()
                .flatten()
                .map(AgentId)
                .collect(),
            gap: Span(MILLISECOND),
            lease: LEASE,
            clients: 100,
        };
        self.agents.insert(id, Agent::new(settings));
    }

    /// An agent ends without a word, and comes back with nothing but its settings.
    pub fn restart(&mut self, id: u32) {
        let agents = self.agents.len() as u32;
        self.start(AgentId(id), agents);
        self.alive.retain(|(agent, _)| agent.0 != id);
        for other in [id.wrapping_sub(1), id + 1] {
            let pair = (AgentId(id.min(other)), AgentId(id.max(other)));
            if self.connections.contains_key(&pair) {
                self.cut(pair);
            }
        }
    }

    fn push(&mut self, at: u64, coming: Coming) {
        self.count += 1;
        self.coming.insert((at, self.count), coming);
    }

    fn connect(&mut self, a: AgentId, b: AgentId) {
        self.count += 1;
        self.connections.insert((a, b), self.count);
        for (own, other) in [(a, b), (b, a)] {
            self.handle(own, Event::Up(other));
        }
    }

    /// A connection breaks with all that is on its way, and comes back later.
    fn cut(&mut self, pair: (AgentId, AgentId)) {
        self.connections.remove(&pair);
        let is_of = |from: AgentId, to: AgentId| (from.min(to), from.max(to)) == pair;
        self.coming.retain(|_, coming| !matches!(coming, Coming::Message(from, to, _) if is_of(*from, *to)));
        for (own, other) in [(pair.0, pair.1), (pair.1, pair.0)] {
            self.handle(own, Event::Down(other));
        }
        self.push(self.now + BREAK, Coming::Up(pair.0, pair.1));
    }

    fn handle(&mut self, id: AgentId, event: Event) {
        let agent = self.agents.get_mut(&id).unwrap();
        agent.handle(Time(self.now), event);
        self.obey(id);
    }

    fn obey(&mut self, id: AgentId) {
        let actions: Vec<Action> = self.agents.get_mut(&id).unwrap().actions().collect();
        for action in actions {
            match action {
                Action::Hop(to, message) => self.say(id, to, &message),
                Action::Cut(_) => panic!("nobody says what cannot be"),
                Action::Tell(client, Answer::Granted { rates }) => {
                    self.rates.insert(client, rates.iter().map(|rate| rate / 1e6).collect());
                }
                Action::Tell(client, Answer::Left) => _ = self.left.insert(client),
                Action::Tell(client, Answer::Refused { reason }) => _ = self.refused.insert(client, reason),
            }
        }
    }

    fn say(&mut self, from: AgentId, to: AgentId, message: &HopMessage) {
        let pair = (from.min(to), from.max(to));
        if !self.connections.contains_key(&pair) {
            return;
        }
        let bytes = encode(message).unwrap();
        self.push(self.now + DELAY, Coming::Message(from, to, bytes[2..].to_vec()));
        if self.fragility.is_some_and(|one_in| self.random.random_range(0..one_in) == 0) {
            self.cut(pair);
        }
    }

    /// An application at an agent asks.
    pub fn ask(&mut self, agent: u32, client: u64, ask: Ask) {
        let (agent, client) = (AgentId(agent), ClientId(client));
        self.alive.insert((agent, client));
        self.handle(agent, Event::Ask(client, ask));
    }

    /// An application that joins over these paths, each a list of links.
    pub fn join(&mut self, agent: u32, client: u64, demand: f64, paths: &[&[u32]]) {
        let step = |&link: &u32| {
            let from = self.links.iter().find(|known| known.0 == link).map_or(agent, |known| known.1);
            Step { agent: AgentId(from), link }
        };
        let path = |links: &&[u32]| {
            let steps: Vec<Step> = links.iter().map(step).collect();
            let end = AgentId(steps.last().unwrap().agent.0 + 1);
            (steps, end)
        };
        let paths = paths.iter().map(path).collect();
        self.ask(agent, client, Ask::Join { protocol: 0, claim: 1.0, demand: demand * 1e6, paths });
    }

    /// An application says no more that it is there.
    pub fn kill(&mut self, agent: u32, client: u64) {
        self.alive.remove(&(AgentId(agent), ClientId(client)));
    }

    /// Lets time pass; every grant of every moment goes to `watch`.
    pub fn pass(&mut self, milliseconds: u64, mut watch: impl FnMut(&BTreeMap<ClientId, Vec<f64>>)) {
        let end = self.now + milliseconds * MILLISECOND;
        let mut beat = self.now;
        loop {
            let message = self.coming.first_key_value().map(|(&(at, _), _)| at);
            let due = self.agents.iter().filter_map(|(&id, agent)| Some((agent.next_at()?.0.max(self.now), id))).min();
            let next = [message, due.map(|due| due.0), Some(beat)].into_iter().flatten().min().unwrap();
            if next > end {
                self.now = end;
                return;
            }
            self.now = next;
            if next == beat {
                beat += LEASE.0 / 4;
                for (agent, client) in self.alive.clone() {
                    self.handle(agent, Event::Ask(client, Ask::Here));
                }
            } else if message == Some(next) {
                match self.coming.pop_first().unwrap().1 {
                    Coming::Message(from, to, bytes) => self.handle(to, Event::Hop(from, decode(&bytes).unwrap())),
                    Coming::Up(a, b) => self.connect(a, b),
                }
            } else if let Some((_, id)) = due {
                self.agents.get_mut(&id).unwrap().on_time(Time(self.now));
                self.obey(id);
            }
            watch(&self.rates);
        }
    }

    /// The rates of an application in Mbit/s.
    pub fn of(&self, client: u64) -> &[f64] {
        &self.rates[&ClientId(client)]
    }

    pub fn are_clear(&self) -> bool {
        self.agents.values().all(Agent::is_clear)
    }

    pub fn agent(&self, id: u32) -> &Agent {
        &self.agents[&AgentId(id)]
    }
}
