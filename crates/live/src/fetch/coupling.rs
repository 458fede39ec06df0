//! Several senders as one: each is told how the subflows of the others stand, so that together they take no more of a link
//! that their paths share than the control would that has all of them.
//!
//! Each is told from the beginning, before it sends anything, how many subflows of others there are to be: one for each path
//! of each source that is being reached. So slow starts are shared from the first packet on. A path that has not opened a
//! while after its source was reached does not count any more, and neither does a source that was lost.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anabranch_proto::window::SubflowSnapshot;

use crate::control::{MOST_REMOTE, RemoteSubflow};
use crate::session::Session;

/// How often they are told.
pub const PERIOD: Duration = Duration::from_millis(20);

/// How long a path may take to open from when its source was reached, as long as a path without an answer is kept.
const OPENING: Duration = Duration::from_millis(2400);

/// A subflow that is to be: in slow start, and its round trip is not known.
pub const EXPECTED: SubflowSnapshot =
    SubflowSnapshot { window: 1.0, rtt: 0.0, rank: 0.0, is_starting: true, is_silent: false };

/// A source, as far as others are to know of it.
pub struct Sender<'a> {
    /// Its connection, and since when; `None` while it has none.
    pub session: Option<&'a (Arc<Session>, Instant)>,
    /// Whether it is being reached and was not lost.
    pub is_awaited: bool,
    /// How many paths there are to be.
    pub paths: usize,
    /// The group of each; those that are missing are in group 0.
    pub groups: &'a [u32],
}

impl Sender<'_> {
    /// Its subflows in the groups of their paths: as it has told of them, and those that are to be.
    fn subflows(&self) -> Vec<RemoteSubflow> {
        match self.session {
            Some((session, since)) => {
                let is_opening = since.elapsed() < OPENING;
                subflows(&session.snapshots(), &session.numbers(), self.groups, is_opening)
            }
            None => subflows(&[], &vec![None; self.paths], self.groups, self.is_awaited),
        }
    }
}

/// Tells each source that is connected of all others.
pub fn tell_each(senders: &[Sender<'_>]) {
    let all: Vec<Vec<RemoteSubflow>> = senders.iter().map(Sender::subflows).collect();
    for (source, sender) in senders.iter().enumerate() {
        if let Some((session, _)) = sender.session {
            session.tell_others(&others(&all, source));
        }
    }
}

/// The subflows of a source, of whose paths these are the numbers: those that it has `told` of, and, while paths are opening,
/// one that is expected for each other path.
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

/// Those of all sources but this one; if there are too many, the fastest, for which those count that are not known yet.
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
