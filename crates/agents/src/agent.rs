//! An agent as a state machine: it takes events and returns actions.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use anabranch_core::{Rate, Span, Time};

use crate::counts::Counts;
use crate::hold::Hold;
use crate::in_flight::{False, InFlight, answer, sender};
use crate::links::Links;
use crate::message::{AgentId, Answer, Ask, ClientId, Fate, HopMessage, Parcel, Refusal, Step};
use crate::neighbours::Neighbours;
use crate::rising::RoundTrips;
use crate::session::{Beginning, Session};
use crate::settings::Settings;
use crate::view::View;

/// An event at an agent.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A connection to a neighbour has opened; it replaces any earlier one.
    Up(AgentId),
    /// The connection to a neighbour has closed.
    Down(AgentId),
    /// Nothing was heard from a neighbour since a time, though the connection is open.
    Silent(AgentId, Time),
    /// A neighbour that was silent is heard again.
    Alive(AgentId),
    /// A message from a neighbour has arrived.
    Hop(AgentId, HopMessage),
    /// A request of an application has arrived.
    Ask(ClientId, Ask),
    /// The capacity of a link has changed.
    Capacity(u32, Rate),
    /// The agent is to end soon: its links are announced as down, so that paths avoid them, and no session joins.
    Drain,
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
    is_draining: bool,
    hold: Hold,
    /// Round trips of own control packets.
    trips: RoundTrips,
}

impl Agent {
    /// An agent that starts at this time.
    pub fn new(now: Time, settings: Settings) -> Self {
        let mut agent = Self {
            links: Links::new(&settings.links, settings.protocols.clone()),
            neighbours: Neighbours::new(now, &settings),
            in_flight: InFlight::new(settings.reply),
            hold: Hold::new(now, settings.hold),
            trips: RoundTrips::default(),
            settings,
            clients: BTreeMap::new(),
            wakes: BTreeSet::new(),
            answers: VecDeque::new(),
            counts: Counts::default(),
            is_draining: false,
        };
        if let Some(until) = agent.neighbours.take_unheard() {
            agent.hold.wait(now, until);
            agent.hold.renew(now);
        }
        agent
    }

    /// Handles an event.
    pub fn handle(&mut self, now: Time, event: Event) {
        match event {
            Event::Up(id) => self.neighbours.on_up(now, id),
            Event::Down(id) => self.neighbours.on_down(now, id),
            Event::Silent(id, since) => self.neighbours.on_silent(id, since),
            Event::Alive(id) => self.neighbours.on_alive(id),
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
                    self.announce(now, link, capacity);
                }
            }
            Event::Drain => {
                self.is_draining = true;
                for link in self.settings.links.iter().map(|link| link.link).collect::<Vec<_>>() {
                    self.announce(now, link, Rate(0.0));
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
                self.announce(now, link, if is_up { capacity } else { Rate(0.0) });
            }
        }
        if let Some(until) = self.neighbours.take_unheard() {
            let held = self.hold.wait(now, until);
            self.clients.values_mut().for_each(|client| client.session.hold(held));
        }
        while self.neighbours.take_renewed() {
            self.counts.renewals += 1;
            let generation = self.neighbours.generation();
            self.links.renew(generation);
            self.hold.renew(now);
            self.in_flight.clear();
            let ids: Vec<ClientId> = self.clients.keys().copied().collect();
            for id in ids {
                if let Some(client) = self.clients.get_mut(&id) {
                    client.session.renew(now, generation, self.hold.until());
                }
                self.settle(now, id);
            }
        }
    }

    /// Tells others of the capacity of a link: none before the agent ends.
    fn announce(&mut self, now: Time, link: u32, capacity: Rate) {
        self.neighbours.announce(now, link, if self.is_draining { 0.0 } else { capacity.0 });
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
                self.neighbours.send(from, from, parcel);
            }
            () => {}
        }
    }

    /// Sends a packet over the link at its present position, which has to be one of this agent's.
    fn go_on(&mut self, now: Time, mut parcel: Parcel) {
        if self.is_stale(&parcel) {
            return;
        }
        let at = usize::from(parcel.at);
        let next = parcel.steps.get(at + 1).map_or(parcel.end, |step| step.agent);
        let is_link = parcel.steps[at].agent == self.settings.id && self.links.end(parcel.steps[at].link) == Some(next);
        // A path with a loop would cross a hop many times.
        let is_here = |agent: AgentId| usize::from(agent == self.settings.id);
        let is_once = parcel.steps.iter().map(|step| is_here(step.agent)).sum::<usize>() + is_here(parcel.end) == 1;
        let is_twice = parcel.wants_reply && self.in_flight.has(&parcel);
        let fate = match () {
            () if !is_link || !is_once || !parcel.are_fields_sound() => Some(Fate::Lost),
            () if is_twice || parcel.at >= parcel.reach => Some(Fate::Refused),
            () if !self.neighbours.can_reach(next) => Some(Fate::Away),
            () => None,
        };
        if let Some(fate) = fate {
            self.counts.lost += 1;
            return self.turn_round(now, parcel, fate);
        }
        let from = sender(&parcel, at);
        let waiting = self.neighbours.waiting_of(from, next);
        if !parcel.wants_reply && waiting >= 2 * self.settings.packets {
            return self.neighbours.overflow(now, from);
        }
        let is_surplus = waiting.max(self.in_flight.of(from)) >= self.settings.packets;
        let leave = if parcel.wants_reply && is_surplus {
            parcel.fate = Fate::Refused;
            self.counts.refused += 1;
            self.links.forget(now, &parcel)
        } else {
            self.show(now, &mut parcel)
        };
        if let Some(leave) = leave {
            self.neighbours.send(from, next, leave);
        }
        match parcel.fate {
            Fate::Refused => return self.turn_round(now, parcel, Fate::Refused),
            Fate::Counted if parcel.wants_reply => self.in_flight.insert(now, &parcel),
            _ => {}
        }
        self.neighbours.send(from, next, parcel);
    }

    /// Whether a packet is of another generation, and counts nowhere any more. It is dropped: the agents after this one
    /// heard of the renewal before, and those before it hear of the renewal, at which they forget the packet.
    fn is_stale(&mut self, parcel: &Parcel) -> bool {
        let is_stale = parcel.generation != self.neighbours.generation();
        self.counts.stale += u64::from(is_stale);
        is_stale
    }

    /// Sends a packet back that does not cross the link at its present position.
    fn turn_round(&mut self, now: Time, mut parcel: Parcel, fate: Fate) {
        if !parcel.wants_reply {
            return;
        }
        parcel.fate = fate;
        parcel.reach = parcel.at;
        parcel.is_returning = true;
        self.go_before(now, parcel, None);
    }

    /// Sends a packet on its way back to before the link at its present position; it comes from the neighbour after the
    /// link, or turns round here.
    fn go_before(&mut self, now: Time, mut parcel: Parcel, from: Option<AgentId>) {
        if parcel.at == 0 {
            return self.reply(now, parcel);
        }
        parcel.at -= 1;
        let to = parcel.steps[usize::from(parcel.at)].agent;
        self.neighbours.send(from.unwrap_or(to), to, parcel);
    }

    /// Handles a packet that a neighbour sends back over one of this agent's links.
    fn on_return(&mut self, now: Time, from: AgentId, parcel: Parcel) {
        if self.is_stale(&parcel) {
            return;
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
        let from = self.links.end(parcel.steps[usize::from(parcel.at)].link);
        self.go_before(now, parcel, from);
    }

    /// Has the link at the present position of a packet count it; returns a packet for the links after it, if these are to
    /// forget the session.
    fn show(&mut self, now: Time, parcel: &mut Parcel) -> Option<Parcel> {
        let fate = parcel.fate;
        let seen = self.links.on_parcel(now, parcel);
        if !seen.is_allowed {
            self.neighbours.doubt(now, sender(parcel, parcel.at.into()));
        }
        match parcel.fate {
            Fate::Counted => self.counts.counted += 1,
            Fate::Stale => self.counts.stale += 1,
            Fate::Lost | Fate::Away => self.counts.lost += 1,
            Fate::Refused => self.counts.refused += u64::from(fate != Fate::Refused),
        }
        seen.leave
    }

    fn reply(&mut self, now: Time, parcel: Parcel) {
        let id = parcel.client;
        if let Some(client) = self.clients.get_mut(&id) {
            client.session.on_reply(now, parcel, &mut self.trips);
            self.settle(now, id);
        }
    }

    fn on_ask(&mut self, now: Time, id: ClientId, ask: Ask) {
        if let Some(client) = self.clients.get_mut(&id) {
            client.heard = now;
            match ask {
                Ask::Join { .. } | Ask::Open { .. } => {
                    let refusal = Refusal::lasting("it has joined already");
                    self.answers.push_back(Action::Tell(id, refusal.into()));
                }
                Ask::Demand { demand } => client.session.set_demand(now, Rate(demand)),
                Ask::Paths { paths } => client.session.set_paths(now, paths),
                Ask::Leave => client.session.leave(now),
                Ask::Here => {}
            }
            return self.settle(now, id);
        }
        let Ask::Join { protocol, claim, reserved, demand, paths } = ask else { return };
        let session = self.session(id, protocol, claim, (Rate(reserved), Rate(demand)), paths);
        match session {
            Ok(mut session) => {
                session.begin(now, self.neighbours.generation(), self.hold.until());
                self.clients.insert(id, Client { session, heard: now, wake: now });
                self.wakes.insert((now, id));
                self.settle(now, id);
            }
            Err(refusal) => self.answers.push_back(Action::Tell(id, refusal.into())),
        }
    }

    fn session(
        &self,
        id: ClientId,
        number: u8,
        claim: f64,
        (reserved, demand): (Rate, Rate),
        paths: Vec<(Vec<Step>, AgentId)>,
    ) -> Result<Session, Refusal> {
        if self.is_draining {
            return Err(Refusal::passing("the agent ends soon"));
        }
        if self.clients.len() >= self.settings.clients {
            let reason = format!("there are {} sessions already, which is the most", self.settings.clients);
            return Err(Refusal::passing(reason));
        }
        let protocol = self.settings.protocols.get(usize::from(number)).cloned();
        let protocol = protocol.ok_or_else(|| format!("there is no protocol {number}"))?;
        let beginning = Beginning { protocol: (number, protocol), claim, reserved, demand, paths };
        Ok(Session::new(id, self.settings.gap, beginning)?)
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
