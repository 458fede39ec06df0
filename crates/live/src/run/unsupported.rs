//! Parts of plans that live runs do not support.

use std::collections::BTreeSet;

use anabranch_agents::serves;
use anabranch_core::{ConnectionId, Time};
use anabranch_plan::Plan;
use anabranch_proto::Protocol;

use crate::control::{MOST_PATHS, Unsuited, check};

/// All reasons why a plan cannot be run live; empty if it can.
pub fn unsupported(plan: &Plan) -> Vec<String> {
    let mut reasons: Vec<String> =
        plan.protocols.iter().filter(|protocol| !serves(protocol)).filter_map(refusal).collect();
    let name = |id: ConnectionId| &plan.demands.connections()[id.index()].name;
    if plan.filters.is_some() {
        reasons.push("packets follow filters, and QUIC has none; leave `[filters]` out".to_owned());
    }
    for fetch in &plan.fetches {
        let name = name(fetch.connection);
        reasons.push(format!(
            "the target of connection `{name}` asks `sources` for data, and there the target keeps the windows; QUIC \
             keeps them at the source"
        ));
    }
    if !plan.run.data {
        reasons.push("`run.data` is false, and a live run is nothing but data".to_owned());
    }
    for id in (0..plan.transfers.len()).map(ConnectionId::new) {
        let paths = plan.paths.of(id).count();
        if paths > MOST_PATHS {
            let name = name(id);
            reasons.push(format!("connection `{name}` has {paths} paths; a live one may have {MOST_PATHS}"));
        }
        if let Some(time) = without_paths(plan, id) {
            let name = name(id);
            reasons.push(format!(
                "connection `{name}` may use no path at {} s, and QUIC always needs one",
                time.seconds()
            ));
        }
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
