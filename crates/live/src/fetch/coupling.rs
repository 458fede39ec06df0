//! Coupling of several senders: each receives snapshots of the others' subflows, so that together they take no more of
//! a shared link than one control with all subflows would.
//!
//! Each sender learns from the beginning, before it sends, how many remote subflows are expected: one for each path of
//! each source that is being connected. So slow starts are shared from the first packet on. A path that does not open
//! within some seconds after its source was connected no longer counts, and neither does a source that was lost.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anabranch_proto::window::SubflowSnapshot;

use crate::control::{MOST_REMOTE, RemoteSubflow};
use crate::session::Session;

/// Time between reports to the senders.
pub const PERIOD: Duration = Duration::from_millis(20);

/// The longest time from the connection of a source until a path opens, as long as a path without an answer is kept.
pub const OPENING: Duration = Duration::from_millis(2400);

/// Snapshot of an expected subflow: in slow start, with an unknown round trip.
pub const EXPECTED: SubflowSnapshot =
    SubflowSnapshot { window: 1.0, rtt: 0.0, rank: 0.0, is_starting: true, is_silent: false };

/// A source as other senders see it.
pub struct Sender<'a> {
    /// Session with the source, and the time since which it lasts; `None` while there is none.
    pub session: Option<&'a (Arc<Session>, Instant)>,
    /// Whether the source is being connected and was not lost.
    pub is_awaited: bool,
    /// Number of expected paths.
    pub paths: usize,
    /// Group of each path; missing paths are in group 0.
    pub groups: Vec<u32>,
}

impl Sender<'_> {
    /// Subflows of the source with the groups of their paths: those in its snapshots, and those that are expected.
    fn subflows(&self) -> Vec<RemoteSubflow> {
        match self.session {
            Some((session, since)) => {
                let is_opening = since.elapsed() < OPENING;
                subflows(&session.snapshots(), &session.numbers(), &self.groups, is_opening)
            }
            None => subflows(&[], &vec![None; self.paths], &self.groups, self.is_awaited),
        }
    }
}

/// Tells each connected source the subflows of all other sources.
pub fn tell_each(senders: &[Sender<'_>]) {
    let all: Vec<Vec<RemoteSubflow>> = senders.iter().map(Sender::subflows).collect();
    for (source, sender) in senders.iter().enumerate() {
        if let Some((session, _)) = sender.session {
            session.tell_others(&others(&all, source));
        }
    }
}

/// The subflows of a source whose paths have these numbers: those in its snapshots `told`, and, while paths are
/// opening, an expected one for each other path.
pub fn subflows(
    told: &[(u32, SubflowSnapshot)],
    numbers: &[Option<u32>],
    groups: &[u32],
    is_opening: bool,
) -> Vec<RemoteSubflow> {
    let of = |(path, number): (usize, &Option<u32>)| {
        let known = told.iter().find(|(path, _)| Some(*path) == *number).map(|&(_, snapshot)| snapshot);
        let snapshot = known.or_else(|| is_opening.then_some(EXPECTED))?;
        Some(RemoteSubflow { group: groups.get(path).copied().unwrap_or(0), snapshot })
    };
    numbers.iter().enumerate().filter_map(of).collect()
}

/// The subflows of all sources except this one. If there are too many, the fastest are taken; an unknown rate counts as
/// fastest.
pub fn others(all: &[Vec<RemoteSubflow>], source: usize) -> Vec<RemoteSubflow> {
    let rest = all.iter().enumerate().filter(|(other, _)| *other != source);
    let mut others: Vec<RemoteSubflow> = rest.flat_map(|(_, subflows)| subflows.iter().copied()).collect();
    if others.len() > MOST_REMOTE {
        let rate = |other: &RemoteSubflow| other.snapshot.bounded().window / other.snapshot.bounded().rtt;
        others.sort_by(|a, b| rate(b).total_cmp(&rate(a)));
        others.truncate(MOST_REMOTE);
    }
    others
}

#[cfg(test)]
mod tests {
    use anabranch_proto::window::SubflowSnapshot;

    use super::*;

    fn subflow(group: u32, window: f64) -> RemoteSubflow {
        RemoteSubflow {
            group,
            snapshot: SubflowSnapshot { window, rtt: 0.1, rank: 0.0, is_starting: false, is_silent: false },
        }
    }

    #[test]
    fn each_hears_of_all_but_its_own() {
        let all = [vec![subflow(1, 4.0), subflow(2, 5.0)], vec![], vec![subflow(1, 6.0)]];
        let groups = |source| others(&all, source).iter().map(|other| other.snapshot.window).collect::<Vec<_>>();
        assert_eq!([groups(0), groups(1), groups(2)], [vec![6.0], vec![4.0, 5.0, 6.0], vec![4.0, 5.0]]);
    }

    #[test]
    fn subflows_that_are_to_be_count_while_paths_are_opening() {
        let told = [(3, subflow(0, 8.0).snapshot)];
        let windows = |numbers: &[Option<u32>], is_opening| -> Vec<(u32, f64)> {
            let subflows = subflows(&told, numbers, &[5, 6], is_opening);
            subflows.iter().map(|subflow| (subflow.group, subflow.snapshot.window)).collect()
        };
        // The first path has opened, and its source has told of it; the second has not, and the third was not told of.
        let numbers = [Some(3), None, Some(4)];
        assert_eq!(windows(&numbers, true), [(5, 8.0), (6, 1.0), (0, 1.0)]);
        assert_eq!(windows(&numbers, false), [(5, 8.0)]);
        assert_eq!(windows(&[None; 2], true), [(5, 1.0), (6, 1.0)], "a source that is being reached");
    }

    #[test]
    fn of_too_many_the_fastest_count() {
        let slow_first = (1..=40).map(|window| subflow(0, f64::from(window))).collect();
        let heard = others(&[slow_first, vec![]], 1);
        assert_eq!(heard.len(), MOST_REMOTE);
        assert!(heard.iter().all(|other| other.snapshot.window > 8.0));
    }
}
