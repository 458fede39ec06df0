//! The link of d-SLEN as it is printed, in doubles: procedures 6 to 8 and function 4 of [ludena2021].
//!
//! For comparison only: it may overload links, starve subflows, and grant what is no number. `d_slen.rs` says why.
//!
//! differs: links without a limit take no part, where the paper has links of infinite capacity that compute infinite levels.
//! Where a quotient of Function 4 is no number (0 / 0), the greater of it and x is x.

use crate::control::{LinkControl, LinkOrders, LinkView, Position, Visitor};
use crate::packet::Header;
use crate::protocols::d_slen::Probe;

/// The sums of table 6.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct PrintedLink {
    /// `p_l`.
    portion_here: f64,
    /// `p'_l`.
    portion_elsewhere: f64,
    /// `t_l`.
    rate_elsewhere: f64,
}

impl PrintedLink {
    /// Function 4.
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

    /// Lines 3 to 15 and 20 to 31 of procedure 6; those of procedure 7 alike.
    fn decide(&mut self, capacity: f64, position: Position, probe: &mut Probe, is_down: bool) {
        let level = self.level(capacity);
        let was_bottleneck = probe.bottlenecks.contains(position);
        let is_only = was_bottleneck && probe.bottlenecks.len() == 1;
        // The two tests differ when something is no number, and so does what is printed.
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

/// Line 21 of procedure 6.
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
        // What rounding leaves is not a connection.
        let sums = [self.portion_here, self.portion_elsewhere, self.rate_elsewhere];
        sums.iter().all(|sum| sum.abs() < 1e-6)
    }
}
