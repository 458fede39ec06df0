//! Tests of s-PERC: a link and a source, worked by hand.

use anabranch_core::Bytes;
use anabranch_core::quantity::SpanText;
use serde::de::{self, IntoDeserializer};

use super::*;
use crate::control::Orders;
use crate::testing::{alone, is_granted_once, view, visitor};
use anabranch_core::units::MILLISECOND;

fn link(variant: Variant) -> Link {
    Link::new(&Parameters { variant, ..Parameters::default() })
}

/// A packet of a session that a link at position 0 offers `limit`.
fn probe(limit: i64) -> Probe {
    Probe { slots: vec![Slot { offer: limit, ..UNSEEN }], ..Probe::first() }
}

/// Shows a packet to a link of 10 Mbit/s at position 1; gives the slot of that link.
fn show(link: &mut Link, at: u64, probe: &mut Probe) -> Slot {
    let mut header = Header::SPerc(probe.clone());
    let view = LinkView { now: Time(at), ..view(10e6) };
    link.on_arrival(&view, visitor(0, 1), &mut header, &mut LinkOrders::default());
    let Header::SPerc(after) = header else { panic!("it is still of s-PERC") };
    *probe = after;
    probe.slots[1]
}

#[test]
fn a_session_limited_elsewhere_leaves_the_rest_and_departures_clear_the_link() {
    let mut link = link(Variant::IgnoreBit);
    let mut all = [1_000_000, UNLIMITED, 3_000_000].map(probe);
    let slots = all.each_mut().map(|probe| show(&mut link, 0, probe));
    // 1 elsewhere; 10 - 1 here; then half of 9, of which the third can take 3.
    assert_eq!(slots.map(|s| s.allocation), [1_000_000, 9_000_000, 3_000_000]);
    assert_eq!(slots.map(|s| s.offer), [10_000_000, 9_000_000, 4_500_000]);
    assert_eq!(slots.map(|s| s.held), [Held::Elsewhere, Held::Here, Held::Elsewhere]);
    assert_eq!(show(&mut link, 0, &mut all[1]).allocation, 6_000_000);
    for mut probe in all {
        probe.is_last = true;
        show(&mut link, 0, &mut probe);
    }
    assert!(link.is_clear());
}

#[test]
fn offers_below_what_another_has_elsewhere_are_ignored_or_raised_until_the_round_after_next() {
    let offers = |variant| {
        let mut link = link(variant);
        let (mut first, mut second) = (probe(9_000_000), probe(UNLIMITED));
        show(&mut link, 0, &mut first);
        // 9 elsewhere leave 1 for the second, less than 9.
        [0, 99, 199, 200].map(|ms| show(&mut link, ms * MILLISECOND, &mut second))
    };
    let ignored = offers(Variant::IgnoreBit).map(|slot| (slot.offer, slot.is_ignored));
    assert_eq!(ignored, [true, true, true, false].map(|is_ignored| (1_000_000, is_ignored)));
    let raised = offers(Variant::Basic).map(|slot| (slot.offer, slot.is_ignored));
    assert_eq!(raised, [9_000_000, 9_000_000, 9_000_000, 1_000_000].map(|offer| (offer, false)));
}

#[test]
fn the_least_allocation_is_granted_once() {
    let slots = [5, 3, 4].map(|allocation| Slot { allocation, ..UNSEEN }).to_vec();
    let reply = Header::SPerc(Probe { slots, ..Probe::first() });
    is_granted_once(source(&Parameters::default(), &alone()), &reply, 3.0);
}

/// Shows an adaptive round packets of a round trip, `every` so long in ms, from one time to another in ms.
fn follow(rounds: &mut Rounds, (from, to): (u64, u64), every: u64) {
    for ms in (from..to).step_by(every as usize) {
        let now = Time(ms * MILLISECOND);
        rounds.ended(now);
        rounds.adapt(now, Span::ms(every));
    }
}

#[test]
fn a_round_is_one_to_two_longest_round_trips_long() {
    for (round_trip, wanted) in [(7, 12), (30, 50), (60, 100), (150, 200), (401, 800), (700, 800), (1800, 3200)] {
        let mut rounds = Rounds::new(Round::Adaptive);
        follow(&mut rounds, (0, 20_000), round_trip);
        let length = rounds.length();
        assert!(length >= Span::ms(round_trip) && length <= Span::ms(2 * round_trip), "{round_trip} ms: {length}");
        assert_eq!(length.0 / MILLISECOND, wanted, "{round_trip} ms");
    }
}

#[test]
fn a_round_doubles_at_once_and_halves_after_a_window() {
    let mut rounds = Rounds::new(Round::Adaptive);
    follow(&mut rounds, (0, 499), 20);
    assert_eq!(rounds.length(), Span::ms(100));
    follow(&mut rounds, (500, 530), 20);
    assert_eq!(rounds.length(), Span::ms(25));
    rounds.adapt(Time(530 * MILLISECOND), Span::ms(90));
    assert_eq!(rounds.length(), Span::ms(100));
    // It counts in its own window, until 1 s, and in the next.
    follow(&mut rounds, (531, 1500), 20);
    assert_eq!(rounds.length(), Span::ms(100));
    follow(&mut rounds, (1500, 2500), 20);
    assert_eq!(rounds.length(), Span::ms(25));
}

#[test]
fn a_given_round_stays() {
    let mut rounds = Rounds::new(Round::Fixed(SpanText(Span::ms(3))));
    follow(&mut rounds, (0, 5000), 200);
    assert_eq!(rounds.length(), Span::ms(3));
    assert_eq!(rounds.ended(Time(4807 * MILLISECOND)), 2);
}

#[test]
fn no_round_trip_is_too_long() {
    let mut rounds = Rounds::new(Round::Adaptive);
    for now in [0, 5, u64::MAX, 3] {
        rounds.ended(Time(now));
        rounds.adapt(Time(now), Span(u64::MAX));
    }
    assert_eq!(rounds.length(), Span::s(1000));
}

/// The pause that a link of 10 Mbit/s demands of a packet that it has not seen.
fn pause(link: &mut Link, view: &LinkView) -> Span {
    let mut header = Header::SPerc(Probe::first());
    link.on_arrival(view, visitor(0, 0), &mut header, &mut LinkOrders::default());
    let Header::SPerc(probe) = header else { panic!("it is still of s-PERC") };
    probe.pause
}

#[test]
fn sessions_divide_half_of_the_part_for_control_packets() {
    // 4 % of 10 Mbit/s are 400 kbit/s, half of it 200: a packet of 512 bits each 2.56 ms, of n sessions each n times that.
    let mut own = link(Variant::IgnoreBit);
    let pauses = [0; 3].map(|_| pause(&mut own, &view(10e6)));
    assert_eq!(pauses, [1, 2, 3].map(|n| Span(n * 2_560_000_000)));
    // Of what a headroom of a half leaves the link shows, 5 Mbit/s, the part is the same.
    let headroom = Headroom(0.5);
    let mut halved = Link::new(&Parameters { headroom, ..Parameters::default() });
    assert_eq!(pause(&mut halved, &view(5e6)), Span(2_560_000_000));
    // A link without capacity, and one that stands for a demand.
    assert_eq!(pause(&mut own, &view(0.0)), Span::s(1));
    assert_eq!(pause(&mut own, &LinkView { control_packet: Bytes(0), ..view(1.0) }), Span(0));
}

#[test]
fn replies_bring_the_pause_of_the_way_back() {
    let mut header = Header::SPerc(Probe { pause: Span::ms(9), ..Probe::first() });
    assert!((CAPABILITIES.turn)(&mut header));
    link(Variant::IgnoreBit).on_return(&view(10e6), visitor(0, 0), &mut header, &mut LinkOrders::default());
    let Header::SPerc(probe) = header else { panic!("it is still of s-PERC") };
    assert_eq!((probe.pause, probe.slots.len()), (Span(2_560_000_000), 0));
}

#[test]
fn a_source_waits_for_its_pause_and_measures_round_trips_with_it() {
    let (mut source, orders) = (source(&Parameters::default(), &alone()), &mut Orders::default());
    let at = |ms| Time(ms * MILLISECOND);
    let reply = |cycle| Header::SPerc(Probe { cycle, pause: Span::ms(50), ..Probe::first() });
    source.join(at(5), orders);
    orders.clear();
    source.on_reply(at(25), 0, &reply(0), orders);
    assert_eq!((orders.packets.len(), orders.wake, orders.grants.len()), (0, Some(at(55)), 1));
    orders.clear();
    // Nothing is due yet, and a second reply is none.
    source.on_timer(at(54), orders);
    source.on_reply(at(54), 0, &reply(1), orders);
    assert_eq!((orders.packets.len(), orders.grants.len()), (0, 0));
    source.on_timer(at(55), orders);
    let sent = |orders: &Orders| match &orders.packets[0].header {
        Header::SPerc(probe) => (probe.cycle, probe.round_trip, probe.pause),
        header => panic!("{header:?}"),
    };
    assert_eq!(sent(orders), (1, Span::ms(20), Span(0)));
    orders.clear();
    // 55 + 60 ms is later than the pause. The round trip is that since the last reply.
    source.on_reply(at(115), 0, &reply(1), orders);
    assert_eq!(sent(orders), (2, Span::ms(90), Span(0)));
    orders.clear();
    source.on_reply(at(120), 0, &reply(2), orders);
    orders.clear();
    source.leave(at(121), orders);
    assert!(orders.has_left && !orders.packets[0].wants_reply);
}

#[test]
fn rounds_are_adaptive_or_a_microsecond_to_a_thousand_seconds() {
    let read = |text: &'static str| Round::deserialize(IntoDeserializer::<de::value::Error>::into_deserializer(text));
    assert_eq!(read("1 us"), Ok(Round::Fixed(SpanText(Span::us(1)))));
    assert_eq!(read("adaptive"), Ok(Round::Adaptive));
    let said = "it is 2000 s; it must be 1 us to 1000 s, or `adaptive`";
    assert_eq!(read("2000 s").map_err(|error| error.to_string()), Err(said.to_owned()));
    assert!(read("soon").is_err_and(|error| error.to_string().ends_with("or `adaptive`")));
}
