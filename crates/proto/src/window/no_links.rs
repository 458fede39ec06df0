//! Link controls of protocols whose links have none.

use crate::control::{LinkControl, LinkControls, LinkOrders, LinkView, Visitor};
use crate::packet::Header;

/// A link control that decides nothing.
#[derive(Clone, Copy)]
struct NoControl;

impl LinkControl for NoControl {
    fn on_arrival(&mut self, _: &LinkView, _: Visitor, _: &mut Header, _: &mut LinkOrders) {}

    fn on_return(&mut self, _: &LinkView, _: Visitor, _: &mut Header, _: &mut LinkOrders) {}

    fn is_clear(&self) -> bool {
        true
    }
}

/// Creates link controls for `count` links, which take no memory.
pub fn links<P>(_: &P, count: usize) -> Box<dyn LinkControls> {
    Box::new(vec![NoControl; count])
}
