//! Neighbours that are silent: all agents hear for how long sources behind them may hold rates.

use anabranch_core::units::MILLISECOND;
use anabranch_core::{Span, Time};

use super::{FLOOD, Neighbours};
use crate::message::{AgentId, Stamp, Unheard};
use crate::standing::Standing;
use crate::unheard::PAUSE;

/// Time after which the other end of a silent hop gives it up, too, and the sources behind it have heard of that: the two
/// ends heard each other last at times that differ by a beat and a round trip.
const NEWS: Span = Span(400 * MILLISECOND);

impl Neighbours {
    /// Handles news of an agent that does not hear sources.
    pub(super) fn on_unheard(&mut self, now: Time, from: AgentId, news: Unheard) {
        if !self.unheard.is_news(news.agent, news.stamp) || !self.proofs.is_timely(news.stamp.epoch, &news.proof) {
            return;
        }
        if !self.unheard.may_pass(now, news.agent) {
            return self.blame(now, from, FLOOD);
        }
        if !self.proofs.check(news.agent, &news.text(), &news.proof) {
            return self.accuse(now, from);
        }
        self.spread_unheard(now, news, from);
    }

    /// Tells all agents that sources may hold rates for a time that nobody hears.
    pub(super) fn tell_unheard(&mut self, now: Time, rest: Span) {
        self.next_unheard = now + PAUSE;
        self.announced += 1;
        let stamp = Stamp { round: self.announced, ..self.stamp };
        let rest_ms = u16::try_from(rest.0.div_ceil(MILLISECOND)).unwrap_or(u16::MAX);
        let mut news = Unheard { agent: self.id, stamp, rest_ms, late_ms: 0, proof: Vec::new() };
        news.proof = self.proofs.prove(&news.text());
        self.spread_unheard(now, news, self.id);
    }

    fn spread_unheard(&mut self, now: Time, news: Unheard, from: AgentId) {
        for (&id, (hop, standing)) in &mut self.all {
            if id != from && !standing.is_given_up {
                hop.tell_unheard(news.agent);
            }
        }
        let until = self.unheard.add(now, news, self.lease);
        self.new_unheard = self.new_unheard.max(Some(until));
        self.feed_all(now);
    }

    /// The time at which others hear of a neighbour that is away, if they have to.
    pub(super) fn alarm(&self, standing: &Standing) -> Option<Time> {
        standing.untold().map(|since| (since + self.silence).max(self.next_unheard))
    }

    /// Tells all agents about the neighbours that are silent now, if they have to hear of them.
    pub(super) fn raise_alarm(&mut self, now: Time) {
        let is_due = |standing: &Standing| self.alarm(standing).is_some_and(|at| at <= now);
        let due: Vec<AgentId> =
            self.all.iter().filter(|(_, (_, standing))| is_due(standing)).map(|(&id, _)| id).collect();
        let mut last = None;
        for id in due {
            if let Some((_, standing)) = self.all.get_mut(&id) {
                last = last.max(standing.untold());
                standing.tell();
            }
        }
        if let Some(last) = last {
            // The other end gives the hop up at about the same time, and tells those behind it.
            let until = last + self.patience + NEWS;
            self.tell_unheard(now, Span(until.0.saturating_sub(now.0)));
        }
    }
}
