//! Connections: how they come and go, and how the orders of their controls are carried out.

use anabranch_core::{ConnectionId, Rate, Time};
use anabranch_plan::{Plan, Transfer};
use anabranch_proto::endpoint::Pace;
use anabranch_proto::protocols::Control;
use anabranch_proto::{ConnectionView, Header, SourceControl};

use crate::record::Grant;
use crate::routes::Routes;
use crate::world::{Kind, World};

/// A time that is not set.
pub(crate) const UNSET: u64 = u64::MAX;

/// No packet.
pub(crate) const NONE: u32 = u32::MAX;

/// How far a connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// It has not begun.
    Waiting,
    /// It sends.
    Active,
    /// It has nothing more to send, and its protocol takes leave.
    Leaving,
    /// It is over.
    Gone,
}

/// The source of a connection.
pub(crate) struct Connection {
    /// While it is there.
    control: Option<Box<dyn SourceControl>>,
    pub state: State,
    /// Bytes still to send; if it does not send a given amount, the most that a count can hold.
    pub left: u64,
    /// The most that it can use, in bit/s; infinite for all it can get.
    pub demand: f64,
    /// Bytes of a full packet.
    pub packet: u64,
    /// When the last byte was sent or it was told to stop, and when its protocol left.
    pub stopped_at: u64,
    pub left_at: u64,
}

/// The part of a connection on one path; two cache lines. Of a subflow from one shard to another each keeps its part.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(crate) struct Subflow {
    // Its source needs these.
    pub connection: u32,
    /// The place of its first link in `Routes::steps`.
    pub first: u32,
    /// The first control packet that is held back.
    pub held: u32,
    /// When its next packet is due at the earliest.
    pub armed: u64,
    pub pace: Pace,
    /// Bytes.
    pub sent: u64,
    // Its sink needs these.
    pub delivered: u64,
    pub lost: u64,
    /// Packets delivered, and the sum and the greatest of their delays in picoseconds.
    pub packets: u64,
    pub delay_sum: f64,
    pub delay_most: u64,
    pub repeated: u64,
    /// When the last byte was delivered or lost.
    pub settled_at: u64,
    /// When its source sent its last control packet.
    pub control_sent: u64,
}

const _: () = assert!(std::mem::offset_of!(Subflow, delivered) == 64, "a line for the source, a line for the sink");
const _: () = assert!(std::mem::size_of::<Subflow>() == 128, "and no third");

impl Connection {
    /// All connections of a plan.
    pub fn all(plan: &Plan) -> Vec<Self> {
        let new = |(transfer, connection): (&Transfer, &anabranch_core::Connection)| Self {
            control: None,
            state: State::Waiting,
            demand: connection.demand.map_or(f64::INFINITY, |d| d.0),
            left: transfer.amount.map_or(u64::MAX, |a| a.0),
            packet: transfer.packet.0,
            stopped_at: UNSET,
            left_at: UNSET,
        };
        plan.transfers.iter().zip(plan.demands.connections()).map(new).collect()
    }

    /// Whether it takes part in the sharing.
    pub fn is_present(&self) -> bool {
        self.state == State::Active
    }
}

impl Subflow {
    /// All subflows of a plan.
    pub fn all(plan: &Plan, routes: &Routes) -> Vec<Self> {
        let of = |c: usize| plan.paths.of(ConnectionId::new(c)).map(move |_| c as u32);
        let new = |(s, connection): (usize, u32)| Self {
            connection,
            first: routes.first[s],
            held: NONE,
            pace: Pace::default(),
            armed: UNSET,
            sent: 0,
            delivered: 0,
            lost: 0,
            repeated: 0,
            packets: 0,
            delay_sum: 0.0,
            delay_most: 0,
            settled_at: 0,
            control_sent: UNSET,
        };
        (0..plan.transfers.len()).flat_map(of).enumerate().map(new).collect()
    }
}

impl Subflow {
    /// Reads what every packet that arrives needs; to fetch it early.
    #[inline]
    pub fn prefetch(&self) -> u64 {
        self.delivered
    }
}

impl World<'_> {
    /// The subflows of a connection.
    pub(crate) fn subflows_of(&self, c: u32) -> std::ops::Range<usize> {
        self.routes.subflows[c as usize] as usize..self.routes.subflows[c as usize + 1] as usize
    }

    /// A connection begins.
    pub(crate) fn on_join(&mut self, c: u32) {
        let view = ConnectionView {
            subflows: self.subflows_of(c).len(),
            claim: self.plan.demands.connections()[c as usize].claim(),
            demand: Rate(self.connections[c as usize].demand),
            packet: self.plan.transfers[c as usize].packet,
            first_window: self.plan.run.transport.first_window,
        };
        let protocol = &self.plan.protocols[self.plan.transfers[c as usize].protocol];
        let connection = &mut self.connections[c as usize];
        connection.state = State::Active;
        self.has_changed = true;
        match protocol.source(&view) {
            Control::Rates(control) => {
                connection.control = Some(control);
                self.call(c, |control, now, orders| control.join(now, orders));
            }
            Control::Windows(control) => self.begin_transport(c, control),
        }
    }

    /// A connection is to end, whatever it has still to send.
    pub(crate) fn on_stop(&mut self, c: u32) {
        self.end_transport(c);
        self.leave(c);
    }

    /// A connection has nothing more to send.
    pub(crate) fn leave(&mut self, c: u32) {
        let connection = &mut self.connections[c as usize];
        if connection.state != State::Active {
            return;
        }
        connection.state = State::Leaving;
        connection.stopped_at = self.now;
        connection.left = 0;
        self.has_changed = true;
        for s in self.subflows_of(c) {
            self.set_rate(s, Rate(0.0));
            self.release(s as u32);
        }
        self.call(c, |control, now, orders| control.leave(now, orders));
    }

    /// A control packet of a connection is back at its source.
    pub(crate) fn on_reply(&mut self, s: u32, header: &Header) {
        let c = self.subflows[s as usize].connection;
        let subflow = s as usize - self.subflows_of(c).start;
        self.call(c, |control, now, orders| control.on_reply(now, subflow, header, orders));
    }

    /// A source control wanted to be woken.
    pub(crate) fn on_wake(&mut self, c: u32) {
        self.call(c, |control, now, orders| control.on_timer(now, orders));
    }

    /// A connection can use more or less.
    pub(crate) fn on_demand(&mut self, number: u32) {
        let change = self.plan.demand_changes[number as usize];
        let (c, demand) = (change.connection.0, change.demand);
        self.connections[c as usize].demand = demand.0;
        if let Some(link) = self.routes.demand_link(c as usize) {
            self.control_links.set_demand(link, demand);
            self.tell_capacity(link, self.plan.transfers[c as usize].protocol as u16);
        }
        self.has_changed = true;
        let total: f64 = self.subflows_of(c).map(|s| self.subflows[s].pace.rate().0).sum();
        if total > demand.0 {
            for s in self.subflows_of(c) {
                let rate = self.subflows[s].pace.rate().0;
                self.set_rate(s, Rate(rate * demand.0 / total));
            }
        }
        self.call(c, |control, now, orders| control.on_demand(now, demand, orders));
        self.on_transport_demand(c, demand);
    }

    /// Calls the control of a connection, if it is there, and carries out its orders.
    fn call(&mut self, c: u32, ask: impl FnOnce(&mut dyn SourceControl, Time, &mut anabranch_proto::Orders)) {
        let Some(control) = &mut self.connections[c as usize].control else { return };
        let mut orders = std::mem::take(&mut self.orders);
        ask(control.as_mut(), Time(self.now), &mut orders);
        let first = self.subflows_of(c).start;
        if self.connections[c as usize].state == State::Active {
            let share = share_of_demand(self.connections[c as usize].demand, &orders.grants);
            for &(subflow, rate) in &orders.grants {
                self.grant(first + subflow, Rate(rate.0 * share));
            }
            for &(subflow, rate) in &orders.notes {
                self.note(first + subflow, rate);
            }
        }
        for order in orders.packets.drain(..) {
            if order.carries_data {
                self.send_with_header((first + order.subflow) as u32, order);
            } else {
                self.launch((first + order.subflow) as u32, order);
            }
        }
        if let Some(time) = orders.wake {
            self.schedule(time.0.max(self.now), Kind::Wake, c);
        }
        if orders.has_left {
            let connection = &mut self.connections[c as usize];
            connection.control = None;
            connection.state = State::Gone;
            connection.left_at = self.now;
        }
        orders.clear();
        self.orders = orders;
        if self.connections[c as usize].left == 0 {
            // The last byte went with a header.
            self.leave(c);
        }
    }

    /// Lets a subflow send at `rate`.
    fn grant(&mut self, s: usize, rate: Rate) {
        self.note(s, rate);
        if self.plan.run.data {
            self.arm(s as u32);
        }
    }

    /// Takes down the rate of a subflow; what is no rate counts as 0, and is counted.
    fn note(&mut self, s: usize, rate: Rate) {
        let is_rate = rate.0.is_finite() && rate.0 >= 0.0;
        self.bad_grants += u64::from(!is_rate);
        self.set_rate(s, if is_rate { rate } else { Rate(0.0) });
    }

    fn set_rate(&mut self, s: usize, rate: Rate) {
        let pace = &mut self.subflows[s].pace;
        if pace.rate() != rate {
            pace.set_rate(rate);
            if self.plan.run.record.grants {
                self.grants.push(Grant { time: Time(self.now), subflow: s as u32, rate });
            }
        }
    }
}

/// What of each grant a connection can use: less than 1 if they are more than its demand, in bit/s, in all.
///
/// Of several grants to a subflow the last counts: it takes the place of those before.
fn share_of_demand(demand: f64, grants: &[(usize, Rate)]) -> f64 {
    if demand.is_infinite() {
        return 1.0;
    }
    let is_replaced = |n: usize| grants[n + 1..].iter().any(|later| later.0 == grants[n].0);
    let total: f64 = (0..grants.len()).filter(|&n| !is_replaced(n)).map(|n| grants[n].1.0).sum();
    // False for a total that is no number.
    if total > demand && total.is_finite() { demand / total } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The share of grants by subflow and rate, with a demand of 10.
    fn share(grants: &[(usize, f64)]) -> f64 {
        let grants: Vec<(usize, Rate)> = grants.iter().map(|&(subflow, rate)| (subflow, Rate(rate))).collect();
        share_of_demand(10.0, &grants)
    }

    #[test]
    fn grants_over_the_demand_are_cut_to_it() {
        // 4 + 6 are all of it, 12 + 8 twice as much.
        assert!((share(&[(0, 4.0), (1, 6.0)]) - 1.0).abs() < 1e-12);
        assert!((share(&[(0, 12.0), (1, 8.0)]) - 0.5).abs() < 1e-12);
        assert!((share_of_demand(f64::INFINITY, &[(0, Rate(1e15))]) - 1.0).abs() < 1e-12);
        assert!([f64::NAN, f64::INFINITY].iter().all(|&rate| (share(&[(0, rate)]) - 1.0).abs() < 1e-12));
    }

    #[test]
    fn of_two_grants_to_a_subflow_the_later_counts() {
        // 8 is replaced by 4: 4 + 6 are no more than 10. 4 is replaced by 14: 14 + 6 are twice as much.
        assert!((share(&[(0, 8.0), (0, 4.0), (1, 6.0)]) - 1.0).abs() < 1e-12);
        assert!((share(&[(0, 4.0), (1, 6.0), (0, 14.0)]) - 0.5).abs() < 1e-12);
    }
}
