//! What protocols have in common that set a rate by the share of marked packets and by what the path can carry.
//!
//! ```text
//! p    = (1 - a) p + a m          once an interval: a round trip, and no fewer than four packets; m: marked of these
//! rate = next(rate, k, p)         at most twice the rate, at most k, at least k / 64 or the first rate if that is less
//! packets go at that rate, one in 100 ms or a round trip at least; at most rate least-round-trip + 1 of them are under way
//! ```
//!
//! k is what the path can carry: the least capacity of its links as far as it is known, or what the next loop sends at.
//! Without the limit on what is under way, rates swing for ever unless intervals are very short: queues answer a round trip
//! late. With it a queue depends on rates alone.

use anabranch_core::{Bytes, Rate, Time};

use crate::control::ConnectionView;
use crate::window::{Acked, MOST_WINDOW, PACES, Signal, WindowControl};

/// The greatest share of marked packets that counts: formulas have the logarithm of what is left.
const MOST_MARKED: f64 = 0.999;

/// Packets acknowledged in an interval, at the least.
const LEAST_PACKETS: u32 = 4;

/// Packets a second, but no more than one in a round trip, that go in any case: over what a path carries, perhaps, but their
/// acknowledgements tell of more.
const LEAST_PACE: f64 = 10.0;

/// The first rate is no floor where it is more than such a part of what the path can carry.
const FLOOR: f64 = 1.0 / 64.0;

/// The rule by which a rate changes once an interval.
pub trait NextRate: Send {
    /// The next rate, of the present one and of what the path can carry, all in bits a second; `p` is the share of marked
    /// packets, 0 to 0.999.
    fn next(&self, rate: f64, capacity: f64, p: f64) -> f64;
}

/// What does not change while a connection lasts.
#[derive(Clone, Copy, Debug)]
pub struct MarkedRateSettings {
    /// The weight of the latest interval in the share of marked packets (a).
    pub weight: f64,
    /// Whether what is under way is limited.
    pub is_windowed: bool,
}

/// A rate for one path.
#[derive(Clone, Debug)]
pub struct MarkedRate<N> {
    next: N,
    settings: MarkedRateSettings,
    packet: Bytes,
    first: f64,
    /// The window before the first round trip.
    start: f64,
    /// In bits a second; `None` before the first round trip.
    rate: Option<f64>,
    first_rate: f64,
    /// Infinite if it is not known.
    capacity: f64,
    /// In seconds; infinite before the first.
    least_rtt: f64,
    p: f64,
    /// The interval: when it began, and the packets in it that were acknowledged and marked, and whether any was lost.
    began: Time,
    acknowledged: u32,
    marked: u32,
    has_lost: bool,
}

impl<N: NextRate> MarkedRate<N> {
    /// The control of a connection.
    pub fn new(next: N, settings: MarkedRateSettings, connection: &ConnectionView) -> Self {
        Self {
            next,
            settings,
            packet: connection.packet,
            first: connection.first_window,
            start: connection.first_window,
            rate: None,
            first_rate: 0.0,
            capacity: f64::INFINITY,
            least_rtt: f64::INFINITY,
            p: 0.0,
            began: Time(0),
            acknowledged: 0,
            marked: 0,
            has_lost: false,
        }
    }

    fn bits(&self) -> f64 {
        8.0 * self.packet.0 as f64
    }

    /// The most that counts as what the path can carry.
    fn carrying(&self) -> f64 {
        self.capacity.min(PACES.end() * self.bits())
    }

    fn floor(&self) -> f64 {
        let a_packet = self.bits() / self.least_rtt;
        self.first_rate.min(FLOOR * self.carrying()).max(a_packet)
    }

    fn bounded(&self, rate: f64) -> f64 {
        let least = LEAST_PACE.min(1.0 / self.least_rtt).max(*PACES.start()) * self.bits();
        rate.max(self.floor()).min(self.carrying()).max(least)
    }

    fn begin_interval(&mut self, now: Time) {
        (self.began, self.acknowledged, self.marked, self.has_lost) = (now, 0, 0, false);
    }

    fn end_interval(&mut self, now: Time, rate: f64) {
        let marked = f64::from(self.marked.min(self.acknowledged)) / f64::from(self.acknowledged);
        let marked = if self.has_lost { 1.0 } else { marked };
        self.p = (self.p + self.settings.weight * (marked - self.p)).clamp(0.0, MOST_MARKED);
        let next = self.next.next(rate, self.carrying(), self.p);
        self.rate = Some(self.bounded(next.min(2.0 * rate)));
        self.begin_interval(now);
    }
}

impl<N: NextRate> WindowControl for MarkedRate<N> {
    fn open(&mut self, _: usize, now: Time) {
        (self.rate, self.p, self.least_rtt, self.start) = (None, 0.0, f64::INFINITY, self.first);
        self.capacity = f64::INFINITY;
        self.begin_interval(now);
    }

    fn close(&mut self, _: usize) {}

    fn on_capacity(&mut self, _: usize, capacity: Rate) {
        self.capacity = capacity.0.max(1.0);
        self.rate = self.rate.map(|rate| self.bounded(rate));
    }

    fn on_ack(&mut self, _: usize, acked: &Acked) {
        if let Some(rtt) = acked.rtt {
            self.least_rtt = self.least_rtt.min(rtt);
        }
        self.acknowledged = self.acknowledged.saturating_add(acked.packets);
        self.marked = self.marked.saturating_add(acked.marked);
        let Some(rate) = self.rate else {
            if self.least_rtt.is_finite() {
                self.first_rate = self.start * self.bits() / self.least_rtt;
                self.rate = Some(self.bounded(self.first_rate));
                self.begin_interval(acked.now);
            }
            return;
        };
        let seconds = anabranch_core::Span(acked.now.0.saturating_sub(self.began.0)).seconds();
        if seconds >= self.least_rtt && self.acknowledged >= LEAST_PACKETS {
            self.end_interval(acked.now, rate);
        }
    }

    fn on_signal(&mut self, _: usize, signal: Signal, _: u32, _: Time) {
        match signal {
            // Each mark was counted when it was told of.
            Signal::Mark => {}
            // As if all packets of the interval were marked.
            Signal::Loss => self.has_lost = true,
            Signal::Timeout => {
                self.has_lost = true;
                self.start = 1.0;
                self.rate = self.rate.map(|_| self.floor());
            }
        }
    }

    fn window(&self, _: usize) -> f64 {
        match self.rate {
            None => self.start,
            Some(rate) if self.settings.is_windowed => (rate * self.least_rtt / self.bits() + 1.0).min(MOST_WINDOW),
            Some(_) => MOST_WINDOW,
        }
    }

    fn pace(&self, _: usize) -> Option<Rate> {
        self.rate.map(Rate)
    }

    fn marked_share(&self, _: usize) -> Option<f64> {
        self.rate.map(|_| self.p)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::alone;
    use crate::window::testing::{acked, is_near};

    /// Twice as fast each interval, less what is marked.
    struct Double;

    impl NextRate for Double {
        fn next(&self, rate: f64, _: f64, p: f64) -> f64 {
            rate * (3.0 - p)
        }
    }

    /// Packets of 1,000 bytes, of which the first ten go in 0.1 s: 800 kbit/s.
    fn control(is_windowed: bool) -> MarkedRate<Double> {
        let view = ConnectionView { packet: Bytes(1000), first_window: 10.0, ..alone() };
        let mut control = MarkedRate::new(Double, MarkedRateSettings { weight: 0.5, is_windowed }, &view);
        control.open(0, Time(0));
        control.on_ack(0, &acked(0.1, 0.1));
        control
    }

    fn interval(control: &mut MarkedRate<Double>, end: f64, marked: u32) {
        control.on_ack(0, &Acked { packets: 4, marked, ..acked(end, 0.1) });
    }

    #[test]
    fn the_first_rate_is_the_first_window_in_a_round_trip() {
        let control = control(true);
        assert!(is_near(control.pace(0).unwrap().0, 800e3) && is_near(control.window(0), 11.0));
    }

    #[test]
    fn a_rate_doubles_at_most_and_stays_within_what_the_path_carries() {
        let mut control = control(true);
        control.on_capacity(0, Rate(4e6));
        let mut rates = Vec::new();
        for i in 0_u32..4 {
            interval(&mut control, 0.2 + 0.1 * f64::from(i), 0);
            rates.push(control.pace(0).unwrap().0);
        }
        assert!(rates.iter().zip([1.6e6, 3.2e6, 4e6, 4e6]).all(|(&rate, wanted)| is_near(rate, wanted)), "{rates:?}");
        control.on_capacity(0, Rate(1e6));
        assert!(is_near(control.pace(0).unwrap().0, 1e6));
    }

    #[test]
    fn an_interval_has_a_round_trip_and_four_packets() {
        let mut control = control(true);
        control.on_ack(0, &Acked { packets: 3, ..acked(0.25, 0.1) });
        assert!(is_near(control.pace(0).unwrap().0, 800e3));
        control.on_ack(0, &acked(0.26, 0.1));
        assert!(is_near(control.pace(0).unwrap().0, 1.6e6));
        interval(&mut control, 0.35, 0);
        assert!(is_near(control.pace(0).unwrap().0, 1.6e6));
    }

    #[test]
    fn marks_count_by_their_weight_and_a_loss_as_if_all_were_marked() {
        let mut control = control(true);
        interval(&mut control, 0.2, 2);
        assert!(is_near(control.p, 0.25));
        control.on_signal(0, Signal::Loss, 4, Time(0));
        interval(&mut control, 0.3, 0);
        assert!(is_near(control.p, 0.625));
        (0..99).for_each(|i| interval(&mut control, 0.4 + 0.1 * f64::from(i), 4));
        assert!(is_near(control.p, MOST_MARKED));
    }

    #[test]
    fn after_a_timeout_it_begins_from_the_floor() {
        // 1/64 of 51.2 Mbit/s is as much as the first rate; of 5.12 Mbit/s 80 kbit/s, a packet in a round trip.
        for (capacity, floor) in [(51.2e6, 800e3), (25.6e6, 400e3), (5.12e6, 80e3), (1e6, 80e3)] {
            let mut control = control(true);
            control.on_capacity(0, Rate(capacity));
            control.on_signal(0, Signal::Timeout, 4, Time(0));
            assert!(is_near(control.pace(0).unwrap().0, floor), "{capacity}");
        }
    }

    #[test]
    fn over_what_the_path_carries_go_ten_packets_a_second_at_most() {
        // A packet in a round trip of 10 ms were 800 kbit/s, and the next loop sends at 200; ten in a second are 80.
        let mut control = control(true);
        control.on_ack(0, &acked(0.11, 0.01));
        for (carried, rate) in [(200e3, 200e3), (20e3, 80e3), (0.0, 80e3)] {
            control.on_capacity(0, Rate(carried));
            assert!(is_near(control.pace(0).unwrap().0, rate), "{carried}");
            control.on_ack(0, &Acked { packets: 4, ..acked(0.5, 0.01) });
            assert!(is_near(control.pace(0).unwrap().0, rate), "{carried}, after an interval");
        }
    }

    #[test]
    fn a_timeout_before_the_first_round_trip_leaves_a_packet() {
        let view = ConnectionView { packet: Bytes(1000), first_window: 10.0, ..alone() };
        let mut control = MarkedRate::new(Double, MarkedRateSettings { weight: 0.5, is_windowed: true }, &view);
        control.open(0, Time(0));
        assert!(is_near(control.window(0), 10.0));
        control.on_signal(0, Signal::Timeout, 10, Time(0));
        assert!(is_near(control.window(0), 1.0));
    }

    #[test]
    fn what_was_lost_before_the_first_round_trip_is_no_loss_of_the_first_interval() {
        let view = ConnectionView { packet: Bytes(1000), first_window: 10.0, ..alone() };
        let mut control = MarkedRate::new(Double, MarkedRateSettings { weight: 0.5, is_windowed: true }, &view);
        control.open(0, Time(0));
        control.on_signal(0, Signal::Timeout, 10, Time(0));
        control.on_ack(0, &acked(0.1, 0.1));
        interval(&mut control, 0.2, 0);
        assert!(control.p <= 0.0);
    }

    #[test]
    fn a_path_that_opens_again_has_no_capacity_of_before() {
        let mut control = control(true);
        control.on_capacity(0, Rate(20e3));
        control.open(0, Time(0));
        control.on_ack(0, &acked(0.5, 0.1));
        assert!(is_near(control.pace(0).unwrap().0, 800e3));
    }

    #[test]
    fn without_a_window_only_the_pace_holds() {
        assert!(control(false).window(0) >= MOST_WINDOW);
    }
}
