//! A link between a proxy and an exit: datagrams are late by a time, and lost now and then, or all while the link is cut.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::net::UdpSocket;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

/// A link to an exit.
pub struct Relay(Arc<Fate>);

/// What becomes of datagrams.
#[derive(Default)]
struct Fate {
    is_cut: AtomicBool,
    /// Of this many datagrams one is lost by chance; none at zero.
    loses_one_of: AtomicUsize,
    loses_every_other: AtomicBool,
    /// Bytes that have passed in both directions.
    passed: AtomicUsize,
}

impl Fate {
    /// Whether a datagram passes, which has this number.
    fn passes(&self, number: u64, chance: &mut u64) -> bool {
        let one_of = self.loses_one_of.load(Ordering::Relaxed) as u64;
        let is_lost = one_of > 0 && below(chance, one_of) == 0;
        let is_other = number % 2 == 1 && self.loses_every_other.load(Ordering::Relaxed);
        !is_lost && !is_other && !self.is_cut.load(Ordering::Relaxed)
    }
}

/// A number below `most`, by chance that is the same each time.
pub fn below(state: &mut u64, most: u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) % most
}

/// One direction: what arrives at one socket leaves another for an address, later.
fn direction(delay: Duration, fate: Arc<Fate>, out: Arc<UdpSocket>, to: SocketAddr) -> mpsc::UnboundedSender<Vec<u8>> {
    let (give, mut take) = mpsc::unbounded_channel::<(Instant, Vec<u8>)>();
    let (enter, mut entered) = mpsc::unbounded_channel::<Vec<u8>>();
    tokio::spawn(async move {
        while let Some(datagram) = entered.recv().await {
            let _ = give.send((Instant::now() + delay, datagram));
        }
    });
    tokio::spawn(async move {
        let (mut chance, mut number) = (7, 0);
        while let Some((due, datagram)) = take.recv().await {
            sleep_until(due).await;
            number += 1;
            if fate.passes(number, &mut chance) {
                fate.passed.fetch_add(datagram.len(), Ordering::Relaxed);
                let _ = out.send_to(&datagram, to).await;
            }
        }
    });
    enter
}

impl Relay {
    /// A link from an address, at the port of the exit, with a delay in each direction.
    pub async fn start(at: &str, exit: SocketAddr, delay: Duration) -> Self {
        let door = Arc::new(UdpSocket::bind((at, exit.port())).await.unwrap());
        let fate = Arc::<Fate>::default();
        let own = fate.clone();
        tokio::spawn(async move {
            let mut clients = HashMap::new();
            let mut datagram = vec![0; 70_000];
            while let Ok((length, from)) = door.recv_from(&mut datagram).await {
                if let Entry::Vacant(new) = clients.entry(from) {
                    let there = Arc::new(UdpSocket::bind("127.0.0.1:0").await.unwrap());
                    let back = direction(delay, own.clone(), door.clone(), from);
                    let source = there.clone();
                    tokio::spawn(async move {
                        let mut datagram = vec![0; 70_000];
                        while let Ok(length) = source.recv(&mut datagram).await {
                            let _ = back.send(datagram[..length].to_vec());
                        }
                    });
                    new.insert(direction(delay, own.clone(), there, exit));
                }
                let _ = clients[&from].send(datagram[..length].to_vec());
            }
        });
        Self(fate)
    }

    /// Bytes that have passed in both directions.
    pub fn passed(&self) -> usize {
        self.0.passed.load(Ordering::Relaxed)
    }

    /// Loses one of this many datagrams, by chance.
    pub fn lose(&self, one_of: usize) {
        self.0.loses_one_of.store(one_of, Ordering::Relaxed);
    }

    /// Loses every other datagram, or no longer.
    pub fn lose_every_other(&self, is_so: bool) {
        self.0.loses_every_other.store(is_so, Ordering::Relaxed);
    }

    /// Cuts the link, or mends it.
    pub fn cut(&self, is_cut: bool) {
        self.0.is_cut.store(is_cut, Ordering::Relaxed);
    }
}
