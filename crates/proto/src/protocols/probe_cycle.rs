//! A source with one probe in flight at a time: each reply grants a rate and becomes the next probe.
//!
//! Replies to earlier probes are ignored. A reply may demand a pause, for which the source holds the next probe. When the
//! connection leaves, the next probe is the last, and it does not come back; a probe that is held becomes the last at once.

use anabranch_core::{Rate, Span, Time};

use crate::control::{Orders, SourceControl};
use crate::packet::Header;

/// A probe of such a protocol.
pub(super) trait CycleProbe: Sized {
    /// The probe in a header, if the header has one.
    fn of(header: &Header) -> Option<&Self>;

    /// The header of the probe.
    fn header(self) -> Header;

    /// The first probe of a source, in cycle 0.
    fn first() -> Self;

    /// Cycle of the probe.
    fn cycle(&self) -> u32;

    /// Rate that links have granted, in a reply.
    fn granted(&self) -> Rate;

    /// The least time between the probe that became this reply and the next.
    fn pause(&self) -> Span {
        Span(0)
    }

    /// The probe of cycle `cycle` that follows this reply. The reply came `round_trip` after the reply before, or after
    /// the connection began.
    fn next(&self, cycle: u32, is_last: bool, round_trip: Span) -> Self;
}

/// The source of a protocol whose probes circulate.
#[derive(Debug)]
pub(super) struct CycleSource<P> {
    /// Cycle of the reply that is due.
    cycle: u32,
    is_leaving: bool,
    /// Time of the last reply, or of the beginning.
    replied: Time,
    /// Time of the last probe.
    sent: Time,
    /// The next probe, and the time at which it may go, while its pause lasts.
    held: Option<(Time, P)>,
}

impl<P: CycleProbe> CycleSource<P> {
    /// Creates a source that has sent nothing.
    pub fn new() -> Self {
        Self { cycle: 0, is_leaving: false, replied: Time(0), sent: Time(0), held: None }
    }

    /// Sends the last probe.
    fn end(last: P, orders: &mut Orders) {
        orders.tell(0, last.header());
        orders.has_left = true;
    }

    /// Sends a probe.
    fn send(&mut self, now: Time, probe: P, orders: &mut Orders) {
        self.sent = now;
        orders.probe(0, probe.header());
    }
}

impl<P: CycleProbe + Send> SourceControl for CycleSource<P> {
    fn join(&mut self, now: Time, orders: &mut Orders) {
        self.replied = now;
        self.send(now, P::first(), orders);
    }

    fn on_reply(&mut self, now: Time, _: usize, header: &Header, orders: &mut Orders) {
        let reply = P::of(header).filter(|reply| reply.cycle() == self.cycle && self.held.is_none());
        let Some(reply) = reply else { return };
        self.cycle = self.cycle.wrapping_add(1);
        let round_trip = Span(now.0.saturating_sub(self.replied.0));
        self.replied = now;
        let next = reply.next(self.cycle, self.is_leaving, round_trip);
        if self.is_leaving {
            return Self::end(next, orders);
        }
        orders.grant(0, reply.granted());
        let due = Time(self.sent.0.saturating_add(reply.pause().0));
        if due > now {
            self.held = Some((due, next));
            orders.wake(due);
        } else {
            self.send(now, next, orders);
        }
    }

    fn on_timer(&mut self, now: Time, orders: &mut Orders) {
        if let Some((_, probe)) = self.held.take_if(|(due, _)| *due <= now) {
            self.send(now, probe, orders);
        }
    }

    fn leave(&mut self, _: Time, orders: &mut Orders) {
        self.is_leaving = true;
        if let Some((_, probe)) = self.held.take() {
            Self::end(probe.next(self.cycle, true, Span(0)), orders);
        }
    }
}
