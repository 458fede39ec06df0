//! What a source sends twice though it may not be lost: all under the redundant scheduler, what holds others up, and what
//! is late at the end.

use anabranch_core::{Span, Time};

use super::super::outstanding::Sent;
use super::super::packets::Chunk;
use super::super::stream::Lack;
use super::Source;
use super::path::Path;
use crate::window::Signal;

impl Source {
    /// Whether another path works better than one that has timed out.
    pub(super) fn has_better(&self, path: usize) -> bool {
        let timeouts = self.paths[path].timeouts;
        timeouts > 0 && self.paths.iter().any(|other| other.is_open && other.timeouts < timeouts)
    }

    /// What a path sends next if each sends all.
    pub(super) fn copy(&mut self, now: Time, path: usize, most: u32) -> Result<Chunk, Lack> {
        let offset = self.paths[path].copied.max(self.stream.complete());
        if offset >= self.stream.next() {
            let chunk = self.stream.take(now, most)?;
            // What was lost may come first.
            self.paths[path].copied = chunk.end().max(offset);
            return Ok(chunk);
        }
        let chunk = self.stream.at(offset, now, most)?;
        self.paths[path].copied = chunk.end();
        Ok(chunk)
    }

    /// The sink has no room for more since something is missing: a path that could send sends that once more, and the
    /// one that holds all up slows down.
    pub(super) fn reinject(&mut self, now: Time, path: usize) -> Option<Chunk> {
        let missing = self.stream.complete();
        if self.reinjected == Some(missing) {
            return None;
        }
        let holds = |(other, own): (usize, &Path)| {
            let chunk = own.sent.oldest().filter(|_| other != path)?.chunk;
            (chunk.offset <= missing && missing < chunk.end()).then_some((other, chunk))
        };
        let (slow, chunk) = self.paths.iter().enumerate().find_map(holds)?;
        self.reinjected = Some(missing);
        if !self.paths[slow].is_recovering() {
            let in_flight = self.paths[slow].sent.in_flight();
            self.signal(now, slow, Signal::Loss, in_flight);
        }
        Some(chunk)
    }

    /// Nothing is left but what is under way: a path that could send sends once more what another will bring later than
    /// it would, or should have brought.
    pub(super) fn hurry(&mut self, now: Time, path: usize) -> Result<Chunk, Lack> {
        let own = &self.paths[path];
        let (own_rtt, is_late) = (own.rtt.smoothed(), own.timeouts > 0);
        let mut best: Option<(Time, &mut Sent)> = None;
        let mut lack = Lack::AtEnd;
        for other in self.paths.iter_mut().enumerate().filter(|(other, _)| *other != path && !is_late).map(|(_, p)| p) {
            let Some(patience) = other.rtt.patience() else { continue };
            let rtt = other.rtt.smoothed();
            let Some(overdue) = other.sent.alone().next().map(|sent| after(sent.at, patience)) else { continue };
            let next = if overdue <= now { other.sent.alone().next() } else { other.sent.alone().next_back() };
            let Some(next) = next else { continue };
            let expected = if overdue <= now { Time(u64::MAX) } else { after_seconds(next.at, rtt) };
            if own_rtt > 0.0 && after_seconds(now, own_rtt) < expected {
                if best.as_ref().is_none_or(|(latest, _)| expected > *latest) {
                    best = Some((expected, next));
                }
            } else if overdue > now {
                lack = Lack::Until(match lack {
                    Lack::Until(time) => time.min(overdue),
                    _ => overdue,
                });
            }
        }
        let (_, sent) = best.ok_or(lack)?;
        sent.is_copied = true;
        Ok(sent.chunk)
    }
}

fn after(time: Time, span: Span) -> Time {
    Time(time.0.saturating_add(span.0))
}

fn after_seconds(time: Time, seconds: f64) -> Time {
    after(time, Span::from_seconds(seconds).unwrap_or(Span(u64::MAX)))
}
