//! What sources know of the capacities of their paths: that of the link which they send over as it is now, and of the others
//! what it was in the beginning.
//!
//! A radio knows the rate at which it sends; of links further on a network tells what they were built for. Where those
//! change, a relay before them knows.

use anabranch_core::{LinkId, Rate};
use anabranch_proto::transport::Source;
use anabranch_scenario::plan::Plan;

use crate::routes::Routes;
use crate::world::World;

/// The subflows whose sources are told capacities, by the link that they send over.
pub(crate) struct Hearers(Vec<(u32, u32)>);

impl Hearers {
    /// All of a plan.
    pub fn new(plan: &Plan, routes: &Routes) -> Self {
        let hears = |c: &usize| {
            let terms = plan.protocols[plan.transfers[*c].protocol].terms();
            terms.keeps_windows() && terms.hears_capacities
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
    /// Tells a source that begins what its paths can carry, if its protocol wants to know.
    pub(crate) fn tell_capacities(&self, c: u32, source: &mut Source) {
        let terms = self.plan.protocols[self.plan.transfers[c as usize].protocol].terms();
        if terms.hears_capacities {
            let own = self.subflows_of(c);
            let first = own.start;
            own.for_each(|s| source.set_capacity(s - first, self.known_capacity(s)));
        }
    }

    /// The capacity of a link has changed: tells the sources that send over it.
    pub(crate) fn tell_sources(&mut self, link: u32) {
        for place in 0..self.hearers.of(link).len() {
            let (_, s) = self.hearers.of(link)[place];
            let c = self.subflows[s as usize].connection;
            let (path, capacity) = (s as usize - self.subflows_of(c).start, self.known_capacity(s as usize));
            if let Some(source) = &mut self.endpoints[c as usize].source {
                source.set_capacity(path, capacity);
                self.pump(c, path);
            }
        }
    }

    fn known_capacity(&self, s: usize) -> Rate {
        let path = self.routes.path(s);
        let built = |&link: &u32| {
            let link: LinkId = self.routes.used[link as usize];
            self.plan.network.link(link).capacity.0
        };
        let now = self.links.capacity(path[0] as usize, anabranch_core::Time(self.now)).0;
        Rate(path[1..].iter().map(built).fold(now, f64::min))
    }
}
