//! Which paths may be used when: by their own times, and by what is told of failed links.

use anabranch_core::{ConnectionId, LinkId, Rate, Time};

use crate::{PathTime, Plan};

impl Plan {
    /// The times of a path, from 0 among those of its connection, if it has any of its own.
    pub fn path_time(&self, connection: ConnectionId, path: usize) -> Option<&PathTime> {
        let place = self.path_times.binary_search_by_key(&(connection, path), |time| (time.connection, time.path));
        place.ok().map(|place| &self.path_times[place])
    }

    /// Whether a path of a connection may be used at this time, if the connection is there: its own times and what the
    /// network has told of failed links by then decide. What is so at time 0 all know from the beginning.
    pub fn is_usable(&self, connection: ConnectionId, path: usize, now: Time) -> bool {
        if self.path_time(connection, path).is_some_and(|time| !time.is_open(now)) {
            return false;
        }
        let Some(after) = self.assistance.failures_after else { return true };
        let then = Time(now.0.saturating_sub(after.0));
        let links = self.paths.of(connection).nth(path).unwrap_or_default();
        self.there_and_back(links).all(|link| self.is_up(link, then))
    }

    /// When connections are told that links of a path have failed (false) or are there again (true), in the order of time;
    /// never if nobody tells them.
    pub fn told_failures(&self, path: &[LinkId]) -> Vec<(Time, bool)> {
        let Some(after) = self.assistance.failures_after else { return Vec::new() };
        let told = |(time, is_up): (Time, bool)| (Time(time.0.saturating_add(after.0)), is_up);
        let mut all: Vec<_> = self.there_and_back(path).flat_map(|link| self.failures(link)).map(told).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// The links of a path and their twins: what a target asks for, or acknowledges, takes the way back.
    fn there_and_back(&self, path: &[LinkId]) -> impl Iterator<Item = LinkId> {
        path.iter().flat_map(|&link| [Some(link), self.network.link(link).twin]).flatten()
    }

    /// Whether a link carries anything at this time.
    fn is_up(&self, link: LinkId, now: Time) -> bool {
        let (first, changes) = self.capacities(link);
        let last = changes.partition_point(|(time, _)| *time <= now).checked_sub(1);
        last.map_or(first, |last| changes[last].1).0 > 0.0
    }

    /// When a link fails (false) or is there again (true), later than at time 0.
    fn failures(&self, link: LinkId) -> impl Iterator<Item = (Time, bool)> {
        let (first, changes) = self.capacities(link);
        let changes = changes.iter().map(|&(time, capacity)| (time, capacity.0 > 0.0));
        let before = std::iter::once(first.0 > 0.0).chain(changes.clone().map(|(_, up)| up));
        changes.zip(before).filter(|((time, up), before)| *time > Time(0) && up != before).map(|(change, _)| change)
    }

    /// The first capacity of a link and later ones, as far as they tell of failures: a pause between opportunities to send
    /// is none.
    fn capacities(&self, link: LinkId) -> (Rate, &[(Time, Rate)]) {
        let plan = &self.links[link.index()];
        if plan.opportunities.is_some() {
            return (Rate(f64::INFINITY), &[]);
        }
        (self.network.link(link).capacity, &plan.changes)
    }
}
