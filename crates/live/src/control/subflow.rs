//! A path's state, which translates calls of the QUIC library into calls of a window control.
//!
//! The library reports acknowledgements packet by packet, then the end of an acknowledgement, and only then the losses
//! and marks that it revealed. A control receives losses and marks first, as from our own source, and then all
//! acknowledged packets in one call. So acknowledgements are kept until the library asks for the window.

use std::time::Duration;

use anabranch_core::{Span, Time};
use anabranch_proto::transport::{Deliveries, Rtt, Settings};
use anabranch_proto::window::{Acked, Signal, WindowControl};

use super::under_way::{Sent, UnderWay};

/// Rate of the library's pacer relative to that of the window.
pub(super) const PACED: f64 = 1.25;

/// The packets acknowledged at one time.
#[derive(Clone, Copy, Debug)]
struct Batch {
    now: Time,
    /// Packets in flight before the acknowledgements.
    before: u32,
    packets: u32,
    newest: Option<Sent>,
    /// The round trip in seconds that the newest says, if it was not overtaken.
    rtt: Option<f64>,
    /// Whether there was nothing to send when they arrived.
    is_starved: bool,
    is_complete: bool,
}

/// Lost packets whose report is not complete yet.
#[derive(Clone, Copy, Debug)]
struct Lost {
    /// Packets in flight before the losses.
    before: u32,
    newest: u64,
}

/// The state of a path of a connection.
#[derive(Debug, Default)]
pub(super) struct Subflow {
    under_way: UnderWay,
    rtt: Rtt,
    /// The longest delay of the acknowledgement of a single packet.
    ack_delay: Span,
    batch: Option<Batch>,
    lost: Option<Lost>,
    /// Number of the newest acknowledged packet.
    acknowledged: Option<u64>,
    /// Number of the next packet when a loss or a mark was last detected.
    recovery: u64,
    /// The round ends when all packets with lesser numbers are acknowledged or lost.
    round: u64,
    /// Packets with lesser numbers were sent while the window was full.
    limited: u64,
    last_sent: Time,
    deliveries: Deliveries,
    /// Marked packets that the peer has counted, and those of them that the control has not received.
    marked: u64,
    untold: u64,
    rounds: Rounds,
}

/// Delivery rate by rounds.
#[derive(Clone, Copy, Debug, Default)]
struct Rounds {
    /// Time at which the round began, and packets delivered by then.
    at: Time,
    delivered: u64,
    /// Average rate of recent rounds, in packets a second.
    rate: f64,
    /// Whether the window limited the path.
    is_limited: bool,
}

impl Rounds {
    /// Ends a round: its delivery rate enters the average with a weight of a quarter.
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
    /// A path on which a single packet may be acknowledged this time after it has arrived.
    pub(super) fn new(ack_delay: Span) -> Self {
        Self { ack_delay, ..Self::default() }
    }

    /// Records a packet that QUIC has numbered and sent; true if nothing was sent before for longer than a
    /// retransmission timeout.
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

    /// Records that the window prevented sending.
    pub(super) fn on_full(&mut self) {
        self.limited = self.under_way.next();
    }

    /// Records the acknowledgement of a packet.
    pub(super) fn on_acked(&mut self, now: Time, quic_number: u64, sent_at: Time) {
        let before = self.under_way.count();
        let Some(sent) = self.under_way.take(quic_number, Some(sent_at)) else { return };
        let empty = Batch { now, before, packets: 0, newest: None, rtt: None, is_starved: false, is_complete: false };
        let batch = self.batch.get_or_insert(empty);
        batch.packets += 1;
        if batch.newest.is_none_or(|newest| newest.number < sent.number) {
            batch.newest = Some(sent);
        }
    }

    /// Completes the acknowledgements of this time.
    pub(super) fn on_end(&mut self, now: Time, is_starved: bool) {
        if let Some(acknowledged) = self.acknowledged {
            self.under_way.forget_before(acknowledged);
        }
        if is_starved {
            self.deliveries.starve(self.under_way.count());
        }
        let Some(batch) = &mut self.batch else { return };
        (batch.now, batch.is_complete, batch.is_starved) = (now, true, is_starved);
        // A packet that was overtaken says nothing of round trips and rates.
        batch.newest = batch.newest.filter(|newest| Some(newest.number) > self.acknowledged);
        let Some(newest) = batch.newest else { return };
        self.acknowledged = Some(newest.number);
        let delay = if batch.packets == 1 { self.ack_delay.seconds() } else { 0.0 };
        let rtt = undelayed(sample(now, &newest), delay, self.rtt.smoothed());
        batch.rtt = Some(rtt);
        self.rtt.on_sample(rtt);
    }

    /// Records the loss of a packet; [`Self::on_signal`] follows.
    pub(super) fn on_lost(&mut self, quic_number: u64) {
        let before = self.batch.map_or(self.under_way.count(), |batch| batch.before);
        let Some(sent) = self.under_way.take(quic_number, None) else { return };
        let lost = self.lost.get_or_insert(Lost { before, newest: 0 });
        lost.newest = lost.newest.max(sent.number);
    }

    /// Completes a report of losses or marks: returns the signal for the control with the number of packets in flight
    /// before; `None` if the control has already had a signal for these packets.
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

    /// Records the peer's count of marked packets since the path began; no more can be marked than were sent. The error
    /// is the count of the last report, if that was greater.
    pub(super) fn on_marked(&mut self, marked: u64) -> Result<(), u64> {
        let new = marked.checked_sub(self.marked).ok_or(self.marked)?;
        self.marked = marked;
        self.untold = self.untold.saturating_add(new).min(self.under_way.next());
        Ok(())
    }

    /// Takes the marked packets among this number of acknowledged ones. Marks that are reported late count with later
    /// packets, but never more marks than packets.
    fn take_marked(&mut self, packets: u32) -> u32 {
        let marked = self.untold.min(u64::from(packets));
        self.untold -= marked;
        marked as u32
    }

    /// The round trip in seconds of the acknowledgements that wait for the control, if they say one.
    pub(super) fn latest_rtt(&self) -> Option<f64> {
        self.batch?.rtt
    }

    /// Number of packets in flight, and whether some of them were at the last loss or mark.
    pub(super) fn in_flight(&self) -> (u32, bool) {
        (self.under_way.count(), self.under_way.first() < self.recovery)
    }

    /// Whether acknowledgements are complete and wait for the control.
    pub(super) fn is_to_settle(&self) -> bool {
        self.batch.is_some_and(|batch| batch.is_complete)
    }

    /// Passes complete acknowledgements to the control.
    pub(super) fn settle(&mut self, control: &mut dyn WindowControl, subflow: usize) {
        let Some(batch) = self.batch.take_if(|batch| batch.is_complete) else { return };
        let ends_round = self.under_way.first() >= self.round;
        if ends_round {
            self.round = self.under_way.next();
        }
        // With the library's pacer, which is a quarter faster than the window, a window in use is nearly full.
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
            rtt: batch.rtt,
            smoothed: self.rtt.smoothed(),
            in_flight: (batch.before, self.under_way.count()),
            is_limited: self.rounds.is_limited,
            ends_round,
            is_recovering: self.in_flight().1,
            delivery,
        };
        control.on_ack(subflow, &acked);
    }

    /// The round trip and how much it changes: a loss is assumed after both; `None` before the first.
    pub(super) fn round_trip(&self) -> Option<(Duration, Duration)> {
        let wait = self.rtt.patience()?.seconds();
        let [rtt, wait] = [self.rtt.smoothed(), wait].map(Duration::from_secs_f64);
        Some((rtt, wait.saturating_sub(rtt)))
    }

    /// Smoothed round trip in seconds; 0 before the first.
    pub(super) fn rtt(&self) -> f64 {
        self.rtt.smoothed()
    }

    /// Delivery rate of recent rounds in packets a second, if the window limits the path and the rate is known.
    pub(super) fn through(&self) -> Option<f64> {
        Some(self.rounds.rate).filter(|rate| self.rounds.is_limited && *rate > 0.0)
    }
}

/// Time from the sending of a packet to its acknowledgement, in seconds.
fn sample(now: Time, sent: &Sent) -> f64 {
    Span(now.0.saturating_sub(sent.at.0).max(1)).seconds()
}

/// The round trip of which a sample was measured when the acknowledgement may have been delayed: of those that are
/// possible, the one that is nearest to the smoothed round trip. All in seconds; 0 if there is no smoothed one yet.
fn undelayed(sample: f64, delay: f64, smoothed: f64) -> f64 {
    if smoothed > 0.0 { smoothed.clamp((sample - delay).max(0.0), sample) } else { sample }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Time {
        Time(0) + Span::ms(ms)
    }

    /// The smoothed round trip in milliseconds of a path of 20 ms, which is known, after packets that are acknowledged some
    /// at a time, each time late by this many milliseconds.
    fn smoothed(at_once: u64, late: u64, round_trip: u64) -> f64 {
        let mut path = Subflow::new(Span::ms(25));
        let mut number = 0;
        let mut exchange = |start: u64, count: u64, took: u64| {
            (0..count).for_each(|packet| _ = path.on_sent(ms(start), number + packet));
            (0..count).for_each(|packet| path.on_acked(ms(start + took), number + packet, ms(start)));
            path.on_end(ms(start + took), true);
            path.batch = None;
            number += count;
        };
        exchange(1000, 2, 20);
        (1..80).for_each(|round| exchange(1000 + 200 * round, at_once, round_trip + late));
        path.rtt() * 1e3
    }

    #[test]
    fn a_delay_of_the_acknowledgement_of_a_single_packet_is_not_a_round_trip() {
        assert!((smoothed(1, 25, 20) - 20.0).abs() < 0.1);
        assert!((smoothed(1, 0, 10) - 10.0).abs() < 0.1);
        // Longer round trips count for what cannot be a delay, and all of it where two packets are acknowledged at once.
        assert!((smoothed(1, 0, 100) - 75.0).abs() < 0.1);
        assert!((smoothed(2, 0, 100) - 100.0).abs() < 0.1);
    }
}
