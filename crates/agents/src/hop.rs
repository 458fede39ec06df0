//! Reliable hops to neighbours: each message arrives once and in order, over any number of connections, as long as
//! neither agent ends or gives the hop up.

use std::collections::VecDeque;

use anabranch_core::Time;

use crate::link_states::{LinkKey, LinkStates};
use crate::message::{AgentId, HopMessage, Instance, Parcel, Payload};
use crate::unheard::UnheardAgents;
use crate::waiting::Waiting;

/// Number of messages after which an acknowledgement is sent.
const HEARD: u64 = 16;

/// The most messages that are handed out and not acknowledged; the others wait. A connection that takes this many and
/// the acknowledgements beside them never overflows.
pub(crate) const WINDOW: usize = 4096;

/// The result of a message at a hop, for its agent.
#[derive(Debug, PartialEq)]
pub(crate) enum Heard {
    /// Nothing for the agent.
    Nothing,
    /// The neighbour has said hello, and the hop works. `is_new`: messages that were on their way before are lost.
    Up { is_new: bool },
    /// The neighbour has restarted, with this epoch, and the hop works.
    Returned { epoch: u64, proof: Vec<u8> },
    /// A payload for the agent.
    Payload(Payload),
    /// The message is invalid, and the connection has to be closed.
    Unruly,
}

/// The local end of a hop to a neighbour.
#[derive(Debug, Default)]
pub(crate) struct Hop {
    own: Instance,
    /// The instance of the neighbour; zeros before the first connection.
    other: Instance,
    /// Whether there is a connection on which the neighbour has said hello.
    is_up: bool,
    /// The messages that were handed out and that the neighbour has not acknowledged, from number `first` on.
    sent: VecDeque<Payload>,
    first: u64,
    /// What was not handed out yet.
    waits: Waiting,
    /// Number of the neighbour's messages received, and number of these acknowledged.
    heard: u64,
    told: u64,
}

impl Hop {
    /// A hop without a connection, for an agent with this epoch, which is not 0.
    pub fn new(epoch: u64) -> Self {
        Self { own: Instance { epoch, hop: 0 }, ..Self::default() }
    }

    /// Whether messages get through.
    pub fn is_up(&self) -> bool {
        self.is_up
    }

    /// Handles a new connection; returns the first message on it, with the proof of the agent's start.
    pub fn on_up(&mut self, proof: Vec<u8>) -> HopMessage {
        self.is_up = false;
        self.told = self.heard;
        HopMessage::Hello { own: self.own, heard: self.heard, of: self.other, proof }
    }

    /// Handles the end of the connection.
    pub fn on_down(&mut self) {
        self.is_up = false;
    }

    /// Forgets what waits for the neighbour, and what it has said: all numbers start again.
    pub fn give_up(&mut self) {
        let own = Instance { hop: self.own.hop.wrapping_add(1), ..self.own };
        *self = Self { own, other: self.other, ..Self::default() };
    }

    /// Handles a restart of the neighbour with this epoch; returns whether it is news. Waiting messages were for the
    /// former instance, and the fate of others is unknown, so all numbers start again. The present connection belonged
    /// to the former instance.
    pub fn on_return(&mut self, epoch: u64) -> bool {
        let is_news = self.other.epoch != 0 && epoch > self.other.epoch;
        if is_news {
            *self = Self { own: self.own, other: Instance { epoch, hop: 0 }, ..Self::default() };
        }
        is_news
    }

    /// Number of messages that wait for the neighbour's acknowledgement, without renewals and news that were not handed out
    /// yet: of these there are two for each agent, and one for each link, at most.
    pub fn waiting(&self) -> usize {
        self.sent.len() + self.waits.parcels()
    }

    /// Number of packets of a sender that were not handed out yet.
    pub fn waiting_of(&self, from: AgentId) -> usize {
        self.waits.parcels_of(from)
    }

    /// Sends a packet of a sender to the neighbour: now, or when [`Self::feed`] is called and the neighbour takes it.
    pub fn send(&mut self, from: AgentId, parcel: Parcel, out: &mut Vec<HopMessage>) {
        if self.has_room() && self.waits.is_empty() {
            self.hand_out(Payload::Parcel(parcel), out);
        } else {
            self.waits.add_parcel(from, parcel);
        }
    }

    /// Notes a renewal of an agent that the neighbour is to hear of before any later packet.
    pub fn tell_renewal(&mut self, agent: AgentId, renewal: Payload) {
        self.waits.add_renewal(agent, renewal);
    }

    /// Notes news of an agent that does not hear sources.
    pub fn tell_unheard(&mut self, agent: AgentId) {
        self.waits.add_unheard(agent);
    }

    /// Notes a link of which the neighbour is to hear the last news.
    pub fn tell_link(&mut self, key: LinkKey) {
        self.waits.add_link(key);
    }

    /// Forgets the packets that wait: they are of an earlier generation.
    pub fn forget_parcels(&mut self) {
        self.waits.forget_parcels();
    }

    /// Hands out what waits, as far as the neighbour takes it.
    pub fn feed(&mut self, now: Time, news: (&LinkStates, &UnheardAgents), out: &mut Vec<HopMessage>) {
        while self.has_room()
            && let Some(payload) = self.waits.next(now, news)
        {
            self.hand_out(payload, out);
        }
    }

    fn has_room(&self) -> bool {
        self.is_up && self.sent.len() < WINDOW
    }

    fn hand_out(&mut self, payload: Payload, out: &mut Vec<HopMessage>) {
        out.push(HopMessage::Payload { number: self.first + self.sent.len() as u64, payload: payload.clone() });
        self.sent.push_back(payload);
    }

    /// Handles a message of the neighbour, and adds replies to `out`; [`Self::feed`] follows.
    pub fn on_message(&mut self, message: HopMessage, out: &mut Vec<HopMessage>) -> Heard {
        match message {
            HopMessage::Hello { own, heard, of, proof } => self.on_hello(own, (heard, of), proof, out),
            _ if !self.is_up => Heard::Unruly,
            HopMessage::Payload { number, payload } if number == self.heard => {
                self.heard += 1;
                if self.heard - self.told >= HEARD {
                    self.told = self.heard;
                    out.push(HopMessage::Heard { count: self.heard });
                }
                Heard::Payload(payload)
            }
            HopMessage::Payload { .. } => Heard::Unruly,
            HopMessage::Heard { count } => {
                if self.on_heard(count) {
                    Heard::Nothing
                } else {
                    Heard::Unruly
                }
            }
        }
    }

    fn on_hello(
        &mut self,
        other: Instance,
        (heard, of): (u64, Instance),
        proof: Vec<u8>,
        out: &mut Vec<HopMessage>,
    ) -> Heard {
        // A neighbour that has restarted has a greater epoch than before, and one that gave the hop up a greater number.
        if other.epoch == 0 || other < self.other || self.is_up {
            return Heard::Unruly;
        }
        let is_back = self.on_return(other.epoch);
        // The neighbour gave up what was on its way here, or this agent what was on its way there.
        let is_new = self.other.epoch != 0 && (other != self.other || (of != self.own && of != Instance::default()));
        if other != self.other {
            let waits = if self.other.epoch == 0 { std::mem::take(&mut self.waits) } else { Waiting::default() };
            *self = Self { own: self.own, other, waits, ..Self::default() };
        }
        let heard = if of == self.own { heard } else { 0 };
        if !self.on_heard(heard) || self.first != heard {
            return Heard::Unruly;
        }
        self.is_up = true;
        let again = self.sent.iter().enumerate();
        out.extend(again.map(|(place, payload)| HopMessage::Payload {
            number: self.first + place as u64,
            payload: payload.clone(),
        }));
        if is_back { Heard::Returned { epoch: other.epoch, proof } } else { Heard::Up { is_new } }
    }

    fn on_heard(&mut self, count: u64) -> bool {
        let Some(new) = count.checked_sub(self.first).filter(|&new| new <= self.sent.len() as u64) else {
            return false;
        };
        self.sent.drain(..new as usize);
        self.first = count;
        true
    }
}
