//! A flow of packets at one end: between a socket or a program, and the streams of its subflows.
//!
//! A client of others has one stream. A proxy of ours has one on each line: packets go over the fastest, and come over any.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anabranch_live::quic::Connection;
use bytes::{Buf, Bytes, BytesMut};
use tokio::sync::{Notify, mpsc};
use tokio::time::{Instant, sleep_until, timeout};

use super::capsule::{Capsules, MOST_DATAGRAM, write_datagram};
use super::copies::{self, Came};
use super::flows::{Datagrams, Fate, Sender};
use super::{PACKETS, SILENCE, Sink, Source};
use crate::bundle::fastest;
use crate::bundle::line::Line;
use crate::ledger::Flowing;
use crate::meter::Limits;
use crate::tunnel::{Carried, Receives, Sends};

/// For how long a flow waits for a line when it has none.
const PATIENCE: Duration = Duration::from_secs(20);

/// The most packets that wait for the socket, and large ones for a stream; later ones are dropped, as networks do.
const MOST_WAITING: usize = 64;

/// Packets after which a flow has subflows on all lines.
const MANY: u64 = 16;

/// A flow of packets at one end.
pub(crate) struct PacketFlow {
    state: Mutex<State>,
    give: mpsc::Sender<Bytes>,
    begun: Instant,
    /// Milliseconds after that of the last packet.
    heard_ms: AtomicU64,
    /// Subflows have come or gone, or the flow has ended.
    changed: Notify,
    /// The most that its client may send and receive; packets beyond are dropped.
    limits: Limits,
}

struct State {
    subflows: BTreeMap<u32, Subflow>,
    next: u32,
    packets: u64,
    /// Number of packets that were sent over two lines, and those that came so.
    copied: u32,
    came: Came,
    carried: Carried,
    has_ended: bool,
    /// Whether no other subflow comes after the last.
    is_left: bool,
}

struct Subflow {
    line: Option<Arc<Line>>,
    sender: Sender,
    /// Packets that are too large for datagrams.
    large: mpsc::Sender<Bytes>,
}

impl Subflow {
    /// Sends a packet, one that is too large for a datagram over the stream; drops it where too many wait.
    fn send(&self, packet: &[u8]) {
        if self.sender.send(packet) == Fate::TooLarge {
            let _ = self.large.try_send(Bytes::copy_from_slice(packet));
        }
    }
}

impl State {
    /// The subflow over which packets go now.
    fn best(&self) -> Option<&Subflow> {
        let line = fastest(self.subflows.values().filter_map(|subflow| subflow.line.as_ref()));
        let is_best = |subflow: &&Subflow| subflow.line.as_ref().map(|line| line.id) == line.map(|line| line.id);
        self.subflows.values().find(is_best)
    }

    /// The subflow over which copies of the packets that go over the best go, where the user wants that.
    fn second(&self) -> Option<&Subflow> {
        let all = self.subflows.values().filter_map(|subflow| subflow.line.as_ref());
        let first = fastest(all.clone()).filter(|line| line.terms().has_copies)?;
        let second = fastest(all.filter(|line| line.id != first.id && line.rank() == first.rank()))?;
        self.subflows.values().find(|subflow| subflow.line.as_ref().is_some_and(|line| line.id == second.id))
    }

    /// Whether subflows on all lines are worth it.
    fn wants_more(&self) -> bool {
        let has_copies = |subflow: &Subflow| subflow.line.as_ref().is_some_and(|line| line.terms().has_copies);
        self.packets >= MANY
            || self.subflows.values().any(has_copies)
            || self.subflows.values().filter_map(|own| own.line.as_ref()).all(|line| line.is_doubted())
    }
}

impl Flowing for PacketFlow {
    fn carried(&self) -> Carried {
        self.lock().carried
    }

    fn waiting(&self) -> u64 {
        0
    }

    fn lines(&self) -> Vec<u8> {
        self.lock().subflows.values().filter_map(|subflow| subflow.line.as_ref()).map(|line| line.number).collect()
    }
}

impl PacketFlow {
    /// A flow without subflows, and the packets that will come over them.
    pub fn new(limits: Limits) -> (Arc<Self>, mpsc::Receiver<Bytes>) {
        let (give, take) = mpsc::channel(MOST_WAITING);
        let state = State {
            subflows: BTreeMap::new(),
            next: 0,
            packets: 0,
            copied: 0,
            came: Came::default(),
            carried: Carried::default(),
            has_ended: false,
            is_left: false,
        };
        let flow = Self {
            state: Mutex::new(state),
            give,
            begun: Instant::now(),
            heard_ms: AtomicU64::new(0),
            changed: Notify::new(),
            limits,
        };
        (Arc::new(flow), take)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a packet; whether it is the one after which more subflows are worth it.
    fn note(&self, into: u64, out: u64) {
        let after = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.heard_ms.store(after, Ordering::Relaxed);
        let is_many = {
            let mut state = self.lock();
            state.packets += 1;
            state.carried.into_stream += into;
            state.carried.out_of_stream += out;
            state.packets == MANY
        };
        if is_many {
            self.changed.notify_waiters();
        }
    }

    async fn until<T>(&self, mut answer: impl FnMut(&State) -> Option<T>) -> T {
        loop {
            let mut woken = pin!(self.changed.notified());
            woken.as_mut().enable();
            if let Some(answer) = answer(&self.lock()) {
                return answer;
            }
            woken.await;
        }
    }

    /// Ends the flow.
    pub fn end(&self) {
        self.lock().has_ended = true;
        self.changed.notify_waiters();
    }

    /// Ends a flow that the other end does not know any more, unless it has other subflows.
    pub fn abandon(&self) {
        if self.lock().subflows.is_empty() {
            self.end();
        }
    }

    /// Whether the flow has ended.
    pub fn has_ended(&self) -> bool {
        self.lock().has_ended
    }

    /// Waits until the flow has ended.
    pub async fn ended(&self) {
        self.until(|state| state.has_ended.then_some(())).await;
    }

    /// Waits until subflows on all lines are worth it, or the flow has ended.
    pub async fn wants_more(&self) {
        self.until(|state| (state.has_ended || state.wants_more()).then_some(())).await;
    }

    /// Adds a subflow, on a line if it is one of several. The work that it returns carries its packets until it ends.
    pub fn attach<S: Sends, R: Receives>(
        self: &Arc<Self>,
        line: Option<Arc<Line>>,
        datagrams: Datagrams,
        (sends, receives): (S, R),
        quic: Connection,
    ) -> impl Future<Output = ()> + use<S, R> {
        let (large, take) = mpsc::channel(MOST_WAITING);
        let doubted = line.clone();
        let own = {
            let mut state = self.lock();
            let own = state.next;
            state.next += 1;
            state.subflows.insert(own, Subflow { line, sender: datagrams.sender(), large });
            own
        };
        self.changed.notify_waiters();
        let flow = self.clone();
        async move {
            let doubts = async {
                if let Some(line) = &doubted {
                    let mut doubts = line.doubts();
                    while doubts.changed().await.is_ok() {
                        flow.changed.notify_waiters();
                    }
                }
                std::future::pending::<()>().await;
            };
            tokio::select! {
                () = flow.work_on((datagrams, doubted.is_some()), take, sends, receives) => {}
                () = doubts => {}
                _ = quic.closed() => {}
            }
            {
                let mut state = flow.lock();
                state.subflows.remove(&own);
                state.is_left = state.subflows.is_empty() && doubted.is_none_or(|line| line.was_left());
            }
            flow.changed.notify_waiters();
        }
    }

    /// Carries packets over the stream and the datagrams of a subflow.
    async fn work_on(
        &self,
        (mut datagrams, is_of_line): (Datagrams, bool),
        mut large: mpsc::Receiver<Bytes>,
        mut sends: impl Sends,
        mut receives: impl Receives,
    ) {
        let inward = async {
            let mut capsules = Capsules::default();
            loop {
                tokio::select! {
                    datagram = datagrams.next() => self.deliver(datagram, is_of_line),
                    more = receives.receive() => match more {
                        Ok(Some(more)) => {
                            capsules.add(more);
                            for datagram in capsules.by_ref() {
                                self.deliver(datagram, is_of_line);
                            }
                        }
                        // The other end ends all streams of a flow when it ends.
                        Ok(None) => return self.end(),
                        Err(_) => return,
                    },
                }
            }
        };
        let outward = async {
            while let Some(packet) = large.recv().await {
                if sends.send(write_datagram(&packet)).await.is_err() {
                    return;
                }
            }
        };
        tokio::select! {
            () = inward => {}
            () = outward => {}
            () = self.ended() => {}
        }
        if self.has_ended() {
            // A stream that is gone already tells nobody.
            let _ = sends.finish().await;
        }
        receives.stop();
    }

    /// Takes the packet in a datagram, if there is one.
    fn deliver(&self, mut datagram: Bytes, is_of_line: bool) {
        if is_of_line && let Some((number, packet)) = copies::read(datagram.clone()) {
            if self.lock().came.is_first(number) {
                self.take_out(packet);
            }
        } else if datagram.first() == Some(&PACKETS) {
            datagram.advance(1);
            self.take_out(datagram);
        }
    }

    /// Takes a packet, which is dropped if its client has used up its rate.
    fn take_out(&self, datagram: Bytes) {
        if self.limits.sending().is_some_and(|meter| !meter.lets(Instant::now(), datagram.len() as u64)) {
            return;
        }
        self.note(0, datagram.len() as u64);
        // What comes too fast is dropped.
        let _ = self.give.try_send(datagram);
    }

    /// Sends a packet over the best subflow, and a copy over the second where there are to be copies. Without a subflow the
    /// packet is lost, as networks lose packets.
    fn send(&self, packet: &[u8]) {
        let mut state = self.lock();
        let number = state.copied;
        if let (Some(best), Some(second)) = (state.best(), state.second()) {
            let packet = copies::numbered(number, packet);
            best.send(&packet);
            second.send(&packet);
            state.copied = number.wrapping_add(1);
        } else if let Some(best) = state.best() {
            best.send(packet);
        }
    }

    /// Carries packets in both directions until either side ends, both have been silent for two minutes, or there was no
    /// subflow for a long time. Neither direction waits for the other.
    pub async fn carry(&self, source: &mut impl Source, sink: &(impl Sink + Sync), take: &mut mpsc::Receiver<Bytes>) {
        let out = async {
            while let Some(packet) = take.recv().await {
                sink.send(packet).await;
            }
        };
        tokio::select! {
            () = self.carry_in(source) => {}
            () = out => {}
            () = self.silence() => {}
            () = self.forsaken() => {}
            () = self.ended() => {}
        }
        self.end();
    }

    async fn carry_in(&self, source: &mut impl Source) {
        let mut packet = BytesMut::new();
        loop {
            packet.clear();
            packet.reserve(1 + MOST_DATAGRAM);
            packet.extend_from_slice(&[PACKETS]);
            if source.next(&mut packet).await.is_err() {
                return;
            }
            let length = packet.len() as u64 - 1;
            if self.limits.receiving().is_some_and(|meter| !meter.lets(Instant::now(), length)) {
                continue;
            }
            self.note(length, 0);
            self.send(&packet);
        }
    }

    /// Waits until there was no packet for two minutes.
    async fn silence(&self) {
        loop {
            let end = self.begun + Duration::from_millis(self.heard_ms.load(Ordering::Relaxed)) + SILENCE;
            if end <= Instant::now() {
                return;
            }
            sleep_until(end).await;
        }
    }

    /// Waits until there was no subflow for a long time, or the last has gone for good.
    async fn forsaken(&self) {
        loop {
            let is_left = self.until(|state| state.subflows.is_empty().then_some(state.is_left)).await;
            let back = self.until(|state| (!state.subflows.is_empty()).then_some(()));
            if is_left || timeout(PATIENCE, back).await.is_err() {
                return;
            }
        }
    }
}
