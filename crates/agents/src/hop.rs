//! Reliable hops to neighbours: each message arrives once and in order, over any number of connections, as long as
//! neither agent ends.

use std::collections::VecDeque;

use crate::message::{HopMessage, Payload};

/// Number of messages after which an acknowledgement is sent.
const HEARD: u64 = 16;

/// The result of a message at a hop, for its agent.
#[derive(Debug, PartialEq)]
pub(crate) enum Heard {
    /// Nothing for the agent.
    Nothing,
    /// A payload for the agent.
    Payload(Payload),
    /// The neighbour has restarted, with this epoch.
    Returned(u64),
    /// The message is invalid, and the connection has to be closed.
    Unruly,
}

/// The local end of a hop to a neighbour.
#[derive(Debug, Default)]
pub(crate) struct Hop {
    own_epoch: u64,
    /// The epoch of the neighbour; 0 before the first connection.
    epoch: u64,
    /// Whether there is a connection on which the neighbour has said hello.
    is_up: bool,
    /// The messages that the neighbour has not acknowledged, from number `first` on.
    kept: VecDeque<Payload>,
    first: u64,
    /// Number of the neighbour's messages received, and number of these acknowledged.
    heard: u64,
    told: u64,
}

impl Hop {
    /// A hop without a connection, for an agent with this epoch, which is not 0.
    pub fn new(own_epoch: u64) -> Self {
        Self { own_epoch, ..Self::default() }
    }

    /// Handles a new connection; returns the first message on it.
    pub fn on_up(&mut self) -> HopMessage {
        self.is_up = false;
        self.told = self.heard;
        HopMessage::Hello { epoch: self.own_epoch, heard: self.heard, of: self.epoch }
    }

    /// Handles the end of the connection.
    pub fn on_down(&mut self) {
        self.is_up = false;
    }

    /// Handles a restart of the neighbour with this epoch; returns whether it is news. Waiting messages were for the
    /// former instance, and the fate of others is unknown, so all numbers start again. The present connection belonged
    /// to the former instance.
    pub fn on_return(&mut self, epoch: u64) -> bool {
        let is_news = self.epoch != 0 && epoch > self.epoch;
        if is_news {
            *self = Self { epoch, ..Self::new(self.own_epoch) };
        }
        is_news
    }

    /// Number of messages that wait for the neighbour's acknowledgement.
    pub fn waiting(&self) -> usize {
        self.kept.len()
    }

    /// Sends a payload to the neighbour.
    pub fn send(&mut self, payload: Payload, out: &mut Vec<HopMessage>) {
        if self.is_up {
            out.push(HopMessage::Payload { number: self.first + self.kept.len() as u64, payload: payload.clone() });
        }
        self.kept.push_back(payload);
    }

    /// Handles a message of the neighbour, and adds replies to `out`.
    pub fn on_message(&mut self, message: HopMessage, out: &mut Vec<HopMessage>) -> Heard {
        match message {
            HopMessage::Hello { epoch, heard, of } => self.on_hello(epoch, heard, of, out),
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
            HopMessage::Heard { count } => self.on_heard(count),
        }
    }

    fn on_hello(&mut self, epoch: u64, heard: u64, of: u64, out: &mut Vec<HopMessage>) -> Heard {
        // A neighbour that has restarted has a greater epoch than before.
        if epoch == 0 || epoch < self.epoch || self.is_up {
            return Heard::Unruly;
        }
        let is_back = self.on_return(epoch);
        self.epoch = epoch;
        let heard = if of == self.own_epoch { heard } else { 0 };
        if matches!(self.on_heard(heard), Heard::Unruly) || self.first != heard {
            return Heard::Unruly;
        }
        self.is_up = true;
        let again = self.kept.iter().enumerate();
        out.extend(again.map(|(place, payload)| HopMessage::Payload {
            number: self.first + place as u64,
            payload: payload.clone(),
        }));
        if is_back { Heard::Returned(epoch) } else { Heard::Nothing }
    }

    fn on_heard(&mut self, count: u64) -> Heard {
        let Some(new) = count.checked_sub(self.first).filter(|&new| new <= self.kept.len() as u64) else {
            return Heard::Unruly;
        };
        self.kept.drain(..new as usize);
        self.first = count;
        Heard::Nothing
    }
}
