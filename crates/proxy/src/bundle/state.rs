//! What a flow at one end knows and decides: which subflow sends what, and when.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use tokio::time::Instant;

use super::line::Line;
use super::{Store, fastest, usable};
use crate::flow::frame::{Frame, MOST_PIECE};
use crate::flow::pieces::Piece;
use crate::flow::receiver::{FIRST_WINDOW, Receiver};
use crate::flow::schedule::takes;
use crate::flow::sender::Sender;
use crate::tunnel::Carried;

/// The longest delay of news of what has arrived.
const NEWS: Duration = Duration::from_millis(20);

/// For how long a flow counts as bulk after there was no room for more of it.
const LATELY: Duration = Duration::from_millis(100);

/// Bytes in one direction after which a flow takes all lines.
const LARGE: u64 = 32 << 10;

/// Pieces that a window of a line has at least, and the least number of bytes of a piece: those of a small window are soon
/// there.
const PIECES: u64 = 4;
const LEAST_PIECE: usize = 1 << 10;

/// Bytes that are copied before others are awaited.
const MOST_COPIED: u64 = 64 << 10;

/// Bytes that wait for a subflow: a part of the windows of all, and a least number.
const AHEAD: (u64, u64) = (2, 128 << 10);

/// A flow at one end, without its tasks.
pub(super) struct State {
    pub sender: Sender,
    pub receiver: Receiver,
    pub subflows: BTreeMap<u32, Subflow>,
    /// Number of subflows that there were.
    pub count: u32,
    /// The subflow that was the fastest at the last look.
    first: Option<u32>,
    /// Whether that was another one before, which the others have to hear.
    is_first_new: bool,
    pub told: Instant,
    pub ending: Option<Ending>,
    /// Whether the other end has left for good.
    pub is_left: bool,
    pub carried: Carried,
    pub is_large: bool,
    /// When there was no room for more last.
    pub full: Option<Instant>,
    /// Bytes that the store has counted.
    pub stored: u64,
    /// Number of bytes that the other end had in order, and since when it has no more.
    progress: (u64, Instant),
    /// Bytes that were copied since then.
    copied: u64,
}

/// How a flow has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// Both ends have all bytes, and have heard of it.
    Well,
    Failed,
}

/// A stream of a flow on a line, which may have several.
pub(super) struct Subflow {
    pub line: Arc<Line>,
    /// Whether the other end was told here of the end.
    pub has_told_end: bool,
    /// Whether the stream takes nothing now.
    pub is_full: bool,
    /// Bytes that the stream has carried in each direction.
    pub carried: Carried,
}

/// What a subflow does next.
pub(super) enum Next {
    /// Sends these bytes, the second after the first.
    Send { head: Bytes, body: Bytes, is_small: bool },
    /// Waits for a change, or until a time.
    Wait(Option<Instant>),
    /// Ends the stream, since both ends have all.
    Finish,
    /// Breaks the stream off, since the flow has failed.
    Reset,
}

impl State {
    /// A flow of which nothing was carried.
    pub fn new(now: Instant) -> Self {
        Self {
            sender: Sender::new(FIRST_WINDOW),
            receiver: Receiver::new(FIRST_WINDOW),
            subflows: BTreeMap::new(),
            count: 0,
            first: None,
            is_first_new: false,
            told: now,
            ending: None,
            is_left: false,
            carried: Carried::default(),
            is_large: false,
            full: None,
            stored: 0,
            progress: (0, now),
            copied: 0,
        }
    }

    /// Adds a subflow; its number.
    pub fn add(&mut self, line: Arc<Line>) -> u32 {
        let own = self.count;
        self.count += 1;
        self.subflows.insert(own, Subflow { line, has_told_end: false, is_full: false, carried: Carried::default() });
        own
    }

    /// How the flow has ended, if it has.
    pub fn ending(&mut self) -> Option<Ending> {
        if self.ending.is_none() && self.sender.is_done() && self.receiver.is_over() && !self.receiver.has_news() {
            self.ending = Some(Ending::Well);
        }
        self.ending
    }

    /// Notes that the flow has failed, unless it has ended.
    pub fn fail(&mut self) {
        if self.ending().is_none() {
            self.ending = Some(Ending::Failed);
        }
    }

    /// Whether another subflow is the fastest than those who wait know.
    pub fn is_first_new(&mut self) -> bool {
        std::mem::take(&mut self.is_first_new)
    }

    /// Whether both ends have all bytes, though not all may have been taken out here.
    pub fn is_whole(&self) -> bool {
        self.sender.is_done() && self.receiver.has_all()
    }

    /// Whether more lines than one are worth it: much was carried, copies go over another, or no line carries anything now.
    pub fn wants_more(&self) -> bool {
        self.is_large || self.lines().any(|line| line.terms().has_copies) || self.lines().all(|line| line.is_doubted())
    }

    /// Counts bytes; whether more lines are worth it only now.
    pub fn note(&mut self, into: u64, out: u64) -> bool {
        self.carried.into_stream += into;
        self.carried.out_of_stream += out;
        let is_large = self.carried.into_stream.max(self.carried.out_of_stream) >= LARGE;
        is_large && !std::mem::replace(&mut self.is_large, is_large)
    }

    /// Bytes that streams of a line have carried, in the direction that has carried more.
    pub fn carried_on(&self, line: u64) -> u64 {
        let all = self.subflows.values().filter(|subflow| subflow.line.id == line).map(|subflow| subflow.carried);
        let (into, out) = all.fold((0, 0), |sum, one| (sum.0 + one.into_stream, sum.1 + one.out_of_stream));
        into.max(out)
    }

    fn lines(&self) -> impl Iterator<Item = &Arc<Line>> + Clone {
        self.subflows.values().map(|subflow| &subflow.line)
    }

    /// The number of the subflow over which a small message arrives first.
    fn fastest(&self) -> Option<u32> {
        let line = fastest(self.lines())?;
        self.subflows.iter().find(|(_, subflow)| Arc::ptr_eq(&subflow.line, line)).map(|(number, _)| *number)
    }

    /// Whether a subflow takes bytes now.
    fn takes(&self, own: u32, first: u32, now: Instant) -> bool {
        if own == first {
            return true;
        }
        let (Some(own), Some(first)) = (self.subflows.get(&own), self.subflows.get(&first)) else { return false };
        if !usable(self.lines()).iter().any(|line| Arc::ptr_eq(line, &own.line)) {
            return false;
        }
        // Who could not write just now has more than is seen here.
        self.is_bulk(now) || takes(&own.line.weighed(false), &first.line.weighed(first.is_full), self.sender.backlog())
    }

    /// Whether more waits than there was room for, a short time ago.
    pub fn is_bulk(&self, now: Instant) -> bool {
        self.sender.end().is_none() && self.full.is_some_and(|full| now < full + LATELY)
    }

    pub fn next(&mut self, own: u32, now: Instant) -> Next {
        match self.ending() {
            Some(Ending::Failed) => return Next::Reset,
            Some(Ending::Well) => return Next::Finish,
            None => {}
        }
        let Some(first) = self.fastest() else { return Next::Wait(None) };
        self.is_first_new |= self.first.replace(first) != Some(first);
        let mut head = BytesMut::new();
        let mut due = None;
        if own == first && self.receiver.has_news() {
            if self.receiver.is_urgent() || now >= self.told + NEWS {
                let (received, limit) = self.receiver.tell();
                self.told = now;
                Frame::Ack(received, limit).write(&mut head);
            } else {
                due = Some(self.told + NEWS);
            }
        }
        if let Some(end) = self.sender.end()
            && let Some(subflow) = self.subflows.get_mut(&own).filter(|subflow| !subflow.has_told_end)
        {
            subflow.has_told_end = true;
            Frame::End(end).write(&mut head);
        }
        let piece = self.piece(own, first, now);
        let body = piece.map_or_else(Bytes::new, |piece| {
            Frame::write_head(piece.offset, piece.bytes.len(), &mut head);
            piece.bytes
        });
        if head.is_empty() {
            let held_up = if own == first { self.held_up_at(now) } else { None };
            return Next::Wait(due.into_iter().chain(held_up).min());
        }
        let is_small = !self.is_bulk(now) && self.sender.backlog() == 0;
        if let Some(subflow) = self.subflows.get_mut(&own) {
            subflow.is_full = true;
        }
        Next::Send { head: head.freeze(), body, is_small }
    }

    /// The next bytes for a subflow: copies of what is late on another, or bytes that nobody has.
    fn piece(&mut self, own: u32, first: u32, now: Instant) -> Option<Piece> {
        let line = &self.subflows.get(&own)?.line;
        let (line, window) = (line.id, line.pace().window);
        let most = ((window / PIECES) as usize).clamp(LEAST_PIECE, MOST_PIECE);
        if own == first && self.held_up_at(now).is_some_and(|at| now >= at) {
            if let Some(piece) = self.sender.hand_out_copy(line, most) {
                self.copied += piece.bytes.len() as u64;
                return Some(piece);
            }
            self.progress.1 = now;
        }
        match self.copies_to(now).filter(|_| own != first) {
            // What is new goes over the fastest, so that all of it is on two lines.
            Some(second) if second == line => self.sender.hand_out_copy(line, most),
            None if self.takes(own, first, now) => self.sender.hand_out(line, most),
            _ => None,
        }
    }

    /// The line over which copies of what the fastest carries go, if there are any: of small exchanges, where the user wants
    /// that.
    fn copies_to(&self, now: Instant) -> Option<u64> {
        let first = fastest(self.lines()).filter(|line| line.terms().has_copies)?;
        let is_small = !self.is_bulk(now) && self.sender.kept() <= MOST_COPIED;
        let others = self.lines().filter(|line| line.id != first.id && line.rank() == first.rank());
        fastest(others).filter(|_| is_small).map(|line| line.id)
    }

    /// Whether what one subflow sends is of interest for another, which sends it too.
    pub fn has_copies(&self, now: Instant) -> bool {
        self.copies_to(now).is_some()
    }

    /// When the other end will have lacked the same bytes for longer than a line that works leaves it without.
    fn held_up_at(&mut self, now: Instant) -> Option<Instant> {
        let is_idle = self.sender.kept() == 0;
        if is_idle || self.sender.acked() != self.progress.0 || self.copied >= MOST_COPIED {
            // What was copied has its time, too.
            self.progress = (self.sender.acked(), now);
            self.copied = 0;
        }
        let slowest = self.lines().map(|line| line.pace()).map(|pace| pace.rtt + 2 * pace.jitter).max()?;
        let mut ids = self.lines().map(|line| line.id);
        let one = ids.next();
        (!is_idle && ids.any(|id| Some(id) != one)).then(|| self.progress.1 + slowest + 2 * NEWS)
    }

    /// Hands what the line of a subflow has out to others, since it may not arrive.
    pub fn distrust(&mut self, own: u32) {
        self.receiver.forget_told();
        if let Some(subflow) = self.subflows.get_mut(&own) {
            self.sender.fail(subflow.line.id);
            subflow.has_told_end = false;
        }
    }

    /// Counts what waits, and takes as much from the other end as the store has room for.
    pub fn account(&mut self, store: &Store) {
        let now = self.receiver.waiting() + self.sender.kept();
        store.change(std::mem::replace(&mut self.stored, now), now);
        self.receiver.narrow(store.share());
    }

    /// Whether there is room for more; notes when there is none.
    pub fn make_room(&mut self, store: &Store, now: Instant) -> Option<()> {
        let has_room = self.sender.has_room(self.ahead()) && self.sender.kept() < store.share().max(FIRST_WINDOW);
        if !has_room {
            self.full = Some(now);
        }
        has_room.then_some(())
    }

    /// Bytes that may wait for a subflow.
    fn ahead(&self) -> u64 {
        let windows: u64 = self.lines().map(|line| line.pace().window).sum();
        (windows / AHEAD.0).max(AHEAD.1)
    }
}
