//! Which agents do not hear sources that may hold rates, as they say.
//!
//! News of an agent pass at most three times a second, so that an agent that always says so costs the network little.

use std::collections::BTreeMap;

use anabranch_core::{Span, Time, units::MILLISECOND};

use crate::message::{AgentId, Stamp, Unheard};

/// Greatest number of agents in a network.
const MOST_AGENTS: usize = 1 << 16;

/// Least time between two news of an agent that it sends, and that others pass on, as they may come faster.
pub(crate) const PAUSE: Span = Span(600 * MILLISECOND);
const PASSES: Span = Span(300 * MILLISECOND);

/// The last news of an agent.
#[derive(Debug)]
struct Last {
    news: Unheard,
    passed: Time,
    until: Time,
}

/// The last news of each agent.
#[derive(Debug, Default)]
pub(crate) struct UnheardAgents {
    all: BTreeMap<AgentId, Last>,
}

impl UnheardAgents {
    /// Whether news say more than those that passed last.
    pub fn is_news(&self, agent: AgentId, stamp: Stamp) -> bool {
        self.all.get(&agent).map_or(self.all.len() < MOST_AGENTS, |last| stamp > last.news.stamp)
    }

    /// Whether news of an agent may pass already.
    pub fn may_pass(&self, now: Time, agent: AgentId) -> bool {
        self.all.get(&agent).is_none_or(|last| last.passed + PASSES <= now)
    }

    /// Records news that pass: sources may hold rates for a time, which is at most `most`. Returns until when.
    pub fn add(&mut self, now: Time, news: Unheard, most: Span) -> Time {
        let rest = Span::ms(news.rest_ms.saturating_sub(news.late_ms).into());
        let until = now + rest.min(most);
        self.all.insert(news.agent, Last { news, passed: now, until });
        until
    }

    /// The last news of an agent as they are to be told on at a time, if they still say something.
    pub fn news(&self, now: Time, agent: AgentId) -> Option<Unheard> {
        let last = self.all.get(&agent).filter(|last| last.until > now)?;
        let passed = (now.0 - last.passed.0) / MILLISECOND;
        let late_ms = last.news.late_ms.saturating_add(u16::try_from(passed).unwrap_or(u16::MAX));
        Some(Unheard { late_ms, ..last.news.clone() })
    }

    /// The agents of which there are news.
    pub fn agents(&self) -> impl Iterator<Item = AgentId> {
        self.all.keys().copied()
    }
}
