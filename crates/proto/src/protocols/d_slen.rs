//! d-SLEN: upward max-min fair rates over many paths, without state for each subflow at the links [ludena2021, sec. II-C].
//!
//! A probe circulates on every subflow. It carries the subflow's portion p and rate t, and collects the least
//! saturation level s of the path: the rate of a whole connection if the link were its bottleneck. When all probes of a
//! connection are back, subflow f may send at `t = s p`, and the portions for the next round are `p = t / sum t`.
//!
//! A link keeps three sums, over the subflows that it limits (`here`) and those that other links limit (`elsewhere`):
//!
//! ```text
//! level = max( (capacity - rate_elsewhere) / portion_here,  capacity / (portion_here + portion_elsewhere) )
//! ```
//!
//! The set of links that limit a subflow travels in its probe, as positions in its path.
//!
//! differs: the printed protocol leaves links overloaded, and subflows at zero or NaN, on two of three random networks.
//! Four changes correct it; `variant = "paper"` (`d_slen_as_printed.rs`) omits them.
//! - The probe also carries the `setter`, the link that last lowered its level. Only there may the level grow, and only
//!   on the way down, so that all links after it can still object. (Printed: at the only link in the set, both ways.)
//! - Only the setter limits the subflow: a link joins the set where it lowers the level, by a share `tie` at least, and
//!   leaves it once another link is the setter. (Printed: links of equal level are in the set together.)
//! - A subflow's own portion bounds every divisor from below; links of infinite capacity take no part.
//! - No portion falls below `floor`, since a portion of zero could not grow again. The portions sum to 1 again after
//!   that.
//!
//! Why a link of equal level stays out: suppose a link is full, connection a with the highest level on it has a second
//! link of exactly that level, and b and c with lower levels are limited elsewhere. If b and c were counted here too,
//! the next probe of a would find (capacity - `rate_elsewhere`) / (portions of a, b and c), far less than the rate of
//! a. Then b and c would find more than they can use and leave, a would return, and so on for ever. `tie` allows for
//! rates that links hold from the round before: where portions still change a little, a full link seems overloaded by
//! that much.
//!
//! Links set the rate of a probe in the first round only: a rate set later would be added by some links and subtracted
//! by all. A reply counts once, however many copies of it come back.
//!
//! A connection may have a reserved part r of its rate, which comes before its share: its rate is r + w s for weight w and
//! level s, or r (1 + s) where links have to go below level 0, since more is reserved than they have. Subflows carry the
//! reserved part in the ratio of their portions, so that `t = p (s + r / w)`, and a link keeps its sums of reserved parts,
//! too:
//!
//! ```text
//! level = max( (capacity - rate_elsewhere - reserved_here) / portion_here,
//!              (capacity - reserved_here - reserved_elsewhere) / (portion_here + portion_elsewhere) )
//! below 0, the dividend without the reserved parts / these - 1 instead
//! ```
//!
//! differs: the paper has no reserved parts.
//!
//! Portions and rates in bit/s travel and are summed in steps of 2^-60, so that sums return to exactly zero, and a link
//! of 1 kbit/s is shared as precisely as one of 1 Tbit/s. A connection's claim multiplies its portions
//! [ludena2021, sec. IV].

use anabranch_core::{Rate, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};

use crate::account::Account;
use crate::control::{
    ConnectionView, LinkControl, LinkControls, LinkOrders, LinkView, Orders, Position, SourceControl, Visitor,
};
use crate::packet::{Header, Positions};
use crate::protocols::capabilities::{Capabilities, Claims, Paths};
use crate::protocols::d_slen_as_printed::PrintedLink;
use crate::protocols::headroom::Headroom;
use crate::protocols::steps::{LEAST, MOST_RATE, Sum, in_steps, is_in_steps, rate_in_steps};

/// What the protocol can serve.
pub const CAPABILITIES: Capabilities = Capabilities {
    claims: Claims::Weighted { reason: "carries portions in steps of 2^-60" },
    paths: Paths::Together,
    ..Capabilities::SINGLE_PATH
};

/// The greatest portion of a valid probe: that of the greatest claim.
const MOST_PORTION: f64 = 1e3;

/// Value of `setter` where no link has set the level yet.
const NONE: Position = Position::MAX;

/// Parameters of d-SLEN.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "DSlenParameters")]
#[serde(deny_unknown_fields, default)]
pub struct Parameters {
    /// Variant of the protocol: "corrected", or "paper" as it is printed, for comparison.
    pub variant: Variant,
    /// Least portion of a subflow in its connection, 0 to 0.1; "paper" has none.
    #[serde(deserialize_with = "small")]
    #[schemars(range(min = 0, max = 0.1))]
    pub floor: f64,
    /// A link whose level is less by no more than this share does not lower the level of a subflow, 0 to 0.1; "paper"
    /// compares exactly.
    #[serde(deserialize_with = "small")]
    #[schemars(range(min = 0, max = 0.1))]
    pub tie: f64,
    /// Part of each link's capacity that is not handed out, 0 to 0.5: room for control packets in band.
    #[serde(skip_serializing_if = "Headroom::is_none")]
    pub headroom: Headroom,
}

/// Variants of d-SLEN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "DSlenVariant")]
#[serde(rename_all = "kebab-case")]
pub enum Variant {
    /// The protocol with the four changes above.
    #[default]
    Corrected,
    /// The protocol as printed.
    Paper,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { variant: Variant::Corrected, floor: 1e-6, tie: 1e-5, headroom: Headroom::default() }
    }
}

fn small<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let value = f64::deserialize(deserializer)?;
    let good = (0.0..=0.1).contains(&value);
    if good { Ok(value) } else { Err(de::Error::custom(format!("it is {value}; it must be 0 to 0.1"))) }
}

/// A value before and after the source last changed it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// Value that links hold from the round before.
    pub old: f64,
    /// Value that links are to hold now.
    pub new: f64,
}

/// The fields of the packets Probe, `ProbeAck` and Leave.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Probe {
    /// The subflow's portion; in steps of 2^-60 if corrected.
    pub portion: Change,
    /// The subflow's rate in bit/s; in steps of 2^-60 if corrected.
    pub rate: Change,
    /// Links that limit the subflow.
    pub bottlenecks: Positions,
    /// The least saturation level seen, in bit/s for a portion of 1.
    pub level: f64,
    /// The link that last set `level`.
    pub setter: Position,
    /// The reserved part of the connection for a claim of 1, in bit/s.
    pub reserved: f64,
    /// Whether the subflow ends.
    pub is_leave: bool,
    /// Round in which the packet was sent, by which a second copy of a reply is recognised.
    pub round: u32,
}

impl Probe {
    /// Whether a source or a link of the corrected protocol may have sent the packet, on a path of `links` links.
    pub fn is_sound(&self, links: Position) -> bool {
        let portions = [self.portion.old, self.portion.new];
        let rates = [self.rate.old, self.rate.new];
        portions.iter().all(|&portion| is_in_steps(portion, MOST_PORTION))
            && rates.iter().all(|&rate| is_in_steps(rate, MOST_RATE))
            && self.level >= if self.reserved > 0.0 { -1.0 } else { 0.0 }
            && self.reserved >= 0.0
            && portions.iter().all(|&portion| self.reserved_by(portion) <= MOST_RATE)
            && self.bottlenecks.are_before(links)
            && (self.setter < links || self.setter == NONE)
    }

    /// Whether this can be what comes back of a packet `sent` over the link at a position: the links after it decide on
    /// the level and whether they limit the subflow, and on nothing else.
    pub fn answers(&self, sent: &Self, position: Position) -> bool {
        let before = |probe: &Self| probe.bottlenecks.up_to(position);
        before(self) == before(sent)
            && (self.portion, self.rate, self.reserved) == (sent.portion, sent.rate, sent.reserved)
            && (self.is_leave, self.round) == (sent.is_leave, sent.round)
    }

    /// The reserved part that goes with a portion, in bit/s.
    fn reserved_by(&self, portion: f64) -> f64 {
        if self.reserved == 0.0 { 0.0 } else { in_steps(portion * self.reserved) }
    }

    /// Rate for a portion of 1 at a level.
    fn share(&self, level: f64) -> f64 {
        self.reserved + level * if level < 0.0 { self.reserved } else { 1.0 }
    }

    /// Whether the packet is the first of its subflow.
    pub fn is_first(&self) -> bool {
        self.portion.old == 0.0 && !self.is_leave
    }
}

/// Creates the control of a source.
pub fn source(parameters: &Parameters, connection: &ConnectionView) -> Box<dyn SourceControl> {
    Box::new(Source::new(parameters, connection))
}

/// Creates the controls of `count` links.
pub fn links(parameters: &Parameters, count: usize) -> Box<dyn LinkControls> {
    match parameters.variant {
        Variant::Corrected => Box::new(vec![Link { tie: parameters.tie, ..Link::default() }; count]),
        Variant::Paper => Box::new(vec![PrintedLink::default(); count]),
    }
}

/// State of a source: the last packet of each subflow, and the progress of the round.
struct Source {
    subflows: Vec<Probe>,
    /// Number of replies in this round; each moves its subflow on to the next round.
    returned: usize,
    round: u32,
    is_leaving: bool,
    claim: f64,
    floor: f64,
    is_printed: bool,
}

impl Source {
    fn new(parameters: &Parameters, connection: &ConnectionView) -> Self {
        let is_printed = parameters.variant == Variant::Paper;
        let mut source = Self {
            subflows: Vec::with_capacity(connection.subflows),
            returned: 0,
            round: 0,
            is_leaving: false,
            claim: connection.claim,
            floor: if is_printed { 0.0 } else { parameters.floor },
            is_printed,
        };
        let portion = Change { old: 0.0, new: source.portion(1.0 / connection.subflows as f64) };
        let first = Probe {
            portion,
            rate: Change::default(),
            bottlenecks: Positions::default(),
            level: f64::INFINITY,
            setter: NONE,
            reserved: if is_printed { 0.0 } else { connection.reserved.0 / connection.claim },
            is_leave: false,
            round: 0,
        };
        source.subflows.resize(connection.subflows, first);
        source
    }

    /// Portion in a packet for this share of the connection's rate.
    fn portion(&self, share: f64) -> f64 {
        let portion = self.claim * share;
        // The printed protocol also sends NaN: 0 / 0 is one of its faults.
        if self.is_printed { portion } else { in_steps(portion).max(LEAST) }
    }

    /// Rate of a subflow by its level and portion.
    fn rate(&self, subflow: &Probe) -> f64 {
        let (portion, level) = (subflow.portion.new, subflow.level);
        match () {
            () if portion == 0.0 => 0.0,
            () if self.is_printed => level * portion,
            () => rate_in_steps(subflow.share(level) * portion),
        }
    }

    fn next_round(&mut self, orders: &mut Orders) {
        // Portions follow rates before these are rounded, so that slow growth is not lost.
        let exact = |s: &Probe| if s.portion.new == 0.0 { 0.0 } else { s.portion.new * s.share(s.level) };
        let total: f64 = self.subflows.iter().map(exact).sum();
        // A connection whose rates are all 0 keeps its portions.
        let is_known = total > 0.0;
        let share = |s: &Probe| (exact(s) / total).max(self.floor);
        let shares = if self.is_printed { 1.0 } else { self.subflows.iter().map(share).sum() };
        for f in 0..self.subflows.len() {
            let subflow = &self.subflows[f];
            orders.grant(f, Rate(subflow.rate.new));
            let new = match () {
                () if self.is_printed => self.portion(exact(subflow) / total),
                () if is_known => self.portion(share(subflow) / shares),
                () => subflow.portion.new,
            };
            let portion = &mut self.subflows[f].portion;
            *portion = Change { old: portion.new, new };
            orders.probe(f, Header::DSlen(self.subflows[f]));
        }
    }

    fn end(&mut self, orders: &mut Orders) {
        for (f, subflow) in self.subflows.iter_mut().enumerate() {
            subflow.portion = Change { old: subflow.portion.new, new: 0.0 };
            subflow.rate.new = 0.0;
            subflow.is_leave = true;
            orders.tell(f, Header::DSlen(*subflow));
        }
        orders.has_left = true;
    }
}

impl SourceControl for Source {
    fn join(&mut self, _: Time, orders: &mut Orders) {
        for (f, subflow) in self.subflows.iter().enumerate() {
            orders.probe(f, Header::DSlen(*subflow));
        }
    }

    fn on_reply(&mut self, _: Time, subflow: usize, header: &Header, orders: &mut Orders) {
        let Header::DSlen(probe) = header else { return };
        if probe.round != self.round || self.subflows[subflow].round != self.round {
            return;
        }
        self.subflows[subflow] = Probe { round: self.round.wrapping_add(1), ..*probe };
        let new = self.rate(probe);
        // Links hold the rate that came back, which the first of them may have set.
        self.subflows[subflow].rate = Change { old: probe.rate.new, new };
        self.returned += 1;
        if self.returned == self.subflows.len() {
            self.returned = 0;
            self.round = self.round.wrapping_add(1);
            if self.is_leaving { self.end(orders) } else { self.next_round(orders) }
        }
    }

    fn leave(&mut self, _: Time, _: &mut Orders) {
        self.is_leaving = true;
    }
}

/// The sums of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Link {
    portion_here: Sum,
    portion_elsewhere: Sum,
    /// Rate of subflows limited elsewhere, in bit/s.
    rate_elsewhere: Sum,
    /// Reserved parts of both, in bit/s.
    reserved_here: Sum,
    reserved_elsewhere: Sum,
    tie: f64,
}

impl Link {
    /// Level of the link for a portion of 1, if the probe's subflow counts among those limited here.
    fn level(&self, capacity: f64, probe: &Probe) -> f64 {
        let portion = probe.portion.new;
        let (here, elsewhere) = (self.portion_here.value(), self.portion_elsewhere.value());
        let (here, all) = (here.max(portion), (here + elsewhere).max(portion));
        if here <= 0.0 {
            return f64::INFINITY;
        }
        let left = (capacity - self.rate_elsewhere.value().max(0.0)).max(0.0);
        if probe.reserved == 0.0 && self.reserves_nothing() {
            return (left / here).max(capacity / all);
        }
        let own = probe.reserved_by(portion);
        let reserved = (self.reserved_here.value().max(own), self.reserved_elsewhere.value().max(0.0));
        above(left, reserved.0, here).max(above(capacity, reserved.0 + reserved.1, all))
    }

    fn reserves_nothing(&self) -> bool {
        (self.reserved_here, self.reserved_elsewhere) == (Sum::default(), Sum::default())
    }

    /// Moves the reserved part of a subflow among those limited elsewhere, or back.
    fn move_reserved(&mut self, probe: &Probe, is_away: bool) {
        if probe.reserved > 0.0 {
            let reserved = probe.reserved_by(probe.portion.new);
            let (from, to) = if is_away {
                (&mut self.reserved_here, &mut self.reserved_elsewhere)
            } else {
                (&mut self.reserved_elsewhere, &mut self.reserved_here)
            };
            from.subtract(reserved);
            to.add(reserved);
        }
    }

    /// Counts the reserved part of a probe that has arrived, in place of the one that it had.
    fn count_reserved(&mut self, probe: &Probe, is_here: bool) {
        if probe.reserved > 0.0 {
            let sum = if is_here { &mut self.reserved_here } else { &mut self.reserved_elsewhere };
            sum.subtract(probe.reserved_by(probe.portion.old));
            if !probe.is_leave {
                self.reserved_here.add(probe.reserved_by(probe.portion.new));
            }
        }
    }

    /// Counts the probe's subflow as limited elsewhere.
    fn give_up(&mut self, position: Position, probe: &mut Probe) {
        self.portion_here.subtract(probe.portion.new);
        self.portion_elsewhere.add(probe.portion.new);
        self.rate_elsewhere.add(probe.rate.new);
        self.move_reserved(probe, true);
        probe.bottlenecks.remove(position);
    }

    /// Sets the probe's level, or leaves it to other links. The subflow is counted among those limited here before.
    fn decide(&mut self, capacity: f64, position: Position, probe: &mut Probe, is_down: bool) {
        let level = self.level(capacity, probe);
        let is_set_here = probe.setter == position && probe.bottlenecks.contains(position);
        if !is_set_here && probe.share(level) >= probe.share(probe.level) * (1.0 - self.tie) {
            return self.give_up(position, probe);
        }
        if is_down || level < probe.level {
            probe.level = level;
        }
        probe.setter = position;
        probe.bottlenecks.insert(position);
        // In its first round the subflow has no rate yet: the first link estimates one, and the others use it.
        if is_down && probe.rate.new == 0.0 && probe.portion.old == 0.0 {
            probe.rate.new = rate_in_steps(probe.portion.new * probe.share(probe.level));
        }
    }
}

impl LinkControl for Link {
    fn on_arrival(&mut self, link: &LinkView, visitor: Visitor, header: &mut Header, _: &mut LinkOrders) {
        let Header::DSlen(probe) = header else { return };
        let is_here = probe.bottlenecks.contains(visitor.position);
        if is_here {
            self.portion_here.subtract(probe.portion.old);
        } else {
            self.portion_elsewhere.subtract(probe.portion.old);
            self.rate_elsewhere.subtract(probe.rate.old);
        }
        self.count_reserved(probe, is_here);
        if probe.is_leave {
            return;
        }
        self.portion_here.add(probe.portion.new);
        self.decide(link.capacity.0, visitor.position, probe, true);
    }

    fn on_return(&mut self, link: &LinkView, visitor: Visitor, header: &mut Header, _: &mut LinkOrders) {
        let Header::DSlen(probe) = header else { return };
        if !probe.bottlenecks.contains(visitor.position) {
            self.portion_elsewhere.subtract(probe.portion.new);
            self.rate_elsewhere.subtract(probe.rate.new);
            self.portion_here.add(probe.portion.new);
            self.move_reserved(probe, false);
        }
        self.decide(link.capacity.0, visitor.position, probe, false);
    }

    fn is_clear(&self) -> bool {
        Self { tie: 0.0, ..*self } == Self::default()
    }

    fn account(&self) -> Option<Account> {
        let (rate, here) = (self.rate_elsewhere.steps(), self.portion_here.steps());
        let (reserved_here, reserved_elsewhere) = (self.reserved_here.steps(), self.reserved_elsewhere.steps());
        Some(Account {
            rate,
            here,
            all: here.wrapping_add(self.portion_elsewhere.steps()),
            reserved_here,
            reserved: reserved_here.wrapping_add(reserved_elsewhere),
        })
    }

    fn set_account(&mut self, account: Account) {
        self.rate_elsewhere = Sum::of_steps(account.rate);
        self.portion_here = Sum::of_steps(account.here);
        self.portion_elsewhere = Sum::of_steps(account.all.wrapping_sub(account.here));
        self.reserved_here = Sum::of_steps(account.reserved_here);
        self.reserved_elsewhere = Sum::of_steps(account.reserved.wrapping_sub(account.reserved_here));
    }
}

/// Level of a link that has this much for connections whose reserved parts and portions add up to these.
fn above(left: f64, reserved: f64, portions: f64) -> f64 {
    if left < reserved { left / reserved - 1.0 } else { (left - reserved) / portions }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{alone, visitor};

    const MEGA: f64 = 1e6;

    fn view() -> LinkView<'static> {
        crate::testing::view(10.0 * MEGA)
    }

    /// The first probe of a connection with one subflow.
    fn first() -> Probe {
        Source::new(&Parameters::default(), &alone()).subflows[0]
    }

    fn pass(link: &mut Link, position: Position, probe: &mut Probe) {
        let mut header = Header::DSlen(*probe);
        link.on_arrival(&view(), visitor(0, position), &mut header, &mut LinkOrders::default());
        let Header::DSlen(passed) = header else { panic!("it is still of d-SLEN") };
        *probe = passed;
    }

    /// The next round of a probe that came back and got this rate.
    fn again(probe: Probe, rate: f64) -> Probe {
        let portion = Change { old: probe.portion.new, new: probe.portion.new };
        Probe { portion, rate: Change { old: probe.rate.new, new: rate }, ..probe }
    }

    #[test]
    fn a_link_divides_its_capacity_by_the_portions_it_holds_back() {
        let mut link = Link { tie: 1e-4, ..Link::default() };
        let (mut a, mut b) = (first(), first());
        // a alone: 10. With b: 10 / 2. When a comes by again it is told the same.
        pass(&mut link, 0, &mut a);
        assert!((a.level - 10.0 * MEGA).abs() < 1e-3 && a.setter == 0 && (a.rate.new - 10.0 * MEGA).abs() < 1e-3);
        pass(&mut link, 0, &mut b);
        assert!((b.level - 5.0 * MEGA).abs() < 1e-3);
        let mut a = again(a, 10.0 * MEGA);
        pass(&mut link, 0, &mut a);
        assert!((a.level - 5.0 * MEGA).abs() < 1e-3);
    }

    #[test]
    fn what_others_hold_back_leaves_the_rest_and_leaving_leaves_nothing() {
        let mut link = Link { tie: 1e-4, ..Link::default() };
        // a is held to 2 at the link before, so b gets max(10 - 2, 10 / 2) = 8.
        let mut a = Probe { level: 2.0 * MEGA, setter: 0, rate: Change { old: 0.0, new: 2.0 * MEGA }, ..first() };
        a.bottlenecks.insert(0);
        pass(&mut link, 1, &mut a);
        assert!(!a.bottlenecks.contains(1));
        let mut b = first();
        pass(&mut link, 0, &mut b);
        assert!((b.level - 8.0 * MEGA).abs() < 1e-3);
        for (position, probe) in [(1, a), (0, b)] {
            let mut last = Probe { is_leave: true, ..again(probe, 0.0) };
            pass(&mut link, position, &mut last);
        }
        assert!(link.is_clear());
    }

    #[test]
    fn a_link_of_equal_level_leaves_a_subflow_to_the_setter() {
        // a is held to 10 by the link before. Here 10 are left for it, too: that is the rate it counts with.
        let mut link = Link { tie: 1e-5, ..Link::default() };
        let mut a = Probe { level: 10.0 * MEGA, setter: 0, rate: Change { old: 0.0, new: 10.0 * MEGA }, ..first() };
        a.bottlenecks.insert(0);
        pass(&mut link, 1, &mut a);
        assert!(a.setter == 0 && !a.bottlenecks.contains(1));
        assert!((link.rate_elsewhere.value() - 10.0 * MEGA).abs() < 1e-9);
        // A hundredth less, and this link is the setter.
        let mut b = Probe { level: 10.1 * MEGA, ..a };
        (b.portion.old, b.rate.old) = (1.0, 10.0 * MEGA);
        pass(&mut link, 1, &mut b);
        assert!(b.setter == 1 && (b.level - 10.0 * MEGA).abs() < 1e-3);
    }

    #[test]
    fn portions_sum_to_1_however_many_are_at_the_floor() {
        let view = ConnectionView { subflows: 500, ..alone() };
        let mut source = Source::new(&Parameters { floor: 1e-3, ..Parameters::default() }, &view);
        let mut orders = Orders::default();
        for f in 0..500 {
            // All of it comes over the first.
            let level = if f == 0 { 5.0 * MEGA } else { 0.0 };
            source.on_reply(Time(0), f, &Header::DSlen(Probe { level, ..source.subflows[f] }), &mut orders);
        }
        let portions: Vec<f64> = source.subflows.iter().map(|s| s.portion.new).collect();
        // 1 for the first and a thousandth for 499, divided by 1.499.
        assert!((portions.iter().sum::<f64>() - 1.0).abs() < 1e-12 && (portions[0] - 1.0 / 1.499).abs() < 1e-12);
    }

    #[test]
    fn the_level_grows_only_at_the_link_that_set_it_and_only_on_the_way_down() {
        let mut link = Link { tie: 1e-4, ..Link::default() };
        let (mut a, mut b) = (first(), first());
        pass(&mut link, 0, &mut a);
        pass(&mut link, 0, &mut b);
        // a leaves, and b could have 10; on the way back it is not told so, on the next way down it is.
        let mut last = Probe { is_leave: true, ..again(a, 0.0) };
        pass(&mut link, 0, &mut last);
        let mut header = Header::DSlen(b);
        link.on_return(&view(), visitor(0, 0), &mut header, &mut LinkOrders::default());
        assert_eq!(header, Header::DSlen(b));
        let mut b = again(b, 5.0 * MEGA);
        pass(&mut link, 0, &mut b);
        assert!((b.level - 10.0 * MEGA).abs() < 1e-3);
    }
}
