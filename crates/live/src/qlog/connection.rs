//! What connections and their paths tell their logs.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{Instant, SystemTime};

use super::Qlog;
use super::record::{Begin, Entry, Metrics, Vantage, What, ms};
use crate::quic::ConnectionError;

/// The log of a connection.
#[derive(Debug)]
pub(crate) struct ConnectionLog {
    qlog: Arc<Qlog>,
    /// Number among the logs of the program.
    number: u64,
    start: Instant,
    /// Number of paths that have begun.
    paths: AtomicU32,
    /// Events that found no room.
    dropped: Arc<AtomicU64>,
    /// Whether the handshake is over.
    is_open: AtomicBool,
    has_ended: AtomicBool,
}

impl ConnectionLog {
    /// Begins the log of a connection with this other end.
    pub(crate) fn begin(qlog: &Arc<Qlog>, vantage: Vantage, remote: SocketAddr) -> Arc<Self> {
        let (number, dropped) = (qlog.next(), Arc::<AtomicU64>::default());
        let begin = Begin { vantage, remote, time: SystemTime::now(), dropped: dropped.clone() };
        let own = Self {
            qlog: qlog.clone(),
            number,
            start: Instant::now(),
            paths: AtomicU32::new(0),
            dropped,
            is_open: AtomicBool::new(false),
            has_ended: AtomicBool::new(false),
        };
        own.put(own.start, None, What::Begin(Box::new(begin)));
        Arc::new(own)
    }

    /// The log of the next path.
    pub(crate) fn path(self: &Arc<Self>) -> PathLog {
        PathLog {
            connection: self.clone(),
            number: self.paths.fetch_add(1, Ordering::Relaxed),
            in_flight: AtomicU64::new(0),
            min_rtt: AtomicU64::new(f64::INFINITY.to_bits()),
            is_recovering: AtomicBool::new(false),
        }
    }

    /// Notes that the handshake is over.
    pub(crate) fn opened(&self) {
        self.is_open.store(true, Ordering::Relaxed);
    }

    /// Notes the end of the connection; only the first end counts.
    pub(crate) fn closed(&self, why: &ConnectionError) {
        self.end(Some(why.clone()));
    }

    fn end(&self, why: Option<ConnectionError>) {
        if !self.has_ended.swap(true, Ordering::Relaxed) {
            self.put(Instant::now(), None, What::Closed(why.map(Box::new)));
        }
    }

    fn put(&self, at: Instant, path: Option<u32>, what: What) {
        self.qlog.queue.put(self.entry(at, path, what));
    }

    fn offer(&self, at: Instant, path: u32, what: What) {
        if !self.qlog.queue.offer(self.entry(at, Some(path), what)) {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn entry(&self, at: Instant, path: Option<u32>, what: What) -> Entry {
        Entry { connection: self.number, at: at.saturating_duration_since(self.start), path, what }
    }
}

impl Drop for ConnectionLog {
    fn drop(&mut self) {
        self.end(None);
    }
}

/// The log of a path, which copies of its controller share.
#[derive(Debug)]
pub(crate) struct PathLog {
    connection: Arc<ConnectionLog>,
    number: u32,
    /// Bytes in flight after the last acknowledgement.
    in_flight: AtomicU64,
    /// Bits of the least round trip in seconds.
    min_rtt: AtomicU64,
    is_recovering: AtomicBool,
}

/// The state of a path after its control has taken acknowledgements. Round trips are in seconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    pub(crate) smoothed_rtt: f64,
    pub(crate) latest_rtt: Option<f64>,
    /// Window in bytes.
    pub(crate) window: u64,
    pub(crate) packets_in_flight: u32,
    /// Pacing rate in bit/s, if the window alone does not limit the path.
    pub(crate) pacing_rate: Option<u64>,
    /// Whether packets that were in flight at the last loss or mark still are.
    pub(crate) is_recovering: bool,
}

impl PathLog {
    /// Notes between which addresses the path runs.
    pub(crate) fn assigned(&self, local: Option<IpAddr>, remote: SocketAddr) {
        self.connection.put(Instant::now(), Some(self.number), What::Assigned { local, remote });
    }

    /// Notes the bytes in flight.
    pub(crate) fn in_flight(&self, bytes: u64) {
        self.in_flight.store(bytes, Ordering::Relaxed);
    }

    /// Tells the metrics of the path.
    pub(crate) fn metrics(&self, at: Instant, sample: &Sample) {
        // One thread at a time has the path.
        let least =
            f64::from_bits(self.min_rtt.load(Ordering::Relaxed)).min(sample.latest_rtt.unwrap_or(f64::INFINITY));
        self.min_rtt.store(least.to_bits(), Ordering::Relaxed);
        let metrics = Metrics {
            min_rtt: Some(ms(least)).filter(|rtt| rtt.is_finite()),
            smoothed_rtt: Some(ms(sample.smoothed_rtt)).filter(|rtt| *rtt > 0.0),
            latest_rtt: sample.latest_rtt.map(ms),
            congestion_window: Some(sample.window),
            bytes_in_flight: Some(self.in_flight.load(Ordering::Relaxed)),
            packets_in_flight: Some(sample.packets_in_flight.into()),
            pacing_rate: sample.pacing_rate,
        };
        self.connection.offer(at, self.number, What::Metrics(metrics));
        if !sample.is_recovering && self.is_recovering.swap(false, Ordering::Relaxed) {
            self.connection.offer(at, self.number, What::Congestion { is_recovery: false, trigger: None });
        }
    }

    /// Tells that the control takes a signal of congestion.
    pub(crate) fn recovers(&self, at: Instant, trigger: &'static str) {
        let is_recovering = self.is_recovering.swap(true, Ordering::Relaxed);
        if !is_recovering {
            self.connection.offer(at, self.number, What::Congestion { is_recovery: true, trigger: Some(trigger) });
        }
    }

    /// Tells that a packet is lost. Its number is known to be that of data after the handshake alone.
    pub(crate) fn lost(&self, at: Instant, number: u64) {
        let number = Some(number).filter(|_| self.connection.is_open.load(Ordering::Relaxed));
        self.connection.offer(at, self.number, What::Lost { number });
    }
}
