//! What a source knows of what its paths can carry, and what it tells the loop before: for connections in chains of loops.

use anabranch_core::{Rate, Time};

use super::{Source, gap};
use crate::transport::{NO_RATE, Told};

impl Source {
    /// Of the links of a path the least capacity, as far as the source knows; infinite if it knows of none.
    pub fn set_capacity(&mut self, path: usize, capacity: Rate) {
        let bps = if capacity.0.is_finite() { capacity.0.max(1.0) as u64 } else { 0 };
        if self.paths[path].known_bps != bps {
            self.paths[path].known_bps = bps;
            self.tell_capacity(path);
        }
    }

    /// An acknowledgement says what the next loop sends at.
    #[inline]
    pub(super) fn on_onward_rate(&mut self, path: usize, onward_bps: u64) {
        let bps = if onward_bps == NO_RATE { 0 } else { onward_bps.max(1) };
        if self.paths[path].onward_bps != bps {
            self.paths[path].onward_bps = bps;
            self.tell_capacity(path);
        }
    }

    /// Tells the control the lesser of the two. If that makes it faster, the next packet waits by the new pace: after one
    /// that left when next to nothing could be carried, it would be due in a quarter of an hour.
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

    /// What the loop before may count on, over all paths.
    ///
    /// [`NO_RATE`] as long as nothing is known, and while no path is open: then the room at the relay is what limits the
    /// loop before. If it were told 0, it would send nothing whose acknowledgement could tell it that a path is open again.
    ///
    /// Windows of several sources add up to more than a link carries, since they hold what waits there too: what they come
    /// to, told to the loop before, fills the relay. What comes through does not, and is a round trip late.
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

    /// So many bytes have come from the loop before.
    pub fn on_arrival(&mut self, bytes: u64) {
        self.stream.on_arrival(bytes);
        self.is_starved = true;
    }

    /// Bytes that have come from the loop before, and were not sent yet.
    pub fn backlog(&self) -> u64 {
        self.stream.backlog()
    }
}
