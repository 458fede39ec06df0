//! Sessions over loopback: paths that die and come back, and peers that say nothing.

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anabranch_live::control::named;
use anabranch_live::security::{Identity, Trust};
use anabranch_live::session::{Client, Server, Session};

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(8);

/// Hands packets on between one client and a server, as long as it is not cut.
struct Wire {
    address: SocketAddr,
    is_cut: Arc<AtomicBool>,
}

impl Wire {
    fn to(server: SocketAddr) -> Self {
        let outer = UdpSocket::bind("127.0.0.3:0").unwrap();
        let inner = UdpSocket::bind("127.0.0.3:0").unwrap();
        let address = outer.local_addr().unwrap();
        let is_cut = Arc::new(AtomicBool::new(false));
        let client = Arc::new(std::sync::Mutex::new(None));
        let hand_on = |from: UdpSocket, to: UdpSocket, is_up: bool| {
            let (is_cut, client) = (is_cut.clone(), client.clone());
            std::thread::spawn(move || {
                let mut packet = vec![0; 65536];
                while let Ok((length, sender)) = from.recv_from(&mut packet) {
                    if is_up {
                        *client.lock().unwrap() = Some(sender);
                    }
                    let target = if is_up { Some(server) } else { *client.lock().unwrap() };
                    if let (Some(target), false) = (target, is_cut.load(Ordering::Relaxed)) {
                        let _ = to.send_to(&packet[..length], target);
                    }
                }
            })
        };
        hand_on(outer.try_clone().unwrap(), inner.try_clone().unwrap(), true);
        hand_on(inner, outer, false);
        Self { address, is_cut }
    }
}

/// A server, and a session of a client with it over a direct path and one over a wire.
async fn over_a_wire() -> (Server, Session, Session, Wire, Client) {
    let identity = Identity::made().unwrap();
    let server = Server::bind(&["127.0.0.1:0".parse::<SocketAddr>().unwrap().into()], &identity).await.unwrap();
    let wire = Wire::to(server.address());
    let client = Client::bind(&["127.0.0.1:0".parse::<SocketAddr>().unwrap().into()]).await.unwrap();
    let trust = Trust::Pins(vec![identity.fingerprint()]);
    let remotes = [server.address(), wire.address];
    let protocol = named("lia").unwrap();
    let (mine, theirs) = tokio::join!(client.connect("server", &remotes, &trust, &protocol), async {
        server.next().await.unwrap().accept().await
    });
    (server, theirs.unwrap(), mine.unwrap(), wire, client)
}

async fn until(what: &str, is_so: impl Fn() -> bool) -> Duration {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < PATIENCE, "{what} takes too long");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    start.elapsed()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_path_that_dies_is_given_up_and_taken_again_when_it_is_back() {
    let (_server, theirs, mine, wire, _client) = over_a_wire().await;
    until("the second path", || mine.paths()[1].is_open && theirs.paths().len() == 2).await;
    assert_eq!((mine.group().slots(), theirs.group().slots()), (vec![0, 1], vec![0, 1]));
    wire.is_cut.store(true, Ordering::Relaxed);
    let given_up = until("giving up", || !mine.paths()[1].is_open).await;
    assert!(given_up < Duration::from_secs(3), "{given_up:?}");
    assert!(mine.paths()[0].is_open);
    // Data go on over the other path.
    let mut tells = mine.connection().open_uni().await.unwrap();
    tells.write_all(&vec![7; 100_000]).await.unwrap();
    tells.finish().unwrap();
    let mut stream = theirs.connection().accept_uni().await.unwrap();
    assert_eq!(stream.read_to_end(200_000).await.unwrap().len(), 100_000);
    wire.is_cut.store(false, Ordering::Relaxed);
    until("its return", || mine.paths()[1].is_open).await;
    assert_eq!((mine.paths()[0].openings, mine.paths()[1].openings), (1, 2));
    until("leaving the old slot", || mine.group().slots().len() == 2).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_is_dropped_leaves_its_group_and_tells_the_peer() {
    let (_server, theirs, mine, _wire, _client) = over_a_wire().await;
    until("the second path", || theirs.paths().len() == 2).await;
    let group = mine.group().clone();
    drop(mine);
    tokio::time::timeout(PATIENCE, theirs.connection().closed()).await.unwrap();
    until("leaving", || group.slots().is_empty()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_peer_that_falls_silent_is_cut_off() {
    let identity = Identity::made().unwrap();
    let server = Server::bind(&["127.0.0.1:0".parse::<SocketAddr>().unwrap().into()], &identity).await.unwrap();
    let wire = Wire::to(server.address());
    let client = Client::bind(&["127.0.0.1:0".parse::<SocketAddr>().unwrap().into()]).await.unwrap();
    let (trust, protocol) = (Trust::Pins(vec![identity.fingerprint()]), named("reno").unwrap());
    let remotes = [wire.address];
    let (mine, theirs) = tokio::join!(client.connect("server", &remotes, &trust, &protocol), async {
        server.next().await.unwrap().accept().await
    });
    let (_mine, theirs) = (mine.unwrap(), theirs.unwrap());
    tokio::time::sleep(Duration::from_millis(100)).await;
    wire.is_cut.store(true, Ordering::Relaxed);
    let start = Instant::now();
    tokio::time::timeout(PATIENCE, theirs.connection().closed()).await.unwrap();
    assert!(start.elapsed() < Duration::from_secs(4), "{:?}", start.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_bytes_harm_no_server() {
    let (server, theirs, mine, _wire, _client) = over_a_wire().await;
    let stranger = UdpSocket::bind("127.0.0.1:0").unwrap();
    let mut state = 1u64;
    for _ in 0..2000 {
        let packet: Vec<u8> = (0..1300)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 56) as u8
            })
            .collect();
        stranger.send_to(&packet, server.address()).unwrap();
    }
    let mut tells = mine.connection().open_uni().await.unwrap();
    tells.write_all(b"still there").await.unwrap();
    tells.finish().unwrap();
    let heard = theirs.connection().accept_uni().await.unwrap().read_to_end(100).await.unwrap();
    assert_eq!(heard, b"still there");
}
