//! The times at which paths are usable: by their own times, and by the failures of links that connections know of.

use anabranch_core::{ConnectionId, LinkId, Rate, Time};

use crate::{PathTime, Plan};

impl Plan {
    /// The times of a path, given by its number from 0 among those of its connection; `None` if it has the connection's
    /// times.
    pub fn path_time(&self, connection: ConnectionId, path: usize) -> Option<&PathTime> {
        let place = self.path_times.binary_search_by_key(&(connection, path), |time| (time.connection, time.path));
        place.ok().map(|place| &self.path_times[place])
    }

    /// Whether a path of a connection is usable at this time, if the connection is present. This depends on the path's
    /// own times and on the failures of links that the network has reported by then. All connections know the state at
    /// time 0 from the beginning.
    pub fn is_usable(&self, connection: ConnectionId, path: usize, now: Time) -> bool {
        if self.path_time(connection, path).is_some_and(|time| !time.is_open(now)) {
            return false;
        }
        let Some(after) = self.assistance.failures_after else { return true };
        let then = Time(now.0.saturating_sub(after.0));
        let links = self.paths.of(connection).nth(path).unwrap_or_default();
        self.there_and_back(links).all(|link| self.is_up(link, then))
    }

    /// The times at which connections learn that links of a path have failed (false) or returned (true), in order; none
    /// if the network does not inform connections.
    pub fn told_failures(&self, path: &[LinkId]) -> Vec<(Time, bool)> {
        let Some(after) = self.assistance.failures_after else { return Vec::new() };
        let told = |(time, is_up): (Time, bool)| (Time(time.0.saturating_add(after.0)), is_up);
        let mut all: Vec<_> = self.there_and_back(path).flat_map(|link| self.failures(link)).map(told).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// The links of a path and their twins: requests and acknowledgements of a target take the way back.
    fn there_and_back(&self, path: &[LinkId]) -> impl Iterator<Item = LinkId> {
        path.iter().flat_map(|&link| [Some(link), self.network.link(link).twin]).flatten()
    }

    /// Whether a link has a capacity at this time.
    fn is_up(&self, link: LinkId, now: Time) -> bool {
        let (first, changes) = self.capacities(link);
        let last = changes.partition_point(|(time, _)| *time <= now).checked_sub(1);
        last.map_or(first, |last| changes[last].1).0 > 0.0
    }

    /// The times after 0 at which a link fails (false) or returns (true).
    fn failures(&self, link: LinkId) -> impl Iterator<Item = (Time, bool)> {
        let (first, changes) = self.capacities(link);
        let changes = changes.iter().map(|&(time, capacity)| (time, capacity.0 > 0.0));
        let before = std::iter::once(first.0 > 0.0).chain(changes.clone().map(|(_, up)| up));
        changes.zip(before).filter(|((time, up), before)| *time > Time(0) && up != before).map(|(change, _)| change)
    }

    /// The first capacity of a link and later ones, as far as they show failures: a pause between opportunities to send
    /// is not a failure.
    fn capacities(&self, link: LinkId) -> (Rate, &[(Time, Rate)]) {
        let plan = &self.links[link.index()];
        if plan.opportunities.is_some() {
            return (Rate(f64::INFINITY), &[]);
        }
        (self.network.link(link).capacity, &plan.changes)
    }
}
