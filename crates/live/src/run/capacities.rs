//! The capacities of paths that sources know, as in the simulator: the present capacity of the link that they send
//! over, and the initial capacities of the other links. In a bin of time without opportunities to send, the radio waits
//! for its turn, and the previous rate still holds.

use anabranch_core::{ConnectionId, LinkId, Rate, Time};
use anabranch_plan::Plan;

/// Least capacity of a path at a time, as its source knows it; `None` in an empty bin of opportunities.
pub(super) fn known(plan: &Plan, path: &[LinkId], now: Time) -> Option<Rate> {
    let built = |link: &LinkId| plan.network.link(*link).capacity;
    let (first, others) = path.split_first()?;
    let own = &plan.links[first.index()];
    let before = own.changes.iter().take_while(|(time, _)| *time <= now);
    let present = before.last().map_or_else(|| built(first), |&(_, rate)| rate);
    if present.0 <= 0.0 && own.opportunities.is_some() {
        return None;
    }
    Some(Rate(others.iter().map(|link| built(link).0).fold(present.0, f64::min)))
}

/// Time of the next change of capacity of a link that a connection sends over.
pub(super) fn next_change(plan: &Plan, connection: ConnectionId, now: Time) -> Option<Time> {
    let first = plan.paths.of(connection).filter_map(|path| path.first());
    let next = |link: &LinkId| plan.links[link.index()].changes.iter().map(|(time, _)| *time).find(|time| *time > now);
    first.filter_map(next).min()
}

#[cfg(test)]
mod tests {
    use anabranch_scenario::{NetworkSource, Scenario};

    use super::*;

    #[test]
    fn a_source_sees_its_own_link_change_and_no_other() {
        // 20 Mbit/s until 1 s, then 8, before a link built for 10 that is down from the beginning.
        let text = "[[link]]\nsource = \"a\"\ntarget = \"b\"\ndelay = \"1 ms\"\ncapacity = \"20 Mbit/s\"\n\
                    capacity_changes = [{ at = \"1 s\", capacity = \"8 Mbit/s\" }]\n\
                    [[link]]\nsource = \"b\"\ntarget = \"c\"\ndelay = \"1 ms\"\ncapacity = \"10 Mbit/s\"\n\
                    capacity_changes = [{ at = \"0 s\", capacity = \"1 Mbit/s\" }]\n\
                    [[connection]]\nsource = \"a\"\ntarget = \"c\"\nprotocol = \"lgc\"\n";
        let scenario = Scenario::parse(text).unwrap();
        let Ok(NetworkSource::Inline(network)) = scenario.network() else { panic!("it stands there") };
        let plan = scenario.plan(network.into(), None, &|_| Err("no files".to_owned()), &|_| true).unwrap();
        let path: Vec<LinkId> = plan.paths.of(ConnectionId::new(0)).next().unwrap().to_vec();
        let at = |seconds| known(&plan, &path, Time::from_seconds(seconds).unwrap()).unwrap().0 as u64;
        assert_eq!([at(0.5), at(1.0), at(3.0)], [10_000_000, 8_000_000, 8_000_000]);
        let next = |seconds| next_change(&plan, ConnectionId::new(0), Time::from_seconds(seconds).unwrap());
        assert_eq!([next(0.5), next(1.0)], [Time::from_seconds(1.0), None]);
    }
}
