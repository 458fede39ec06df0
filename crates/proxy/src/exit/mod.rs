//! The exit: the far side of proxies, where traffic leaves for its targets.
//!
//! It is a proxy of HTTP/3: clients ask by CONNECT, for TCP [rfc9114, sec. 4.4], UDP [rfc9298] and IP packets [rfc9484], and
//! show a token by `proxy-authorization`, or a certificate when they connect. What it speaks is the standard alone, so that
//! clients of others are served too. Ours say by headers which connections are lines of one bundle, and which streams are parts
//! of one flow. Until the first request of a client that is known it has few streams, with some kilobytes on them; no more
//! datagrams than 256 kB wait, and nobody reads them.

mod answers;
mod bundles;
mod ip;
mod onward;

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::Duration;

use anabranch_core::Rate;
use anabranch_live::QuicConfig;
use anabranch_live::callers::{Caller, Callers};
use anabranch_live::control::{Ceiling, Unsuited, named};
use anabranch_live::qlog::Qlog;
use anabranch_live::quic::VarInt;
use anabranch_live::running::Events;
use anabranch_live::security::Identity;
use anabranch_live::session::{Arrival, Server, Session, SessionError};
use anabranch_live::sockets::{Local, SocketError, Sockets};
use anabranch_live::url::Url;
use anabranch_proto::Protocol;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval};

use self::bundles::{Proxies, Proxy};
use self::onward::Onward;
use crate::accounts::{Accounts, Known};
use crate::bundle::Store;
use crate::bundle::guide::{Next, set_capacities};
use crate::bundle::line::Line;
use crate::capacity::Capacity;
use crate::http3::{self, ALPN, Budget};
use crate::ip::gateway::Gateway;
use crate::ip::{GatewayError, Tun};
use crate::ledger::Ledger;
use crate::packets::flows::Flows;
use crate::rules::Rules;
use crate::tunnel::{Carried, Leaving};
use crate::uplink::{self, UplinkState};
use crate::watch::{self, Shows, WatchError, Watching, lines_of, show};

/// The most connections and flows to targets at a time, over all clients.
const MOST_TUNNELS: usize = 8192;

/// The most open streams of a client: before it is known, and after.
const MOST_STREAMS: (u32, u32) = (16, 4096);

/// Bytes that a client may send before it is known.
const MOST_UNKNOWN: u32 = 64 << 10;

/// Bytes that a known peer may send before they are read, over all streams: streams that nobody reads hold up the others
/// when they have as many.
const UNREAD: u32 = 128 << 20;

/// Bytes of datagrams that wait: a tenth of a second at 20 Mbit/s.
pub(crate) const DATAGRAMS: usize = 256 << 10;

/// The longest wait for the header of a request, and for the first request of a client that is known.
const PATIENCE: Duration = Duration::from_secs(10);

/// Time between adjustments of the send buffer.
const TICK: Duration = Duration::from_millis(50);

/// The header by which a client names the control for what is sent to it.
pub(crate) const CONTROL: &str = "anabranch-control";

/// The settings of an exit.
#[derive(Debug)]
pub struct ExitService {
    /// Local addresses; port 0 selects any free port.
    pub addresses: Vec<SocketAddr>,
    /// Certificate and its key.
    pub identity: Identity,
    /// Name or address in the URL, if it is not that of the first socket.
    pub host: Option<String>,
    /// The clients that are served.
    pub accounts: Accounts,
    /// The certificates that are taken from clients, if any are.
    pub callers: Option<Callers>,
    /// Where flows are carried on.
    pub onward: Course,
    /// The device for IP packets of clients, if they may send any.
    pub tun: Option<Tun>,
    /// The control for what is sent to clients that name no other.
    pub control: Protocol,
    /// The control for what is sent to proxies, whatever they name.
    pub always: Option<Protocol>,
    /// The capacity towards each client, if it is known.
    pub capacity: Option<Capacity>,
    /// Where the exit shows itself, if it does.
    pub watch: Option<Watching>,
    /// Where logs of connections are kept, if they are.
    pub qlog: Option<Arc<Qlog>>,
}

/// Where flows are carried on.
#[derive(Debug)]
pub enum Course {
    /// To their targets, if these are allowed: the work of an exit.
    Targets(Rules),
    /// To the next exit or relay, which decides: the work of a relay.
    Exit(Box<uplink::Exit>),
}

/// An event of an exit.
#[derive(Debug)]
pub enum ExitEvent {
    /// The exit serves at this URL.
    Serving(Url),
    /// The exit shows itself at this address.
    Shown(SocketAddr),
    /// A client has left.
    Left(Client),
    /// A line of a relay to the next exit has come or gone.
    Uplink(UplinkState),
    /// The exit has failed.
    Failed(ExitError),
}

/// What a client has done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Client {
    /// First address of the client, after its name if it has one.
    pub remote: String,
    /// Whether it has shown a token or a certificate that is known.
    pub is_known: bool,
    /// Connections and flows to targets that were made for it.
    pub tunnels: u64,
    /// Bytes to targets.
    pub sent: u64,
    /// Bytes from targets.
    pub received: u64,
}

impl Client {
    /// A client that has had this number of flows, which have carried these bytes.
    fn new(remote: String, is_known: bool, (tunnels, carried): (u64, Carried)) -> Self {
        Self { remote, is_known, tunnels, sent: carried.out_of_stream, received: carried.into_stream }
    }
}

/// The reason why an exit cannot serve.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum ExitError {
    #[error("cannot listen at {address}: {error}; choose another address or port by `--listen`")]
    Listen { address: SocketAddr, error: std::io::Error },
    #[error(transparent)]
    Session(#[from] SessionError),
    #[error(transparent)]
    Watch(#[from] WatchError),
    #[error(transparent)]
    Gateway(#[from] GatewayError),
    #[error("the exit has no address to listen at")]
    Nowhere,
    #[error("the sockets of the exit are closed")]
    Closed,
}

/// Serves until it is dropped: tells the URL first, then each client that has left.
pub async fn exit(service: ExitService, events: Events<ExitEvent>) {
    if let Err(error) = run(service, &events).await {
        events.tell(ExitEvent::Failed(error));
    }
}

async fn run(service: ExitService, events: &Events<ExitEvent>) -> Result<(), ExitError> {
    let ExitService {
        addresses,
        identity,
        host,
        accounts,
        callers,
        onward,
        tun,
        control,
        always,
        capacity,
        watch,
        qlog,
    } = service;
    let servers = listen(&addresses, &identity, (callers, qlog)).await?;
    let address = servers.first().ok_or(ExitError::Nowhere)?.address();
    let host = host.unwrap_or_else(|| address.ip().to_string());
    let url = Url { host, port: address.port(), path: String::new(), pins: vec![identity.fingerprint()], hash: None };
    let opened = match watch {
        Some(watch) => Some(watch.open().await?),
        None => None,
    };
    let gateway = tun.as_ref().map(Gateway::open).transpose()?;
    let place = url.place();
    events.tell(ExitEvent::Serving(url));
    if let Some(opened) = &opened {
        events.tell(ExitEvent::Shown(opened.address));
    }
    let proxies = Proxies::new((control.clone(), always), events.clone());
    let (store, knows_capacity) = (Arc::<Store>::default(), capacity.is_some());
    let next = match &onward {
        Course::Exit(next) => Some((next.url.place(), next.protocol.title().to_owned())),
        Course::Targets(_) => None,
    };
    let (onward, keeping) = Onward::begin(onward, store.clone(), events.clone());
    let exit = Arc::new(Exit {
        accounts,
        onward,
        gateway: gateway.clone(),
        control,
        proxies,
        room: Arc::new(Semaphore::new(MOST_TUNNELS)),
        store,
        knows_capacity,
        peers: Mutex::default(),
    });
    let shown = show(opened, Shown { exit: exit.clone(), place, next });
    if let Some(seen) = exit.onward.seen() {
        let own = Arc::downgrade(&exit);
        let waiting = Arc::downgrade(&seen);
        let next = move || {
            let (Some(exit), Some(seen)) = (own.upgrade(), waiting.upgrade()) else { return Next::default() };
            let proxies = exit.proxies.busy();
            Next::of(proxies.iter().map(|proxy| &proxy.bundle.group), seen.ledger.queued())
        };
        // It is set once.
        let _ = seen.onward.set(Box::new(next));
    }
    let (tell, known) = tokio::sync::watch::channel(None);
    let knowing = async {
        if let Some(capacity) = capacity {
            let own = exit.clone();
            let bundles = move || own.proxies.all().iter().map(|proxy| proxy.bundle.clone()).collect();
            tokio::join!(capacity.follow(tell), set_capacities(known, bundles));
        }
    };
    let granting = keep_to_grants(&exit);
    let mut gone = std::pin::pin!(async {
        match gateway {
            Some(gateway) => gateway.run().await,
            None => std::future::pending().await,
        }
    });
    // They end with the exit, or at once where there is nothing to show, to keep, to know or to grant.
    let mut beside = std::pin::pin!(async { tokio::join!(shown, keeping, knowing, granting) });
    // Connections end with the exit.
    let (mut served, mut is_alone) = (JoinSet::new(), false);
    loop {
        tokio::select! {
            arrival = next_of(&servers) => {
                let Some(arrival) = arrival else { return Err(ExitError::Closed) };
                let (exit, events) = (exit.clone(), events.clone());
                served.spawn(async move {
                    if let Some(client) = exit.serve(arrival).await {
                        events.tell(ExitEvent::Left(client));
                    }
                });
            }
            Some(_) = served.join_next() => {}
            _ = &mut beside, if !is_alone => is_alone = true,
            ended = &mut gone => return ended.map_err(|error| GatewayError::from(error).into()),
        }
    }
}

/// Keeps what is sent to clients to what is granted to them; returns at once if nothing is.
async fn keep_to_grants(exit: &Exit) {
    if exit.accounts.all().all(|client| client.granted().is_none()) {
        return;
    }
    let mut tick = interval(TICK);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tick.tick().await;
        let (proxies, mut peers) = (exit.proxies.all(), exit.peers());
        peers.retain(|peer| peer.line.get().is_none());
        for client in exit.accounts.all() {
            let Some(granted) = client.granted() else { continue };
            let is_own = |other: &Arc<Known>| Arc::ptr_eq(other, client);
            let own: Vec<_> = proxies.iter().filter(|proxy| is_own(&proxy.client)).collect();
            let plain: Vec<_> = peers.iter().filter(|peer| peer.client.get().is_some_and(is_own)).collect();
            // An equal part for each connection or proxy that has flows.
            let ledgers = own.iter().map(|proxy| &proxy.ledger).chain(plain.iter().map(|peer| &peer.ledger));
            let busy = ledgers.filter(|ledger| ledger.open() > 0).count().max(1);
            let part = Ceiling::asked(Rate(granted.0 / busy as f64));
            for proxy in own {
                proxy.bundle.set_granted(part.clone());
            }
            for peer in plain {
                peer.session.limit(&part);
            }
        }
    }
}

/// Listens at all addresses. The sockets of a server are of one kind, so there may be one for IPv4 and one for IPv6; that of
/// the first address is the first.
async fn listen(
    addresses: &[SocketAddr],
    identity: &Identity,
    (callers, qlog): (Option<Callers>, Option<Arc<Qlog>>),
) -> Result<Vec<Server>, ExitError> {
    let first = addresses.first().is_some_and(SocketAddr::is_ipv4);
    let mut servers = Vec::new();
    for is_ipv4 in [first, !first] {
        let own: Vec<Local> = addresses.iter().filter(|at| at.is_ipv4() == is_ipv4).map(|at| (*at).into()).collect();
        if own.is_empty() {
            continue;
        }
        let sockets = Sockets::bind(&own).await.map_err(|error| match error {
            SocketError::Refused { address, error } => ExitError::Listen { address, error },
            other => ExitError::Session(other.into()),
        })?;
        servers.push(Server::knowing(ALPN, sockets, identity, callers.clone())?.with_qlog(qlog.clone()));
    }
    Ok(servers)
}

/// The next client of any server; none if the sockets of one are closed.
async fn next_of(servers: &[Server]) -> Option<Arrival> {
    match servers {
        [one, other] => tokio::select! {
            arrival = one.next() => arrival,
            arrival = other.next() => arrival,
        },
        [one] => one.next().await,
        _ => None,
    }
}

/// An exit as it is shown.
struct Shown {
    exit: Arc<Exit>,
    place: String,
    /// The URL of the next exit, and the control of the lines to it.
    next: Option<(String, String)>,
}

impl Shows for Shown {
    fn kind(&self) -> &'static str {
        if self.next.is_some() { "relay" } else { "exit" }
    }

    fn url(&self) -> String {
        self.place.clone()
    }

    fn control(&self) -> String {
        match &self.next {
            Some((_, control)) => control.clone(),
            None => self.exit.control.title().to_owned(),
        }
    }

    fn waiting(&self) -> u64 {
        self.exit.store.waiting()
    }

    fn peers(&self) -> Vec<watch::Peer> {
        let proxy = |proxy: Arc<Proxy>| watch::Peer {
            name: proxy.name(),
            is_known: true,
            lines: lines_of(proxy.bundle.lines()),
            ledger: proxy.ledger.clone(),
            is_onward: false,
        };
        let client = |peer: Arc<Peer>| watch::Peer {
            name: peer.at(&peer.remote()),
            is_known: peer.is_known(),
            lines: Vec::new(),
            ledger: peer.ledger.clone(),
            is_onward: false,
        };
        let next = self.next.as_ref().zip(self.exit.onward.seen());
        let next = next.map(|((place, _), seen)| seen.peer(place.clone()));
        let clients = self.exit.peers().into_iter().filter(|peer| peer.line.get().is_none());
        next.into_iter().chain(self.exit.proxies.all().into_iter().map(proxy)).chain(clients.map(client)).collect()
    }

    fn clients(&self) -> Vec<Arc<Known>> {
        self.exit.accounts.all().cloned().collect()
    }
}

/// What all connections of an exit share.
struct Exit {
    accounts: Accounts,
    onward: Onward,
    /// Where IP packets of clients leave.
    gateway: Option<Arc<Gateway>>,
    control: Protocol,
    proxies: Proxies,
    room: Arc<Semaphore>,
    /// What waits in flows.
    store: Arc<Store>,
    /// Whether controls that use capacities suit.
    knows_capacity: bool,
    /// All connections.
    peers: Mutex<Vec<Weak<Peer>>>,
}

/// A connection of a client.
struct Peer {
    session: Arc<Session>,
    budget: Budget,
    flows: Flows,
    /// Who it is by its certificate, if it has shown one.
    caller: Option<Caller>,
    /// Number of requests by a client that is known.
    known: AtomicU64,
    /// The client, once it is known.
    client: OnceLock<Arc<Known>>,
    ledger: Arc<Ledger>,
    /// The proxy whose line the connection is, and the line.
    line: OnceLock<(Arc<Proxy>, Arc<Line>)>,
}

impl Exit {
    fn note(&self, peer: &Arc<Peer>) {
        let mut peers = self.peers.lock().unwrap_or_else(PoisonError::into_inner);
        peers.retain(|peer| peer.strong_count() > 0);
        peers.push(Arc::downgrade(peer));
    }

    /// All connections.
    fn peers(&self) -> Vec<Arc<Peer>> {
        self.peers.lock().unwrap_or_else(PoisonError::into_inner).iter().filter_map(Weak::upgrade).collect()
    }

    /// Serves a client until it leaves; nothing if there was no connection, or it was one of several lines.
    async fn serve(self: Arc<Self>, arrival: Arrival) -> Option<Client> {
        let config = QuicConfig { receive_window: MOST_UNKNOWN, streams: MOST_STREAMS.0, ..proxying() };
        let session = Arc::new(arrival.accept_with_config(config).await.ok()?);
        let _leaving = Leaving(session.connection().clone());
        let _ = session.group().choose(&self.control);
        let peer = Arc::new(Peer {
            budget: Budget::of(MOST_UNKNOWN.into()),
            flows: Flows::new(session.connection().clone()),
            caller: Caller::of(session.connection()),
            known: AtomicU64::new(0),
            client: OnceLock::new(),
            ledger: Arc::default(),
            line: OnceLock::new(),
            session,
        });
        self.note(&peer);
        let remote = peer.remote();
        let mut tasks = JoinSet::new();
        let mut tick = interval(TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let begin = tokio::time::Instant::now();
        let mut passing = std::pin::pin!(peer.flows.pass_on());
        if let Ok(mut requests) = http3::serve(peer.session.connection().clone(), peer.budget.clone()).await {
            loop {
                tokio::select! {
                    request = requests.accept() => match request {
                        Ok(Some(resolver)) => {
                            let (exit, peer) = (self.clone(), peer.clone());
                            tasks.spawn(async move { exit.answer(resolver, &peer).await });
                        }
                        Ok(None) | Err(_) => break,
                    },
                    Some(_) = tasks.join_next() => {}
                    () = &mut passing => break,
                    _ = tick.tick() => {
                        if peer.line.get().is_none() {
                            peer.session.fit_send_window();
                        }
                        if !peer.is_known() && begin.elapsed() > PATIENCE {
                            break;
                        }
                    }
                }
            }
        }
        if let Some((proxy, line)) = peer.line.get() {
            proxy.bundle.remove(line);
        }
        // Without the connection nothing more arrives; what has arrived may still be on its way to its target.
        while tasks.join_next().await.is_some() {}
        peer.line.get().is_none().then(|| Client::new(peer.at(&remote), peer.is_known(), peer.ledger.total()))
    }
}

impl Peer {
    /// First address of the client.
    fn remote(&self) -> String {
        self.session.paths().first().map_or_else(String::new, |path| path.label.clone())
    }

    /// The client at an address.
    fn at(&self, remote: &str) -> String {
        self.client.get().map_or_else(|| remote.to_owned(), |client| client.at(remote))
    }

    /// Lets a client that is known do more.
    fn welcome(&self) {
        self.budget.lift();
        self.session.connection().set_receive_window(VarInt::from_u32(UNREAD));
        self.session.connection().set_max_concurrent_bi_streams(VarInt::from_u32(MOST_STREAMS.1));
    }

    /// Whether it has shown a token or a certificate that is known, in a request.
    fn is_known(&self) -> bool {
        self.known.load(Ordering::Relaxed) > 0
    }

    /// Its flows, which are those of its proxy if it is a line of one.
    fn ledger(&self) -> &Arc<Ledger> {
        self.line.get().map_or(&self.ledger, |(proxy, _)| &proxy.ledger)
    }
}

/// Finds a control for lines of a proxy or a relay: the other end reports marks there. One that uses the capacities of links
/// suits if these are known.
///
/// # Errors
/// If there is none of this name, or it does not suit.
pub fn line_control(name: &str, knows_capacity: bool) -> Result<Protocol, Unsuited> {
    match named(name) {
        Err(Unsuited::NeedsCapacities { .. }) if knows_capacity => {
            Protocol::named(name).ok_or_else(|| Unsuited::Unknown { name: name.to_owned() })
        }
        found => found,
    }
}

/// Finds a control for connections of any clients.
///
/// # Errors
/// If there is none of this name, or it counts marks, which HTTP/3 does not report.
pub fn control(name: &str) -> Result<Protocol, ControlError> {
    let protocol = named(name)?;
    if protocol.capabilities().is_scalable() { Err(ControlError::Marks(protocol.title())) } else { Ok(protocol) }
}

/// The reason why a control does not suit a proxy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ControlError {
    /// It does not suit real connections.
    #[error(transparent)]
    Unsuited(#[from] Unsuited),
    /// It counts marks.
    #[error("{0} counts marks of packets, which clients of others do not report; choose another control")]
    Marks(&'static str),
}

/// The settings of connections between proxies and exits.
pub(crate) fn proxying() -> QuicConfig {
    QuicConfig { receive_window: UNREAD, streams: MOST_STREAMS.1, datagrams: DATAGRAMS, ..QuicConfig::default() }
}
