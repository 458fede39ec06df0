//! A relay of a live run, which ends loops and begins the next one, in one host.
//!
//! Data of the loops before wait here until the next loop takes them, in turns by weight. A loop before may send as
//! much as there is room for. Its receive window is the room, so QUIC's flow control limits it: at most `buffer` bytes
//! of each loop wait or are in flight, whatever it does. Data that the next loop has taken are kept until they are
//! acknowledged: at most twice its windows, or some packets. Loops before receive the rate of the next loop some
//! hundred times a second, and their packets are marked where they arrive.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anabranch_core::ConnectionId;
use anabranch_proto::transport::{NO_RATE, Relay};
use bytes::Bytes;
use tokio::sync::Notify;

use crate::control::Group;
use crate::feedback::Guidance;
use crate::quic::{Connection, ReadError, RecvStream, SendStream, VarInt, WriteError};

/// Time between updates of the room and of the next loop's rate.
const LOOK: Duration = Duration::from_millis(2);

/// Part of the room that is read from a stream at a time; reading opens the window until it is corrected.
const PARTS: u64 = 64;

/// A change of the room is reported if it exceeds one part in this many.
const WORTH: u64 = 32;

/// The most bytes that are read from a stream at a time.
const MOST_READ: u64 = 1 << 13;

/// The greatest backlog of a relay for one of the loops before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RelayTotal {
    /// The loop before.
    pub input: ConnectionId,
    /// The next loop.
    pub connection: ConnectionId,
    /// Bytes that may wait.
    pub buffer: u64,
    /// The most bytes that waited.
    pub most_waiting: u64,
}

/// A relay, before the connection that sends its data on.
pub(super) struct RelayEnd {
    plan: anabranch_plan::Relay,
    /// Control of the next loop.
    next: Arc<Group>,
    held: Mutex<Held>,
    /// Signal that data have arrived, or that an input has ended.
    change: Notify,
}

/// Data at a relay.
struct Held {
    relay: Relay,
    inputs: Vec<Input>,
}

#[derive(Default)]
struct Input {
    waiting: VecDeque<Bytes>,
    is_over: bool,
    most: u64,
}

impl RelayEnd {
    /// Creates an empty relay, before a loop whose packets have this number of data bytes.
    pub fn new(plan: &anabranch_plan::Relay, packet: u64, next: Arc<Group>) -> Self {
        let settings: Vec<_> = plan.inputs.iter().map(|(_, settings)| *settings).collect();
        let relay = Relay::new(plan.buffer.0, packet as u32, &settings);
        let inputs = settings.iter().map(|_| Input::default()).collect();
        Self { plan: plan.clone(), next, held: Mutex::new(Held { relay, inputs }), change: Notify::new() }
    }

    /// The greatest backlog of each input.
    pub fn totals(&self) -> Vec<RelayTotal> {
        let held = self.lock();
        let total = |(&(input, _), own): (&(ConnectionId, _), &Input)| RelayTotal {
            input,
            connection: self.plan.connection,
            buffer: self.plan.buffer.0,
            most_waiting: own.most,
        };
        self.plan.inputs.iter().zip(&held.inputs).map(total).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn bring(&self, input: usize, bytes: Bytes) {
        let held = &mut *self.lock();
        held.relay.on_data(input, bytes.len() as u64);
        let own = &mut held.inputs[input];
        own.waiting.push_back(bytes);
        own.most = own.most.max(held.relay.waiting(input));
        self.change.notify_one();
    }

    /// Records that no more data of an input arrive.
    pub fn end(&self, input: usize) {
        self.lock().inputs[input].is_over = true;
        self.change.notify_one();
    }

    /// The next packet for the next loop, in pieces; `None` when all inputs have ended and nothing waits.
    async fn take(&self, most: u32) -> Option<Vec<Bytes>> {
        loop {
            let change = self.change.notified();
            {
                let held = &mut *self.lock();
                if let Some((input, bytes)) = held.relay.take(most) {
                    // Other tasks wait for the rest.
                    self.change.notify_one();
                    return Some(cut(&mut held.inputs[input].waiting, bytes as usize));
                }
                if held.inputs.iter().all(|input| input.is_over) {
                    self.change.notify_one();
                    return None;
                }
            }
            change.await;
        }
    }

    /// Sends data over a stream of the next loop, packet by packet, until all are sent.
    pub async fn send(&self, stream: &mut SendStream, most: u32) -> Result<(), WriteError> {
        while let Some(pieces) = self.take(most).await {
            for piece in pieces {
                stream.write_chunk(piece).await?;
            }
        }
        Ok(())
    }

    /// Updates the guidance of an input: rate of the next loop, and share of packets to mark.
    fn guide(&self, input: usize, guidance: &Guidance) {
        let onward = self.next.onward_bps(self.plan.told);
        let held = &mut *self.lock();
        held.relay.set_onward(onward.unwrap_or(NO_RATE));
        guidance.set(onward, held.relay.share(input));
    }

    fn waiting(&self, input: usize) -> u64 {
        self.lock().relay.waiting(input)
    }
}

/// The entrance of a relay for one loop: it receives data, and controls how much more may come.
pub(super) struct Inlet {
    relay: Arc<RelayEnd>,
    input: usize,
    guidance: Arc<Guidance>,
    /// Receive window with an empty queue, and its present value.
    most: u64,
    window: Mutex<u64>,
}

impl Inlet {
    /// Creates the inlet for an input of a relay, of which this number of bytes may wait or be in flight.
    pub fn new(relay: Arc<RelayEnd>, input: usize, room: u64) -> Self {
        Self { relay, input, guidance: Arc::default(), most: room, window: Mutex::new(room) }
    }

    /// The guidance of the loop before.
    pub fn guidance(&self) -> Arc<Guidance> {
        self.guidance.clone()
    }

    /// Records that no more data arrive.
    pub fn end(&self) {
        self.relay.end(self.input);
    }

    /// Bytes that are read from a stream at a time.
    fn piece(&self) -> u64 {
        (self.most / PARTS).clamp(1, MOST_READ)
    }

    /// Reads a stream to its end, and counts its data.
    pub async fn read(
        &self,
        connection: &Connection,
        stream: &mut RecvStream,
        count: &AtomicU64,
    ) -> Result<(), ReadError> {
        while let Some(bytes) = stream.read_chunk(self.piece() as usize).await? {
            count.fetch_add(bytes.len() as u64, Ordering::Relaxed);
            // Reading opens the window by itself; it is closed again, since the data wait here now.
            let window = &mut *self.lock();
            *window = window.saturating_sub(bytes.len() as u64);
            self.relay.bring(self.input, bytes);
            set(connection, *window);
        }
        Ok(())
    }

    /// Reports the rate of the next loop and the room to the loop before; does not return.
    pub async fn guide(&self, connection: &Connection, streams: usize) -> Result<(), String> {
        loop {
            self.relay.guide(self.input, &self.guidance);
            {
                let window = &mut *self.lock();
                // Reading opens the window for a moment, by one piece on each stream.
                let most = self.most.saturating_sub(self.piece() * streams as u64);
                let room = most.saturating_sub(self.relay.waiting(self.input));
                // The room is reported when the change is worth a frame.
                if room.abs_diff(*window) > self.most / WORTH {
                    *window = room;
                    set(connection, room);
                }
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, u64> {
        self.window.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn set(connection: &Connection, window: u64) {
    connection.set_receive_window(VarInt::from_u64(window).unwrap_or(VarInt::MAX));
}

/// Removes a number of bytes from the front of the waiting data.
fn cut(waiting: &mut VecDeque<Bytes>, bytes: usize) -> Vec<Bytes> {
    let (mut pieces, mut left) = (Vec::new(), bytes);
    while left > 0 {
        let mut piece = waiting.pop_front().expect("the relay counts what waits");
        if piece.len() > left {
            waiting.push_front(piece.split_off(left));
        }
        left -= piece.len();
        pieces.push(piece);
    }
    pieces
}

#[cfg(test)]
mod tests {
    use anabranch_core::Bytes as Size;
    use anabranch_proto::transport::{InputSettings, Marking, Told};

    use std::net::SocketAddr;
    use std::time::Instant;

    use super::*;
    use crate::control::named;
    use crate::paths::AddressPair;
    use crate::quic_config::QuicConfig;
    use crate::security::{Identity, Trust};
    use crate::session::{Client, Server, Session};

    fn relay(inputs: usize) -> RelayEnd {
        let settings = InputSettings { weight: 1.0, marking: Marking::Never };
        let inputs = (0..inputs).map(|c| (ConnectionId::new(c), settings)).collect();
        let plan =
            anabranch_plan::Relay { connection: ConnectionId::new(9), inputs, buffer: Size(5000), told: Told::Sent };
        RelayEnd::new(&plan, 1000, Group::new(&named("lia").unwrap()).unwrap())
    }

    async fn taken(relay: &RelayEnd) -> Option<Vec<u8>> {
        relay.take(1000).await.map(|pieces| pieces.concat())
    }

    #[tokio::test]
    async fn what_comes_goes_on_in_order_and_packet_by_packet() {
        // 1,500 bytes and 700 are packets of 1,000, of 1,000 and of 200.
        let relay = relay(1);
        relay.bring(0, Bytes::from(vec![1; 1500]));
        relay.bring(0, Bytes::from(vec![2; 700]));
        assert_eq!(taken(&relay).await, Some(vec![1; 1000]));
        assert_eq!(taken(&relay).await, Some([vec![1; 500], vec![2; 500]].concat()));
        relay.end(0);
        assert_eq!(taken(&relay).await, Some(vec![2; 200]));
        assert_eq!((taken(&relay).await, relay.totals()[0].most_waiting), (None, 2200));
    }

    /// Streams that a loop before sends on in tests.
    const STREAMS: usize = 4;

    /// Sends without end to an inlet with room for this number of bytes, over loopback; gives what keeps that going.
    async fn flood(room: u64) -> (Arc<RelayEnd>, Vec<Session>, (Server, Client)) {
        let identity = Identity::made().unwrap();
        let server = Server::bind(&["127.0.0.1:0".parse::<SocketAddr>().unwrap().into()], &identity).await.unwrap();
        let client = Client::bind(&["127.0.0.1:0".parse::<SocketAddr>().unwrap().into()]).await.unwrap();
        let quic_config = QuicConfig { receive_window: room as u32, ..QuicConfig::default() };
        let pair = AddressPair { local: None, remote: server.address(), is_wanted: true, is_backup: false };
        let (trust, group) = (Trust::Pins(vec![identity.fingerprint()]), Group::new(&named("cubic").unwrap()).unwrap());
        let (mine, theirs) =
            tokio::join!(client.connect_with_config("x", vec![pair], &trust, group, quic_config), async {
                server.next().await.unwrap().accept_with_config(quic_config).await
            });
        let (mine, theirs) = (mine.unwrap(), theirs.unwrap());
        let relay = Arc::new(relay(1));
        let inlet = Arc::new(Inlet::new(relay.clone(), 0, room));
        for _ in 0..STREAMS {
            let mut stream = mine.connection().open_uni().await.unwrap();
            tokio::spawn(async move { while stream.write_all(&[7; 3000]).await.is_ok() {} });
            let (inlet, connection) = (inlet.clone(), theirs.connection().clone());
            tokio::spawn(async move {
                let mut stream = connection.accept_uni().await.unwrap();
                inlet.read(&connection, &mut stream, &AtomicU64::new(0)).await
            });
        }
        let connection = theirs.connection().clone();
        tokio::spawn(async move { inlet.guide(&connection, STREAMS).await });
        (relay, vec![mine, theirs], (server, client))
    }

    #[tokio::test]
    async fn what_waits_is_never_more_than_there_is_room_for_and_what_is_taken_makes_room() {
        let (room, mut all) = (100_000, 0);
        let (relay, _sessions, _ends) = flood(room).await;
        for _ in 0..5 {
            let start = Instant::now();
            // Parts of the room are kept back for what is being read.
            while relay.waiting(0) < room - room / 8 {
                assert!(start.elapsed() < Duration::from_secs(20), "{} bytes wait", relay.waiting(0));
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
            assert!(relay.waiting(0) <= room, "{}", relay.waiting(0));
            for _ in 0..50 {
                all += relay.take(1000).await.unwrap().concat().len();
            }
        }
        assert_eq!(all, 250_000);
        assert!(relay.totals()[0].most_waiting <= room, "{:?}", relay.totals());
    }

    #[tokio::test]
    async fn it_ends_with_the_last_of_its_inputs() {
        let relay = Arc::new(relay(2));
        let takers: Vec<_> = (0..3)
            .map(|_| {
                let relay = relay.clone();
                tokio::spawn(async move { taken(&relay).await })
            })
            .collect();
        tokio::task::yield_now().await;
        relay.end(1);
        relay.bring(0, Bytes::from(vec![7; 10]));
        relay.end(0);
        let mut all = Vec::new();
        for taker in takers {
            all.extend(taker.await.unwrap());
        }
        assert_eq!(all, [vec![7; 10]]);
    }
}
