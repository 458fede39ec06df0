//! A line: a connection of one path between a proxy and its exit.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anabranch_core::Rate;
use anabranch_live::PathReport;
use anabranch_live::control::Group;
use anabranch_live::feedback::Guidance;
use anabranch_live::quic::{Connection, ConnectionError, Path, PathId, UdpStats, VarInt};
use anabranch_live::session::Session;
use tokio::sync::watch;

use super::Bundle;
use super::guide::{Next, guide};
use super::terms::Terms;
use crate::flow::schedule::Pace;
use crate::http3::close;
use crate::packets::flows::Datagrams;

/// What is known of a line before its first round trip.
const FIRST: Pace =
    Pace { rtt: Duration::from_millis(100), jitter: Duration::from_millis(50), window: 14_720, queued: 0 };

/// The code with which a line is closed that another replaces.
const SILENT: u32 = 0x616e_6100;

/// Bytes that wait in a connection before its window: a part of the window. What waits there waits for this line alone.
const BUFFERED: u64 = 4;

/// Least number of bytes that a connection takes.
const LEAST_BUFFERED: u64 = 8 << 10;

/// Bytes of small messages that a connection takes beyond these.
const SMALL: u64 = 64 << 10;

/// Bytes of the headers of IPv4 and UDP.
const HEADERS: u64 = 28;

/// Numbers of lines, over all bundles.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// A line at one end.
pub(crate) struct Line {
    /// Number among the lines of its bundle, which its successor has too.
    pub number: u8,
    /// A number that no other line of this process has.
    pub id: u64,
    session: Arc<Session>,
    /// Number of datagrams with packets, in both directions.
    packets: Arc<AtomicU64>,
    pace: Mutex<Pace>,
    terms: Mutex<Terms>,
    /// Number of small messages that pass others now. It is locked while the room for them changes.
    passing: Mutex<usize>,
    is_doubted: watch::Sender<bool>,
}

impl Line {
    /// The line of a connection.
    pub fn new(number: u8, terms: Terms, session: Arc<Session>, packets: Arc<AtomicU64>) -> Arc<Self> {
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let (pace, terms) = (Mutex::new(FIRST), Mutex::new(terms));
        let (passing, is_doubted) = (Mutex::default(), watch::channel(false).0);
        let line = Self { number, id, session, packets, pace, terms, passing, is_doubted };
        line.measure();
        Arc::new(line)
    }

    /// The connection.
    pub fn quic(&self) -> &Connection {
        self.session.connection()
    }

    /// The path of the connection.
    pub fn path(&self) -> Option<Path> {
        self.quic().path(PathId::ZERO)
    }

    /// Counts and state of the path.
    pub fn report(&self) -> Option<PathReport> {
        self.session.paths().into_iter().next()
    }

    /// Bytes on links that have passed in both directions, with the headers of IPv4 and UDP.
    pub fn carried(&self) -> u64 {
        let Some(stats) = self.path().map(|path| path.stats()) else { return 0 };
        let of = |udp: UdpStats| udp.bytes + HEADERS * udp.datagrams;
        of(stats.udp_tx) + of(stats.udp_rx)
    }

    /// The round trip and the window of the line as they count where a line is chosen; its connection is full, if it takes
    /// nothing now.
    pub fn weighed(&self, is_full: bool) -> Pace {
        let pace = self.pace();
        self.terms().weigh(Pace { queued: if is_full { pace.window / BUFFERED } else { 0 }, ..pace })
    }

    /// What the user says of the line.
    pub fn terms(&self) -> Terms {
        *self.terms.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes other terms; whether they differ.
    pub fn set_terms(&self, terms: Terms) -> bool {
        std::mem::replace(&mut *self.terms.lock().unwrap_or_else(PoisonError::into_inner), terms) != terms
    }

    /// The slots of its path in its control.
    pub fn slots(&self) -> impl Iterator<Item = usize> {
        self.session.slots().into_iter().flatten()
    }

    /// The round trip and the window of the line.
    pub fn pace(&self) -> Pace {
        *self.pace.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Measures the line anew, and fits the send buffer to its window.
    pub fn measure(&self) {
        let Some(path) = self.path() else { return };
        let mut pace = self.pace();
        if let Some((rtt, jitter)) = self.session.round_trips().first() {
            (pace.rtt, pace.jitter) = (*rtt, *jitter);
        }
        pace.window = path.stats().cwnd;
        *self.pace.lock().unwrap_or_else(PoisonError::into_inner) = pace;
        self.take_ahead(|_| {});
    }

    /// Takes some bytes more than bulk may fill, until the value is dropped: a small message does not wait for others. Bulk
    /// would fill that room, too, if there were time.
    pub fn let_pass(&self) -> Passes<'_> {
        self.take_ahead(|passing| *passing += 1);
        Passes(self)
    }

    /// Changes the number of small messages that pass, and fits the send buffer to it and to the window.
    fn take_ahead(&self, change: impl FnOnce(&mut usize)) {
        let mut passing = self.passing.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut passing);
        let (window, more) = (self.pace().window, if *passing > 0 { SMALL } else { 0 });
        self.quic().set_send_window((window + window / BUFFERED).max(LEAST_BUFFERED) + more);
    }

    /// Tells the other end what came marked, and of the next loop if there is one; hears the same. Does so until the connection
    /// ends, if the control of either end needs it.
    pub async fn exchange(
        &self,
        bundle: &Bundle,
        (datagrams, others_count): (Datagrams, bool),
        next: Option<impl Fn() -> Next>,
    ) {
        if others_count || bundle.group.counts_marks() {
            let guidance = next.as_ref().map(|_| Arc::<Guidance>::default());
            let telling = self.session.feedback(&bundle.group, (datagrams.sender(), datagrams), guidance.clone());
            let guiding = async {
                if let Some((next, guidance)) = next.zip(guidance) {
                    guide(&guidance, || (next(), bundle.carrying(), self.pace().rtt)).await;
                }
            };
            tokio::join!(telling, guiding);
        }
        std::future::pending::<()>().await;
    }

    /// Number of datagrams with packets that have passed, in both directions.
    pub fn packets(&self) -> u64 {
        self.packets.load(Ordering::Relaxed)
    }

    /// Sets the capacity of the line, which some controls of its group use.
    pub fn set_capacity(&self, group: &Group, capacity: Rate) {
        self.session.set_capacity(group, capacity);
    }

    /// Whether the line is silent though others are not.
    pub fn is_doubted(&self) -> bool {
        *self.is_doubted.borrow()
    }

    /// Notes whether the line is doubted.
    pub fn doubt(&self, is_doubted: bool) {
        self.is_doubted.send_if_modified(|before| std::mem::replace(before, is_doubted) != is_doubted);
    }

    /// Changes of whether the line is doubted.
    pub fn doubts(&self) -> watch::Receiver<bool> {
        self.is_doubted.subscribe()
    }

    /// Lines of lower rank carry data first.
    pub fn rank(&self) -> (bool, bool) {
        (self.is_doubted(), self.terms().is_backup)
    }

    /// Closes the connection, whose bundle goes on.
    pub fn close(&self) {
        close(self.quic(), VarInt::from_u32(SILENT), b"");
    }

    /// Whether the other end has closed the connection for good.
    pub fn was_left(&self) -> bool {
        let reason = self.quic().close_reason();
        matches!(reason, Some(ConnectionError::ApplicationClosed(close)) if close.error_code != VarInt::from_u32(SILENT))
    }
}

/// A small message that passes others.
pub(crate) struct Passes<'a>(&'a Line);

impl Drop for Passes<'_> {
    fn drop(&mut self) {
        self.0.take_ahead(|passing| *passing -= 1);
    }
}
