//! A client and a server in virtual time, joined by a wire that may drop, mark and delay what it carries.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};

use noq_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use noq_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, Dir, EcnCodepoint, Endpoint, EndpointConfig, Event,
    FourTuple, PathEvent, PathId, PathStatus, ServerConfig, StreamId, TransportConfig,
};
use rustls::RootCertStore;
use rustls::pki_types::PrivatePkcs8KeyDer;

/// The addresses of the client, of which it connects from the first, and that of the server.
pub const CLIENT: [IpAddr; 2] = [IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), IpAddr::V4(Ipv4Addr::new(10, 0, 1, 1))];
pub const SERVER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 2, 1)), 4433);

/// Which end sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum From {
    Client,
    Server,
}

/// A datagram on the wire.
#[derive(Clone, Debug)]
pub struct Datagram {
    pub from: From,
    /// The client's address that it leaves or goes to.
    pub client: IpAddr,
    pub bytes: usize,
    pub ecn: Option<EcnCodepoint>,
    /// How many that end has sent before.
    pub number: usize,
}

/// What becomes of a datagram: its delay and its field of marks, or that it is lost.
pub type Fate = Option<(Duration, Option<EcnCodepoint>)>;

/// The delay of a wire from one end to the other.
pub const DELAY: Duration = Duration::from_millis(10);

/// A datagram is lost, or goes through unchanged.
pub fn unless(is_lost: bool, datagram: &Datagram) -> Fate {
    (!is_lost).then_some((DELAY, datagram.ecn))
}

/// One end of the wire.
struct End {
    endpoint: Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
    events: Vec<Event>,
    /// The streams of the other end, which are read as soon as something has come.
    streams: Vec<StreamId>,
    /// What is on its way here: when it comes, where it is seen to come from and go to, its marks, and its bytes.
    inbox: VecDeque<(Instant, FourTuple, Option<EcnCodepoint>, Vec<u8>)>,
    sent: usize,
}

impl End {
    fn new(seed: u8, config: Option<ServerConfig>) -> Self {
        let mut own = EndpointConfig::default();
        own.rng_seed(Some([seed; 32]));
        let endpoint = Endpoint::new(Arc::new(own), config.map(Arc::new), true);
        Self { endpoint, connection: None, events: Vec::new(), streams: Vec::new(), inbox: VecDeque::new(), sent: 0 }
    }

    /// Lets connection and endpoint tell each other what they have to.
    fn settle(&mut self) {
        let Some((handle, connection)) = &mut self.connection else { return };
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(*handle, event) {
                connection.handle_event(event);
            }
        }
        while let Some(event) = connection.poll() {
            self.events.push(event);
        }
        while let Some(stream) = connection.streams().accept(Dir::Uni) {
            self.streams.push(stream);
        }
        for &stream in &self.streams {
            let mut reads = connection.recv_stream(stream);
            let Ok(mut chunks) = reads.read(true) else { continue };
            while let Ok(Some(_)) = chunks.next(usize::MAX) {}
            // What it says is said to be sent anyway.
            let _ = chunks.finalize();
        }
    }

    fn receive(&mut self, now: Instant) {
        while self.inbox.front().is_some_and(|(at, ..)| *at <= now) {
            let (_, between, ecn, bytes) = self.inbox.pop_front().expect("it is there");
            let mut answer = Vec::new();
            match self.endpoint.handle(now, between, ecn, bytes[..].into(), &mut answer) {
                Some(DatagramEvent::ConnectionEvent(_, event)) => {
                    self.connection.as_mut().expect("it has one").1.handle_event(event);
                }
                Some(DatagramEvent::NewConnection(incoming)) => {
                    let accepted = self.endpoint.accept(incoming, now, &mut answer, None);
                    self.connection = accepted.ok();
                }
                Some(DatagramEvent::Response(_)) | None => {}
            }
            self.settle();
        }
    }
}

/// A client and a server, and the wire between them.
pub struct AddressPair {
    pub now: Instant,
    client: End,
    server: End,
    /// The port that the client seems to have, as behind a NAT.
    pub client_port: u16,
    pub fate: Box<dyn FnMut(&Datagram) -> Fate>,
}

/// Settings for many paths, large windows and no idle time.
pub fn transport() -> TransportConfig {
    let mut transport = TransportConfig::default();
    transport
        .max_concurrent_multipath_paths(4)
        .max_idle_timeout(None)
        .stream_receive_window((64_u32 << 20).into())
        .receive_window((64_u32 << 20).into())
        .send_window(64 << 20)
        .mtu_discovery_config(None);
    transport
}

impl AddressPair {
    /// A client that has begun to connect.
    pub fn new(client: TransportConfig, server: TransportConfig) -> Self {
        Self::seeded(1, client, server)
    }

    /// A client that has begun to connect; what ends draw at random depends on the seed.
    pub fn seeded(seed: u8, client: TransportConfig, server: TransportConfig) -> Self {
        let made = rcgen::generate_simple_self_signed(["server".to_owned()]).unwrap();
        let certificate = made.cert.der().clone();
        let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = rustls::ServerConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(&[&rustls::version::TLS13])
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.clone()], key.into())
            .unwrap();
        let mut served = ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls).unwrap()));
        served.transport_config(Arc::new(server));
        let mut roots = RootCertStore::empty();
        roots.add(certificate).unwrap();
        let tls = rustls::ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let mut config = ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls).unwrap()));
        config.transport_config(Arc::new(client));
        let now = Instant::now();
        let mut own = End::new(seed, None);
        own.connection = Some(own.endpoint.connect(now, config, SERVER, "server").unwrap());
        Self {
            now,
            client: own,
            server: End::new(seed + 100, Some(served)),
            client_port: 1000,
            fate: Box::new(|datagram| unless(false, datagram)),
        }
    }

    /// A client and a server that are connected and have nothing more to say of it.
    pub fn connected(client: TransportConfig, server: TransportConfig) -> Self {
        let mut pair = Self::new(client, server);
        pair.run(Duration::from_secs(1));
        assert!(pair.events(From::Client).iter().any(|event| matches!(event, Event::Connected)));
        pair
    }

    fn end(&mut self, of: From) -> &mut End {
        match of {
            From::Client => &mut self.client,
            From::Server => &mut self.server,
        }
    }

    /// The connection of an end.
    pub fn of(&mut self, of: From) -> &mut Connection {
        &mut self.end(of).connection.as_mut().expect("it is connected").1
    }

    /// What an end was told of its connection so far.
    pub fn events(&mut self, of: From) -> &[Event] {
        &self.end(of).events
    }

    /// The paths of an end that are established, and those that are abandoned, in this order.
    pub fn paths(&mut self, of: From) -> (Vec<PathId>, Vec<PathId>) {
        let (mut established, mut abandoned) = (Vec::new(), Vec::new());
        for event in self.events(of) {
            match event {
                Event::Path(PathEvent::Established { id, .. }) => established.push(*id),
                Event::Path(PathEvent::Abandoned { id, .. }) => abandoned.push(*id),
                _ => {}
            }
        }
        (established, abandoned)
    }

    /// Opens a path from the second address of the client.
    pub fn open_second(&mut self) -> PathId {
        let between = FourTuple::new(SERVER, Some(CLIENT[1]));
        let now = self.now;
        let id = self.of(From::Client).open_path(between, PathStatus::Available, now).unwrap();
        self.run(Duration::from_millis(200));
        assert!(self.paths(From::Client).0.contains(&id), "the path has opened");
        id
    }

    /// Puts bytes on a new stream of an end.
    pub fn write(&mut self, of: From, bytes: usize) -> StreamId {
        let connection = self.of(of);
        let stream = connection.streams().open(Dir::Uni).expect("there may be another stream");
        let written = connection.send_stream(stream).write(&vec![7; bytes]).unwrap();
        assert_eq!(written, bytes, "windows are large");
        stream
    }

    /// Lets time pass.
    pub fn run(&mut self, time: Duration) {
        let end = self.now + time;
        loop {
            self.send_all(From::Client);
            self.send_all(From::Server);
            let Some(next) = self.next().filter(|next| *next <= end) else { break };
            self.now = self.now.max(next);
            for of in [From::Client, From::Server] {
                let now = self.now;
                let own = self.end(of);
                own.receive(now);
                if let Some((_, connection)) = &mut own.connection
                    && connection.poll_timeout().is_some_and(|at| at <= now)
                {
                    connection.handle_timeout(now);
                }
                own.settle();
            }
        }
        self.now = end;
    }

    /// When something happens next.
    fn next(&self) -> Option<Instant> {
        let of = |end: &End| {
            let arrival = end.inbox.front().map(|(at, ..)| *at);
            let timer = end.connection.as_ref().and_then(|(_, connection)| connection.poll_timeout());
            arrival.into_iter().chain(timer).min()
        };
        of(&self.client).into_iter().chain(of(&self.server)).min()
    }

    /// Puts on the wire what an end has to send now.
    fn send_all(&mut self, of: From) {
        loop {
            let (now, port) = (self.now, self.client_port);
            let own = self.end(of);
            own.settle();
            let Some((_, connection)) = &mut own.connection else { return };
            let mut bytes = Vec::new();
            let Some(transmit) = connection.poll_transmit(now, NonZeroUsize::MIN, &mut bytes) else { return };
            bytes.truncate(transmit.size);
            let number = own.sent;
            own.sent += 1;
            let (client, between) = match of {
                From::Client => {
                    let client = transmit.src_ip.unwrap_or(CLIENT[0]);
                    (client, FourTuple::new((client, port).into(), Some(SERVER.ip())))
                }
                From::Server => {
                    let client = transmit.destination.ip();
                    (client, FourTuple::new(SERVER, Some(client)))
                }
            };
            let datagram = Datagram { from: of, client, bytes: bytes.len(), ecn: transmit.ecn, number };
            let Some((delay, ecn)) = (self.fate)(&datagram) else { continue };
            let other = if of == From::Client { From::Server } else { From::Client };
            let inbox = &mut self.end(other).inbox;
            let at = now + delay;
            let place = inbox.partition_point(|(other, ..)| *other <= at);
            inbox.insert(place, (at, between, ecn, bytes));
        }
    }
}
