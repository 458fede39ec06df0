//! An agent as a state machine: it takes events and returns actions.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use anabranch_core::{Rate, Span, Time};
use anabranch_proto::Protocol;

use crate::counts::Counts;
use crate::in_flight::{False, InFlight, answer, sender};
pub use crate::links::LinkSettings;
use crate::links::Links;
use crate::message::{AgentId, Answer, Ask, ClientId, Fate, HopMessage, Parcel, Payload, Step};
use crate::neighbours::{Neighbours, Proofs, Unproved};
use crate::session::{Beginning, Session};
use crate::view::View;

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
    /// Greatest number of messages that wait for a neighbour; with more the neighbour is given up.
    pub waiting: usize,
    /// Time without a connection after which a neighbour is given up.
    pub patience: Span,
    /// Time after which a packet that has not come back over the last link is answered.
    pub reply: Span,
    /// Proofs of renewals.
    pub proofs: Arc<dyn Proofs>,
}

impl Settings {
    /// Usual settings of an agent without links and neighbours, whose word the other agents take.
    pub fn new(id: AgentId, epoch: u64, protocols: Vec<Protocol>) -> Self {
        Self {
            id,
            epoch,
            protocols,
            links: Vec::new(),
            neighbours: Vec::new(),
            gap: Span::ms(2),
            lease: Span::s(2),
            clients: 1024,
            waiting: 100_000,
            patience: Span::s(1),
            reply: Span::s(10),
            proofs: Arc::new(Unproved),
        }
    }
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
    /// Take note of the capacity of a link in bit/s, as the agent says that acts for it: 0 if it is down.
    Link(AgentId, u32, f64),
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
    neighbours: Neighbours,
    in_flight: InFlight,
    clients: BTreeMap<ClientId, Client>,
    /// The applications in the order of their next work.
    wakes: BTreeSet<(Time, ClientId)>,
    answers: VecDeque<Action>,
    counts: Counts,
}

impl Agent {
    /// An agent that starts at this time.
    pub fn new(now: Time, settings: Settings) -> Self {
        Self {
            links: Links::new(&settings.links, settings.protocols.clone()),
            neighbours: Neighbours::new(now, &settings),
            in_flight: InFlight::new(settings.reply),
            settings,
            clients: BTreeMap::new(),
            wakes: BTreeSet::new(),
            answers: VecDeque::new(),
            counts: Counts::default(),
        }
    }

    /// Handles an event.
    pub fn handle(&mut self, now: Time, event: Event) {
        match event {
            Event::Up(id) => self.neighbours.on_up(now, id),
            Event::Down(id) => self.neighbours.on_down(now, id),
            Event::Hop(id, message) => {
                let parcel = self.neighbours.on_message(now, id, message);
                self.follow_renewal(now);
                if let Some(parcel) = parcel {
                    self.on_parcel(now, id, parcel);
                }
            }
            Event::Ask(id, ask) => self.on_ask(now, id, ask),
            Event::Capacity(link, capacity) => {
                self.links.set_capacity(link, capacity);
                if self.links.end(link).is_some_and(|end| self.neighbours.can_reach(end)) {
                    self.neighbours.announce(link, capacity.0);
                }
            }
        }
        self.follow_renewal(now);
    }

    /// The time at which [`Self::on_time`] has to be called, unless an event comes first.
    pub fn next_at(&self) -> Option<Time> {
        let next = self.wakes.first().map(|&(next, _)| next);
        next.into_iter().chain(self.neighbours.next_at()).chain(self.in_flight.next_at()).min()
    }

    /// Does the work that is due.
    pub fn on_time(&mut self, now: Time) {
        self.neighbours.on_time(now);
        self.follow_renewal(now);
        while let Some(parcel) = self.in_flight.overdue(now) {
            self.counts.overdue += 1;
            if let Some(next) = self.links.end(parcel.steps[usize::from(parcel.at)].link) {
                self.neighbours.distrust(now, next);
            }
            self.go_back(now, answer(parcel));
        }
        self.follow_renewal(now);
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
        self.follow_renewal(now);
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
        self.neighbours.out.drain(..).chain(self.answers.drain(..))
    }

    /// The counters of the agent.
    pub fn counts(&self) -> Counts {
        let Neighbours { false_messages, given_up, .. } = self.neighbours;
        Counts { false_messages, given_up, ..self.counts }
    }

    /// What the agent shows of itself.
    pub fn view(&mut self) -> View {
        View {
            generation: self.neighbours.generation(),
            neighbours: self.neighbours.view().collect(),
            sessions: self.clients.values().map(|client| client.session.view()).collect(),
            links: self.links.view(),
            in_flight: self.in_flight.len(),
        }
    }

    /// Whether the agent's links hold no state of any session.
    pub fn is_clear(&self) -> bool {
        self.links.are_clear() && self.in_flight.len() == 0
    }

    /// Follows changes around: others hear of links that came or went; in a new generation links discard their sums, and sessions join again.
    fn follow_renewal(&mut self, now: Time) {
        for (id, is_up) in self.neighbours.take_changed() {
            for (link, capacity) in self.links.to(id) {
                self.neighbours.announce(link, if is_up { capacity.0 } else { 0.0 });
            }
        }
        while self.neighbours.take_renewed() {
            self.counts.renewals += 1;
            let generation = self.neighbours.generation();
            self.links.renew(generation);
            self.in_flight.clear();
            let ids: Vec<ClientId> = self.clients.keys().copied().collect();
            for id in ids {
                if let Some(client) = self.clients.get_mut(&id) {
                    client.session.renew(now, generation);
                }
                self.settle(now, id);
            }
        }
    }

    fn send(&mut self, id: AgentId, parcel: Parcel) {
        self.neighbours.send(id, Payload::Parcel(parcel));
    }

    /// Handles a packet from a neighbour.
    fn on_parcel(&mut self, now: Time, from: AgentId, mut parcel: Parcel) {
        let at = usize::from(parcel.at);
        if parcel.is_returning {
            // The packet has crossed the link at its present position.
            let is_here =
                parcel.steps[at].agent == self.settings.id && self.links.end(parcel.steps[at].link) == Some(from);
            return if is_here { self.on_return(now, from, parcel) } else { self.counts.lost += 1 };
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
                self.send(from, parcel);
            }
            () => {}
        }
    }

    /// Sends a packet over the link at its present position, which has to be one of this agent's.
    fn go_on(&mut self, now: Time, mut parcel: Parcel) {
        let at = usize::from(parcel.at);
        let next = parcel.steps.get(at + 1).map_or(parcel.end, |step| step.agent);
        let is_link = parcel.steps[at].agent == self.settings.id && self.links.end(parcel.steps[at].link) == Some(next);
        let is_twice = parcel.wants_reply && self.in_flight.has(&parcel);
        let fate = match () {
            () if !is_link || !parcel.are_fields_sound() => Some(Fate::Lost),
            () if is_twice || parcel.at >= parcel.reach => Some(Fate::Refused),
            () if !self.neighbours.can_reach(next) => Some(Fate::Away),
            () => None,
        };
        if let Some(fate) = fate {
            self.counts.lost += 1;
            return self.turn_round(now, parcel, fate);
        }
        self.show(now, &mut parcel);
        match parcel.fate {
            Fate::Refused => return self.turn_round(now, parcel, Fate::Refused),
            Fate::Counted if parcel.wants_reply => self.in_flight.insert(now, &parcel),
            _ => {}
        }
        self.send(next, parcel);
    }

    /// Sends a packet back that does not cross the link at its present position.
    fn turn_round(&mut self, now: Time, mut parcel: Parcel, fate: Fate) {
        if !parcel.wants_reply {
            return;
        }
        parcel.fate = fate;
        parcel.reach = parcel.at;
        parcel.is_returning = true;
        self.go_before(now, parcel);
    }

    /// Sends a packet on its way back to before the link at its present position.
    fn go_before(&mut self, now: Time, mut parcel: Parcel) {
        if parcel.at == 0 {
            return self.reply(now, parcel);
        }
        parcel.at -= 1;
        let to = parcel.steps[usize::from(parcel.at)].agent;
        self.send(to, parcel);
    }

    /// Handles a packet that a neighbour sends back over one of this agent's links.
    fn on_return(&mut self, now: Time, from: AgentId, parcel: Parcel) {
        if parcel.generation != self.neighbours.generation() {
            return self.go_back(now, parcel);
        }
        match self.in_flight.take(parcel) {
            Ok(parcel) => self.go_back(now, parcel),
            Err(False::Unknown) => self.counts.unknown += 1,
            Err(False::Changed(sent)) => {
                self.neighbours.distrust(now, from);
                self.go_back(now, answer(*sent));
            }
        }
    }

    /// Handles a packet that has crossed one of this agent's links on the way back.
    fn go_back(&mut self, now: Time, mut parcel: Parcel) {
        self.show(now, &mut parcel);
        self.go_before(now, parcel);
    }

    fn show(&mut self, now: Time, parcel: &mut Parcel) {
        let fate = parcel.fate;
        if !self.links.on_parcel(now, parcel) {
            self.neighbours.doubt(now, sender(parcel, parcel.at.into()));
        }
        match parcel.fate {
            Fate::Counted => self.counts.counted += 1,
            Fate::Stale => self.counts.stale += 1,
            Fate::Lost | Fate::Away => self.counts.lost += 1,
            Fate::Refused => self.counts.refused += u64::from(fate != Fate::Refused),
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
                Ask::Join { .. } | Ask::Open { .. } => {
                    let reason = "it has joined already".to_owned();
                    self.answers.push_back(Action::Tell(id, Answer::Refused { reason }));
                }
                Ask::Demand { demand } => client.session.set_demand(now, Rate(demand)),
                Ask::Paths { paths } => client.session.set_paths(now, paths),
                Ask::Leave => client.session.leave(now),
                Ask::Here => {}
            }
            return self.settle(now, id);
        }
        let Ask::Join { protocol, claim, demand, paths } = ask else { return };
        let session = self.session(id, protocol, claim, demand, paths);
        match session {
            Ok(mut session) => {
                session.begin(now, self.neighbours.generation());
                self.clients.insert(id, Client { session, heard: now, wake: now });
                self.wakes.insert((now, id));
                self.settle(now, id);
            }
            Err(reason) => self.answers.push_back(Action::Tell(id, Answer::Refused { reason })),
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
            self.answers.extend(answers.into_iter().map(|answer| Action::Tell(id, answer)));
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
