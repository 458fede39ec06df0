//! The paths of a connection: opened one after another, watched, and opened anew after a loss.
//!
//! A client has a path for each pair of a local and a remote address. A path that stays silent is given up, and its
//! pair is tried again while the connection lasts, each second at least. A server sees paths appear and disappear.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};
use tokio_stream::StreamExt;

use crate::control::{MOST_PATHS, Slot};
use crate::quic::{
    Connection, FourTuple, Path, PathError, PathEvent, PathId, PathStats, PathStatus, controller, path_number,
};

/// Time before a path is tried again for which the peer has no room yet, as in the first moments after the handshake.
const SOON: Duration = Duration::from_millis(5);

/// Number of such tries.
const SOON_TRIES: u32 = 400;

/// Time between packets that each end sends on every path as a sign of life. The QUIC library sends them only on idle
/// paths, and may acknowledge packets of one path on another. So a sender could receive nothing on a path that carries
/// its data, and give it up.
const BEAT: Duration = Duration::from_millis(500);

/// The longest wait of the next path for a path that does not answer.
const PATIENCE: Duration = Duration::from_secs(1);

/// Time before a lost path is tried again: at first, and at most.
const BACK_OFF: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(1));

/// The most addresses of a peer that are recorded; later ones replace those without a path.
const MOST_PAIRS: usize = 2 * MOST_PATHS;

/// Counts and state of a path, over all times that it was open.
#[derive(Clone, Debug, PartialEq)]
pub struct PathReport {
    /// Addresses of the path, for readers.
    pub label: String,
    /// Whether the path is open now.
    pub is_open: bool,
    /// Number of times that the path was opened.
    pub openings: u32,
    /// Bytes of UDP payload sent.
    pub sent_bytes: u64,
    /// Bytes of UDP payload received.
    pub received_bytes: u64,
    /// Packets sent.
    pub sent_packets: u64,
    /// Packets that were detected as lost.
    pub lost_packets: u64,
    /// Round trip in seconds.
    pub rtt_s: f64,
    /// Congestion window in bytes.
    pub window_bytes: u64,
}

impl PathReport {
    /// A path that was never open.
    pub fn closed(label: String) -> Self {
        Self {
            label,
            is_open: false,
            openings: 0,
            sent_bytes: 0,
            received_bytes: 0,
            sent_packets: 0,
            lost_packets: 0,
            rtt_s: 0.0,
            window_bytes: 0,
        }
    }
}

/// A pair of addresses, and whether a path is wanted between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressPair {
    /// Address of this end; `None` if the system chooses it.
    pub local: Option<IpAddr>,
    /// Address and port of the other end.
    pub remote: SocketAddr,
    /// Whether a path is wanted between them.
    pub is_wanted: bool,
    /// Whether the path carries data only while no other is open.
    pub is_backup: bool,
}

/// A pair of addresses, with the paths that existed between them.
struct PairPaths {
    local: Option<IpAddr>,
    remote: SocketAddr,
    /// Addresses of the pair, for readers.
    label: String,
    /// Local address, for readers: not that of a stand-in.
    shown: Option<IpAddr>,
    /// Whether a path is wanted between them.
    is_wanted: bool,
    /// Whether the path carries data like others, or only while no other is open.
    status: PathStatus,
    /// The latest path.
    path: Option<Path>,
    is_open: bool,
    openings: u32,
    /// Counts of earlier paths.
    before: Counts,
    /// Number of failed tries since the path was last open.
    failures: u32,
    /// Time of the next try; `None` while there is a path.
    due: Option<Instant>,
}

#[derive(Clone, Copy, Default)]
struct Counts {
    sent_bytes: u64,
    received_bytes: u64,
    sent_packets: u64,
    lost_packets: u64,
}

impl Counts {
    fn with(self, stats: &PathStats) -> Self {
        Self {
            sent_bytes: self.sent_bytes + stats.udp_tx.bytes,
            received_bytes: self.received_bytes + stats.udp_rx.bytes,
            sent_packets: self.sent_packets + stats.sent_packets,
            lost_packets: self.lost_packets + stats.lost_packets,
        }
    }
}

impl PairPaths {
    fn new(local: Option<IpAddr>, remote: SocketAddr) -> Self {
        let known = local.filter(|local| !local.is_unspecified());
        Self {
            local,
            remote,
            label: known.map_or_else(|| remote.to_string(), |local| format!("{local} - {remote}")),
            shown: known,
            is_wanted: true,
            status: PathStatus::Available,
            path: None,
            is_open: false,
            openings: 0,
            before: Counts::default(),
            failures: 0,
            due: None,
        }
    }

    /// Records that a path begins.
    fn begin(&mut self, path: Path) {
        if let Some(last) = self.path.replace(path) {
            self.before = self.before.with(&last.stats());
        }
        self.due = None;
    }

    /// Tells the log of the path, if one is kept, between which addresses it runs.
    fn tell_addresses(&self, connection: &Connection) {
        if let Some(path) = &self.path
            && let Some(slot) = controller::<Slot>(connection, path.id())
            && let Some(log) = slot.log()
            && let Ok(between) = path.network_path()
        {
            log.assigned(self.shown.or(between.local_ip()), between.remote());
        }
    }

    fn is_of(&self, id: PathId) -> bool {
        self.path.as_ref().is_some_and(|path| path.id() == id)
    }

    fn report(&self) -> PathReport {
        let stats = self.path.as_ref().map(Path::stats).unwrap_or_default();
        let counts = self.before.with(&stats);
        // The other end may move, as behind a NAT.
        let moved = self.path.as_ref().filter(|_| self.is_open && self.local.is_none());
        let remote = moved.and_then(|path| path.remote_address().ok());
        PathReport {
            label: remote.map_or_else(|| self.label.clone(), |remote| remote.to_string()),
            is_open: self.is_open,
            openings: self.openings,
            sent_bytes: counts.sent_bytes,
            received_bytes: counts.received_bytes,
            sent_packets: counts.sent_packets,
            lost_packets: counts.lost_packets,
            rtt_s: stats.rtt.as_secs_f64(),
            window_bytes: stats.cwnd,
        }
    }
}

/// The paths of a connection.
#[derive(Clone)]
pub(crate) struct Paths {
    connection: Connection,
    pairs: Arc<Mutex<Vec<PairPaths>>>,
    is_client: bool,
    /// Signal that other paths are wanted.
    change: Arc<Notify>,
}

impl Paths {
    /// The paths of a client over these pairs; the first wanted one is open already. `stand_ins` has the real addresses
    /// of local stand-ins.
    pub(crate) fn of_client(
        connection: Connection,
        pairs: Vec<AddressPair>,
        stand_ins: &[(IpAddr, SocketAddr)],
    ) -> Self {
        let paths_of = |AddressPair { local, remote, is_wanted, is_backup }| {
            let own = PairPaths::new(local, remote);
            let status = if is_backup { PathStatus::Backup } else { PathStatus::Available };
            let address = stand_ins.iter().find(|(name, _)| Some(*name) == local).map(|(_, address)| address);
            let label = address.map_or_else(|| own.label.clone(), |address| format!("{address} - {remote}"));
            let shown = address.map_or(own.shown, |address| Some(address.ip()));
            PairPaths { label, shown, is_wanted, status, due: is_wanted.then(Instant::now), ..own }
        };
        Self::new(connection, pairs.into_iter().map(paths_of).collect(), true)
    }

    /// The paths of a server, which its client opens.
    pub(crate) fn of_server(connection: Connection, remote: SocketAddr) -> Self {
        Self::new(connection, vec![PairPaths::new(None, remote)], false)
    }

    fn new(connection: Connection, mut pairs: Vec<PairPaths>, is_client: bool) -> Self {
        let first = pairs.iter_mut().find(|pair| pair.is_wanted);
        if let (Some(pair), Some(path)) = (first, connection.path(PathId::ZERO)) {
            pair.begin(path);
            (pair.is_open, pair.openings) = (true, 1);
            pair.tell_addresses(&connection);
        }
        Self { connection, pairs: Arc::new(Mutex::new(pairs)), is_client, change: Arc::default() }
    }

    pub(crate) fn report(&self) -> Vec<PathReport> {
        self.lock().iter().map(PairPaths::report).collect()
    }

    /// Slot of each pair in the control of the connection; `None` for pairs without a path.
    pub(crate) fn slots(&self) -> Vec<Option<usize>> {
        let of = |pair: &PairPaths| slot(&self.connection, pair.path.as_ref().filter(|_| pair.is_open)?.id());
        self.lock().iter().map(of).collect()
    }

    /// Number in QUIC and slot of each open path.
    pub(crate) fn numbered_slots(&self) -> Vec<(u32, usize)> {
        let of = |pair: &PairPaths| {
            let path = pair.path.as_ref().filter(|_| pair.is_open)?.id();
            Some((path_number(path)?, slot(&self.connection, path)?))
        };
        self.lock().iter().filter_map(of).collect()
    }

    /// Number of each pair's path in QUIC, the same at both ends; `None` for pairs without a path.
    pub(crate) fn numbers(&self) -> Vec<Option<u32>> {
        let of = |pair: &PairPaths| path_number(pair.path.as_ref().filter(|_| pair.is_open)?.id());
        self.lock().iter().map(of).collect()
    }

    /// The open paths, each with its local address, if that is known, and its remote address.
    pub(crate) fn open(&self) -> Vec<(PathId, Option<IpAddr>, SocketAddr)> {
        let of = |pair: &PairPaths| {
            let path = pair.path.as_ref().filter(|_| pair.is_open)?;
            let between = path.network_path().ok()?;
            Some((path.id(), between.local_ip(), between.remote()))
        };
        self.lock().iter().filter_map(of).collect()
    }

    /// Sets whether a path of a pair is wanted.
    pub(crate) fn want(&self, index: usize, is_wanted: bool) {
        if let Some(pair) = self.lock().get_mut(index).filter(|pair| pair.is_wanted != is_wanted) {
            pair.is_wanted = is_wanted;
            pair.failures = 0;
            pair.due = (is_wanted && !pair.is_open).then(Instant::now);
        }
        self.change.notify_one();
    }

    /// Closes open paths that are not wanted; the last path stays until there is another.
    fn close_unwanted(&self) {
        for pair in self.lock().iter().filter(|pair| pair.is_open && !pair.is_wanted) {
            if let Some(path) = &pair.path {
                // A failed close is tried again after the next change.
                let _ = path.close();
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<PairPaths>> {
        self.pairs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens wanted paths and watches them, until the connection ends.
    pub(crate) async fn keep(self) {
        let mut events = self.connection.path_events();
        // The pair that is being opened, and the time until which the next one waits for it.
        let mut opening: Option<(usize, Instant)> = None;
        let mut beat = tokio::time::interval(BEAT);
        loop {
            self.close_unwanted();
            let now = Instant::now();
            opening = opening.filter(|&(pair, until)| until > now && self.is_opening(pair));
            if opening.is_none() {
                opening = self.open_next(now).await.map(|pair| (pair, now + PATIENCE));
            }
            let wake = opening.map(|(_, until)| until).or_else(|| self.next_due());
            tokio::select! {
                event = events.next() => match event {
                    Some(Ok(event)) => self.on_event(&event),
                    Some(Err(_)) => self.look_for_lost(),
                    None => return,
                },
                () = sleep_until(wake.unwrap_or(now + PATIENCE)) => {}
                () = self.change.notified() => {}
                _ = beat.tick() => self.beat(),
                _ = self.connection.closed() => return,
            }
        }
    }

    fn beat(&self) {
        for path in self.lock().iter().filter_map(|pair| pair.path.as_ref().filter(|_| pair.is_open)) {
            // An event reports a path that is closed just now.
            let _ = path.ping();
        }
    }

    fn is_opening(&self, pair: usize) -> bool {
        let pair = &self.lock()[pair];
        !pair.is_open && pair.due.is_none()
    }

    fn next_due(&self) -> Option<Instant> {
        self.lock().iter().filter_map(|pair| pair.due).min()
    }

    /// Tries the first pair that is due; returns it if a path has begun there.
    async fn open_next(&self, now: Instant) -> Option<usize> {
        let (index, local, remote, status) = {
            let pairs = self.lock();
            let is_due = |pair: &PairPaths| pair.due.is_some_and(|due| due <= now);
            let index = pairs.iter().position(is_due)?;
            (index, pairs[index].local, pairs[index].remote, pairs[index].status)
        };
        let opening = self.connection.open_path(FourTuple::new(remote, local), status);
        let path = opening.path_id().and_then(|id| self.connection.path(id));
        // The attempt has failed at once, or events will report its outcome.
        let error = if path.is_none() { opening.await.err() } else { None };
        let pair = &mut self.lock()[index];
        if let Some(path) = path {
            pair.begin(path);
            return Some(index);
        }
        let is_early = matches!(error, Some(PathError::RemoteCidsExhausted | PathError::MaxPathIdReached));
        let wait = if is_early && pair.failures < SOON_TRIES { SOON } else { BACK_OFF.1 };
        pair.failures += 1;
        pair.due = Some(now + wait);
        None
    }

    fn on_event(&self, event: &PathEvent) {
        match event {
            PathEvent::Established { id, .. } => self.on_open(*id),
            // What the client says of its paths is so for the server, too.
            PathEvent::RemoteStatus { id, status, .. } => {
                if let Some(path) = self.connection.path(*id).filter(|_| !self.is_client) {
                    let _ = path.set_status(*status);
                }
            }
            PathEvent::Abandoned { id, .. } => {
                if let Some(pair) = self.lock().iter_mut().find(|pair| pair.is_of(*id)) {
                    lose(pair, self.is_client);
                }
            }
            _ => {}
        }
    }

    fn on_open(&self, id: PathId) {
        let mut pairs = self.lock();
        if !self.is_client
            && let Some(path) = self.connection.path(id)
            && let Ok(remote) = path.remote_address()
        {
            place(&mut pairs, remote).begin(path);
        }
        if let Some(pair) = pairs.iter_mut().find(|pair| pair.is_of(id)) {
            (pair.is_open, pair.failures) = (true, 0);
            pair.openings += 1;
            pair.tell_addresses(&self.connection);
            if self.is_client
                && pair.status == PathStatus::Backup
                && let Some(path) = &pair.path
            {
                // The server hears of a change alone. An event reports a path that is closed just now.
                let _ = path.set_status(PathStatus::Available);
                let _ = path.set_status(PathStatus::Backup);
            }
        }
    }

    /// Looks for lost paths after events were missed.
    fn look_for_lost(&self) {
        for pair in self.lock().iter_mut() {
            if pair.path.as_ref().is_some_and(|path| path.remote_address().is_err()) && pair.due.is_none() {
                lose(pair, self.is_client);
            }
        }
    }
}

/// The slot of a path in the control of its connection; `None` if it has none.
pub(crate) fn slot(connection: &Connection, path: PathId) -> Option<usize> {
    controller::<Slot>(connection, path)?.number()
}

/// Records that the path of a pair is lost.
fn lose(pair: &mut PairPaths, is_client: bool) {
    pair.is_open = false;
    if is_client && pair.is_wanted {
        let wait = BACK_OFF.0.saturating_mul(1 << pair.failures.min(8)).min(BACK_OFF.1);
        pair.failures += 1;
        pair.due = Some(Instant::now() + wait);
    }
}

/// The record of a server for packets from an address.
fn place(pairs: &mut Vec<PairPaths>, remote: SocketAddr) -> &mut PairPaths {
    let known = pairs.iter().position(|pair| pair.remote == remote && !pair.is_open);
    let is_full = pairs.len() >= MOST_PAIRS;
    let index = known.or_else(|| pairs.iter().position(|pair| is_full && !pair.is_open)).unwrap_or(pairs.len());
    if index == pairs.len() {
        pairs.push(PairPaths::new(None, remote));
    } else if pairs[index].remote != remote {
        pairs[index] = PairPaths::new(None, remote);
    }
    &mut pairs[index]
}

/// Number in QUIC and group of each open path.
pub(crate) fn numbered(numbers: &[Option<u32>], groups: &[u32]) -> Vec<(u32, u32)> {
    let all = numbers.iter().enumerate();
    all.filter_map(|(path, number)| Some(((*number)?, groups.get(path).copied().unwrap_or(0)))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_comes_back_under_another_number_is_told_with_its_group() {
        // The second path was number 1, is gone, and has come back as number 3.
        assert_eq!(numbered(&[Some(0), Some(1), Some(2)], &[4, 5]), [(0, 4), (1, 5), (2, 0)]);
        assert_eq!(numbered(&[Some(0), None, Some(2)], &[4, 5]), [(0, 4), (2, 0)]);
        assert_eq!(numbered(&[Some(0), Some(3), Some(2)], &[4, 5]), [(0, 4), (3, 5), (2, 0)]);
    }
}
