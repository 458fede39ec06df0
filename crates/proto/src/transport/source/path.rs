//! A path of a connection, as its source knows it.

use anabranch_core::{Span, Time};

use super::super::Settings;
use super::super::outstanding::{News, Outstanding, Sent};
use super::super::packets::Chunk;
use super::super::rtt::Rtt;
use crate::window::Delivery;

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
    /// Packets delivered, when the last was told of, and when that had been sent.
    pub(super) delivered: u64,
    pub(super) delivered_at: Time,
    pub(super) first_at: Time,
    /// Rates say little of the path until so many are delivered, since there was too little to send.
    pub(super) starved_until: u64,
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
            (self.delivered_at, self.first_at) = (now, now);
        }
        if self.patience.is_none() {
            self.patience = Some(Time(now.0.saturating_add(self.wait(settings))));
        }
        self.last_sent = now;
        let (delivered, delivered_at, first_at) = (self.delivered, self.delivered_at, self.first_at);
        let is_limited = delivered < self.starved_until;
        self.sent.push(Sent { is_limited, delivered, delivered_at, first_at, ..Sent::new(chunk, now) })
    }

    /// A round has ended: how fast packets were delivered in it counts a quarter.
    pub(super) fn count_round(&mut self, now: Time) {
        let seconds = Span(now.0.saturating_sub(self.round_at.0)).seconds();
        if seconds > 0.0 && self.round_at > Time(0) {
            let rate = (self.delivered - self.round_delivered) as f64 / seconds;
            self.round_rate += (rate - self.round_rate) * if self.round_rate > 0.0 { 0.25 } else { 1.0 };
        }
        (self.round_at, self.round_delivered) = (now, self.delivered);
    }

    /// How fast packets were delivered since the newest acknowledged one was sent.
    pub(super) fn delivery(&mut self, now: Time, news: &News) -> Option<Delivery> {
        self.delivered += u64::from(news.packets);
        self.delivered_at = now;
        let newest = news.newest?;
        let sending = newest.at.0.saturating_sub(newest.first_at.0);
        let arriving = now.0.saturating_sub(newest.delivered_at.0);
        self.first_at = newest.at;
        let seconds = Span(sending.max(arriving)).seconds();
        let rate = (self.delivered - newest.delivered) as f64 / seconds;
        (seconds > 0.0).then_some(Delivery {
            rate,
            before: newest.delivered,
            delivered: self.delivered,
            is_limited_by_source: newest.is_limited,
        })
    }
}
