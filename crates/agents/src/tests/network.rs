//! A network of agents in virtual time.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

pub use anabranch_core::units::MILLISECOND;
use anabranch_core::{Rate, Span, Time};
use anabranch_proto::Protocol;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::message::{decode, encode};
use crate::rising::RISE;
use crate::{
    Action, Agent, AgentId, Answer, Ask, ClientId, Event, HopMessage, Instance, LinkSettings, Parcel, Payload,
    Settings, Step,
};

/// How long a message takes to a neighbour.
const DELAY: u64 = 5 * MILLISECOND;

/// How long neighbours are without a connection when one breaks.
const BREAK: u64 = 30 * MILLISECOND;

/// How much later a rate counts that rises, in milliseconds.
pub const LATE: u64 = RISE.0 / MILLISECOND;

pub const LEASE: Span = Span(500 * MILLISECOND);

/// How long an agent waits for a neighbour, also in milliseconds: longer than connections take to come back, and than rates
/// stay as they are after a renewal.
const PATIENCE: Span = Span(500 * MILLISECOND);
pub const GIVEN_UP: u64 = PATIENCE.0 / MILLISECOND;

/// How long a neighbour is away until others hear of it.
const SILENCE: Span = Span(100 * MILLISECOND);

/// How long rates stay as they are after a renewal, and in milliseconds.
const HOLD: Span = Span(120 * MILLISECOND);
pub const HELD: u64 = HOLD.0 / MILLISECOND;

/// The first message of a neighbour of this epoch.
pub fn hello(epoch: u64) -> HopMessage {
    let own = Instance { epoch, hop: 0 };
    HopMessage::Hello { own, heard: 0, of: Instance::default(), proof: Vec::new() }
}

#[derive(Debug)]
enum Coming {
    Message(AgentId, AgentId, Vec<u8>),
    Up(AgentId, AgentId),
}

/// A link: its number, where it begins and ends, and its capacity in Mbit/s.
pub type Link = (u32, u32, u32, f64);

/// Agents and what is between them.
pub struct Network {
    pub now: u64,
    links: Vec<Link>,
    protocol: Protocol,
    agents: BTreeMap<AgentId, Agent>,
    coming: BTreeMap<(u64, u64), Coming>,
    count: u64,
    /// Pairs with a connection, and the number of that.
    connections: BTreeMap<(AgentId, AgentId), u64>,
    /// Applications that say that they are there, and how they joined.
    alive: BTreeMap<(AgentId, ClientId), Ask>,
    /// What agents have heard of the links of others: who, whose, which, and the capacity.
    pub heard_of: BTreeMap<(AgentId, AgentId, u32), f64>,
    /// Pairs that have no connection for good.
    parted: BTreeSet<(AgentId, AgentId)>,
    /// The last answer of each that was granted rates, in Mbit/s.
    pub rates: BTreeMap<ClientId, Vec<f64>>,
    pub left: BTreeSet<ClientId>,
    pub refused: BTreeMap<ClientId, String>,
    /// The last messages that agents said, each with who said it.
    pub said: VecDeque<(AgentId, HopMessage)>,
    /// How many payloads each has heard on its present connection, or before it: the next has this number.
    heard: BTreeMap<(AgentId, AgentId), u64>,
    /// The greatest claims of a neighbour at each link of an agent that starts.
    pub claims: f64,
    /// The most packets of a neighbour on their way at an agent that starts.
    pub packets: usize,
    /// Of how many messages one breaks its connection.
    pub fragility: Option<u32>,
    /// An agent that lies, and of how many of its messages one is false.
    pub liar: Option<(AgentId, u32)>,
    /// What the liar has sent to each neighbour, to send it again.
    truths: Vec<(AgentId, Parcel)>,
    random: ChaCha8Rng,
    epoch: u64,
    /// The most messages that wait for a neighbour.
    waiting: usize,
}

impl Network {
    pub fn new(protocol: Protocol, agents: u32, links: &[Link]) -> Self {
        let mut network = Self {
            now: 0,
            links: links.to_vec(),
            protocol,
            agents: BTreeMap::new(),
            coming: BTreeMap::new(),
            count: 0,
            connections: BTreeMap::new(),
            alive: BTreeMap::new(),
            heard_of: BTreeMap::new(),
            parted: BTreeSet::new(),
            rates: BTreeMap::new(),
            left: BTreeSet::new(),
            refused: BTreeMap::new(),
            said: VecDeque::new(),
            heard: BTreeMap::new(),
            claims: 1e6,
            packets: 1 << 16,
            fragility: None,
            liar: None,
            truths: Vec::new(),
            random: ChaCha8Rng::seed_from_u64(1),
            epoch: 0,
            waiting: 1000,
        };
        (0..agents).for_each(|id| network.start(AgentId(id)));
        for (a, b) in network.pairs() {
            network.connect(a, b);
        }
        network
    }

    /// Chance is to be that of a seed.
    pub fn seed(&mut self, seed: u64) {
        self.random = ChaCha8Rng::seed_from_u64(seed);
    }

    /// Who is next to whom.
    pub fn pairs(&self) -> BTreeSet<(AgentId, AgentId)> {
        self.links.iter().map(|&(_, from, to, _)| (AgentId(from.min(to)), AgentId(from.max(to)))).collect()
    }

    fn start(&mut self, id: AgentId) {
        self.epoch += 1;
        let own = self.links.iter().filter(|link| link.1 == id.0);
        let other = |(a, b): (AgentId, AgentId)| (a == id).then_some(b).or_else(|| (b == id).then_some(a));
        let settings = Settings {
            links: own
                .map(|&(link, _, to, mbps)| LinkSettings {
                    claims: self.claims,
                    ..LinkSettings::new(link, AgentId(to), Rate(mbps * 1e6))
                })
                .collect(),
            neighbours: self.pairs().into_iter().filter_map(other).collect(),
            gap: Span(MILLISECOND),
            lease: LEASE,
            clients: 2000,
            waiting: self.waiting,
            packets: self.packets,
            silence: SILENCE,
            patience: PATIENCE,
            hold: HOLD,
            has_run: self.agents.contains_key(&id),
            ..Settings::new(id, self.epoch, vec![self.protocol.clone()])
        };
        self.agents.insert(id, Agent::new(Time(self.now), settings));
    }

    /// An agent ends without a word, and comes back with nothing but its settings; its neighbours call it one after the
    /// other, and its applications join again.
    pub fn restart(&mut self, id: u32) {
        let id = AgentId(id);
        self.start(id);
        let own: Vec<_> = self.pairs().into_iter().filter(|&(a, b)| a == id || b == id).collect();
        own.into_iter()
            .filter(|pair| self.connections.contains_key(pair))
            .collect::<Vec<_>>()
            .into_iter()
            .for_each(|pair| self.cut(pair));
        let joins: Vec<_> =
            self.alive.iter().filter(|((agent, _), _)| *agent == id).map(|(who, ask)| (who.1, ask.clone())).collect();
        for (client, ask) in joins {
            self.handle(id, Event::Ask(client, ask));
        }
    }

    fn push(&mut self, at: u64, coming: Coming) {
        self.count += 1;
        self.coming.insert((at, self.count), coming);
    }

    fn connect(&mut self, a: AgentId, b: AgentId) {
        // A pair that was mended has a connection before its next attempt.
        if self.connections.contains_key(&(a, b)) {
            return;
        }
        self.count += 1;
        self.connections.insert((a, b), self.count);
        for (own, other) in [(a, b), (b, a)] {
            self.handle(own, Event::Up(other));
        }
    }

    /// A connection breaks with all that is on its way, and comes back later.
    pub fn cut(&mut self, pair: (AgentId, AgentId)) {
        if self.connections.remove(&pair).is_none() {
            return;
        }
        let is_of = |from: AgentId, to: AgentId| (from.min(to), from.max(to)) == pair;
        self.coming.retain(|_, coming| !matches!(coming, Coming::Message(from, to, _) if is_of(*from, *to)));
        for (own, other) in [(pair.0, pair.1), (pair.1, pair.0)] {
            self.handle(own, Event::Down(other));
        }
        let again = self.random.random_range(BREAK / 2..2 * BREAK);
        if self.parted.contains(&pair) {
            return;
        }
        self.push(self.now + again, Coming::Up(pair.0, pair.1));
    }

    /// A connection breaks for good, until [`Self::mend`].
    pub fn part(&mut self, a: u32, b: u32) {
        let pair = (AgentId(a.min(b)), AgentId(a.max(b)));
        self.parted.insert(pair);
        self.cut(pair);
    }

    /// A pair that parted has a connection again.
    pub fn mend(&mut self, a: u32, b: u32) {
        let pair = (AgentId(a.min(b)), AgentId(a.max(b)));
        self.parted.remove(&pair);
        self.connect(pair.0, pair.1);
    }

    /// An agent ends for good, with its applications.
    pub fn end(&mut self, id: u32) {
        let id = AgentId(id);
        self.alive.retain(|&(agent, _), _| agent != id);
        let own: Vec<_> = self.pairs().into_iter().filter(|&(a, b)| a == id || b == id).collect();
        for (a, b) in own {
            self.part(a.0, b.0);
        }
        self.agents.remove(&id);
    }

    fn handle(&mut self, id: AgentId, event: Event) {
        let Some(agent) = self.agents.get_mut(&id) else { return };
        agent.handle(Time(self.now), event);
        self.obey(id);
    }

    fn obey(&mut self, id: AgentId) {
        let Some(agent) = self.agents.get_mut(&id) else { return };
        let actions: Vec<Action> = agent.actions().collect();
        for action in actions {
            match action {
                Action::Hop(to, message) => self.say(id, to, &message),
                Action::Link(agent, link, capacity) => _ = self.heard_of.insert((id, agent, link), capacity),
                Action::Cut(other) => self.cut((id.min(other), id.max(other))),
                Action::Tell(client, Answer::Granted { rates }) => {
                    self.rates.insert(client, rates.iter().map(|rate| rate / 1e6).collect());
                }
                Action::Tell(_, Answer::Paths { .. }) => {}
                Action::Tell(client, Answer::Left) => _ = self.left.insert(client),
                Action::Tell(client, Answer::Refused { reason, .. }) => _ = self.refused.insert(client, reason),
            }
        }
    }

    fn say(&mut self, from: AgentId, to: AgentId, message: &HopMessage) {
        let pair = (from.min(to), from.max(to));
        if !self.connections.contains_key(&pair) {
            return;
        }
        let message = &self.perhaps_false(from, to, message);
        let bytes = encode(message).unwrap();
        self.said.push_back((from, message.clone()));
        if self.said.len() > 100 {
            self.said.pop_front();
        }
        self.push(self.now + DELAY, Coming::Message(from, to, bytes[2..].to_vec()));
        if self.fragility.is_some_and(|one_in| self.random.random_range(0..one_in) == 0) {
            self.cut(pair);
        }
    }

    /// What an agent says, or a lie in its place: an earlier packet again, or one in which something is other.
    fn perhaps_false(&mut self, from: AgentId, to: AgentId, message: &HopMessage) -> HopMessage {
        let (Some((liar, one_in)), HopMessage::Payload { number, payload: Payload::Parcel(parcel) }) =
            (self.liar, message)
        else {
            return message.clone();
        };
        if from != liar || self.random.random_range(0..one_in) != 0 {
            if from == liar && self.truths.len() < 1000 {
                self.truths.push((to, parcel.clone()));
            }
            return message.clone();
        }
        let earlier: Vec<&Parcel> =
            self.truths.iter().filter(|(other, _)| *other == to).map(|(_, parcel)| parcel).collect();
        if !earlier.is_empty() && self.random.random_range(0..3) == 0 {
            let parcel = earlier[self.random.random_range(0..earlier.len())].clone();
            return HopMessage::Payload { number: *number, payload: Payload::Parcel(parcel) };
        }
        // A byte is other; what cannot be read is not sent.
        let body = encode(message).unwrap()[2..].to_vec();
        let is_parcel = |told: &HopMessage| matches!(told, HopMessage::Payload { number: n, payload: Payload::Parcel(_) } if n == number);
        for _ in 0..100 {
            let mut lie = body.clone();
            let place = self.random.random_range(2..lie.len());
            lie[place] ^= self.random.random_range(1..=255);
            if let Ok(told) = decode::<HopMessage>(&lie)
                && is_parcel(&told)
            {
                return told;
            }
        }
        message.clone()
    }

    /// An application at an agent asks.
    pub fn ask(&mut self, agent: u32, client: u64, ask: Ask) {
        let (agent, client) = (AgentId(agent), ClientId(client));
        match &ask {
            Ask::Join { .. } => _ = self.alive.insert((agent, client), ask.clone()),
            Ask::Leave => _ = self.alive.remove(&(agent, client)),
            _ => {}
        }
        self.handle(agent, Event::Ask(client, ask));
    }

    /// Paths from an agent, each a list of links.
    fn paths(&self, agent: u32, paths: &[&[u32]]) -> Vec<(Vec<Step>, AgentId)> {
        let known = |number: u32| self.links.iter().find(|link| link.0 == number).copied();
        let step = |&number: &u32| {
            let from = known(number).map_or(agent, |link| link.1);
            Step { agent: AgentId(from), link: number }
        };
        let path = |links: &&[u32]| {
            let end = known(links[links.len() - 1]).map_or(agent, |link| link.2);
            (links.iter().map(step).collect(), AgentId(end))
        };
        paths.iter().map(path).collect()
    }

    /// An application joins over these paths.
    pub fn join(&mut self, agent: u32, client: u64, demand: f64, paths: &[&[u32]]) {
        let paths = self.paths(agent, paths);
        self.ask(agent, client, Ask::Join { protocol: 0, claim: 1.0, reserved: 0.0, demand: demand * 1e6, paths });
    }

    /// An application joins over these paths with a reserved part.
    pub fn join_with(&mut self, agent: u32, client: u64, reserved: f64, paths: &[&[u32]]) {
        let (paths, reserved, demand) = (self.paths(agent, paths), reserved * 1e6, f64::INFINITY);
        self.ask(agent, client, Ask::Join { protocol: 0, claim: 1.0, reserved, demand, paths });
    }

    /// An application is given other paths.
    pub fn take_paths(&mut self, agent: u32, client: u64, paths: &[&[u32]]) {
        let paths = self.paths(agent, paths);
        self.ask(agent, client, Ask::Paths { paths });
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
                for (agent, client) in self.alive.keys().copied().collect::<Vec<_>>() {
                    self.handle(agent, Event::Ask(client, Ask::Here));
                }
            } else if message == Some(next) {
                match self.coming.pop_first().unwrap().1 {
                    Coming::Message(from, to, bytes) => {
                        let message = decode(&bytes).unwrap();
                        if let HopMessage::Payload { number, .. } = &message {
                            self.heard.insert((to, from), number + 1);
                        }
                        self.handle(to, Event::Hop(from, message));
                    }
                    Coming::Up(a, b) if !self.parted.contains(&(a, b)) => self.connect(a, b),
                    Coming::Up(..) => {}
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

    /// A link can carry more or less.
    pub fn set_capacity(&mut self, link: u32, mbps: f64) {
        let from = self.links.iter().find(|known| known.0 == link).unwrap().1;
        self.handle(AgentId(from), Event::Capacity(link, Rate(mbps * 1e6)));
    }

    /// An agent hears something from a neighbour that this has not said.
    pub fn forge(&mut self, to: u32, from: u32, message: HopMessage) {
        self.handle(AgentId(to), Event::Hop(AgentId(from), message));
    }

    /// The number of the next payload that an agent hears from a neighbour.
    pub fn heard_from(&self, own: u32, other: u32) -> u64 {
        self.heard.get(&(AgentId(own), AgentId(other))).copied().unwrap_or(0)
    }

    /// An agent as it is.
    pub fn into_agent(mut self, id: u32) -> Agent {
        self.agents.remove(&AgentId(id)).unwrap()
    }

    pub fn are_clear(&self) -> bool {
        self.agents.values().all(Agent::is_clear)
    }

    pub fn agent(&self, id: u32) -> &Agent {
        &self.agents[&AgentId(id)]
    }
}
