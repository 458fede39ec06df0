//! Connections over several paths: servers, clients, and the sessions of both.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anabranch_core::Rate;
use anabranch_proto::Protocol;
use anabranch_proto::window::SubflowSnapshot;
use tokio::task::JoinHandle;

use crate::callers::Callers;
use crate::control::{Ceiling, Group, MOST_PATHS, MOST_REMOTE, PathState, RemoteSubflow, Slot, Unsuited, named};
use crate::feedback::{Guidance, Inbox, Message, Others, Peer, SentSnapshots, Wire, receive_feedback, send_feedback};
use crate::marks::{Marks, Scalable};
use crate::paths::{AddressPair, PathReport, Paths};
use crate::qlog::{ConnectionLog, Qlog, Vantage};
use crate::quic::tls::{QuicClientConfig, QuicServerConfig};
use crate::quic::{
    self, ClientConfig, ConnectError, Connection, ConnectionError, Endpoint, Incoming, ServerConfig, VarInt,
    controller, plain_reason, renew_keys,
};
use crate::quic_config::QuicConfig;
use crate::security::{ALPN, Identity, SecurityError, Trust};
use crate::sockets::{Local, SocketError, Sockets};

/// The longest wait for a peer to receive the end of a connection.
const FAREWELL: Duration = Duration::from_millis(500);

/// Bytes that are kept until they are acknowledged: a multiple of the windows, a least and a greatest number.
const SEND_WINDOW: (u64, u64, u64) = (4, 1 << 20, 32 << 20);

/// Seconds of data that are kept under a ceiling, and the least number of bytes.
const AHEAD: f64 = 0.25;
const LEAST_KEPT: u64 = 64 << 10;

/// Least number of bytes that are kept where little is to be kept.
#[cfg(target_os = "linux")]
const LEAST_AHEAD: u64 = 16 << 10;

/// Number of connections from which on a client must first prove its address.
const MOST_UNPROVEN: usize = 32;

/// Number of connections from which on clients are refused.
const MOST_CONNECTIONS: usize = 1024;

/// The reason why there is no connection.
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
    /// The endpoint cannot be created.
    #[error("no endpoint can be made: {0}")]
    NoEndpoint(io::Error),
    /// The host does not exist.
    #[error("there is no address of `{host}`{}", reason.as_ref().map_or_else(String::new, |error| format!(": {error}")))]
    NoHost {
        /// Name of the host.
        host: String,
        /// Reason that the resolver gives.
        reason: Option<io::Error>,
    },
    /// There are more paths than permitted.
    #[error("{0} paths are too many for a connection; it may have {MOST_PATHS}")]
    TooManyPaths(usize),
    /// The address or the name of the server cannot be used.
    #[error("cannot connect: {0}")]
    WrongPlace(ConnectError),
    /// The handshake failed.
    #[error("no connection to {remote}: {}", plain_reason(reason))]
    Refused {
        /// Address of the peer.
        remote: SocketAddr,
        /// Reason that the QUIC library gives.
        reason: ConnectionError,
    },
    /// No address of a host answers.
    #[error("no connection to `{host}`; tried {}", tried.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Unreached {
        /// Name of the host.
        host: String,
        /// Error at each address.
        tried: Vec<SessionError>,
    },
}

impl SessionError {
    /// Whether another address of the same host may succeed.
    pub(crate) fn is_of_address(&self) -> bool {
        use SocketError::{Mixed, NoAddress, Refused};
        match self {
            Self::Socket(error) => matches!(error, Mixed(_) | NoAddress { .. } | Refused { .. }),
            Self::WrongPlace(_) | Self::Refused { .. } => true,
            _ => false,
        }
    }
}

/// The protocol that is spoken over a connection, and the settings of the connection for it.
#[derive(Clone, Copy, Debug)]
pub struct Application {
    /// Name of the protocol in the handshake, which both ends must use.
    pub alpn: &'static [u8],
    /// Settings of the connection.
    pub quic_config: QuicConfig,
}

impl Default for Application {
    /// The protocol of transfers and measurements.
    fn default() -> Self {
        Self { alpn: ALPN, quic_config: QuicConfig::default() }
    }
}

/// An endpoint that accepts connections.
#[derive(Clone)]
pub struct Server {
    endpoint: Endpoint,
    tls: Arc<QuicServerConfig>,
    address: SocketAddr,
    marks: Marks,
    /// Where logs of connections are kept, if they are.
    qlog: Option<Arc<Qlog>>,
}

impl Server {
    /// Creates a server with this identity at these addresses; port 0 selects any free port. Must be called in a tokio
    /// runtime.
    pub async fn bind(locals: &[Local], identity: &Identity) -> Result<Self, SessionError> {
        Self::with(Sockets::bind(locals).await?, identity)
    }

    /// Creates a server with this identity on these sockets. Must be called in a tokio runtime.
    pub fn with(sockets: Sockets, identity: &Identity) -> Result<Self, SessionError> {
        Self::speaking(ALPN, sockets, identity)
    }

    /// Creates a server for a protocol of this name in the handshake.
    pub fn speaking(alpn: &[u8], sockets: Sockets, identity: &Identity) -> Result<Self, SessionError> {
        Self::knowing(alpn, sockets, identity, None)
    }

    /// Creates a server for a protocol of this name in the handshake, which takes certificates of these clients.
    pub fn knowing(
        alpn: &[u8],
        sockets: Sockets,
        identity: &Identity,
        callers: Option<Callers>,
    ) -> Result<Self, SessionError> {
        let tls = Arc::new(identity.tls(alpn, callers)?);
        let (address, marks) = (sockets.addresses()[0], sockets.marks());
        let mut config = ServerConfig::with_crypto(tls.clone());
        config.max_incoming(MOST_CONNECTIONS);
        let endpoint = endpoint(sockets, Some(config))?;
        Ok(Self { endpoint, tls, address, marks, qlog: None })
    }

    /// Keeps logs of connections.
    #[must_use]
    pub fn with_qlog(self, qlog: Option<Arc<Qlog>>) -> Self {
        Self { qlog, ..self }
    }

    /// Address of the server.
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
                // A client that does not receive the retry tries again by itself.
                let _ = incoming.retry();
            } else {
                let (tls, marks, qlog) = (self.tls.clone(), self.marks.clone(), self.qlog.clone());
                return Some(Arrival { incoming, tls, marks, qlog });
            }
        }
    }

    /// Closes all connections, and accepts no more.
    pub async fn close(&self) {
        close(&self.endpoint).await;
    }
}

/// A client that requests a connection.
pub struct Arrival {
    incoming: Incoming,
    tls: Arc<QuicServerConfig>,
    marks: Marks,
    qlog: Option<Arc<Qlog>>,
}

impl Arrival {
    /// Refuses the connection.
    pub fn refuse(self) {
        self.incoming.refuse();
    }

    /// Accepts the connection, under LIA until another protocol is chosen. It takes as long as the peer needs, up to
    /// seconds.
    pub async fn accept(self) -> Result<Session, SessionError> {
        self.accept_with_config(QuicConfig::default()).await
    }

    /// Accepts a connection on which the peer only sends requests, each on its own stream, to be answered.
    pub async fn accept_asking(self) -> Result<Session, SessionError> {
        self.accept_with_config(QuicConfig::asking()).await
    }

    /// Accepts the connection with these settings.
    pub async fn accept_with_config(self, quic_config: QuicConfig) -> Result<Session, SessionError> {
        let remote = self.incoming.remote_address();
        let log = self.qlog.as_ref().map(|qlog| ConnectionLog::begin(qlog, Vantage::Server, remote));
        let refused = |reason| refused(remote, reason, log.as_deref());
        let group = Group::new(&named("lia")?)?;
        let mut config = ServerConfig::with_crypto(self.tls);
        config.transport_config(Arc::new(quic_config.transport(group.clone(), log.clone())));
        let connection = self.incoming.accept_with(Arc::new(config)).map_err(refused)?.await.map_err(refused)?;
        renew_keys(&connection);
        let paths = Paths::of_server(connection.clone(), remote);
        Ok(Session::new(connection, group, paths, (self.marks, Vec::new()), log))
    }
}

/// An endpoint that makes connections.
#[derive(Clone, Debug)]
pub struct Client {
    endpoint: Endpoint,
    /// Local addresses as QUIC knows them, each with the only server address that it is for, if there is one.
    locals: Vec<(IpAddr, Option<IpAddr>)>,
    /// Number of local addresses, the last ones, whose paths carry data only while no other is open.
    backups: usize,
    /// Stand-ins and the addresses that they stand for.
    stand_ins: Vec<(IpAddr, SocketAddr)>,
    marks: Marks,
    /// What it shows to servers, if anything.
    identity: Option<Arc<Identity>>,
    /// Where logs of connections are kept, if they are.
    qlog: Option<Arc<Qlog>>,
}

impl Client {
    /// Creates a client with these local addresses. Must be called in a tokio runtime.
    pub async fn bind(locals: &[Local]) -> Result<Self, SessionError> {
        let mut client = Self::with(Sockets::bind(locals).await?)?;
        for (own, local) in client.locals.iter_mut().zip(locals) {
            own.1 = local.peer;
        }
        Ok(client)
    }

    /// Creates a client on these sockets. Must be called in a tokio runtime.
    pub fn with(sockets: Sockets) -> Result<Self, SessionError> {
        let locals = sockets.names().into_iter().map(|name| (name, None)).collect();
        let (stand_ins, marks) = (sockets.stand_ins(), sockets.marks());
        Ok(Self {
            endpoint: endpoint(sockets, None)?,
            locals,
            backups: 0,
            stand_ins,
            marks,
            identity: None,
            qlog: None,
        })
    }

    /// Keeps the paths over the last local addresses, of this number, for when no other is open.
    #[must_use]
    pub fn with_backups(self, backups: usize) -> Self {
        Self { backups, ..self }
    }

    /// Shows a certificate to servers that ask for one.
    #[must_use]
    pub fn with_identity(self, identity: Option<Arc<Identity>>) -> Self {
        Self { identity, ..self }
    }

    /// Keeps logs of connections.
    #[must_use]
    pub fn with_qlog(self, qlog: Option<Arc<Qlog>>) -> Self {
        Self { qlog, ..self }
    }

    /// Connects to a server over all pairs of a local and a remote address, except local addresses that are for one
    /// remote only.
    ///
    /// The server is verified by `trust`, under `name` if that uses names. The call returns when there is one path; the
    /// others follow.
    pub async fn connect(
        &self,
        name: &str,
        remotes: &[SocketAddr],
        trust: &Trust,
        protocol: &Protocol,
    ) -> Result<Session, SessionError> {
        self.connect_for(&Application::default(), name, remotes, trust, protocol).await
    }

    /// Connects as [`Self::connect`], for another protocol above.
    pub async fn connect_for(
        &self,
        application: &Application,
        name: &str,
        remotes: &[SocketAddr],
        trust: &Trust,
        protocol: &Protocol,
    ) -> Result<Session, SessionError> {
        self.connect_under(&Group::new(protocol)?, application, name, remotes, trust).await
    }

    /// Connects as [`Self::connect_for`], under the control of a group, which may have paths of other connections.
    pub async fn connect_under(
        &self,
        group: &Arc<Group>,
        application: &Application,
        name: &str,
        remotes: &[SocketAddr],
        trust: &Trust,
    ) -> Result<Session, SessionError> {
        self.reach(application, name, self.pairs(remotes), trust, group.clone()).await
    }

    /// Connects over these pairs of addresses, with these settings, under the control of a group. The first wanted pair
    /// is opened first.
    pub async fn connect_with_config(
        &self,
        name: &str,
        pairs: Vec<AddressPair>,
        trust: &Trust,
        group: Arc<Group>,
        quic_config: QuicConfig,
    ) -> Result<Session, SessionError> {
        self.reach(&Application { quic_config, ..Application::default() }, name, pairs, trust, group).await
    }

    async fn reach(
        &self,
        application: &Application,
        name: &str,
        pairs: Vec<AddressPair>,
        trust: &Trust,
        group: Arc<Group>,
    ) -> Result<Session, SessionError> {
        let first = pairs.iter().find(|pair| pair.is_wanted).map(|pair| pair.remote);
        let first = first.ok_or_else(|| SessionError::NoHost { host: name.to_owned(), reason: None })?;
        if pairs.len() > MOST_PATHS {
            return Err(SessionError::TooManyPaths(pairs.len()));
        }
        let remotes = pairs.iter().map(|pair| pair.remote).filter(|_| group.counts_marks());
        let scalable = remotes.map(|remote| self.marks.send_scalable(remote)).collect();
        let tls: QuicClientConfig = trust.tls(application.alpn, self.identity.as_deref())?;
        let mut config = ClientConfig::new(Arc::new(tls));
        let log = self.qlog.as_ref().map(|qlog| ConnectionLog::begin(qlog, Vantage::Client, first));
        config.transport_config(Arc::new(application.quic_config.transport(group.clone(), log.clone())));
        let connecting = self.endpoint.connect_with(config, first, name).map_err(SessionError::WrongPlace)?;
        let connection = connecting.await.map_err(|reason| refused(first, reason, log.as_deref()))?;
        let paths = Paths::of_client(connection.clone(), pairs, &self.stand_ins);
        Ok(Session::new(connection, group, paths, (self.marks.clone(), scalable), log))
    }

    /// The pairs of addresses for paths; the port of a peer that is for one local address only is that of the first
    /// remote.
    fn pairs(&self, remotes: &[SocketAddr]) -> Vec<AddressPair> {
        let Some(first) = remotes.first() else { return Vec::new() };
        let first_backup = self.locals.len().saturating_sub(self.backups);
        let own = |(place, &(local, peer)): (usize, &(IpAddr, Option<IpAddr>))| {
            let local = (!local.is_unspecified()).then_some(local);
            let only = peer.map(|peer| vec![SocketAddr::new(peer, first.port())]);
            only.unwrap_or_else(|| remotes.to_vec()).into_iter().map(move |remote| AddressPair {
                local,
                remote,
                is_wanted: true,
                is_backup: place >= first_backup,
            })
        };
        self.locals.iter().enumerate().flat_map(own).collect()
    }

    /// Closes all connections.
    pub async fn close(&self) {
        close(&self.endpoint).await;
    }
}

/// The error of a handshake that has failed, which its log hears too.
fn refused(remote: SocketAddr, reason: ConnectionError, log: Option<&ConnectionLog>) -> SessionError {
    if let Some(log) = log {
        log.closed(&reason);
    }
    SessionError::Refused { remote, reason }
}

/// The error of a server that cannot listen at its address, made by `refused` if the kernel refuses it.
pub(crate) fn listening<E: From<SessionError>>(
    error: SessionError,
    refused: impl FnOnce(SocketAddr, io::Error) -> E,
) -> E {
    match error {
        SessionError::Socket(SocketError::Refused { address, error }) => refused(address, error),
        other => other.into(),
    }
}

/// The addresses of a host, IPv4 and IPv6, in the order of the resolver.
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

/// A connection over several paths, which ends when it is dropped.
pub struct Session {
    connection: Connection,
    group: Arc<Group>,
    paths: Paths,
    marks: Marks,
    peer: Arc<Peer>,
    /// Messages on remote subflows that were sent.
    told: Mutex<SentSnapshots>,
    /// Tasks of the session, until it ends.
    keepers: Vec<JoinHandle<()>>,
    /// Registrations that make its first packets those of a scalable control.
    _scalable: Vec<Scalable>,
    log: Option<Arc<ConnectionLog>>,
}

impl Session {
    fn new(
        connection: Connection,
        group: Arc<Group>,
        paths: Paths,
        (marks, scalable): (Marks, Vec<Scalable>),
        log: Option<Arc<ConnectionLog>>,
    ) -> Self {
        let peer = Arc::<Peer>::default();
        let mut keepers = vec![tokio::spawn(paths.clone().keep())];
        if let Some(log) = log.clone() {
            log.opened();
            let connection = connection.clone();
            keepers.push(tokio::spawn(async move { log.closed(&connection.closed().await) }));
        }
        // Other protocols have the datagrams for themselves.
        if quic::protocol(&connection).as_deref() == Some(ALPN) {
            let (paths, group, marks) = (paths.clone(), group.clone(), marks.clone());
            let wire = (connection.clone(), connection.clone());
            let rest = (marks, peer.clone());
            keepers.push(tokio::spawn(receive_feedback(connection.clone(), paths, group, rest, wire)));
        }
        Self { connection, group, paths, marks, peer, told: Mutex::default(), keepers, _scalable: scalable, log }
    }

    /// Begins to report marked packets to the peer, whose control counts them.
    pub(crate) fn tell_marks(&mut self) {
        self.tell(None);
    }

    /// Exchanges reports of marked packets, and of the rate of the next loop if there is one, until the connection ends: for
    /// protocols with datagrams of their own, in which both ends do so. The paths have the control of this group.
    pub async fn feedback<W: Wire>(
        &self,
        group: &Arc<Group>,
        (wire, inbox): (W, impl Inbox),
        guidance: Option<Arc<Guidance>>,
    ) {
        let (paths, marks) = (self.paths.clone(), self.marks.clone());
        let telling = send_feedback(wire.clone(), paths.clone(), marks.clone(), guidance);
        let rest = (marks, self.peer.clone());
        let hearing = receive_feedback(self.connection.clone(), paths, group.clone(), rest, (wire, inbox));
        tokio::join!(telling, hearing);
    }

    /// Begins to report marked packets and the rate of the next loop to the peer.
    #[cfg(target_os = "linux")]
    pub(crate) fn guide(&mut self, guidance: Arc<Guidance>) {
        self.tell(Some(guidance));
    }

    fn tell(&mut self, guidance: Option<Arc<Guidance>>) {
        let telling = send_feedback(self.connection.clone(), self.paths.clone(), self.marks.clone(), guidance);
        self.keepers.push(tokio::spawn(telling));
    }

    /// Snapshots of the subflows on which the peer sends, by the numbers of their paths. The peer reports them while it
    /// receives snapshots of remote subflows.
    pub fn snapshots(&self) -> Vec<(u32, SubflowSnapshot)> {
        self.peer.subflows()
    }

    /// Reports all remote subflows to the peer, so that its control is coupled with theirs; only the first
    /// [`MOST_REMOTE`] are used. To be called repeatedly: a message is sent if there is news, and sometimes to replace
    /// a lost one.
    pub fn tell_others(&self, others: &[RemoteSubflow]) {
        let subflows = others.iter().take(MOST_REMOTE).map(|other| (other.group, other.snapshot)).collect();
        let heard = self.peer.heard();
        let told = self.told.lock().unwrap_or_else(PoisonError::into_inner).next(Instant::now(), subflows, heard);
        if let Some(snapshots) = told {
            // The end of the connection is detected elsewhere.
            let _ = self.connection.send_datagram(Message::Others(Others { heard, snapshots }).encode().into());
        }
    }

    /// The QUIC connection, for its streams.
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// The congestion control of this end.
    pub fn group(&self) -> &Arc<Group> {
        &self.group
    }

    /// Puts the open paths under the control of a group, where they begin anew: of another connection, so that the paths of
    /// both have one control. To be called before data flow, as [`Self::group`] stays without paths then.
    pub fn move_to(&self, group: &Arc<Group>) {
        let now = Instant::now();
        for (path, ..) in self.paths.open() {
            if let Some(slot) = controller::<Slot>(&self.connection, path) {
                slot.move_to(group, now);
            }
        }
    }

    /// The report of each path. A client has a path for each pair of addresses, open or not.
    pub fn paths(&self) -> Vec<PathReport> {
        self.paths.report()
    }

    /// The smoothed round trip of each open path, and how much it changes; without paths that have none yet.
    pub fn round_trips(&self) -> Vec<(Duration, Duration)> {
        let of = |path| controller::<Slot>(&self.connection, path)?.round_trip();
        self.paths.open().into_iter().filter_map(|(path, ..)| of(path)).collect()
    }

    /// The state of each path in the control, in the order of [`Self::paths`]; `None` for paths that are not open.
    pub fn states(&self) -> Vec<Option<PathState>> {
        self.paths.slots().into_iter().map(|slot| self.group.state(slot?)).collect()
    }

    /// Sets whether a path of a client is wanted, by its place in [`Self::paths`]: it is opened, or closed once there
    /// is another.
    pub fn want(&self, path: usize, is_wanted: bool) {
        self.paths.want(path, is_wanted);
    }

    /// Number of each path in QUIC, in the order of [`Self::paths`]; `None` for paths that are not open. It is the same
    /// at both ends, and stays when a path moves to other addresses.
    pub fn numbers(&self) -> Vec<Option<u32>> {
        self.paths.numbers()
    }

    /// Sets which paths share links, by the number in QUIC and the group of each path; the others are in group 0.
    pub fn regroup_numbered(&self, groups: &[(u32, u32)]) {
        let of = |number| groups.iter().find(|(own, _)| Some(*own) == number).map_or(0, |&(_, group)| group);
        self.regroup(&self.numbers().into_iter().map(of).collect::<Vec<u32>>());
    }

    /// Sets the least known capacity of the links of each path, in the order of [`Self::paths`].
    #[cfg(target_os = "linux")]
    pub(crate) fn set_capacities(&self, known: impl Iterator<Item = Option<Rate>>) {
        for (slot, capacity) in self.paths.slots().into_iter().zip(known) {
            if let (Some(slot), Some(capacity)) = (slot, capacity) {
                self.group.set_capacity(slot, capacity);
            }
        }
    }

    /// Sets the least known capacity of the links of all paths, which are under the control of this group.
    pub fn set_capacity(&self, group: &Group, capacity: Rate) {
        for slot in self.paths.slots().into_iter().flatten() {
            group.set_capacity(slot, capacity);
        }
    }

    /// The slot of each path in its control, in the order of [`Self::paths`]; `None` for paths that are not open.
    pub fn slots(&self) -> Vec<Option<usize>> {
        self.paths.slots()
    }

    /// Sets which paths share links, by the group of each path, in the order of [`Self::paths`].
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

    /// Sets the rate of each path in payload of UDP, in the order of [`Self::paths`], where a group has granted rates.
    pub fn grant(&self, rates: &[Rate], others: Rate) {
        let mut by_slot = [None; crate::control::SLOTS];
        for (slot, rate) in self.paths.slots().into_iter().zip(rates) {
            if let Some(slot) = slot {
                by_slot[slot] = Some(*rate);
            }
        }
        self.group.grant(&by_slot, others);
    }

    /// Sets the most that may be sent, over all paths and over each, in the order of [`Self::paths`].
    pub fn limit(&self, ceiling: &Ceiling) {
        let mut by_slot = [None; crate::control::SLOTS];
        for (slot, rate) in self.paths.slots().into_iter().zip(&ceiling.paths) {
            if let Some(slot) = slot {
                by_slot[slot] = Some(*rate);
            }
        }
        self.group.limit(ceiling.total, &by_slot);
    }

    /// Limits the send buffer to the needs of the windows, and to what the ceiling of all paths lets through in a while,
    /// since buffered data are delayed. To be called now and then by senders of much data, and at a new ceiling: nothing
    /// more is taken until what there is beyond the limit has gone.
    pub fn fit_send_window(&self) {
        let windows: u64 = self.paths().iter().filter(|path| path.is_open).map(|path| path.window_bytes).sum();
        let (times, least, most) = SEND_WINDOW;
        let soon = self.group.most_within(AHEAD).map_or(most, |bytes| bytes.max(LEAST_KEPT));
        self.connection.set_send_window(windows.saturating_mul(times).clamp(least, most).min(soon));
    }

    /// Limits the send buffer further than [`Self::fit_send_window`], where unsent data wait elsewhere and are counted
    /// there.
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
        if let (Some(log), Some(reason)) = (&self.log, self.connection.close_reason()) {
            log.closed(&reason);
        }
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("paths", &self.paths()).finish_non_exhaustive()
    }
}

/// Creates an endpoint on these sockets, which accepts connections if `config` is given.
pub(crate) fn endpoint(sockets: Sockets, config: Option<ServerConfig>) -> Result<Endpoint, SessionError> {
    quic::endpoint(sockets, config).map_err(SessionError::NoEndpoint)
}

async fn close(endpoint: &Endpoint) {
    endpoint.close(VarInt::from_u32(0), b"");
    // A peer that has gone is not waited for.
    let _ = tokio::time::timeout(FAREWELL, endpoint.wait_all_draining()).await;
}
