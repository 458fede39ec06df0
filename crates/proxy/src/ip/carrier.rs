//! A tunnel of IP packets at one end: over the stream of a client of others, or over a stream on each line of a proxy.
//!
//! Packets of one inner flow keep to one line. Each is a datagram of QUIC; one that is too large for these is a capsule on
//! the stream [rfc9484, sec. 6; rfc9297, sec. 3.5].

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anabranch_live::quic::Connection;
use bytes::{Bytes, BytesMut};
use tokio::sync::{Notify, mpsc, watch};
use tokio::time::{Instant, interval, timeout};

use super::capsules::{Capsule, MOST_VALUE, Malformed};
use super::lanes::Lanes;
use super::packet::{Header, take_hop};
use super::trouble::Trouble;
use crate::bundle::line::Line;
use crate::ledger::Flowing;
use crate::meter::Limits;
use crate::packets::capsule::{DATAGRAM, MOST_DATAGRAM, Reader, read_number, write_datagram};
use crate::packets::flows::{Datagrams, Fate, Sender};
use crate::tunnel::{Carried, Receives, Sends};

/// For how long a tunnel waits for a line when it has none.
const PATIENCE: Duration = Duration::from_secs(20);

/// The most packets that wait to be passed on, and large ones for a stream; later ones are dropped, as networks do.
pub(crate) const MOST_WAITING: usize = 512;
const MOST_LARGE: usize = 64;

/// The most capsules that wait to be read.
const MOST_CAPSULES: usize = 16;

/// Time between looks at what fits into the packets of lines, which find out by and by.
const LOOK: Duration = Duration::from_millis(250);

/// The least that a tunnel carries, which IPv6 needs [rfc9484, sec. 10.1].
const LEAST_MTU: u16 = 1280;

/// The context of whole packets [rfc9484, sec. 6], which stands before each.
pub(crate) const WHOLE: u8 = 0;

/// A tunnel of IP packets at one end.
pub(crate) struct IpFlow {
    state: Mutex<State>,
    packets: mpsc::Sender<Bytes>,
    capsules: mpsc::Sender<Capsule>,
    /// The largest packet that is carried without delay.
    mtu: watch::Sender<u16>,
    /// Subflows have come or gone, or the tunnel has ended.
    changed: Notify,
    /// The most that its client may send and receive; packets beyond are dropped.
    limits: Limits,
    title: Mutex<String>,
}

/// What comes over a tunnel.
pub(crate) struct Incoming {
    pub packets: mpsc::Receiver<Bytes>,
    pub capsules: mpsc::Receiver<Capsule>,
}

#[derive(Default)]
struct State {
    subflows: BTreeMap<u32, Subflow>,
    next: u32,
    lanes: Lanes,
    /// What is told on every stream that is added: capsules.
    news: Bytes,
    carried: Carried,
    has_ended: bool,
    /// Whether no other subflow comes after the last.
    is_left: bool,
}

struct Subflow {
    line: Option<Arc<Line>>,
    sender: Sender,
    /// Capsules for the stream.
    news: mpsc::Sender<Bytes>,
    /// Packets that are too large for datagrams.
    large: mpsc::Sender<Bytes>,
}

impl Subflow {
    /// Time until a packet that is sent now has arrived and is acknowledged, behind those that wait for its line, by the weight
    /// of that.
    fn arrival(&self) -> Duration {
        let Some(pace) = self.line.as_ref().map(|line| line.weighed(false)) else { return Duration::ZERO };
        pace.rtt + pace.rtt.mul_f64(self.sender.waiting() as f64 / pace.window.max(1) as f64)
    }
}

impl State {
    /// The subflow for a packet of an inner flow.
    fn choose(&mut self, flow: u64) -> Option<&Subflow> {
        let Self { subflows, lanes, .. } = self;
        let rank = |own: &Subflow| own.line.as_ref().map_or((false, false), |line| line.rank());
        let least = subflows.values().map(rank).min()?;
        let serves = |own: u32| subflows.get(&own).is_some_and(|subflow| rank(subflow) == least);
        let best = || {
            let serving = subflows.iter().filter(|(_, own)| rank(own) == least);
            serving.min_by_key(|(_, own)| own.arrival()).map(|(own, _)| *own)
        };
        let own = lanes.choose(flow, Instant::now(), serves, best)?;
        subflows.get(&own)
    }

    /// The largest packet that fits into datagrams of all lines, or has to pass anyway.
    fn mtu(&self) -> u16 {
        let least = self.subflows.values().filter_map(|subflow| subflow.sender.room()).min();
        let fits = least.map_or(0, |room| u16::try_from(room.saturating_sub(1)).unwrap_or(u16::MAX));
        fits.max(LEAST_MTU)
    }
}

impl Flowing for IpFlow {
    fn carried(&self) -> Carried {
        self.lock().carried
    }

    fn waiting(&self) -> u64 {
        0
    }

    fn lines(&self) -> Vec<u8> {
        self.lock().subflows.values().filter_map(|subflow| subflow.line.as_ref()).map(|line| line.number).collect()
    }

    fn title(&self) -> Option<String> {
        Some(self.title.lock().unwrap_or_else(PoisonError::into_inner).clone()).filter(|title| !title.is_empty())
    }
}

impl IpFlow {
    /// A tunnel without subflows, and what will come over them.
    pub fn new(limits: Limits) -> (Arc<Self>, Incoming) {
        let (give_packets, packets) = mpsc::channel(MOST_WAITING);
        let (give_capsules, capsules) = mpsc::channel(MOST_CAPSULES);
        let flow = Self {
            state: Mutex::default(),
            packets: give_packets,
            capsules: give_capsules,
            mtu: watch::channel(LEAST_MTU).0,
            changed: Notify::new(),
            limits,
            title: Mutex::default(),
        };
        (Arc::new(flow), Incoming { packets, capsules })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Names the tunnel by the addresses of its client.
    pub fn name(&self, title: String) {
        *self.title.lock().unwrap_or_else(PoisonError::into_inner) = title;
    }

    /// Tells the other end some capsules, on all streams that there are and that will be.
    pub fn tell(&self, capsules: &[Capsule]) {
        let mut bytes = BytesMut::new();
        for capsule in capsules {
            capsule.write(&mut bytes);
        }
        let mut state = self.lock();
        state.news = bytes.freeze();
        for subflow in state.subflows.values() {
            // Who asks and does not read answers goes without.
            let _ = subflow.news.try_send(state.news.clone());
        }
    }

    /// The largest packet that is carried in datagrams, or has to pass anyway.
    pub fn mtu(&self) -> watch::Receiver<u16> {
        self.mtu.subscribe()
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

    /// Ends the tunnel.
    pub fn end(&self) {
        self.lock().has_ended = true;
        self.changed.notify_waiters();
    }

    /// Ends a tunnel that the other end does not know any more, unless it has other subflows.
    pub fn abandon(&self) {
        if self.lock().subflows.is_empty() {
            self.end();
        }
    }

    /// Whether the tunnel has ended.
    pub fn has_ended(&self) -> bool {
        self.lock().has_ended
    }

    /// Waits until the tunnel has ended.
    pub async fn ended(&self) {
        self.until(|state| state.has_ended.then_some(())).await;
    }

    /// Waits until there was no subflow for a long time, or the last has gone for good.
    pub async fn forsaken(&self) {
        loop {
            let is_left = self.until(|state| state.subflows.is_empty().then_some(state.is_left)).await;
            let back = self.until(|state| (!state.subflows.is_empty()).then_some(()));
            if is_left || timeout(PATIENCE, back).await.is_err() {
                return;
            }
        }
    }

    /// Adds a subflow, on a line if it is one of several. The work that it returns carries its packets until it ends.
    pub fn attach<S: Sends, R: Receives>(
        self: &Arc<Self>,
        line: Option<Arc<Line>>,
        datagrams: Datagrams,
        (sends, receives): (S, R),
        quic: Connection,
    ) -> impl Future<Output = ()> + use<S, R> {
        let (large, take_large) = mpsc::channel(MOST_LARGE);
        let (news, take_news) = mpsc::channel(MOST_CAPSULES);
        let own = {
            let mut state = self.lock();
            let own = state.next;
            state.next += 1;
            // The channel is empty.
            let _ = news.try_send(state.news.clone());
            state.subflows.insert(own, Subflow { line: line.clone(), sender: datagrams.sender(), news, large });
            own
        };
        self.look();
        self.changed.notify_waiters();
        let flow = self.clone();
        async move {
            let looks = async {
                let mut tick = interval(LOOK);
                loop {
                    tick.tick().await;
                    flow.look();
                }
            };
            tokio::select! {
                () = flow.work_on(datagrams, (take_news, take_large), (sends, receives)) => {}
                () = looks => {}
                _ = quic.closed() => {}
            }
            {
                let mut state = flow.lock();
                state.subflows.remove(&own);
                state.is_left = state.subflows.is_empty() && line.is_none_or(|line| line.was_left());
            }
            flow.changed.notify_waiters();
        }
    }

    /// Looks at what fits into the packets of the lines.
    fn look(&self) {
        let mtu = self.lock().mtu();
        self.mtu.send_if_modified(|before| std::mem::replace(before, mtu) != mtu);
    }

    /// Carries packets and capsules over the stream and the datagrams of a subflow.
    async fn work_on(
        &self,
        mut datagrams: Datagrams,
        (mut news, mut large): (mpsc::Receiver<Bytes>, mpsc::Receiver<Bytes>),
        (mut sends, mut receives): (impl Sends, impl Receives),
    ) {
        let mut is_malformed = false;
        let inward = async {
            let mut reader = Reader::default();
            loop {
                tokio::select! {
                    datagram = datagrams.next() => self.deliver(&datagram),
                    piece = receives.receive() => match piece {
                        Ok(Some(piece)) => {
                            reader.add(piece);
                            if self.hear(&mut reader).await.is_err() {
                                is_malformed = true;
                                return;
                            }
                        }
                        Ok(None) | Err(_) => return,
                    },
                }
            }
        };
        let outward = async {
            loop {
                let bytes = tokio::select! {
                    Some(capsules) = news.recv() => capsules,
                    Some(packet) = large.recv() => write_datagram(&packet),
                    else => return,
                };
                if !bytes.is_empty() && sends.send(bytes).await.is_err() {
                    return;
                }
            }
        };
        tokio::select! {
            () = inward => {}
            () = outward => {}
            () = self.ended() => {}
        }
        if is_malformed {
            sends.reset();
        } else {
            // The end of a stream is that of its part of the tunnel; one that is gone already tells nobody.
            let _ = sends.finish().await;
        }
        receives.stop();
    }

    /// Takes what has come on a stream.
    async fn hear(&self, reader: &mut Reader) -> Result<(), Malformed> {
        let most = |kind| match kind {
            DATAGRAM => Some(MOST_DATAGRAM),
            kind => Capsule::knows(kind).then_some(MOST_VALUE),
        };
        while let Some(read) = reader.next(most) {
            match read {
                Ok((DATAGRAM, datagram)) => self.deliver(&datagram),
                Ok((kind, value)) => {
                    if let Some(capsule) = Capsule::read(kind, &value)? {
                        // Who does not read what it is told holds up this stream alone.
                        let _ = self.capsules.send(capsule).await;
                    }
                }
                Err(_) => return Err(Malformed),
            }
        }
        Ok(())
    }

    /// Takes the packet in a datagram, if there is one.
    fn deliver(&self, datagram: &Bytes) {
        let Some((context, length)) = read_number(datagram) else { return };
        if context != u64::from(WHOLE) {
            return;
        }
        let packet = datagram.slice(length..);
        if self.limits.sending().is_some_and(|meter| !meter.lets(Instant::now(), packet.len() as u64)) {
            return;
        }
        self.lock().carried.out_of_stream += packet.len() as u64;
        // What comes too fast is dropped.
        let _ = self.packets.try_send(packet);
    }

    /// Carries a packet on, which has one hop less then.
    ///
    /// # Errors
    /// If it has no hops left, or does not fit.
    pub fn forward(&self, framed: &mut [u8], header: &Header) -> Result<(), Trouble> {
        if header.hops <= 1 {
            return Err(Trouble::Expired);
        }
        self.check_size(framed.len() - 1, header)?;
        take_hop(&mut framed[1..]);
        self.send(framed, header.flow);
        Ok(())
    }

    /// Carries a packet of this machine.
    ///
    /// # Errors
    /// If it does not fit.
    pub fn originate(&self, framed: &[u8], header: &Header) -> Result<(), Trouble> {
        self.check_size(framed.len() - 1, header)?;
        self.send(framed, header.flow);
        Ok(())
    }

    /// One that may be divided on its way passes on a stream.
    fn check_size(&self, length: usize, header: &Header) -> Result<(), Trouble> {
        let mtu = *self.mtu.borrow();
        if header.is_whole && length > usize::from(mtu) { Err(Trouble::TooBig(mtu)) } else { Ok(()) }
    }

    /// Sends a packet with its context before it.
    pub fn send(&self, framed: &[u8], flow: u64) {
        let length = framed.len() as u64 - 1;
        if self.limits.receiving().is_some_and(|meter| !meter.lets(Instant::now(), length)) {
            return;
        }
        let mut state = self.lock();
        state.carried.into_stream += length;
        // Without a subflow the packet is lost, as networks lose packets.
        if let Some(subflow) = state.choose(flow)
            && subflow.sender.send(framed) == Fate::TooLarge
        {
            let _ = subflow.large.try_send(Bytes::copy_from_slice(framed));
        }
    }
}

/// A packet with its context before it, as tunnels send it.
pub(crate) fn framed(packet: &[u8]) -> Vec<u8> {
    [&[WHOLE], packet].concat()
}
