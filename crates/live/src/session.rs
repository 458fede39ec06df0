//! Connections over several paths: a server that takes them, a client that makes them, and what both have then.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anabranch_core::Rate;
use anabranch_proto::Protocol;
use anabranch_proto::window::SubflowSnapshot;
use tokio::task::JoinHandle;

use crate::control::{Group, MOST_PATHS, MOST_REMOTE, PathState, RemoteSubflow, Unsuited, named};
use crate::feedback::{Guidance, Message, Others, Peer, SentSnapshots, receive_feedback, send_feedback};
use crate::marks::{Marks, Scalable};
use crate::paths::{AddressPair, PathReport, Paths};
use crate::quic::tls::{QuicClientConfig, QuicServerConfig};
use crate::quic::{
    self, ClientConfig, ConnectError, Connection, ConnectionError, Endpoint, Incoming, ServerConfig, VarInt,
    plain_reason, renew_keys,
};
use crate::quic_config::QuicConfig;
use crate::security::{Identity, SecurityError, Trust};
use crate::sockets::{Local, SocketError, Sockets};

/// How long a peer may take to hear that all is over.
const FAREWELL: Duration = Duration::from_millis(500);

/// Bytes that are kept until they are acknowledged: as many windows, at the least, and at the most.
const SEND_WINDOW: (u64, u64, u64) = (4, 1 << 20, 32 << 20);

/// Bytes that are kept at the least where they are kept closely.
#[cfg(target_os = "linux")]
const LEAST_AHEAD: u64 = 16 << 10;

/// The number of connections from which on a client must first prove its address.
const MOST_UNPROVEN: usize = 32;

/// The number of connections from which on clients are refused.
const MOST_CONNECTIONS: usize = 1024;

/// Why there is no connection, or no more.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// A socket cannot be made.
    #[error(transparent)]
    Socket(#[from] SocketError),
    /// A certificate cannot be used.
    #[error(transparent)]
    Security(#[from] SecurityError),
    /// The requested protocol cannot control real connections.
    #[error(transparent)]
    Unsuited(#[from] Unsuited),
    /// The endpoint cannot be made.
    #[error("no endpoint can be made: {0}")]
    NoEndpoint(io::Error),
    /// There is no such host.
    #[error("there is no address of `{host}`{}", reason.as_ref().map_or_else(String::new, |error| format!(": {error}")))]
    NoHost {
        /// The name of the host.
        host: String,
        /// The reason that the resolver gives.
        reason: Option<io::Error>,
    },
    /// More paths than there may be.
    #[error("{0} paths are too many for a connection; it may have {MOST_PATHS}")]
    TooManyPaths(usize),
    /// The address or the name of the server cannot be used.
    #[error("cannot connect: {0}")]
    WrongPlace(ConnectError),
    /// The handshake failed.
    #[error("no connection to {remote}: {}", plain_reason(reason))]
    Refused {
        /// The address of the peer.
        remote: SocketAddr,
        /// The reason that the QUIC library gives.
        reason: ConnectionError,
    },
    /// No address of a host answers.
    #[error("no connection to `{host}`; tried {}", tried.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Unreached {
        /// The name of the host.
        host: String,
        /// The error at each address.
        tried: Vec<SessionError>,
    },
}

impl SessionError {
    /// Whether it may be otherwise at another address of the same host.
    pub(crate) fn is_of_address(&self) -> bool {
        use SocketError::{Mixed, NoAddress, Refused};
        match self {
            Self::Socket(error) => matches!(error, Mixed(_) | NoAddress { .. } | Refused { .. }),
            Self::WrongPlace(_) | Self::Refused { .. } => true,
            _ => false,
        }
    }
}

/// An endpoint that takes connections.
#[derive(Clone)]
pub struct Server {
    endpoint: Endpoint,
    tls: Arc<QuicServerConfig>,
    address: SocketAddr,
    marks: Marks,
}

impl Server {
    /// A server of this identity at these addresses; port 0 is any that is free. To be called in a tokio runtime.
    pub async fn bind(locals: &[Local], identity: &Identity) -> Result<Self, SessionError> {
        Self::with(Sockets::bind(locals).await?, identity)
    }

    /// A server of this identity on these sockets. To be called in a tokio runtime.
    pub fn with(sockets: Sockets, identity: &Identity) -> Result<Self, SessionError> {
        let tls = Arc::new(identity.tls()?);
        let (address, marks) = (sockets.addresses()[0], sockets.marks());
        let mut config = ServerConfig::with_crypto(tls.clone());
        config.max_incoming(MOST_CONNECTIONS);
        let endpoint = endpoint(sockets, Some(config))?;
        Ok(Self { endpoint, tls, address, marks })
    }

    /// The address of the server.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Waits for the next client; `None` once the server is closed.
    pub async fn next(&self) -> Option<Arrival> {
        loop {
            let incoming = self.endpoint.accept().await?;
            let open = self.endpoint.open_connections();
            if open > MOST_CONNECTIONS {
                incoming.refuse();
            } else if open > MOST_UNPROVEN && incoming.may_retry() {
                // If it cannot be told, it tries again by itself.
                let _ = incoming.retry();
            } else {
                return Some(Arrival { incoming, tls: self.tls.clone(), marks: self.marks.clone() });
            }
        }
    }

    /// Closes all connections, and accepts no more.
    pub async fn close(&self) {
        close(&self.endpoint).await;
    }
}

/// A client that asks for a connection.
pub struct Arrival {
    incoming: Incoming,
    tls: Arc<QuicServerConfig>,
    marks: Marks,
}

impl Arrival {
    /// Refuses the connection.
    pub fn refuse(self) {
        self.incoming.refuse();
    }

    /// Accepts the connection, with LIA in control until another is chosen. It may take as long as the peer likes,
    /// which is up to seconds.
    pub async fn accept(self) -> Result<Session, SessionError> {
        self.accept_with_config(QuicConfig::default()).await
    }

    /// Accepts a connection on which the peer sends requests alone, each on its own stream that is answered.
    pub async fn accept_asking(self) -> Result<Session, SessionError> {
        self.accept_with_config(QuicConfig::asking()).await
    }

    /// Accepts the connection with these settings.
    pub async fn accept_with_config(self, quic_config: QuicConfig) -> Result<Session, SessionError> {
        let remote = self.incoming.remote_address();
        let refused = |reason| SessionError::Refused { remote, reason };
        let group = Group::new(&named("lia")?)?;
        let mut config = ServerConfig::with_crypto(self.tls);
        config.transport_config(Arc::new(quic_config.transport(group.clone())));
        let connection = self.incoming.accept_with(Arc::new(config)).map_err(refused)?.await.map_err(refused)?;
        renew_keys(&connection);
        let paths = Paths::of_server(connection.clone(), remote);
        Ok(Session::new(connection, group, paths, self.marks, Vec::new()))
    }
}

/// An endpoint that makes connections.
#[derive(Clone, Debug)]
pub struct Client {
    endpoint: Endpoint,
    /// What QUIC knows the local addresses by, each with the only address of the server that it is for, if there is one.
    locals: Vec<(IpAddr, Option<IpAddr>)>,
    /// The addresses that have stand-ins, by these.
    stand_ins: Vec<(IpAddr, SocketAddr)>,
    marks: Marks,
}

impl Client {
    /// A client with these local addresses. To be called in a tokio runtime.
    pub async fn bind(locals: &[Local]) -> Result<Self, SessionError> {
        let mut client = Self::with(Sockets::bind(locals).await?)?;
        for (own, local) in client.locals.iter_mut().zip(locals) {
            own.1 = local.peer;
        }
        Ok(client)
    }

    /// A client on these sockets. To be called in a tokio runtime.
    pub fn with(sockets: Sockets) -> Result<Self, SessionError> {
        let locals = sockets.names().into_iter().map(|name| (name, None)).collect();
        let (stand_ins, marks) = (sockets.stand_ins(), sockets.marks());
        Ok(Self { endpoint: endpoint(sockets, None)?, locals, stand_ins, marks })
    }

    /// Connects to a server by all pairs of a local and a remote address, but for local ones that are for one remote only.
    /// The server is known by `trust`, under `name` if that goes by names. It returns when there is one path; the others
    /// follow.
    pub async fn connect(
        &self,
        name: &str,
        remotes: &[SocketAddr],
        trust: &Trust,
        protocol: &Protocol,
    ) -> Result<Session, SessionError> {
        self.connect_with_config(name, self.pairs(remotes), trust, Group::new(protocol)?, QuicConfig::default()).await
    }

    /// Connects by these pairs of addresses, with these settings, under the control of a group. It begins with the
    /// first pair that is wanted.
    pub async fn connect_with_config(
        &self,
        name: &str,
        pairs: Vec<AddressPair>,
        trust: &Trust,
        group: Arc<Group>,
        quic_config: QuicConfig,
    ) -> Result<Session, SessionError> {
        let first = pairs.iter().find(|pair| pair.is_wanted).map(|pair| pair.remote);
        let first = first.ok_or_else(|| SessionError::NoHost { host: name.to_owned(), reason: None })?;
        if pairs.len() > MOST_PATHS {
            return Err(SessionError::TooManyPaths(pairs.len()));
        }
        let remotes = pairs.iter().map(|pair| pair.remote).filter(|_| group.counts_marks());
        let scalable = remotes.map(|remote| self.marks.send_scalable(remote)).collect();
        let tls: QuicClientConfig = trust.tls()?;
        let mut config = ClientConfig::new(Arc::new(tls));
        config.transport_config(Arc::new(quic_config.transport(group.clone())));
        let connecting = self.endpoint.connect_with(config, first, name).map_err(SessionError::WrongPlace)?;
        let connection = connecting.await.map_err(|reason| SessionError::Refused { remote: first, reason })?;
        let paths = Paths::of_client(connection.clone(), pairs, &self.stand_ins);
        Ok(Session::new(connection, group, paths, self.marks.clone(), scalable))
    }

    /// From where and to where there are to be paths; an address that is a local one's only has the port of the first.
    fn pairs(&self, remotes: &[SocketAddr]) -> Vec<AddressPair> {
        let Some(first) = remotes.first() else { return Vec::new() };
        let own = |&(local, peer): &(IpAddr, Option<IpAddr>)| {
            let local = (!local.is_unspecified()).then_some(local);
            let only = peer.map(|peer| vec![SocketAddr::new(peer, first.port())]);
            only.unwrap_or_else(|| remotes.to_vec()).into_iter().map(move |remote| AddressPair {
                local,
                remote,
                is_wanted: true,
            })
        };
        self.locals.iter().flat_map(own).collect()
    }

    /// Closes all connections.
    pub async fn close(&self) {
        close(&self.endpoint).await;
    }
}

/// The addresses of a host, of both kinds, in the order in which the system gives them.
pub async fn addresses(host: &str, port: u16) -> Result<Vec<SocketAddr>, SessionError> {
    let no_host = |reason| SessionError::NoHost { host: host.to_owned(), reason };
    let found = tokio::net::lookup_host((host, port)).await.map_err(|error| no_host(Some(error)))?;
    let mut all: Vec<SocketAddr> = Vec::new();
    for address in found {
        if !all.contains(&address) {
            all.push(address);
        }
    }
    if all.is_empty() { Err(no_host(None)) } else { Ok(all) }
}

/// A connection over several paths. It ends when it is dropped.
pub struct Session {
    connection: Connection,
    group: Arc<Group>,
    paths: Paths,
    marks: Marks,
    peer: Arc<Peer>,
    /// What it was told of others.
    told: Mutex<SentSnapshots>,
    /// What looks after it, until it ends.
    keepers: Vec<JoinHandle<()>>,
    /// Where its packets are those of a scalable control from the first on.
    _scalable: Vec<Scalable>,
}

impl Session {
    fn new(connection: Connection, group: Arc<Group>, paths: Paths, marks: Marks, scalable: Vec<Scalable>) -> Self {
        let peer = Arc::<Peer>::default();
        let hearing = receive_feedback(connection.clone(), paths.clone(), group.clone(), marks.clone(), peer.clone());
        let keepers = vec![tokio::spawn(paths.clone().keep()), tokio::spawn(hearing)];
        Self { connection, group, paths, marks, peer, told: Mutex::default(), keepers, _scalable: scalable }
    }

    /// From now on the peer is told how many packets come marked, for its control counts them.
    pub(crate) fn tell_marks(&mut self) {
        self.tell(None);
    }

    /// From now on the peer is told how many packets come marked, and how fast what comes is handed on.
    #[cfg(target_os = "linux")]
    pub(crate) fn guide(&mut self, guidance: Arc<Guidance>) {
        self.tell(Some(guidance));
    }

    fn tell(&mut self, guidance: Option<Arc<Guidance>>) {
        let telling = send_feedback(self.connection.clone(), self.paths.clone(), self.marks.clone(), guidance);
        self.keepers.push(tokio::spawn(telling));
    }

    /// How the subflows stand on which the peer sends, by the numbers of their paths. It tells as long as it is told of
    /// others.
    pub fn snapshots(&self) -> Vec<(u32, SubflowSnapshot)> {
        self.peer.subflows()
    }

    /// Tells the peer of all subflows on which others send parts of the same, so that its control is coupled with theirs; of
    /// more than [`MOST_REMOTE`] the first. To be called again and again: it is told if there is news, and every now and
    /// then for what got lost.
    pub fn tell_others(&self, others: &[RemoteSubflow]) {
        let subflows = others.iter().take(MOST_REMOTE).map(|other| (other.group, other.snapshot)).collect();
        let heard = self.peer.heard();
        let told = self.told.lock().unwrap_or_else(PoisonError::into_inner).next(Instant::now(), subflows, heard);
        if let Some(snapshots) = told {
            // Of the end of the connection is heard elsewhere.
            let _ = self.connection.send_datagram(Message::Others(Others { heard, snapshots }).encode().into());
        }
    }

    /// The QUIC connection, for its streams.
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// The congestion control of what this end sends.
    pub fn group(&self) -> &Arc<Group> {
        &self.group
    }

    /// The report of each path. A client has a path for each pair of addresses, open or not.
    pub fn paths(&self) -> Vec<PathReport> {
        self.paths.report()
    }

    /// The state of each path's control, in the order of [`Self::paths`]; `None` for paths that are not open.
    pub fn states(&self) -> Vec<Option<PathState>> {
        self.paths.slots().into_iter().map(|slot| self.group.state(slot?)).collect()
    }

    /// From now on a path is wanted or not, by its place in [`Self::paths`]: it is opened, or closed once there is another.
    /// For clients.
    pub fn want(&self, path: usize, is_wanted: bool) {
        self.paths.want(path, is_wanted);
    }

    /// The number of each path in QUIC, which is the same at both ends and stays when a path moves to other addresses; in
    /// the order of [`Self::paths`], `None` for those that are not open.
    pub fn numbers(&self) -> Vec<Option<u32>> {
        self.paths.numbers()
    }

    /// Which paths share links, by the number of each and that of its group; the others are in group 0.
    pub fn regroup_numbered(&self, groups: &[(u32, u32)]) {
        let of = |number| groups.iter().find(|(own, _)| Some(*own) == number).map_or(0, |&(_, group)| group);
        self.regroup(&self.numbers().into_iter().map(of).collect::<Vec<u32>>());
    }

    /// Sets the least capacity of the links of each path, as far as it is known now, in the order of [`Self::paths`].
    #[cfg(target_os = "linux")]
    pub(crate) fn set_capacities(&self, known: impl Iterator<Item = Option<Rate>>) {
        for (slot, capacity) in self.paths.slots().into_iter().zip(known) {
            if let (Some(slot), Some(capacity)) = (slot, capacity) {
                self.group.set_capacity(slot, capacity);
            }
        }
    }

    /// Sets which paths share links, by the number of each path's group, in the order of [`Self::paths`].
    pub fn regroup(&self, groups: &[u32]) {
        let slots = self.paths.slots();
        let mut by_slot = [0; crate::control::SLOTS];
        for (slot, group) in slots.into_iter().zip(groups) {
            if let Some(slot) = slot {
                by_slot[slot] = *group;
            }
        }
        self.group.regroup(&by_slot);
    }

    /// Sets the rate of each path in payload of UDP, in the order of [`Self::paths`], where a group is granted rates.
    pub fn grant(&self, rates: &[Rate], others: Rate) {
        let mut by_slot = [None; crate::control::SLOTS];
        for (slot, rate) in self.paths.slots().into_iter().zip(rates) {
            if let Some(slot) = slot {
                by_slot[slot] = Some(*rate);
            }
        }
        self.group.grant(&by_slot, others);
    }

    /// Keeps as much for sending as the windows need, and no more: what is kept is late. To be called now and then by who
    /// sends much.
    pub fn fit_send_window(&self) {
        let windows: u64 = self.paths().iter().filter(|path| path.is_open).map(|path| path.window_bytes).sum();
        let (times, least, most) = SEND_WINDOW;
        self.connection.set_send_window(windows.saturating_mul(times).clamp(least, most));
    }

    /// Keeps less than [`Self::fit_send_window`], where what is not sent yet waits elsewhere and is counted there.
    #[cfg(target_os = "linux")]
    pub(crate) fn fit_send_window_closely(&self) {
        let open = self.paths().into_iter().filter(|path| path.is_open);
        let windows: u64 = open.map(|path| path.window_bytes).sum();
        self.connection.set_send_window(windows.saturating_mul(2).clamp(LEAST_AHEAD, SEND_WINDOW.2));
    }

    /// Closes the connection with a code and a reason.
    pub fn close(&self, code: u32, reason: &str) {
        self.connection.close(VarInt::from_u32(code), reason.as_bytes());
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.keepers.iter().for_each(JoinHandle::abort);
        self.close(0, "");
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("paths", &self.paths()).finish_non_exhaustive()
    }
}

/// An endpoint on these sockets, which takes connections if it is told how.
pub(crate) fn endpoint(sockets: Sockets, config: Option<ServerConfig>) -> Result<Endpoint, SessionError> {
    quic::endpoint(sockets, config).map_err(SessionError::NoEndpoint)
}

async fn close(endpoint: &Endpoint) {
    endpoint.close(VarInt::from_u32(0), b"");
    // A peer that has gone need not be waited for.
    let _ = tokio::time::timeout(FAREWELL, endpoint.wait_all_draining()).await;
}
