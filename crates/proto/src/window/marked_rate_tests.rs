//! How rates that follow marks and capacities begin, change, and stay within their limits.

use anabranch_core::{Bytes, Rate, Span, Time};

use super::testing::{acked, is_near};
use super::{Acked, MOST_WINDOW, MarkedRate, MarkedRateSettings, NextRate, Signal, WindowControl};
use crate::control::ConnectionView;
use crate::testing::alone;

/// Twice as fast each interval, less what is marked.
struct Double;

impl NextRate for Double {
    fn next(&self, rate: f64, _: f64, p: f64) -> f64 {
        rate * (3.0 - p)
    }

    fn rest(&self, capacity: f64, p: f64) -> f64 {
        capacity * (1.0 - p)
    }
}

/// What marks leave of the capacity, at once.
struct Jump;

impl NextRate for Jump {
    fn next(&self, _: f64, capacity: f64, p: f64) -> f64 {
        self.rest(capacity, p)
    }

    fn rest(&self, capacity: f64, p: f64) -> f64 {
        capacity * (1.0 - p)
    }

    fn jumps(&self) -> bool {
        true
    }
}

const SETTINGS: MarkedRateSettings =
    MarkedRateSettings { weight: 0.5, is_windowed: true, interval: None, rtt_window: None, omega: 1.0 };

/// Packets of 1,000 bytes, the first window ten of them.
fn opened<N: NextRate>(next: N, settings: MarkedRateSettings) -> MarkedRate<N> {
    let view = ConnectionView { packet: Bytes(1000), first_window: 10.0, ..alone() };
    let mut control = MarkedRate::new(next, settings, &view);
    control.open(0, Time(0));
    control
}

/// The first ten packets go in 0.1 s: 800 kbit/s.
fn begun<N: NextRate>(next: N, settings: MarkedRateSettings) -> MarkedRate<N> {
    let mut control = opened(next, settings);
    control.on_ack(0, &acked(0.1, 0.1));
    control
}

fn control(is_windowed: bool) -> MarkedRate<Double> {
    begun(Double, MarkedRateSettings { is_windowed, ..SETTINGS })
}

fn pace<N: NextRate>(control: &MarkedRate<N>) -> f64 {
    control.pace(0).unwrap().0
}

fn p<N: NextRate>(control: &MarkedRate<N>) -> f64 {
    control.marked_share(0).unwrap()
}

fn interval<N: NextRate>(control: &mut MarkedRate<N>, end: f64, marked: u32) {
    control.on_ack(0, &Acked { packets: 4, marked, ..acked(end, 0.1) });
}

#[test]
fn the_first_rate_is_the_first_window_in_a_round_trip() {
    let control = control(true);
    assert!(is_near(pace(&control), 800e3) && is_near(control.window(0), 11.0));
}

#[test]
fn a_rate_doubles_at_most_and_stays_within_what_the_path_carries() {
    let mut control = control(true);
    control.on_capacity(0, Rate(4e6));
    let mut rates = Vec::new();
    for i in 0_u32..4 {
        interval(&mut control, 0.2 + 0.1 * f64::from(i), 0);
        rates.push(pace(&control));
    }
    assert!(rates.iter().zip([1.6e6, 3.2e6, 4e6, 4e6]).all(|(&rate, wanted)| is_near(rate, wanted)), "{rates:?}");
    control.on_capacity(0, Rate(1e6));
    assert!(is_near(pace(&control), 1e6));
}

#[test]
fn an_interval_is_a_least_round_trip_or_as_long_as_is_said() {
    let mut control = control(true);
    control.on_ack(0, &Acked { packets: 3, ..acked(0.15, 0.1) });
    assert!(is_near(pace(&control), 800e3));
    control.on_ack(0, &acked(0.2, 0.1));
    assert!(is_near(pace(&control), 1.6e6));
    for (interval, changes) in [(20, 5), (300, 0)] {
        let interval = Some(Span::ms(interval));
        let mut control = begun(Double, MarkedRateSettings { interval, ..SETTINGS });
        (12..=20).for_each(|i| control.on_ack(0, &acked(0.01 * f64::from(i), 0.1)));
        assert!(is_near(pace(&control), 800e3 * f64::from(1 << changes)), "{}", pace(&control));
    }
}

#[test]
fn an_interval_of_few_packets_counts_for_as_many_quarters() {
    // One of four: 0.5 / 4 is marked of one packet, and then 0.5 / 2 of two.
    let mut control = control(true);
    control.on_ack(0, &Acked { marked: 1, ..acked(0.2, 0.1) });
    assert!(is_near(p(&control), 0.125));
    control.on_ack(0, &Acked { packets: 2, marked: 2, ..acked(0.3, 0.1) });
    assert!(is_near(p(&control), 0.125 + 0.25 * 0.875));
    // A loss is no smaller where little was sent.
    control.on_signal(0, Signal::Loss, 4, Time(0));
    control.on_ack(0, &acked(0.4, 0.1));
    assert!(is_near(p(&control), 0.34375 + 0.5 * 0.65625));
}

#[test]
fn marks_count_by_their_weight_and_a_loss_as_if_all_were_marked() {
    let mut control = control(true);
    interval(&mut control, 0.2, 2);
    assert!(is_near(p(&control), 0.25));
    control.on_signal(0, Signal::Loss, 4, Time(0));
    interval(&mut control, 0.3, 0);
    assert!(is_near(p(&control), 0.625));
    (0..99).for_each(|i| interval(&mut control, 0.4 + 0.1 * f64::from(i), 4));
    assert!(is_near(p(&control), 0.999));
}

#[test]
fn after_a_timeout_it_begins_from_the_floor() {
    // 1/64 of 51.2 Mbit/s is as much as the first rate; of 5.12 Mbit/s 80 kbit/s, a packet in a round trip.
    for (capacity, floor) in [(51.2e6, 800e3), (25.6e6, 400e3), (5.12e6, 80e3), (1e6, 80e3)] {
        let mut control = control(true);
        control.on_capacity(0, Rate(capacity));
        control.on_signal(0, Signal::Timeout, 4, Time(0));
        assert!(is_near(pace(&control), floor), "{capacity}");
    }
}

#[test]
fn the_floor_gives_way_to_what_marks_ask_for() {
    // With a p of 0.999 it rests at 51.2 kbit/s of 51.2 Mbit/s, where the floor without marks were 800.
    let mut control = control(true);
    control.on_capacity(0, Rate(51.2e6));
    (0..99).for_each(|i| interval(&mut control, 0.2 + 0.1 * f64::from(i), 4));
    control.on_signal(0, Signal::Timeout, 4, Time(0));
    assert!(is_near(pace(&control), 51.2e3), "{}", pace(&control));
}

#[test]
fn over_what_the_path_carries_goes_a_packet_a_second_at_most() {
    // A packet in a round trip of 10 ms were 800 kbit/s, and the next loop sends at 200; one in a second are 8.
    let mut control = control(true);
    control.on_ack(0, &acked(0.11, 0.01));
    for (carried, rate) in [(200e3, 200e3), (20e3, 20e3), (2e3, 8e3), (0.0, 8e3)] {
        control.on_capacity(0, Rate(carried));
        assert!(is_near(pace(&control), rate), "{carried}");
        control.on_ack(0, &Acked { packets: 4, ..acked(0.5, 0.01) });
        assert!(is_near(pace(&control), rate), "{carried}, after an interval");
    }
}

#[test]
fn the_floor_rises_as_the_path_proves_shorter_and_as_it_carries_more() {
    // From a round trip of 10 s, and ten packets in it: 8 kbit/s. Of 10 ms they are 8 Mbit/s, and 1/64 of 64 is 1.
    let mut control = opened(Double, SETTINGS);
    control.on_capacity(0, Rate(64e6));
    control.on_ack(0, &acked(10.0, 10.0));
    assert!(is_near(pace(&control), 8e3));
    control.on_ack(0, &acked(10.005, 0.01));
    assert!(is_near(pace(&control), 1e6), "{}", pace(&control));
    control.on_capacity(0, Rate(128e6));
    assert!(is_near(pace(&control), 2e6), "{}", pace(&control));
}

#[test]
fn a_rate_that_jumps_follows_what_the_path_carries_at_once() {
    let mut control = begun(Jump, SETTINGS);
    control.on_capacity(0, Rate(100e6));
    assert!(is_near(pace(&control), 100e6));
    interval(&mut control, 0.2, 4);
    assert!(is_near(pace(&control), 50e6));
    for carried in [10e6, 400e6] {
        control.on_capacity(0, Rate(carried));
        assert!(is_near(pace(&control), 0.5 * carried));
    }
    // Where nothing is known it at most doubles.
    control.on_capacity(0, Rate(f64::INFINITY));
    interval(&mut control, 0.3, 0);
    assert!(is_near(pace(&control), 400e6), "{}", pace(&control));
}

#[test]
fn round_trips_are_forgotten_only_if_that_is_asked_for() {
    // Ten packets in 10 ms are 8 Mbit/s, and in 100 ms that is a hundred; one more is under way.
    for (rtt_window, window) in [(None, 11.0), (Some(Span::s(1)), 101.0)] {
        let mut control = opened(Double, MarkedRateSettings { interval: Some(Span::s(60)), rtt_window, ..SETTINGS });
        control.on_ack(0, &acked(0.1, 0.1));
        control.on_ack(0, &acked(0.2, 0.01));
        (3..40).for_each(|i| control.on_ack(0, &acked(0.1 * f64::from(i), 0.1)));
        assert!(is_near(control.window(0), window), "{}", control.window(0));
    }
}

#[test]
fn a_timeout_before_the_first_round_trip_leaves_a_packet() {
    let mut control = opened(Double, SETTINGS);
    assert!(is_near(control.window(0), 10.0));
    control.on_signal(0, Signal::Timeout, 10, Time(0));
    assert!(is_near(control.window(0), 1.0));
}

#[test]
fn a_round_trip_that_has_waited_out_an_outage_is_none() {
    // Of the packet that is sent then it is 0.1 s: 80 kbit/s. What was lost before is no loss of the first interval.
    let mut control = opened(Double, SETTINGS);
    control.on_signal(0, Signal::Timeout, 10, Time(0));
    control.on_ack(0, &acked(2.0, 1.0));
    assert!(control.pace(0).is_none() && is_near(control.window(0), 1.0));
    control.on_ack(0, &acked(2.1, 0.1));
    assert!(is_near(pace(&control), 80e3));
    interval(&mut control, 2.2, 0);
    assert!(p(&control) <= 0.0);
}

#[test]
fn a_path_that_opens_again_has_no_capacity_of_before() {
    let mut control = control(true);
    control.on_capacity(0, Rate(20e3));
    control.open(0, Time(0));
    control.on_ack(0, &acked(0.5, 0.1));
    assert!(is_near(pace(&control), 800e3));
}

#[test]
fn without_a_window_only_the_pace_holds() {
    assert!(control(false).window(0) >= MOST_WINDOW);
}
