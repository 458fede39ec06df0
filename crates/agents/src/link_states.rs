//! The states of links that an agent has heard of.

use std::collections::BTreeMap;

use crate::message::{AgentId, LinkNews, Payload};

/// Greatest number of links in a network.
const MOST_LINKS: usize = 1 << 17;

/// The last news of each link, by the agents that act for them.
#[derive(Debug, Default)]
pub(crate) struct LinkStates {
    last: BTreeMap<(AgentId, u32), LinkNews>,
}

impl LinkStates {
    /// Whether these are news.
    pub fn is_news(&self, news: &LinkNews) -> bool {
        match self.last.get(&(news.agent, news.link)) {
            Some(known) => news.stamp > known.stamp,
            None => self.last.len() < MOST_LINKS,
        }
    }

    /// Records news.
    pub fn add(&mut self, news: LinkNews) {
        self.last.insert((news.agent, news.link), news);
    }

    /// The last news of all links.
    pub fn all(&self) -> impl Iterator<Item = Payload> {
        self.last.values().cloned().map(Payload::Link)
    }
}
