//! The sender of feedback: the receiving end counts marks on each path, and reports them.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

use super::{Guidance, Marked, Message, PERIOD, REPEAT, Wire};
use crate::control::MOST_PATHS;
use crate::marks::{Counter, Marks};
use crate::paths::Paths;
use crate::quic::{PathId, path_number};

/// The count of marks on a path.
struct PathCount {
    number: u32,
    between: (Option<IpAddr>, SocketAddr),
    /// Counter of the path; `None` while another connection counts there.
    counter: Option<Counter>,
    marked: u64,
}

/// Sends feedback until the connection ends.
pub(crate) async fn send_feedback(wire: impl Wire, paths: Paths, marks: Marks, guidance: Option<Arc<Guidance>>) {
    let mut counts: HashMap<PathId, PathCount> = HashMap::new();
    let (mut last, mut told_at, mut repeat) = (Marked::default(), Instant::now(), REPEAT.0);
    loop {
        count(&mut counts, &paths, &marks, guidance.as_deref());
        let mut marked: Vec<_> = counts.values().map(|count| (count.number, count.marked)).collect();
        marked.sort_unstable();
        // Of more paths than permitted, the oldest may be about to close.
        marked.drain(..marked.len().saturating_sub(MOST_PATHS));
        let onward_bps = guidance.as_ref().and_then(|guidance| guidance.onward_bps());
        let is_new = (last.onward_bps, &last.marked) != (onward_bps, &marked);
        if is_new || told_at.elapsed() >= repeat {
            repeat = if is_new { REPEAT.0 } else { (2 * repeat).min(REPEAT.1) };
            last = Marked { sequence: last.sequence + 1, onward_bps, marked };
            told_at = Instant::now();
            if !wire.send(Message::Marked(last.clone()).encode()) {
                return;
            }
        }
        match &guidance {
            Some(guidance) => drop(tokio::time::timeout(PERIOD, guidance.changed()).await),
            None => tokio::time::sleep(PERIOD).await,
        }
    }
}

/// Updates the counts of all open paths. A closed path never comes back: a path that opens has another number.
fn count(counts: &mut HashMap<PathId, PathCount>, paths: &Paths, marks: &Marks, guidance: Option<&Guidance>) {
    let open = paths.open();
    counts.retain(|id, _| open.iter().any(|(other, ..)| other == id));
    for (id, local, remote) in open {
        let number = || path_number(id).expect("a path has one");
        let between = (local, remote);
        let count =
            counts.entry(id).or_insert_with(|| PathCount { number: number(), between, counter: None, marked: 0 });
        count.marked += count.counter.as_ref().map_or(0, Counter::take);
        if count.between != between {
            (count.between, count.counter) = (between, None);
        }
        if count.counter.is_none() {
            count.counter = marks.count(local, remote);
        }
        if let Some(counter) = &count.counter {
            counter.mark(guidance.map_or(0.0, Guidance::share));
        }
    }
}
