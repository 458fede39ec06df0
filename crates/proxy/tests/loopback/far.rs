//! A line of long round trips, on which more is under way than one stream may have.

use std::time::Duration;

use anabranch_live::STREAM_WINDOW;
use anabranch_live::security::Identity;
use anabranch_proxy::proxy::ProxyEvent;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::time::{Instant, interval, timeout};

use crate::field::{LONG, SECRET, start_exit, start_proxy_over};
use crate::paths::is_open;
use crate::relay::Relay;

/// Time in each direction.
const DELAY: Duration = Duration::from_millis(150);

/// What the target sends at a time.
static ZEROS: [u8; 1 << 16] = [0; 1 << 16];

/// A target that sends zeros until nobody takes them.
async fn zeros() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move { while stream.write_all(&ZEROS).await.is_ok() {} });
        }
    });
    address.to_string()
}

/// Reads until as many bytes came in a round trip as two streams may have under way, which is more than one may.
async fn read_much(stream: &mut (impl AsyncReadExt + Unpin)) {
    let mut into = vec![0; 1 << 16];
    let (mut begin, mut got) = (Instant::now(), 0);
    while got < 2 * STREAM_WINDOW as usize {
        got += stream.read(&mut into).await.unwrap();
        if begin.elapsed() > 2 * DELAY {
            (begin, got) = (Instant::now(), 0);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flow_has_more_under_way_than_one_stream_may_and_a_storm_of_losses_leaves_its_line() {
    let exit = start_exit("127.0.0.1:0", Identity::made().unwrap(), &["127.0.0.1"]);
    let there = format!("127.0.0.1:{}", exit.url.port).parse().unwrap();
    let relay = Relay::start("127.0.0.14", there, DELAY).await;
    let proxy = start_proxy_over(&exit.url, SECRET, None, &["127.0.0.4=127.0.0.14"]);
    proxy.wait_until(|state| is_open(state) == [true]);
    let mut stream = proxy.connect(&zeros().await).await.unwrap();
    timeout(LONG, read_much(&mut stream)).await.expect("a line of two streams is enough");
    // Every other datagram is lost for the time in which all that is under way arrives.
    let reading = async {
        let mut into = vec![0; 1 << 16];
        while stream.read(&mut into).await.unwrap() > 0 {}
    };
    let storm = async {
        let mut tick = interval(2 * DELAY);
        tick.tick().await;
        relay.lose_every_other(true);
        tick.tick().await;
        relay.lose_every_other(false);
        for _ in 0..4 {
            tick.tick().await;
        }
    };
    tokio::select! {
        () = reading => panic!("it ends"),
        () = storm => {}
    }
    while let Some(event) = proxy.running.wait(Duration::from_millis(1)) {
        let ProxyEvent::Uplink(state) = event else { continue };
        assert_eq!(is_open(&state), [true], "{state:?}");
    }
}
