//! The interface of protocols: controls of sources and of links, and the orders that they give.
//!
//! A control never sends, waits or reads a clock. Its driver, a simulator or a real endpoint, calls it when something
//! happens, passes the time, and carries out its orders.

use anabranch_core::{Bytes, Rate, Time};

use crate::account::Account;
use crate::packet::Header;

/// Position of a link in the path of a subflow, counted from 0.
pub type Position = u8;

/// The most links that a path may have under protocols whose packets carry a set of positions.
pub const MOST_POSITIONS: usize = 128;

/// A subflow at one position of its path, by which a link tells its subflows apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Visitor {
    /// Number of the subflow among all subflows of the network.
    pub subflow: u32,
    /// Position of the link in the path of the subflow.
    pub position: Position,
}

/// State of a link's data queue that a link control may read.
pub trait QueueView {
    /// Bytes of all packets that ever arrived at the queue, including packets that it dropped for lack of room.
    fn arrived(&self) -> Bytes;

    /// Bytes that wait in the queue now.
    fn backlog(&self) -> Bytes;
}

/// State of a link that its control may read.
#[derive(Clone, Copy)]
pub struct LinkView<'a> {
    /// The present time.
    pub now: Time,
    /// Capacity of the link that the protocol may hand out now; finite.
    pub capacity: Rate,
    /// Bytes that a control packet takes of the link; none at a link that stands for a demand.
    pub control_packet: Bytes,
    /// Data queue of the link.
    pub queue: &'a dyn QueueView,
}

/// What a source control knows of its connection when it is created.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionView {
    /// Number of subflows, 1 or more.
    pub subflows: usize,
    /// Claim relative to other connections: weight times QoS factor.
    pub claim: f64,
    /// Reserved part of the rate, which comes before the share of the rest.
    pub reserved: Rate,
    /// Demand: the most that the connection can use; infinite without a limit. A protocol may ignore it if links
    /// enforce demands: [`crate::protocols::Demands`].
    pub demand: Rate,
    /// Bytes of a full data packet.
    pub packet: Bytes,
    /// Packets in the first window of each subflow.
    pub first_window: f64,
}

/// A control packet, or a data packet with a header, that a source wants sent.
#[derive(Clone, Debug, PartialEq)]
pub struct PacketOrder {
    /// Subflow of the connection on which the packet goes.
    pub subflow: usize,
    /// Header of the packet.
    pub header: Header,
    /// Whether the sink sends the packet back; otherwise the packet ends at the sink.
    pub wants_reply: bool,
    /// Whether it is a data packet.
    pub carries_data: bool,
}

/// Orders of a source control. The driver keeps one value and empties it after each call.
#[derive(Clone, Debug, Default)]
pub struct Orders {
    /// Packets to send, in this order.
    pub packets: Vec<PacketOrder>,
    /// Subflows with the rates at which they may send from now on.
    pub grants: Vec<(usize, Rate)>,
    /// Subflows with the rates that their windows amount to.
    pub notes: Vec<(usize, Rate)>,
    /// Time at which the control wants to be woken.
    pub wake: Option<Time>,
    /// Whether the connection has ended: the control is not called again.
    pub has_left: bool,
}

impl Orders {
    /// Orders a control packet that the sink sends back.
    pub fn probe(&mut self, subflow: usize, header: Header) {
        self.packets.push(PacketOrder { subflow, header, wants_reply: true, carries_data: false });
    }

    /// Orders a control packet that ends at the sink.
    pub fn tell(&mut self, subflow: usize, header: Header) {
        self.packets.push(PacketOrder { subflow, header, wants_reply: false, carries_data: false });
    }

    /// Orders a data packet with a header, to be sent now.
    ///
    /// It has the size of the connection's packets, or of the remaining amount if that is less. Controls that keep a
    /// window instead of granting rates use it. The packet goes with the data and is shown to links as control packets
    /// are. Its header comes back as the acknowledgement, in [`SourceControl::on_reply`]. A lost packet is not sent
    /// again. Nothing is sent if no data are left.
    pub fn send(&mut self, subflow: usize, header: Header) {
        self.packets.push(PacketOrder { subflow, header, wants_reply: true, carries_data: true });
    }

    /// Lets a subflow send at `rate`.
    pub fn grant(&mut self, subflow: usize, rate: Rate) {
        self.grants.push((subflow, rate));
    }

    /// Records the rate that the window of a subflow amounts to. Records show it as a grant; nothing is sent.
    pub fn note(&mut self, subflow: usize, rate: Rate) {
        self.notes.push((subflow, rate));
    }

    /// Asks for one more call of [`SourceControl::on_timer`] at `time`, besides the calls that are already due.
    pub fn wake(&mut self, time: Time) {
        self.wake = Some(time);
    }

    /// Removes all orders and keeps the allocated memory.
    pub fn clear(&mut self) {
        self.packets.clear();
        self.grants.clear();
        self.notes.clear();
        self.wake = None;
        self.has_left = false;
    }
}

/// Orders of a link control. The driver keeps one value and empties it after each call.
#[derive(Clone, Debug, Default)]
pub struct LinkOrders {
    /// Control packets to send towards the sources of these visitors, in this order.
    pub upstream: Vec<(Visitor, Header)>,
    /// Time at which the control wants to be woken.
    pub wake: Option<Time>,
    /// Whether the link drops the packet that the control was shown.
    pub drops: bool,
}

impl LinkOrders {
    /// Orders a control packet to the source of a subflow; on its way it is shown to the links before this one.
    pub fn send_upstream(&mut self, to: Visitor, header: Header) {
        self.upstream.push((to, header));
    }

    /// Asks for one more call of [`LinkControl::on_timer`] at `time`, besides the calls that are already due.
    pub fn wake(&mut self, time: Time) {
        self.wake = Some(time);
    }

    /// Drops the packet that the control was shown.
    pub fn drop_packet(&mut self) {
        self.drops = true;
    }

    /// Removes all orders and keeps the allocated memory.
    pub fn clear(&mut self) {
        self.upstream.clear();
        self.wake = None;
        self.drops = false;
    }
}

/// The deciding part of a source: one for each connection, for all of its subflows.
pub trait SourceControl: Send {
    /// Called when the connection begins.
    fn join(&mut self, now: Time, orders: &mut Orders);

    /// Called when a control packet of `subflow`, or the acknowledgement of a data packet with a header, came back.
    fn on_reply(&mut self, now: Time, subflow: usize, header: &Header, orders: &mut Orders);

    /// Called at the time for which [`Orders::wake`] asked.
    fn on_timer(&mut self, now: Time, orders: &mut Orders) {
        let _ = (now, orders);
    }

    /// Gives the header of a data packet that the driver sends now at the granted rate; `None` sends it without one.
    /// Only controls of protocols with [`crate::protocols::Sources::HeadedRates`] receive this call. The header comes
    /// back as the acknowledgement, in [`SourceControl::on_reply`].
    fn data_header(&mut self, now: Time, subflow: usize, size: Bytes) -> Option<Header> {
        let _ = (now, subflow, size);
        None
    }

    /// Called when the demand of the connection changes.
    fn on_demand(&mut self, now: Time, demand: Rate, orders: &mut Orders) {
        let _ = (now, demand, orders);
    }

    /// Called when the connection has nothing more to send. The order `has_left` may follow up to a round trip later.
    fn leave(&mut self, now: Time, orders: &mut Orders);
}

/// The deciding part of a link, for the packets of one protocol.
///
/// Links of infinite capacity have no control.
pub trait LinkControl: Send {
    /// Called before a control packet, or a data packet with a header, enters the link on its way to the sink.
    fn on_arrival(&mut self, link: &LinkView, visitor: Visitor, header: &mut Header, orders: &mut LinkOrders);

    /// Called when a packet that [`LinkControl::on_arrival`] was shown leaves the queue: its transmission begins. Only
    /// protocols with [`crate::protocols::Capabilities::stamps_departures`] receive this call. `link` has the state at
    /// that time. A packet that need not wait leaves at the time of its arrival.
    fn on_departure(&mut self, link: &LinkView, visitor: Visitor, header: &mut Header) {
        let _ = (link, visitor, header);
    }

    /// Called when a data packet without a header arrives at the link. Only protocols with
    /// [`crate::protocols::Capabilities::sees_data`] receive this call.
    fn on_data(&mut self, visitor: Visitor) {
        let _ = visitor;
    }

    /// Called when a control packet on its way back has crossed the link's twin.
    fn on_return(&mut self, link: &LinkView, visitor: Visitor, header: &mut Header, orders: &mut LinkOrders);

    /// Called at the time for which [`LinkOrders::wake`] asked.
    fn on_timer(&mut self, link: &LinkView, orders: &mut LinkOrders) {
        let _ = (link, orders);
    }

    /// Called when the capacity of the link changes; `link` has the new capacity. Only protocols with
    /// [`crate::protocols::Capabilities::hears_capacities`] receive this call.
    fn on_capacity(&mut self, link: &LinkView, orders: &mut LinkOrders) {
        let _ = (link, orders);
    }

    /// Whether the control holds no state of any connection, as before the first joins and after the last has left.
    fn is_clear(&self) -> bool;

    /// The sums of the link; `None` under a protocol that keeps more than these, or other ones.
    fn account(&self) -> Option<Account> {
        None
    }

    /// Replaces the sums of the link. Only protocols with an [`LinkControl::account`] receive this call.
    fn set_account(&mut self, account: Account) {
        let _ = account;
    }
}

/// The controls of all links of a network for one protocol, side by side.
pub trait LinkControls: Send {
    /// The control of a link.
    fn of(&mut self, link: usize) -> &mut dyn LinkControl;

    /// Whether the control of a link holds no state of any connection, as [`LinkControl::is_clear`] says.
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
