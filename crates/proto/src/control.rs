//! What protocols decide: the controls of sources and of links, and the orders they give.
//!
//! A control never sends, waits or reads a clock. Whoever drives it (a simulator, a real endpoint) calls it when something
//! happens, tells it the time, and carries out its orders.

use anabranch_core::{Bytes, Rate, Time};

use crate::packet::Header;

/// Where a link stands in the path of a subflow, from 0.
pub type Position = u8;

/// The most links that a path may have under protocols whose packets carry a set of positions.
pub const MOST_POSITIONS: usize = 128;

/// A subflow where its path takes a link: by this a link that knows its subflows tells them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Visitor {
    /// Its number among all subflows of the network.
    pub subflow: u32,
    /// Where the link stands in its path.
    pub position: Position,
}

/// What a link control may look up of the data queue of its link.
pub trait QueueView {
    /// All that ever came to it, of packets of any kind, also those for which it had no room.
    fn arrived(&self) -> Bytes;

    /// What waits now.
    fn backlog(&self) -> Bytes;
}

/// What a link control may know of its link.
#[derive(Clone, Copy)]
pub struct LinkView<'a> {
    /// The present.
    pub now: Time,
    /// What the link can carry now; finite.
    pub capacity: Rate,
    /// Its data queue.
    pub queue: &'a dyn QueueView,
}

/// What a source may know of its connection when it is made.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionView {
    /// Number of subflows, 1 or more.
    pub subflows: usize,
    /// Its claim relative to other connections: weight times QoS factor.
    pub claim: f64,
    /// The most that it can use; infinite for all it can get. Protocols that do not look after it themselves need not:
    /// see [`crate::protocols::Demands`].
    pub demand: Rate,
    /// Bytes of a full data packet.
    pub packet: Bytes,
    /// Packets in the first window of each subflow.
    pub first_window: f64,
}

/// A control packet, or a data packet with a header, that a source wants sent.
#[derive(Clone, Debug, PartialEq)]
pub struct PacketOrder {
    /// On which subflow of the connection.
    pub subflow: usize,
    /// What the packet says.
    pub header: Header,
    /// Whether the sink is to send it back; otherwise it ends there.
    pub wants_reply: bool,
    /// Whether it is a data packet.
    pub carries_data: bool,
}

/// What a source control wants done; the driver keeps one and empties it after each call.
#[derive(Clone, Debug, Default)]
pub struct Orders {
    /// Packets to send, in this order.
    pub packets: Vec<PacketOrder>,
    /// Rates that subflows may send at from now on.
    pub grants: Vec<(usize, Rate)>,
    /// Rates that the windows of subflows come to.
    pub notes: Vec<(usize, Rate)>,
    /// When the control wants to be woken.
    pub wake: Option<Time>,
    /// Whether the connection has taken its leave: the control will not be called again.
    pub has_left: bool,
}

impl Orders {
    /// Orders a control packet that comes back.
    pub fn probe(&mut self, subflow: usize, header: Header) {
        self.packets.push(PacketOrder { subflow, header, wants_reply: true, carries_data: false });
    }

    /// Orders a control packet that ends at the sink.
    pub fn tell(&mut self, subflow: usize, header: Header) {
        self.packets.push(PacketOrder { subflow, header, wants_reply: false, carries_data: false });
    }

    /// Sends a data packet with a header now, as large as the connection's packets or what is left of its amount.
    ///
    /// For controls that keep a window instead of granting rates. The packet goes with the data and is shown to links as
    /// control packets are; its header comes back as the acknowledgement, in [`SourceControl::on_reply`]. What is lost is
    /// not sent again. Nothing is sent if nothing is left.
    pub fn send(&mut self, subflow: usize, header: Header) {
        self.packets.push(PacketOrder { subflow, header, wants_reply: true, carries_data: true });
    }

    /// Lets a subflow send at `rate`.
    pub fn grant(&mut self, subflow: usize, rate: Rate) {
        self.grants.push((subflow, rate));
    }

    /// Notes the rate that the window of a subflow comes to, for the record: it stands for a grant, and sends nothing.
    pub fn note(&mut self, subflow: usize, rate: Rate) {
        self.notes.push((subflow, rate));
    }

    /// Asks for one [`SourceControl::on_timer`] at `time`, besides those that were asked for before.
    pub fn wake(&mut self, time: Time) {
        self.wake = Some(time);
    }

    /// Forgets all orders and keeps the memory.
    pub fn clear(&mut self) {
        self.packets.clear();
        self.grants.clear();
        self.notes.clear();
        self.wake = None;
        self.has_left = false;
    }
}

/// What a link control wants done; the driver keeps one and empties it after each call.
#[derive(Clone, Debug, Default)]
pub struct LinkOrders {
    /// Control packets to send towards the sources of these visitors, in this order.
    pub upstream: Vec<(Visitor, Header)>,
    /// When the control wants to be woken.
    pub wake: Option<Time>,
    /// Whether the packet that it was shown ends here.
    pub drops: bool,
}

impl LinkOrders {
    /// Sends a control packet to the source of a subflow; on its way it is shown to the links before this one.
    pub fn send_upstream(&mut self, to: Visitor, header: Header) {
        self.upstream.push((to, header));
    }

    /// Asks for one [`LinkControl::on_timer`] at `time`, besides those that were asked for before.
    pub fn wake(&mut self, time: Time) {
        self.wake = Some(time);
    }

    /// Lets the packet at hand go no further.
    pub fn drop_packet(&mut self) {
        self.drops = true;
    }

    /// Forgets all orders and keeps the memory.
    pub fn clear(&mut self) {
        self.upstream.clear();
        self.wake = None;
        self.drops = false;
    }
}

/// The deciding part of a source: one for each connection, over all of its subflows.
pub trait SourceControl: Send {
    /// The connection begins.
    fn join(&mut self, now: Time, orders: &mut Orders);

    /// A control packet of `subflow` came back, or the acknowledgement of a data packet with a header.
    fn on_reply(&mut self, now: Time, subflow: usize, header: &Header, orders: &mut Orders);

    /// It is the time for which [`Orders::wake`] asked.
    fn on_timer(&mut self, now: Time, orders: &mut Orders) {
        let _ = (now, orders);
    }

    /// The connection can use more or less than before.
    fn on_demand(&mut self, now: Time, demand: Rate, orders: &mut Orders) {
        let _ = (now, demand, orders);
    }

    /// The connection has nothing more to send. It may take a round trip until it orders `has_left`.
    fn leave(&mut self, now: Time, orders: &mut Orders);
}

/// The deciding part of a link, for the packets of one protocol.
///
/// Links without a limit have no control: there is nothing to decide.
pub trait LinkControl: Send {
    /// A control packet, or a data packet with a header, is about to enter the link on its way to the sink.
    fn on_arrival(&mut self, link: &LinkView, visitor: Visitor, header: &mut Header, orders: &mut LinkOrders);

    /// A control packet on its way back has crossed the link's twin.
    fn on_return(&mut self, link: &LinkView, visitor: Visitor, header: &mut Header, orders: &mut LinkOrders);

    /// It is the time for which [`LinkOrders::wake`] asked.
    fn on_timer(&mut self, link: &LinkView, orders: &mut LinkOrders) {
        let _ = (link, orders);
    }

    /// The capacity of the link has changed; `link` has the new one. Only called for protocols whose capabilities ask for it:
    /// [`crate::protocols::Capabilities::hears_capacities`].
    fn on_capacity(&mut self, link: &LinkView, orders: &mut LinkOrders) {
        let _ = (link, orders);
    }

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
