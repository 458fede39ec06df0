//! What protocols decide: the controls of sources and of links, and the orders they give.
//!
//! A control never sends, waits or reads a clock. Whoever drives it (a simulator, a real endpoint) calls it when something
//! happens, tells it the time, and carries out its orders.

use anabranch_core::{Rate, Time};

use crate::packet::Header;

/// Where a link stands in the path of a subflow, from 0.
pub type Position = u8;

/// The most links that a path may have under protocols whose packets carry a set of positions.
pub const MOST_POSITIONS: usize = 128;

/// What a link control may know of its link.
#[derive(Clone, Copy, Debug)]
pub struct LinkView {
    /// The present.
    pub now: Time,
    /// What the link can carry now; finite.
    pub capacity: Rate,
}

/// What a source may know of its connection when it is made.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionView {
    /// Number of subflows, 1 or more.
    pub subflows: usize,
    /// Its claim relative to other connections: weight times QoS factor.
    pub claim: f64,
}

/// A control packet that a source wants sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Order {
    /// On which subflow of the connection.
    pub subflow: usize,
    /// What the packet says.
    pub header: Header,
    /// Whether the sink is to send it back; otherwise it ends there.
    pub wants_reply: bool,
}

/// What a source control wants done; the driver keeps one and empties it after each call.
#[derive(Clone, Debug, Default)]
pub struct Orders {
    /// Control packets to send, in this order.
    pub packets: Vec<Order>,
    /// Rates that subflows may send at from now on.
    pub grants: Vec<(usize, Rate)>,
    /// Whether the connection has taken its leave: the control will not be called again.
    pub has_left: bool,
}

impl Orders {
    /// Orders a control packet that comes back.
    pub fn probe(&mut self, subflow: usize, header: Header) {
        self.packets.push(Order { subflow, header, wants_reply: true });
    }

    /// Orders a control packet that ends at the sink.
    pub fn tell(&mut self, subflow: usize, header: Header) {
        self.packets.push(Order { subflow, header, wants_reply: false });
    }

    /// Lets a subflow send at `rate`.
    pub fn grant(&mut self, subflow: usize, rate: Rate) {
        self.grants.push((subflow, rate));
    }

    /// Forgets all orders and keeps the memory.
    pub fn clear(&mut self) {
        self.packets.clear();
        self.grants.clear();
        self.has_left = false;
    }
}

/// The deciding part of a source: one for each connection, over all of its subflows.
pub trait SourceControl: Send {
    /// The connection begins.
    fn join(&mut self, now: Time, orders: &mut Orders);

    /// A control packet of `subflow` came back.
    fn on_reply(&mut self, now: Time, subflow: usize, header: &Header, orders: &mut Orders);

    /// The connection has nothing more to send. It may take a round trip until it orders `has_left`.
    fn leave(&mut self, now: Time, orders: &mut Orders);
}

/// The deciding part of a link, for the packets of one protocol.
///
/// Links without a limit have no control: there is nothing to decide.
pub trait LinkControl: Send {
    /// A control packet is about to enter the link on its way to the sink.
    fn on_arrival(&mut self, link: &LinkView, position: Position, header: &mut Header);

    /// A control packet on its way back has crossed the link's twin.
    fn on_return(&mut self, link: &LinkView, position: Position, header: &mut Header);

    /// Whether it holds nothing of any connection: so before the first joins and after the last has left.
    fn is_clear(&self) -> bool;
}

/// The controls of all links of a network for one protocol, side by side.
pub trait LinkControls: Send {
    /// The control of a link.
    fn of(&mut self, link: usize) -> &mut dyn LinkControl;

    /// Whether the control of a link is clear, see [`LinkControl::is_clear`].
    fn is_clear(&self, link: usize) -> bool;
}

impl<L: LinkControl> LinkControls for Vec<L> {
    fn of(&mut self, link: usize) -> &mut dyn LinkControl {
        &mut self[link]
    }

    fn is_clear(&self, link: usize) -> bool {
        self[link].is_clear()
    }
}
