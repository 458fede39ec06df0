//! XCP: links tell each packet how the rate of its connection is to change [katabi2002].
//!
//! Sources keep a window. Each packet carries the rate and the round trip of its connection. A link sums over an
//! interval d, the mean round trip, and gives every packet of the next interval its part of the total change that it
//! wants:
//!
//! ```text
//! change = alpha (capacity - arrivals / d) - beta queue / d          queue: the least in about half a round trip
//! moved  = max(0, shuffle arrivals / d - |change|)                   from all to all, so that shares become equal
//! up     = (max(0, change) + moved) / sum x                          times x = round trip / window, for each packet
//! down   = (max(0, -change) + moved) / arrivals                      times the bytes of a packet
//! source:  window <- max(1, window + (up x - down bytes) round_trip / packet),    the least of all links
//! ```
//!
//! Increases are divided equally among connections, and decreases by their rates. Where a link before grants less
//! than this link would, or the connection can use less, this link divides the rest among others. Rates are in byte/s,
//! windows in packets. The protocol is stable for alpha < pi / (4 sqrt 2) and beta = alpha^2 sqrt 2
//! [katabi2002, sec. 4].
//!
//! A link sums over packets that arrive, and gives a packet its part when the packet leaves the queue. The queue is the
//! least at departures, or 0 if a packet finds it empty.
//!
//! This is the form of the authors' simulation, in rates; the paper uses windows. It is not max-min fair where
//! connections have several bottlenecks.
//!
//! differs:
//! - A link that sees no packet for an interval stops its timers, and keeps what it has not granted yet. Otherwise a
//!   connection with one packet a round trip might always find nothing left for it.
//! - The queue contains the packet in transmission.
//! - The first interval begins with the first packet, and its length is not random.
//! - Packets are acknowledged one by one, and lost packets are not sent again. A gap in the numbers of acknowledgements
//!   is a loss, which halves the window once in a round trip. If no acknowledgement comes, all packets are lost and the
//!   window is 1, as in TCP.
//! - A source spreads its window over the round trip, and so sends fractions of packets in the mean. Windows rounded
//!   down would use less than they are granted. Where packets come in bursts, those of one connection may always be at
//!   the beginning of an interval and those of another at its end, when no change is left.
//! - A window is at most 2^20 packets. A connection sends no faster than its demand, even if that is less than a packet
//!   in a round trip.

use std::f64::consts::PI;

use anabranch_core::units::BITS;
use anabranch_core::{Rate, Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};

use crate::control::{ConnectionView, LinkControl, LinkControls, LinkOrders, LinkView, Orders, SourceControl, Visitor};
use crate::packet::Header;
use crate::protocols::capabilities::{Capabilities, Demands, Sources};
use crate::protocols::expect::Expect;

/// What the protocol can serve.
pub const CAPABILITIES: Capabilities = Capabilities {
    demands: Demands::AtSource,
    sources: Sources::Headers,
    stamps_departures: true,
    // Links measure traffic by the packets of a round trip, of which there should be many. They leave some capacity
    // unused if a connection cannot use its offer.
    expect: Expect { packet: 100, after_demand_mbps: 0.5, ..Expect::USUAL },
    ..Capabilities::SINGLE_PATH
};

/// A time that never comes.
const NEVER: Time = Time(u64::MAX);

/// Packets in the first window, as in the authors' simulation.
const FIRST_WINDOW: f64 = 2.0;

/// The most packets in a window, about as many as in a TCP with ordinary packets.
const MOST_WINDOW: f64 = 1_048_576.0;

/// Mean round trip that a link assumes at first, in seconds.
const FIRST_INTERVAL: f64 = 0.05;
/// Least and greatest mean round trip that a link believes, in seconds.
const INTERVALS: (f64, f64) = (0.001, 1.0);

/// Least time between two looks at the queue, in seconds.
const LEAST_QUEUE_INTERVAL: f64 = 0.002;

/// Timeout for an acknowledgement before the first round trip, in seconds.
const FIRST_WAIT: f64 = 1.0;
/// Least timeout for an acknowledgement, in seconds.
const LEAST_WAIT: f64 = 0.2;

/// The most times that the timeout doubles while no acknowledgement comes.
const MOST_DOUBLINGS: u32 = 6;

/// Parameters of XCP.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "XcpParameters")]
#[serde(deny_unknown_fields, default)]
pub struct Parameters {
    /// Part of the unused capacity that is granted in a round trip; over 0 and less than pi / (4 sqrt 2), about 0.555.
    #[serde(deserialize_with = "alpha")]
    #[schemars(range(max = 0.555), extend("exclusiveMinimum" = 0))]
    pub alpha: f64,
    /// Part of the queue that is drained in a round trip, 0 to 1.
    #[serde(deserialize_with = "part")]
    #[schemars(range(min = 0, max = 1))]
    pub beta: f64,
    /// Part of the traffic that is redistributed in a round trip, 0 to 1.
    #[serde(deserialize_with = "part")]
    #[schemars(range(min = 0, max = 1))]
    pub shuffle: f64,
}

impl Default for Parameters {
    /// The parameters of [katabi2002, sec. 3.5].
    fn default() -> Self {
        Self { alpha: 0.4, beta: 0.226, shuffle: 0.1 }
    }
}

fn alpha<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let value = f64::deserialize(deserializer)?;
    let good = value > 0.0 && value < PI / (4.0 * 2.0_f64.sqrt());
    let wrong = || de::Error::custom(format!("it is {value}; it must be over 0 and less than pi / (4 sqrt 2), 0.5553"));
    if good { Ok(value) } else { Err(wrong()) }
}

fn part<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let value = f64::deserialize(deserializer)?;
    let good = (0.0..=1.0).contains(&value);
    if good { Ok(value) } else { Err(de::Error::custom(format!("it is {value}; it must be 0 to 1"))) }
}

/// The congestion header.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Congestion {
    /// Number of the packet in its connection, counted from 0.
    pub number: u64,
    /// Time at which the packet was sent.
    pub sent: Time,
    /// Bytes of a full packet.
    pub packet: f64,
    /// Round trip of the connection in seconds; 0 if it is not known yet.
    pub round_trip: f64,
    /// Time in seconds from one packet to the next: round trip divided by window.
    pub gap: f64,
    /// Change of the rate, in byte/s.
    pub change: f64,
}

impl Congestion {
    /// Whether the packet has a round trip, so that links can use it.
    fn is_measured(&self) -> bool {
        let are_amounts = [self.packet, self.round_trip, self.gap].iter().all(|x| x.is_finite() && *x > 0.0);
        are_amounts && !self.change.is_nan()
    }
}

/// Creates the control of a source.
pub fn source(_: &Parameters, connection: &ConnectionView) -> Box<dyn SourceControl> {
    Box::new(Source::new(connection))
}

/// Creates the controls of `count` links.
pub fn links(parameters: &Parameters, count: usize) -> Box<dyn LinkControls> {
    Box::new(vec![Link::new(parameters); count])
}

/// `seconds` after `now`.
fn after(now: Time, seconds: f64) -> Time {
    Time(Span::from_seconds(seconds).map_or(NEVER.0, |span| now.0.saturating_add(span.0)))
}

struct Source {
    /// Bytes of a full packet.
    packet: f64,
    /// Demand in byte/s.
    demand: f64,
    /// Window in packets.
    window: f64,
    /// Smoothed round trip and its mean deviation, in seconds; 0 before the first.
    round_trip: f64,
    deviation: f64,
    /// Number of the next packet; packets before `settled` were acknowledged or lost, and the others are in flight.
    next: u64,
    settled: u64,
    /// Losses among packets before this number have reduced the window.
    answered: u64,
    /// Time at which the last packet was sent.
    sent: Option<Time>,
    /// Time at which all packets in flight count as lost, and the number of timeouts in a row.
    deadline: Time,
    doublings: u32,
    /// Time at which the source is woken next.
    armed: Time,
}

impl Source {
    fn new(connection: &ConnectionView) -> Self {
        Self {
            packet: connection.packet.0 as f64,
            demand: connection.demand.0 / BITS,
            window: FIRST_WINDOW,
            round_trip: 0.0,
            deviation: 0.0,
            next: 0,
            settled: 0,
            answered: 0,
            sent: None,
            deadline: NEVER,
            doublings: 0,
            armed: NEVER,
        }
    }

    fn under_way(&self) -> u64 {
        self.next - self.settled
    }

    /// Rate that the window amounts to, in byte/s; the round trip must be known.
    fn rate(&self) -> f64 {
        (self.window * self.packet / self.round_trip).min(self.demand)
    }

    /// Creates the header of the next packet.
    fn header(&self, now: Time) -> Header {
        let is_known = self.round_trip > 0.0;
        Header::Xcp(Congestion {
            number: self.next,
            sent: now,
            packet: self.packet,
            round_trip: self.round_trip,
            gap: self.round_trip / self.window,
            change: if is_known { self.demand - self.rate() } else { 0.0 },
        })
    }

    /// Sends a packet if it may, and sets the timer for the next.
    fn go_on(&mut self, now: Time, orders: &mut Orders) {
        if self.next_packet() <= now {
            orders.send(0, self.header(now));
            if self.under_way() == 0 {
                self.deadline = after(now, self.wait());
            }
            self.next += 1;
            self.sent = Some(now);
        }
        let due = self.deadline.min(self.next_packet());
        if due < self.armed {
            self.armed = due;
            orders.wake(due);
        }
    }

    /// Time at which the next packet may go; with a full window an acknowledgement must come before.
    fn next_packet(&self) -> Time {
        // With a window of 3.5 packets, 3 or 4 are in flight.
        if self.under_way() as f64 >= self.window.ceil() {
            return NEVER;
        }
        let gap = (self.round_trip / self.window).max(self.packet / self.demand);
        self.sent.map_or(Time(0), |sent| after(sent, gap).max(Time(sent.0 + 1)))
    }

    /// Timeout for an acknowledgement in seconds.
    fn wait(&self) -> f64 {
        let wait =
            if self.round_trip > 0.0 { (self.round_trip + 4.0 * self.deviation).max(LEAST_WAIT) } else { FIRST_WAIT };
        wait * f64::from(1 << self.doublings.min(MOST_DOUBLINGS))
    }

    /// Adds a round trip in seconds.
    fn measure(&mut self, took: f64) {
        if self.round_trip > 0.0 {
            self.deviation += ((took - self.round_trip).abs() - self.deviation) / 4.0;
            self.round_trip += (took - self.round_trip) / 8.0;
        } else {
            (self.round_trip, self.deviation) = (took, took / 2.0);
        }
    }

    /// Sets the window within its limits.
    fn set_window(&mut self, window: f64) {
        let most = (self.demand * self.round_trip / self.packet).min(MOST_WINDOW);
        self.window = window.min(most).max(1.0);
    }

    fn note(&self, orders: &mut Orders) {
        if self.round_trip > 0.0 {
            orders.note(0, Rate(self.rate() * BITS));
        }
    }
}

impl SourceControl for Source {
    fn join(&mut self, now: Time, orders: &mut Orders) {
        self.go_on(now, orders);
    }

    fn on_reply(&mut self, now: Time, _: usize, header: &Header, orders: &mut Orders) {
        let Header::Xcp(reply) = header else { return };
        if !(self.settled..self.next).contains(&reply.number) {
            // The packet was acknowledged before, or counted as lost.
            return;
        }
        let has_gap = reply.number > self.settled;
        self.settled = reply.number + 1;
        self.doublings = 0;
        self.measure(Span(now.0.saturating_sub(reply.sent.0).max(1)).seconds());
        self.deadline = if self.under_way() > 0 { after(now, self.wait()) } else { NEVER };
        let growth = reply.change * self.round_trip / self.packet;
        self.set_window(self.window + if growth.is_nan() { 0.0 } else { growth });
        if has_gap && reply.number > self.answered {
            self.answered = self.next;
            self.set_window(self.window / 2.0);
        }
        self.note(orders);
        self.go_on(now, orders);
    }

    fn on_timer(&mut self, now: Time, orders: &mut Orders) {
        if now >= self.armed {
            self.armed = NEVER;
        }
        if now >= self.deadline {
            (self.settled, self.answered, self.deadline) = (self.next, self.next, NEVER);
            self.doublings += 1;
            self.set_window(1.0);
            self.note(orders);
        }
        self.go_on(now, orders);
    }

    fn on_demand(&mut self, now: Time, demand: Rate, orders: &mut Orders) {
        self.demand = demand.0 / BITS;
        self.set_window(self.window);
        self.note(orders);
        self.go_on(now, orders);
    }

    fn leave(&mut self, _: Time, orders: &mut Orders) {
        // Links hold no state of the connection.
        orders.has_left = true;
    }
}

/// State of a link.
#[derive(Clone, Debug)]
struct Link {
    parameters: Parameters,
    /// Mean round trip in the interval before, in seconds.
    interval: f64,
    /// Time at which the present interval began, and bytes that had arrived by then.
    began: Time,
    arrived: u64,
    /// Sums of gaps, and of gaps times round trips, in the present interval; whether it had any packet.
    gaps: f64,
    gaps_by_round_trip: f64,
    has_seen: bool,
    /// Rate in byte/s still to be granted and to be withdrawn, and the parts of it for a second of gap and for a byte.
    up: f64,
    down: f64,
    up_part: f64,
    down_part: f64,
    /// Least queue in bytes, of the interval before and so far.
    queue: f64,
    least: u64,
    /// Times of the end of the interval, of the next look at the queue, and of the next wake-up.
    interval_ends: Time,
    queue_ends: Time,
    armed: Time,
}

impl Link {
    fn new(parameters: &Parameters) -> Self {
        Self {
            parameters: parameters.clone(),
            interval: FIRST_INTERVAL,
            began: Time(0),
            arrived: 0,
            gaps: 0.0,
            gaps_by_round_trip: 0.0,
            has_seen: false,
            up: 0.0,
            down: 0.0,
            up_part: 0.0,
            down_part: 0.0,
            queue: 0.0,
            least: 0,
            interval_ends: NEVER,
            queue_ends: NEVER,
            armed: NEVER,
        }
    }

    /// Begins an interval.
    fn begin(&mut self, link: &LinkView) {
        (self.began, self.arrived) = (link.now, link.queue.arrived().0);
        (self.gaps, self.gaps_by_round_trip, self.has_seen) = (0.0, 0.0, false);
        self.interval_ends = after(link.now, self.interval);
    }

    /// Updates the least queue.
    fn look(&mut self, link: &LinkView) {
        let backlog = link.queue.backlog().0;
        (self.queue, self.least) = (self.least.min(backlog) as f64, backlog);
        let free_in = backlog as f64 * BITS / link.capacity.0;
        // A link that carries nothing now looks as often as permitted.
        self.queue_ends = after(link.now, ((self.interval - free_in) / 2.0).max(LEAST_QUEUE_INTERVAL));
    }

    /// Ends an interval: decides the changes of the next.
    fn decide(&mut self, link: &LinkView) {
        let Parameters { alpha, beta, shuffle } = self.parameters;
        let bytes = link.queue.arrived().0.saturating_sub(self.arrived) as f64;
        let traffic = bytes / link.now.0.saturating_sub(self.began.0).max(1) as f64 * 1e12;
        let mean = self.gaps_by_round_trip / self.gaps;
        self.interval = if mean.is_finite() { mean.clamp(INTERVALS.0, INTERVALS.1) } else { FIRST_INTERVAL };
        let change = alpha * (link.capacity.0 / BITS - traffic) - beta * self.queue / self.interval;
        let moved = (shuffle * traffic - change.abs()).max(0.0);
        self.up = change.max(0.0) + moved;
        self.down = (-change).max(0.0) + moved;
        self.up_part = if self.gaps > 0.0 { self.up / self.gaps } else { 0.0 };
        self.down_part = if bytes > 0.0 { self.down / bytes } else { 0.0 };
    }

    /// Gives a packet its part of the change.
    fn tell(&mut self, packet: &mut Congestion) {
        let mut up = self.up.min(self.up_part * packet.gap);
        let mut down = self.down.min(self.down_part * packet.packet);
        let change = up - down;
        if packet.change >= change {
            packet.change = change;
        } else {
            // The other links do not grant this much.
            down = self.down.min(down + (change - packet.change));
            up = packet.change + down;
        }
        self.up = (self.up - up).max(0.0);
        self.down = (self.down - down).max(0.0);
        if self.up <= 0.0 {
            self.up_part = 0.0;
        }
        if self.down <= 0.0 {
            self.down_part = 0.0;
        }
    }

    fn arm(&mut self, orders: &mut LinkOrders) {
        let due = self.interval_ends.min(self.queue_ends);
        if due < self.armed {
            self.armed = due;
            orders.wake(due);
        }
    }
}

impl LinkControl for Link {
    fn on_arrival(&mut self, link: &LinkView, _: Visitor, header: &mut Header, orders: &mut LinkOrders) {
        let Header::Xcp(packet) = header else { return };
        if self.interval_ends == NEVER {
            self.begin(link);
            self.least = u64::MAX;
            self.look(link);
        }
        self.has_seen = true;
        if link.queue.backlog().0 == 0 {
            self.least = 0;
        }
        if packet.is_measured() {
            self.gaps += packet.gap;
            self.gaps_by_round_trip += packet.gap * packet.round_trip.min(INTERVALS.1);
        }
        self.arm(orders);
    }

    fn on_departure(&mut self, link: &LinkView, _: Visitor, header: &mut Header) {
        let Header::Xcp(packet) = header else { return };
        self.least = self.least.min(link.queue.backlog().0);
        if packet.is_measured() {
            self.tell(packet);
        } else {
            packet.change = 0.0;
        }
    }

    fn on_return(&mut self, _: &LinkView, _: Visitor, _: &mut Header, _: &mut LinkOrders) {}

    fn on_timer(&mut self, link: &LinkView, orders: &mut LinkOrders) {
        if link.now >= self.armed {
            self.armed = NEVER;
        }
        if link.now >= self.interval_ends {
            if !self.has_seen {
                (self.interval_ends, self.queue_ends) = (NEVER, NEVER);
                return;
            }
            self.decide(link);
            self.begin(link);
        }
        if link.now >= self.queue_ends {
            self.look(link);
        }
        self.arm(orders);
    }

    fn is_clear(&self) -> bool {
        // Links keep sums of traffic and no state of connections.
        true
    }
}

#[cfg(test)]
mod tests;
