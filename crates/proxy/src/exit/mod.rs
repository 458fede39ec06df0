//! The exit: the far side of proxies, where traffic leaves for its targets.
//!
//! It is a proxy of HTTP/3: clients ask by CONNECT, for TCP [rfc9114, sec. 4.4] and UDP [rfc9298], and show a token by
//! `proxy-authorization`. What it speaks is the standard alone, so that clients of others are served too. Ours say by headers
//! which connections are lines of one bundle, and which streams are parts of one flow. Until a client has shown a token it
//! has few streams, with some kilobytes on them; no more datagrams than 256 kB wait, and nobody reads them.

mod answers;
mod bundles;

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use anabranch_live::QuicConfig;
use anabranch_live::control::{Unsuited, named};
use anabranch_live::quic::VarInt;
use anabranch_live::running::Events;
use anabranch_live::security::Identity;
use anabranch_live::session::{Arrival, Server, Session, SessionError};
use anabranch_live::sockets::{SocketError, Sockets};
use anabranch_live::url::Url;
use anabranch_proto::Protocol;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval};

use self::bundles::{Proxies, Proxy};
use crate::bundle::Store;
use crate::bundle::line::Line;
use crate::http3::{self, ALPN, Budget};
use crate::packets::flows::Flows;
use crate::rules::Rules;
use crate::token::Tokens;
use crate::tunnel::{self, Leaving};

/// The most connections and flows to targets at a time, over all clients.
const MOST_TUNNELS: usize = 8192;

/// The most open streams of a client: before it has shown a token, and after.
const MOST_STREAMS: (u32, u32) = (16, 4096);

/// Bytes that a client may send before it has shown a token.
const MOST_UNKNOWN: u32 = 64 << 10;

/// Bytes that a known peer may send before they are read, over all streams: streams that nobody reads hold up the others
/// when they have as many.
const UNREAD: u32 = 128 << 20;

/// Bytes of datagrams that wait: a tenth of a second at 20 Mbit/s.
const DATAGRAMS: usize = 256 << 10;

/// The longest wait for the header of a request, and for the first request that shows a token.
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
    /// The tokens that clients show.
    pub tokens: Tokens,
    /// The targets that are allowed.
    pub rules: Rules,
    /// The control for what is sent to clients that name no other.
    pub control: Protocol,
}

/// An event of an exit.
#[derive(Debug)]
pub enum ExitEvent {
    /// The exit serves at this URL.
    Serving(Url),
    /// A client has left.
    Left(Client),
    /// The exit has failed.
    Failed(ExitError),
}

/// What a client has done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Client {
    /// First address of the client.
    pub remote: String,
    /// Whether it has shown a token.
    pub is_known: bool,
    /// Connections and flows to targets that were made for it.
    pub tunnels: u64,
    /// Bytes to targets.
    pub sent: u64,
    /// Bytes from targets.
    pub received: u64,
}

/// The reason why an exit cannot serve.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum ExitError {
    #[error("cannot listen at {address}: {error}; choose another address or port by `--listen`")]
    Listen { address: SocketAddr, error: std::io::Error },
    #[error(transparent)]
    Session(#[from] SessionError),
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
    let ExitService { addresses, identity, host, tokens, rules, control } = service;
    let locals: Vec<_> = addresses.into_iter().map(Into::into).collect();
    let sockets = Sockets::bind(&locals).await.map_err(|error| match error {
        SocketError::Refused { address, error } => ExitError::Listen { address, error },
        other => ExitError::Session(other.into()),
    })?;
    let server = Server::speaking(ALPN, sockets, &identity)?;
    let address = server.address();
    let host = host.unwrap_or_else(|| address.ip().to_string());
    let url = Url { host, port: address.port(), path: String::new(), pins: vec![identity.fingerprint()], hash: None };
    events.tell(ExitEvent::Serving(url));
    let proxies = Proxies::new(control.clone(), events.clone());
    let exit = Arc::new(Exit {
        tokens,
        rules,
        control,
        proxies,
        room: Arc::new(Semaphore::new(MOST_TUNNELS)),
        store: Arc::default(),
    });
    // Connections end with the exit.
    let mut served = JoinSet::new();
    loop {
        tokio::select! {
            arrival = server.next() => {
                let Some(arrival) = arrival else { return Err(ExitError::Closed) };
                let (exit, events) = (exit.clone(), events.clone());
                served.spawn(async move {
                    if let Some(client) = exit.serve(arrival).await {
                        events.tell(ExitEvent::Left(client));
                    }
                });
            }
            Some(_) = served.join_next() => {}
        }
    }
}

/// What all connections of an exit share.
struct Exit {
    tokens: Tokens,
    rules: Rules,
    control: Protocol,
    proxies: Proxies,
    room: Arc<Semaphore>,
    /// What waits in flows.
    store: Arc<Store>,
}

/// Counts of a client.
#[derive(Debug, Default)]
struct Counts {
    /// Number of requests that showed a token.
    known: AtomicU64,
    tunnels: AtomicU64,
    sent: AtomicU64,
    received: AtomicU64,
}

/// A connection of a client.
struct Peer {
    session: Arc<Session>,
    budget: Budget,
    flows: Flows,
    counts: Counts,
    /// The proxy whose line the connection is, and the line.
    line: OnceLock<(Arc<Proxy>, Arc<Line>)>,
}

impl Exit {
    /// Serves a client until it leaves; nothing if there was no connection, or it was one of several lines.
    async fn serve(self: Arc<Self>, arrival: Arrival) -> Option<Client> {
        let config = QuicConfig { receive_window: MOST_UNKNOWN, streams: MOST_STREAMS.0, ..proxying() };
        let session = Arc::new(arrival.accept_with_config(config).await.ok()?);
        let _leaving = Leaving(session.connection().clone());
        let _ = session.group().choose(&self.control);
        let peer = Arc::new(Peer {
            budget: Budget::of(MOST_UNKNOWN.into()),
            flows: Flows::new(session.connection().clone()),
            counts: Counts::default(),
            line: OnceLock::new(),
            session,
        });
        let remote = peer.remote();
        let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
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
                        if load(&peer.counts.known) == 0 && begin.elapsed() > PATIENCE {
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
        let counts = &peer.counts;
        peer.line.get().is_none().then(|| Client {
            remote,
            is_known: load(&counts.known) > 0,
            tunnels: load(&counts.tunnels),
            sent: load(&counts.sent),
            received: load(&counts.received),
        })
    }
}

impl Peer {
    /// First address of the client.
    fn remote(&self) -> String {
        self.session.paths().first().map_or_else(String::new, |path| path.label.clone())
    }

    /// Lets a client that has shown a token do more.
    fn welcome(&self) {
        self.budget.lift();
        self.session.connection().set_receive_window(VarInt::from_u32(UNREAD));
        self.session.connection().set_max_concurrent_bi_streams(VarInt::from_u32(MOST_STREAMS.1));
    }

    /// Counts a connection or a flow of packets to a target.
    fn begins(&self) {
        self.counts.tunnels.fetch_add(1, Ordering::Relaxed);
        if let Some((proxy, _)) = self.line.get() {
            proxy.begins();
        }
    }

    /// Counts what one has carried.
    fn count(&self, carried: tunnel::Carried) {
        self.counts.received.fetch_add(carried.into_stream, Ordering::Relaxed);
        self.counts.sent.fetch_add(carried.out_of_stream, Ordering::Relaxed);
        if let Some((proxy, _)) = self.line.get() {
            proxy.count(carried);
        }
    }
}

/// Finds a control for connections between proxies and exits.
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
    #[error("{0} counts marks of packets, which proxies do not report; choose another control")]
    Marks(&'static str),
}

/// The settings of connections between proxies and exits.
pub(crate) fn proxying() -> QuicConfig {
    QuicConfig { receive_window: UNREAD, streams: MOST_STREAMS.1, datagrams: DATAGRAMS, ..QuicConfig::default() }
}
