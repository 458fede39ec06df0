//! A flow at one end: its bytes on the streams of its subflows.

use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use bytes::Buf;
use h3::error::{Code, StreamError};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use super::Store;
use super::line::Line;
use super::state::{Ending, Next, State};
use super::turns::{Queued, Turn};
use crate::flow::FlowError;
use crate::flow::frame::{Frame, Frames};
use crate::flow::receiver::FIRST_WINDOW;
use crate::ledger::Flowing;
use crate::meter::Limits;
use crate::tunnel::{Carried, Receives, Sends};

/// A flow at one end. Its subflows come and go.
pub(crate) struct Flow {
    pub(super) store: Arc<Store>,
    state: Mutex<State>,
    /// There may be something to send.
    pub(super) to_send: Notify,
    /// There may be something to take out.
    pub(super) to_take: Notify,
    /// There may be room to take something in.
    pub(super) room: Notify,
    /// Subflows have come or gone, or the flow has ended.
    pub(super) changed: Notify,
    /// The flow over which a relay carries this one on.
    pub(super) beyond: OnceLock<Weak<Self>>,
    /// The most that its client may send and receive.
    pub(super) limits: Limits,
    turn: OnceLock<Turn>,
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

impl Drop for Flow {
    fn drop(&mut self) {
        self.store.change(self.lock().stored, 0);
    }
}

impl Flowing for Flow {
    fn carried(&self) -> Carried {
        self.lock().carried
    }

    fn waiting(&self) -> u64 {
        self.lock().stored
    }

    fn queued(&self) -> u64 {
        // One lock after the other.
        let waiting = self.lock().receiver.waiting();
        let beyond = self.beyond.get().and_then(Weak::upgrade);
        beyond.map_or(0, |beyond| beyond.lock().sender.sendable(waiting))
    }

    fn lines(&self) -> Vec<u8> {
        self.lock().subflows.values().map(|subflow| subflow.line.number).collect()
    }
}

impl Queued for Flow {
    fn backlog(&self) -> u64 {
        let state = self.lock();
        let works = state.subflows.values().any(|subflow| !subflow.line.is_doubted());
        if works { state.sender.backlog() } else { 0 }
    }
}

impl Flow {
    /// A flow without subflows, whose bytes are counted in a store.
    pub fn new(store: Arc<Store>) -> Arc<Self> {
        Self::within(store, Limits::default())
    }

    /// A flow of a client with limits.
    pub fn within(store: Arc<Store>, limits: Limits) -> Arc<Self> {
        let [to_send, to_take, room, changed] = std::array::from_fn(|_| Notify::new());
        Arc::new(Self {
            store,
            state: Mutex::new(State::new(Instant::now())),
            to_send,
            to_take,
            room,
            changed,
            beyond: OnceLock::new(),
            limits,
            turn: OnceLock::new(),
        })
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in bytes in turns from now on.
    pub fn take_turns(&self, turn: Turn) {
        // It has one place.
        let _ = self.turn.set(turn);
    }

    /// Its place among others, if it has one.
    pub fn turn(&self) -> Option<&Turn> {
        self.turn.get()
    }

    /// Bytes that streams of a line have carried, in the direction that has carried more.
    pub fn carried_on(&self, line: u64) -> u64 {
        self.lock().carried_on(line)
    }

    /// Number of its streams on a line.
    pub fn streams_on(&self, line: u64) -> usize {
        self.lock().subflows.values().filter(|subflow| subflow.line.id == line).count()
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
    pub(super) async fn until<T>(&self, signal: &Notify, mut answer: impl FnMut(&mut State) -> Option<T>) -> T {
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
    pub(super) fn wake_all(&self) {
        for signal in [&self.to_send, &self.to_take, &self.room, &self.changed] {
            signal.notify_waiters();
        }
    }

    /// Ends the flow as one that has failed.
    pub fn abort(&self) {
        self.lock().fail();
        self.wake_all();
    }

    /// Ends a flow that the other end does not know any more, unless it has other subflows, or only has to be taken out.
    pub fn abandon(&self) {
        {
            let mut state = self.lock();
            if !state.subflows.is_empty() || state.is_whole() {
                return;
            }
            state.fail();
        }
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
        let own = self.lock().add(line.clone());
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
        let both = async {
            tokio::try_join!(self.send((own, line), &mut sends), self.receive(own, &mut receives)).map(|_| ())
        };
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
    async fn send(&self, (own, line): (u32, &Line), sends: &mut impl Sends) -> Result<(), Broken> {
        loop {
            let mut woken = pin!(self.to_send.notified());
            woken.as_mut().enable();
            let (next, wakes_others) = {
                let (mut state, now) = (self.lock(), Instant::now());
                let next = state.next(own, now);
                let is_copied = matches!(&next, Next::Send { body, .. } if !body.is_empty()) && state.has_copies(now);
                (next, state.is_first_new() || is_copied)
            };
            if wakes_others {
                // Who is the fastest now may wait as one that was not, and who sends copies for what it copies.
                self.to_send.notify_waiters();
            }
            match next {
                Next::Send { head, body, is_small } => {
                    if !body.is_empty() {
                        self.room.notify_waiters();
                    }
                    let length = body.len() as u64;
                    let _passes = is_small.then(|| line.let_pass());
                    sends.send(head).await?;
                    if !body.is_empty() {
                        sends.send(body).await?;
                    }
                    if let Some(subflow) = self.lock().subflows.get_mut(&own) {
                        subflow.is_full = false;
                        subflow.carried.into_stream += length;
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
    async fn receive(&self, own: u32, receives: &mut impl Receives) -> Result<(), Broken> {
        let mut frames = Frames::default();
        while let Some(more) = receives.receive().await? {
            let length = more.remaining() as u64;
            frames.add(more);
            let (mut has_news, mut has_room, mut is_urgent) = (false, false, false);
            let mut acked: Option<(u64, u64)> = None;
            {
                let mut state = self.lock();
                if let Some(subflow) = state.subflows.get_mut(&own) {
                    subflow.carried.out_of_stream += length;
                }
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
                            let last = acked.unwrap_or_default();
                            acked = Some((received.max(last.0), limit.max(last.1)));
                        }
                    }
                }
                if let Some((received, limit)) = acked {
                    has_room = state.sender.on_ack(received, limit)?;
                }
                is_urgent |= has_news && state.receiver.has_news();
                state.account(&self.store);
                if state.receiver.waiting() > FIRST_WINDOW && self.store.is_overfull() {
                    return Err(Broken::Flow);
                }
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
}
