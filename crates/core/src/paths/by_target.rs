//! The division of pairs among threads by their targets, because the search for one pair uses distances to its target.

use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;
use thiserror::Error;

use super::Paths;
use super::metric::MetricError;
use crate::id::{ConnectionId, NodeId};

/// A callback for progress. Its argument is the number of pairs finished since its last call on the same thread; if it
/// returns false, the search is cancelled.
pub type Progress<'a> = &'a (dyn Fn(usize) -> bool + Sync);

/// The reason why a search for paths failed.
#[derive(Clone, Debug, PartialEq, Error)]
#[allow(missing_docs)]
pub enum SearchError {
    #[error(transparent)]
    Metric(#[from] MetricError),
    #[error("the search for paths was called off before its end; start it again to have them")]
    Cancelled,
}

/// Calls `find(searcher, source, target, paths)` for each pair, which pushes the pair's paths as a connection.
///
/// Pairs with one target are searched consecutively, with `piece` of them between two calls of `progress`. Each thread
/// makes a searcher and keeps it. The paths are in the order of `pairs`, whatever the number of threads.
pub(super) fn by_target<S>(
    pairs: &[(NodeId, NodeId)],
    piece: usize,
    progress: Progress<'_>,
    searcher: impl Fn() -> S + Sync + Send,
    find: impl Fn(&mut S, NodeId, NodeId, &mut Paths) + Sync + Send,
) -> Result<Paths, SearchError> {
    let mut by_target: Vec<usize> = (0..pairs.len()).collect();
    by_target.sort_by_key(|&pair| pairs[pair].1);
    let groups = by_target.chunk_by(|&a, &b| pairs[a].1 == pairs[b].1);
    let pieces: Vec<&[usize]> = groups.flat_map(|group| group.chunks(piece)).collect();

    let cancelled = AtomicBool::new(false);
    let search = |searcher: &mut S, piece: &&[usize]| {
        if cancelled.load(Ordering::Relaxed) {
            return Err(SearchError::Cancelled);
        }
        let mut paths = Paths::new();
        for &pair in *piece {
            let (source, target) = pairs[pair];
            find(searcher, source, target, &mut paths);
        }
        paths.links.shrink_to_fit();
        if !progress(piece.len()) {
            cancelled.store(true, Ordering::Relaxed);
        }
        Ok(paths)
    };
    let found = pieces.par_iter().map_init(searcher, search).collect::<Result<Vec<Paths>, _>>()?;
    if cancelled.into_inner() { Err(SearchError::Cancelled) } else { Ok(in_order(pairs.len(), &pieces, &found)) }
}

/// The paths of all pairs in the order of the pairs; `found[i]` holds those of `pieces[i]`.
fn in_order(pairs: usize, pieces: &[&[usize]], found: &[Paths]) -> Paths {
    let mut places = vec![(0, ConnectionId(0)); pairs];
    for (i, piece) in pieces.iter().enumerate() {
        for (within, &pair) in piece.iter().enumerate() {
            places[pair] = (i, ConnectionId::new(within));
        }
    }
    let mut all = Paths::new();
    all.links.reserve_exact(found.iter().map(|paths| paths.links.len()).sum());
    all.path_offsets.reserve_exact(found.iter().map(Paths::len).sum());
    all.connection_offsets.reserve_exact(pairs);
    for (i, within) in places {
        all.push_connection(found[i].of(within));
    }
    all
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;
    use crate::id::LinkId;

    /// Gives each pair one path of one link, whose number depends on both ends.
    fn number(calls: &mut u32, source: NodeId, target: NodeId, paths: &mut Paths) {
        *calls += 1;
        paths.push_connection([[LinkId(10 * source.0 + target.0)]]);
    }

    fn pairs(count: u32) -> Vec<(NodeId, NodeId)> {
        (0..count).map(|i| (NodeId(i % 7), NodeId(i % 3))).collect()
    }

    #[test]
    fn paths_stand_in_the_order_of_the_pairs() {
        let pairs = pairs(100);
        let paths = by_target(&pairs, 4, &|_| true, || 0, number).unwrap();
        let expected: Vec<LinkId> = pairs.iter().map(|(s, t)| LinkId(10 * s.0 + t.0)).collect();
        assert_eq!(paths.links(), expected);
        assert_eq!(paths.connections(), 100);
    }

    #[test]
    fn progress_counts_every_pair_once() {
        let finished = AtomicUsize::new(0);
        let count = |more: usize| finished.fetch_add(more, Ordering::Relaxed) < usize::MAX;
        by_target(&pairs(100), 8, &count, || 0, number).unwrap();
        assert_eq!(finished.into_inner(), 100);
    }

    #[test]
    fn a_search_called_off_stops_and_says_so() {
        let finished = AtomicUsize::new(0);
        let count = |more: usize| finished.fetch_add(more, Ordering::Relaxed) + more < 100;
        let stopped = by_target(&pairs(10_000), 8, &count, || 0, number);
        assert_eq!(stopped, Err(SearchError::Cancelled));
        assert!(finished.into_inner() < 10_000);
        // This holds also if only the last piece was refused.
        assert_eq!(by_target(&pairs(1), 8, &|_| false, || 0, number), Err(SearchError::Cancelled));
    }
}
