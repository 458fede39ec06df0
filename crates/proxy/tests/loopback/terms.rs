//! Lines that are not alike: copies over two lines, and terms that change while data pass.

use std::time::Duration;

use anabranch_core::Rate;
use anabranch_live::control::Ceiling;
use anabranch_live::security::Identity;
use anabranch_proxy::uplink::{Conditions, Counts, Exit, Terms};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

use crate::field::{LONG, RunningExit, RunningProxy, SECRET, exit_at, start_exit, start_proxy_to};
use crate::packets::{Application, echo};
use crate::paths::{is_open, live, longest_wait};
use crate::relay::Relay;

/// A proxy with two paths of 20 and 60 ms, what is said of their lines, and what they carry.
struct Field {
    _exit: RunningExit,
    proxy: RunningProxy,
    relays: [Relay; 2],
    conditions: watch::Sender<Conditions>,
    counts: Counts,
}

async fn field(conditions: Conditions) -> Field {
    let exit = start_exit("127.0.0.1:0", Identity::made().unwrap(), &["127.0.0.1"]);
    let there = format!("127.0.0.1:{}", exit.url.port).parse().unwrap();
    let relays = [
        Relay::start("127.0.0.12", there, Duration::from_millis(10)).await,
        Relay::start("127.0.0.13", there, Duration::from_millis(30)).await,
    ];
    let via = ["127.0.0.2=127.0.0.12", "127.0.0.3=127.0.0.13"];
    let ((conditions, present), counts) = (conditions.changing(), Counts::default());
    let known = exit_at(&exit.url, SECRET, (&via, &[]));
    let proxy = start_proxy_to(Exit { conditions: present, counts: counts.clone(), ..known }, None);
    proxy.wait_until(|state| is_open(state) == [true, true]);
    Field { _exit: exit, proxy, relays, conditions, counts }
}

/// Conditions with these terms of two lines.
fn terms(first: Terms, second: Terms) -> Conditions {
    Conditions { lines: vec![first, second], granted: Ceiling::default() }
}

fn with_copies() -> Conditions {
    let copied = Terms { has_copies: true, ..Terms::default() };
    terms(copied, copied)
}

/// Attempts of which one has to succeed: the machine may halt in the wrong moment of others.
const ATTEMPTS: u32 = 5;

#[tokio::test(flavor = "multi_thread")]
async fn a_line_that_is_cut_costs_a_live_stream_with_copies_little_more_than_the_other_line_takes() {
    let mut waits = Vec::new();
    for _ in 0..ATTEMPTS {
        let field = field(with_copies()).await;
        let mut stream = field.proxy.connect(&live().await).await.unwrap();
        let mut next = 0;
        longest_wait(&mut stream, &mut next, Duration::from_secs(1)).await;
        field.relays[0].cut(true);
        let wait = longest_wait(&mut stream, &mut next, Duration::from_millis(500)).await;
        waits.push(wait);
        // The other line takes 20 ms longer. Without copies the wait is more than 100 ms.
        if wait < Duration::from_millis(60) {
            return;
        }
    }
    panic!("{waits:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn packets_with_copies_come_once_each_and_none_is_lost_with_a_line() {
    let field = field(with_copies()).await;
    let (target, application) = (echo().await, Application::at(&field.proxy).await);
    let count = 200_u32;
    let sending = async {
        for number in 0..count {
            if number == count / 2 {
                field.relays[0].cut(true);
            }
            application.send(&target, &number.to_be_bytes()).await;
            sleep(Duration::from_millis(5)).await;
        }
    };
    let receiving = async {
        let mut times = vec![0; count as usize];
        let end = Instant::now() + Duration::from_secs(3);
        while let Ok(Some((_, packet))) = tokio::time::timeout_at(end, application.next()).await {
            times[u32::from_be_bytes(packet.try_into().unwrap()) as usize] += 1;
        }
        times
    };
    let ((), times) = tokio::join!(sending, receiving);
    // The flow has no second line before its first answers.
    let lost = times.iter().filter(|times| **times == 0).count();
    assert!(times.iter().all(|times| *times <= 1) && lost <= 1, "{times:?}");
}

/// A target that takes all, and a connection to it.
async fn sink(proxy: &RunningProxy) -> TcpStream {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let stream = proxy.connect(&listener.local_addr().unwrap().to_string()).await.unwrap();
    let (mut far, _) = listener.accept().await.unwrap();
    tokio::spawn(async move {
        let mut bytes = vec![0; 1 << 16];
        while far.read(&mut bytes).await.is_ok_and(|count| count > 0) {}
    });
    stream
}

/// Bytes of UDP that pass over each path in half a second, while a flow sends all that it can.
async fn passed(field: &Field) -> [usize; 2] {
    let before = field.relays.each_ref().map(Relay::passed);
    sleep(Duration::from_millis(500)).await;
    [0, 1].map(|link| field.relays[link].passed() - before[link])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_becomes_a_backup_and_is_a_line_again_while_data_pass() {
    let field = field(Conditions::default()).await;
    let mut stream = sink(&field.proxy).await;
    let sending = tokio::spawn(async move { while stream.write_all(&[0; 1 << 14]).await.is_ok() {} });
    let backup = Terms { is_backup: true, ..Terms::default() };
    for (second, carries) in [(Terms::default(), true), (backup, false), (Terms::default(), true)] {
        field.conditions.send_replace(terms(Terms::default(), second));
        let start = Instant::now();
        loop {
            let bytes = passed(&field).await;
            // A backup has signs of life alone.
            if bytes[0] > 200_000 && (bytes[1] > 50_000) == carries {
                break;
            }
            assert!(start.elapsed() < LONG, "{bytes:?} bytes in half a second");
        }
    }
    let carried = field.counts.carried();
    assert!(carried.len() == 2 && carried.iter().all(|bytes| *bytes > 50_000), "{carried:?}");
    sending.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn each_end_sends_no_more_over_a_line_than_its_limit_and_no_more_over_all_than_is_granted() {
    let most = Terms { most: Rate(2e6), ..Terms::default() };
    let field = field(terms(most, most)).await;
    let mut stream = sink(&field.proxy).await;
    let sending = tokio::spawn(async move { while stream.write_all(&[0; 1 << 14]).await.is_ok() {} });
    sleep(Duration::from_millis(500)).await;
    // What passes in both directions; acknowledgements are few.
    let limited = passed(&field).await;
    assert!(limited.iter().all(|bytes| (50_000..150_000).contains(bytes)), "{limited:?}");
    field.conditions.send_modify(|conditions| conditions.granted = Ceiling::of_all(Rate(1e6)));
    sleep(Duration::from_millis(500)).await;
    let granted: usize = passed(&field).await.iter().sum();
    assert!((30_000..85_000).contains(&granted), "{granted}");
    sending.abort();
    // The exit keeps to the limits of lines, and what is granted is for the proxy.
    let mut far = field.proxy.connect(&live().await).await.unwrap();
    let mut bytes = vec![0; 1 << 16];
    let start = Instant::now();
    let mut count = 0;
    while start.elapsed() < Duration::from_secs(2) {
        count += timeout(LONG, far.read(&mut bytes)).await.unwrap().unwrap();
    }
    let rate = 8.0 * count as f64 / start.elapsed().as_secs_f64();
    assert!((2e6..4.4e6).contains(&rate), "{rate}");
}

#[tokio::test(flavor = "multi_thread")]
async fn small_exchanges_take_the_line_with_the_greater_weight() {
    let heavy = Terms { weight: 10.0, ..Terms::default() };
    let field = field(terms(Terms::default(), heavy)).await;
    let target = crate::echo().await;
    let mut least = Duration::MAX;
    for _ in 0..5 {
        let mut stream = field.proxy.connect(&target).await.unwrap();
        let start = Instant::now();
        stream.write_all(b"small").await.unwrap();
        timeout(LONG, stream.read_exact(&mut [0; 5])).await.unwrap().unwrap();
        least = least.min(start.elapsed());
    }
    assert!(least >= Duration::from_millis(60), "{least:?} over a path of 60 ms");
}
