//! Tests of s-PERC: a link and a source, worked by hand.

use serde::de::IntoDeserializer;

use super::*;
use crate::control::Orders;
use crate::testing::{alone, view, visitor};
use anabranch_core::units::MILLISECOND;

fn link(variant: Variant) -> Link {
    Link::new(&Parameters { variant, ..Parameters::default() })
}

/// A packet of a session that a link at position 0 offers `limit`.
fn probe(limit: i64) -> Probe {
    Probe { is_last: false, cycle: 0, slots: vec![Slot { offer: limit, ..UNSEEN }] }
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
fn who_is_held_elsewhere_leaves_the_rest_and_all_that_leave_leave_nothing() {
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
    let (mut source, orders) = (source(&Parameters::default(), &alone()), &mut Orders::default());
    let slots = [5, 3, 4].map(|allocation| Slot { allocation, ..UNSEEN }).to_vec();
    let reply = Header::SPerc(Probe { is_last: false, cycle: 0, slots });
    for _ in 0..2 {
        source.on_reply(Time(0), 0, &reply, orders);
    }
    assert_eq!((&orders.grants[..], orders.packets.len()), (&[(0, Rate(3.0))][..], 1));
    source.leave(Time(0), orders);
    let packet = orders.packets.remove(0).header;
    source.on_reply(Time(0), 0, &packet, orders);
    assert!(orders.has_left && !orders.packets[0].wants_reply && orders.grants.len() == 1);
}

#[test]
fn rounds_are_a_microsecond_to_a_thousand_seconds() {
    let read = |text: &'static str| round(IntoDeserializer::<de::value::Error>::into_deserializer(text));
    assert_eq!(read("1 us"), Ok(SpanText(Span(MICROSECOND))));
    let said = "it is 2000 s; it must be 1 us to 1000 s";
    assert_eq!(read("2000 s").map_err(|error| error.to_string()), Err(said.to_owned()));
}
