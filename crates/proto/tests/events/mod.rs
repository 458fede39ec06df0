//! Random events for tests of controls.

use anabranch_core::{Bytes, Rate, Time};
use anabranch_proto::ConnectionView;
use anabranch_proto::protocols::{Control, Protocol};
use anabranch_proto::window::{Acked, Delivery, Signal, WindowControl};
use proptest::prelude::*;

/// What may happen to a subflow, and how long after what happened before.
#[derive(Clone, Debug)]
pub struct Event {
    subflow: usize,
    pub picoseconds: u64,
    kind: Kind,
}

impl Event {
    /// Tells a control of `count` subflows what happened, at this time.
    pub fn tell(&self, control: &mut dyn WindowControl, count: usize, now: Time) {
        let subflow = self.subflow % count;
        match &self.kind {
            Kind::Open => control.open(subflow, now),
            Kind::Close => control.close(subflow),
            Kind::Ack(acked) => control.on_ack(subflow, &Acked { now, ..*acked }),
            Kind::Signal(signal, in_flight) => control.on_signal(subflow, *signal, *in_flight, now),
            Kind::Idle => control.on_idle(subflow),
        }
    }
}

#[derive(Clone, Debug)]
enum Kind {
    Open,
    Close,
    Ack(Acked),
    Signal(Signal, u32),
    Idle,
}

/// A number between two powers of ten.
fn power(from: f64, to: f64) -> impl Strategy<Value = f64> {
    (from..to).prop_map(|exponent| 10.0_f64.powf(exponent))
}

/// A few or any number.
fn count() -> impl Strategy<Value = u32> {
    prop_oneof![0..20u32, any::<u32>()]
}

fn delivery() -> impl Strategy<Value = Delivery> {
    let numbers = prop_oneof![0..100u64, any::<u64>()];
    (power(-12.0, 18.0), numbers.clone(), numbers, any::<bool>()).prop_map(
        |(rate, before, more, is_limited_by_source)| Delivery {
            rate,
            before,
            delivered: before.saturating_add(more),
            is_limited_by_source,
        },
    )
}

fn acked() -> impl Strategy<Value = Acked> {
    let rtt = || prop::option::of(power(-9.0, 6.0));
    let counts = (count(), count(), (count(), count()));
    let flags = (any::<bool>(), any::<bool>(), any::<bool>());
    (counts, rtt(), rtt(), flags, prop::option::of(delivery())).prop_map(
        |((packets, marked, in_flight), rtt, smoothed, (is_limited, ends_round, is_recovering), delivery)| Acked {
            now: Time(0),
            packets,
            marked,
            rtt,
            smoothed: smoothed.or(rtt).unwrap_or(0.0),
            in_flight,
            is_limited,
            ends_round,
            is_recovering,
            delivery,
        },
    )
}

pub fn event() -> impl Strategy<Value = Event> {
    let signal = prop_oneof![Just(Signal::Loss), Just(Signal::Mark), Just(Signal::Timeout)];
    let kind = prop_oneof![
        1 => Just(Kind::Open),
        1 => Just(Kind::Close),
        12 => acked().prop_map(Kind::Ack),
        3 => (signal, count()).prop_map(|(signal, in_flight)| Kind::Signal(signal, in_flight)),
        1 => Just(Kind::Idle),
    ];
    let time = power(0.0, 18.0).prop_map(|picoseconds| picoseconds as u64);
    (0..3usize, time, kind).prop_map(|(subflow, picoseconds, kind)| Event { subflow, picoseconds, kind })
}

/// The control of a connection under a protocol.
pub fn control(protocol: &Protocol, subflows: usize, first_window: f64) -> Box<dyn WindowControl> {
    let (claim, demand, packet) = (1.0, Rate(f64::INFINITY), Bytes(1500));
    match protocol.source(&ConnectionView { subflows, claim, reserved: Rate(0.0), demand, packet, first_window }) {
        Control::Windows(control) => control,
        Control::Rates(_) => panic!("{} keeps windows", protocol.name()),
    }
}
