//! The changes of an agent in words, for its log.

use crate::changes::Change;
use crate::feed::{Heard, Reader};
use crate::shown::Session;

/// The level of a line, as syslog has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Something is wrong.
    Warning = 4,
    /// Something out of the ordinary.
    Notice = 5,
    /// Something ordinary.
    Info = 6,
}

/// The lines of the changes that wait.
pub(crate) fn lines(changes: &mut Reader) -> Vec<(Level, String)> {
    let mut all = Vec::new();
    while let Some(heard) = changes.next_now() {
        match heard {
            Heard::Change(dated) => all.extend(line(&dated.what)),
            Heard::Missed(missed) => all.push((Level::Notice, format!("{missed} changes are left out"))),
        }
    }
    all
}

/// A change in words; none for rates, which change all the time.
fn line(change: &Change) -> Option<(Level, String)> {
    Some(match change {
        Change::Neighbour { node, state: "up" } => (Level::Info, format!("{node} is there")),
        Change::Neighbour { node, state: "held-off" } => {
            (Level::Warning, format!("{node} makes trouble and is held off for some seconds"))
        }
        Change::Neighbour { node, state: "waiting" } => (Level::Notice, format!("{node} is away")),
        Change::Neighbour { node, .. } => (Level::Warning, format!("{node} stays away; sessions do without it")),
        Change::Capacity { link, capacity_bps: Some(0.0) } => (Level::Warning, format!("the link {link} is down")),
        Change::Capacity { link, capacity_bps: Some(bps) } => {
            (Level::Info, format!("the link {link} grants {} Mbit/s", bps / 1e6))
        }
        Change::Capacity { link, capacity_bps: None } => (Level::Info, format!("the link {link} has no limit")),
        Change::Begun { session } => (Level::Info, format!("{} begins", called(session))),
        Change::Ended { number, name } => {
            let name = name.as_ref().map_or_else(String::new, |name| format!(" ({name})"));
            (Level::Info, format!("the session {number}{name} has ended"))
        }
        Change::Renewed { .. } => (Level::Notice, "all links compute their sums anew".to_owned()),
        Change::Certificate { days } => {
            (Level::Warning, format!("the certificate of the agent is valid for {days} days more; issue another"))
        }
        Change::Draining => (Level::Notice, "the agent makes ready to end: it takes no sessions".to_owned()),
        Change::Enforcement { problem: Some(problem) } => {
            (Level::Warning, format!("traffic is not kept to rates as it should be: {problem}"))
        }
        Change::Enforcement { problem: None } => (Level::Info, "traffic is kept to rates again".to_owned()),
        Change::Http { address, is_open: true } => {
            (Level::Warning, format!("it answers by HTTP at {address}, where anybody who reaches it can read"))
        }
        Change::Http { address, is_open: false } => (Level::Info, format!("it answers by HTTP at {address}")),
        Change::Changed { .. } => return None,
    })
}

fn called(session: &Session) -> String {
    let own = session.name.as_ref().map(|name| format!(" ({name})"));
    let whose = own.or_else(|| session.application.as_ref().map(|name| format!(" of {name}"))).unwrap_or_default();
    format!("the session {}{whose} to {}", session.number, session.to)
}
