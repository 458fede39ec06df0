//! The capacity of a source's paths, and the rate that it reports to the loop before, for connections in chains of
//! loops.

use anabranch_core::{Rate, Time};

use super::{Source, gap};
use crate::transport::{NO_RATE, Told};

impl Source {
    /// Sets the least capacity of the links of a path as far as the source knows; infinite if it knows of none.
    pub fn set_capacity(&mut self, path: usize, capacity: Rate) {
        let bps = if capacity.0.is_finite() { capacity.0.max(1.0) as u64 } else { 0 };
        if self.paths[path].known_bps != bps {
            self.paths[path].known_bps = bps;
            self.tell_capacity(path);
        }
    }

    /// Records the sending rate of the next loop, which an acknowledgement reports.
    #[inline]
    pub(super) fn on_onward_rate(&mut self, path: usize, onward_bps: u64) {
        let bps = if onward_bps == NO_RATE { 0 } else { onward_bps.max(1) };
        if self.paths[path].onward_bps != bps {
            self.paths[path].onward_bps = bps;
            self.tell_capacity(path);
        }
    }

    /// Passes the lesser of the two rates to the control. If the pace rises, the next packet waits by the new pace:
    /// after a packet that left at almost no rate, it would otherwise be due in a quarter of an hour.
    pub(super) fn tell_capacity(&mut self, path: usize) {
        let own = &mut self.paths[path];
        if !own.is_open {
            return;
        }
        let known = [own.known_bps, own.onward_bps].into_iter().filter(|&bps| bps > 0).min();
        let before = self.control.pace(path);
        self.control.on_capacity(path, Rate(known.map_or(f64::INFINITY, |bps| bps as f64)));
        let Some(pace) = self.control.pace(path) else { return };
        if before.is_some_and(|before| before.0 < pace.0) {
            let due = own.last_sent.0.saturating_add(gap(self.settings.packet.0, pace));
            own.next_send = own.next_send.min(Time(due));
            self.is_starved = true;
        }
    }

    /// Rate on which the loop before may count, over all paths, in bits a second.
    ///
    /// It is [`NO_RATE`] as long as nothing is known, and while no path is open; then the room at the relay limits the
    /// loop before. A report of 0 would stop that loop, and no acknowledgement could tell it that a path is open again.
    ///
    /// Windows of several sources amount to more than a link carries, since they include waiting packets. Such a rate,
    /// reported to the loop before, fills the relay. The delivery rate does not, but it is a round trip old.
    pub fn onward_bps(&self, told: Told) -> u64 {
        let of = |path: usize| {
            let own = &self.paths[path];
            let sent = self.control.pace(path).unwrap_or_else(|| self.rate(path)).0;
            let through = 8.0 * self.settings.packet.0 as f64 * own.round_rate;
            if told == Told::Through && own.is_limited && through > 0.0 { sent.min(through) } else { sent }
        };
        let sum: f64 = (0..self.paths.len()).filter(|&path| self.paths[path].is_open).map(of).sum();
        if sum > 0.0 { (sum as u64).min(NO_RATE - 1) } else { NO_RATE }
    }

    /// Adds bytes that have come from the loop before.
    pub fn on_arrival(&mut self, bytes: u64) {
        self.stream.on_arrival(bytes);
        self.is_starved = true;
    }

    /// Bytes that have come from the loop before and were not sent yet.
    pub fn backlog(&self) -> u64 {
        self.stream.backlog()
    }
}
