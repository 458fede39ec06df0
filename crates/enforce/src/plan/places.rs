//! The numbers of sessions and paths: they name marks, classes, rules and tables.

use std::collections::{BTreeMap, BTreeSet};

use super::split::{at_first, carry_over};
use crate::settings::{Path, Session};

/// A session with its numbers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Placed {
    pub session: Session,
    pub number: u32,
    pub ways: Vec<Way>,
    /// The turns of connections: the place of a way for each.
    pub round: Vec<usize>,
}

/// A path with its number, which no other path of any session has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Way {
    pub number: u32,
    pub path: Path,
}

/// Gives numbers from 1 to sessions and paths; those that were there before keep theirs, in whatever order they come. A path
/// that goes has its number for the last time: its class and its rule are still there when those of new paths are made.
pub(crate) fn place(old: &[Placed], sessions: &[Session]) -> Vec<Placed> {
    let before: BTreeMap<&str, &Placed> = old.iter().map(|placed| (placed.session.name.as_str(), placed)).collect();
    let before = |session: &Session| before.get(session.name.as_str()).copied();
    let kept: Vec<Vec<Option<u32>>> = sessions.iter().map(|session| kept(before(session), session)).collect();
    let mut taken: BTreeSet<u32> = ways(old).map(|way| way.number).collect();
    let mut named: BTreeSet<u32> = sessions.iter().filter_map(|session| Some(before(session)?.number)).collect();
    let (mut next_path, mut next_session) = (1, 1);
    sessions
        .iter()
        .zip(kept)
        .map(|(session, kept)| {
            let ways: Vec<Way> = (session.paths.iter().zip(kept))
                .map(|(path, kept)| Way {
                    number: kept.unwrap_or_else(|| free(&mut taken, &mut next_path)),
                    path: path.clone(),
                })
                .collect();
            Placed {
                number: before(session).map_or_else(|| free(&mut named, &mut next_session), |placed| placed.number),
                round: round(before(session), &ways),
                ways,
                session: session.clone(),
            }
        })
        .collect()
}

/// The numbers of a session's paths that were there before. Where paths are alike, those at the same place are the same.
fn kept(before: Option<&Placed>, session: &Session) -> Vec<Option<u32>> {
    let mut ways: Vec<Option<&Way>> = before.map(|placed| placed.ways.iter().map(Some).collect()).unwrap_or_default();
    let mut numbers = vec![None; session.paths.len()];
    for (place, path) in session.paths.iter().enumerate() {
        if let Some(way) = ways.get_mut(place).and_then(|way| way.take_if(|way| way.path == *path)) {
            numbers[place] = Some(way.number);
        }
    }
    for (number, path) in numbers.iter_mut().zip(&session.paths).filter(|(number, _)| number.is_none()) {
        let found = ways.iter_mut().find(|way| way.is_some_and(|way| way.path == *path));
        *number = found.and_then(Option::take).map(|way| way.number);
    }
    numbers
}

/// The turns of connections: those on paths that stay keep them.
fn round(before: Option<&Placed>, ways: &[Way]) -> Vec<usize> {
    let place = |old: &Way| ways.iter().position(|way| way.number == old.number);
    before.map_or_else(
        || at_first(ways.len()),
        |placed| carry_over(&placed.round, &placed.ways.iter().map(place).collect::<Vec<_>>(), ways.len()),
    )
}

/// Takes the first free number from `next` on.
fn free(taken: &mut BTreeSet<u32>, next: &mut u32) -> u32 {
    while !taken.insert(*next) {
        *next += 1;
    }
    *next
}

/// The ways of sessions that others do not have.
pub(crate) fn missing<'a>(of: &'a [Placed], others: &[Placed]) -> Vec<&'a Way> {
    let there: BTreeMap<u32, &Path> = ways(others).map(|way| (way.number, &way.path)).collect();
    ways(of).filter(|way| there.get(&way.number) != Some(&&way.path)).collect()
}

/// All ways of sessions.
pub(crate) fn ways(sessions: &[Placed]) -> impl Iterator<Item = &Way> {
    sessions.iter().flat_map(|placed| &placed.ways)
}
