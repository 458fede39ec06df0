//! The flows of a program or a client: those that are open, and what all have carried.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use crate::meter::Limits;
use crate::tunnel::Carried;

/// What can be seen of a flow while it is open.
pub(crate) trait Flowing: Send + Sync {
    /// Bytes that it has carried.
    fn carried(&self) -> Carried;

    /// Bytes that wait in it.
    fn waiting(&self) -> u64;

    /// Bytes that came over it, and could go on over the next loop.
    fn queued(&self) -> u64 {
        0
    }

    /// The numbers of the lines that carry it, one for each stream.
    fn lines(&self) -> Vec<u8>;

    /// What it is called now, if that is not its target.
    fn title(&self) -> Option<String> {
        None
    }
}

/// What a flow carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Bytes of a connection.
    Tcp,
    /// Packets to a target.
    Udp,
    /// IP packets to all targets.
    Ip,
}

impl Kind {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
            Self::Ip => "ip",
        }
    }
}

/// Counts the bytes of a connection over one stream.
#[derive(Debug, Default)]
pub(crate) struct Counter {
    pub into_stream: AtomicU64,
    pub out_of_stream: AtomicU64,
    /// The most that the client may send and receive.
    pub limits: Limits,
}

impl Flowing for Counter {
    fn carried(&self) -> Carried {
        let [into_stream, out_of_stream] =
            [&self.into_stream, &self.out_of_stream].map(|count| count.load(Ordering::Relaxed));
        Carried { into_stream, out_of_stream }
    }

    fn waiting(&self) -> u64 {
        0
    }

    fn lines(&self) -> Vec<u8> {
        Vec::new()
    }
}

/// A flow that is open.
#[derive(Clone)]
pub(crate) struct Row {
    target: String,
    pub kind: Kind,
    /// When it began, since 1970.
    pub begun: Duration,
    pub flow: Arc<dyn Flowing>,
}

impl Row {
    /// What the flow leads to.
    pub fn target(&self) -> String {
        self.flow.title().unwrap_or_else(|| self.target.clone())
    }
}

/// The flows of a program or a client.
#[derive(Default)]
pub(crate) struct Ledger(Mutex<Rows>);

#[derive(Default)]
struct Rows {
    open: BTreeMap<u64, Row>,
    /// Number of all flows.
    count: u64,
    /// What those have carried that are not open any more.
    ended: Carried,
}

/// An entry of a ledger, there for as long as the flow is open.
pub(crate) struct Entry(Arc<Ledger>, u64);

impl Drop for Entry {
    fn drop(&mut self) {
        let mut rows = self.0.lock();
        if let Some(row) = rows.open.remove(&self.1) {
            rows.ended = rows.ended + row.flow.carried();
        }
    }
}

impl fmt::Debug for Ledger {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("Ledger").field("total", &self.total()).finish_non_exhaustive()
    }
}

impl Ledger {
    fn lock(&self) -> MutexGuard<'_, Rows> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Enters a flow that begins.
    pub fn enter(self: &Arc<Self>, target: &impl fmt::Display, kind: Kind, flow: Arc<dyn Flowing>) -> Entry {
        let begun = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let mut rows = self.lock();
        let number = rows.count;
        rows.count += 1;
        rows.open.insert(number, Row { target: target.to_string(), kind, begun, flow });
        Entry(self.clone(), number)
    }

    /// Number of all flows, and what they have carried.
    pub fn total(&self) -> (u64, Carried) {
        let rows = self.lock();
        let open: Carried = rows.open.values().map(|row| row.flow.carried()).sum();
        (rows.count, rows.ended + open)
    }

    /// Number of flows that are open.
    pub fn open(&self) -> usize {
        self.lock().open.len()
    }

    /// Bytes that came over all flows, and could go on.
    pub fn queued(&self) -> u64 {
        let flows: Vec<Arc<dyn Flowing>> = self.lock().open.values().map(|row| row.flow.clone()).collect();
        flows.iter().map(|flow| flow.queued()).sum()
    }

    /// The flows that are open, with their numbers.
    pub fn rows(&self) -> Vec<(u64, Row)> {
        self.lock().open.iter().map(|(number, row)| (*number, row.clone())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_flows_carry_counts_while_they_are_open_and_afterwards() {
        let (ledger, target) = (Arc::new(Ledger::default()), "example.org:443");
        let flows: [Arc<Counter>; 2] = Default::default();
        let [first, second] = flows.clone().map(|flow| ledger.enter(&target, Kind::Tcp, flow));
        flows[0].into_stream.store(5, Ordering::Relaxed);
        flows[1].out_of_stream.store(7, Ordering::Relaxed);
        let both = Carried { into_stream: 5, out_of_stream: 7 };
        assert_eq!((ledger.total(), ledger.open()), ((2, both), 2));
        drop(first);
        assert_eq!((ledger.total(), ledger.open()), ((2, both), 1));
        assert_eq!(ledger.rows().into_iter().map(|(number, _)| number).collect::<Vec<_>>(), [1]);
        drop(second);
        assert_eq!((ledger.total(), ledger.open()), ((2, both), 0));
    }
}
