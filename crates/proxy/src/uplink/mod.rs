//! The way of a proxy to its exit: lines, which are made again when they are lost, and flows over them.

mod conditions;
mod keep;
mod requests;
mod spread;

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use anabranch_live::PathReport;
use anabranch_live::control::Group;
use anabranch_live::qlog::Qlog;
use anabranch_live::security::Identity;
use anabranch_live::url::Url;
use anabranch_proto::Protocol;
use bytes::Bytes;
use http::{Response, StatusCode};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout, timeout_at};

pub use self::conditions::{Conditions, Counts, Present, Terms, TermsError};
pub(crate) use self::keep::Known;
use self::keep::{Board, Place, keep};
pub(crate) use self::requests::plain;
use self::requests::{Stream, ask};
pub(crate) use self::spread::MOST_STREAMS;
use self::spread::{Spread, spread};
use crate::bundle::carrier::Flow;
use crate::bundle::greeting::{BundleId, HOPS, Part};
use crate::bundle::guide::{Next, set_capacities};
use crate::bundle::line::Line;
use crate::bundle::turns::{SHARE, Share, Turns};
use crate::bundle::{Bundle, MOST_LINES, Store, fastest};
use crate::capacity::Capacity;
use crate::http3::Asking;
use crate::ip::carrier::{Incoming, IpFlow};
use crate::ledger::{Entry, Kind, Ledger};
use crate::meter::Limits;
use crate::packets::carrier::PacketFlow;
use crate::packets::flows::Flows;
use crate::packets::{Sink, Source};
use crate::target::Target;
use crate::token::Token;
use crate::unreached::Unreached;
use crate::watch::{Peer, ShownLine};

/// The longest wait of a request for a line.
const WAIT: Duration = Duration::from_secs(10);

/// The wait for an answer, besides three round trips, after which the next line is asked too.
const ASKED_AGAIN: Duration = Duration::from_millis(300);

/// The longest wait for an answer: the exit itself gives up before.
const ANSWER_TIME: Duration = Duration::from_secs(20);

/// An exit, and how to reach it.
#[derive(Clone, Debug)]
pub struct Exit {
    /// URL of the exit, which may contain fingerprints of its certificate.
    pub url: Url,
    /// File of certificates that signed the exit's, instead of fingerprints in the URL.
    pub authorities: Option<PathBuf>,
    /// Local addresses or interfaces, with a path over each; empty if the system chooses.
    pub via: Vec<String>,
    /// Further local addresses or interfaces: what is sent takes their paths while no other is open.
    pub backup: Vec<String>,
    /// The token that the exit knows, if this end is known by one.
    pub token: Option<Token>,
    /// What this end shows when it connects, if the exit knows it by its certificate.
    pub identity: Option<Arc<Identity>>,
    /// Where logs of the lines are kept, if they are.
    pub qlog: Option<Arc<Qlog>>,
    /// Name of the control in both directions.
    pub control: String,
    /// The control with this name.
    pub protocol: Protocol,
    /// The capacity towards the exit, if it is known.
    pub capacity: Option<Capacity>,
    /// What the user says of the lines.
    pub conditions: Present,
    /// What the lines have carried.
    pub counts: Counts,
}

impl Exit {
    /// The local address or interface of each line, none if the system chooses, and whether it is a backup.
    fn places(&self) -> Vec<(Vec<String>, bool)> {
        let mut all: Vec<(Vec<String>, bool)> = self.via.iter().map(|via| (vec![via.clone()], false)).collect();
        if all.is_empty() {
            all.push((Vec::new(), false));
        }
        all.extend(self.backup.iter().map(|via| (vec![via.clone()], true)));
        all
    }
}

/// The state of the lines to an exit.
#[derive(Clone, Debug)]
pub enum UplinkState {
    /// Some of these paths are open.
    Up(Vec<PathReport>),
    /// None is, for these reasons.
    Down(String),
    /// The exit sends under this control, and not under the one that was named.
    Sends(&'static str),
}

/// A line to an exit, on which requests can be sent.
#[derive(Clone)]
struct Way {
    line: Arc<Line>,
    asking: Asking,
    flows: Flows,
}

/// The lines that are up, in the order of their numbers.
struct Ways(watch::Sender<Vec<Way>>);

impl Ways {
    fn add(&self, way: Way) {
        self.0.send_modify(|ways| {
            ways.push(way);
            ways.sort_by_key(|way| way.line.number);
        });
    }

    fn remove(&self, line: &Arc<Line>) {
        self.0.send_modify(|ways| ways.retain(|way| !Arc::ptr_eq(&way.line, line)));
    }
}

/// Opens flows to targets over the lines to an exit.
#[derive(Clone)]
pub(crate) struct Uplink {
    exit: Arc<Exit>,
    ways: Arc<Ways>,
    /// Number of the next flow.
    next: Arc<AtomicU64>,
    seen: Arc<Seen>,
}

/// What can be seen of an uplink.
pub(crate) struct Seen {
    pub ledger: Arc<Ledger>,
    /// What waits in flows.
    pub store: Arc<Store>,
    /// Turns of the clients of a relay.
    turns: Arc<Turns>,
    board: Board,
    bundle: OnceLock<Arc<Bundle>>,
    /// What a relay tells the exit of the loop after it, for data that come from there.
    pub onward: OnceLock<Box<dyn Fn() -> Next + Send + Sync>>,
}

impl Seen {
    /// The lines, once they are kept.
    pub fn bundle(&self) -> Option<Arc<Bundle>> {
        self.bundle.get().cloned()
    }

    /// The exit as the other end of the lines.
    pub fn peer(&self, name: String) -> Peer {
        let lines = self.lines().into_iter().map(|(known, line)| ShownLine::of(known, line)).collect();
        Peer { name, is_known: true, lines, ledger: self.ledger.clone(), is_onward: true }
    }

    /// Bytes on links that each line has carried in both directions, in the order of their numbers.
    pub fn carried(&self) -> Vec<u64> {
        self.lines()
            .iter()
            .map(|(known, line)| known.carried + line.as_ref().map_or(0, |line| line.carried()))
            .collect()
    }

    /// The lines in the order of their numbers: what is known of each, and the line if it is up.
    fn lines(&self) -> Vec<(Known, Option<Arc<Line>>)> {
        let known = self.board.all();
        let up = self.bundle.get().map_or_else(Vec::new, |bundle| bundle.lines());
        let line = |number| up.iter().find(|line| line.number == number).cloned();
        known.into_iter().map(|known| (known.clone(), line(known.number))).collect()
    }
}

/// Packets to and from a target, until it is dropped.
pub(crate) struct Packets {
    flow: Arc<PacketFlow>,
    take: mpsc::Receiver<Bytes>,
    _entry: Entry,
}

impl Drop for Packets {
    fn drop(&mut self) {
        self.flow.end();
    }
}

impl Packets {
    /// Carries packets until both directions have been silent for a long time, or either side fails.
    pub async fn carry(&mut self, source: &mut impl Source, sink: &(impl Sink + Sync)) {
        self.flow.carry(source, sink, &mut self.take).await;
    }
}

/// A tunnel of IP packets to an exit.
pub(crate) struct IpTunnel {
    pub flow: Arc<IpFlow>,
    pub incoming: Incoming,
    pub _entry: Entry,
}

/// The client for which a relay opens a flow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Behalf {
    pub share: Share,
    /// Number of relays that the flow has passed, this one too.
    pub hops: u16,
}

/// A flow to a target, which fails when it is dropped before its end.
pub(crate) struct Tunnel(Arc<Flow>, #[expect(dead_code, reason = "it is held")] Entry);

impl Drop for Tunnel {
    fn drop(&mut self) {
        if !self.0.has_ended() {
            self.0.abort();
        }
    }
}

impl Tunnel {
    /// The flow.
    pub fn flow(&self) -> &Arc<Flow> {
        &self.0
    }

    /// Sends bytes ahead of those of a connection.
    pub fn send_first(&self, bytes: Bytes) {
        self.0.write_first(bytes);
    }

    /// Carries the bytes of a connection until its end.
    pub async fn join(&self, tcp: TcpStream) {
        self.0.join(tcp).await;
    }

    /// Carries bytes until both directions have ended; whether the flow has failed.
    pub async fn carry(&self, reader: &mut (impl AsyncRead + Unpin), writer: &mut (impl AsyncWrite + Unpin)) -> bool {
        self.0.carry(reader, writer).await
    }
}

impl Uplink {
    /// An uplink whose flows are counted in a store, and the work that keeps its lines; `tell` hears of each change.
    pub fn new(
        exit: Exit,
        store: Arc<Store>,
        tell: impl Fn(UplinkState) + Send + Sync + 'static,
    ) -> (Self, impl Future<Output = ()> + Send) {
        let (exit, ways) = (Arc::new(exit), Arc::new(Ways(watch::channel(Vec::new()).0)));
        let board = Board::new(&exit, tell);
        let (bundle, onward) = (OnceLock::new(), OnceLock::new());
        let seen = Arc::new(Seen { ledger: Arc::default(), store, turns: Arc::default(), board, bundle, onward });
        exit.counts.begin(&seen);
        let uplink = Self { exit: exit.clone(), ways: ways.clone(), next: Arc::default(), seen: seen.clone() };
        (uplink, keep_all(exit, ways, seen))
    }

    /// What can be seen of it.
    pub fn seen(&self) -> Arc<Seen> {
        self.seen.clone()
    }

    /// Opens a flow to a target, as a connection of TCP.
    ///
    /// # Errors
    /// If there is no line to the exit, or the exit does not reach the target.
    pub async fn open(&self, target: &Target) -> Result<Tunnel, Unreached> {
        self.open_for(target, None).await
    }

    /// Opens a flow to a target, perhaps for a client of a relay.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub async fn open_for(&self, target: &Target, client: Option<Behalf>) -> Result<Tunnel, Unreached> {
        let flow = Flow::new(self.seen.store.clone());
        self.begin(&flow, target, client).await?;
        if let Some(client) = client {
            let weak: Weak<Flow> = Arc::downgrade(&flow);
            flow.take_turns(self.seen.turns.enter(client.share, weak));
        }
        let entry = self.seen.ledger.enter(target, Kind::Tcp, flow.clone());
        Ok(Tunnel(flow, entry))
    }

    /// Opens a flow of packets to a target, perhaps for a client of a relay.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub async fn open_packets(&self, target: &Target, client: Option<Behalf>) -> Result<Packets, Unreached> {
        let (flow, take) = PacketFlow::new(Limits::default());
        self.begin(&flow, target, client).await?;
        let entry = self.seen.ledger.enter(target, Kind::Udp, flow.clone());
        Ok(Packets { flow, take, _entry: entry })
    }

    /// Opens a tunnel of IP packets, perhaps for a client of a relay.
    ///
    /// # Errors
    /// As [`Self::open`], or if the exit carries no such packets.
    pub async fn open_ip(&self, client: Option<Behalf>) -> Result<IpTunnel, Unreached> {
        let (flow, incoming) = IpFlow::new(Limits::default());
        self.begin(&flow, &(), client).await?;
        let entry = self.seen.ledger.enter(&"*", Kind::Ip, flow.clone());
        Ok(IpTunnel { flow, incoming, _entry: entry })
    }

    /// Opens a flow, and begins to carry it.
    async fn begin<F: Spread>(
        &self,
        flow: &Arc<F>,
        target: &F::Target,
        client: Option<Behalf>,
    ) -> Result<(), Unreached> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let request = |exit: &Exit| {
            let mut request = F::request(exit, target, Part { flow: number, joins: false });
            if let Some(Behalf { share, hops }) = client {
                request.headers_mut().insert(SHARE, plain(&share.write()));
                request.headers_mut().insert(HOPS, hops.into());
            }
            request
        };
        let (way, stream) = self.ask(request).await?;
        // The first bytes find a subflow.
        let first = (way.line.id, flow.attach(way, stream));
        let more = (self.exit.clone(), self.ways.0.subscribe());
        tokio::spawn(spread(flow.clone(), (number, target.clone()), first, more));
        Ok(())
    }

    /// Sends a request over the fastest line; over the next one too, if that one is doubted or lost before the answer.
    ///
    /// # Errors
    /// As [`Self::open`].
    async fn ask(&self, request: impl Fn(&Exit) -> http::Request<()>) -> Result<(Way, Stream), Unreached> {
        let end = Instant::now() + WAIT;
        let mut ways = self.ways.0.subscribe();
        let mut asked: HashSet<u64> = HashSet::new();
        let mut answers = JoinSet::new();
        let mut doubts = JoinSet::new();
        loop {
            let next = {
                let ways = ways.borrow_and_update();
                let fresh = ways.iter().filter(|way| !asked.contains(&way.line.id)).map(|way| &way.line);
                let id = fastest(fresh).map(|line| line.id);
                ways.iter().find(|way| Some(way.line.id) == id).cloned()
            };
            match next {
                // Only the answer of a line that works can be waited for.
                Some(mut way) if doubts.is_empty() => {
                    asked.insert(way.line.id);
                    let (request, mut doubt) = (request(&self.exit), way.line.doubts());
                    let soon = ASKED_AGAIN + 3 * way.line.pace().rtt;
                    // The answer to a second request is that to the first.
                    doubts.spawn(async move { timeout(soon, doubt.wait_for(|is_doubted| *is_doubted)).await.is_ok() });
                    answers.spawn(async move {
                        let answer = timeout(ANSWER_TIME, ask(&mut way.asking, request)).await;
                        (way, answer.map_err(|_| Unreached::TimedOut))
                    });
                    continue;
                }
                _ => {}
            }
            let (may_wait, is_asked) = (doubts.is_empty(), !answers.is_empty());
            let changed = async {
                // Who is asked answers in time.
                let end = if is_asked { end + ANSWER_TIME } else { end };
                let changed = timeout_at(end, ways.changed()).await;
                changed.ok().and_then(Result::ok).ok_or(Unreached::NoExit)
            };
            tokio::select! {
                Some(Ok((way, answer))) = answers.join_next() => match answer? {
                    Some((stream, answer)) => return accepted(&answer).map(|()| (way, stream)),
                    None => doubts.abort_all(),
                },
                Some(_) = doubts.join_next() => {}
                changed = changed, if may_wait => changed?,
            }
            while doubts.try_join_next().is_some() {}
        }
    }
}

/// Whether an answer is that of a target.
fn accepted(answer: &Response<()>) -> Result<(), Unreached> {
    if answer.status() == StatusCode::OK {
        return Ok(());
    }
    let header = answer.headers().get("proxy-status").and_then(|value| value.to_str().ok());
    Err(Unreached::read(answer.status(), header))
}

/// Keeps all lines; does not return.
async fn keep_all(exit: Arc<Exit>, ways: Arc<Ways>, seen: Arc<Seen>) {
    let (group, id) = match (Group::new(&exit.protocol), BundleId::random()) {
        (Ok(group), Some(id)) => (group, id),
        (Err(error), _) => return seen.board.fail(error.to_string()),
        (_, None) => return seen.board.fail("the system has no random numbers".to_owned()),
    };
    let all = exit.places();
    if all.len() > MOST_LINES {
        return seen.board.fail(format!("{} paths are too many; a proxy may have {MOST_LINES}", all.len()));
    }
    let bundle = seen.bundle.get_or_init(|| Bundle::new(group, true));
    let mut lines = JoinSet::new();
    for (number, (via, is_backup)) in (0_u8..).zip(all) {
        let place = Place { bundle: id, number, via, is_backup };
        lines.spawn(keep(exit.clone(), place, (bundle.clone(), ways.clone(), seen.clone())));
    }
    let (tell, known) = watch::channel(None);
    if let Some(capacity) = exit.capacity.clone() {
        let own = bundle.clone();
        lines.spawn(capacity.follow(tell));
        lines.spawn(set_capacities(known, move || vec![own.clone()]));
    }
    lines.spawn(follow_grants(exit.conditions.clone(), bundle.clone()));
    while lines.join_next().await.is_some() {}
}

/// Sends no more than is granted; does not return.
async fn follow_grants(mut conditions: Present, bundle: Arc<Bundle>) {
    loop {
        let granted = conditions.borrow_and_update().granted.clone();
        bundle.set_granted(granted);
        if conditions.changed().await.is_err() {
            // Nobody changes them any more.
            std::future::pending::<()>().await;
        }
    }
}
