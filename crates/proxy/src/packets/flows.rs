//! The datagrams of a connection, by the streams that they belong to [rfc9297, sec. 2.1].

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anabranch_live::feedback::{Inbox, Wire};
use anabranch_live::quic::{Connection, SendDatagramError};
use bytes::{Bytes, BytesMut};
use tokio::sync::mpsc;

use super::capsule::{read_number, write_number};
use crate::exit::DATAGRAMS;

/// The most datagrams that wait for a flow, and for a tunnel of many flows; later ones are dropped, as networks do.
const MOST_WAITING: usize = 64;
const MOST_OF_MANY: usize = 512;

/// Streams of requests have numbers that are multiples of this, and datagrams the quotient.
const STEP: u64 = 4;

/// The flows of datagrams of a connection.
#[derive(Clone)]
pub(crate) struct Flows {
    connection: Connection,
    all: Arc<Mutex<HashMap<u64, Flow>>>,
    /// Number of datagrams that were no news, in both directions.
    data: Arc<AtomicU64>,
}

/// Where the datagrams of a stream go.
struct Flow {
    give: mpsc::Sender<Bytes>,
    is_news: bool,
}

/// The datagrams of a stream.
pub(crate) struct Datagrams {
    flows: Flows,
    number: u64,
    is_news: bool,
    arrived: mpsc::Receiver<Bytes>,
}

/// Sends datagrams of a stream.
#[derive(Clone)]
pub(crate) struct Sender {
    connection: Connection,
    number: u64,
    /// Counts what is sent, unless it is news.
    data: Option<Arc<AtomicU64>>,
}

/// What becomes of a datagram that is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It is on its way.
    Sent,
    /// It is too large for the packets of the connection.
    TooLarge,
    /// The connection has ended, or its other end takes no datagrams.
    Lost,
}

impl Flows {
    /// The flows of a connection, on which somebody has to call [`Self::pass_on`].
    pub fn new(connection: Connection) -> Self {
        Self { connection, all: Arc::default(), data: Arc::default() }
    }

    /// Passes the datagrams of the connection on to their flows, until it ends. Those of no flow are dropped.
    pub async fn pass_on(&self) {
        while let Ok(datagram) = self.connection.read_datagram().await {
            let Some((number, after)) = read_number(&datagram) else { continue };
            // The flow drops what comes too fast for it.
            if let Some(flow) = self.lock().get(&number) {
                if !flow.is_news {
                    self.data.fetch_add(1, Ordering::Relaxed);
                }
                let _ = flow.give.try_send(datagram.slice(after..));
            }
        }
    }

    /// The datagrams of a stream.
    pub fn of(&self, stream: u64) -> Datagrams {
        self.open(stream, false, MOST_WAITING)
    }

    /// The datagrams of a stream that many flows share.
    pub fn of_many(&self, stream: u64) -> Datagrams {
        self.open(stream, false, MOST_OF_MANY)
    }

    /// The datagrams of a stream on which the ends tell each other of the connection.
    pub fn news(&self, stream: u64) -> Datagrams {
        self.open(stream, true, MOST_WAITING)
    }

    fn open(&self, stream: u64, is_news: bool, most: usize) -> Datagrams {
        let number = stream / STEP;
        let (give, arrived) = mpsc::channel(most);
        self.lock().insert(number, Flow { give, is_news });
        Datagrams { flows: self.clone(), number, is_news, arrived }
    }

    /// Number of datagrams that were no news, in both directions.
    pub fn data(&self) -> Arc<AtomicU64> {
        self.data.clone()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Flow>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sender {
    /// Bytes of datagrams that wait in the connection.
    pub fn waiting(&self) -> usize {
        DATAGRAMS.saturating_sub(self.connection.datagram_send_buffer_space())
    }

    /// The largest datagram that fits now; nothing if the other end takes none.
    pub fn room(&self) -> Option<usize> {
        let mut number = BytesMut::new();
        write_number(self.number, &mut number);
        self.connection.max_datagram_size().map(|most| most.saturating_sub(number.len()))
    }

    /// Sends a datagram.
    pub fn send(&self, datagram: &[u8]) -> Fate {
        if let Some(data) = &self.data {
            data.fetch_add(1, Ordering::Relaxed);
        }
        let mut bytes = BytesMut::with_capacity(datagram.len() + 8);
        write_number(self.number, &mut bytes);
        bytes.extend_from_slice(datagram);
        match self.connection.send_datagram(bytes.freeze()) {
            Ok(()) => Fate::Sent,
            // Without datagrams of QUIC all are too large.
            Err(SendDatagramError::TooLarge | SendDatagramError::UnsupportedByPeer | SendDatagramError::Disabled) => {
                Fate::TooLarge
            }
            Err(_) => Fate::Lost,
        }
    }
}

impl Datagrams {
    /// The side that sends.
    pub fn sender(&self) -> Sender {
        let data = (!self.is_news).then(|| self.flows.data.clone());
        Sender { connection: self.flows.connection.clone(), number: self.number, data }
    }

    /// The next datagram that arrives; does not return after the last.
    pub async fn next(&mut self) -> Bytes {
        match self.arrived.recv().await {
            Some(datagram) => datagram,
            None => std::future::pending().await,
        }
    }
}

impl Wire for Sender {
    fn send(&self, message: Vec<u8>) -> bool {
        Self::send(self, &message) != Fate::Lost
    }
}

impl Inbox for Datagrams {
    async fn next(&mut self) -> Option<Bytes> {
        Some(Self::next(self).await)
    }
}

impl Drop for Datagrams {
    fn drop(&mut self) {
        self.flows.lock().remove(&self.number);
    }
}
