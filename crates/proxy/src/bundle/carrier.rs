//! A flow at one end: bytes between a connection of TCP and the streams of its subflows, one on each line.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use h3::error::{Code, StreamError};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until, timeout};

use super::line::Line;
use super::{Store, fastest, usable};
use crate::flow::FlowError;
use crate::flow::frame::{Frame, Frames, MOST_PIECE};
use crate::flow::receiver::{FIRST_WINDOW, Receiver};
use crate::flow::schedule::takes;
use crate::flow::sender::Sender;
use crate::tunnel::{Carried, Receives, Sends, keep_alive};

/// The longest delay of news of what has arrived.
const NEWS: Duration = Duration::from_millis(20);

/// For how long a flow counts as bulk after there was no room for more of it.
const LATELY: Duration = Duration::from_millis(100);

/// For how long a flow waits for a line when it has none.
const PATIENCE: Duration = Duration::from_secs(20);

/// Bytes in one direction after which a flow takes all lines.
const LARGE: u64 = 32 << 10;

/// Bytes that wait for a subflow: a part of the windows of all, and a least number.
const AHEAD: (u64, u64) = (2, 128 << 10);

/// A flow at one end. Its subflows come and go.
pub(crate) struct Flow {
    store: Arc<Store>,
    state: Mutex<State>,
    /// There may be something to send.
    to_send: Notify,
    /// There may be something to take out.
    to_take: Notify,
    /// There may be room to take something in.
    room: Notify,
    /// Subflows have come or gone, or the flow has ended.
    changed: Notify,
}

struct State {
    sender: Sender,
    receiver: Receiver,
    subflows: BTreeMap<u32, Subflow>,
    next: u32,
    told: Instant,
    ending: Option<Ending>,
    /// Whether the other end has left for good.
    is_left: bool,
    carried: Carried,
    is_large: bool,
    /// When there was no room for more last.
    full: Option<Instant>,
    /// Bytes that the store has counted.
    stored: u64,
}

/// How a flow has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// Both ends have all bytes, and have heard of it.
    Well,
    Failed,
}

struct Subflow {
    line: Arc<Line>,
    /// Whether the other end was told here of the end.
    has_told_end: bool,
    /// Whether the stream takes nothing now.
    is_full: bool,
}

/// Why a subflow ends before its flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Broken {
    /// Its stream or its line carries nothing more.
    Stream,
    /// The flow has failed at one of its ends.
    Flow,
}

impl From<StreamError> for Broken {
    fn from(error: StreamError) -> Self {
        match error {
            StreamError::RemoteTerminate { code, .. } if code == Code::H3_CONNECT_ERROR => Self::Flow,
            _ => Self::Stream,
        }
    }
}

impl From<FlowError> for Broken {
    fn from(_: FlowError) -> Self {
        Self::Flow
    }
}

/// What a subflow does next.
enum Next {
    /// Sends these bytes, the second after the first.
    Send(Bytes, Bytes),
    /// Waits for a change, or until a time.
    Wait(Option<Instant>),
    /// Ends the stream, since both ends have all.
    Finish,
    /// Breaks the stream off, since the flow has failed.
    Reset,
}

impl State {
    /// How the flow has ended, if it has.
    fn ending(&mut self) -> Option<Ending> {
        if self.ending.is_none() && self.sender.is_done() && self.receiver.is_over() && !self.receiver.has_news() {
            self.ending = Some(Ending::Well);
        }
        self.ending
    }

    /// Notes that the flow has failed, unless it has ended.
    fn fail(&mut self) {
        if self.ending().is_none() {
            self.ending = Some(Ending::Failed);
        }
    }

    /// Whether more lines than one are worth it: much was carried, or no line carries anything now.
    fn wants_more(&self) -> bool {
        self.is_large || self.lines().all(|line| line.is_doubted())
    }

    /// Counts bytes; whether more lines are worth it only now.
    fn count(&mut self, into: u64, out: u64) -> bool {
        self.carried.into_stream += into;
        self.carried.out_of_stream += out;
        let is_large = self.carried.into_stream.max(self.carried.out_of_stream) >= LARGE;
        is_large && !std::mem::replace(&mut self.is_large, is_large)
    }

    fn lines(&self) -> impl Iterator<Item = &Arc<Line>> + Clone {
        self.subflows.values().map(|subflow| &subflow.line)
    }

    /// The number of the subflow over which a small message arrives first.
    fn fastest(&self) -> Option<u32> {
        let line = fastest(self.lines())?;
        self.subflows.iter().find(|(_, subflow)| Arc::ptr_eq(&subflow.line, line)).map(|(number, _)| *number)
    }

    /// Whether a subflow takes bytes now.
    fn takes(&self, own: u32, first: u32) -> bool {
        if own == first {
            return true;
        }
        let (Some(own), Some(first)) = (self.subflows.get(&own), self.subflows.get(&first)) else { return false };
        if !usable(self.lines()).iter().any(|line| Arc::ptr_eq(line, &own.line)) {
            return false;
        }
        // Who could not write just now has more than is seen here.
        self.is_bulk() || takes(&own.line.pace(), &first.line.pace_when(first.is_full), self.sender.backlog())
    }

    /// Whether more waits than there was room for, a short time ago.
    fn is_bulk(&self) -> bool {
        self.sender.end().is_none() && self.full.is_some_and(|full| full.elapsed() < LATELY)
    }

    fn next(&mut self, own: u32) -> Next {
        match self.ending() {
            Some(Ending::Failed) => return Next::Reset,
            Some(Ending::Well) => return Next::Finish,
            None => {}
        }
        let Some(first) = self.fastest() else { return Next::Wait(None) };
        let mut head = BytesMut::new();
        let mut due = None;
        if own == first && self.receiver.has_news() {
            let now = Instant::now();
            if self.receiver.is_urgent() || now >= self.told + NEWS {
                let (received, limit) = self.receiver.tell();
                self.told = now;
                Frame::Ack(received, limit).write(&mut head);
            } else {
                due = Some(self.told + NEWS);
            }
        }
        if let Some(end) = self.sender.end()
            && let Some(subflow) = self.subflows.get_mut(&own).filter(|subflow| !subflow.has_told_end)
        {
            subflow.has_told_end = true;
            Frame::End(end).write(&mut head);
        }
        let piece = if self.takes(own, first) { self.sender.hand_out(own, MOST_PIECE) } else { None };
        let body = piece.map_or_else(Bytes::new, |piece| {
            Frame::write_head(piece.offset, piece.bytes.len(), &mut head);
            piece.bytes
        });
        if head.is_empty() {
            return Next::Wait(due);
        }
        let is_small = !self.is_bulk() && self.sender.backlog() == 0;
        if let Some(subflow) = self.subflows.get_mut(&own) {
            subflow.is_full = true;
            if is_small {
                subflow.line.let_pass();
            }
        }
        Next::Send(head.freeze(), body)
    }

    /// Hands what a subflow has out to others, since it may not arrive.
    fn distrust(&mut self, own: u32) {
        self.sender.fail(own);
        self.receiver.forget_told();
        if let Some(subflow) = self.subflows.get_mut(&own) {
            subflow.has_told_end = false;
        }
    }

    /// Counts what waits, and takes as much from the other end as the store has room for.
    fn account(&mut self, store: &Store) {
        let now = self.receiver.waiting() + self.sender.kept();
        store.change(std::mem::replace(&mut self.stored, now), now);
        self.receiver.narrow(store.share());
    }

    /// Whether there is room for more; notes when there is none.
    fn make_room(&mut self, store: &Store) -> Option<()> {
        let has_room = self.sender.has_room(self.ahead()) && self.sender.kept() < store.share().max(FIRST_WINDOW);
        if !has_room {
            self.full = Some(Instant::now());
        }
        has_room.then_some(())
    }

    /// Bytes that may wait for a subflow.
    fn ahead(&self) -> u64 {
        let windows: u64 = self.lines().map(|line| line.pace().window).sum();
        (windows / AHEAD.0).max(AHEAD.1)
    }
}

impl Drop for Flow {
    fn drop(&mut self) {
        self.store.change(self.lock().stored, 0);
    }
}

impl Flow {
    /// A flow without subflows, whose bytes are counted in a store.
    pub fn new(store: Arc<Store>) -> Arc<Self> {
        let state = State {
            sender: Sender::new(FIRST_WINDOW),
            receiver: Receiver::new(FIRST_WINDOW),
            subflows: BTreeMap::new(),
            next: 0,
            told: Instant::now(),
            ending: None,
            is_left: false,
            carried: Carried::default(),
            is_large: false,
            full: None,
            stored: 0,
        };
        let [to_send, to_take, room, changed] = std::array::from_fn(|_| Notify::new());
        Arc::new(Self { store, state: Mutex::new(state), to_send, to_take, room, changed })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes that were taken in, and that were taken out.
    pub fn carried(&self) -> Carried {
        self.lock().carried
    }

    /// Whether the flow has ended, well or not.
    pub fn has_ended(&self) -> bool {
        self.lock().ending().is_some()
    }

    /// Waits until more lines are worth it, or the flow has ended.
    pub async fn wants_more(&self) {
        let answer = |state: &mut State| (state.ending().is_some() || state.wants_more()).then_some(());
        self.until(&self.changed, answer).await;
    }

    /// Waits until the flow has ended.
    pub async fn ended(&self) {
        self.until(&self.changed, |state| state.ending().map(|_| ())).await;
    }

    /// Waits until a question about the flow has an answer, which is asked again after each call of a signal.
    async fn until<T>(&self, signal: &Notify, mut answer: impl FnMut(&mut State) -> Option<T>) -> T {
        loop {
            let mut woken = pin!(signal.notified());
            woken.as_mut().enable();
            if let Some(answer) = answer(&mut self.lock()) {
                return answer;
            }
            woken.await;
        }
    }

    /// Wakes all who may have to do something after a change that is not only theirs.
    fn wake_all(&self) {
        for signal in [&self.to_send, &self.to_take, &self.room, &self.changed] {
            signal.notify_waiters();
        }
    }

    /// Ends the flow as one that has failed.
    pub fn abort(&self) {
        self.lock().fail();
        self.wake_all();
    }

    /// Waits until the flow has failed; does not return if it ends well.
    pub async fn failed(&self) {
        self.until(&self.changed, |state| (state.ending() == Some(Ending::Failed)).then_some(())).await;
    }

    /// Adds a subflow on a line. The work that it returns carries the flow over a stream there, until either ends.
    pub fn attach<S: Sends, R: Receives>(
        self: &Arc<Self>,
        line: Arc<Line>,
        sends: S,
        receives: R,
    ) -> impl Future<Output = ()> + use<S, R> {
        let own = {
            let mut state = self.lock();
            let own = state.next;
            state.next += 1;
            state.subflows.insert(own, Subflow { line: line.clone(), has_told_end: false, is_full: false });
            own
        };
        self.wake_all();
        let flow = self.clone();
        async move { flow.work_on(own, &line, sends, receives).await }
    }

    /// Carries the flow over the stream of a subflow.
    async fn work_on(&self, own: u32, line: &Line, mut sends: impl Sends, mut receives: impl Receives) {
        let mut doubts = line.doubts();
        let doubting = async {
            while doubts.changed().await.is_ok() {
                if *doubts.borrow_and_update() {
                    self.lock().distrust(own);
                }
                self.wake_all();
            }
            std::future::pending::<()>().await;
        };
        let both = async { tokio::try_join!(self.send(own, &mut sends), self.receive(&mut receives)).map(|_| ()) };
        let outcome = tokio::select! {
            outcome = both => outcome,
            () = doubting => Err(Broken::Stream),
            () = self.failed() => Err(Broken::Flow),
            _ = line.quic().closed() => Err(Broken::Stream),
        };
        {
            let mut state = self.lock();
            if outcome.is_err() {
                state.distrust(own);
            }
            state.subflows.remove(&own);
            state.is_left = state.subflows.is_empty() && line.was_left();
            if outcome == Err(Broken::Flow) {
                state.fail();
            }
        }
        self.wake_all();
        if outcome == Err(Broken::Flow) {
            sends.reset();
            receives.stop();
        }
    }

    /// Sends on a subflow until all is done.
    async fn send(&self, own: u32, sends: &mut impl Sends) -> Result<(), Broken> {
        loop {
            let mut woken = pin!(self.to_send.notified());
            woken.as_mut().enable();
            let next = self.lock().next(own);
            match next {
                Next::Send(head, body) => {
                    if !body.is_empty() {
                        self.room.notify_waiters();
                    }
                    sends.send(head).await?;
                    if !body.is_empty() {
                        sends.send(body).await?;
                    }
                    if let Some(subflow) = self.lock().subflows.get_mut(&own) {
                        subflow.is_full = false;
                    }
                }
                Next::Wait(None) => woken.await,
                Next::Wait(Some(due)) => tokio::select! {
                    () = woken => {}
                    // Another may be the fastest by now.
                    () = sleep_until(due) => self.to_send.notify_waiters(),
                },
                Next::Finish => {
                    self.wake_all();
                    return Ok(sends.finish().await?);
                }
                Next::Reset => return Err(Broken::Flow),
            }
        }
    }

    /// Receives on a subflow until the other end has all.
    async fn receive(&self, receives: &mut impl Receives) -> Result<(), Broken> {
        let mut frames = Frames::default();
        while let Some(more) = receives.receive().await? {
            frames.add(more);
            let (mut has_news, mut has_room, mut is_urgent) = (false, false, false);
            {
                let mut state = self.lock();
                for frame in frames.by_ref() {
                    match frame? {
                        Frame::Data(offset, bytes) => {
                            state.receiver.insert(offset, bytes)?;
                            has_news = true;
                        }
                        Frame::End(end) => {
                            state.receiver.finish(end)?;
                            has_news = true;
                        }
                        Frame::Ack(received, limit) => {
                            has_room |= state.sender.on_ack(received, limit)?;
                        }
                    }
                }
                is_urgent |= has_news && state.receiver.has_news();
                state.account(&self.store);
            }
            if has_news {
                self.to_take.notify_waiters();
            }
            if has_room {
                self.room.notify_waiters();
                self.changed.notify_waiters();
            }
            if has_room || is_urgent {
                self.to_send.notify_waiters();
            }
        }
        // It ends its streams when it has all, and has heard that all of its own is here.
        let mut state = self.lock();
        let end = state.sender.end().ok_or(Broken::Flow)?;
        state.sender.on_ack(end + 1, 0)?;
        drop(state);
        self.wake_all();
        Ok(())
    }

    /// Takes in bytes ahead of those of a connection.
    pub fn write_first(&self, bytes: Bytes) {
        {
            let mut state = self.lock();
            state.count(bytes.len() as u64, 0);
            state.sender.write(bytes);
        }
        self.wake_all();
    }

    /// Carries bytes of a connection until both directions have ended, or the flow has failed. Where it has failed the
    /// connection is reset, so that nobody takes what there is for the whole.
    pub async fn join(&self, tcp: TcpStream) -> Carried {
        keep_alive(&tcp);
        let (mut reader, mut writer) = tcp.into_split();
        let has_failed = self.carry(&mut reader, &mut writer).await;
        if has_failed && let Ok(tcp) = reader.reunite(writer) {
            // With no time to linger the connection is reset. An error shows that it is gone already.
            let _ = tcp.set_zero_linger();
        }
        self.carried()
    }

    /// Carries bytes in both directions; whether the flow has failed.
    pub async fn carry(&self, reader: &mut (impl AsyncRead + Unpin), writer: &mut (impl AsyncWrite + Unpin)) -> bool {
        let both = async { tokio::try_join!(self.take_in(reader), self.take_out(writer)).map(|_| ()) };
        let is_lost = tokio::select! {
            outcome = both => outcome.is_err(),
            () = self.failed() => true,
            () = self.forsaken() => true,
        };
        if is_lost {
            self.abort();
            return true;
        }
        // All bytes are handed over; the other end has its part when it says so.
        tokio::select! {
            () = self.ended() => {}
            () = self.forsaken() => self.abort(),
        }
        false
    }

    /// Waits until the other end has left, or the flow was without subflows for a long time.
    async fn forsaken(&self) {
        loop {
            let is_left = self.until(&self.changed, |state| state.subflows.is_empty().then_some(state.is_left)).await;
            let back = self.until(&self.changed, |state| (!state.subflows.is_empty()).then_some(()));
            if is_left || timeout(PATIENCE, back).await.is_err() {
                return;
            }
        }
    }

    async fn take_in(&self, reader: &mut (impl AsyncRead + Unpin)) -> Result<(), ()> {
        let mut piece = BytesMut::new();
        loop {
            self.until(&self.room, |state| state.make_room(&self.store)).await;
            piece.reserve(MOST_PIECE);
            let read = reader.read_buf(&mut piece).await.map_err(|_| ())?;
            let is_large = {
                let mut state = self.lock();
                if read == 0 {
                    state.sender.finish();
                } else {
                    state.sender.write(piece.split().freeze());
                }
                state.account(&self.store);
                state.count(read as u64, 0)
            };
            if is_large {
                self.changed.notify_waiters();
            }
            self.to_send.notify_waiters();
            if read == 0 {
                return Ok(());
            }
        }
    }

    async fn take_out(&self, writer: &mut (impl AsyncWrite + Unpin)) -> Result<(), ()> {
        loop {
            let piece = self.until(&self.to_take, |state| {
                let piece = state.receiver.take();
                (piece.is_some() || state.receiver.is_over()).then_some(piece)
            });
            let Some(mut piece) = piece.await else {
                let shut = writer.shutdown().await.map_err(|_| ());
                self.changed.notify_waiters();
                self.to_send.notify_waiters();
                return shut;
            };
            let count = piece.len() as u64;
            writer.write_all_buf(&mut piece).await.map_err(|_| ())?;
            let (is_large, is_urgent) = {
                let mut state = self.lock();
                state.account(&self.store);
                (state.count(0, count), state.receiver.is_urgent())
            };
            if is_large {
                self.changed.notify_waiters();
            }
            if is_urgent {
                self.to_send.notify_waiters();
            }
        }
    }
}
