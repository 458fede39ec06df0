//! Which agents do not hear sources that may hold rates, as they say.
//!
//! News of an agent are told on two at once and then twice a second, so that an agent that always says so costs the
//! network little. What comes between counts here at once, and the newest is told on when it may be.

use std::collections::{BTreeMap, BTreeSet};

use anabranch_core::{Span, Time, units::MILLISECOND};

use crate::allowance::Allowance;
use crate::message::{AgentId, Unheard};

/// Greatest number of agents in a network.
const MOST_AGENTS: usize = 1 << 16;

/// News of an agent that it sends; those that others tell on, which may come faster; and those that they hear of one
/// neighbour without blame, which may have waited for the hop.
pub(crate) const OWN: Allowance = Allowance::new(2, Span(600 * MILLISECOND));
const TOLD_ON: Allowance = Allowance::new(2, Span(500 * MILLISECOND));
const HEARD: Allowance = Allowance::new(8, Span(300 * MILLISECOND));

/// The least time by which a second word of the same news has to last longer. Nothing proves how late news are: the word
/// of a neighbour that makes them later than they are does not keep others from being heard.
const GAIN: Span = Span(100 * MILLISECOND);

/// The last news of an agent.
#[derive(Debug)]
struct Last {
    news: Unheard,
    /// When they came first, and when and from whom as they are.
    first: Time,
    at: Time,
    from: AgentId,
    /// The time until which sources may hold rates.
    until: Time,
    told_on: Allowance,
    /// What neighbours may still say.
    heard: BTreeMap<AgentId, Allowance>,
}

/// The last news of each agent.
#[derive(Debug)]
pub(crate) struct UnheardAgents {
    /// The greatest time for which sources hold rates that nobody hears.
    lease: Span,
    all: BTreeMap<AgentId, Last>,
    /// Agents with news that have to be told on, by the time from which they may be.
    dues: BTreeSet<(Time, AgentId)>,
}

impl UnheardAgents {
    /// No news; sources hold rates that nobody hears for a lease at most.
    pub fn new(lease: Span) -> Self {
        Self { lease, all: BTreeMap::new(), dues: BTreeSet::new() }
    }

    /// Whether news say more than those before.
    pub fn is_news(&self, now: Time, news: &Unheard) -> bool {
        self.all.get(&news.agent).map_or(self.all.len() < MOST_AGENTS, |last| {
            let lasts_longer = || self.until(last.first, now, news) >= last.until + GAIN;
            news.stamp > last.news.stamp || (news.stamp == last.news.stamp && lasts_longer())
        })
    }

    /// Whether a neighbour may say news of an agent now; beyond that it says more than any honest one.
    pub fn may_say(&mut self, now: Time, from: AgentId, agent: AgentId) -> bool {
        self.all.get_mut(&agent).is_none_or(|last| last.heard.entry(from).or_insert(HEARD).try_take(now))
    }

    /// Records news from a neighbour, or of this agent itself, which are to be told on. Returns the time until which
    /// sources may hold rates that nobody hears.
    pub fn add(&mut self, now: Time, from: AgentId, news: Unheard) -> Time {
        let agent = news.agent;
        let last = self.all.remove(&agent);
        let same = last.as_ref().filter(|last| last.news.stamp == news.stamp);
        let first = same.map_or(now, |last| last.first);
        let until = self.until(first, now, &news);
        let (told_on, mut heard) = last.map_or_else(|| (TOLD_ON, BTreeMap::new()), |last| (last.told_on, last.heard));
        heard.retain(|_, allowance: &mut Allowance| !allowance.is_whole(now));
        self.dues.insert((told_on.next_at(), agent));
        self.all.insert(agent, Last { news, first, at: now, from, until, told_on, heard });
        until
    }

    /// The time at which [`Self::due`] has to be called.
    pub fn next_at(&self) -> Option<Time> {
        self.dues.first().map(|&(time, _)| time)
    }

    /// Takes out an agent whose news are to be told on now, with the neighbour that they come from.
    pub fn due(&mut self, now: Time) -> Option<(AgentId, AgentId)> {
        let &(time, agent) = self.dues.first().filter(|(time, _)| *time <= now)?;
        self.dues.remove(&(time, agent));
        let last = self.all.get_mut(&agent)?;
        last.told_on.try_take(now);
        Some((agent, last.from))
    }

    /// The last news of an agent as they are to be told on at a time, if they still say something.
    pub fn news(&self, now: Time, agent: AgentId) -> Option<Unheard> {
        let last = self.all.get(&agent).filter(|last| last.until > now)?;
        let passed = (now.0 - last.at.0) / MILLISECOND;
        let late_ms = last.news.late_ms.saturating_add(u16::try_from(passed).unwrap_or(u16::MAX));
        Some(Unheard { late_ms, ..last.news.clone() })
    }

    /// The agents of which there are news.
    pub fn agents(&self) -> impl Iterator<Item = AgentId> {
        self.all.keys().copied()
    }

    /// The time until which sources may hold rates. News that came first at a time cannot be younger than that.
    fn until(&self, first: Time, now: Time, news: &Unheard) -> Time {
        let [rest, late] = [news.rest_ms, news.late_ms].map(|ms| Span::ms(ms.into()));
        (now + Span(rest.0.saturating_sub(late.0)).min(self.lease)).min(first + rest)
    }
}
