//! Packets of applications over a proxy and an exit.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::time::Duration;

use anabranch_live::security::Identity;
use anabranch_proxy::exit::ExitEvent;
use anabranch_proxy::socks::{read_packet, write_packet};
use anabranch_proxy::target::Target;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UdpSocket};
use tokio::time::{Instant, timeout, timeout_at};

use crate::field::{LONG, RunningProxy, SECRET, start_exit, start_proxy};
use crate::paths::field;

/// For so long nothing comes where nothing is to come.
const SHORT: Duration = Duration::from_millis(300);

/// An application that has a place to send packets to.
pub struct Application {
    socket: UdpSocket,
    door: SocketAddr,
    control: TcpStream,
}

impl Application {
    pub async fn at(proxy: &RunningProxy) -> Self {
        let mut control = TcpStream::connect(proxy.socks).await.unwrap();
        control.write_all(&[5, 1, 0, 5, 3, 0, 1, 0, 0, 0, 0, 0, 0]).await.unwrap();
        let mut answer = [0; 12];
        control.read_exact(&mut answer).await.unwrap();
        assert_eq!(answer[..6], [5, 0, 5, 0, 0, 1]);
        let ip: [u8; 4] = answer[6..10].try_into().unwrap();
        let door = SocketAddr::from((ip, u16::from_be_bytes([answer[10], answer[11]])));
        Self { socket: UdpSocket::bind("127.0.0.1:0").await.unwrap(), door, control }
    }

    pub async fn send(&self, target: &str, packet: &[u8]) {
        let begin = write_packet(&target.parse().unwrap());
        self.socket.send_to(&[&begin[..], packet].concat(), self.door).await.unwrap();
    }

    pub async fn next(&self) -> Option<(Target, Vec<u8>)> {
        let mut bytes = vec![0; 70_000];
        let (length, from) = timeout(LONG, self.socket.recv_from(&mut bytes)).await.ok()?.unwrap();
        assert_eq!(from, self.door);
        let (target, begin) = read_packet(&bytes[..length]).unwrap();
        Some((target, bytes[begin..length].to_vec()))
    }

    async fn is_silent(&self) -> bool {
        timeout(SHORT, self.socket.recv_from(&mut [0; 100])).await.is_err()
    }
}

/// A target that sends packets back.
pub async fn echo() -> String {
    echo_at("127.0.0.1").await
}

async fn echo_at(name: &str) -> String {
    let socket = UdpSocket::bind((name, 0)).await.unwrap();
    let address = socket.local_addr().unwrap();
    tokio::spawn(async move {
        let mut packet = vec![0; 70_000];
        while let Ok((length, from)) = socket.recv_from(&mut packet).await {
            let _ = socket.send_to(&packet[..length], from).await;
        }
    });
    address.to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn packets_of_any_size_pass_there_and_back() {
    let exit = start_exit("127.0.0.1:0", Identity::made().unwrap(), &["127.0.0.1", "localhost"]);
    let proxy = start_proxy(&exit.url, SECRET, None);
    let (one, other) = (echo().await, echo().await);
    let application = Application::at(&proxy).await;
    // An empty one, one that fits into a packet of QUIC, and two that do not.
    for size in [0, 1000, 3000, 60_000] {
        let packet: Vec<u8> = (0..size).map(|n| n as u8).collect();
        application.send(&one, &packet).await;
        assert_eq!(application.next().await, Some((one.parse().unwrap(), packet)));
    }
    application.send(&other, b"elsewhere").await;
    assert_eq!(application.next().await, Some((other.parse().unwrap(), b"elsewhere".to_vec())));
    // A name is looked up at the exit, and stays a name.
    let named = format!("localhost:{}", echo_at("localhost").await.rsplit_once(':').unwrap().1);
    application.send(&named, b"by name").await;
    assert_eq!(application.next().await, Some((named.parse().unwrap(), b"by name".to_vec())));
    drop(application);
    drop(proxy);
    let Some(ExitEvent::Left(client)) = exit.running.wait(LONG) else { panic!("nobody has left") };
    assert_eq!((client.tunnels, client.sent, client.received), (3, 64_016, 64_016));
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_application_gets_packets_to_targets_that_are_allowed() {
    let exit = start_exit("127.0.0.1:0", Identity::made().unwrap(), &["127.0.0.1"]);
    let proxy = start_proxy(&exit.url, SECRET, None);
    let target = echo().await;
    let application = Application::at(&proxy).await;
    // Another address, a fragment, and something else.
    let stranger = UdpSocket::bind("127.0.0.9:0").await.unwrap();
    let begin = write_packet(&target.parse().unwrap());
    stranger.send_to(&begin, application.door).await.unwrap();
    application.socket.send_to(&[&begin[..2], &[1], &begin[3..]].concat(), application.door).await.unwrap();
    application.socket.send_to(b"hello", application.door).await.unwrap();
    let port = target.rsplit_once(':').unwrap().1;
    application.send(&format!("127.0.0.2:{port}"), b"not allowed").await;
    assert!(application.is_silent().await);
    assert!(timeout(SHORT, stranger.recv_from(&mut [0; 100])).await.is_err());
    application.send(&target, b"allowed").await;
    assert_eq!(application.next().await.unwrap().1, b"allowed");
}

#[tokio::test(flavor = "multi_thread")]
async fn packets_pass_as_long_as_the_connection_lasts_over_which_they_were_asked_for() {
    let exit = start_exit("127.0.0.1:0", Identity::made().unwrap(), &["127.0.0.1"]);
    let proxy = start_proxy(&exit.url, SECRET, None);
    let target = echo().await;
    let application = Application::at(&proxy).await;
    application.send(&target, b"one").await;
    assert_eq!(application.next().await.unwrap().1, b"one");
    let Application { socket, door, control } = application;
    drop(control);
    tokio::time::sleep(SHORT).await;
    let begin = write_packet(&target.parse().unwrap());
    // The door is closed: the kernel says so, or nobody does.
    let _ = socket.send_to(&begin, door).await;
    assert!(!matches!(timeout(SHORT, socket.recv_from(&mut [0; 100])).await, Ok(Ok(_))));
}

#[tokio::test(flavor = "multi_thread")]
async fn many_targets_are_served_and_quiet_ones_are_given_up() {
    let exit = start_exit("127.0.0.1:0", Identity::made().unwrap(), &["127.0.0.1"]);
    let proxy = start_proxy(&exit.url, SECRET, None);
    let application = Application::at(&proxy).await;
    let mut targets = Vec::new();
    for number in 0..300_u32 {
        let target = echo().await;
        application.send(&target, &number.to_be_bytes()).await;
        assert_eq!(application.next().await.unwrap(), (target.parse().unwrap(), number.to_be_bytes().to_vec()));
        targets.push(target);
    }
    // The first was given up, and is served again.
    application.send(&targets[0], b"again").await;
    assert_eq!(application.next().await.unwrap().1, b"again");
    drop((application, proxy));
    let Some(ExitEvent::Left(client)) = exit.running.wait(LONG) else { panic!("nobody has left") };
    assert_eq!(client.tunnels, 301);
}

/// A target that answers each packet with the address from which it came.
async fn mirror() -> String {
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let address = socket.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((_, from)) = socket.recv_from(&mut [0; 100]).await {
            let _ = socket.send_to(from.to_string().as_bytes(), from).await;
        }
    });
    address.to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_goes_on_over_another_line_and_its_address_stays() {
    let (_exit, proxy, relays) = field().await;
    let (target, application) = (mirror().await, Application::at(&proxy).await);
    let (mut addresses, mut last, mut longest) = (HashSet::new(), Instant::now(), Duration::ZERO);
    // A packet each 10 ms for 2 s; the faster line is cut in the middle.
    for number in 0..200 {
        if number == 100 {
            relays[0].cut(true);
        }
        application.send(&target, b"call").await;
        let end = Instant::now() + Duration::from_millis(10);
        let mut packet = [0; 100];
        while let Ok(Ok((length, _))) = timeout_at(end, application.socket.recv_from(&mut packet)).await {
            let (_, begin) = read_packet(&packet[..length]).unwrap();
            addresses.insert(packet[begin..length].to_vec());
            longest = longest.max(last.elapsed());
            last = Instant::now();
        }
    }
    assert!(longest.max(last.elapsed()) < Duration::from_millis(300), "{longest:?}, {:?}", last.elapsed());
    assert_eq!(addresses.len(), 1, "{addresses:?}");
}
