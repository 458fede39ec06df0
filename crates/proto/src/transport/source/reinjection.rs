//! Data that a source sends twice although they may not be lost: all data under the redundant scheduler, data that
//! block the sink, and late data at the end.

use anabranch_core::{Span, Time};

use super::super::Scheduler;
use super::super::outstanding::Sent;
use super::super::packets::Chunk;
use super::super::stream::Lack;
use super::Source;
use super::path::{MOST_WAIT, Path};
use crate::window::Signal;

impl Source {
    /// Whether this path has timed out and another open path has fewer timeouts.
    pub(super) fn has_better(&self, path: usize) -> bool {
        let timeouts = self.paths[path].timeouts;
        timeouts > 0 && self.paths.iter().any(|other| other.is_open && other.timeouts < timeouts)
    }

    /// Takes the data that a path sends next if each path sends all data.
    pub(super) fn copy(&mut self, now: Time, path: usize, most: u32) -> Result<Chunk, Lack> {
        let offset = self.paths[path].copied.max(self.stream.complete());
        if offset >= self.stream.next() {
            let chunk = self.stream.take(now, most)?;
            // Lost data may come first.
            self.paths[path].copied = chunk.end().max(offset);
            return Ok(chunk);
        }
        let chunk = self.stream.at(offset, now, most)?;
        self.paths[path].copied = chunk.end();
        Ok(chunk)
    }

    /// Takes data to send again where nothing new can be sent, and chooses the path: the first path that may send and
    /// has something to send.
    pub(super) fn take_again(&mut self, now: Time, mut lack: Lack) -> Result<(usize, Chunk), Lack> {
        if lack == Lack::Room && self.paths.iter().all(|path| path.sent.in_flight() == 0) {
            return self.ask_for_room(now);
        }
        let is_apt = self.paths.len() > 1 && self.settings.scheduler != Scheduler::Redundant;
        if !is_apt || !matches!(lack, Lack::Room | Lack::AtEnd) {
            return Err(lack);
        }
        let mut paths: Vec<usize> = (0..self.paths.len()).filter(|&path| self.may_send(now, path)).collect();
        paths.sort_by(|&a, &b| self.rank(a).partial_cmp(&self.rank(b)).expect("no round trip is NaN"));
        let is_full = lack == Lack::Room;
        for path in paths {
            let taken = if is_full { self.reinject(now, path).ok_or(Lack::Room) } else { self.hurry(now, path) };
            match taken {
                Ok(chunk) => return Ok((path, chunk)),
                Err(own) => lack = lack.sooner(own),
            }
        }
        Err(lack)
    }

    /// Probes a sink that has no room while nothing is in flight.
    ///
    /// No acknowledgement is due that could report room, and a report by the sink may be lost. One byte that the sink
    /// has already makes it answer. Probes become rarer until there is room for a packet.
    fn ask_for_room(&mut self, now: Time) -> Result<(usize, Chunk), Lack> {
        let wait = self.paths[self.last].wait(&self.settings);
        let (due, tries) = *self.probe.get_or_insert((Time(now.0.saturating_add(wait)), 0));
        if due > now {
            return Err(Lack::Until(due));
        }
        // If only its pace holds a path back, the pace determines the time of the probe.
        let path = (0..self.paths.len()).find(|&path| self.may_send(now, path)).ok_or(Lack::Room)?;
        let wait = wait.saturating_mul(2 << tries.min(8)).min(wait.max(MOST_WAIT));
        self.probe = Some((Time(now.0.saturating_add(wait)), tries + 1));
        Ok((path, Chunk { offset: self.stream.complete().saturating_sub(1), bytes: 1 }))
    }

    /// Takes data that block a sink without room, to be sent again on a path that could send; the path that delays them
    /// slows down.
    fn reinject(&mut self, now: Time, path: usize) -> Option<Chunk> {
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

    /// Takes late data to send again at the end of the stream, when all data were sent once.
    ///
    /// A path that could send sends data that another path would deliver later than it, or should have delivered.
    fn hurry(&mut self, now: Time, path: usize) -> Result<Chunk, Lack> {
        let own_rtt = self.paths[path].rtt.smoothed();
        if own_rtt == 0.0 || self.paths[path].timeouts > 0 {
            return Err(Lack::AtEnd);
        }
        let own_arrival = after_seconds(now, own_rtt);
        let put_off = self.settings.put_off();
        // A path without any acknowledgement gets the longest timeout of the other paths.
        let longest = self.paths.iter().filter_map(|path| path.rtt.patience()).max();
        let mut best: Option<(Time, &mut Sent)> = None;
        let mut lack = Lack::AtEnd;
        for other in self.paths.iter_mut().enumerate().filter(|(other, _)| *other != path).map(|(_, other)| other) {
            let Some(patience) = other.rtt.patience().or(longest) else { continue };
            let Some(oldest) = other.sent.alone().next().map(|sent| sent.at) else { continue };
            let overdue = after(after(oldest, patience), put_off);
            let is_overdue = overdue <= now;
            let next = if is_overdue { other.sent.alone().next() } else { other.sent.alone().next_back() };
            let next = next.expect("there is one");
            let expected = if is_overdue { Time(u64::MAX) } else { after_seconds(next.at, other.rtt.smoothed()) };
            if own_arrival >= expected {
                lack = lack.sooner(Lack::Until(overdue));
            } else if best.as_ref().is_none_or(|(latest, _)| expected > *latest) {
                best = Some((expected, next));
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
