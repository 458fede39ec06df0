//! Counts of marked packets (ECN) at the sockets where packets arrive.
//!
//! The QUIC library reports to a sender that packets were marked, but not how many. Sockets see the ECN field of every
//! datagram, so they count marks for each registered pair of addresses. A count is exact where a connection is the only
//! one between two pairs of address and port. Only one connection may count there; a second one counts nothing. Packets
//! that arrive before a path is known are not counted. Datagrams are counted whether or not they prove valid. So an
//! attacker that sends with the address of a peer can slow that peer down, to the least rate of its control.
//!
//! Packets of controls that count marks leave as ECT(1) [rfc9331]. The library knows ECT(0) alone, so fields are
//! changed here when packets leave and arrive.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use crate::quic::udp::{EcnCodepoint, RecvMeta};

/// The state of marks at the sockets of an endpoint; copies share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Marks(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    /// Whether the table has entries; most endpoints have none.
    is_used: AtomicBool,
    table: RwLock<Table>,
}

#[derive(Debug, Default)]
struct Table {
    /// Counts by the local address, if it is known, and the remote address.
    counters: HashMap<Addresses, Arc<Mutex<Count>>>,
    /// Addresses to which packets leave as ECT(1), with the number of users.
    scalable: HashMap<SocketAddr, usize>,
}

type Addresses = (Option<IpAddr>, SocketAddr);

#[derive(Debug, Default)]
struct Count {
    /// Packets marked since the last call of `take`.
    marked: u64,
    /// Share of unmarked packets that are marked here, and the fraction of a packet that is due.
    share: f64,
    due: f64,
}

impl Count {
    /// Counts datagrams of one kind that have arrived; true if any is marked now.
    fn look(&mut self, packets: u64, is_marked: bool) -> bool {
        if is_marked {
            self.marked += packets;
            return true;
        }
        self.due += self.share * packets as f64;
        let marks = self.due.floor();
        self.due -= marks;
        self.marked += marks as u64;
        marks > 0.0
    }
}

impl Marks {
    /// Counts packets between these addresses until the counter is dropped; `None` if another counter exists.
    pub fn count(&self, local: Option<IpAddr>, remote: SocketAddr) -> Option<Counter> {
        let pair = (local, remote);
        let count = Arc::new(Mutex::new(Count::default()));
        self.change(|table| match table.counters.entry(pair) {
            std::collections::hash_map::Entry::Occupied(_) => None,
            std::collections::hash_map::Entry::Vacant(place) => {
                place.insert(count.clone());
                Some(Counter { marks: self.clone(), pair, count })
            }
        })
    }

    /// Makes packets to an address ECT(1) until the result is dropped.
    pub fn send_scalable(&self, remote: SocketAddr) -> Scalable {
        self.change(|table| *table.scalable.entry(remote).or_default() += 1);
        Scalable { marks: self.clone(), remote }
    }

    /// The ECN field of a packet that leaves.
    pub fn leaving(&self, remote: SocketAddr, is_markable: bool, ecn: Option<EcnCodepoint>) -> Option<EcnCodepoint> {
        let is_scalable =
            self.0.is_used.load(Ordering::Relaxed) && self.read(|table| table.scalable.contains_key(&remote));
        if is_scalable { ecn.map(|_| EcnCodepoint::Ect1) } else { ecn.filter(|_| is_markable) }
    }

    /// Counts packets that have arrived, and sets the fields that the QUIC library is to see.
    pub fn look(&self, metas: &mut [RecvMeta]) {
        if self.0.is_used.load(Ordering::Relaxed) {
            self.read(|table| metas.iter_mut().for_each(|meta| table.look(meta)));
        }
        for meta in metas.iter_mut().filter(|meta| meta.ecn == Some(EcnCodepoint::Ect1)) {
            meta.ecn = Some(EcnCodepoint::Ect0);
        }
    }

    fn read<T>(&self, act: impl FnOnce(&Table) -> T) -> T {
        act(&self.0.table.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn change<T>(&self, act: impl FnOnce(&mut Table) -> T) -> T {
        let table = &mut *self.0.table.write().unwrap_or_else(PoisonError::into_inner);
        let done = act(table);
        self.0.is_used.store(!(table.counters.is_empty() && table.scalable.is_empty()), Ordering::Relaxed);
        done
    }
}

impl Table {
    fn look(&self, meta: &mut RecvMeta) {
        let Some(ecn) = meta.ecn else { return };
        let of = |local| self.counters.get(&(local, meta.addr));
        let Some(count) = meta.dst_ip.and_then(|local| of(Some(local))).or_else(|| of(None)) else { return };
        let packets = meta.len.div_ceil(meta.stride.max(1)) as u64;
        if lock(count).look(packets, ecn == EcnCodepoint::Ce) {
            meta.ecn = Some(EcnCodepoint::Ce);
        }
    }
}

/// A counter of marks between two addresses; it ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Counter {
    marks: Marks,
    pair: Addresses,
    count: Arc<Mutex<Count>>,
}

impl Counter {
    /// Packets marked since the last call.
    pub fn take(&self) -> u64 {
        std::mem::take(&mut lock(&self.count).marked)
    }

    /// Sets the share of arriving packets to mark here, spread evenly.
    pub fn mark(&self, share: f64) {
        lock(&self.count).share = share.clamp(0.0, 1.0);
    }
}

impl Drop for Counter {
    fn drop(&mut self) {
        self.marks.change(|table| drop(table.counters.remove(&self.pair)));
    }
}

/// A registration that makes packets to an address ECT(1) while it exists.
#[derive(Debug)]
pub(crate) struct Scalable {
    marks: Marks,
    remote: SocketAddr,
}

impl Drop for Scalable {
    fn drop(&mut self) {
        self.marks.change(|table| {
            if let Some(users) = table.scalable.get_mut(&self.remote) {
                *users -= 1;
                if *users == 0 {
                    table.scalable.remove(&self.remote);
                }
            }
        });
    }
}

fn lock(count: &Mutex<Count>) -> MutexGuard<'_, Count> {
    count.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCAL: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));

    fn remote() -> SocketAddr {
        "10.0.0.2:9".parse().unwrap()
    }

    /// The mark that the library sees on datagrams of 100 bytes that arrive at once from the peer.
    fn arrive(marks: &Marks, ecn: Option<EcnCodepoint>, packets: usize) -> Option<EcnCodepoint> {
        let mut meta = RecvMeta::default();
        (meta.addr, meta.dst_ip, meta.ecn, meta.len, meta.stride) = (remote(), Some(LOCAL), ecn, 100 * packets, 100);
        marks.look(std::slice::from_mut(&mut meta));
        meta.ecn
    }

    const CE: Option<EcnCodepoint> = Some(EcnCodepoint::Ce);
    const ECT0: Option<EcnCodepoint> = Some(EcnCodepoint::Ect0);
    const ECT1: Option<EcnCodepoint> = Some(EcnCodepoint::Ect1);

    #[test]
    fn each_marked_datagram_counts_once_and_until_the_counter_is_dropped() {
        let marks = Marks::default();
        arrive(&marks, CE, 1);
        let counter = marks.count(Some(LOCAL), remote()).unwrap();
        for (ecn, packets) in [(CE, 3), (ECT1, 5), (None, 1), (CE, 1)] {
            arrive(&marks, ecn, packets);
        }
        assert_eq!((counter.take(), counter.take()), (4, 0));
        assert!(marks.count(Some(LOCAL), remote()).is_none(), "one counts there");
        drop(counter);
        arrive(&marks, CE, 1);
        assert_eq!(marks.count(Some(LOCAL), remote()).unwrap().take(), 0);
    }

    #[test]
    fn who_knows_no_local_address_counts_what_nobody_else_does() {
        let marks = Marks::default();
        let any = marks.count(None, remote()).unwrap();
        arrive(&marks, CE, 1);
        let own = marks.count(Some(LOCAL), remote()).unwrap();
        arrive(&marks, CE, 2);
        assert_eq!((any.take(), own.take()), (1, 2));
    }

    #[test]
    fn the_library_sees_no_packets_of_scalable_controls() {
        let marks = Marks::default();
        assert_eq!([ECT1, ECT0, CE, None].map(|ecn| arrive(&marks, ecn, 1)), [ECT0, ECT0, CE, None]);
        let leaves = |is_markable| marks.leaving(remote(), is_markable, ECT0);
        assert_eq!((leaves(true), leaves(false)), (ECT0, None));
        let scalable = (marks.send_scalable(remote()), marks.send_scalable(remote()));
        drop(scalable.0);
        assert_eq!((leaves(true), leaves(false)), (ECT1, ECT1));
        // Where the library has found that the path changes the field, it stays empty.
        assert_eq!(marks.leaving(remote(), true, None), None);
        drop(scalable.1);
        assert_eq!(leaves(true), ECT0);
    }

    #[test]
    fn a_share_is_marked_here_of_what_was_not_marked_before() {
        // A quarter of 10 packets is 2.5: 2 now, and with 2 more the third. What cannot be marked is not.
        let marks = Marks::default();
        let counter = marks.count(Some(LOCAL), remote()).unwrap();
        counter.mark(0.25);
        let seen: Vec<_> = (0..10).map(|_| arrive(&marks, ECT0, 1)).collect();
        assert_eq!((counter.take(), seen.iter().filter(|ecn| **ecn == CE).count()), (2, 2));
        assert_eq!((arrive(&marks, ECT1, 2), counter.take()), (CE, 1));
        assert_eq!((arrive(&marks, CE, 2), counter.take()), (CE, 2));
        assert_eq!((arrive(&marks, None, 100), counter.take()), (None, 0));
    }
}
