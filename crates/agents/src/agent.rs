//! An agent: a state machine that is told what happens and says what to do.

use std::collections::{BTreeMap, VecDeque};

use anabranch_core::{Rate, Span, Time};
use anabranch_proto::Protocol;

use crate::counts::Counts;
use crate::hop::{Heard, Hop};
pub use crate::links::LinkSettings;
use crate::links::Links;
use crate::message::{AgentId, Answer, Ask, ClientId, Fate, HopMessage, Parcel, Payload, Step};
use crate::returns::Returns;
use crate::session::{Beginning, Session};

/// What an agent is made of.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Its number in the network.
    pub id: AgentId,
    /// A greater one each time that the agent starts, and not 0: the time is one.
    pub epoch: u64,
    /// The protocols that the network serves, in the same order at every agent.
    pub protocols: Vec<Protocol>,
    /// The links that leave its node.
    pub links: Vec<LinkSettings>,
    /// The agents of the nodes around.
    pub neighbours: Vec<AgentId>,
    /// Between two packets of a path there is so much time at the least.
    pub gap: Span,
    /// An application that has not said anything for so long is gone.
    pub lease: Span,
    /// The most applications at a time.
    pub clients: usize,
    /// The most messages that wait for a neighbour which is away.
    pub waiting: usize,
}

/// What happens to an agent.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// There is a connection to a neighbour, instead of any that there was.
    Up(AgentId),
    /// There is none any more.
    Down(AgentId),
    /// A neighbour says something.
    Hop(AgentId, HopMessage),
    /// An application asks for something.
    Ask(ClientId, Ask),
    /// A link can carry more or less.
    Capacity(u32, Rate),
}

/// What an agent wants done, in this order.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Say something to a neighbour, on the connection that there is.
    Hop(AgentId, HopMessage),
    /// End the connection to a neighbour, which says what cannot be.
    Cut(AgentId),
    /// Say something to an application.
    Tell(ClientId, Answer),
}

/// What an agent knows of an application.
struct Client {
    session: Session,
    heard: Time,
}

/// An agent.
pub struct Agent {
    settings: Settings,
    links: Links,
    hops: BTreeMap<AgentId, Hop>,
    clients: BTreeMap<ClientId, Client>,
    returns: Returns,
    actions: VecDeque<Action>,
    /// Whether more waits for a neighbour than may.
    has_too_much: bool,
    counts: Counts,
}

impl Agent {
    /// An agent that has begun just now.
    pub fn new(settings: Settings) -> Self {
        let hops = settings.neighbours.iter().map(|&id| (id, Hop::new(settings.epoch))).collect();
        let links = Links::new(&settings.links, settings.protocols.clone());
        let (clients, returns, actions) = (BTreeMap::new(), Returns::default(), VecDeque::new());
        Self { settings, links, hops, clients, returns, actions, has_too_much: false, counts: Counts::default() }
    }

    /// Takes note of what happened.
    pub fn handle(&mut self, now: Time, event: Event) {
        match event {
            Event::Up(id) => {
                if let Some(hop) = self.hops.get_mut(&id) {
                    self.actions.push_back(Action::Hop(id, hop.on_up()));
                }
            }
            Event::Down(id) => {
                if let Some(hop) = self.hops.get_mut(&id) {
                    hop.on_down();
                }
            }
            Event::Hop(id, message) => self.on_hop(now, id, message),
            Event::Ask(id, ask) => self.on_ask(now, id, ask),
            Event::Capacity(link, capacity) => self.links.set_capacity(link, capacity),
        }
        if self.has_too_much {
            self.begin_anew(now);
        }
    }

    /// When [`Self::on_time`] is to be called, if nothing happens before.
    pub fn next_at(&self) -> Option<Time> {
        let lease = self.settings.lease;
        let next = |client: &Client| {
            let lapse = client.heard + lease;
            client.session.next_at().map_or(lapse, |next| next.min(lapse))
        };
        self.clients.values().map(next).min()
    }

    /// Does what is due.
    pub fn on_time(&mut self, now: Time) {
        let ids: Vec<ClientId> = self.clients.keys().copied().collect();
        for id in ids {
            let Some(client) = self.clients.get_mut(&id) else { continue };
            if client.heard + self.settings.lease <= now {
                self.counts.lapsed += u64::from(!client.session.is_leaving());
                // Until it has left it is looked after by nobody else.
                client.heard = now;
                client.session.leave(now);
            }
            client.session.on_time(now);
            self.settle(now, id);
        }
        if self.has_too_much {
            self.begin_anew(now);
        }
    }

    /// What it wants done since it was last asked.
    pub fn actions(&mut self) -> impl Iterator<Item = Action> {
        self.actions.drain(..)
    }

    /// What happened so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Whether its links hold nothing of any session.
    pub fn is_clear(&self) -> bool {
        self.links.are_clear()
    }

    fn on_hop(&mut self, now: Time, id: AgentId, message: HopMessage) {
        let Some(hop) = self.hops.get_mut(&id) else { return };
        let mut out = Vec::new();
        let heard = hop.on_message(message, &mut out);
        self.actions.extend(out.into_iter().map(|message| Action::Hop(id, message)));
        match heard {
            Heard::Nothing => {}
            Heard::Unruly => self.actions.push_back(Action::Cut(id)),
            Heard::Returned(epoch) => {
                self.tell_all_returns(id);
                self.on_return(now, id, epoch);
            }
            Heard::Payload(Payload::Returned { agent, epoch }) => self.on_return(now, agent, epoch),
            Heard::Payload(Payload::Parcel(parcel)) => self.on_parcel(now, id, parcel),
        }
    }

    /// An agent has ended and come back: all sums are made anew, once here and once at every other agent. Who is told of it
    /// is told before it gets any packet of the new generation.
    fn on_return(&mut self, now: Time, agent: AgentId, epoch: u64) {
        if !self.returns.add(agent, epoch) {
            return;
        }
        if self.hops.get_mut(&agent).is_some_and(|hop| hop.on_return(epoch)) {
            self.actions.push_back(Action::Cut(agent));
            self.tell_all_returns(agent);
        }
        let neighbours: Vec<AgentId> = self.hops.keys().copied().collect();
        for id in neighbours {
            self.send(id, Payload::Returned { agent, epoch });
        }
        self.renew(now);
    }

    /// Tells one that knows nothing of all who came back.
    fn tell_all_returns(&mut self, id: AgentId) {
        let all: Vec<(AgentId, u64)> = self.returns.all().collect();
        for (agent, epoch) in all {
            self.send(id, Payload::Returned { agent, epoch });
        }
    }

    fn renew(&mut self, now: Time) {
        self.counts.renewals += 1;
        self.links.renew(self.returns.generation());
        let ids: Vec<ClientId> = self.clients.keys().copied().collect();
        for id in ids {
            if let Some(client) = self.clients.get_mut(&id) {
                client.session.renew(now, self.returns.generation());
            }
            self.settle(now, id);
        }
    }

    fn send(&mut self, id: AgentId, payload: Payload) {
        let Some(hop) = self.hops.get_mut(&id) else { return };
        let mut out = Vec::new();
        hop.send(payload, &mut out);
        self.has_too_much |= hop.waiting() > self.settings.waiting;
        self.actions.extend(out.into_iter().map(|message| Action::Hop(id, message)));
    }

    /// Where too much waits for a neighbour, all is forgotten, as if this agent had ended and come back.
    fn begin_anew(&mut self, now: Time) {
        self.has_too_much = false;
        self.settings.epoch += 1;
        let (id, epoch) = (self.settings.id, self.settings.epoch);
        for (&neighbour, hop) in &mut self.hops {
            *hop = Hop::new(epoch);
            self.actions.push_back(Action::Cut(neighbour));
        }
        let neighbours: Vec<AgentId> = self.hops.keys().copied().collect();
        for neighbour in neighbours {
            self.tell_all_returns(neighbour);
        }
        self.on_return(now, id, epoch);
    }

    /// A packet comes from a neighbour.
    fn on_parcel(&mut self, now: Time, from: AgentId, mut parcel: Parcel) {
        let at = usize::from(parcel.at);
        if parcel.is_returning {
            // It has crossed the link that it is at.
            let is_here =
                parcel.steps[at].agent == self.settings.id && self.links.end(parcel.steps[at].link) == Some(from);
            return if is_here { self.go_back(now, parcel) } else { self.counts.lost += 1 };
        }
        let is_last = at + 1 == parcel.steps.len();
        let next = if is_last { parcel.end } else { parcel.steps[at + 1].agent };
        match () {
            () if next != self.settings.id || parcel.steps[at].agent != from => self.counts.lost += 1,
            () if !is_last => {
                parcel.at += 1;
                self.go_on(now, parcel);
            }
            () if parcel.wants_reply => {
                parcel.is_returning = true;
                self.send(from, Payload::Parcel(parcel));
            }
            () => {}
        }
    }

    /// A packet is before the link that it is at, which is to be one of this agent's.
    fn go_on(&mut self, now: Time, mut parcel: Parcel) {
        let at = usize::from(parcel.at);
        let next = parcel.steps.get(at + 1).map_or(parcel.end, |step| step.agent);
        let is_link = parcel.steps[at].agent == self.settings.id && self.links.end(parcel.steps[at].link) == Some(next);
        if !is_link || !self.hops.contains_key(&next) || !parcel.are_fields_sound() {
            self.counts.lost += 1;
            parcel.fate = Fate::Lost;
            if parcel.wants_reply {
                self.turn_back(now, parcel);
            }
            return;
        }
        self.show(now, &mut parcel);
        self.send(next, Payload::Parcel(parcel));
    }

    /// A packet goes back from before the link that it is at.
    fn turn_back(&mut self, now: Time, mut parcel: Parcel) {
        parcel.is_returning = true;
        if parcel.at == 0 {
            return self.reply(now, parcel);
        }
        parcel.at -= 1;
        let to = parcel.steps[usize::from(parcel.at)].agent;
        self.send(to, Payload::Parcel(parcel));
    }

    /// A packet has crossed one of this agent's links on the way back.
    fn go_back(&mut self, now: Time, mut parcel: Parcel) {
        self.show(now, &mut parcel);
        self.turn_back(now, parcel);
    }

    fn show(&mut self, now: Time, parcel: &mut Parcel) {
        self.links.on_parcel(now, parcel);
        match parcel.fate {
            Fate::Counted => self.counts.counted += 1,
            Fate::Stale => self.counts.stale += 1,
            Fate::Lost => self.counts.lost += 1,
        }
    }

    fn reply(&mut self, now: Time, parcel: Parcel) {
        let id = parcel.client;
        if let Some(client) = self.clients.get_mut(&id) {
            client.session.on_reply(now, parcel);
            self.settle(now, id);
        }
    }

    fn on_ask(&mut self, now: Time, id: ClientId, ask: Ask) {
        if let Some(client) = self.clients.get_mut(&id) {
            client.heard = now;
            match ask {
                Ask::Join { .. } => {
                    let reason = "it has joined already".to_owned();
                    self.actions.push_back(Action::Tell(id, Answer::Refused { reason }));
                }
                Ask::Demand { demand } => client.session.set_demand(now, Rate(demand)),
                Ask::Leave => client.session.leave(now),
                Ask::Here => {}
            }
            return self.settle(now, id);
        }
        let Ask::Join { protocol, claim, demand, paths } = ask else { return };
        let session = self.session(id, protocol, claim, demand, paths);
        match session {
            Ok(mut session) => {
                session.begin(now, self.returns.generation());
                self.clients.insert(id, Client { session, heard: now });
                self.settle(now, id);
            }
            Err(reason) => self.actions.push_back(Action::Tell(id, Answer::Refused { reason })),
        }
    }

    fn session(
        &self,
        id: ClientId,
        number: u8,
        claim: f64,
        demand: f64,
        paths: Vec<(Vec<Step>, AgentId)>,
    ) -> Result<Session, String> {
        if self.clients.len() >= self.settings.clients {
            return Err(format!("there are {} sessions already, which is the most", self.settings.clients));
        }
        let protocol = self.settings.protocols.get(usize::from(number)).cloned();
        let protocol = protocol.ok_or_else(|| format!("there is no protocol {number}"))?;
        let beginning = Beginning { protocol: (number, protocol), claim, demand: Rate(demand), paths };
        Session::new(id, self.settings.gap, beginning)
    }

    /// Sends what the session of an application wants sent.
    fn settle(&mut self, now: Time, id: ClientId) {
        loop {
            let Some(client) = self.clients.get_mut(&id) else { return };
            let parcels = std::mem::take(&mut client.session.parcels);
            let answers = std::mem::take(&mut client.session.answers);
            let is_gone = client.session.is_gone();
            self.actions.extend(answers.into_iter().map(|answer| Action::Tell(id, answer)));
            if is_gone {
                self.clients.remove(&id);
            }
            if parcels.is_empty() {
                return;
            }
            // A path may lead nowhere, and its packet come back at once.
            for parcel in parcels {
                self.go_on(now, parcel);
            }
        }
    }
}
