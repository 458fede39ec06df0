//! Relays between a proxy and its exit: each ends the connections before it, and begins its own.

use std::time::Duration;

use anabranch_live::security::Identity;
use anabranch_live::url::Url;
use anabranch_proxy::exit::ExitEvent;
use anabranch_proxy::socks::Reply;
use anabranch_proxy::uplink::UplinkState;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::time::timeout;

use crate::field::{LONG, RunningExit, RunningProxy, SECRET, start_exit, start_proxy, start_relay, start_relay_at};
use crate::packets::{self, Application};
use crate::{assert_resets_pass, echo, is_up, round};

/// Waits until all lines of a relay to the next exit are up.
fn wait_until_up(relay: &RunningExit) {
    let end = std::time::Instant::now() + LONG;
    while std::time::Instant::now() < end {
        match relay.running.wait(LONG) {
            Some(ExitEvent::Uplink(state)) if is_up(&state) => return,
            _ => {}
        }
    }
    panic!("the relay has no lines");
}

/// An exit, two relays in a row and a proxy, the last first.
fn chain() -> (RunningProxy, [RunningExit; 3]) {
    let exit = start_exit("127.0.0.1:0", Identity::made().unwrap(), &["127.0.0.1"]);
    let second = start_relay(&exit.url, SECRET);
    let first = start_relay(&second.url, SECRET);
    [&second, &first].into_iter().for_each(wait_until_up);
    let proxy = start_proxy(&first.url, SECRET, None);
    proxy.wait_until(is_up);
    (proxy, [first, second, exit])
}

#[tokio::test(flavor = "multi_thread")]
async fn bytes_and_ends_pass_over_two_relays() {
    let (proxy, [first, second, exit]) = chain();
    let stream = proxy.connect(&echo().await).await.unwrap();
    let sent: Vec<u8> = (0..16_000_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let (mut reader, mut writer) = stream.into_split();
    let writing = sent.clone();
    let wrote = tokio::spawn(async move {
        writer.write_all(&writing).await.unwrap();
        writer.shutdown().await.unwrap();
    });
    let mut came = Vec::new();
    timeout(LONG, reader.read_to_end(&mut came)).await.unwrap().unwrap();
    wrote.await.unwrap();
    assert!(came == sent);
    drop(proxy);
    // Each relay was the client of the next.
    drop(first);
    assert_carried(&second);
    drop(second);
    assert_carried(&exit);
}

/// Waits until the client of a relay or an exit leaves, which has sent all bytes and has got them back.
fn assert_carried(next: &RunningExit) {
    let left = std::iter::from_fn(|| next.running.wait(LONG)).find_map(|event| match event {
        ExitEvent::Left(client) => Some(client),
        _ => None,
    });
    let left = left.expect("the relay has left");
    assert_eq!((left.tunnels, left.sent, left.received), (1, 16_000_000, 16_000_000));
}

#[tokio::test(flavor = "multi_thread")]
async fn many_connections_and_packets_pass_over_relays() {
    let (proxy, _relays) = chain();
    let target = echo().await;
    let mut streams = Vec::new();
    for _ in 0..100 {
        streams.push(proxy.connect(&target).await.unwrap());
    }
    for (number, stream) in streams.iter_mut().enumerate() {
        round(stream, format!("this is number {number}").as_bytes()).await;
    }
    let (application, target) = (Application::at(&proxy).await, packets::echo().await);
    for size in [0, 1000, 60_000] {
        let packet: Vec<u8> = (0..size).map(|n| n as u8).collect();
        application.send(&target, &packet).await;
        assert_eq!(application.next().await, Some((target.parse().unwrap(), packet)));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flow_ends_where_relays_lead_in_a_circle() {
    let (identity, free) = (Identity::made().unwrap(), std::net::UdpSocket::bind("127.0.0.1:0").unwrap());
    let port = free.local_addr().unwrap().port();
    let pins = vec![identity.fingerprint()];
    let own = Url { host: "127.0.0.1".to_owned(), port, path: String::new(), pins, hash: None };
    drop(free);
    let relay = start_relay_at(&format!("127.0.0.1:{port}"), identity, &own, SECRET);
    wait_until_up(&relay);
    let proxy = start_proxy(&relay.url, SECRET, None);
    proxy.wait_until(is_up);
    assert_eq!(proxy.connect("127.0.0.1:80").await.unwrap_err(), Reply::Failed as u8);
    drop(proxy);
    // No flow stands: each waited for the next, and the last was refused.
    let flows = std::iter::from_fn(|| relay.running.wait(LONG)).find_map(|event| match event {
        ExitEvent::Left(client) => Some(client.tunnels),
        _ => None,
    });
    assert_eq!(flows, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_exit_refuses_and_what_targets_reset_is_told_over_relays() {
    let (proxy, _relays) = chain();
    let gone = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().to_string();
    for (target, reply) in [(gone.as_str(), Reply::Refused), ("127.0.0.2:80", Reply::NotAllowed)] {
        assert_eq!(proxy.connect(target).await.unwrap_err(), reply as u8, "{target}");
    }
    assert_resets_pass(&proxy).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_relay_that_the_exit_does_not_know_says_so_and_serves_nobody() {
    let exit = start_exit("127.0.0.1:0", Identity::made().unwrap(), &["127.0.0.1"]);
    let relay = start_relay(&exit.url, "another-token-of-somebody");
    let Some(ExitEvent::Uplink(UplinkState::Down(reason))) = relay.running.wait(LONG) else { panic!("it is not down") };
    assert_eq!(reason, "the exit does not know the token");
    let proxy = start_proxy(&relay.url, SECRET, None);
    proxy.wait_until(is_up);
    assert!(proxy.connect(&echo().await).await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_target_that_does_not_read_holds_the_sender_up_over_relays() {
    let (proxy, _relays) = chain();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut near = proxy.connect(&listener.local_addr().unwrap().to_string()).await.unwrap();
    let (mut far, _) = listener.accept().await.unwrap();
    let piece = vec![7; 1 << 20];
    let mut sent = 0;
    while let Ok(written) = timeout(Duration::from_secs(1), near.write(&piece)).await {
        sent += written.unwrap();
        assert!(sent < 150_000_000, "all is taken");
    }
    let (mut came, mut buffer) = (0, vec![0; 1 << 20]);
    while came < sent {
        came += timeout(LONG, far.read(&mut buffer)).await.unwrap().unwrap();
    }
    assert_eq!(came, sent);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_relay_that_ends_resets_connections_at_both_sides() {
    for which in [0, 1] {
        let (proxy, relays) = chain();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut near = proxy.connect(&listener.local_addr().unwrap().to_string()).await.unwrap();
        let (mut far, _) = listener.accept().await.unwrap();
        near.write_all(b"whole").await.unwrap();
        far.read_exact(&mut [0; 5]).await.unwrap();
        let mut relays = Vec::from(relays);
        drop(relays.remove(which));
        for stream in [&mut near, &mut far] {
            let outcome = timeout(LONG, stream.read(&mut [0; 1])).await.unwrap();
            assert_eq!(outcome.unwrap_err().kind(), std::io::ErrorKind::ConnectionReset);
        }
    }
}
