//! s-PERC: max-min fair rates by messages between links and sessions, with sums alone at a link [jose2019].
//!
//! A packet circulates on its path. For each link it carries what the link gave its session last: a slot with the
//! allocation, the offer, and whether other links limit the session (`elsewhere`) or the link itself does (`here`). On
//! the way down a link counts its visitor as here, and decides anew:
//!
//! ```text
//! offer      = (capacity - sum of allocations elsewhere) / here
//! limit      = least offer of the other links that is not to be ignored
//! allocation = limit, elsewhere, if that is less than offer;  otherwise offer, here
//! ```
//!
//! The rate of a session is its least allocation. An offer below the greatest allocation elsewhere is too low, because
//! such an allocation is out of date; other links are to ignore it. With `variant = "basic"` the link offers that
//! allocation instead. The greatest allocation is that of this round and the last. In a round every session must pass,
//! so a round must be at least as long as the longest round trip of control packets. In shorter ones links forget
//! allocations that are still in use, while outdated ones count for up to two rounds.
//!
//! By default a round adapts its length to the longest round trip of control packets (`rounds.rs`).
//!
//! Control packets have a part of each link. A link divides it equally among its sessions, and a source sends its next
//! packet no earlier than the slowest link of its path permits:
//!
//! ```text
//! pause = 2 sessions size / (control capacity)        2: the other half is for replies to sessions of the other direction
//! ```
//!
//! The authors run s-PERC in wide-area networks with `headroom = 0.06`: 4 % of the capacity for control packets and 2 %
//! that stay free. Here the default hands out all of a link, since control packets have separate queues by default.
//! In data centres the authors let links decide on the way back, too (`both_ways`), and rounds begin with 20 us. Here
//! adaptive rounds begin with 100 ms everywhere.
//!
//! differs: the authors' ns-2 code is compared as it runs in wide-area networks.
//! - In the code a link knows the sessions of both directions, and divides its part for control packets among all of them.
//!   Here it knows those of its own direction, and divides half of the part among them.
//! - In the code a control packet that waits goes at the next multiple of its pause. Here it goes as soon as its pause is
//!   over. A source sends at least one packet in a second here; the code has no such limit.
//! - In the code all links of a node have one length of rounds, and it doubles once for each packet that reports a longer
//!   round trip than all before it. Here each link has a length for itself, which doubles until it is long enough.
//! - In the code a window in which round trips count has 500 ms. Here it is as long as a round if that is longer, so that
//!   a link hears every session in it.
//! - In the code rates within 100 kbit/s of each other count as equal. Here all different rates are different.
//! - A source that stops while its packet waits for its pause ends at once. In the code it sends that packet first.
//! - A variant in the authors' numerical simulations rebuilds sums against losses; the ns-2 code loses no control packet.
//!   Here hops repair losses.
//!
//! Rates are whole numbers of bit/s, and so are sums of them, so that sums return to exactly zero.

mod rounds;
#[cfg(test)]
mod tests;

use anabranch_core::units::BIT_PICOSECONDS;
use anabranch_core::{Rate, Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

pub use rounds::Round;
use rounds::Rounds;

use crate::control::{
    ConnectionView, LinkControl, LinkControls, LinkOrders, LinkView, Position, SourceControl, Visitor,
};
use crate::packet::Header;
use crate::protocols::capabilities::Capabilities;
use crate::protocols::headroom::Headroom;
use crate::protocols::probe_cycle::{CycleProbe, CycleSource};
use crate::protocols::range;
use crate::protocols::whole_rates::{UNLIMITED, whole};

/// What the protocol can serve.
pub const CAPABILITIES: Capabilities = Capabilities { turn, ..Capabilities::SINGLE_PATH };

/// The longest pause between control packets of a source.
const MOST_PAUSE: Span = Span::s(1);

/// Parameters of s-PERC.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SPercParameters")]
#[serde(deny_unknown_fields, default)]
pub struct Parameters {
    /// Length of a round, for which links remember the greatest allocation: "adaptive", or a time of 1 us to 1000 s. It
    /// must be at least the longest round trip of control packets; longer rounds delay convergence. Adaptive rounds begin
    /// with 100 ms, as those of the authors in wide-area networks, and follow the longest round trip.
    pub round: Round,
    /// Treatment of an offer that is too low: "ignore-bit" or "basic".
    pub variant: Variant,
    /// Part of each link's capacity that control packets of its sessions may use together, 0.0001 to 1; links divide it
    /// equally.
    #[serde(deserialize_with = "control")]
    #[schemars(range(min = 0.0001, max = 1))]
    pub control: f64,
    /// Whether links also decide on the way back, as the authors have it in data centres.
    pub both_ways: bool,
    /// Part of each link's capacity that is not handed out, 0 to 0.5: room for control packets in band. The authors leave
    /// 0.06.
    #[serde(skip_serializing_if = "Headroom::is_none")]
    pub headroom: Headroom,
}

/// Variants of s-PERC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SPercVariant")]
#[serde(rename_all = "kebab-case")]
pub enum Variant {
    /// Other links ignore offers below the greatest allocation elsewhere.
    #[default]
    IgnoreBit,
    /// No offer is below the greatest allocation elsewhere.
    Basic,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            round: Round::Adaptive,
            variant: Variant::IgnoreBit,
            control: 0.04,
            both_ways: false,
            headroom: Headroom::default(),
        }
    }
}

/// Reads the part for control packets, 0.0001 to 1.
fn control<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    range::number(0.0001..=1.0, deserializer)
}

/// The fields of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Whether the session ends.
    pub is_last: bool,
    /// Cycle in which the packet was sent, by which a second copy of a reply is recognised.
    pub cycle: u32,
    /// Round trip of the session's control packets, with their pauses; 0 in the first packet.
    pub round_trip: Span,
    /// The least time between control packets that links demand (the request rate, as a time).
    pub pause: Span,
    /// Slot of each link of the path; links after the last that limits anything are omitted.
    pub slots: Vec<Slot>,
}

/// What a link gave a session; rates are whole, in bit/s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Where the session is limited (s).
    pub held: Held,
    /// Rate at which the link counts the session (a).
    pub allocation: i64,
    /// Offer of the link (b).
    pub offer: i64,
    /// Whether other links are to ignore the offer (i).
    pub is_ignored: bool,
}

/// Where a session is limited, as a link sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// The session has not passed the link.
    Never,
    /// Other links limit the session (E).
    Elsewhere,
    /// This link limits the session (B).
    Here,
}

/// Slot of a link that the packet has not passed, or that limits nothing.
const UNSEEN: Slot = Slot { held: Held::Never, allocation: UNLIMITED, offer: UNLIMITED, is_ignored: false };

impl Probe {
    /// The slot of a link.
    fn slot(&mut self, position: Position) -> &mut Slot {
        let position = usize::from(position);
        if self.slots.len() <= position {
            self.slots.resize(position + 1, UNSEEN);
        }
        &mut self.slots[position]
    }

    /// Least offer of the links other than that at `position` (e).
    fn limit(&self, position: Position) -> i64 {
        let others = self.slots.iter().enumerate().filter(|&(p, slot)| p != usize::from(position) && !slot.is_ignored);
        others.map(|(_, slot)| slot.offer).fold(UNLIMITED, i64::min).max(0)
    }
}

/// Creates the control of a source.
pub fn source(_: &Parameters, _: &ConnectionView) -> Box<dyn SourceControl> {
    Box::new(CycleSource::<Probe>::new())
}

/// Creates the controls of `count` links.
pub fn links(parameters: &Parameters, count: usize) -> Box<dyn LinkControls> {
    Box::new(vec![Link::new(parameters); count])
}

impl CycleProbe for Probe {
    fn of(header: &Header) -> Option<&Self> {
        if let Header::SPerc(probe) = header { Some(probe) } else { None }
    }

    fn header(self) -> Header {
        Header::SPerc(self)
    }

    fn first() -> Self {
        Self { is_last: false, cycle: 0, round_trip: Span(0), pause: Span(0), slots: Vec::new() }
    }

    fn cycle(&self) -> u32 {
        self.cycle
    }

    fn granted(&self) -> Rate {
        Rate(self.slots.iter().map(|slot| slot.allocation).fold(UNLIMITED, i64::min) as f64)
    }

    fn pause(&self) -> Span {
        self.pause
    }

    fn next(&self, cycle: u32, is_last: bool, round_trip: Span) -> Self {
        Self { is_last, cycle, round_trip, pause: Span(0), slots: self.slots.clone() }
    }
}

/// Sends a packet back. Links say on the way back what they demand by then.
fn turn(header: &mut Header) -> bool {
    if let Header::SPerc(probe) = header {
        probe.pause = Span(0);
    }
    true
}

/// State of a link.
#[derive(Clone, Debug)]
struct Link {
    /// Sum of the allocations of sessions that other links limit (`SumE`).
    rate_elsewhere: i64,
    /// Number of sessions that the link limits (`NumB`).
    here: i64,
    /// Number of all sessions.
    sessions: i64,
    /// Greatest allocation elsewhere of this round and the last (`MaxE`), and of this round alone (`MaxE'`).
    greatest: i64,
    greatest_now: i64,
    rounds: Rounds,
    variant: Variant,
    both_ways: bool,
    /// Part for control packets in one direction, relative to the capacity that is handed out.
    control_part: f64,
}

impl Link {
    fn new(parameters: &Parameters) -> Self {
        let Parameters { round, variant, control, both_ways, headroom: Headroom(headroom) } = *parameters;
        Self {
            rate_elsewhere: 0,
            here: 0,
            sessions: 0,
            greatest: 0,
            greatest_now: 0,
            rounds: Rounds::new(round),
            variant,
            both_ways,
            control_part: control / 2.0 / (1.0 - headroom),
        }
    }

    /// Forgets the allocations of past rounds.
    fn keep_time(&mut self, now: Time) {
        let ended = self.rounds.ended(now);
        if ended > 0 {
            self.greatest = if ended == 1 { self.greatest_now } else { 0 };
            self.greatest_now = 0;
        }
    }

    /// The time between control packets of a session at which all sessions together use the link's part for them.
    fn pause(&self, link: &LinkView) -> Span {
        let bits = link.control_packet.0 as f64 * BIT_PICOSECONDS * self.sessions.max(1) as f64;
        if bits == 0.0 {
            return Span(0);
        }
        // A link without capacity demands the longest pause.
        Span((bits / (self.control_part * link.capacity.0)).min(MOST_PAUSE.0 as f64) as u64)
    }

    /// Tells a packet the pause, and adapts the round to the packet's round trip and to what the pause makes of it.
    fn pace(&mut self, link: &LinkView, probe: &mut Probe) {
        let pause = self.pause(link);
        probe.pause = probe.pause.max(pause);
        self.rounds.adapt(link.now, probe.round_trip.max(pause));
    }

    /// Subtracts a session from the sums of the link.
    fn forget(&mut self, slot: &Slot) {
        match slot.held {
            Held::Never => return,
            // The sum wraps around rather than overflows, so that a subtraction restores it.
            Held::Elsewhere => self.rate_elsewhere = self.rate_elsewhere.wrapping_sub(slot.allocation),
            Held::Here => self.here -= 1,
        }
        self.sessions -= 1;
    }

    /// Allocation and offer to a session that other links hold to `limit`; the session is not counted.
    fn give(&mut self, capacity: i64, limit: i64) -> Slot {
        let offer = (capacity.saturating_sub(self.rate_elsewhere) / (self.here + 1).max(1)).max(0);
        let greatest = self.greatest;
        let (held, allocation) = if limit < offer { (Held::Elsewhere, limit) } else { (Held::Here, offer) };
        if held == Held::Elsewhere {
            self.rate_elsewhere = self.rate_elsewhere.wrapping_add(allocation);
            self.greatest = self.greatest.max(allocation);
            self.greatest_now = self.greatest_now.max(allocation);
        } else {
            self.here += 1;
        }
        self.sessions += 1;
        match self.variant {
            Variant::IgnoreBit => Slot { held, allocation, offer, is_ignored: greatest > offer },
            Variant::Basic => Slot { held, allocation, offer: offer.max(greatest), is_ignored: false },
        }
    }

    fn exchange(&mut self, link: &LinkView, visitor: Visitor, probe: &mut Probe) {
        self.keep_time(link.now);
        let limit = probe.limit(visitor.position);
        let slot = probe.slot(visitor.position);
        self.forget(slot);
        *slot = self.give(whole(link.capacity), limit);
    }
}

impl LinkControl for Link {
    fn on_arrival(&mut self, link: &LinkView, visitor: Visitor, header: &mut Header, _: &mut LinkOrders) {
        let Header::SPerc(probe) = header else { return };
        if probe.is_last {
            return self.forget(probe.slot(visitor.position));
        }
        self.exchange(link, visitor, probe);
        self.pace(link, probe);
    }

    fn on_return(&mut self, link: &LinkView, visitor: Visitor, header: &mut Header, _: &mut LinkOrders) {
        let Header::SPerc(probe) = header else { return };
        if self.both_ways {
            self.exchange(link, visitor, probe);
        }
        self.pace(link, probe);
    }

    fn is_clear(&self) -> bool {
        (self.rate_elsewhere, self.here, self.sessions) == (0, 0, 0)
    }
}
