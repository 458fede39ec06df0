//! Connections: how they join and leave, and how the orders of their source controls are carried out.

use anabranch_core::{Bytes, Rate, Time};
use anabranch_plan::{Plan, Transfer};
use anabranch_proto::protocols::{Control, Sources};
use anabranch_proto::{ConnectionView, Header, Orders, SourceControl};

use super::World;
use super::clock::Kind;
use crate::record::Grant;

/// The value of a time that is not set.
pub(crate) const UNSET: u64 = u64::MAX;

/// The progress of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// It has not begun.
    Waiting,
    /// It sends.
    Active,
    /// It has nothing more to send, and its protocol still announces the end to the links.
    Leaving,
    /// It is over.
    Gone,
}

/// The source of a connection.
pub(crate) struct Connection {
    /// The source control of an explicit-rate protocol, from the start of the connection until the control is done.
    control: Option<Box<dyn SourceControl>>,
    state: State,
    /// Whether its control gives a header to each data packet that is sent at the granted rate.
    has_headers: bool,
    /// Bytes still to send; the largest number if the connection sends without end.
    left: u64,
    /// The demand in bit/s; infinite if there is none.
    demand: f64,
    /// Bytes of a full packet.
    packet: u64,
    /// The time in picoseconds at which it sent its last byte or was stopped; `UNSET` before.
    stopped_at: u64,
    /// The time in picoseconds at which its protocol was done with it; `UNSET` before.
    left_at: u64,
}

impl Connection {
    fn new(plan: &Plan, (transfer, connection): (&Transfer, &anabranch_core::Connection)) -> Self {
        let sources = plan.protocols[transfer.protocol].capabilities().sources;
        Self {
            has_headers: sources == Sources::HeadedRates,
            control: None,
            state: State::Waiting,
            demand: connection.demand.map_or(f64::INFINITY, |d| d.0),
            left: transfer.amount.map_or(u64::MAX, |a| a.0),
            packet: transfer.packet.0,
            stopped_at: UNSET,
            left_at: UNSET,
        }
    }

    /// Whether it takes part in the sharing.
    #[inline]
    pub fn is_present(&self) -> bool {
        self.state == State::Active
    }

    /// The demand in bit/s; infinite if there is none.
    pub fn demand(&self) -> f64 {
        self.demand
    }

    /// The time in picoseconds at which it sent its last byte or was stopped; `UNSET` before.
    pub fn stopped_at(&self) -> u64 {
        self.stopped_at
    }

    /// The time in picoseconds at which its protocol was done with it; `UNSET` before.
    pub fn left_at(&self) -> u64 {
        self.left_at
    }

    /// Whether it has data to send.
    #[inline]
    pub(super) fn has_data(&self) -> bool {
        self.state == State::Active && self.left != 0
    }

    /// Whether its control gives a header to each data packet that is sent at the granted rate.
    #[inline]
    pub(super) fn has_headers(&self) -> bool {
        self.has_headers
    }

    /// Whether its last byte is sent.
    #[inline]
    pub(super) fn is_sent(&self) -> bool {
        self.left == 0
    }

    /// Takes the bytes of its next packet from what it has to send.
    #[inline]
    pub(super) fn take_packet(&mut self) -> u64 {
        let bytes = self.packet.min(self.left);
        self.left -= bytes;
        bytes
    }

    /// Takes note at `now` that the last byte is sent or that it is stopped, unless that happened before.
    #[inline]
    pub(super) fn stop_sending(&mut self, now: u64) {
        self.stopped_at = self.stopped_at.min(now);
    }

    /// Reads what a paced subflow needs to send its next packet.
    #[inline]
    pub(super) fn prefetch(&self) -> u64 {
        self.left
    }
}

/// All connections, and what their source controls grant.
pub(crate) struct Connections {
    all: Vec<Connection>,
    /// The orders of the source control that is called, kept so that they are not allocated anew for each call.
    orders: Orders,
    /// Changes of granted rates; empty unless they are recorded.
    grants: Vec<Grant>,
    /// Grants that were no rate.
    bad_grants: u64,
    /// Whether the fair rates may have changed since this was last asked.
    has_changed: bool,
}

impl Connections {
    /// Creates all connections of a plan; none has begun.
    pub fn new(plan: &Plan) -> Self {
        Self {
            all: plan.transfers.iter().zip(plan.demands.connections()).map(|own| Connection::new(plan, own)).collect(),
            orders: Orders::default(),
            grants: Vec::new(),
            bad_grants: 0,
            has_changed: false,
        }
    }

    /// Changes of granted rates in the order of time; empty unless they are recorded.
    pub fn grants(&self) -> &[Grant] {
        &self.grants
    }

    /// Grants that were no rate.
    pub fn bad_grants(&self) -> u64 {
        self.bad_grants
    }

    /// Says whether fair rates may have changed since this was last asked: connections have joined or left, demands
    /// have changed, or paths have opened or closed.
    pub fn take_change(&mut self) -> bool {
        std::mem::take(&mut self.has_changed)
    }

    /// Takes note that fair rates may have changed.
    pub(super) fn note_change(&mut self) {
        self.has_changed = true;
    }

    /// Ends a connection at `now`, under a protocol that does not tell links of the end.
    pub(super) fn finish(&mut self, c: u32, now: u64) {
        let connection = &mut self[c];
        connection.state = State::Gone;
        connection.left = 0;
        connection.left_at = now;
        self.has_changed = true;
    }

    /// Makes a connection present without its `Join` event, for tests.
    #[cfg(test)]
    pub(super) fn begin_by_hand(&mut self, c: u32) {
        self[c].state = State::Active;
    }
}

impl std::ops::Index<u32> for Connections {
    type Output = Connection;

    #[inline]
    fn index(&self, c: u32) -> &Connection {
        &self.all[c as usize]
    }
}

impl std::ops::IndexMut<u32> for Connections {
    #[inline]
    fn index_mut(&mut self, c: u32) -> &mut Connection {
        &mut self.all[c as usize]
    }
}

impl World<'_> {
    /// A connection begins.
    pub(super) fn on_join(&mut self, c: u32) {
        let view = ConnectionView {
            subflows: self.routes.subflows_of(c).len(),
            claim: self.plan.demands.connections()[c as usize].claim(),
            reserved: self.plan.demands.connections()[c as usize].reserved,
            demand: Rate(self.connections[c].demand),
            packet: self.plan.transfers[c as usize].packet,
            first_window: self.plan.run.transport.first_window,
        };
        let protocol = &self.plan.protocols[self.plan.transfers[c as usize].protocol];
        self.connections[c].state = State::Active;
        self.connections.has_changed = true;
        match protocol.source(&view) {
            Control::Rates(control) => {
                self.connections[c].control = Some(control);
                self.call(c, |control, now, orders| control.join(now, orders));
            }
            Control::Windows(control) => self.begin_transport(c, control),
        }
    }

    /// A connection has to end, whatever it has still to send.
    pub(super) fn on_stop(&mut self, c: u32) {
        self.end_transport(c);
        self.leave(c);
    }

    /// A connection has nothing more to send.
    pub(super) fn leave(&mut self, c: u32) {
        let now = self.clock.now();
        let connection = &mut self.connections[c];
        if connection.state != State::Active {
            return;
        }
        connection.state = State::Leaving;
        connection.stopped_at = now;
        connection.left = 0;
        self.connections.has_changed = true;
        for s in self.routes.subflows_of(c) {
            self.set_rate(s, Rate(0.0));
            self.release(s as u32);
        }
        self.call(c, |control, now, orders| control.leave(now, orders));
    }

    /// A control packet of a connection is back at its source.
    pub(super) fn on_reply(&mut self, s: u32, header: &Header) {
        self.control_links.count_reply(s, header);
        let c = self.subflows[s as usize].connection();
        let subflow = s as usize - self.routes.subflows_of(c).start;
        self.call(c, |control, now, orders| control.on_reply(now, subflow, header, orders));
    }

    /// The header of a data packet that a subflow sends now at the granted rate, if its source control gives one.
    pub(super) fn data_header(&mut self, s: u32, bytes: u64) -> Option<Header> {
        let c = self.subflows[s as usize].connection();
        let subflow = s as usize - self.routes.subflows_of(c).start;
        let now = Time(self.clock.now());
        self.connections[c].control.as_mut()?.data_header(now, subflow, Bytes(bytes))
    }

    /// The timer of a source control expires.
    pub(super) fn on_wake(&mut self, c: u32) {
        self.call(c, |control, now, orders| control.on_timer(now, orders));
    }

    /// The demand of a connection changes.
    pub(super) fn on_demand(&mut self, number: u32) {
        let change = self.plan.demand_changes[number as usize];
        let (c, demand) = (change.connection.0, change.demand);
        self.connections[c].demand = demand.0;
        if let Some(link) = self.routes.demand_link(c as usize) {
            self.control_links.set_demand(link, demand);
            self.tell_capacity(link, self.plan.transfers[c as usize].protocol as u16);
        }
        self.connections.has_changed = true;
        let total: f64 = self.routes.subflows_of(c).map(|s| self.subflows[s].rate().0).sum();
        if total > demand.0 {
            for s in self.routes.subflows_of(c) {
                let rate = self.subflows[s].rate().0;
                self.set_rate(s, Rate(rate * demand.0 / total));
            }
        }
        self.call(c, |control, now, orders| control.on_demand(now, demand, orders));
        self.on_transport_demand(c, demand);
    }

    /// Calls the source control of a connection, if there is one, and carries out its orders.
    fn call(&mut self, c: u32, ask: impl FnOnce(&mut dyn SourceControl, Time, &mut Orders)) {
        let now = self.clock.now();
        let Connections { all, orders, .. } = &mut self.connections;
        let Some(control) = &mut all[c as usize].control else { return };
        let mut orders = std::mem::take(orders);
        ask(control.as_mut(), Time(now), &mut orders);
        let first = self.routes.subflows_of(c).start;
        if self.connections[c].state == State::Active {
            let share = share_of_demand(self.connections[c].demand, &orders.grants);
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
            self.clock.schedule(time.0.max(now), Kind::Wake, c);
        }
        if orders.has_left {
            let connection = &mut self.connections[c];
            connection.control = None;
            connection.state = State::Gone;
            connection.left_at = now;
        }
        orders.clear();
        self.connections.orders = orders;
        if self.connections[c].left == 0 {
            // The last byte went with a header.
            self.leave(c);
        }
    }

    /// Lets a subflow send at a rate.
    fn grant(&mut self, s: usize, rate: Rate) {
        self.note(s, rate);
        if self.plan.run.data {
            self.arm(s as u32);
        }
    }

    /// Sets the rate of a subflow. A number that is no rate counts as 0, and as a bad grant.
    fn note(&mut self, s: usize, rate: Rate) {
        let is_rate = rate.0.is_finite() && rate.0 >= 0.0;
        self.connections.bad_grants += u64::from(!is_rate);
        self.set_rate(s, if is_rate { rate } else { Rate(0.0) });
    }

    fn set_rate(&mut self, s: usize, rate: Rate) {
        if self.subflows[s].set_rate(rate) && self.plan.run.record.grants {
            self.connections.grants.push(Grant { time: Time(self.clock.now()), subflow: s as u32, rate });
        }
    }
}

/// The factor from 0 to 1 by which grants are reduced so that together they are no more than the demand, in bit/s.
///
/// Of several grants to a subflow the last counts, since it replaces the earlier ones.
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
