//! The states of links that an agent has heard of.
//!
//! News of a link pass at most once a second. Later ones are held, and the newest passes when the second is over, so
//! that a link that comes and goes costs the network no more than one that changes each second.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use anabranch_core::{Span, Time, units::SECOND};

use crate::allowance::Allowance;
use crate::message::{AgentId, LinkNews};

/// Greatest number of links of which an agent keeps news, if it does not know the links of its network.
const MOST_LINKS: usize = 1 << 17;

/// Least time between two news of a link that pass.
const PAUSE: Span = Span(SECOND);

/// News of a link that come from a neighbour too early without blame. An agent that lets one pass each second may send
/// those of some seconds together, after a hop was away.
const EARLY: Allowance = Allowance::new(8, PAUSE);

/// A link: the agent that acts for it, and its number.
pub(crate) type LinkKey = (AgentId, u32);

/// What is to happen with news of a link.
#[derive(Debug, PartialEq)]
pub(crate) enum Offer {
    /// They are old, or of a link that the network does not have.
    Nothing,
    /// They may pass now, if they are proved.
    Pass,
    /// They are held for a while. `is_surplus`: the neighbour sends more of this link than any honest one.
    Held { is_surplus: bool },
}

/// The state of a link.
#[derive(Debug)]
struct State {
    last: LinkNews,
    passed: Time,
    /// What neighbours have sent since.
    flows: BTreeMap<AgentId, Flow>,
}

/// The news of a link from one neighbour.
#[derive(Debug)]
struct Flow {
    /// How many more may come too early.
    early: Allowance,
    /// The newest that are held; nobody has checked their proof.
    held: Option<LinkNews>,
}

/// The last news of each link, by the agents that act for them.
#[derive(Debug, Default)]
pub(crate) struct LinkStates {
    /// The links of the network, if they are known: there are no others.
    known: Option<Arc<BTreeSet<LinkKey>>>,
    all: BTreeMap<LinkKey, State>,
    /// Links with news that are held, by the time until when.
    dues: BTreeSet<(Time, LinkKey)>,
}

impl LinkStates {
    /// No news; there will be news of these links alone, if they are given.
    pub fn new(known: Option<Arc<BTreeSet<LinkKey>>>) -> Self {
        Self { known, ..Self::default() }
    }

    /// Whether news say more than those that passed last.
    pub fn is_news(&self, news: &LinkNews) -> bool {
        let key = (news.agent, news.link);
        match (self.all.get(&key), &self.known) {
            (Some(state), _) => news.stamp > state.last.stamp,
            (None, Some(known)) => known.contains(&key),
            (None, None) => self.all.len() < MOST_LINKS,
        }
    }

    /// Decides about news from a neighbour, or of this agent itself, and holds them if it has to.
    pub fn offer(&mut self, now: Time, from: AgentId, news: &LinkNews) -> Offer {
        if !self.is_news(news) {
            return Offer::Nothing;
        }
        let key = (news.agent, news.link);
        let Some(state) = self.all.get_mut(&key).filter(|state| state.passed + PAUSE > now) else { return Offer::Pass };
        self.dues.insert((state.passed + PAUSE, key));
        let flow = state.flows.entry(from).or_insert(Flow { early: EARLY, held: None });
        if flow.held.as_ref().is_none_or(|held| held.stamp < news.stamp) {
            flow.held = Some(news.clone());
        }
        Offer::Held { is_surplus: !flow.early.try_take(now) }
    }

    /// The time at which [`Self::due`] has to be called.
    pub fn next_at(&self) -> Option<Time> {
        self.dues.first().map(|&(time, _)| time)
    }

    /// Takes out the news of a link that were held until now, each with its sender, the newest first: the first of them
    /// that are proved may pass.
    pub fn due(&mut self, now: Time) -> Option<Vec<(AgentId, LinkNews)>> {
        let &(time, key) = self.dues.first().filter(|(time, _)| *time <= now)?;
        self.dues.remove(&(time, key));
        let state = self.all.get_mut(&key)?;
        let mut held: Vec<_> =
            state.flows.iter_mut().filter_map(|(&from, flow)| Some((from, flow.held.take()?))).collect();
        state.flows.retain(|_, flow| !flow.early.is_whole(now));
        held.sort_by_key(|(_, news)| std::cmp::Reverse(news.stamp));
        Some(held)
    }

    /// Records news that pass.
    pub fn add(&mut self, now: Time, news: LinkNews) {
        let key = (news.agent, news.link);
        let flows = self.all.remove(&key).map_or_else(BTreeMap::new, |state| state.flows);
        self.all.insert(key, State { last: news, passed: now, flows });
    }

    /// The last news of a link.
    pub fn news(&self, key: LinkKey) -> Option<LinkNews> {
        self.all.get(&key).map(|state| state.last.clone())
    }

    /// The links of which there are news.
    pub fn keys(&self) -> impl Iterator<Item = LinkKey> {
        self.all.keys().copied()
    }
}
