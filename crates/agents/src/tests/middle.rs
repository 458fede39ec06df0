//! An agent between two neighbours, for which a test speaks.

use anabranch_core::{Rate, Span, Time};
use anabranch_proto::Protocol;

use super::network::hello;
use crate::message::{HopMessage, Payload};
use crate::{Action, Agent, AgentId, Event, LinkSettings, Settings};

/// Agent 1 between some neighbours, with a link to each; it hears from them by hand.
pub struct Middle {
    pub agent: Agent,
    pub now: Time,
    /// Number of the payloads that it has heard of each neighbour.
    said: [u64; 8],
}

impl Middle {
    /// The agent between 0 and 2.
    pub fn new(change: impl FnOnce(&mut Settings)) -> Self {
        Self::with(&[0, 2], change)
    }

    /// The agent between these neighbours, of numbers below 8.
    pub fn with(neighbours: &[u32], change: impl FnOnce(&mut Settings)) -> Self {
        let mut settings = Settings::new(AgentId(1), 7, vec![Protocol::named("d-slen").unwrap()]);
        settings.has_run = false;
        settings.links = neighbours.iter().map(|&to| LinkSettings::new(10 + to, AgentId(to), Rate(1e9))).collect();
        settings.neighbours = neighbours.iter().copied().map(AgentId).collect();
        change(&mut settings);
        Self { agent: Agent::new(Time(0), settings), now: Time(0), said: [0; 8] }
    }

    /// A neighbour connects; what the agent tells it.
    pub fn connect(&mut self, from: u32) -> Vec<Payload> {
        self.agent.handle(self.now, Event::Up(AgentId(from)));
        self.agent.handle(self.now, Event::Hop(AgentId(from), hello(9)));
        self.told(from)
    }

    pub fn says(&mut self, from: u32, payload: Payload) {
        let number = self.said[from as usize];
        self.said[from as usize] += 1;
        self.agent.handle(self.now, Event::Hop(AgentId(from), HopMessage::Payload { number, payload }));
    }

    /// A neighbour says that it has received messages; what the agent tells it then.
    pub fn hears(&mut self, from: u32, count: u64) -> Vec<Payload> {
        self.agent.handle(self.now, Event::Hop(AgentId(from), HopMessage::Heard { count }));
        self.told(from)
    }

    /// What the agent tells a neighbour; what it tells others is thrown away.
    pub fn told(&mut self, to: u32) -> Vec<Payload> {
        let of = |action| match action {
            Action::Hop(id, HopMessage::Payload { payload, .. }) if id == AgentId(to) => Some(payload),
            _ => None,
        };
        self.agent.actions().filter_map(of).collect()
    }

    /// Lets time pass; what the agent tells a neighbour then.
    pub fn pass(&mut self, milliseconds: u64, to: u32) -> Vec<Payload> {
        let end = self.now + Span::ms(milliseconds);
        while let Some(next) = self.agent.next_at().filter(|next| *next <= end) {
            self.now = next.max(self.now);
            self.agent.on_time(self.now);
        }
        self.now = end;
        self.told(to)
    }
}
