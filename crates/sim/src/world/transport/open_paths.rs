//! Paths that open and close while their connection lasts, at set times or because links fail, and the groups of open
//! paths that share links.

use anabranch_core::{ConnectionId, Time};
use anabranch_proto::transport::Source;

use crate::world::World;
use crate::world::clock::Kind;

impl World<'_> {
    /// Schedules the times at which paths open and close, for connections that begin here.
    pub(in crate::world) fn schedule_path_times(&mut self) {
        let plan = self.plan;
        for own in &plan.path_times {
            if !self.shard.has_source(own.connection.0) {
                continue;
            }
            let s = self.routes.subflow(own);
            if own.start > plan.demands.connections()[own.connection.index()].start {
                self.clock.schedule(own.start.0, Kind::Open, s);
            }
            if let Some(stop) = own.stop {
                self.clock.schedule(stop.0, Kind::Close, s);
            }
        }
    }

    /// Schedules the times at which connections that begin here hear that links fail or recover.
    pub(in crate::world) fn schedule_failures(&mut self) {
        let plan = self.plan;
        if plan.assistance.failures_after.is_none() {
            return;
        }
        for c in 0..plan.transfers.len() {
            let keeps_windows = plan.protocols[plan.transfers[c].protocol].capabilities().keeps_windows();
            if !keeps_windows || !self.shard.has_source(c as u32) {
                continue;
            }
            for (path, links) in plan.paths.of(ConnectionId::new(c)).enumerate() {
                let s = self.routes.subflows[c] + path as u32;
                for (time, is_up) in plan.told_failures(links) {
                    self.clock.schedule(time.0, if is_up { Kind::Open } else { Kind::Close }, s);
                }
            }
        }
    }

    /// A path of a connection opens or closes.
    pub(in crate::world) fn on_path_change(&mut self, s: u32) {
        let (c, now) = (self.subflows[s as usize].connection(), Time(self.clock.now()));
        let (id, path) = (ConnectionId(c), s as usize - self.routes.subflows_of(c).start);
        // Fair rates follow the capacities of failed links by themselves; only set times are a change to them.
        let is_of_times = self.plan.path_time(id, path).is_some_and(|time| time.changes_at(now));
        if is_of_times && self.connections[c].is_present() {
            self.connections.note_change();
        }
        let is_usable = self.plan.is_usable(id, path, now);
        let Some(endpoint) = self.transport.endpoints.get_mut(c as usize) else { return };
        let Some(mut source) = endpoint.source.take_if(|source| source.is_open(path) != is_usable) else { return };
        if is_usable {
            source.open(path, now);
        } else {
            source.close(path);
        }
        self.regroup(c, &mut source);
        self.transport.endpoints[c as usize].source = Some(source);
        self.pump(c, path);
    }

    /// The network tells a source which of its open paths share links, if its protocol wants to know.
    pub(super) fn regroup(&mut self, c: u32, source: &mut Source) {
        let plan = self.plan;
        if !plan.protocols[plan.transfers[c as usize].protocol].capabilities().hears_groups() {
            return;
        }
        let search = self.transport.groups.get_or_insert_with(|| Box::new(plan.group_search()));
        let is_open = |path: usize| source.is_open(path);
        let links = |(path, links)| if is_open(path) { links } else { &[][..] };
        let groups = search.groups(plan.paths.of(ConnectionId(c)).enumerate().map(links));
        source.regroup(&groups);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use anabranch_plan::Plan;
    use anabranch_scenario::{NetworkSource, Scenario};

    use super::*;
    use crate::routes::Routes;
    use crate::shard::{Owners, Shard};

    /// A connection over two paths, of which the first closes at 3 s and has links that fail at 1 and 2 s.
    fn plan() -> Plan {
        let link = |ends: [&str; 2], fails: &str| {
            format!(
                "[[link]]\nsource = \"{}\"\ntarget = \"{}\"\ncapacity = \"1 Mbit/s\"\ndelay = \"1 ms\"\n\
                 capacity_changes = [{{ at = \"{fails}\", capacity = \"0 bit/s\" }}]\n",
                ends[0], ends[1]
            )
        };
        let text = link(["a", "x"], "1 s")
            + &link(["x", "b"], "2 s")
            + &link(["a", "b"], "9 s")
            + "[[connection]]\nsource = \"a\"\ntarget = \"b\"\nprotocol = \"lia\"\npaths = [[\"a\", \"x\", \"b\"], [\"a\", \"b\"]]\n\
               path_times = [{ stop = \"3 s\" }, {}]\n[assistance]\nfailures_after = \"0 s\"\n";
        let scenario = Scenario::parse(&text).unwrap();
        let NetworkSource::Inline(network) = scenario.network().unwrap() else { panic!("it is in the text") };
        scenario.plan(Arc::new(network), None, &|_| Err(String::new()), &|_| true).unwrap()
    }

    #[test]
    fn fair_rates_are_computed_anew_for_times_of_paths_and_not_for_failures() {
        let plan = plan();
        let routes = Routes::new(&plan);
        let owners = Owners::alone(&plan, &routes);
        let mut world = World::new(&plan, &routes, Shard::new(&owners, 0));
        let mut after = |seconds: f64| {
            world.serve_until(Time::from_seconds(seconds).unwrap().0, u64::MAX);
            let is_open = world.transport.endpoints[0].source.as_ref().is_some_and(|source| source.is_open(0));
            (world.take_change(), is_open)
        };
        // It joins; its first path closes; that fails once more; that closes by its times too.
        let looks = [0.5, 1.5, 2.5, 3.5].map(&mut after);
        assert_eq!(looks, [(true, true), (false, false), (false, false), (true, false)]);
    }
}
