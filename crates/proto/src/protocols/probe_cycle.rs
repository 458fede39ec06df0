//! A source with one probe in flight at a time: each reply grants a rate and becomes the next probe.
//!
//! Replies to earlier probes are ignored. When the connection leaves, the next probe is the last, and it does not come
//! back.

use std::marker::PhantomData;

use anabranch_core::{Rate, Time};

use crate::control::{Orders, SourceControl};
use crate::packet::Header;

/// A probe of such a protocol.
pub(super) trait CycleProbe: Sized {
    /// The probe in a header, if the header has one.
    fn of(header: &Header) -> Option<&Self>;

    /// The header of the probe.
    fn header(self) -> Header;

    /// The first probe of a source, in cycle 0.
    fn first() -> Self;

    /// Cycle of the probe.
    fn cycle(&self) -> u32;

    /// Rate that links have granted, in a reply.
    fn granted(&self) -> Rate;

    /// The probe of cycle `cycle` that follows this reply.
    fn next(&self, cycle: u32, is_last: bool) -> Self;
}

/// The source of a protocol whose probes circulate.
#[derive(Debug)]
pub(super) struct CycleSource<P> {
    /// Cycle of the reply that is due.
    cycle: u32,
    is_leaving: bool,
    probe: PhantomData<fn() -> P>,
}

impl<P> CycleSource<P> {
    /// Creates a source that has sent nothing.
    pub fn new() -> Self {
        Self { cycle: 0, is_leaving: false, probe: PhantomData }
    }
}

impl<P: CycleProbe> SourceControl for CycleSource<P> {
    fn join(&mut self, _: Time, orders: &mut Orders) {
        orders.probe(0, P::first().header());
    }

    fn on_reply(&mut self, _: Time, _: usize, header: &Header, orders: &mut Orders) {
        let Some(reply) = P::of(header).filter(|reply| reply.cycle() == self.cycle) else { return };
        self.cycle = self.cycle.wrapping_add(1);
        let next = reply.next(self.cycle, self.is_leaving).header();
        if self.is_leaving {
            orders.tell(0, next);
            orders.has_left = true;
        } else {
            orders.grant(0, reply.granted());
            orders.probe(0, next);
        }
    }

    fn leave(&mut self, _: Time, _: &mut Orders) {
        self.is_leaving = true;
    }
}
