//! The packets of other agents and of own sessions that have crossed a link of the agent, and have not come back.
//!
//! A session has one packet on each path at a time, so these are no more than there are sessions on the links, and
//! nothing is kept of a session between its packets. The agent counts the packets of each sender, and lets no sender have
//! more than its number of them. What comes back is compared with what was sent: a neighbour cannot
//! change what links before it have counted, answer twice, or answer what was not sent to it. If it does not answer, the
//! agent answers in its place.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use anabranch_core::{Span, Time};

use crate::message::{AgentId, ClientId, Fate, Parcel};

/// A packet on its way: who sent it here, its session, its path, and the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Key {
    from: AgentId,
    first: AgentId,
    client: ClientId,
    path: u8,
    at: u8,
    link: u32,
}

#[derive(Debug)]
struct Sent {
    parcel: Parcel,
    deadline: Time,
}

/// Why a packet that comes back is not passed on as it is.
#[derive(Debug, PartialEq)]
pub(crate) enum False {
    /// It was not sent, or it has come back already.
    Unknown,
    /// It says other than it may; the packet as it was sent.
    Changed(Box<Parcel>),
}

/// The time for each link after a link is the time for the last one, divided by this: with 10 s, 2 s, and 136 s for the
/// longest path.
const FOR_EACH_LINK: u64 = 5;

/// The packets that are on their way.
#[derive(Debug, Default)]
pub(crate) struct InFlight {
    all: HashMap<Key, Sent>,
    deadlines: BTreeSet<(Time, Key)>,
    /// Number of packets of each sender: a neighbour, or the agent itself.
    counts: BTreeMap<AgentId, usize>,
    patience: Span,
}

/// The agent before a link of a path: that of the link before, or the path's own.
pub(crate) fn sender(parcel: &Parcel, at: usize) -> AgentId {
    parcel.steps[at.saturating_sub(1)].agent
}

impl Key {
    fn of(parcel: &Parcel) -> Self {
        let from = sender(parcel, parcel.at.into());
        let Parcel { client, path, at, .. } = *parcel;
        Self { from, first: parcel.steps[0].agent, client, path, at, link: parcel.steps[usize::from(at)].link }
    }
}

impl InFlight {
    /// Nothing; a packet that has not come back over the last link of its path after `patience` is answered.
    pub fn new(patience: Span) -> Self {
        Self { patience, ..Self::default() }
    }

    /// Whether a packet of the same session is on its way over the same link of the same path.
    pub fn has(&self, parcel: &Parcel) -> bool {
        self.all.contains_key(&Key::of(parcel))
    }

    /// Number of packets on their way.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Number of packets of a sender on their way.
    pub fn of(&self, from: AgentId) -> usize {
        self.counts.get(&from).copied().unwrap_or(0)
    }

    /// Notes a packet that crosses a link, as it goes on.
    pub fn insert(&mut self, now: Time, parcel: &Parcel) {
        let key = Key::of(parcel);
        let deadline = now + self.time_for(parcel);
        if let Some(sent) = self.all.insert(key, Sent { parcel: parcel.clone(), deadline }) {
            self.deadlines.remove(&(sent.deadline, key));
        } else {
            *self.counts.entry(key.from).or_default() += 1;
        }
        self.deadlines.insert((deadline, key));
    }

    /// The time that a packet has to come back. Who is nearer to the trouble answers first, and the answer may be held up
    /// by a hop that is away for a moment.
    fn time_for(&self, parcel: &Parcel) -> Span {
        let after = (parcel.steps.len() - usize::from(parcel.at) - 1) as u64;
        Span(self.patience.0 + self.patience.0 / FOR_EACH_LINK * after)
    }

    fn remove(&mut self, key: &Key) -> Option<Sent> {
        let sent = self.all.remove(key)?;
        if let Some(count) = self.counts.get_mut(&key.from) {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&key.from);
            }
        }
        Some(sent)
    }

    /// Takes out the packet that has come back; as it is to be passed on, or why it is not.
    pub fn take(&mut self, back: Parcel) -> Result<Parcel, False> {
        let key = Key::of(&back);
        let Some(sent) = self.remove(&key) else { return Err(False::Unknown) };
        self.deadlines.remove(&(sent.deadline, key));
        let sent = sent.parcel;
        let is_same = (back.joining, back.protocol, back.before, back.reach, back.wants_reply)
            == (sent.joining, sent.protocol, sent.before, sent.reach.min(back.reach), true)
            && (&back.steps, back.end, back.generation) == (&sent.steps, sent.end, sent.generation)
            // A packet turns round beyond the link. News of another generation would have come before a stale one.
            && back.reach > back.at
            && back.fate != Fate::Stale;
        if is_same && back.fields.answer(&sent.fields, sent.position()) {
            Ok(Parcel { ceiling: back.ceiling.min(sent.ceiling), ..back })
        } else {
            Err(False::Changed(Box::new(sent)))
        }
    }

    /// The time at which [`Self::overdue`] has to be called.
    pub fn next_at(&self) -> Option<Time> {
        self.deadlines.first().map(|&(deadline, _)| deadline)
    }

    /// Takes out a packet that should have come back.
    pub fn overdue(&mut self, now: Time) -> Option<Parcel> {
        let &(deadline, key) = self.deadlines.first().filter(|&&(deadline, _)| deadline <= now)?;
        self.deadlines.remove(&(deadline, key));
        self.remove(&key).map(|sent| sent.parcel)
    }

    /// Forgets all packets.
    pub fn clear(&mut self) {
        self.all.clear();
        self.deadlines.clear();
        self.counts.clear();
    }
}

/// The answer in place of a neighbour that does not answer, or answers falsely.
pub(crate) fn answer(sent: Parcel) -> Parcel {
    Parcel { is_returning: true, fate: Fate::Away, reach: sent.at + 1, ..sent }
}
