//! A path as the QUIC library tells of it, put in the words of a window control.
//!
//! The library tells of acknowledgements packet by packet, then that this was all, and only then of losses and marks that
//! they show. A control hears of these first, as from our own source, and then of all that was acknowledged in one. So what
//! was acknowledged is kept until the library asks for the window.

use anabranch_core::{Span, Time};
use anabranch_proto::transport::{Deliveries, Rtt, Settings};
use anabranch_proto::window::{Acked, Signal, WindowControl};

use super::under_way::{Sent, UnderWay};

/// By how much the library's pacer is faster than a window in a round trip.
const PACED: f64 = 1.25;

/// What acknowledgements that came at one time have brought.
#[derive(Clone, Copy, Debug)]
struct Batch {
    now: Time,
    /// Packets under way before them.
    before: u32,
    packets: u32,
    newest: Option<Sent>,
    /// Whether there was nothing to send when they came.
    is_starved: bool,
    is_complete: bool,
}

/// The packets lost of which the library has not yet said that this was all.
#[derive(Clone, Copy, Debug)]
struct Lost {
    /// Packets under way before.
    before: u32,
    newest: u64,
}

/// A path of a connection.
#[derive(Debug, Default)]
pub(super) struct Subflow {
    under_way: UnderWay,
    rtt: Rtt,
    batch: Option<Batch>,
    lost: Option<Lost>,
    /// The newest packet acknowledged.
    acknowledged: Option<u64>,
    /// Packets with lesser numbers had been sent when a loss or a mark was last found.
    recovery: u64,
    /// The round ends when those with lesser numbers are acknowledged or lost.
    round: u64,
    /// Packets with lesser numbers were sent in a window that was full.
    limited: u64,
    last_sent: Time,
    deliveries: Deliveries,
    /// Packets that came marked, as the peer says, and those of them that the control has not been told of.
    marked: u64,
    untold: u64,
    rounds: Rounds,
}

/// How fast packets are delivered, by rounds.
#[derive(Clone, Copy, Debug, Default)]
struct Rounds {
    /// When this one began, and the packets delivered by then.
    at: Time,
    delivered: u64,
    /// The rate over the last rounds, in packets a second.
    rate: f64,
    /// Whether the window held the path back.
    is_limited: bool,
}

impl Rounds {
    /// A round has ended: how fast packets were delivered in it counts a quarter.
    fn end(&mut self, now: Time, delivered: u64) {
        let seconds = Span(now.0.saturating_sub(self.at.0)).seconds();
        if seconds > 0.0 && self.at > Time(0) {
            let rate = (delivered - self.delivered) as f64 / seconds;
            self.rate += (rate - self.rate) * if self.rate > 0.0 { 0.25 } else { 1.0 };
        }
        (self.at, self.delivered) = (now, delivered);
    }
}

impl Subflow {
    /// A packet leaves, to which QUIC gave a number. Whether nothing was sent for longer than a retransmission timeout.
    pub(super) fn on_sent(&mut self, now: Time, quic_number: u64) -> bool {
        let mut is_idle = false;
        if self.under_way.count() == 0 {
            let least = Settings::default().least_wait;
            let idle = Span(now.0.saturating_sub(self.last_sent.0));
            is_idle = self.under_way.next() > 0 && self.rtt.patience().is_some_and(|wait| idle > wait.max(least));
            self.deliveries.begin(now);
        }
        self.last_sent = now;
        let sent = Sent { number: self.under_way.next(), at: now, before: self.deliveries.before() };
        self.under_way.push(quic_number, sent);
        is_idle
    }

    /// More could have been sent, had the window been larger.
    pub(super) fn on_full(&mut self) {
        self.limited = self.under_way.next();
    }

    /// A packet is acknowledged.
    pub(super) fn on_acked(&mut self, now: Time, quic_number: u64, sent_at: Time) {
        let before = self.under_way.count();
        let Some(sent) = self.under_way.take(quic_number, Some(sent_at)) else { return };
        let empty = Batch { now, before, packets: 0, newest: None, is_starved: false, is_complete: false };
        let batch = self.batch.get_or_insert(empty);
        batch.packets += 1;
        if batch.newest.is_none_or(|newest| newest.number < sent.number) {
            batch.newest = Some(sent);
        }
    }

    /// All is told that was acknowledged at this time.
    pub(super) fn on_end(&mut self, now: Time, is_starved: bool) {
        if let Some(acknowledged) = self.acknowledged {
            self.under_way.forget_before(acknowledged);
        }
        if is_starved {
            self.deliveries.starve(self.under_way.count());
        }
        let Some(batch) = &mut self.batch else { return };
        (batch.now, batch.is_complete, batch.is_starved) = (now, true, is_starved);
        // What was overtaken on its way says nothing of round trips and rates.
        batch.newest = batch.newest.filter(|newest| Some(newest.number) > self.acknowledged);
        let Some(newest) = batch.newest else { return };
        self.acknowledged = Some(newest.number);
        self.rtt.on_sample(round_trip(now, &newest));
    }

    /// A packet is lost; [`Self::on_signal`] follows.
    pub(super) fn on_lost(&mut self, quic_number: u64) {
        let before = self.batch.map_or(self.under_way.count(), |batch| batch.before);
        let Some(sent) = self.under_way.take(quic_number, None) else { return };
        let lost = self.lost.get_or_insert(Lost { before, newest: 0 });
        lost.newest = lost.newest.max(sent.number);
    }

    /// All is told that was lost, or marks were found: what the control is to hear of it, with how many packets were under
    /// way; `None` if it was told of what was under way already.
    pub(super) fn on_signal(&mut self, signal: Signal) -> Option<(Signal, u32)> {
        let lost = self.lost.take();
        let (newest, before) = if signal == Signal::Mark {
            let batch = self.batch?;
            (batch.newest?.number, batch.before)
        } else {
            let lost = lost?;
            (lost.newest, lost.before)
        };
        if newest < self.recovery {
            return None;
        }
        self.recovery = self.under_way.next();
        Some((signal, before))
    }

    /// So many packets have come marked since the path began, as the peer says; it cannot be more than were sent. Gives
    /// what it said before if that was more.
    pub(super) fn on_marked(&mut self, marked: u64) -> Result<(), u64> {
        let new = marked.checked_sub(self.marked).ok_or(self.marked)?;
        self.marked = marked;
        self.untold = self.untold.saturating_add(new).min(self.under_way.next());
        Ok(())
    }

    /// Of so many packets acknowledged those that came marked. What is told late goes with later ones: of all that are
    /// acknowledged, no more can be marked than there are.
    fn take_marked(&mut self, packets: u32) -> u32 {
        let marked = self.untold.min(u64::from(packets));
        self.untold -= marked;
        marked as u32
    }

    /// Whether there is something to tell the control of that was acknowledged.
    pub(super) fn is_to_settle(&self) -> bool {
        self.batch.is_some_and(|batch| batch.is_complete)
    }

    /// Tells the control of what was acknowledged, once all is known of it.
    pub(super) fn settle(&mut self, control: &mut dyn WindowControl, subflow: usize) {
        let Some(batch) = self.batch.take_if(|batch| batch.is_complete) else { return };
        let ends_round = self.under_way.first() >= self.round;
        if ends_round {
            self.round = self.under_way.next();
        }
        // Where the library's pacer holds packets back, which is a quarter faster than the window, it is nearly full.
        let is_used = !batch.is_starved && control.window(subflow) < PACED * f64::from(batch.before + 1);
        let was_full = batch.newest.is_some_and(|newest| newest.number < self.limited);
        let newest = batch.newest.map(|newest| (newest.at, newest.before));
        let delivery = self.deliveries.on_ack(batch.now, batch.packets, newest);
        self.rounds.is_limited = was_full || is_used;
        if ends_round {
            self.rounds.end(batch.now, self.deliveries.count());
        }
        let acked = Acked {
            now: batch.now,
            packets: batch.packets,
            marked: self.take_marked(batch.packets),
            rtt: batch.newest.map(|newest| round_trip(batch.now, &newest)),
            smoothed: self.rtt.smoothed(),
            in_flight: (batch.before, self.under_way.count()),
            is_limited: self.rounds.is_limited,
            ends_round,
            is_recovering: self.under_way.first() < self.recovery,
            delivery,
        };
        control.on_ack(subflow, &acked);
    }

    /// The smoothed round trip in seconds; 0 before the first.
    pub(super) fn rtt(&self) -> f64 {
        self.rtt.smoothed()
    }

    /// Packets delivered a second, over the last rounds, if the window holds the path back and it is known.
    pub(super) fn through(&self) -> Option<f64> {
        Some(self.rounds.rate).filter(|rate| self.rounds.is_limited && *rate > 0.0)
    }
}

/// From when a packet was sent until it is acknowledged, in seconds.
fn round_trip(now: Time, sent: &Sent) -> f64 {
    Span(now.0.saturating_sub(sent.at.0).max(1)).seconds()
}
