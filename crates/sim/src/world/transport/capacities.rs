//! Capacities that sources know: the present capacity of the first link of a path, and the initial capacities of the
//! others.
//!
//! A radio knows the rate at which it sends. For links further on, a network tells the capacity that they were built
//! for. Where such a capacity changes, a relay before the link knows it.
//!
//! A link that sends at opportunities has as its rate the bytes of a bin of time. A bin without opportunities is no
//! outage: the radio still has the rate of its modulation, and waits for its turn. So sources hear nothing of empty
//! bins, and keep the rate of the bin before. Real traces have such bins several times a second; a source that took
//! each for a capacity of 0 would restart from its floor as often. A link without opportunities whose capacity falls to
//! 0 has an outage, and its sources hear of it.
//!
//! A link with `capacity_report` has reports in place of its capacity, and sources know the last report.

use anabranch_core::{LinkId, Rate, Time};
use anabranch_plan::Plan;
use anabranch_proto::transport::Source;

use crate::routes::Routes;
use crate::world::World;

/// The subflows whose sources hear of capacities, each with its first link, sorted by link.
pub(super) struct Hearers(Vec<(u32, u32)>);

impl Hearers {
    /// Collects all such subflows of a plan.
    pub fn new(plan: &Plan, routes: &Routes) -> Self {
        let hears = |c: &usize| {
            let capabilities = plan.protocols[plan.transfers[*c].protocol].capabilities();
            capabilities.keeps_windows() && capabilities.hears_capacities
        };
        let own = |c: usize| routes.subflows[c]..routes.subflows[c + 1];
        let first = |s: u32| (routes.path(s as usize)[0], s);
        let mut all: Vec<_> = (0..plan.transfers.len()).filter(hears).flat_map(own).map(first).collect();
        all.sort_unstable();
        Self(all)
    }

    /// The subflows that send over a link.
    fn of(&self, link: u32) -> &[(u32, u32)] {
        let from = self.0.partition_point(|&(l, _)| l < link);
        let until = self.0.partition_point(|&(l, _)| l <= link);
        &self.0[from..until]
    }
}

impl World<'_> {
    /// Tells a source that begins the capacities of its paths, if its protocol wants to know.
    pub(super) fn tell_capacities(&self, c: u32, source: &mut Source) {
        let capabilities = self.plan.protocols[self.plan.transfers[c as usize].protocol].capabilities();
        if capabilities.hears_capacities {
            let own = self.routes.subflows_of(c);
            let first = own.start;
            for s in own {
                if let Some(capacity) = self.known_capacity(s) {
                    source.set_capacity(s - first, capacity);
                }
            }
        }
    }

    /// Tells the sources that send over a link that its capacity has changed.
    pub(in crate::world) fn tell_sources(&mut self, link: u32) {
        for place in 0..self.transport.hearers.of(link).len() {
            let (_, s) = self.transport.hearers.of(link)[place];
            let Some(capacity) = self.known_capacity(s as usize) else { continue };
            let c = self.subflows[s as usize].connection();
            let path = s as usize - self.routes.subflows_of(c).start;
            if let Some(source) = &mut self.transport.endpoints[c as usize].source {
                source.set_capacity(path, capacity);
                self.pump(c, path);
            }
        }
    }

    /// The least capacity of a path as its source knows it, in bit/s; `None` in an empty bin of opportunities.
    fn known_capacity(&self, s: usize) -> Option<Rate> {
        let path = self.routes.path(s);
        let of_network = |link: u32| -> LinkId { self.routes.used[link as usize] };
        let now = self.links.known_capacity(path[0] as usize, Time(self.clock.now())).0;
        if now == 0.0 && self.plan.links[of_network(path[0]).index()].opportunities.is_some() {
            return None;
        }
        let built = |&link: &u32| self.plan.network.link(of_network(link)).capacity.0;
        Some(Rate(path[1..].iter().map(built).fold(now, f64::min)))
    }
}
