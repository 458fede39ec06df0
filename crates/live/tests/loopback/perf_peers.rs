//! Measurements with peers that say what they must not, or nothing.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anabranch_live::conditions::Conditions;
use anabranch_live::control::named;
use anabranch_live::perf::{Direction, Event, Plan, Running, Service};
use anabranch_live::security::Identity;
use anabranch_live::session::{Client, Server, Session};
use anabranch_live::url::Url;

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(15);

/// How long a peer may say nothing, and a little more.
const SILENCE: Duration = Duration::from_secs(7);

/// A message that is whole.
fn message(text: &[u8]) -> Vec<u8> {
    let length = u32::try_from(text.len()).unwrap();
    [&length.to_be_bytes(), text].concat()
}

/// What a peer may say instead of a message, and what is said of it.
fn wrong() -> [(Vec<u8>, &'static str); 4] {
    [
        (message(b"garbage"), "the peer does not keep to the rules: expected value at line 1 column 1"),
        (message(b"3"), "the peer does not keep to the rules: invalid type: integer `3`, expected struct"),
        (
            u32::MAX.to_be_bytes().to_vec(),
            "the peer does not keep to the rules: a message of 4294967295 bytes; there may be 4096",
        ),
        (message(b"").into_iter().chain(*b"more").collect(), "the peer does not keep to the rules: EOF"),
    ]
}

fn here() -> SocketAddr {
    "127.0.0.1:0".parse().unwrap()
}

/// What comes of a measurement at a server that says `answer` to what it is asked, and later `done`; nothing if these
/// are empty.
async fn measured_at(direction: Direction, answer: &[u8], done: &[u8]) -> (String, Duration) {
    let identity = Identity::made().unwrap();
    let server = Server::bind(&[here().into()], &identity).await.unwrap();
    let (port, pins) = (server.address().port(), vec![identity.fingerprint()]);
    let plan = Plan {
        url: Url { host: "127.0.0.1".to_owned(), port, path: String::new(), pins, hash: None },
        authorities: None,
        via: Vec::new(),
        control: "lia".to_owned(),
        direction,
        seconds: 5.0,
        bytes: 100_000,
        streams: 1,
        conditions: Conditions::default().lasting(),
        qlog: None,
    };
    let start = Instant::now();
    let running = Running::measure(plan).unwrap();
    let session = server.next().await.unwrap().accept().await.unwrap();
    let (mut tells, _hears) = session.connection().accept_bi().await.unwrap();
    tells.write_all(answer).await.unwrap();
    if !done.is_empty() {
        take(&session).await;
        tells.write_all(done).await.unwrap();
    }
    let failed = move || loop {
        match running.wait(PATIENCE) {
            Some(Event::Failed(error)) => return error.to_string(),
            Some(Event::Interval(_)) => {}
            other => panic!("{other:?}"),
        }
    };
    (tokio::task::spawn_blocking(failed).await.unwrap(), start.elapsed())
}

/// Takes all data of a stream.
async fn take(session: &Session) {
    let data = session.connection().accept_uni().await.unwrap().read_to_end(1 << 20).await.unwrap();
    assert_eq!(data.len(), 100_000);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_says_what_it_must_not_is_left() {
    let yes = message(b"{\"refusal\":null}");
    for (said, expected) in wrong() {
        for (answer, done) in [(&said, &Vec::new()), (&yes, &said)] {
            let (error, took) = measured_at(Direction::Up, answer, done).await;
            assert!(error.starts_with(expected) && took < Duration::from_secs(4), "{error} in {took:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_silent_is_left() {
    let whole = message(b"{\"refusal\":null}");
    let (silent, half) =
        tokio::join!(measured_at(Direction::Up, b"", b""), measured_at(Direction::Down, &whole[..10], b""));
    for (error, took) in [silent, half] {
        assert_eq!(error, "the peer does not keep to the rules: it does not answer");
        assert!(took < SILENCE, "{took:?}");
    }
    let (error, took) = measured_at(Direction::Down, &whole, b"").await;
    assert_eq!(error, "the peer does not keep to the rules: it sends nothing");
    assert!(took < SILENCE, "{took:?}");
}

/// What a server tells of a client that says this to it.
async fn served(said: &[u8]) -> (String, Duration) {
    let running = Running::serve(Service { address: here(), identity: None, host: None, qlog: None }).unwrap();
    let Some(Event::Serving(url)) = running.wait(PATIENCE) else { panic!("it does not serve") };
    let client = Client::bind(&[here().into()]).await.unwrap();
    let remote = [SocketAddr::new(url.host.parse().unwrap(), url.port)];
    let start = Instant::now();
    let session = client.connect(&url.host, &remote, &url.trust(), &named("lia").unwrap()).await.unwrap();
    let (mut tells, _hears) = session.connection().open_bi().await.unwrap();
    tells.write_all(said).await.unwrap();
    let event = tokio::task::spawn_blocking(move || running.wait(PATIENCE)).await.unwrap();
    let Some(Event::Served(line)) = event else { panic!("{event:?}") };
    (line, start.elapsed())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_says_what_it_must_not_is_cut_off() {
    for (said, expected) in wrong() {
        let (line, took) = served(&said).await;
        assert!(line.starts_with(&format!("no measurement: {expected}")), "{line}");
        assert!(took < Duration::from_secs(4), "{took:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_falls_silent_is_cut_off() {
    let request = message(b"{\"control\":\"lia\",\"direction\":\"up\",\"seconds\":1.0,\"bytes\":1000,\"streams\":1}");
    let ((half, half_took), (whole, whole_took)) = tokio::join!(served(&request[..40]), served(&request));
    assert!(half.ends_with("asks for nothing") && half_took < SILENCE, "{half} in {half_took:?}");
    assert!(whole.ends_with("it sends nothing") && whole_took < SILENCE, "{whole} in {whole_took:?}");
}
