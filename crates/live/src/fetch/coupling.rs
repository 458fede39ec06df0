//! Several senders as one: each is told how the subflows of the others stand, so that together they take no more of a link
//! that their paths share than the control would that has all of them.

use std::sync::Arc;
use std::time::Duration;

use super::Wanted;
use super::source::numbered;
use crate::control::{MOST_MIRRORED, Mirrored};
use crate::session::Session;

/// How often they are told.
pub const PERIOD: Duration = Duration::from_millis(20);

/// Tells each source that is connected of all others.
pub fn tell_each(sessions: &[Option<Arc<Session>>], wanted: &[Wanted]) {
    let of = |(session, wanted): (&Option<Arc<Session>>, &Wanted)| {
        session.as_ref().map_or_else(Vec::new, |session| subflows(session, &wanted.groups))
    };
    let all: Vec<Vec<Mirrored>> = sessions.iter().zip(wanted).map(of).collect();
    for (source, session) in sessions.iter().enumerate() {
        if let Some(session) = session {
            session.tell_others(&others(&all, source));
        }
    }
}

/// The subflows of a source as it has told of them, one for each path that is open, in the group of that.
fn subflows(session: &Session, groups: &[u32]) -> Vec<Mirrored> {
    let told = session.standings();
    let of = |(number, group)| {
        let standing = told.iter().find(|(path, _)| *path == number).map(|&(_, standing)| standing)?;
        Some(Mirrored { group, standing })
    };
    numbered(&session.numbers(), groups).into_iter().filter_map(of).collect()
}

/// Those of all sources but this one; if there are too many, the fastest, for which those count that are not known yet.
fn others(all: &[Vec<Mirrored>], source: usize) -> Vec<Mirrored> {
    let rest = all.iter().enumerate().filter(|(other, _)| *other != source);
    let mut others: Vec<Mirrored> = rest.flat_map(|(_, subflows)| subflows.iter().copied()).collect();
    if others.len() > MOST_MIRRORED {
        let rate = |other: &Mirrored| other.standing.bounded().window / other.standing.bounded().rtt;
        others.sort_by(|a, b| rate(b).total_cmp(&rate(a)));
        others.truncate(MOST_MIRRORED);
    }
    others
}

#[cfg(test)]
mod tests {
    use anabranch_proto::window::Standing;

    use super::*;

    fn subflow(group: u32, window: f64) -> Mirrored {
        Mirrored { group, standing: Standing { window, rtt: 0.1, rank: 0.0, is_starting: false, is_silent: false } }
    }

    #[test]
    fn each_hears_of_all_but_its_own() {
        let all = [vec![subflow(1, 4.0), subflow(2, 5.0)], vec![], vec![subflow(1, 6.0)]];
        let groups = |source| others(&all, source).iter().map(|other| other.standing.window).collect::<Vec<_>>();
        assert_eq!([groups(0), groups(1), groups(2)], [vec![6.0], vec![4.0, 5.0, 6.0], vec![4.0, 5.0]]);
    }

    #[test]
    fn of_too_many_the_fastest_count() {
        let slow_first = (1..=40).map(|window| subflow(0, f64::from(window))).collect();
        let heard = others(&[slow_first, vec![]], 1);
        assert_eq!(heard.len(), MOST_MIRRORED);
        assert!(heard.iter().all(|other| other.standing.window > 8.0));
    }
}
