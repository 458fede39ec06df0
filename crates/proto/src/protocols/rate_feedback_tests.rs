//! Tests of RCP and its relatives: estimates of round trips, loads, headers and probes.

use super::*;
use crate::testing::{Fixed, alone, view, visitor};
use anabranch_core::units::MILLISECOND;

/// Offers what is left, every 10 ms.
#[derive(Clone)]
struct Rest;

impl Law for Rest {
    fn interval(&self, _: f64) -> f64 {
        0.01
    }

    fn least(&self, _: f64) -> f64 {
        1e3
    }

    fn next(&mut self, _: f64, seen: &Seen) -> f64 {
        seen.capacity - seen.load - seen.queue / seen.interval
    }
}

/// Offers a tenth more in each interval of 10 ms.
#[derive(Clone)]
struct More;

impl Law for More {
    fn interval(&self, _: f64) -> f64 {
        0.01
    }

    fn least(&self, _: f64) -> f64 {
        1e3
    }

    fn next(&mut self, rate: f64, _: &Seen) -> f64 {
        1.1 * rate
    }
}

fn link<L: Law>(law: L, round_trip: f64) -> Link<L> {
    Link::new(law, Beginning { utilisation: 0.9, rate: 0.05, round_trip }, 3)
}

/// A link that has taken its first interval to end at 10 ms.
fn rest(round_trip: f64) -> Link<Rest> {
    Link { interval: Some((Time(0), time(10))), ..link(Rest, round_trip) }
}

fn time(ms: u64) -> Time {
    Time(ms * MILLISECOND)
}

/// A link of 10 Mbit/s at a time in ms.
fn at(ms: u64, queue: &Fixed) -> LinkView<'_> {
    LinkView { now: time(ms), queue, ..view(10e6) }
}

/// Shows a link a data packet of 1,000 bytes that arrives, and leaves at once; gives the rate stamped on it.
fn offer<L: Law>(link: &mut Link<L>, view: &LinkView, round_trip_ms: u64, orders: &mut LinkOrders) -> f64 {
    let round_trip = Span(round_trip_ms * MILLISECOND);
    let probe = Probe { rate: 8.9e6, round_trip, bytes: Bytes(1000), packet: Bytes(1000), sent: Time(0) };
    let mut header = Header::Rcp(probe);
    link.on_arrival(view, visitor(0, 0), &mut header, orders);
    assert_eq!(header, Header::Rcp(probe), "nothing is stamped at the arrival");
    link.on_departure(view, visitor(0, 0), &mut header);
    let Header::Rcp(probe) = header else { panic!("it is still of RCP") };
    probe.rate
}

#[test]
fn a_link_measures_what_comes_and_sleeps_when_nothing_does() {
    let (mut link, orders) = (rest(0.2), &mut LinkOrders::default());
    let begins = 0.05 * 10e6;
    assert!((offer(&mut link, &at(0, &Fixed { arrived: 7000, backlog: 0 }), 0, orders) - begins).abs() < 1e-6);
    assert_eq!(orders.wake.take(), Some(time(10)));
    // 5,000 bytes in 10 ms are 4 Mbit/s. Of 9 to be used 5 are left, less 1,000 bytes that wait, 0.8 Mbit/s: of 1,400
    // the first 400 are in transmission.
    let queue = Fixed { arrived: 12_000, backlog: 1400 };
    link.on_timer(&at(10, &queue), orders);
    assert_eq!(orders.wake.take(), Some(time(20)));
    assert!((offer(&mut link, &at(12, &queue), 0, orders) - 4.2e6).abs() < 1e-6);
    assert_eq!(orders.wake, None);
    // Nothing more: all is left, and there is nothing to wake for until somebody comes.
    let quiet = Fixed { arrived: 12_000, backlog: 0 };
    link.on_timer(&at(20, &quiet), orders);
    assert_eq!(orders.wake.take(), Some(time(30)));
    link.on_timer(&at(30, &quiet), orders);
    assert_eq!(orders.wake, None);
    // A packet that offers less already keeps that; the rate is 9 Mbit/s. The timer has kept its pace.
    assert!((offer(&mut link, &at(505, &quiet), 0, orders) - 8.9e6).abs() < 1e-6);
    assert_eq!(orders.wake.take(), Some(time(510)));
}

#[test]
fn a_packet_is_stamped_with_the_rate_of_its_departure() {
    let (mut link, orders, queue) = (rest(0.2), &mut LinkOrders::default(), Fixed { arrived: 0, backlog: 2000 });
    let probe = Probe { rate: 9e9, round_trip: Span(0), bytes: Bytes(0), packet: Bytes(1000), sent: Time(0) };
    let mut header = Header::Rcp(probe);
    link.on_arrival(&at(9, &queue), visitor(0, 0), &mut header, orders);
    // At 10 ms the rate changes from 0.5 Mbit/s to what is left of 9, less 1,000 bytes in 10 ms.
    link.on_timer(&at(10, &queue), orders);
    link.on_departure(&at(11, &queue), visitor(0, 0), &mut header);
    assert_eq!(header, Header::Rcp(Probe { rate: 8.2e6, ..probe }));
}

#[test]
fn a_link_makes_up_for_the_intervals_of_its_sleep() {
    let (mut own, orders, queue) = (link(More, 0.2), &mut LinkOrders::default(), Fixed { arrived: 0, backlog: 0 });
    own.interval = Some((Time(0), time(10)));
    // At 35 ms three intervals are over: a tenth more three times. The first was taken to end at 10 ms.
    assert!((offer(&mut own, &at(35, &queue), 0, orders) - 0.5e6 * 1.331).abs() < 1e-3);
    assert_eq!(orders.wake.take(), Some(time(40)));
    // A sleep of a day has too many intervals to go through one by one.
    own.is_awake = false;
    offer(&mut own, &at(86_400_005, &queue), 0, orders);
    assert_eq!(orders.wake.take(), Some(time(86_400_010)));
}

#[test]
fn first_intervals_differ_from_link_to_link_by_a_fifth() {
    let first = |number| {
        let (mut own, orders, queue) = (rest(0.2), &mut LinkOrders::default(), Fixed { arrived: 0, backlog: 0 });
        (own.number, own.interval) = (number, None);
        offer(&mut own, &at(0, &queue), 0, orders);
        orders.wake.unwrap().0 as f64 / MILLISECOND as f64 / 10.0 - 1.0
    };
    let all: Vec<f64> = (0..1000).map(first).collect();
    let (mean, square) = (all.iter().sum::<f64>() / 1e3, all.iter().map(|x| x * x).sum::<f64>() / 1e3);
    // The mean of a thousand is off by 0.2 / sqrt(1000) = 0.006 as a rule.
    assert!(mean.abs() < 0.02 && (square.sqrt() - 0.2).abs() < 0.02, "{mean} {square}");
}

#[test]
fn a_packet_counts_in_the_next_interval_as_far_as_it_is_sent_there() {
    let (mut own, orders) = (rest(0.2), &mut LinkOrders::default());
    // 1,000 bytes take 0.8 ms: of a packet that comes 0.2 ms before the end, 750 bytes are of the next interval.
    let late = Time(98 * MILLISECOND / 10);
    offer(&mut own, &LinkView { now: late, ..at(0, &Fixed { arrived: 0, backlog: 0 }) }, 0, orders);
    let queue = Fixed { arrived: 1000, backlog: 0 };
    own.on_timer(&at(10, &queue), orders);
    // 250 bytes in 10 ms are 0.2 Mbit/s, 750 bytes 0.6.
    assert!((own.rate.unwrap() - 8.8e6).abs() < 1e-3);
    own.on_timer(&at(20, &queue), orders);
    assert!((own.rate.unwrap() - 8.4e6).abs() < 1e-3);
}

#[test]
fn the_average_round_trip_rises_quickly_and_falls_slowly() {
    let (mut link, orders, queue) = (rest(0.1), &mut LinkOrders::default(), Fixed { arrived: 0, backlog: 0 });
    for round_trip in [300, 100] {
        offer(&mut link, &at(0, &queue), round_trip, orders);
    }
    link.on_timer(&at(10, &queue), orders);
    // As many bytes with 300 as with 100 ms: 200 on average. A tenth of the way there in a tenth of 100 ms.
    assert!((link.round_trip - 0.11).abs() < 1e-12);
    // Now 55 ms: half of 110, in 1/11 of it, offering all that is to be used.
    offer(&mut link, &at(10, &queue), 55, orders);
    link.on_timer(&at(20, &queue), orders);
    assert!((link.round_trip - (0.11 - 0.055 * 0.5 / 11.0)).abs() < 1e-12);
}

#[test]
fn a_link_that_is_down_offers_nothing_and_sleeps() {
    let (mut link, orders, queue) = (rest(0.1), &mut LinkOrders::default(), Fixed { arrived: 0, backlog: 0 });
    let down = |ms| LinkView { capacity: Rate(0.0), ..at(ms, &queue) };
    assert!(offer(&mut link, &down(0), 50, orders).abs() < 1e-9);
    link.on_timer(&down(10), orders);
    orders.clear();
    link.on_timer(&down(20), orders);
    assert_eq!(orders.wake, None);
    assert!(offer(&mut link, &at(30, &queue), 50, orders) > 0.0);
}

/// The packets and grants of a call.
fn call(source: &mut Source, ask: impl FnOnce(&mut Source, &mut Orders)) -> (Vec<Probe>, Vec<f64>, Option<Time>) {
    let mut orders = Orders::default();
    ask(source, &mut orders);
    let probe = |order: crate::control::PacketOrder| match order.header {
        Header::Rcp(probe) => probe,
        _ => panic!("it is a probe"),
    };
    (orders.packets.into_iter().map(probe).collect(), orders.grants.iter().map(|g| g.1.0).collect(), orders.wake)
}

#[test]
fn a_source_asks_until_it_has_a_rate_and_tells_with_its_data_how_long_replies_take() {
    let mut source = Source::new(SpanText(Span(100 * MILLISECOND)), &alone());
    let (first, _, wake) = call(&mut source, |s, orders| s.join(time(0), orders));
    assert_eq!((first.len(), first[0].bytes, wake), (1, Bytes(0), Some(time(500))));
    // No reply: it asks again.
    let (again, ..) = call(&mut source, |s, orders| s.on_timer(time(500), orders));
    let reply = Header::Rcp(Probe { rate: 8e6, ..again[0] });
    let (none, grants, wake) = call(&mut source, |s, orders| s.on_reply(time(530), 0, &reply, orders));
    assert!(none.is_empty() && (grants[0] - 8e6).abs() < 1e-9 && wake == Some(time(630)));
    let Some(Header::Rcp(data)) = source.data_header(time(530), 0, Bytes(700)) else { panic!("it has a header") };
    assert_eq!((data.round_trip, data.bytes, data.packet), (Span(30 * MILLISECOND), Bytes(700), Bytes(1000)));
    // The timer of the first probe, and a second copy of the reply, change nothing.
    let stale = call(&mut source, |s, orders| {
        s.on_timer(time(541), orders);
        s.on_reply(time(545), 0, &reply, orders);
    });
    assert_eq!(stale, (Vec::new(), Vec::new(), None));
    let reply = Header::Rcp(Probe { rate: 5e6, ..data });
    let (_, grants, _) = call(&mut source, |s, orders| s.on_reply(time(570), 0, &reply, orders));
    assert!((grants[0] - 5e6).abs() < 1e-9 && source.round_trip == Span(40 * MILLISECOND));
}

#[test]
fn a_source_that_sends_nothing_probes_now_and_then_and_measures_no_round_trip_by_that() {
    let mut source = Source::new(SpanText(Span(100 * MILLISECOND)), &alone());
    let (first, ..) = call(&mut source, |s, orders| s.join(time(0), orders));
    call(&mut source, |s, orders| s.on_reply(time(30), 0, &Header::Rcp(first[0]), orders));
    source.data_header(time(80), 0, Bytes(1000));
    // The last header is of 80 ms: the next probe is due at 180 ms.
    let (early, _, wake) = call(&mut source, |s, orders| s.on_timer(time(130), orders));
    assert_eq!((early.len(), wake), (0, Some(time(180))));
    let (probe, _, wake) = call(&mut source, |s, orders| s.on_timer(time(180), orders));
    assert_eq!((probe.len(), probe[0].bytes, wake), (1, Bytes(0), Some(time(280))));
    call(&mut source, |s, orders| s.on_reply(time(230), 0, &Header::Rcp(probe[0]), orders));
    assert_eq!(source.round_trip, Span(30 * MILLISECOND));
}
