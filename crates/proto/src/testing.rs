//! What tests of controls need: a link that nothing else uses, and connections alone in the world.

use anabranch_core::{Bytes, Rate, Time};

use crate::control::{ConnectionView, LinkView, Orders, Position, QueueView, SourceControl, Visitor};
use crate::protocols::Header;

/// A queue with so much behind it and so much in it.
pub struct Fixed {
    pub arrived: u64,
    pub backlog: u64,
}

impl QueueView for Fixed {
    fn arrived(&self) -> Bytes {
        Bytes(self.arrived)
    }

    fn backlog(&self) -> Bytes {
        Bytes(self.backlog)
    }
}

/// A link of a capacity in bit/s with nothing in its queue, at time 0; control packets have 64 bytes.
pub fn view(capacity: f64) -> LinkView<'static> {
    LinkView {
        now: Time(0),
        capacity: Rate(capacity),
        control_packet: Bytes(64),
        queue: &Fixed { arrived: 0, backlog: 0 },
    }
}

/// A subflow at a link.
pub fn visitor(subflow: u32, position: Position) -> Visitor {
    Visitor { subflow, position }
}

/// A connection with one subflow that takes all it can get.
pub fn alone() -> ConnectionView {
    let (demand, reserved) = (Rate(f64::INFINITY), Rate(0.0));
    ConnectionView { subflows: 1, claim: 1.0, reserved, demand, packet: Bytes(1000), first_window: 10.0 }
}

/// Checks that a source that gets a reply twice is granted `rate` once and asks again once, and that it leaves with a last
/// packet that wants no reply.
pub fn is_granted_once(mut source: Box<dyn SourceControl>, reply: &Header, rate: f64) {
    let orders = &mut Orders::default();
    for _ in 0..2 {
        source.on_reply(Time(0), 0, reply, orders);
    }
    assert_eq!((&orders.grants[..], orders.packets.len()), (&[(0, Rate(rate))][..], 1));
    source.leave(Time(0), orders);
    let packet = orders.packets.remove(0).header;
    source.on_reply(Time(0), 0, &packet, orders);
    assert!(orders.has_left && !orders.packets[0].wants_reply && orders.grants.len() == 1);
}
