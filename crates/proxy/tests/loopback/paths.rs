//! Paths that are cut and come back, under a stream that is live.

use std::time::Duration;

use anabranch_live::security::Identity;
use anabranch_proxy::uplink::UplinkState;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, interval, sleep, timeout};

use crate::field::{LONG, SECRET, start_exit, start_proxy_with};
use crate::relay::Relay;

/// A piece of a live stream: 5 Mbit/s with one each 2 ms.
const PIECE: usize = 1250;
const EVERY: Duration = Duration::from_millis(2);

/// A target that sends a live stream over each connection, each piece with its number.
async fn live() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut tick = interval(EVERY);
                for number in 0_u64.. {
                    tick.tick().await;
                    let mut piece = vec![0; PIECE];
                    piece[..8].copy_from_slice(&number.to_be_bytes());
                    if stream.write_all(&piece).await.is_err() {
                        return;
                    }
                }
            });
        }
    });
    address.to_string()
}

fn is_open(state: &UplinkState) -> Vec<bool> {
    match state {
        UplinkState::Up(paths) => paths.iter().map(|path| path.is_open).collect(),
        UplinkState::Down(_) => Vec::new(),
    }
}

/// Reads the next piece of a live stream. Pieces come in order, and all of them.
async fn read_piece(stream: &mut TcpStream, next: &mut u64) {
    let mut piece = [0; PIECE];
    timeout(LONG, stream.read_exact(&mut piece)).await.unwrap().unwrap();
    assert_eq!(u64::from_be_bytes(piece[..8].try_into().unwrap()), *next);
    *next += 1;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_path_carries_what_no_other_can() {
    let exit = start_exit("127.0.0.1:0", Identity::made().unwrap(), &["127.0.0.1"]);
    let there = format!("127.0.0.1:{}", exit.url.port).parse().unwrap();
    let relays = [
        Relay::start("127.0.0.12", there, Duration::from_millis(30)).await,
        Relay::start("127.0.0.13", there, Duration::from_millis(10)).await,
    ];
    let (via, backup) = (["127.0.0.2=127.0.0.12"], ["127.0.0.3=127.0.0.13"]);
    let proxy = start_proxy_with(&exit.url, SECRET, None, (&via, &backup));
    proxy.wait_until(|state| is_open(state) == [true, true]);
    let mut stream = proxy.connect(&live().await).await.unwrap();
    let reading = tokio::spawn(async move {
        let mut next = 0;
        loop {
            read_piece(&mut stream, &mut next).await;
        }
    });
    // The backup is three times as fast, and has signs of life alone while the other works.
    for (is_cut, carries) in [(false, 0), (true, 1), (false, 0)] {
        relays[0].cut(is_cut);
        let start = Instant::now();
        loop {
            let before = relays.each_ref().map(Relay::passed);
            sleep(Duration::from_millis(500)).await;
            let bytes = [0, 1].map(|link| relays[link].passed() - before[link]);
            if bytes[carries] > 100_000 && bytes[1 - carries] < bytes[carries] / 4 {
                break;
            }
            assert!(start.elapsed() < LONG, "{bytes:?} bytes in half a second");
        }
    }
    assert!(!reading.is_finished());
    reading.abort();
}
