//! The packets of other agents and of own sessions that have crossed a link of the agent, and have not come back.
//!
//! A session has one packet on each path at a time, so these are no more than there are sessions on the links, and
//! nothing is kept of a session between its packets. What comes back is compared with what was sent: a neighbour cannot
//! change what links before it have counted, answer twice, or answer what was not sent to it. If it does not answer, the
//! agent answers in its place.

use std::collections::{BTreeSet, HashMap};

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

/// The packets that are on their way.
#[derive(Debug, Default)]
pub(crate) struct InFlight {
    all: HashMap<Key, Sent>,
    deadlines: BTreeSet<(Time, Key)>,
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
    /// Nothing; a packet that has not come back after `patience`, and as long again for each link after, is answered.
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

    /// Notes a packet that crosses a link, as it goes on.
    pub fn insert(&mut self, now: Time, parcel: &Parcel) {
        let key = Key::of(parcel);
        // Who is nearer to the trouble answers first.
        let after = (parcel.steps.len() - usize::from(parcel.at)) as u64;
        let deadline = now + Span(self.patience.0 * after);
        if let Some(sent) = self.all.insert(key, Sent { parcel: parcel.clone(), deadline }) {
            self.deadlines.remove(&(sent.deadline, key));
        }
        self.deadlines.insert((deadline, key));
    }

    /// Takes out the packet that has come back; as it is to be passed on, or why it is not.
    pub fn take(&mut self, back: Parcel) -> Result<Parcel, False> {
        let key = Key::of(&back);
        let Some(sent) = self.all.remove(&key) else { return Err(False::Unknown) };
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
        self.all.remove(&key).map(|sent| sent.parcel)
    }

    /// Forgets all packets.
    pub fn clear(&mut self) {
        self.all.clear();
        self.deadlines.clear();
    }
}

/// The answer in place of a neighbour that does not answer, or answers falsely.
pub(crate) fn answer(sent: Parcel) -> Parcel {
    Parcel { is_returning: true, fate: Fate::Away, reach: sent.at + 1, ..sent }
}
