//! State of one path of a connection at its source.

use anabranch_core::{Span, Time};

use super::super::Settings;
use super::super::deliveries::Deliveries;
use super::super::outstanding::{Outstanding, Sent};
use super::super::packets::Chunk;
use super::super::rtt::Rtt;

/// The longest timeout, and the longest wait between probes of a sink without room, in picoseconds. A longer first
/// timeout takes its place [rfc6298, sec. 2.5].
pub(super) const MOST_WAIT: u64 = 60_000_000_000_000;

/// A path of a connection.
#[derive(Clone, Debug, Default)]
pub(super) struct Path {
    pub(super) is_open: bool,
    pub(super) sent: Outstanding,
    pub(super) rtt: Rtt,
    /// Time of the timeout, and the number of timeouts in a row.
    pub(super) patience: Option<Time>,
    pub(super) timeouts: u32,
    /// Number of the next packet when a loss or a mark was last detected.
    pub(super) recovery: u64,
    /// The round ends when all packets with lesser numbers are acknowledged or lost.
    pub(super) round: u64,
    /// Whether the window limited the path when it last sent.
    pub(super) is_limited: bool,
    /// Number of marks that the sink has counted.
    pub(super) marked: u32,
    pub(super) last_sent: Time,
    /// Earliest time at which the pace lets a packet go.
    pub(super) next_send: Time,
    pub(super) deliveries: Deliveries,
    /// Offset of the next byte to send under the redundant scheduler.
    pub(super) copied: u64,
    /// Least capacity of the path's links as far as it is known, and sending rate of the next loop, in bits a second; 0
    /// for none.
    pub(super) known_bps: u64,
    pub(super) onward_bps: u64,
    /// Time when the round began, packets delivered by then, and packets delivered a second in recent rounds.
    pub(super) round_at: Time,
    pub(super) round_delivered: u64,
    pub(super) round_rate: f64,
}

impl Path {
    /// Timeout for an acknowledgement, in picoseconds. It allows for the delay of a sink that does not acknowledge
    /// every packet.
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

    /// Records a packet that is sent, and returns its number.
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

    /// Ends a round: its delivery rate enters the average with a weight of a quarter.
    pub(super) fn count_round(&mut self, now: Time) {
        let seconds = Span(now.0.saturating_sub(self.round_at.0)).seconds();
        if seconds > 0.0 && self.round_at > Time(0) {
            let rate = (self.deliveries.count() - self.round_delivered) as f64 / seconds;
            self.round_rate += (rate - self.round_rate) * if self.round_rate > 0.0 { 0.25 } else { 1.0 };
        }
        (self.round_at, self.round_delivered) = (now, self.deliveries.count());
    }
}
