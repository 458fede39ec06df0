//! What sockets and tasks of noq have a part in.

use std::fmt;
use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use noq::udp::RecvMeta;
use noq::{
    AsyncUdpSocket, ClientConfig, Connection, Endpoint, EndpointConfig, FourTuple, PathId, PathStatus, Runtime,
    ServerConfig, TokioRuntime, TransportConfig, UdpSender,
};
use noq_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::{RootCertStore, version};

use crate::recorder::{Recorder, Recording};

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// A socket whose machine halts for a while before each look at what has arrived.
struct Halting {
    inner: Box<dyn AsyncUdpSocket>,
    halt: Duration,
}

impl fmt::Debug for Halting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl AsyncUdpSocket for Halting {
    fn create_sender(&self) -> Pin<Box<dyn UdpSender>> {
        self.inner.create_sender()
    }

    fn poll_recv(
        &mut self,
        cx: &mut Context<'_>,
        bufs: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        std::thread::sleep(self.halt);
        self.inner.poll_recv(cx, bufs, meta)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.inner.local_addr()
    }
}

/// A client whose machine halts for a while now and then, and its server, each with its endpoint.
async fn pair(transport: TransportConfig, halt: Duration) -> [(Endpoint, Connection); 2] {
    let made = rcgen::generate_simple_self_signed(["server".to_owned()]).unwrap();
    let certificate = made.cert.der().clone();
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ServerConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&[&version::TLS13])
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key.into())
        .unwrap();
    let mut served = ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls).unwrap()));
    let mut many = TransportConfig::default();
    many.max_concurrent_multipath_paths(4);
    served.transport_config(Arc::new(many));
    let server = Endpoint::server(served, "127.0.0.1:0".parse().unwrap()).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(certificate).unwrap();
    let tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&version::TLS13])
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let mut config = ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls).unwrap()));
    config.transport_config(Arc::new(transport));
    let inner = TokioRuntime.wrap_udp_socket(std::net::UdpSocket::bind("0.0.0.0:0").unwrap()).unwrap();
    let socket = Box::new(Halting { inner, halt });
    let runtime = Arc::new(TokioRuntime);
    let client = Endpoint::new_with_abstract_socket(EndpointConfig::default(), None, socket, runtime).unwrap();
    let connecting = client.connect_with(config, server.local_addr().unwrap(), "server").unwrap();
    let accept = async { server.accept().await.unwrap().accept().unwrap().await };
    let (mine, theirs) = tokio::try_join!(connecting, accept).unwrap();
    [(client, mine), (server, theirs)]
}

fn recorded(recorder: &Recorder) -> TransportConfig {
    let mut transport = TransportConfig::default();
    transport.congestion_controller_factory(Arc::new(recorder.clone())).max_concurrent_multipath_paths(4);
    transport
}

/// Sends a few bytes and waits until the other end has read them.
async fn exchange(mine: &Connection, theirs: &Connection) {
    let mut stream = mine.open_uni().await.unwrap();
    stream.write_all(b"hello").await.unwrap();
    stream.finish().unwrap();
    let mut read = theirs.accept_uni().await.unwrap();
    assert_eq!(read.read_to_end(10).await.unwrap(), b"hello");
    // All is acknowledged.
    stream.stopped().await.unwrap();
}

#[tokio::test]
async fn the_state_of_a_path_is_a_copy_of_its_controller() {
    let recorder = Recorder::new(1 << 20, None);
    let [(_client, mine), _other] = pair(recorded(&recorder), Duration::ZERO).await;
    let state = mine.congestion_state(PathId::ZERO).unwrap();
    let copy = state.into_any().downcast::<Recording>().expect("it is the controller that was built");
    assert!(copy.path == 0 && Arc::ptr_eq(&copy.recorder.calls, &recorder.calls));
    assert!(mine.congestion_state(PathId::from(3_u32)).is_none());
}

#[tokio::test]
async fn acknowledgements_have_a_time_before_the_look_at_the_socket() {
    let (recorder, halt) = (Recorder::new(1 << 20, None), Duration::from_millis(30));
    let [(_client, mine), (_server, theirs)] = pair(recorded(&recorder), halt).await;
    tokio::time::timeout(PATIENCE, exchange(&mine, &theirs)).await.unwrap();
    let ended = recorder.ended.lock().unwrap();
    let least = ended.iter().map(|(told, handled)| *handled - *told).min().expect("something is acknowledged");
    assert!(least >= halt, "{least:?}; if the clock is looked at afterwards, `control::slot` need not do so");
}

#[tokio::test]
async fn of_datagrams_that_do_not_fit_the_oldest_give_way() {
    let mut transport = TransportConfig::default();
    transport.datagram_send_buffer_size(4 << 10);
    let [(_client, mine), (_server, theirs)] = pair(transport, Duration::ZERO).await;
    // Nothing else runs meanwhile on this thread.
    (0..100_u8).for_each(|number| mine.send_datagram(vec![number; 100].into()).unwrap());
    let mut read = Vec::new();
    while read.last() != Some(&99) {
        read.push(tokio::time::timeout(PATIENCE, theirs.read_datagram()).await.unwrap().unwrap()[0]);
    }
    assert!(read[0] > 0 && read.len() < 50, "{read:?}");
}

#[tokio::test]
async fn what_a_path_has_carried_is_known_when_it_is_gone() {
    let recorder = Recorder::new(1 << 20, None);
    let [(_client, mine), (server, theirs)] = pair(recorded(&recorder), Duration::ZERO).await;
    exchange(&mine, &theirs).await;
    let between = FourTuple::new(server.local_addr().unwrap(), Some([127, 0, 0, 2].into()));
    let begin = Instant::now();
    let second = loop {
        match mine.open_path(between, PathStatus::Available).await {
            Ok(path) => break path,
            Err(error) => assert!(begin.elapsed() < PATIENCE, "{error}"),
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    assert_eq!(second.network_path().unwrap().local_ip(), Some([127, 0, 0, 2].into()));
    assert!(second.remote_address().is_ok());
    second.close().unwrap();
    while second.remote_address().is_ok() {
        assert!(begin.elapsed() < PATIENCE, "it goes some time");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(second.stats().udp_tx.bytes > 0);
}
