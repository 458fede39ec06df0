//! The link of d-SLEN as it is printed, in doubles: procedures 6 to 8 and function 4 of [ludena2021].
//!
//! For comparison only: this link may overload, starve subflows, and grant NaN. `d_slen.rs` explains why.
//!
//! differs: links of infinite capacity take no part, where those of the paper compute infinite levels. Where a quotient
//! of Function 4 is NaN (0 / 0), the greater of it and x is x.

use crate::control::{LinkControl, LinkOrders, LinkView, Position, Visitor};
use crate::packet::Header;
use crate::protocols::d_slen::Probe;

/// The sums of table 6 [ludena2021].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct PrintedLink {
    /// Sum `p_l` of portions limited here.
    portion_here: f64,
    /// Sum `p'_l` of portions limited elsewhere.
    portion_elsewhere: f64,
    /// Sum `t_l` of rates limited elsewhere.
    rate_elsewhere: f64,
}

impl PrintedLink {
    /// Level of the link by function 4.
    fn level(&self, capacity: f64) -> f64 {
        let left = capacity - self.rate_elsewhere;
        let least = if left <= 0.0 { 0.0 } else { left / self.portion_here };
        least.max(capacity / (self.portion_here + self.portion_elsewhere))
    }

    fn give_up(&mut self, position: Position, probe: &mut Probe) {
        self.portion_here -= probe.portion.new;
        self.portion_elsewhere += probe.portion.new;
        self.rate_elsewhere += probe.rate.new;
        probe.bottlenecks.remove(position);
    }

    /// Decides by lines 3 to 15 and 20 to 31 of procedure 6, which are alike in procedure 7.
    fn decide(&mut self, capacity: f64, position: Position, probe: &mut Probe, is_down: bool) {
        let level = self.level(capacity);
        let was_bottleneck = probe.bottlenecks.contains(position);
        let is_only = was_bottleneck && probe.bottlenecks.len() == 1;
        // The two tests differ where a value is NaN, as in the printed protocol.
        let objects = if was_bottleneck { level > probe.level && !is_only } else { !matches_or_lowers(level, probe) };
        if objects {
            return self.give_up(position, probe);
        }
        probe.level = level;
        probe.bottlenecks.insert(position);
        if is_down && !was_bottleneck && probe.rate.new == 0.0 {
            probe.rate.new = probe.portion.new * level;
        }
    }
}

/// Condition of line 21 of procedure 6.
fn matches_or_lowers(level: f64, probe: &Probe) -> bool {
    level <= probe.level
}

impl LinkControl for PrintedLink {
    fn on_arrival(&mut self, link: &LinkView, visitor: Visitor, header: &mut Header, _: &mut LinkOrders) {
        let Header::DSlen(probe) = header else { return };
        if probe.bottlenecks.contains(visitor.position) {
            self.portion_here -= probe.portion.old;
        } else {
            self.rate_elsewhere -= probe.rate.old;
            self.portion_elsewhere -= probe.portion.old;
        }
        if !probe.is_leave {
            self.portion_here += probe.portion.new;
            self.decide(link.capacity.0, visitor.position, probe, true);
        }
    }

    fn on_return(&mut self, link: &LinkView, visitor: Visitor, header: &mut Header, _: &mut LinkOrders) {
        let Header::DSlen(probe) = header else { return };
        if !probe.bottlenecks.contains(visitor.position) {
            self.rate_elsewhere -= probe.rate.new;
            self.portion_elsewhere -= probe.portion.new;
            self.portion_here += probe.portion.new;
        }
        self.decide(link.capacity.0, visitor.position, probe, false);
    }

    fn is_clear(&self) -> bool {
        // Sums that rounding leaves are not connections.
        let sums = [self.portion_here, self.portion_elsewhere, self.rate_elsewhere];
        sums.iter().all(|sum| sum.abs() < 1e-6)
    }
}
