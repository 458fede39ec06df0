//! A path of a connection, as its source knows it.

use anabranch_core::{Span, Time};

use super::super::Settings;
use super::super::deliveries::Deliveries;
use super::super::outstanding::{Outstanding, Sent};
use super::super::packets::Chunk;
use super::super::rtt::Rtt;

/// In picoseconds: the longest wait for an acknowledgement, or for room at the sink until it is asked again, unless the
/// first wait is set to be longer [rfc6298, sec. 2.5].
pub(super) const MOST_WAIT: u64 = 60_000_000_000_000;

/// A path of a connection.
#[derive(Clone, Debug, Default)]
pub(super) struct Path {
    pub(super) is_open: bool,
    pub(super) sent: Outstanding,
    pub(super) rtt: Rtt,
    /// When patience is over, and how often it was in a row.
    pub(super) patience: Option<Time>,
    pub(super) timeouts: u32,
    /// Packets with lesser numbers had been sent when a loss or a mark was last found.
    pub(super) recovery: u64,
    /// The round ends when those with lesser numbers are acknowledged or lost.
    pub(super) round: u64,
    /// Whether the window held it back when it last sent.
    pub(super) is_limited: bool,
    /// What the sink has counted of marks.
    pub(super) marked: u32,
    pub(super) last_sent: Time,
    /// Its pace lets no packet go before.
    pub(super) next_send: Time,
    pub(super) deliveries: Deliveries,
    /// Under the redundant scheduler the next byte that it sends.
    pub(super) copied: u64,
    /// In bits a second: the least capacity of its links as far as it is known, and what the next loop sends at; 0 for
    /// none.
    pub(super) known_bps: u64,
    pub(super) onward_bps: u64,
    /// When the round began, the packets delivered by then, and how many a second were in the last rounds.
    pub(super) round_at: Time,
    pub(super) round_delivered: u64,
    pub(super) round_rate: f64,
}

impl Path {
    /// How long to wait for an acknowledgement, which the sink may put off if it does not acknowledge every packet.
    pub(super) fn wait(&self, settings: &Settings) -> u64 {
        let wait = self.rtt.patience().map_or(settings.first_wait, |wait| wait.max(settings.least_wait));
        wait.0
            .saturating_add(settings.put_off().0)
            .saturating_mul(1 << self.timeouts.min(16))
            .min(MOST_WAIT.max(settings.first_wait.0))
    }

    pub(super) fn is_recovering(&self) -> bool {
        self.sent.first() < self.recovery
    }

    /// A packet is sent; gives its number.
    pub(super) fn send(&mut self, now: Time, chunk: Chunk, settings: &Settings) -> u64 {
        if self.sent.in_flight() == 0 {
            self.deliveries.begin(now);
        }
        if self.patience.is_none() {
            self.patience = Some(Time(now.0.saturating_add(self.wait(settings))));
        }
        self.last_sent = now;
        self.sent.push(Sent::new(chunk, now, self.deliveries.before()))
    }

    /// A round has ended: how fast packets were delivered in it counts a quarter.
    pub(super) fn count_round(&mut self, now: Time) {
        let seconds = Span(now.0.saturating_sub(self.round_at.0)).seconds();
        if seconds > 0.0 && self.round_at > Time(0) {
            let rate = (self.deliveries.count() - self.round_delivered) as f64 / seconds;
            self.round_rate += (rate - self.round_rate) * if self.round_rate > 0.0 { 0.25 } else { 1.0 };
        }
        (self.round_at, self.round_delivered) = (now, self.deliveries.count());
    }
}
