//! The split of a session's connections over its paths: a round of turns, which belong to paths.
//!
//! A new connection takes the next turn and keeps it. Turns follow the rates, and connections go with them: a path whose
//! rate rises from nothing gets connections, and one whose rate ends loses them. Turns stay while they roughly fit the rates.

use std::collections::BTreeSet;

use anabranch_core::lease::FLOOR;

/// The number of turns; those of a path lie as evenly in them as can be, so that few connections use all paths.
pub(crate) const ROUND: usize = 64;

/// The least turns of a path with at least this share of the rate, so that some eight connections use it; fewer where there
/// are more than four paths.
const LEAST: (usize, f64) = (8, 1.0 / 32.0);

/// The turns before any rate is known: all paths are alike.
pub(crate) fn at_first(paths: usize) -> Vec<usize> {
    let all: Vec<usize> = (0..paths).collect();
    interleaved(&all, &turns(&vec![1.0; paths]))
}

/// The turns at rates in bit/s; `None` is a path that does not work. A path below the least rate has no turn if others have
/// more. Without any path that works, connections stay where they are.
pub(crate) fn follow(present: &[usize], rates: &[Option<f64>]) -> Vec<usize> {
    let rate = |path: usize| rates[path].unwrap_or(0.0).max(0.0);
    let is_above = |path: usize| rate(path) >= FLOOR.0;
    let mut works: Vec<usize> = (0..rates.len()).filter(|&path| rates[path].is_some()).collect();
    if works.iter().any(|&path| is_above(path)) {
        works.retain(|&path| is_above(path));
    }
    if works.is_empty() {
        return present.to_vec();
    }
    let turns = turns(&works.iter().map(|&path| rate(path)).collect::<Vec<_>>());
    let has = |path: usize| present.iter().filter(|&&turn| turn == path).count();
    let fits = works.iter().zip(&turns).all(|(&path, &turns)| (turns.div_ceil(2)..=2 * turns).contains(&has(path)));
    if fits && present.iter().all(|path| works.contains(path)) {
        return present.to_vec();
    }
    // Of all places to begin the round, that at which most connections stay.
    let round = interleaved(&works, &turns);
    let stays = |begin: usize| (0..ROUND).filter(|&turn| round[(begin + turn) % ROUND] == present[turn]).count();
    let begin = (0..ROUND).rev().max_by_key(|&begin| stays(begin)).unwrap_or(0);
    (0..ROUND).map(|turn| round[(begin + turn) % ROUND]).collect()
}

/// The turns of a session whose paths have changed: `now` has the place of each path that stays, by its place before.
pub(crate) fn carry_over(present: &[usize], now: &[Option<usize>], paths: usize) -> Vec<usize> {
    let stay: BTreeSet<usize> = now.iter().flatten().copied().collect();
    if stay.is_empty() {
        return at_first(paths);
    }
    let mut others = stay.iter().copied().cycle();
    present.iter().filter_map(|&path| now.get(path).copied().flatten().or_else(|| others.next())).collect()
}

/// The paths that have turns.
pub(crate) fn standing(round: &[usize]) -> BTreeSet<usize> {
    round.iter().copied().collect()
}

/// The numbers of turns in proportion to rates, and not below the least.
fn turns(rates: &[f64]) -> Vec<usize> {
    let total: f64 = rates.iter().sum();
    let share = |index: usize| if total > 0.0 { rates[index] / total } else { 1.0 / rates.len() as f64 };
    let most_least = (ROUND / (2 * rates.len())).clamp(1, LEAST.0);
    let least = |index: usize| if share(index) >= LEAST.1 { most_least } else { 1 };
    let mut turns: Vec<usize> =
        (0..rates.len()).map(|index| ((share(index) * ROUND as f64) as usize).max(least(index))).collect();
    while turns.iter().sum::<usize>() != ROUND {
        let is_short = turns.iter().sum::<usize>() < ROUND;
        // The turn goes to the path that lacks most, or comes from the one that has most above its share.
        let lacks = |index: usize| share(index) * ROUND as f64 - turns[index] as f64;
        let best = (0..rates.len())
            .filter(|&index| is_short || turns[index] > least(index))
            .max_by(|&a, &b| {
                let (a, b) = if is_short { (a, b) } else { (b, a) };
                lacks(a).total_cmp(&lacks(b)).then(b.cmp(&a))
            })
            .expect("the least turns of all paths are half of the round at most");
        turns[best] = if is_short { turns[best] + 1 } else { turns[best] - 1 };
    }
    turns
}

/// Puts turns in an order in which each path has been served in proportion at every time (smooth weighted round robin).
fn interleaved(paths: &[usize], turns: &[usize]) -> Vec<usize> {
    let mut credit = vec![0_i64; paths.len()];
    (0..ROUND)
        .map(|_| {
            for (credit, &turns) in credit.iter_mut().zip(turns) {
                *credit += turns as i64;
            }
            let next = (0..paths.len()).max_by_key(|&index| (credit[index], -(index as i64))).expect("paths are there");
            credit[next] -= ROUND as i64;
            paths[next]
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::option;
    use proptest::prelude::*;

    use super::*;

    fn count(round: &[usize], path: usize) -> usize {
        round.iter().filter(|&&turn| turn == path).count()
    }

    #[test]
    fn equal_rates_take_turns_and_unequal_ones_are_spread() {
        let first = at_first(2);
        assert_eq!(first[..4], [0, 1, 0, 1]);
        let round = follow(&first, &[Some(7e6), Some(1e6)]);
        assert_eq!(count(&round, 1), 8);
        assert!(round.windows(8).all(|turns| count(turns, 1) == 1), "{round:?}");
    }

    #[test]
    fn turns_stay_while_they_roughly_fit() {
        let first = at_first(2);
        assert_eq!(follow(&first, &[Some(5e6), Some(3e6)]), first);
        let moved = follow(&first, &[Some(9e6), Some(1e6)]);
        assert_ne!(moved, first);
        // Most connections stay where they are: of the first path all do.
        assert!((0..ROUND).all(|turn| first[turn] == 1 || moved[turn] == 0), "{moved:?}");
    }

    #[test]
    fn a_path_that_is_away_or_has_nothing_gets_and_keeps_nothing() {
        for none in [None, Some(1e-6), Some(63e3)] {
            let round = follow(&at_first(3), &[none, Some(1e6), Some(1e6)]);
            assert_eq!(standing(&round), [1, 2].into());
            // Once it has a rate it gets connections, too.
            assert_eq!(standing(&follow(&round, &[Some(1e6), Some(1e6), Some(1e6)])), [0, 1, 2].into());
        }
        assert_eq!(standing(&follow(&at_first(2), &[Some(1e3), Some(2e3)])), [0, 1].into());
    }

    #[test]
    fn without_any_path_connections_stay() {
        let round = follow(&at_first(2), &[None, Some(1e6)]);
        assert_eq!(follow(&round, &[None, None]), round);
    }

    #[test]
    fn connections_on_paths_that_stay_keep_them_and_the_others_take_these() {
        let round = follow(&at_first(3), &[Some(1e6), Some(1e6), Some(1e6)]);
        // The first path goes, and the others move up; a new one comes behind them.
        let carried = carry_over(&round, &[None, Some(0), Some(1)], 3);
        assert!((0..ROUND).all(|turn| round[turn] == 0 || carried[turn] + 1 == round[turn]));
        assert_eq!(standing(&carried), [0, 1].into());
        assert_eq!(carry_over(&round, &[None, None, None], 2), at_first(2));
    }

    proptest! {
        #[test]
        fn turns_are_in_proportion_to_rates(rates in vec(option::of(0.0..1e9_f64), 1..=32)) {
            let round = follow(&at_first(rates.len()), &rates);
            prop_assert_eq!(round.len(), ROUND);
            let total: f64 = rates.iter().flatten().filter(|&&rate| rate >= FLOOR.0).sum();
            for (path, rate) in rates.iter().enumerate().filter(|_| total > 0.0) {
                let turns = count(&round, path);
                match rate {
                    // A path below its turns takes turns of others; the round may be twice off before it changes.
                    Some(rate) if *rate >= FLOOR.0 => {
                        prop_assert!(turns >= 1);
                        prop_assert!((turns as f64) < 18.0 + rate / total * 128.0, "{} turns", turns);
                    }
                    _ => prop_assert_eq!(turns, 0),
                }
            }
        }
    }
}
