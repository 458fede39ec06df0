//! The neighbours of an agent: hops to them, their standing, and the renewals of the network.

mod silence;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use anabranch_core::units::SECOND;
use anabranch_core::{Span, Time};

use crate::agent::Action;
use crate::allowance::Allowance;
use crate::hop::{Heard, Hop};
use crate::link_states::{LinkStates, Offer};
use crate::message::{AgentId, HopMessage, LinkNews, Parcel, Payload, Stamp, renewal_text};
use crate::proofs::Proofs;
use crate::renewals::Renewals;
use crate::settings::Settings;
use crate::standing::Standing;
use crate::unheard::{OWN, UnheardAgents};
use crate::view::{NeighbourState, NeighbourView};
use silence::given_up_until;

/// Time that neighbours have in addition to call an agent that starts: they may not know yet that it ended.
const GRACE: Span = Span(2 * SECOND);

/// The renewals that an agent may begin.
const ROUNDS: Allowance = Allowance::new(3, Span(SECOND));

/// Neighbours that fell silent within this time are given up together.
const TOGETHER: Span = Span(SECOND / 4);

/// Penalties of a neighbour: for a restart, an end, a message out of order or a packet that no sums allow; for a renewal
/// that it begins; for news of a link that come more often than any honest agent sends them; and for an answer that was
/// false or not given, for which it is held off at once.
const FAULT: f64 = 1.0;
const UNREST: f64 = 0.3;
const FLOOD: f64 = 0.1;
const LIE: f64 = 6.0;

/// All neighbours of an agent.
pub(crate) struct Neighbours {
    id: AgentId,
    stamp: Stamp,
    proofs: Arc<dyn Proofs>,
    all: BTreeMap<AgentId, (Hop, Standing)>,
    renewals: Renewals,
    links: LinkStates,
    unheard: UnheardAgents,
    /// Number of news of own links, and of silent neighbours.
    announced: u32,
    /// Time since the last sign of life of a neighbour after which others hear of it, and after which it is given up.
    silence: Span,
    patience: Span,
    /// The news of silent neighbours that this agent may send.
    own_unheard: Allowance,
    /// Until when sources behind neighbours that were given up may hold rates, if others have to hear of that.
    lost_until: Option<Time>,
    /// Until when sources may hold rates that nobody hears, if that is news since it was last asked.
    new_unheard: Option<Time>,
    /// Greatest number of messages that wait for a neighbour.
    waiting: usize,
    /// Neighbours for which more wait.
    overflowing: BTreeSet<AgentId>,
    /// The renewals that this agent may begin, and the time of the next, if there has to be one.
    rounds: Allowance,
    next_round: Option<Time>,
    /// Whether the generation has changed since it was last asked.
    is_renewed: bool,
    /// Neighbours that came, or were given up, since that was last asked.
    changed: BTreeMap<AgentId, bool>,
    /// Number of neighbours that were given up, and of false messages.
    pub given_up: u64,
    pub false_messages: u64,
    pub out: VecDeque<Action>,
}

impl Neighbours {
    /// The neighbours of an agent that starts, which have not called yet. If it has run before, sources may hold rates that
    /// the former start granted.
    pub fn new(now: Time, settings: &Settings) -> Self {
        let neighbour = |&id: &AgentId| (id, (Hop::new(settings.epoch), Standing::new(now + GRACE)));
        let mut neighbours = Self {
            id: settings.id,
            stamp: Stamp { epoch: settings.epoch, round: 0 },
            proofs: settings.proofs.clone(),
            all: settings.neighbours.iter().map(neighbour).collect(),
            renewals: Renewals::default(),
            links: LinkStates::new(settings.known.clone()),
            unheard: UnheardAgents::new(settings.lease),
            announced: 0,
            silence: settings.silence,
            patience: settings.patience,
            own_unheard: OWN,
            lost_until: None,
            new_unheard: None,
            waiting: settings.waiting,
            overflowing: BTreeSet::new(),
            rounds: ROUNDS,
            next_round: None,
            is_renewed: false,
            changed: BTreeMap::new(),
            given_up: 0,
            false_messages: 0,
            out: VecDeque::new(),
        };
        if settings.has_run {
            neighbours.tell_unheard(now, now + settings.lease);
        }
        neighbours
    }

    /// The generation that the known renewals determine.
    pub fn generation(&self) -> u64 {
        self.renewals.generation()
    }

    /// Whether the generation has changed since the last call.
    pub fn take_renewed(&mut self) -> bool {
        std::mem::take(&mut self.is_renewed)
    }

    /// The time until which sources may hold rates that nobody hears, if it is news since the last call.
    pub fn take_unheard(&mut self) -> Option<Time> {
        self.new_unheard.take()
    }

    /// The neighbours that came (`true`), or were given up, since the last call.
    pub fn take_changed(&mut self) -> BTreeMap<AgentId, bool> {
        std::mem::take(&mut self.changed)
    }

    /// Whether packets can be sent to a neighbour, now or soon.
    pub fn can_reach(&self, id: AgentId) -> bool {
        self.all.get(&id).is_some_and(|(_, standing)| !standing.is_given_up)
    }

    /// The neighbours with their states.
    pub fn view(&self) -> impl Iterator<Item = NeighbourView> {
        self.all.iter().map(|(&id, (hop, standing))| {
            let state = match () {
                () if hop.is_up() => NeighbourState::Up,
                () if standing.was_held_off() => NeighbourState::HeldOff,
                () if standing.is_given_up => NeighbourState::GivenUp,
                () => NeighbourState::Waiting,
            };
            NeighbourView { id, state, waiting: hop.waiting() }
        })
    }

    /// Handles a new connection.
    pub fn on_up(&mut self, now: Time, id: AgentId) {
        let Some((hop, standing)) = self.all.get_mut(&id) else { return };
        if standing.is_held_off(now) {
            return self.out.push_back(Action::Cut(id));
        }
        standing.be_away(now);
        let proof = self.proofs.prove(&renewal_text(self.id, Stamp { round: 0, ..self.stamp }));
        self.out.push_back(Action::Hop(id, hop.on_up(proof)));
    }

    /// Handles the end of the connection.
    pub fn on_down(&mut self, now: Time, id: AgentId) {
        if let Some((hop, standing)) = self.all.get_mut(&id) {
            hop.on_down();
            standing.be_away(now);
        }
    }

    /// Handles the silence of a neighbour, which was heard last at a time, though there is a connection.
    pub fn on_silent(&mut self, id: AgentId, since: Time) {
        if let Some((_, standing)) = self.all.get_mut(&id) {
            standing.be_away(since);
        }
    }

    /// Handles signs of life of a neighbour that was silent.
    pub fn on_alive(&mut self, id: AgentId) {
        if let Some((_, standing)) = self.all.get_mut(&id).filter(|(hop, _)| hop.is_up()) {
            standing.be_here();
        }
    }

    /// Handles a message of a neighbour; returns a control packet that it brought.
    pub fn on_message(&mut self, now: Time, id: AgentId, message: HopMessage) -> Option<Parcel> {
        let (hop, _) = self.all.get_mut(&id)?;
        let mut out = Vec::new();
        let heard = hop.on_message(message, &mut out);
        self.out.extend(out.into_iter().map(|message| Action::Hop(id, message)));
        let parcel = self.on_heard(now, id, heard);
        self.feed(now, id);
        parcel
    }

    fn on_heard(&mut self, now: Time, id: AgentId, heard: Heard) -> Option<Parcel> {
        match heard {
            Heard::Nothing => {}
            Heard::Unruly => self.accuse(now, id),
            Heard::Up { is_new } => self.on_hello(now, id, is_new),
            Heard::Returned { epoch, proof } => self.on_restart(now, id, epoch, &proof),
            Heard::Payload(Payload::Parcel(parcel)) => return Some(parcel),
            Heard::Payload(Payload::Renewal { agent, stamp, proof }) => self.on_news(now, id, (agent, stamp), &proof),
            Heard::Payload(Payload::Link(news)) => self.on_link_news(now, id, news),
            Heard::Payload(Payload::Unheard(news)) => self.on_unheard(now, id, news),
        }
        None
    }

    fn on_hello(&mut self, now: Time, id: AgentId, is_new: bool) {
        let Some((_, standing)) = self.all.get_mut(&id) else { return };
        standing.be_here();
        let was_given_up = std::mem::take(&mut standing.is_given_up);
        if is_new && !was_given_up {
            standing.blame(now, FAULT);
        }
        let is_first = !std::mem::replace(&mut standing.has_come, true);
        if was_given_up || is_new || is_first {
            self.changed.insert(id, true);
            self.tell_all(now, id);
        }
        if was_given_up || is_new {
            // What was on its way is lost, and paths over the hop work again.
            self.begin_round(now);
        }
    }

    fn on_restart(&mut self, now: Time, id: AgentId, epoch: u64, proof: &[u8]) {
        let stamp = Stamp { epoch, round: 0 };
        let is_timely = self.proofs.is_timely(epoch, proof);
        if !is_timely || !self.proofs.check(id, &renewal_text(id, stamp), proof) {
            if is_timely {
                self.accuse(now, id);
            }
            // What was on its way to it is lost all the same.
            return self.give_up(now, id);
        }
        let Some((_, standing)) = self.all.get_mut(&id) else { return };
        standing.be_here();
        standing.is_given_up = false;
        standing.has_come = true;
        standing.blame(now, FAULT);
        self.changed.insert(id, true);
        self.tell_all(now, id);
        if self.renewals.is_news(id, stamp) {
            self.on_renewal(now, id, stamp, proof);
        }
    }

    /// Handles news of a renewal from a neighbour.
    fn on_news(&mut self, now: Time, from: AgentId, (agent, stamp): (AgentId, Stamp), proof: &[u8]) {
        if !self.renewals.is_news(agent, stamp) || !self.proofs.is_timely(stamp.epoch, proof) {
            return;
        }
        if !self.proofs.check(agent, &renewal_text(agent, stamp), proof) {
            return self.accuse(now, from);
        }
        if agent == from {
            self.blame(now, from, UNREST);
        }
        self.on_renewal(now, agent, stamp, proof);
    }

    /// Handles a renewal that is news: all sums are computed anew, here and at every other agent. A neighbour learns of
    /// the renewal before it gets any packet of the new generation.
    fn on_renewal(&mut self, now: Time, agent: AgentId, stamp: Stamp, proof: &[u8]) {
        self.renewals.add(agent, stamp, proof.to_vec());
        self.is_renewed = true;
        if let Some((hop, standing)) = self.all.get_mut(&agent)
            && hop.on_return(stamp.epoch)
        {
            standing.be_away(now);
            self.out.push_back(Action::Cut(agent));
            self.tell_all(now, agent);
        }
        let told = |(_, standing): &&mut (Hop, Standing)| !standing.is_given_up;
        for (hop, _) in self.all.values_mut().filter(told) {
            hop.forget_parcels();
            hop.tell_renewal(agent, Payload::Renewal { agent, stamp, proof: proof.to_vec() });
        }
        self.feed_all(now);
    }

    /// Handles news of a link from a neighbour.
    fn on_link_news(&mut self, now: Time, from: AgentId, news: LinkNews) {
        match self.links.offer(now, from, &news) {
            Offer::Pass => _ = self.try_spread(now, from, news),
            Offer::Held { is_surplus: true } => self.blame(now, from, FLOOD),
            Offer::Held { .. } | Offer::Nothing => {}
        }
    }

    /// Spreads news of a link if they are proved; whether they are.
    fn try_spread(&mut self, now: Time, from: AgentId, news: LinkNews) -> bool {
        if !self.proofs.is_timely(news.stamp.epoch, &news.proof) {
            return false;
        }
        let is_proved = from == self.id || self.proofs.check(news.agent, &news.text(), &news.proof);
        if is_proved {
            self.spread(now, news, from);
        } else {
            self.accuse(now, from);
        }
        is_proved
    }

    /// Tells all agents the capacity of a link of this agent: 0 if it is down.
    pub fn announce(&mut self, now: Time, link: u32, capacity: f64) {
        self.announced += 1;
        let stamp = Stamp { round: self.announced, ..self.stamp };
        let mut news = LinkNews { agent: self.id, link, stamp, capacity, proof: Vec::new() };
        news.proof = self.proofs.prove(&news.text());
        if self.links.offer(now, self.id, &news) == Offer::Pass {
            self.spread(now, news, self.id);
        }
    }

    /// Adds to the penalty of a neighbour, which is given up if it is held off then.
    fn blame(&mut self, now: Time, id: AgentId, penalty: f64) {
        let Some((_, standing)) = self.all.get_mut(&id) else { return };
        standing.blame(now, penalty);
        if standing.is_held_off(now) {
            self.give_up(now, id);
        }
    }

    fn spread(&mut self, now: Time, news: LinkNews, from: AgentId) {
        let key = (news.agent, news.link);
        self.out.push_back(Action::Link(news.agent, news.link, news.capacity));
        self.links.add(now, news);
        for (&id, (hop, standing)) in &mut self.all {
            if id != from && !standing.is_given_up {
                hop.tell_link(key);
            }
        }
        self.feed_all(now);
    }

    /// Tells a neighbour about all known renewals and links.
    fn tell_all(&mut self, now: Time, id: AgentId) {
        let Some((hop, _)) = self.all.get_mut(&id).filter(|(_, standing)| !standing.is_given_up) else { return };
        self.renewals.all().for_each(|(agent, renewal)| hop.tell_renewal(agent, renewal));
        self.unheard.agents().for_each(|agent| hop.tell_unheard(agent));
        self.links.keys().for_each(|key| hop.tell_link(key));
        self.feed(now, id);
    }

    /// Hands out what waits for a neighbour, as far as it takes it.
    fn feed(&mut self, now: Time, id: AgentId) {
        let Some((hop, _)) = self.all.get_mut(&id) else { return };
        let mut out = Vec::new();
        hop.feed(now, (&self.links, &self.unheard), &mut out);
        self.out.extend(out.into_iter().map(|message| Action::Hop(id, message)));
    }

    fn feed_all(&mut self, now: Time) {
        let neighbours: Vec<AgentId> = self.all.keys().copied().collect();
        for id in neighbours {
            self.feed(now, id);
        }
    }

    /// Sends a packet of a sender, which is a neighbour or the agent itself, to a neighbour, unless that is given up.
    pub fn send(&mut self, from: AgentId, to: AgentId, parcel: Parcel) {
        let Some((hop, standing)) = self.all.get_mut(&to) else { return };
        if standing.is_given_up {
            return;
        }
        let mut out = Vec::new();
        hop.send(from, parcel, &mut out);
        if hop.waiting() > self.waiting {
            self.overflowing.insert(to);
        }
        self.out.extend(out.into_iter().map(|message| Action::Hop(to, message)));
    }

    /// Number of packets of a sender that wait for a neighbour.
    pub fn waiting_of(&self, from: AgentId, to: AgentId) -> usize {
        self.all.get(&to).map_or(0, |(hop, _)| hop.waiting_of(from))
    }

    /// Handles a packet without a reply that is dropped, since too many of its sender wait: sums after this agent are
    /// wrong, and are computed anew.
    pub fn overflow(&mut self, now: Time, from: AgentId) {
        if self.next_round.is_none() {
            self.blame(now, from, UNREST);
            self.begin_round(now);
        }
    }

    /// Handles an answer that was false or not given: sums after the neighbour may be wrong, and are computed anew.
    pub fn distrust(&mut self, now: Time, id: AgentId) {
        self.false_messages += 1;
        if let Some((_, standing)) = self.all.get_mut(&id) {
            standing.blame(now, LIE);
            self.give_up(now, id);
        }
    }

    /// Handles a packet that came from a neighbour and that no sums allow: they are computed anew.
    pub fn doubt(&mut self, now: Time, id: AgentId) {
        self.false_messages += 1;
        if let Some((_, standing)) = self.all.get_mut(&id) {
            standing.blame(now, FAULT);
            if standing.is_held_off(now) {
                return self.give_up(now, id);
            }
            self.begin_round(now);
        }
    }

    /// Handles a message out of order: the connection is closed, and another may follow.
    fn accuse(&mut self, now: Time, id: AgentId) {
        self.false_messages += 1;
        if let Some((hop, standing)) = self.all.get_mut(&id) {
            hop.on_down();
            standing.be_away(now);
            standing.blame(now, FAULT);
            self.out.push_back(Action::Cut(id));
        }
    }

    /// Waits no longer for a neighbour: what was on its way there or back is lost, so all sums are computed anew.
    fn give_up(&mut self, now: Time, id: AgentId) {
        let Some((hop, standing)) = self.all.get_mut(&id) else { return };
        if standing.is_given_up {
            return;
        }
        standing.be_away(now);
        if let Some(since) = standing.untold() {
            self.lost_until = self.lost_until.max(Some(given_up_until(since, self.patience)));
        }
        hop.give_up();
        standing.is_given_up = true;
        standing.blame(now, FAULT);
        self.given_up += 1;
        self.changed.insert(id, false);
        self.out.push_back(Action::Cut(id));
        self.begin_round(now);
    }

    /// Begins a renewal, now or as soon as it may be.
    fn begin_round(&mut self, now: Time) {
        if !self.rounds.try_take(now) {
            self.next_round = Some(self.rounds.next_at());
            return;
        }
        self.next_round = None;
        self.stamp.round += 1;
        let proof = self.proofs.prove(&renewal_text(self.id, self.stamp));
        self.on_renewal(now, self.id, self.stamp, &proof);
    }

    /// The time at which [`Self::on_time`] has to be called.
    pub fn next_at(&self) -> Option<Time> {
        let end = |(_, standing): &(Hop, Standing)| standing.away_since().map(|since| since + self.patience);
        let neighbours = self.all.values().filter_map(end);
        let news = [self.alarm(), self.next_round, self.links.next_at(), self.unheard.next_at()];
        neighbours.chain(news.into_iter().flatten()).min()
    }

    /// Does the work that is due.
    pub fn on_time(&mut self, now: Time) {
        let since = |(_, standing): &(Hop, Standing)| standing.away_since();
        let is_over = self.all.values().filter_map(since).any(|since| since + self.patience <= now);
        // Those that are given up soon go with the first, so that one renewal does for all.
        let soon =
            |neighbour: &&(Hop, Standing)| since(neighbour).is_some_and(|at| at + self.patience <= now + TOGETHER);
        let over: Vec<AgentId> = if is_over {
            self.all.iter().filter(|(_, neighbour)| soon(neighbour)).map(|(&id, _)| id).collect()
        } else {
            Vec::new()
        };
        for id in over.into_iter().chain(std::mem::take(&mut self.overflowing)) {
            self.give_up(now, id);
        }
        self.raise_alarm(now);
        self.tell_on(now);
        if self.next_round.is_some_and(|next| next <= now) {
            self.begin_round(now);
        }
        while let Some(held) = self.links.due(now) {
            for (from, news) in held {
                if self.links.is_news(&news) && self.try_spread(now, from, news) {
                    break;
                }
            }
        }
    }
}
