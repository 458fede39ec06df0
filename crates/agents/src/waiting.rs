//! What waits for a neighbour until it can take more: renewals go first, then news of agents that do not hear
//! sources, then news of links and the packets of each sender in turns, so that no sender keeps the others from the hop.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Bound::{Excluded, Unbounded};

use anabranch_core::Time;

use crate::link_states::{LinkKey, LinkStates};
use crate::message::{AgentId, Parcel, Payload};
use crate::unheard::UnheardAgents;

/// What waits for a neighbour.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    /// The last renewal of each agent: an earlier one that still waits says nothing more.
    renewals: BTreeMap<AgentId, Payload>,
    /// Agents that do not hear sources, of which the last news wait.
    unheard: BTreeSet<AgentId>,
    /// Links of which the last news wait.
    links: BTreeSet<LinkKey>,
    /// Packets, by the neighbour that they come from, or by the agent itself.
    parcels: BTreeMap<AgentId, VecDeque<Parcel>>,
    /// Number of these packets.
    count: usize,
    /// The sender whose turn was last; `None` if it was that of the links.
    turn: Option<AgentId>,
}

impl Waiting {
    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.renewals.is_empty() && self.unheard.is_empty() && self.links.is_empty() && self.count == 0
    }

    /// Number of packets that wait.
    pub fn parcels(&self) -> usize {
        self.count
    }

    /// Number of packets of a sender that wait.
    pub fn parcels_of(&self, from: AgentId) -> usize {
        self.parcels.get(&from).map_or(0, VecDeque::len)
    }

    /// Adds a renewal of an agent.
    pub fn add_renewal(&mut self, agent: AgentId, renewal: Payload) {
        self.renewals.insert(agent, renewal);
    }

    /// Adds news of an agent that does not hear sources.
    pub fn add_unheard(&mut self, agent: AgentId) {
        self.unheard.insert(agent);
    }

    /// Adds the news of a link.
    pub fn add_link(&mut self, key: LinkKey) {
        self.links.insert(key);
    }

    /// Adds a packet of a sender.
    pub fn add_parcel(&mut self, from: AgentId, parcel: Parcel) {
        self.parcels.entry(from).or_default().push_back(parcel);
        self.count += 1;
    }

    /// Forgets all packets: they are of an earlier generation.
    pub fn forget_parcels(&mut self) {
        self.parcels.clear();
        self.count = 0;
    }

    /// Takes out what is next.
    pub fn next(&mut self, now: Time, (links, unheard): (&LinkStates, &UnheardAgents)) -> Option<Payload> {
        if let Some((_, renewal)) = self.renewals.pop_first() {
            return Some(renewal);
        }
        while let Some(agent) = self.unheard.pop_first() {
            if let Some(news) = unheard.news(now, agent) {
                return Some(Payload::Unheard(news));
            }
        }
        // The first of these turns may end with the last sender.
        (0..2).find_map(|_| self.next_turn(links))
    }

    fn next_turn(&mut self, links: &LinkStates) -> Option<Payload> {
        let later = match self.turn {
            Some(last) => self.parcels.range_mut((Excluded(last), Unbounded)).next(),
            None => self.parcels.iter_mut().next(),
        };
        self.turn = later.as_ref().map(|(id, _)| **id);
        let Some((&id, queue)) = later else {
            return self.links.pop_first().and_then(|key| links.news(key)).map(Payload::Link);
        };
        let parcel = queue.pop_front();
        if queue.is_empty() {
            self.parcels.remove(&id);
        }
        self.count -= usize::from(parcel.is_some());
        parcel.map(Payload::Parcel)
    }
}
