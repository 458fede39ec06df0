//! XCP: its links and its window, worked by hand.

use anabranch_core::units::MILLISECOND;
use serde::de::value::F64Deserializer;

use super::*;
use crate::testing::{Fixed, alone, visitor};

/// A link of 8 Mbit/s, a million bytes per second.
fn view(now_ms: u64, queue: &Fixed) -> LinkView<'_> {
    LinkView { now: Time(now_ms * MILLISECOND), queue, ..crate::testing::view(8e6) }
}

/// A packet of 1,000 bytes of a connection with a window of 10 and a round trip of 50 ms: 200,000 byte/s.
fn packet(change: f64) -> Congestion {
    Congestion { number: 0, sent: Time(0), packet: 1000.0, round_trip: 0.05, gap: 0.005, change }
}

fn arrive(link: &mut Link, now_ms: u64, queue: &Fixed, mut packet: Congestion) -> (f64, Option<Time>) {
    let mut orders = LinkOrders::default();
    let mut header = Header::Xcp(packet);
    link.on_arrival(&view(now_ms, queue), visitor(0, 0), &mut header, &mut orders);
    link.on_departure(&view(now_ms, queue), visitor(0, 0), &mut header);
    if let Header::Xcp(told) = header {
        packet = told;
    }
    (packet.change, orders.wake)
}

fn wake(link: &mut Link, now_ms: u64, queue: &Fixed) -> Option<Time> {
    let mut orders = LinkOrders::default();
    link.on_timer(&view(now_ms, queue), &mut orders);
    orders.wake
}

/// A link over which ten packets have come in the first 50 ms, with so many bytes in its queue.
fn busy(backlog: u64) -> Link {
    let mut link = Link::new(&Parameters::default());
    for number in 0..10 {
        let (change, _) = arrive(&mut link, 5 * number, &Fixed { arrived: 1000 * number, backlog }, packet(1e9));
        assert!(change.abs() < 1e-9, "nothing is known yet");
    }
    wake(&mut link, 25, &Fixed { arrived: 5000, backlog });
    wake(&mut link, 50, &Fixed { arrived: 10_000, backlog });
    link
}

#[test]
fn what_is_free_is_divided_among_the_packets_of_a_round_trip() {
    // 10,000 bytes in 50 ms are 200,000 byte/s. Of the other 800,000 0.4 are given to ten packets: 32,000 to each.
    let mut link = busy(0);
    let queue = Fixed { arrived: 10_000, backlog: 0 };
    let given: Vec<f64> = (0..11).map(|_| arrive(&mut link, 51, &queue, packet(f64::INFINITY)).0).collect();
    assert!(given[..10].iter().all(|change| (change - 32_000.0).abs() < 1.0), "{given:?}");
    // No more than that.
    assert!(given[10].abs() < 1e-3);
}

#[test]
fn a_queue_that_stays_is_taken_away() {
    // 0.226 times 100,000 bytes in 50 ms are 452,000 byte/s, which leaves 320,000 - 452,000 for ten packets.
    let mut link = busy(100_000);
    let queue = Fixed { arrived: 10_000, backlog: 100_000 };
    let (change, _) = arrive(&mut link, 51, &queue, packet(f64::INFINITY));
    assert!((change + 13_200.0).abs() < 1.0, "{change}");
}

#[test]
fn who_cannot_use_what_it_is_given_keeps_its_own_and_packets_without_round_trip_get_nothing() {
    let mut link = busy(0);
    let queue = Fixed { arrived: 10_000, backlog: 0 };
    assert!((arrive(&mut link, 51, &queue, packet(5.0)).0 - 5.0).abs() < 1e-9);
    assert!((arrive(&mut link, 51, &queue, packet(-5.0)).0 + 5.0).abs() < 1e-9);
    let unknown = Congestion { round_trip: 0.0, ..packet(f64::INFINITY) };
    assert!(arrive(&mut link, 51, &queue, unknown).0.abs() < 1e-9);
}

#[test]
fn timers_stop_when_no_packet_comes_and_start_again_with_the_next() {
    let mut link = busy(0);
    let queue = Fixed { arrived: 10_000, backlog: 0 };
    let mut now = Time(50 * MILLISECOND);
    let wakes = std::iter::from_fn(|| {
        now = Time(now.0 + 25 * MILLISECOND);
        wake(&mut link, now.0 / MILLISECOND, &queue)
    });
    assert!(wakes.take(9).count() < 3);
    assert!(arrive(&mut link, 900, &queue, packet(1e9)).1.is_some());
}

#[test]
fn no_packet_makes_a_link_tell_what_is_no_number() {
    let strange = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -1.0, 1e300, 1e-300];
    let queue = Fixed { arrived: 10_000, backlog: 0 };
    let mut link = busy(0);
    for (number, (a, b)) in strange.iter().flat_map(|a| strange.map(|b| (*a, b))).enumerate() {
        let header = Congestion { round_trip: a, gap: b, change: a, ..packet(b) };
        arrive(&mut link, 60 + number as u64, &queue, header);
        wake(&mut link, 60 + number as u64, &queue);
    }
    for now in [200, 300, 400] {
        let (change, _) = arrive(&mut link, now, &queue, packet(1e9));
        assert!(change.is_finite(), "{change}");
        wake(&mut link, now + 50, &queue);
    }
}

/// A source with one packet under way, and its header.
fn joined() -> (Source, Congestion, Orders) {
    let mut source = Source::new(&alone());
    let mut orders = Orders::default();
    source.join(Time(0), &mut orders);
    let Header::Xcp(header) = orders.packets[0].header.clone() else { panic!("it is of XCP") };
    (source, header, orders)
}

fn reply(source: &mut Source, now_ms: u64, header: Congestion) -> Orders {
    let mut orders = Orders::default();
    source.on_reply(Time(now_ms * MILLISECOND), 0, &Header::Xcp(header), &mut orders);
    orders
}

#[test]
fn a_window_grows_by_what_the_acknowledgement_says_and_only_once() {
    let (mut source, header, orders) = joined();
    assert!(orders.packets[0].carries_data && header.round_trip.abs() < 1e-12);
    // 100,000 byte/s in a round trip of 50 ms are 5 packets of 1,000 bytes more than the 2.
    let orders = reply(&mut source, 50, Congestion { change: 100_000.0, ..header });
    assert!((source.window - 7.0).abs() < 1e-9 && orders.packets.len() == 1);
    assert!((orders.notes[0].1.0 - 7.0 * 8000.0 / 0.05).abs() < 1e-3);
    let orders = reply(&mut source, 51, Congestion { change: 100_000.0, ..header });
    assert!((source.window - 7.0).abs() < 1e-9 && orders.notes.is_empty());
}

#[test]
fn a_gap_halves_the_window_once_in_a_round_trip_and_silence_closes_it() {
    let (mut source, header, _) = joined();
    source.window = 16.0;
    source.next = 16;
    reply(&mut source, 50, Congestion { number: 1, change: 0.0, ..header });
    reply(&mut source, 51, Congestion { number: 3, change: 0.0, ..header });
    assert!((source.window - 8.0).abs() < 1e-9, "{}", source.window);
    source.on_timer(Time(2000 * MILLISECOND), &mut Orders::default());
    // All was given up, and one is under way again.
    assert!((source.window - 1.0).abs() < 1e-9 && source.under_way() == 1, "{}", source.under_way());
}

#[test]
fn a_demand_limits_the_window_at_once() {
    let (mut source, header, _) = joined();
    reply(&mut source, 50, Congestion { change: 100_000.0, ..header });
    // 32,000 bit/s in 50 ms are a fifth of a packet, so that there is one at a time.
    let mut orders = Orders::default();
    source.on_demand(Time(51 * MILLISECOND), Rate(32_000.0), &mut orders);
    assert!((source.window - 1.0).abs() < 1e-9);
    assert!((orders.notes[0].1.0 - 32_000.0).abs() < 1e-6);
}

#[test]
fn parameters_out_of_range_are_refused() {
    let number = F64Deserializer::<de::value::Error>::new;
    assert_eq!((alpha(number(0.4)), part(number(1.0))), (Ok(0.4), Ok(1.0)));
    assert!(alpha(number(0.6)).unwrap_err().to_string().contains("less than pi / (4 sqrt 2)"));
    assert!(part(number(-0.1)).unwrap_err().to_string().contains("it must be 0 to 1"));
}
