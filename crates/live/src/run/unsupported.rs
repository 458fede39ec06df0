//! Parts of plans that live runs do not support.

use std::collections::BTreeSet;

use anabranch_agents::serves;
use anabranch_core::{ConnectionId, Time};
use anabranch_plan::Plan;
use anabranch_proto::Protocol;

use super::sources::paths_by_source;
use crate::control::{MOST_PATHS, MOST_REMOTE, Unsuited, check};

/// All reasons why a plan cannot be run live; empty if it can.
pub fn unsupported(plan: &Plan) -> Vec<String> {
    let mut reasons: Vec<String> =
        plan.protocols.iter().filter(|protocol| !serves(protocol)).filter_map(refusal).collect();
    if plan.filters.is_some() {
        reasons.push("packets follow filters, and QUIC has none; leave `[filters]` out".to_owned());
    }
    if plan.links.iter().any(|link| link.reports.is_some()) {
        reasons.push(
            "links have a `capacity_report`, and live they report their capacities at once; leave it out".to_owned(),
        );
    }
    if !plan.run.data {
        reasons.push("`run.data` is false, and a live run is nothing but data".to_owned());
    }
    reasons.extend((0..plan.transfers.len()).flat_map(|c| unsupported_paths(plan, ConnectionId::new(c))));
    reasons
}

/// The reasons why the paths of a connection cannot be used live.
fn unsupported_paths(plan: &Plan, id: ConnectionId) -> Vec<String> {
    let name = &plan.demands.connections()[id.index()].name;
    let is_fetch = plan.fetch(id).is_some();
    let counts: Vec<usize> = paths_by_source(plan, id).iter().map(|(_, paths)| paths.len()).collect();
    let mut reasons = Vec::new();
    if let Some(most) = counts.iter().max().filter(|&&most| most > MOST_PATHS) {
        let each = if is_fetch { " from one of its sources" } else { "" };
        reasons.push(format!(
            "connection `{name}` has {most} paths{each}; a live one may have {MOST_PATHS}: set `paths` to less"
        ));
    }
    let is_coupled = plan.protocols[plan.transfers[id.index()].protocol].capabilities().is_joint();
    let others = counts.iter().sum::<usize>() - counts.iter().min().unwrap_or(&0);
    if is_fetch && is_coupled && others > MOST_REMOTE {
        reasons.push(format!(
            "a source of connection `{name}` is coupled with {others} paths of other sources, and a live one may be with \
             {MOST_REMOTE}: name fewer `sources`, or set `paths` to less"
        ));
    }
    if let Some(time) = without_paths(plan, id).filter(|_| !is_fetch) {
        reasons.push(format!("connection `{name}` may use no path at {} s, and QUIC always needs one", time.seconds()));
    }
    reasons
}

/// The reason why agents do not support a protocol; `None` if they do.
fn refusal(protocol: &Protocol) -> Option<String> {
    let title = protocol.title();
    match check(protocol).err()? {
        Unsuited::NeedsLinks { .. } => Some(format!(
            "{title} needs links that take part in it; live there are agents in their place, which know d-SLEN as corrected \
             and SLBN"
        )),
        other => Some(other.to_string()),
    }
}

/// Times at which paths of a connection open or close, after it has begun, in order.
pub(super) fn changes(plan: &Plan, id: ConnectionId) -> BTreeSet<Time> {
    let mut times = BTreeSet::new();
    for (path, links) in plan.paths.of(id).enumerate() {
        times.extend(plan.path_time(id, path).into_iter().flat_map(|own| [Some(own.start), own.stop]).flatten());
        times.extend(plan.told_failures(links).into_iter().map(|(time, _)| time));
    }
    times.retain(|time| plan.demands.connections()[id.index()].start < *time);
    times
}

/// The first time at which a connection exists and may use none of its paths.
fn without_paths(plan: &Plan, id: ConnectionId) -> Option<Time> {
    let connection = &plan.demands.connections()[id.index()];
    let end = connection.stop.unwrap_or(Time(plan.run.duration.0)).min(Time(plan.run.duration.0));
    let has_none = |time: &Time| !(0..plan.paths.of(id).count()).any(|path| plan.is_usable(id, path, *time));
    let times = std::iter::once(connection.start).chain(changes(plan, id));
    times.take_while(|time| *time < end).find(has_none)
}
