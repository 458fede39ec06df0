//! Neighbours that are silent: all agents hear for how long sources behind them may hold rates.

use anabranch_core::units::MILLISECOND;
use anabranch_core::{Span, Time};

use super::{FLOOD, Neighbours};
use crate::message::{AgentId, Stamp, Unheard};

/// Time after which the other end of a silent hop gives it up, too, and the sources behind it have heard of that: the two
/// ends heard each other last at times that differ by a beat and half a round trip.
const NEWS: Span = Span(400 * MILLISECOND);

impl Neighbours {
    /// Handles news of an agent that does not hear sources.
    pub(super) fn on_unheard(&mut self, now: Time, from: AgentId, news: Unheard) {
        if !self.unheard.is_news(now, &news) || !self.proofs.is_timely(news.stamp.epoch, &news.proof) {
            return;
        }
        if !self.unheard.may_say(now, from, news.agent) {
            return self.blame(now, from, FLOOD);
        }
        if !self.proofs.check(news.agent, &news.text(), &news.proof) {
            return self.accuse(now, from);
        }
        self.note_unheard(now, from, news);
    }

    /// Tells all agents that sources may hold rates until a time, which nobody hears.
    pub(super) fn tell_unheard(&mut self, now: Time, until: Time) {
        self.announced += 1;
        let stamp = Stamp { round: self.announced, ..self.stamp };
        let rest_ms = until.0.saturating_sub(now.0).div_ceil(MILLISECOND);
        let rest_ms = u16::try_from(rest_ms).unwrap_or(u16::MAX);
        let mut news = Unheard { agent: self.id, stamp, rest_ms, late_ms: 0, proof: Vec::new() };
        news.proof = self.proofs.prove(&news.text());
        self.note_unheard(now, self.id, news);
    }

    /// Takes news into account, and tells them on as soon as they may be.
    fn note_unheard(&mut self, now: Time, from: AgentId, news: Unheard) {
        let until = self.unheard.add(now, from, news);
        self.new_unheard = self.new_unheard.max(Some(until));
        self.tell_on(now);
    }

    /// Tells neighbours the news that may be told on now.
    pub(super) fn tell_on(&mut self, now: Time) {
        while let Some((agent, from)) = self.unheard.due(now) {
            for (&id, (hop, standing)) in &mut self.all {
                if id != from && !standing.is_given_up {
                    hop.tell_unheard(agent);
                }
            }
            self.feed_all(now);
        }
    }

    /// The time at which others hear of neighbours that are away, if they have to.
    pub(super) fn alarm(&self) -> Option<Time> {
        let silent = self.all.values().filter_map(|(_, standing)| standing.untold());
        let alarm = silent.map(|since| since + self.silence).chain(self.lost_until.map(|_| Time(0))).min();
        alarm.map(|at| at.max(self.own_unheard.next_at()))
    }

    /// Tells all agents about the neighbours that are away now, if they have to hear of one. One that is away for half the
    /// time goes with the others.
    pub(super) fn raise_alarm(&mut self, now: Time) {
        if self.alarm().is_none_or(|at| at > now) || !self.own_unheard.try_take(now) {
            return;
        }
        let mut until = self.lost_until.take();
        for (_, standing) in self.all.values_mut() {
            if let Some(since) = standing.untold().filter(|since| *since + Span(self.silence.0 / 2) <= now) {
                until = until.max(Some(given_up_until(since, self.patience)));
                standing.tell();
            }
        }
        if let Some(until) = until {
            self.tell_unheard(now, until);
        }
    }
}

/// The time until which sources behind a neighbour that was heard last at a time may hold rates: the other end gives the
/// hop up at about the same time, and tells those behind it.
pub(super) fn given_up_until(since: Time, patience: Span) -> Time {
    since + patience + NEWS
}
