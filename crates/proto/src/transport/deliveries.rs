//! The rate at which a path delivers packets, from the counts when a packet is sent and when it is acknowledged.
//!
//! The time from the acknowledgement of a packet back to the newest acknowledgement before it was sent is about a round
//! trip. The rate is the packets delivered in this time, divided by the time it took to send them or to receive their
//! acknowledgements, whichever was longer [cardwell2016].

use anabranch_core::{Span, Time};

use crate::window::Delivery;

/// Counts of packets that a path has delivered.
#[derive(Clone, Copy, Debug, Default)]
pub struct Deliveries {
    /// Packets delivered, the time of the last acknowledgement, and the time when the newest of these packets was sent.
    count: u64,
    told_at: Time,
    sent_at: Time,
    /// Until this count is reached, rates say little of the path, since the source had too little to send.
    starved_until: u64,
}

/// State of the deliveries of a path when a packet was sent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Before {
    count: u64,
    told_at: Time,
    sent_at: Time,
    /// Whether the source had too little to send.
    is_starved: bool,
}

impl Deliveries {
    /// Starts the clock anew when a packet is sent and nothing is in flight: idle time says nothing of the path.
    pub fn begin(&mut self, now: Time) {
        (self.told_at, self.sent_at) = (now, now);
    }

    /// The present state, to be kept with a packet that is sent now.
    #[inline]
    pub fn before(&self) -> Before {
        let Self { count, told_at, sent_at, starved_until } = *self;
        Before { count, told_at, sent_at, is_starved: count < starved_until }
    }

    /// Notes that the source has nothing to send while `in_flight` packets are in flight.
    pub fn starve(&mut self, in_flight: u32) {
        self.starved_until = self.count + u64::from(in_flight).max(1);
    }

    /// Number of packets delivered so far.
    #[inline]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Counts acknowledged packets and returns the rate of delivery over the last round trip.
    ///
    /// `newest` has the time at which the newest of them was sent, with the state of that time; it is `None` if a later
    /// packet was acknowledged before, and then there is no rate.
    #[inline]
    pub fn on_ack(&mut self, now: Time, packets: u32, newest: Option<(Time, Before)>) -> Option<Delivery> {
        self.count += u64::from(packets);
        self.told_at = now;
        let (sent_at, before) = newest?;
        let sending = sent_at.0.saturating_sub(before.sent_at.0);
        let arriving = now.0.saturating_sub(before.told_at.0);
        self.sent_at = sent_at;
        let seconds = Span(sending.max(arriving)).seconds();
        let rate = (self.count - before.count) as f64 / seconds;
        (seconds > 0.0).then_some(Delivery {
            rate,
            before: before.count,
            delivered: self.count,
            is_limited_by_source: before.is_starved,
        })
    }
}

impl Before {
    /// Reads the value, so that the processor fetches it early.
    #[inline]
    pub fn prefetch(&self) -> u64 {
        self.sent_at.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anabranch_core::units::MILLISECOND;

    fn at(ms: u64) -> Time {
        Time(ms * MILLISECOND)
    }

    #[test]
    fn packets_in_the_longer_of_two_times_make_a_rate() {
        let mut deliveries = Deliveries::default();
        // Four packets at 0 ms. Two are acknowledged at 10 ms: 2 in 10 ms are 200 a second.
        deliveries.begin(at(0));
        let first = deliveries.before();
        let delivery = deliveries.on_ack(at(10), 2, Some((at(0), first))).unwrap();
        assert!(
            (delivery.rate - 200.0).abs() < 1e-9 && (delivery.before, delivery.delivered) == (0, 2),
            "{delivery:?}"
        );
        // One that is sent then is acknowledged at 40 ms with the two others: 3 in 30 ms are 100 a second.
        let second = deliveries.before();
        let delivery = deliveries.on_ack(at(40), 3, Some((at(10), second))).unwrap();
        assert!(
            (delivery.rate - 100.0).abs() < 1e-9 && (delivery.before, delivery.delivered) == (2, 5),
            "{delivery:?}"
        );
        // Two more are sent by 110 ms, which is 100 ms after the newest known was, and acknowledged 80 ms after that.
        let third = deliveries.before();
        deliveries.on_ack(at(119), 1, None);
        let delivery = deliveries.on_ack(at(120), 1, Some((at(110), third))).unwrap();
        assert!((delivery.rate - 20.0).abs() < 1e-9, "2 in the 100 ms of sending: {delivery:?}");
    }

    #[test]
    fn what_has_no_time_or_was_overtaken_has_no_rate() {
        let mut deliveries = Deliveries::default();
        deliveries.begin(at(5));
        let before = deliveries.before();
        assert!(deliveries.on_ack(at(5), 1, Some((at(5), before))).is_none());
        assert!(deliveries.on_ack(at(9), 1, None).is_none());
        assert_eq!(deliveries.count(), 2);
    }

    #[test]
    fn rates_are_of_the_source_until_all_is_delivered_that_was_under_way_when_it_starved() {
        let mut deliveries = Deliveries::default();
        deliveries.begin(at(0));
        assert!(!deliveries.before().is_starved);
        deliveries.starve(2);
        let before = deliveries.before();
        let delivery = deliveries.on_ack(at(10), 1, Some((at(0), before))).unwrap();
        assert!(delivery.is_limited_by_source && deliveries.before().is_starved);
        deliveries.on_ack(at(11), 1, None);
        assert!(!deliveries.before().is_starved);
    }
}
