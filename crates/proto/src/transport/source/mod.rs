//! The source of a connection: sends its stream over its paths, detects losses, and asks the control for windows.
//!
//! The driver calls `poll` after each event, until nothing more may be sent. Then `wake_at` is the time of the next
//! poll, and `deadline` the time of a path's timeout.

mod onward;
mod path;
mod reinjection;

use anabranch_core::units::BIT_PICOSECONDS;
use anabranch_core::{Rate, Span, Time};

use self::path::Path;
use super::packets::{Ack, Chunk, Segment};
use super::stream::{Lack, Stream};
use super::{Scheduler, Settings};
use crate::window::{Acked, Signal, WindowControl};

/// Part of a packet that a window may lack by rounding.
const ROUNDING: f64 = 1e-9;

/// Time in picoseconds that bytes take at a pace.
#[inline]
fn gap(bytes: u64, pace: Rate) -> u64 {
    (bytes as f64 * BIT_PICOSECONDS / pace.0.max(1.0)) as u64
}

/// The source of a connection.
pub struct Source {
    control: Box<dyn WindowControl>,
    settings: Settings,
    stream: Stream,
    paths: Vec<Path>,
    /// Whether a path may have had room in its window and nothing to send.
    is_starved: bool,
    /// Time of the next poll if nothing happens before.
    wake: Option<Time>,
    /// The path that sent last.
    last: usize,
    /// Offset of the data that were last sent a second time on another path.
    reinjected: Option<u64>,
    /// Next probe of a sink without room while nothing is in flight: its time, and the number of probes so far.
    probe: Option<(Time, u32)>,
}

impl Source {
    /// Creates a source of `paths` closed paths, for an amount of bytes or an endless stream, written at the rate of
    /// `demand`.
    pub fn new(
        control: Box<dyn WindowControl>,
        settings: Settings,
        now: Time,
        paths: usize,
        amount: Option<u64>,
        demand: Rate,
    ) -> Self {
        Self {
            control,
            settings,
            stream: Stream::new(now, amount, settings.buffer, demand),
            paths: vec![Path::default(); paths],
            is_starved: true,
            wake: None,
            last: 0,
            reinjected: None,
            probe: None,
        }
    }

    /// Opens a path for sending.
    pub fn open(&mut self, path: usize, now: Time) {
        let own = &mut self.paths[path];
        if !own.is_open {
            let sent = std::mem::take(&mut own.sent);
            *own = Path {
                is_open: true,
                recovery: sent.next(),
                round: sent.next(),
                sent,
                marked: own.marked,
                known_bps: own.known_bps,
                ..Path::default()
            };
            own.copied = self.stream.complete();
            self.control.open(path, now);
            self.tell_capacity(path);
            self.is_starved = true;
        }
    }

    /// Whether a path is open.
    pub fn is_open(&self, path: usize) -> bool {
        self.paths[path].is_open
    }

    /// Closes a path; data in flight there are sent again over other paths.
    pub fn close(&mut self, path: usize) {
        let own = &mut self.paths[path];
        if own.is_open {
            own.is_open = false;
            own.patience = None;
            own.sent.give_up().for_each(|chunk| self.stream.on_lost(chunk));
            self.control.close(path);
            self.is_starved = true;
        }
    }

    /// Sets which paths share links, by a group number for each path.
    pub fn regroup(&mut self, groups: &[u32]) {
        self.control.regroup(groups);
    }

    /// Changes the rate at which the application writes.
    pub fn set_demand(&mut self, now: Time, demand: Rate) {
        self.stream.set_demand(now, demand);
        self.is_starved = true;
    }

    /// Stops sending.
    pub fn stop(&mut self) {
        self.stream.stop();
        (0..self.paths.len()).for_each(|path| self.close(path));
    }

    /// Whether the sink has all data.
    pub fn is_done(&self) -> bool {
        self.stream.is_done()
    }

    /// All data before this offset have arrived.
    pub fn complete(&self) -> u64 {
        self.stream.complete()
    }

    /// Whether all data were sent at least once.
    pub fn is_sent(&self) -> bool {
        self.stream.is_sent()
    }

    /// Window of a path in packets, 0 if it is closed, and its smoothed round trip in seconds, 0 before the first.
    pub fn state(&self, path: usize) -> (f64, f64) {
        let own = &self.paths[path];
        (if own.is_open { self.control.window(path) } else { 0.0 }, own.rtt.smoothed())
    }

    /// Pace of an open path, and its smoothed share of marked packets; `None` where the control has none.
    pub fn pace_and_marks(&self, path: usize) -> (Option<Rate>, Option<f64>) {
        if !self.paths[path].is_open {
            return (None, None);
        }
        (self.control.pace(path), self.control.marked_share(path))
    }

    /// Rate that the window of a path amounts to, or its pace if that is less.
    pub fn rate(&self, path: usize) -> Rate {
        let (window, rtt) = self.state(path);
        let rate = if rtt > 0.0 { 8.0 * self.settings.packet.0 as f64 * window / rtt } else { 0.0 };
        Rate(self.control.pace(path).map_or(rate, |pace| rate.min(pace.0)))
    }

    /// Processes an acknowledgement on a path.
    pub fn on_ack(&mut self, now: Time, path: usize, ack: &Ack) {
        self.stream.on_ack(ack.complete, ack.room);
        if !self.paths[path].is_open {
            return;
        }
        self.on_onward_rate(path, ack.onward_bps);
        let own = &mut self.paths[path];
        let before = own.sent.in_flight();
        let news = own.sent.on_ack(ack);
        let marked = ack.marked.wrapping_sub(own.marked);
        let marked = if marked < u32::MAX / 2 { marked } else { 0 };
        own.marked = own.marked.wrapping_add(marked);
        let rtt = news.newest.map(|newest| {
            let delay = u64::from(ack.delay_ns) * 1000;
            Span(now.0.saturating_sub(newest.at.0).saturating_sub(delay).max(1)).seconds()
        });
        if let Some(rtt) = rtt {
            own.rtt.on_sample(rtt);
            own.timeouts = 0;
        }
        if news.packets > 0 {
            own.patience = Some(Time(now.0.saturating_add(own.wait(&self.settings))));
        }
        let delivery = own.deliveries.on_ack(now, news.packets, news.newest.map(|newest| (newest.at, newest.before)));
        let is_newly_marked = marked > 0 && ack.newest >= own.recovery;
        if !self.find_losses(now, path, before) && is_newly_marked {
            self.signal(now, path, Signal::Mark, before);
        }
        let own = &mut self.paths[path];
        if own.sent.in_flight() == 0 {
            own.patience = None;
        }
        if news.packets == 0 && marked == 0 {
            return;
        }
        let ends_round = own.sent.first() >= own.round;
        if ends_round {
            own.round = own.sent.next();
            own.count_round(now);
        }
        let acked = Acked {
            now,
            packets: news.packets,
            marked,
            rtt,
            smoothed: own.rtt.smoothed(),
            in_flight: (before, own.sent.in_flight()),
            is_limited: own.is_limited,
            ends_round,
            is_recovering: own.is_recovering(),
            delivery,
        };
        self.control.on_ack(path, &acked);
    }

    /// Removes lost packets from a path; true if that lowered the window.
    fn find_losses(&mut self, now: Time, path: usize, in_flight: u32) -> bool {
        let own = &mut self.paths[path];
        let wait = own.rtt.reordering();
        let mut is_new = false;
        while let Some((number, chunk)) = own.sent.next_lost(now, wait) {
            is_new |= number >= own.recovery;
            self.stream.on_lost(chunk);
            self.is_starved = true;
        }
        if is_new {
            self.signal(now, path, Signal::Loss, in_flight);
        }
        is_new
    }

    fn signal(&mut self, now: Time, path: usize, signal: Signal, in_flight: u32) {
        let own = &mut self.paths[path];
        own.recovery = own.sent.next();
        self.control.on_signal(path, signal, in_flight, now);
    }

    /// Time of a path's next timeout: for an acknowledgement, or for a packet that later ones have overtaken.
    pub fn deadline(&self, path: usize) -> Option<Time> {
        let own = &self.paths[path];
        let late = own.sent.late_at(own.rtt.reordering());
        own.patience.into_iter().chain(late).min()
    }

    /// Processes a timeout of a path, if one is due.
    pub fn on_deadline(&mut self, now: Time, path: usize) {
        let own = &mut self.paths[path];
        let in_flight = own.sent.in_flight();
        if own.patience.is_some_and(|time| time <= now) {
            own.timeouts += 1;
            own.patience = None;
            own.sent.give_up().for_each(|chunk| self.stream.on_lost(chunk));
            self.is_starved = true;
            if own.timeouts == 1 {
                self.signal(now, path, Signal::Timeout, in_flight);
            } else {
                // The window is one packet already. A second signal would take it for the window before the loss
                // [rfc5681, eq. 4].
                own.recovery = own.sent.next();
            }
        } else {
            self.find_losses(now, path, in_flight);
            let own = &mut self.paths[path];
            if own.sent.in_flight() == 0 {
                own.patience = None;
            }
        }
    }

    /// Returns the next packet to send now, and its path; `hint` is the path of the last event.
    pub fn poll(&mut self, now: Time, hint: usize) -> Option<(usize, Segment)> {
        self.wake = None;
        let path = self.choose(now, hint)?;
        let (path, chunk) = match self.take(now, path).or_else(|lack| self.take_again(now, lack)) {
            Ok(taken) => taken,
            Err(lack) => {
                self.is_starved = true;
                let own = &mut self.paths[path];
                own.is_limited = false;
                own.deliveries.starve(own.sent.in_flight());
                if let Lack::Until(time) = lack {
                    self.wake = Some(self.wake.map_or(time, |wake| wake.min(time)));
                }
                return None;
            }
        };
        if self.has_better(path) {
            // The packet may be lost on this path, so another path sends it too.
            self.stream.on_lost(chunk);
        }
        self.last = path;
        let is_last = f64::from(self.paths[path].sent.in_flight() + 2) > self.control.window(path) + ROUNDING;
        let own = &mut self.paths[path];
        own.is_limited = is_last;
        let number = own.send(now, chunk, &self.settings);
        if let Some(pace) = self.control.pace(path) {
            let gap = gap(u64::from(chunk.bytes), pace);
            own.next_send = Time(now.0.max(own.next_send.0).saturating_add(gap));
        }
        Some((path, Segment { number, chunk }))
    }

    /// Reads what an acknowledgement needs, so that the processor fetches it early: the first step of three.
    #[doc(hidden)]
    #[inline]
    pub fn prefetch(&self) -> u64 {
        self.stream.complete() ^ self.settings.packet.0 ^ self.last as u64
    }

    /// Reads the state of a path that an acknowledgement needs, so that the processor fetches it early: the second
    /// step.
    #[doc(hidden)]
    #[inline]
    pub fn prefetch_at(&self, path: usize) -> u64 {
        let own = &self.paths[path];
        own.deliveries.count() ^ own.recovery ^ own.next_send.0 ^ own.sent.first() ^ self.control.window(path).to_bits()
    }

    /// Reads the packets in flight that an acknowledgement needs, so that the processor fetches them early: the third
    /// step.
    #[doc(hidden)]
    #[inline]
    pub fn prefetch_at_sent(&self, path: usize) -> u64 {
        self.paths[path].sent.oldest().map_or(0, |sent| sent.at.0 ^ sent.before.prefetch())
    }

    /// Sets the time at which a packet from `poll` left, from which its round trip counts.
    pub fn left(&mut self, path: usize, number: u64, at: Time) {
        self.paths[path].sent.left(number, at);
    }

    /// Time of the next poll if nothing happens before, after `poll` has returned nothing.
    pub fn wake_at(&self) -> Option<Time> {
        self.wake
    }

    /// Chooses the path that takes the next packet.
    fn choose(&mut self, now: Time, hint: usize) -> Option<usize> {
        if !self.is_starved {
            return self.may_send(now, hint).then_some(hint);
        }
        let count = self.paths.len();
        let mut best: Option<((u32, f64), usize)> = None;
        for step in 1..=count {
            // The search begins after the last path, so that paths of equal rank take turns.
            let path = (self.last + step) % count;
            if !self.may_send(now, path) {
                continue;
            }
            let rank = self.rank(path);
            if best.is_none_or(|(least, _)| rank < least) {
                best = Some((rank, path));
            }
        }
        if best.is_none() {
            self.is_starved = self.wake.is_some();
        }
        best.map(|(_, path)| path)
    }

    /// Rank of a path: the path with the least rank sends first, and equal ranks take turns.
    fn rank(&self, path: usize) -> (u32, f64) {
        let count = self.paths.len();
        let rank = match self.settings.scheduler {
            Scheduler::LowestRtt => self.paths[path].rtt.smoothed(),
            Scheduler::RoundRobin | Scheduler::Redundant => ((path + count - self.last - 1) % count) as f64,
        };
        // The path with the most timeouts in a row comes last.
        (self.paths[path].timeouts, rank)
    }

    /// Whether a path may send a packet now. If only its pace forbids it, sets the time of the next poll.
    fn may_send(&mut self, now: Time, path: usize) -> bool {
        let own = &mut self.paths[path];
        if !own.is_open || f64::from(own.sent.in_flight() + 1) > self.control.window(path) + ROUNDING {
            return false;
        }
        if own.sent.in_flight() == 0 && own.sent.next() > 0 {
            let idle = now.0.saturating_sub(own.last_sent.0);
            if idle > own.wait(&self.settings) && own.timeouts == 0 {
                own.last_sent = now;
                self.control.on_idle(path);
            }
        }
        if self.control.pace(path).is_some() && own.next_send > now {
            let time = own.next_send;
            self.wake = Some(self.wake.map_or(time, |wake| wake.min(time)));
            self.is_starved = true;
            return false;
        }
        true
    }

    /// Takes the data that a path sends next.
    fn take(&mut self, now: Time, path: usize) -> Result<(usize, Chunk), Lack> {
        let most = self.settings.packet.0 as u32;
        let chunk = match self.settings.scheduler {
            Scheduler::Redundant => self.copy(now, path, most)?,
            Scheduler::LowestRtt | Scheduler::RoundRobin => self.stream.take(now, most)?,
        };
        self.probe = None;
        Ok((path, chunk))
    }
}
