//! The receiving end: counts what is marked on each path, and tells.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

use noq::{Connection, PathId, SendDatagramError};

use super::{Guidance, Message, PERIOD, REPEAT};
use crate::marks::{Counter, Marks};
use crate::paths::Paths;

/// The count of a path.
struct Line {
    number: u32,
    between: (Option<IpAddr>, SocketAddr),
    counter: Counter,
    marked: u64,
}

/// Tells until the connection ends.
pub(crate) async fn tell(connection: Connection, paths: Paths, marks: Marks, guidance: Option<Arc<Guidance>>) {
    let mut lines: HashMap<PathId, Line> = HashMap::new();
    let (mut last, mut told_at) = (Message::default(), Instant::now());
    loop {
        count(&mut lines, &paths, &marks, guidance.as_deref());
        let mut marked: Vec<_> = lines.values().map(|line| (line.number, line.marked)).collect();
        marked.sort_unstable();
        let onward_bps = guidance.as_ref().and_then(|guidance| guidance.onward_bps());
        let is_new = (last.onward_bps, &last.marked) != (onward_bps, &marked);
        if is_new || told_at.elapsed() >= REPEAT {
            last = Message { sequence: last.sequence + 1, onward_bps, marked };
            told_at = Instant::now();
            match connection.send_datagram(last.encode().into()) {
                // The next has room, or a path that takes it.
                Ok(()) | Err(SendDatagramError::TooLarge) => {}
                Err(_) => return,
            }
        }
        match &guidance {
            Some(guidance) => drop(tokio::time::timeout(PERIOD, guidance.changed()).await),
            None => tokio::time::sleep(PERIOD).await,
        }
    }
}

/// Brings the counts of all open paths up to date.
fn count(lines: &mut HashMap<PathId, Line>, paths: &Paths, marks: &Marks, guidance: Option<&Guidance>) {
    let open = paths.open();
    lines.retain(|id, _| open.iter().any(|(other, ..)| other == id));
    for (id, local, remote) in open {
        let between = (local, remote);
        let before =
            lines.get(&id).filter(|line| line.between != between).map(|line| line.marked + line.counter.take());
        if before.is_some() || !lines.contains_key(&id) {
            // The old counter goes first, for it may be between the same addresses.
            lines.remove(&id);
            let Some(counter) = marks.count(local, remote) else { continue };
            let number = id.to_string().parse().expect("a path is shown as its number");
            lines.insert(id, Line { number, between, counter, marked: before.unwrap_or(0) });
        }
        if let Some(line) = lines.get_mut(&id) {
            line.marked += line.counter.take();
            line.counter.mark(guidance.map_or(0.0, Guidance::share));
        }
    }
}
