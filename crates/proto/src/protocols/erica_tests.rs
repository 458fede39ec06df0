//! Tests of ERICA: what links count, average and grant, and how many packets are RM packets.

use super::*;
use anabranch_core::units::MICROSECOND;

use crate::testing::{Fixed, view, visitor};

const INTERVAL: u64 = 20_000_000_000;

/// A link of 10 Mbit/s at the end of interval number `end`, when so many bytes have come in.
fn at(end: u64, queue: &Fixed) -> LinkView<'_> {
    LinkView { now: Time(end * INTERVAL), queue, ..view(10e6) }
}

fn send(link: &mut Link, view: &LinkView, subflow: u32, rate: f64) -> f64 {
    let orders = &mut LinkOrders::default();
    let mut header = Header::Erica(Rm { number: 1, rate, offer: UNLIMITED, is_last: false });
    link.on_arrival(view, visitor(subflow, 0), &mut header, orders);
    link.on_return(view, visitor(subflow, 0), &mut header, orders);
    let Header::Erica(rm) = header else { panic!("it is still of ERICA") };
    rm.offer
}

fn leave(link: &mut Link, view: &LinkView, subflow: u32) {
    let mut header = Header::Erica(Rm { number: 2, rate: 0.0, offer: 0.0, is_last: true });
    link.on_arrival(view, visitor(subflow, 0), &mut header, &mut LinkOrders::default());
}

fn is(got: f64, wanted: f64) {
    assert!((got - wanted).abs() < 1.0, "{got} is not {wanted}");
}

#[test]
fn what_is_over_is_taken_back_and_what_is_over_by_a_little_is_not() {
    let mut link = Link::new(&Parameters::default());
    // Alone, then two at once: each is offered all.
    let start = Fixed { arrived: 0, backlog: 0 };
    is(send(&mut link, &at(0, &start), 0, 0.0), 10e6);
    is(send(&mut link, &at(0, &start), 1, 0.0), 10e6);
    // 50,000 bytes in 20 ms are 20 Mbit/s: twice too much. A fair share is 5, more than half of what each has.
    let doubled = Fixed { arrived: 50_000, backlog: 0 };
    link.on_timer(&at(1, &doubled), &mut LinkOrders::default());
    is(send(&mut link, &at(1, &doubled), 0, 5.8e6), 5e6);
    is(send(&mut link, &at(1, &doubled), 1, 5e6), 5e6);
    // 27,000 bytes are 10.8, as both said: 8 % over. Each may have that much less than now, or the most of the interval
    // before, 5.
    let over = Fixed { arrived: 77_000, backlog: 0 };
    link.on_timer(&at(2, &over), &mut LinkOrders::default());
    is(send(&mut link, &at(2, &over), 0, 5.8e6), 5.8e6 / 1.08);
    is(send(&mut link, &at(2, &over), 1, 5e6), 5e6);
    // So much was offered to the first; at 8 % over the second may have it, too.
    let still = Fixed { arrived: 104_000, backlog: 0 };
    link.on_timer(&at(3, &still), &mut LinkOrders::default());
    is(send(&mut link, &at(3, &still), 1, 5e6), 5.8e6 / 1.08);
}

#[test]
fn a_session_gets_one_new_offer_in_an_interval() {
    let mut link = Link::new(&Parameters::default());
    let queue = Fixed { arrived: 0, backlog: 0 };
    send(&mut link, &at(0, &queue), 0, 10e6);
    send(&mut link, &at(0, &queue), 1, 10e6);
    link.on_timer(&at(1, &queue), &mut LinkOrders::default());
    // Nothing came in, but 20 were told: twice too much, and half of 10 for each. Half of 16 must wait.
    is(send(&mut link, &at(1, &queue), 0, 10e6), 5e6);
    is(send(&mut link, &at(1, &queue), 0, 16e6), 5e6);
}

#[test]
fn any_packet_makes_a_session_active_and_data_make_the_load() {
    let mut link = Link::new(&Parameters::default());
    let start = Fixed { arrived: 0, backlog: 0 };
    for subflow in 0..4 {
        send(&mut link, &at(0, &start), subflow, 5e6);
    }
    link.on_timer(&at(1, &start), &mut LinkOrders::default());
    // In the second interval the first sends an RM packet, the second and the third send data, the fourth nothing:
    // a third of 10 Mbit/s for each. 12,500 bytes in 20 ms are 5 Mbit/s, half of the target, whatever they may send.
    send(&mut link, &at(1, &start), 0, 5e6);
    link.on_data(visitor(1, 0));
    link.on_data(visitor(2, 0));
    link.on_data(visitor(2, 0));
    let queue = Fixed { arrived: 12_500, backlog: 0 };
    link.on_timer(&at(2, &queue), &mut LinkOrders::default());
    is(link.fair_share, 10e6 / 3.0);
    assert!((link.overload - 0.5).abs() < 1e-9);
    // A session that is not known, such as one that has left, does not count.
    link.on_data(visitor(9, 0));
    assert_eq!(link.active, 0);
}

#[test]
fn links_forget_who_leaves_and_who_is_silent_for_a_second_and_then_rest() {
    let mut link = Link::new(&Parameters::default());
    let queue = Fixed { arrived: 0, backlog: 0 };
    for subflow in 0..3 {
        send(&mut link, &at(0, &queue), subflow, 0.0);
    }
    leave(&mut link, &at(0, &queue), 2);
    let mut orders = LinkOrders::default();
    link.on_timer(&at(1, &queue), &mut orders);
    // Two are left: half each.
    is(send(&mut link, &at(1, &queue), 0, 0.0), 5e6);
    assert_eq!(orders.wake.take(), Some(Time(2 * INTERVAL)));
    // A second are 50 intervals, and the link looks after each 50: after the hundredth the second session has been
    // silent for so long. The first leaves.
    for end in 2..=99 {
        link.on_timer(&at(end, &queue), &mut orders);
    }
    assert_eq!(link.sessions.len(), 2);
    send(&mut link, &at(99, &queue), 0, 0.0);
    link.on_timer(&at(100, &queue), &mut orders);
    assert_eq!(link.sessions.len(), 1);
    leave(&mut link, &at(100, &queue), 0);
    assert!(link.is_clear());
    orders.clear();
    link.on_timer(&at(101, &queue), &mut orders);
    assert_eq!(orders.wake, None);
    // Who is unknown is offered no more than there is.
    let mut header = Header::Erica(Rm { number: 9, rate: 0.0, offer: UNLIMITED, is_last: false });
    link.on_return(&at(101, &queue), visitor(7, 0), &mut header, &mut orders);
    assert!(link.is_clear() && header == Header::Erica(Rm { number: 9, rate: 0.0, offer: 10e6, is_last: false }));
}

/// Calls a source at a time in us; gives the number of RM packets that it sends, and the time of its timer in us.
fn call(source: &mut Source, us: u64, ask: impl FnOnce(&mut Source, Time, &mut Orders)) -> (usize, Option<u64>) {
    let mut orders = Orders::default();
    ask(source, Time(us * MICROSECOND), &mut orders);
    (orders.packets.len(), orders.wake.map(|time| time.0 / MICROSECOND))
}

#[test]
fn one_of_32_cells_is_an_rm_cell_and_one_goes_every_100_ms() {
    let mut source = Source::new(&Parameters::default());
    let reply = |number, offer| Header::Erica(Rm { number, rate: 0.0, offer, is_last: false });
    assert_eq!(call(&mut source, 0, Source::join), (1, Some(100_000)));
    // 31 cells of 53 bytes are 13,144 bits: at 13.144 Mbit/s they take 1 ms.
    let answer = reply(1, 13.144e6);
    assert_eq!(call(&mut source, 20_000, |s, now, orders| s.on_reply(now, 0, &answer, orders)), (0, Some(21_000)));
    assert_eq!(call(&mut source, 21_000, Source::on_timer), (1, Some(22_000)));
    // Half of the bits are counted when the rate falls to a tenth: the others take 5 ms.
    let answer = reply(2, 1.3144e6);
    assert_eq!(call(&mut source, 21_500, |s, now, orders| s.on_reply(now, 0, &answer, orders)), (0, None));
    assert_eq!(call(&mut source, 22_000, Source::on_timer), (0, Some(26_500)));
    assert_eq!(call(&mut source, 26_500, Source::on_timer), (1, Some(36_500)));
    // At a rate of 0 the next goes 100 ms after the last. A timer that was overtaken changes nothing.
    let answer = reply(3, 0.0);
    assert_eq!(call(&mut source, 26_500, |s, now, orders| s.on_reply(now, 0, &answer, orders)), (0, None));
    assert_eq!(call(&mut source, 36_500, Source::on_timer), (0, Some(126_500)));
    assert_eq!(call(&mut source, 100_000, Source::on_timer), (0, None));
    // No rate makes it send more than one in 10 us.
    let answer = reply(4, UNLIMITED);
    assert_eq!(call(&mut source, 126_500, Source::on_timer).0, 1);
    assert_eq!(call(&mut source, 126_500, |s, now, orders| s.on_reply(now, 0, &answer, orders)).1, Some(126_510));
}

#[test]
fn queue_control_shares_more_if_nothing_waits_and_less_if_too_much_does() {
    // 5 ms of 10 Mbit/s are 6,250 bytes; ten times that: 1.15 / (0.15 * 10 + 1) = 0.46, and half at the least.
    for (backlog, part) in [(0.0, 1.05), (6250.0, 1.0), (12_500.0, 1.15 / 1.3), (62_500.0, 0.5)] {
        assert!((part_for_queue(backlog, 6250.0) - part).abs() < 1e-9);
    }
    assert!((part_for_queue(0.0, 0.0) - 1.0).abs() < 1e-9);
    let mut link = Link::new(&Parameters { queue_control: true, ..Parameters::default() });
    is(send(&mut link, &at(0, &Fixed { arrived: 0, backlog: 0 }), 0, 0.0), 10.5e6);
}

#[test]
fn a_link_without_capacity_or_load_offers_numbers() {
    for (capacity, arrived) in [(0.0, 0), (0.0, 1000), (10e6, 0)] {
        let mut link = Link::new(&Parameters { queue_control: true, ..Parameters::default() });
        let queue = Fixed { arrived: 0, backlog: 0 };
        let offered = send(&mut link, &LinkView { queue: &queue, ..view(capacity) }, 0, 1e6);
        let later = Fixed { arrived, backlog: arrived };
        let end = LinkView { now: Time(INTERVAL), queue: &later, ..view(capacity) };
        link.on_timer(&end, &mut LinkOrders::default());
        for rate in [offered, send(&mut link, &end, 0, 0.0), send(&mut link, &end, 1, 1e15)] {
            assert!((0.0..=1.05 * capacity).contains(&rate), "{rate}");
        }
    }
}
