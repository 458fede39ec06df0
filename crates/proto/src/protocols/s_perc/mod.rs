//! s-PERC: max-min fair rates by messages between links and sessions, with four numbers at a link [jose2019].
//!
//! A packet circulates on its path. For each link it carries what the link gave its session last: a slot with the
//! allocation, the offer, and whether other links limit the session (`elsewhere`) or the link itself does (`here`). On
//! the way down and on the way back a link counts its visitor as here, and decides anew:
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
//! Links keep no time: a round ends when the first packet of a later one arrives.
//!
//! differs: the authors' ns-2 code is compared as it runs in wide-area networks.
//! - The code divides 94 % of the capacity: 4 % are for control packets, and 2 % stay free. Here all of it is divided.
//! - In the code a round begins with 100 ms. It doubles if it is shorter than the longest round trip of control packets
//!   of the last 500 to 1000 ms, measured or expected, and halves if it is more than twice as long. Here its length is
//!   given.
//! - In the code links divide their part for control packets equally among sessions, and a source sends control packets
//!   no faster than that. Here `run.control_share` holds them back.
//! - In the code links count a session on the way down only. Here they do so on the way back, too, as the code does in
//!   data centres.
//! - The code rebuilds its sums against losses. Here hops repair losses.
//!
//! Rates are whole numbers of bit/s, and so are sums of them, so that sums return to exactly zero.

use anabranch_core::quantity::SpanText;
use anabranch_core::units::MICROSECOND;
use anabranch_core::{Rate, Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};

use crate::control::{
    ConnectionView, LinkControl, LinkControls, LinkOrders, LinkView, Position, SourceControl, Visitor,
};
use crate::packet::Header;
use crate::protocols::capabilities::Capabilities;
use crate::protocols::headroom::Headroom;
use crate::protocols::probe_cycle::{CycleProbe, CycleSource};
use crate::protocols::whole_rates::{UNLIMITED, whole};

/// What the protocol can serve.
pub const CAPABILITIES: Capabilities = Capabilities::SINGLE_PATH;

/// The shortest and the longest round, in picoseconds: 1 us to 1000 s.
const ROUNDS: std::ops::RangeInclusive<u64> = MICROSECOND..=1_000_000_000 * MICROSECOND;

/// Parameters of s-PERC.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SPercParameters")]
#[serde(deny_unknown_fields, default)]
pub struct Parameters {
    /// Length of a round, for which links remember the greatest allocation: at least the longest round trip of control
    /// packets, 1 us to 1000 s. The default is that of the authors for wide-area networks; longer rounds delay
    /// convergence.
    #[serde(deserialize_with = "round")]
    pub round: SpanText,
    /// Treatment of an offer that is too low: "ignore-bit" or "basic".
    pub variant: Variant,
    /// Part of each link's capacity that is not handed out, 0 to 0.5: room for control packets in band.
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
            round: SpanText(Span(100_000 * MICROSECOND)),
            variant: Variant::IgnoreBit,
            headroom: Headroom::default(),
        }
    }
}

fn round<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SpanText, D::Error> {
    let value = SpanText::deserialize(deserializer)?;
    let good = ROUNDS.contains(&value.0.0);
    if good { Ok(value) } else { Err(de::Error::custom(format!("it is {}; it must be 1 us to 1000 s", value.0))) }
}

/// The fields of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Whether the session ends.
    pub is_last: bool,
    /// Cycle in which the packet was sent, by which a second copy of a reply is recognised.
    pub cycle: u32,
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
        Self { is_last: false, cycle: 0, slots: Vec::new() }
    }

    fn cycle(&self) -> u32 {
        self.cycle
    }

    fn granted(&self) -> Rate {
        Rate(self.slots.iter().map(|slot| slot.allocation).fold(UNLIMITED, i64::min) as f64)
    }

    fn next(&self, cycle: u32, is_last: bool) -> Self {
        Self { is_last, cycle, slots: self.slots.clone() }
    }
}

/// State of a link.
#[derive(Clone, Debug)]
struct Link {
    /// Sum of the allocations of sessions that other links limit (`SumE`).
    rate_elsewhere: i64,
    /// Number of sessions that the link limits (`NumB`).
    here: i64,
    /// Greatest allocation elsewhere of this round and the last (`MaxE`), and of this round alone (`MaxE'`).
    greatest: i64,
    greatest_now: i64,
    /// Number of the round.
    round: u64,
    length: Span,
    variant: Variant,
}

impl Link {
    fn new(parameters: &Parameters) -> Self {
        let Parameters { round: SpanText(length), variant, .. } = *parameters;
        Self { rate_elsewhere: 0, here: 0, greatest: 0, greatest_now: 0, round: 0, length, variant }
    }

    /// Forgets the allocations of past rounds.
    fn keep_time(&mut self, now: Time) {
        let round = now.0 / self.length.0.max(1);
        if round == self.round {
            return;
        }
        self.greatest = if round == self.round + 1 { self.greatest_now } else { 0 };
        self.greatest_now = 0;
        self.round = round;
    }

    /// Subtracts a session from the sums of the link.
    fn forget(&mut self, slot: &Slot) {
        match slot.held {
            Held::Never => {}
            // The sum wraps around rather than overflows, so that a subtraction restores it.
            Held::Elsewhere => self.rate_elsewhere = self.rate_elsewhere.wrapping_sub(slot.allocation),
            Held::Here => self.here -= 1,
        }
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
            self.forget(probe.slot(visitor.position));
        } else {
            self.exchange(link, visitor, probe);
        }
    }

    fn on_return(&mut self, link: &LinkView, visitor: Visitor, header: &mut Header, _: &mut LinkOrders) {
        let Header::SPerc(probe) = header else { return };
        self.exchange(link, visitor, probe);
    }

    fn is_clear(&self) -> bool {
        (self.rate_elsewhere, self.here) == (0, 0)
    }
}

#[cfg(test)]
mod tests;
