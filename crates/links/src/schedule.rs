//! Links whose capacity changes: they send one packet after the other at the capacity of each time.
//!
//! If a link may send only at opportunities, these determine the departures of packets, and the capacities are only
//! reported.

use std::collections::VecDeque;

use anabranch_core::units::BIT_PICOSECONDS;
use anabranch_core::{Rate, Span, Time};
use anabranch_plan::LinkPlan;

use crate::opportunities::Place;

/// Capacities over time: picoseconds per byte from each time on; infinite for capacity 0.
#[derive(Clone, Debug)]
pub struct Schedule {
    from: Vec<u64>,
    ps_per_byte: Vec<f64>,
    /// Index of the piece in which the last packet left.
    at: usize,
    opportunities: Option<Place>,
    /// Whether a packet may use an opportunity at the instant of its arrival, since a queue discipline hands it over
    /// then.
    is_handed_over: bool,
    /// The waiting packets: departure and bytes of each, and the sum of the bytes.
    waiting: VecDeque<(u64, u32)>,
    waiting_bytes: u64,
}

/// Transmission time of a byte in picoseconds; infinite if the capacity is 0.
pub fn ps_per_byte(capacity: Rate) -> f64 {
    BIT_PICOSECONDS / capacity.0
}

impl Schedule {
    /// The schedule of a link; `None` if the capacity never changes, and is not 0.
    pub fn new(capacity: Rate, plan: &LinkPlan) -> Option<Self> {
        let pieces = plan.changes.iter().map(|&(time, rate)| (time.0, ps_per_byte(rate)));
        let (from, ps_per_byte) = std::iter::once((0, ps_per_byte(capacity))).chain(pieces).unzip();
        (!plan.changes.is_empty() || capacity.0 == 0.0).then_some(Self {
            from,
            ps_per_byte,
            at: 0,
            opportunities: plan.opportunities.as_ref().map(Place::new),
            is_handed_over: plan.discipline.is_some(),
            waiting: VecDeque::new(),
            waiting_bytes: 0,
        })
    }

    /// Index of the piece that applies at a time.
    fn piece(&self, time: u64) -> usize {
        self.from.partition_point(|&from| from <= time) - 1
    }

    /// Picoseconds per byte at a time.
    pub fn ps_per_byte(&self, time: u64) -> f64 {
        self.ps_per_byte[self.piece(time)]
    }

    /// End of a piece.
    fn until(&self, piece: usize) -> u64 {
        self.from.get(piece + 1).copied().unwrap_or(u64::MAX)
    }

    /// Departure of a packet whose transmission begins at `start`.
    fn end(&mut self, start: u64, bytes: u32) -> u64 {
        let mut left = f64::from(bytes);
        let mut time = start;
        loop {
            let until = self.until(self.at);
            if until <= time && until != u64::MAX {
                self.at += 1;
                continue;
            }
            if left <= 0.0 {
                return time;
            }
            let slowness = self.ps_per_byte[self.at];
            let whole = (left * slowness).round();
            if whole < (until - time) as f64 {
                return time.saturating_add((whole as u64).max(1));
            }
            if until == u64::MAX {
                return until;
            }
            left = (left - (until - time) as f64 / slowness).max(0.0);
            time = until;
        }
    }

    /// Start of the transmission of a packet that arrives now, if all packets before it have left by `free_at`. It is
    /// not while the capacity is 0, and not before an opportunity.
    pub fn begins(&mut self, free_at: u64, now: u64) -> u64 {
        if let Some(place) = &mut self.opportunities {
            let from = now.saturating_add(u64::from(!self.is_handed_over));
            return place.next(from).max(free_at);
        }
        let start = free_at.max(now);
        let first = self.piece(start);
        let carries = self.ps_per_byte[first..].iter().position(|slowness| slowness.is_finite());
        carries.map_or(u64::MAX, |more| if more == 0 { start } else { self.from[first + more] })
    }

    /// Adds a packet and returns its departure, if all packets before it have left by `free_at`.
    pub fn enter(&mut self, free_at: u64, now: u64, bytes: u32) -> u64 {
        let time = match &mut self.opportunities {
            Some(place) => {
                let from = now.saturating_add(u64::from(!self.is_handed_over));
                // At least a picosecond apart, so that no two packets of a link arrive at the same time.
                place.end(from, bytes).max(free_at.saturating_add(1))
            }
            None => self.end(free_at.max(now), bytes),
        };
        self.waiting.push_back((time, bytes));
        self.waiting_bytes += u64::from(bytes);
        time
    }

    /// Time of the first opportunity with bytes left, at `from` or later; `None` for a link that sends at any time.
    pub fn opportunity(&mut self, from: u64) -> Option<u64> {
        self.opportunities.as_mut().map(|place| place.next(from))
    }

    /// Bytes of opportunities that no packet used since the last call.
    pub fn take_unused(&mut self) -> u64 {
        self.opportunities.as_mut().map_or(0, Place::take_unused)
    }

    /// Capacity by the opportunities in a window before `now`; `None` for a link that sends at any time.
    pub fn measured_capacity(&self, now: Time, window: Span) -> Option<Rate> {
        self.opportunities.as_ref().map(|place| place.rate(now, window))
    }

    /// Removes the packets that have left; returns the bytes that wait.
    pub fn settle(&mut self, now: u64) -> u64 {
        while let Some((_, bytes)) = self.waiting.pop_front_if(|&mut (time, _)| time <= now) {
            self.waiting_bytes -= u64::from(bytes);
        }
        self.waiting_bytes
    }

    /// Backlog in bytes at a time.
    pub fn backlog(&self, now: u64) -> u64 {
        let gone = self.waiting.iter().take_while(|(time, _)| *time <= now).map(|&(_, bytes)| u64::from(bytes));
        self.waiting_bytes - gone.sum::<u64>()
    }
}
