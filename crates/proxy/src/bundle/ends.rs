//! What stands at an end of a flow: a connection of TCP, or another flow.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};

use super::carrier::Flow;
use super::state::Ending;
use crate::meter::metered;
use crate::tunnel::keep_alive;

/// The most bytes that are read from a connection at a time.
const READ: usize = 64 << 10;

/// For how long a flow waits for a line when it has none.
const PATIENCE: Duration = Duration::from_secs(20);

impl Flow {
    /// Takes in bytes ahead of those of a connection.
    pub fn write_first(&self, bytes: Bytes) {
        {
            let mut state = self.lock();
            state.note(bytes.len() as u64, 0);
            state.sender.write(bytes);
        }
        self.wake_all();
    }

    /// Carries bytes of a connection until both directions have ended, or the flow has failed. Where it has failed the
    /// connection is reset, so that nobody takes what there is for the whole.
    pub async fn join(&self, tcp: TcpStream) {
        keep_alive(&tcp);
        let (mut reader, mut writer) = tcp.into_split();
        let has_failed = self.carry(&mut reader, &mut writer).await;
        if has_failed && let Ok(tcp) = reader.reunite(writer) {
            // With no time to linger the connection is reset. An error shows that it is gone already.
            let _ = tcp.set_zero_linger();
        }
    }

    /// Carries bytes in both directions; whether the flow has failed.
    pub async fn carry(&self, reader: &mut (impl AsyncRead + Unpin), writer: &mut (impl AsyncWrite + Unpin)) -> bool {
        let both = async { tokio::try_join!(self.take_in(reader), self.take_out(writer)).map(|_| ()) };
        let is_lost = tokio::select! {
            outcome = both => outcome.is_err(),
            () = self.failed() => true,
            () = self.forsaken(false) => true,
        };
        if is_lost {
            self.abort();
            return true;
        }
        // All bytes are handed over; the other end has its part when it says so.
        tokio::select! {
            () = self.ended() => {}
            () = self.forsaken(true) => self.abort(),
        }
        false
    }

    /// Carries the bytes of this flow to another one and back, until both have ended. If one fails, so does the other.
    pub async fn splice(self: &Arc<Self>, other: &Arc<Self>) {
        for (one, next) in [(self, other), (other, self)] {
            // A flow is carried on once.
            let _ = one.beyond.set(Arc::downgrade(next));
        }
        let both = async { tokio::join!(self.pass_to(other), other.pass_to(self)) };
        let is_lost = tokio::select! {
            _ = both => false,
            () = self.failed() => true,
            () = other.failed() => true,
            () = self.forsaken(false) => true,
            () = other.forsaken(false) => true,
        };
        if !is_lost {
            tokio::join!(self.end_before(other), other.end_before(self));
            return;
        }
        // A flow that has ended well stays so.
        self.abort();
        other.abort();
    }

    /// Waits for the end of a flow whose bytes were handed over to another one, which fails with it. Where the other end has
    /// left, it may have had all; the other flow goes on.
    async fn end_before(&self, other: &Self) {
        tokio::select! {
            () = self.ended() => {
                if self.lock().ending() == Some(Ending::Failed) {
                    other.abort();
                }
            }
            () = self.forsaken(true) => self.abort(),
        }
    }

    /// Takes out bytes, and another flow takes them in.
    async fn pass_to(&self, other: &Self) {
        loop {
            other.room().await;
            let Some(mut bytes) = self.next_piece().await else {
                other.put(None);
                return self.has_taken_all();
            };
            let count = bytes.len() as u64;
            while !bytes.is_empty() {
                let meters = [self.limits.sending(), other.limits.receiving()];
                let Ok(piece) = metered(&mut bytes, meters).await else {
                    // This flow may have ended well, and the other has not.
                    self.abort();
                    return other.abort();
                };
                other.put_in_turn(piece).await;
            }
            self.has_taken(count);
        }
    }

    /// Waits until the other end has left, or the flow was without subflows for a long time. A flow that only has to be
    /// taken out needs no subflow, unless it is handed over.
    async fn forsaken(&self, is_handed_over: bool) {
        loop {
            let is_left = self.until(&self.changed, |state| {
                let needs_one = is_handed_over || !state.is_whole();
                (needs_one && state.subflows.is_empty()).then_some(state.is_left)
            });
            let is_left = is_left.await;
            let back = self.until(&self.changed, |state| (!state.subflows.is_empty()).then_some(()));
            if is_left || timeout(PATIENCE, back).await.is_err() {
                return;
            }
        }
    }

    async fn take_in(&self, reader: &mut (impl AsyncRead + Unpin)) -> Result<(), ()> {
        let mut piece = BytesMut::new();
        loop {
            self.room().await;
            piece.reserve(READ);
            let read = reader.read_buf(&mut piece).await.map_err(|_| ())?;
            if read == 0 {
                self.put(None);
                return Ok(());
            }
            let mut bytes = piece.split().freeze();
            while !bytes.is_empty() {
                let piece = metered(&mut bytes, [self.limits.receiving(), None]).await.map_err(|_| ())?;
                self.put_in_turn(piece).await;
            }
        }
    }

    async fn take_out(&self, writer: &mut (impl AsyncWrite + Unpin)) -> Result<(), ()> {
        loop {
            let Some(mut bytes) = self.next_piece().await else {
                let shut = writer.shutdown().await.map_err(|_| ());
                self.has_taken_all();
                return shut;
            };
            let count = bytes.len() as u64;
            while !bytes.is_empty() {
                let mut piece = metered(&mut bytes, [self.limits.sending(), None]).await.map_err(|_| ())?;
                writer.write_all_buf(&mut piece).await.map_err(|_| ())?;
            }
            self.has_taken(count);
        }
    }

    /// Takes in bytes when it is its turn.
    async fn put_in_turn(&self, bytes: Bytes) {
        let count = bytes.len() as u64;
        if let Some(turn) = self.turn() {
            turn.come().await;
            turn.note(count);
        }
        self.put(Some(bytes));
    }

    /// Waits until there is room to take something in.
    async fn room(&self) {
        let room = self.until(&self.room, |state| {
            let now = Instant::now();
            let (was_bulk, room) = (state.is_bulk(now), state.make_room(&self.store, now));
            if room.is_none() && !was_bulk {
                // Other lines take some of it now.
                self.to_send.notify_waiters();
            }
            room
        });
        room.await;
    }

    /// Takes in bytes, or their end.
    fn put(&self, piece: Option<Bytes>) {
        let is_large = {
            let mut state = self.lock();
            let count = piece.as_ref().map_or(0, |piece| piece.len() as u64);
            match piece {
                Some(piece) => state.sender.write(piece),
                None => state.sender.finish(),
            }
            state.account(&self.store);
            state.note(count, 0)
        };
        if is_large {
            self.changed.notify_waiters();
        }
        self.to_send.notify_waiters();
    }

    /// The next bytes to take out; none at the end.
    async fn next_piece(&self) -> Option<Bytes> {
        let piece = self.until(&self.to_take, |state| {
            let piece = state.receiver.take();
            (piece.is_some() || state.receiver.is_over()).then_some(piece)
        });
        piece.await
    }

    /// Notes that bytes were taken out.
    fn has_taken(&self, count: u64) {
        let (is_large, is_urgent) = {
            let mut state = self.lock();
            state.account(&self.store);
            (state.note(0, count), state.receiver.is_urgent())
        };
        if is_large {
            self.changed.notify_waiters();
        }
        if is_urgent {
            self.to_send.notify_waiters();
        }
    }

    /// Notes that all was taken out.
    fn has_taken_all(&self) {
        self.changed.notify_waiters();
        self.to_send.notify_waiters();
    }
}
