//! Sessions over loopback: paths that die and come back, and peers that say nothing.

use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anabranch_live::control::{Group, RemoteSubflow, named};
use anabranch_live::quic::PathId;
use anabranch_live::security::{Identity, Trust};
use anabranch_live::session::{Client, Server, Session};
use anabranch_live::sockets::{Local, Sockets};
use anabranch_live::{AddressPair, QuicConfig};
use anabranch_proto::window::SubflowSnapshot;
use tokio::task::JoinHandle;

/// How long anything may take: a path may be tried again after 8 s only.
const PATIENCE: Duration = Duration::from_secs(20);

/// Hands packets on between one client and a server, as long as it is not cut; the server sees those of an address that may
/// change, as behind a NAT.
struct Wire {
    address: SocketAddr,
    /// So long packets of the server are under way.
    delay: Duration,
    is_cut: Arc<AtomicBool>,
    outer: UdpSocket,
    inner: Arc<Mutex<UdpSocket>>,
    client: Arc<Mutex<Option<SocketAddr>>>,
}

impl Wire {
    fn to(server: SocketAddr, delay: Duration) -> Self {
        let outer = UdpSocket::bind("127.0.0.3:0").unwrap();
        let wire = Self {
            address: outer.local_addr().unwrap(),
            delay,
            is_cut: Arc::default(),
            outer: outer.try_clone().unwrap(),
            inner: Arc::new(Mutex::new(UdpSocket::bind("127.0.0.3:0").unwrap())),
            client: Arc::default(),
        };
        let (is_cut, inner, client) = (wire.is_cut.clone(), wire.inner.clone(), wire.client.clone());
        std::thread::spawn(move || {
            let mut packet = vec![0; 65536];
            while let Ok((length, sender)) = outer.recv_from(&mut packet) {
                *client.lock().unwrap() = Some(sender);
                if !is_cut.load(Ordering::Relaxed) {
                    let _ = inner.lock().unwrap().send_to(&packet[..length], server);
                }
            }
        });
        wire.hand_down();
        wire
    }

    /// Hands on what comes from the server to where packets go out now.
    fn hand_down(&self) {
        let (inner, outer) = (self.inner.lock().unwrap().try_clone().unwrap(), self.outer.try_clone().unwrap());
        let (is_cut, client, delay) = (self.is_cut.clone(), self.client.clone(), self.delay);
        let (under_way, arriving) = std::sync::mpsc::channel::<(Instant, Vec<u8>)>();
        std::thread::spawn(move || {
            let mut packet = vec![0; 65536];
            while let Ok((length, _)) = inner.recv_from(&mut packet) {
                under_way.send((Instant::now() + delay, packet[..length].to_vec())).unwrap();
            }
        });
        std::thread::spawn(move || {
            for (due, packet) in arriving {
                std::thread::sleep(due.saturating_duration_since(Instant::now()));
                if let (Some(client), false) = (*client.lock().unwrap(), is_cut.load(Ordering::Relaxed)) {
                    let _ = outer.send_to(&packet, client);
                }
            }
        });
    }

    /// From now on packets come from another port.
    fn rebind(&self) {
        *self.inner.lock().unwrap() = UdpSocket::bind("127.0.0.3:0").unwrap();
        self.hand_down();
    }
}

/// A server, and a session of a client with it over a direct path and one over a wire.
async fn over_a_wire() -> (Server, Session, Session, Wire, Client) {
    let identity = Identity::made().unwrap();
    let server = Server::bind(&["127.0.0.1:0".parse::<SocketAddr>().unwrap().into()], &identity).await.unwrap();
    let wire = Wire::to(server.address(), Duration::ZERO);
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
async fn a_path_whose_address_changes_keeps_its_number_and_its_slot() {
    let (_server, theirs, mine, wire, _client) = over_a_wire().await;
    until("the second path", || theirs.numbers() == [Some(0), Some(1)]).await;
    let label = theirs.paths()[1].label.clone();
    wire.rebind();
    until("moving", || theirs.paths()[1].label != label).await;
    assert_eq!((theirs.numbers(), mine.numbers()), (vec![Some(0), Some(1)], vec![Some(0), Some(1)]));
    assert_eq!((theirs.group().slots(), theirs.paths().len()), (vec![0, 1], 2));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_path_that_comes_back_from_another_address_has_one_number_at_both_ends() {
    let (_server, theirs, mine, wire, _client) = over_a_wire().await;
    until("the second path", || theirs.numbers() == [Some(0), Some(1)]).await;
    wire.is_cut.store(true, Ordering::Relaxed);
    until("giving up", || mine.numbers()[1].is_none() && theirs.numbers()[1].is_none()).await;
    wire.rebind();
    wire.is_cut.store(false, Ordering::Relaxed);
    until("its return", || mine.numbers()[1].is_some() && theirs.numbers().len() == 3).await;
    // The server takes it for another, in a third place; a number tells which it is.
    let number = mine.numbers()[1];
    assert_eq!((theirs.numbers(), number > Some(1)), (vec![Some(0), None, number], true));
    theirs.regroup_numbered(&[(0, 1), (number.unwrap(), 2)]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_round_trip_is_that_of_the_path_though_packets_come_alone() {
    let (_server, theirs, mine, _wire, _client) = over_a_wire().await;
    let mut tells = mine.connection().open_uni().await.unwrap();
    // By itself QUIC lets a packet that comes alone wait for 25 ms before it is acknowledged.
    // Where one is late for another reason, what is smoothed forgets it.
    let (start, mut sent) = (Instant::now(), 0);
    while sent < 40 || mine.group().state(0).unwrap().rtt >= 0.015 {
        assert!(start.elapsed() < PATIENCE, "{:?}", mine.group().state(0));
        tells.write_all(&[7]).await.unwrap();
        tokio::time::sleep(Duration::from_millis(40)).await;
        sent += 1;
    }
    drop(theirs);
}

/// Bytes of about ten packets: few enough that no buffer is ever full.
const FEW: usize = 14_000;

/// Sends so many times a few packets from the server, and each time one on the second path.
async fn send_slowly(theirs: &Session, mine: &Session, times: usize) {
    let mut data = theirs.connection().open_uni().await.unwrap();
    for _ in 0..times {
        data.write_all(&[7; FEW]).await.unwrap();
        let _ = theirs.connection().path(PathId::from(1_u32)).map(|path| path.ping());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    data.finish().unwrap();
    mine.connection().accept_uni().await.unwrap().read_to_end(times * FEW).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn new_keys_cost_no_path_what_is_under_way_on_it() {
    for _ in 0..8 {
        let identity = Identity::made().unwrap();
        let server = Server::bind(&[local(1)], &identity).await.unwrap();
        let wire = Wire::to(server.address(), Duration::from_millis(10));
        let client = Client::bind(&[local(1)]).await.unwrap();
        let (trust, group) = (Trust::Pins(vec![identity.fingerprint()]), Group::new(&named("lia").unwrap()).unwrap());
        let pair = |remote, is_wanted| AddressPair { local: None, remote, is_wanted, is_backup: false };
        let pairs = vec![pair(wire.address, true), pair(server.address(), false)];
        let (mine, theirs) =
            tokio::join!(client.connect_with_config("server", pairs, &trust, group, QuicConfig::default()), async {
                server.next().await.unwrap().accept().await
            });
        let (mine, theirs) = (mine.unwrap(), theirs.unwrap());
        // By itself a server renews its keys after 10 to 1000 packets. Where it is after the first 400, it is while there
        // are two paths: the second shows it at once, with numbers that those under way on the first are far above. So it
        // was with 16 of 32 connections, each of which lost 10 to 21 packets: eight in a row miss it once in 256 times.
        send_slowly(&theirs, &mine, 40).await;
        mine.want(1, true);
        until("the second path", || theirs.numbers() == [Some(0), Some(1)]).await;
        send_slowly(&theirs, &mine, 65).await;
        let counts: Vec<(u64, u64)> =
            theirs.paths().iter().map(|path| (path.sent_packets, path.lost_packets)).collect();
        assert!(counts.iter().all(|&(sent, lost)| sent > 5 && lost == 0), "sent and lost: {counts:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_and_a_client_at_two_ports_of_one_address_have_a_path_from_each_to_each() {
    let identity = Identity::made().unwrap();
    // Locals that are the same but for a peer are no mistake; here all may come from anywhere.
    let two = |host: u8| [1, 2].map(|peer| Local { peer: Some([127, 0, 0, peer].into()), ..local(host) });
    let sockets = Sockets::bind(&two(1)).await.unwrap();
    let remotes = sockets.addresses();
    let server = Server::with(sockets, &identity).unwrap();
    let client = Client::with(Sockets::bind(&two(2)).await.unwrap()).unwrap();
    let (trust, protocol) = (Trust::Pins(vec![identity.fingerprint()]), named("lia").unwrap());
    let (mine, theirs) = tokio::join!(client.connect("server", &remotes, &trust, &protocol), async {
        server.next().await.unwrap().accept().await
    });
    let (mine, theirs) = (mine.unwrap(), theirs.unwrap());
    until("all four paths", || mine.paths().iter().filter(|path| path.is_open).count() == 4).await;
    let labels: std::collections::HashSet<String> = mine.paths().into_iter().map(|path| path.label).collect();
    assert!(labels.len() == 4 && labels.iter().all(|label| label.starts_with("127.0.0.2")), "{labels:?}");
    drop(theirs);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_told_of_others_tells_how_its_own_subflows_stand() {
    let (_server, theirs, mine, wire, _client) = over_a_wire().await;
    until("the second path", || theirs.numbers() == [Some(0), Some(1)]).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(mine.snapshots().is_empty(), "nobody has asked");
    let numbers = || {
        mine.tell_others(&[]);
        mine.snapshots().into_iter().map(|(number, _)| number).collect::<Vec<_>>()
    };
    until("both subflows", || numbers() == [0, 1]).await;
    let (mut data, receiving) = (theirs.connection().open_uni().await.unwrap(), mine.connection().clone());
    let sends = tokio::spawn(async move { while data.write_all(&[7; 10_000]).await.is_ok() {} });
    let takes = tokio::spawn(async move {
        let (mut stream, mut taken) = (receiving.accept_uni().await.unwrap(), [0; 10_000]);
        while stream.read(&mut taken).await.is_ok() {}
    });
    let told = |path: u32| mine.snapshots().into_iter().find(|(number, _)| *number == path).map(|(_, own)| own);
    until("the window of the first", || {
        numbers();
        let is = theirs.states().first().copied().flatten();
        told(0).is_some_and(|own| own.window > 20.0 && is.is_some_and(|is| (own.window / is.window - 1.0).abs() < 0.01))
    })
    .await;
    [sends, takes].iter().for_each(JoinHandle::abort);
    wire.is_cut.store(true, Ordering::Relaxed);
    until("one to be gone", || numbers() == [0]).await;
    theirs.close(0, "");
    until("all to be forgotten", || mine.snapshots().is_empty()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_told_of_others_no_longer_forgets_them() {
    let (_server, theirs, mine, _wire, _client) = over_a_wire().await;
    theirs.group().choose(&named("nmcc").unwrap()).unwrap();
    let snapshot = SubflowSnapshot { window: 10.0, rtt: 0.0, rank: 0.0, is_starting: true, is_silent: false };
    let other = RemoteSubflow { group: 0, snapshot };
    let tell = || mine.tell_others(&[other]);
    until("the other", || (tell(), theirs.group().remote_count() == 1).1).await;
    // As long as it is repeated it stays, though nothing is new.
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(4) {
        tell();
        assert_eq!(theirs.group().remote_count(), 1);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    until("forgetting", || theirs.group().remote_count() == 0).await;
}

fn local(host: u8) -> Local {
    SocketAddr::from(([127, 0, 0, host], 0)).into()
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
    let wire = Wire::to(server.address(), Duration::ZERO);
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

/// What a receiving end tells of a path: kind, a number that grows, no rate, one path, its number, marks.
fn told(number: u64, marked: u64) -> Vec<u8> {
    let mut bytes = vec![1];
    bytes.extend(number.to_be_bytes());
    bytes.extend(u64::MAX.to_be_bytes());
    bytes.push(1);
    bytes.extend(0_u32.to_be_bytes());
    bytes.extend(marked.to_be_bytes());
    bytes
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_peer_that_takes_back_marks_or_tells_nonsense_is_cut_off() {
    for (messages, why) in [
        (vec![told(1, 7), told(2, 6)], "6 packets came marked, and 7 had before"),
        (vec![vec![1, 2, 3]], "a message of 3 bytes that must have 18"),
        (vec![[&[9], &told(1, 0)[1..]].concat()], "a message of kind 9; there are 1 to 3 only"),
    ] {
        let (_server, theirs, mine, _wire, _client) = over_a_wire().await;
        for message in messages {
            mine.connection().send_datagram(message.into()).unwrap();
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let closed = tokio::time::timeout(PATIENCE, mine.connection().closed()).await.unwrap().to_string();
        assert!(closed.contains(why), "{closed}");
        drop(theirs);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_comes_late_or_of_paths_that_are_not_there_changes_nothing() {
    let (_server, theirs, mine, _wire, _client) = over_a_wire().await;
    let mut elsewhere = told(3, 1);
    elsewhere[18..22].copy_from_slice(&77_u32.to_be_bytes());
    for message in [told(2, 7), told(1, 6), told(2, 0), elsewhere] {
        mine.connection().send_datagram(message.into()).unwrap();
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(mine.connection().close_reason().is_none() && theirs.connection().close_reason().is_none());
}
