//! What changes from one state of an agent to the next.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;

use crate::shown::{Session, State};

/// A rate that changes by less than this part has not changed.
const SAME: f64 = 1e-3;

/// A change.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Change {
    /// A neighbour has another state.
    Neighbour {
        /// Its node.
        node: String,
        /// Its state.
        #[schemars(extend("enum" = ["up", "waiting", "given-up", "held-off"]))]
        state: &'static str,
    },
    /// A link of the node has another capacity.
    Capacity {
        /// Its name.
        link: String,
        /// The capacity that is divided, in bit/s; absent without a limit.
        #[serde(skip_serializing_if = "Option::is_none")]
        capacity_bps: Option<f64>,
    },
    /// A session has begun.
    Begun {
        /// The session.
        session: Arc<Session>,
    },
    /// A session has other rates, another state, another demand or other paths.
    Changed {
        /// The session as it is now.
        session: Arc<Session>,
    },
    /// A session has ended.
    Ended {
        /// Its number.
        number: u64,
        /// Its name, if it was one of the agent's own.
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
    /// All links compute their sums anew.
    Renewed {
        /// The generation.
        generation: String,
    },
    /// The certificate of the agent expires soon.
    Certificate {
        /// Days left.
        days: u64,
    },
    /// The agent makes ready to end.
    Draining,
    /// Traffic is not kept to rates as it should be, or it is again.
    Enforcement {
        /// What goes wrong; absent if nothing does any more.
        #[serde(skip_serializing_if = "Option::is_none")]
        problem: Option<String>,
    },
    /// The agent answers by HTTP.
    Http {
        /// Its address.
        #[schemars(with = "String")]
        address: SocketAddr,
        /// Whether other machines can reach it.
        is_open: bool,
    },
}

/// The changes from one state to the next.
pub(crate) fn changes(old: &State, new: &State) -> Vec<Change> {
    let mut all = Vec::new();
    if new.is_draining && !old.is_draining {
        all.push(Change::Draining);
    }
    for (before, neighbour) in old.neighbours.iter().zip(&new.neighbours) {
        if before.state != neighbour.state {
            all.push(Change::Neighbour { node: neighbour.node.clone(), state: neighbour.state });
        }
    }
    if old.generation != new.generation {
        all.push(Change::Renewed { generation: new.generation.clone() });
    }
    let problem = |state: &State| state.enforcement.as_ref().and_then(|enforcement| enforcement.problem.clone());
    if problem(old) != problem(new) {
        all.push(Change::Enforcement { problem: problem(new) });
    }
    let capacities: BTreeMap<&str, _> = old.links.iter().map(|link| (&*link.link, link.capacity_bps)).collect();
    for link in &new.links {
        if capacities.get(&*link.link) != Some(&link.capacity_bps) {
            all.push(Change::Capacity { link: link.link.clone(), capacity_bps: link.capacity_bps });
        }
    }
    let ended = |session: &Arc<Session>| Change::Ended { number: session.number, name: session.name.clone() };
    // Both are in the order of their numbers.
    let mut before = old.sessions.iter().peekable();
    for session in &new.sessions {
        while let Some(gone) = before.next_if(|known| known.number < session.number) {
            all.push(ended(gone));
        }
        match before.next_if(|known| known.number == session.number) {
            None => all.push(Change::Begun { session: session.clone() }),
            Some(known) if !Arc::ptr_eq(known, session) && !is_same(known, session) => {
                all.push(Change::Changed { session: session.clone() });
            }
            Some(_) => {}
        }
    }
    all.extend(before.map(ended));
    all
}

/// Whether nothing about a session has changed that is worth a word.
fn is_same(old: &Session, new: &Session) -> bool {
    let near = |a: f64, b: f64| (a - b).abs() <= SAME * a.max(b);
    (old.state, &old.name, &old.application, old.demand_bps) == (new.state, &new.name, &new.application, new.demand_bps)
        && near(old.weight, new.weight)
        && near(old.reserved_bps, new.reserved_bps)
        && old.paths.len() == new.paths.len()
        && old.paths.iter().zip(&new.paths).all(|(old, new)| {
            (old.works, &old.links, &old.limit) == (new.works, &new.links, &new.limit)
                && near(old.rate_bps, new.rate_bps)
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shown::tests::{session, state};

    /// What changes, in short.
    fn told(old: &[Session], new: &[Session]) -> Vec<String> {
        let short = |change: Change| match change {
            Change::Begun { session } => format!("begun {}", session.number),
            Change::Changed { session } => format!("changed {}", session.number),
            Change::Ended { number, .. } => format!("ended {number}"),
            other => format!("{other:?}"),
        };
        changes(&state(old.to_vec()), &state(new.to_vec())).into_iter().map(short).collect()
    }

    #[test]
    fn sessions_begin_change_and_end_in_the_order_of_their_numbers() {
        let all: Vec<Session> = (1..=5).map(|number| session(number, 1e6)).collect();
        assert!(told(&all, &all).is_empty());
        assert_eq!(told(&[], &all[..2]), ["begun 1", "begun 2"]);
        assert_eq!(told(&all[3..], &[]), ["ended 4", "ended 5"]);
        let new = [all[0].clone(), session(3, 2e6), all[3].clone(), session(6, 1e6)];
        assert_eq!(told(&all, &new), ["ended 2", "changed 3", "ended 5", "begun 6"]);
    }

    #[test]
    fn what_is_worth_a_word_is_told_and_a_tremor_is_not() {
        let old = session(1, 1e6);
        let with = |change: &dyn Fn(&mut Session)| {
            let mut new = old.clone();
            change(&mut new);
            told(std::slice::from_ref(&old), &[new]).len()
        };
        assert_eq!(with(&|new| new.paths[0].rate_bps *= 1.0005), 0);
        assert_eq!(with(&|new| new.paths[0].rate_bps *= 1.01), 1);
        assert_eq!(with(&|new| new.paths[0].works = false), 1);
        assert_eq!(with(&|new| new.paths[0].limit = Some(crate::shown::Limit::Demand)), 1);
        assert_eq!(with(&|new| new.name = Some("late".to_owned())), 1);
        assert_eq!(with(&|new| new.reserved_bps = 1e6), 1);
        assert_eq!(with(&|new| new.demand_bps = Some(1e6)), 1);
    }
}
