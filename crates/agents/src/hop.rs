//! The way to a neighbour: what is handed to it comes to the other end once and in order, over as many connections as it
//! takes, as long as neither agent ends.

use std::collections::VecDeque;

use crate::message::{HopMessage, Payload};

/// So many messages are heard before that is told.
const HEARD: u64 = 16;

/// What a hop has to say to its agent.
#[derive(Debug, PartialEq)]
pub(crate) enum Heard {
    /// Nothing.
    Nothing,
    /// Something for it.
    Payload(Payload),
    /// The neighbour has ended and come back, in this epoch.
    Returned(u64),
    /// What came cannot be: the connection is of no use.
    Unruly,
}

/// This end of the way to a neighbour.
#[derive(Debug, Default)]
pub(crate) struct Hop {
    own_epoch: u64,
    /// The epoch of the neighbour; 0 before the first connection.
    epoch: u64,
    /// Whether there is a connection on which the neighbour has said hello.
    is_up: bool,
    /// What it is not known to have heard, from number `first` on.
    kept: VecDeque<Payload>,
    first: u64,
    /// Of its messages so many were heard, and so many of these are told.
    heard: u64,
    told: u64,
}

impl Hop {
    /// A way without any connection yet, of an agent in this epoch, which is not 0.
    pub fn new(own_epoch: u64) -> Self {
        Self { own_epoch, ..Self::default() }
    }

    /// There is a connection: what to say first.
    pub fn on_up(&mut self) -> HopMessage {
        self.is_up = false;
        self.told = self.heard;
        HopMessage::Hello { epoch: self.own_epoch, heard: self.heard, of: self.epoch }
    }

    /// There is none any more.
    pub fn on_down(&mut self) {
        self.is_up = false;
    }

    /// The neighbour has come back in this epoch, if that is news. What waited was for one that is no more, and nobody
    /// knows what became of the rest: all is counted anew. Any connection was with that one.
    pub fn on_return(&mut self, epoch: u64) -> bool {
        let is_news = self.epoch != 0 && epoch > self.epoch;
        if is_news {
            *self = Self { epoch, ..Self::new(self.own_epoch) };
        }
        is_news
    }

    /// Messages that wait for the neighbour.
    pub fn waiting(&self) -> usize {
        self.kept.len()
    }

    /// Takes something for the neighbour.
    pub fn send(&mut self, payload: Payload, out: &mut Vec<HopMessage>) {
        if self.is_up {
            out.push(HopMessage::Payload { number: self.first + self.kept.len() as u64, payload: payload.clone() });
        }
        self.kept.push_back(payload);
    }

    /// The neighbour says something; `out` is what to say to it.
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
        // One that has come back is known to have a greater epoch than before.
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
