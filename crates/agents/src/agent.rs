//! An agent as a state machine: it takes events and returns actions.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use anabranch_core::{Rate, Span, Time};
use anabranch_proto::Protocol;

use crate::counts::Counts;
use crate::hop::{Heard, Hop};
pub use crate::links::LinkSettings;
use crate::links::Links;
use crate::message::{AgentId, Answer, Ask, ClientId, Fate, HopMessage, Parcel, Payload, Step};
use crate::returns::Returns;
use crate::session::{Beginning, Session};

/// The settings of an agent.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Number of the agent in the network.
    pub id: AgentId,
    /// Number of this start of the agent: greater than that of any earlier start, and not 0. A clock time is suitable.
    pub epoch: u64,
    /// The protocols of the network, in the same order at every agent.
    pub protocols: Vec<Protocol>,
    /// The links that leave the agent's node.
    pub links: Vec<LinkSettings>,
    /// The agents of neighbouring nodes.
    pub neighbours: Vec<AgentId>,
    /// Least time between two packets of a path.
    pub gap: Span,
    /// Time without a message after which an application counts as gone.
    pub lease: Span,
    /// Greatest number of applications at a time.
    pub clients: usize,
    /// Greatest number of messages that wait for an absent neighbour.
    pub waiting: usize,
}

/// An event at an agent.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A connection to a neighbour has opened; it replaces any earlier one.
    Up(AgentId),
    /// The connection to a neighbour has closed.
    Down(AgentId),
    /// A message from a neighbour has arrived.
    Hop(AgentId, HopMessage),
    /// A request of an application has arrived.
    Ask(ClientId, Ask),
    /// The capacity of a link has changed.
    Capacity(u32, Rate),
}

/// An action that the agent requests; the order of actions matters.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Send a message to a neighbour on the present connection.
    Hop(AgentId, HopMessage),
    /// Close the connection to a neighbour, which sent an invalid message.
    Cut(AgentId),
    /// Send an answer to an application.
    Tell(ClientId, Answer),
}

/// The state of an application at its agent.
struct Client {
    session: Session,
    heard: Time,
    /// The time in `wakes`: no later than when there is work.
    wake: Time,
}

impl Client {
    /// The time at which there is work for the session, if nothing happens before.
    fn next(&self, lease: Span) -> Time {
        let lapse = self.heard + lease;
        self.session.next_at().map_or(lapse, |next| next.min(lapse))
    }
}

/// The agent of a node.
pub struct Agent {
    settings: Settings,
    links: Links,
    hops: BTreeMap<AgentId, Hop>,
    clients: BTreeMap<ClientId, Client>,
    /// The applications in the order of their next work.
    wakes: BTreeSet<(Time, ClientId)>,
    returns: Returns,
    actions: VecDeque<Action>,
    /// Whether more messages wait for a neighbour than the limit allows.
    has_too_much: bool,
    counts: Counts,
}

impl Agent {
    /// A newly started agent.
    pub fn new(settings: Settings) -> Self {
        let hops = settings.neighbours.iter().map(|&id| (id, Hop::new(settings.epoch))).collect();
        let links = Links::new(&settings.links, settings.protocols.clone());
        Self {
            settings,
            links,
            hops,
            clients: BTreeMap::new(),
            wakes: BTreeSet::new(),
            returns: Returns::default(),
            actions: VecDeque::new(),
            has_too_much: false,
            counts: Counts::default(),
        }
    }

    /// Handles an event.
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

    /// The time at which [`Self::on_time`] has to be called, unless an event comes first.
    pub fn next_at(&self) -> Option<Time> {
        self.wakes.first().map(|&(next, _)| next)
    }

    /// Does the work that is due.
    pub fn on_time(&mut self, now: Time) {
        let due: Vec<ClientId> = self.wakes.iter().take_while(|&&(next, _)| next <= now).map(|&(_, id)| id).collect();
        for id in due {
            let Some(client) = self.clients.get_mut(&id) else { continue };
            if client.heard + self.settings.lease <= now {
                self.counts.lapsed += u64::from(!client.session.is_leaving());
                // The agent keeps the session until it has left.
                client.heard = now;
                client.session.leave(now);
            }
            client.session.on_time(now);
            self.settle(now, id);
            self.put_off(id);
        }
        if self.has_too_much {
            self.begin_anew(now);
        }
    }

    /// Notes when there is work for an application, if that is before the time noted.
    fn hasten(&mut self, id: ClientId) {
        let Some(client) = self.clients.get_mut(&id) else { return };
        let next = client.next(self.settings.lease);
        if next < client.wake {
            self.wakes.remove(&(client.wake, id));
            self.wakes.insert((next, id));
            client.wake = next;
        }
    }

    /// Notes when there is work for an application, which has done what was due.
    fn put_off(&mut self, id: ClientId) {
        let Some(client) = self.clients.get_mut(&id) else { return };
        self.wakes.remove(&(client.wake, id));
        client.wake = client.next(self.settings.lease);
        self.wakes.insert((client.wake, id));
    }

    /// Removes the actions that the agent has requested since the last call.
    pub fn actions(&mut self) -> impl Iterator<Item = Action> {
        self.actions.drain(..)
    }

    /// The counters of the agent.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Whether the agent's links hold no state of any session.
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

    /// Handles the restart of an agent: all sums are computed anew, here and at every other agent, once for each
    /// restart. A neighbour learns of the restart before it gets any packet of the new generation.
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

    /// Tells a neighbour about all known restarts.
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

    /// Restarts this agent, as if it had ended, when too many messages wait for a neighbour.
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

    /// Handles a packet from a neighbour.
    fn on_parcel(&mut self, now: Time, from: AgentId, mut parcel: Parcel) {
        let at = usize::from(parcel.at);
        if parcel.is_returning {
            // The packet has crossed the link at its present position.
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

    /// Sends a packet over the link at its present position, which has to be one of this agent's.
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

    /// Sends a packet back from before the link at its present position.
    fn turn_back(&mut self, now: Time, mut parcel: Parcel) {
        parcel.is_returning = true;
        if parcel.at == 0 {
            return self.reply(now, parcel);
        }
        parcel.at -= 1;
        let to = parcel.steps[usize::from(parcel.at)].agent;
        self.send(to, Payload::Parcel(parcel));
    }

    /// Handles a packet that has crossed one of this agent's links on the way back.
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
                self.clients.insert(id, Client { session, heard: now, wake: now });
                self.wakes.insert((now, id));
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

    /// Sends the packets and answers of an application's session.
    fn settle(&mut self, now: Time, id: ClientId) {
        loop {
            let Some(client) = self.clients.get_mut(&id) else { return };
            let parcels = std::mem::take(&mut client.session.parcels);
            let answers = std::mem::take(&mut client.session.answers);
            let is_gone = client.session.is_gone();
            self.actions.extend(answers.into_iter().map(|answer| Action::Tell(id, answer)));
            if is_gone && let Some(client) = self.clients.remove(&id) {
                self.wakes.remove(&(client.wake, id));
            }
            if parcels.is_empty() {
                return self.hasten(id);
            }
            // The path may be invalid, and its packet comes back at once.
            for parcel in parcels {
                self.go_on(now, parcel);
            }
        }
    }
}
