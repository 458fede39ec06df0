//! Applications over a proxy and an exit, on this machine.

mod far;
mod field;
mod hops;
mod packets;
mod paths;
mod relay;
mod terms;

use std::time::Duration;

use anabranch_live::security::Identity;
use anabranch_proxy::doors::{Door, DoorError, Kind, Password};
use anabranch_proxy::exit::ExitEvent;
use anabranch_proxy::proxy::{ProxyError, ProxyEvent, ProxyService, proxy};
use anabranch_proxy::socks::Reply;
use anabranch_proxy::uplink::UplinkState;
use field::{LONG, RunningProxy, SECRET, start_exit, start_proxy};
use paths::is_open;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

/// A target that sends everything back, and ends when its client does.
async fn echo() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let (mut reader, mut writer) = stream.split();
                let _ = copy(&mut reader, &mut writer).await;
                let _ = writer.shutdown().await;
            });
        }
    });
    address.to_string()
}

fn identity() -> Identity {
    Identity::made().unwrap()
}

fn is_up(state: &UplinkState) -> bool {
    matches!(state, UplinkState::Up(paths) if paths.iter().all(|path| path.is_open))
}

/// Sends a piece and reads it back.
async fn round(stream: &mut TcpStream, piece: &[u8]) {
    stream.write_all(piece).await.unwrap();
    let mut back = vec![0; piece.len()];
    timeout(LONG, stream.read_exact(&mut back)).await.unwrap().unwrap();
    assert!(back == piece);
}

#[tokio::test(flavor = "multi_thread")]
async fn bytes_pass_over_both_paths_and_ends_pass_too() {
    let exit = start_exit("127.0.0.1:0", identity(), &["127.0.0.1", "localhost"]);
    let proxy = start_proxy(&exit.url, SECRET, None);
    let UplinkState::Up(paths) = proxy.wait_until(is_up) else { unreachable!() };
    assert_eq!(paths.len(), 2);
    let target = echo().await;
    let stream = proxy.connect(&target).await.unwrap();
    let sent: Vec<u8> = (0..16_000_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let (mut reader, mut writer) = stream.into_split();
    let writing = sent.clone();
    let wrote = tokio::spawn(async move {
        writer.write_all(&writing).await.unwrap();
        // Only this direction ends: the rest still comes.
        writer.shutdown().await.unwrap();
    });
    let mut came = Vec::new();
    timeout(LONG, reader.read_to_end(&mut came)).await.unwrap().unwrap();
    wrote.await.unwrap();
    assert!(came == sent);
    // A name is resolved at the exit.
    let port = target.rsplit_once(':').unwrap().1;
    round(&mut proxy.connect(&format!("localhost:{port}")).await.unwrap(), b"by name").await;
    drop(proxy);
    let Some(ExitEvent::Left(client)) = exit.running.wait(LONG) else { panic!("nobody has left") };
    assert!(client.is_known && client.tunnels == 2, "{client:?}");
    assert_eq!((client.sent, client.received), (16_000_007, 16_000_007));
}

#[tokio::test(flavor = "multi_thread")]
async fn many_connections_pass_at_once() {
    let exit = start_exit("127.0.0.1:0", identity(), &["127.0.0.1"]);
    let proxy = start_proxy(&exit.url, SECRET, None);
    let target = echo().await;
    let mut streams = Vec::new();
    for _ in 0..300 {
        streams.push(proxy.connect(&target).await.unwrap());
    }
    for (number, stream) in streams.iter_mut().enumerate() {
        round(stream, format!("this is number {number}").as_bytes()).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_reached_says_why() {
    let exit = start_exit("127.0.0.1:0", identity(), &["127.0.0.1", "nowhere.invalid"]);
    let proxy = start_proxy(&exit.url, SECRET, None);
    let gone = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().to_string();
    for (target, reply) in [
        (gone.as_str(), Reply::Refused),
        ("127.0.0.2:80", Reply::NotAllowed),
        ("169.254.169.254:80", Reply::NotAllowed),
        ("nowhere.invalid:80", Reply::NoHost),
        ("no host:80", Reply::NoHost),
    ] {
        assert_eq!(proxy.connect(target).await.unwrap_err(), reply as u8, "{target}");
    }
    let answer = proxy.ask(&format!("CONNECT {gone} HTTP/1.1\r\nHost: {gone}\r\nConnection: close\r\n\r\n")).await;
    assert!(answer.starts_with("HTTP/1.1 502 ") && answer.contains("error=connection_refused"), "{answer}");
    assert!(answer.ends_with(&format!("{gone}: it refuses connections\n")), "{answer}");
    let answer = proxy.ask("GET http://127.0.0.2/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
    for request in [
        "GET / HTTP/1.1",
        "GET https://127.0.0.1/ HTTP/1.1",
        "GET http://u:p@127.0.0.1/ HTTP/1.1",
        "GET http://127.0.0.1:99999/ HTTP/1.1",
        "CONNECT x HTTP/1.1",
    ] {
        let answer = proxy.ask(&format!("{request}\r\nHost: x\r\nConnection: close\r\n\r\n")).await;
        assert!(answer.starts_with("HTTP/1.1 400 "), "{request}: {answer}");
    }
}

/// A web server that answers each request with its head.
async fn web() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(stream.read_u8().await.unwrap());
            }
            let answer = format!("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {}\r\n\r\n", head.len());
            stream.write_all(&[answer.as_bytes(), &head].concat()).await.unwrap();
        }
    });
    address.to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn plain_requests_are_sent_on_without_what_is_for_the_proxy() {
    let exit = start_exit("127.0.0.1:0", identity(), &["127.0.0.1"]);
    let proxy = start_proxy(&exit.url, SECRET, None);
    let target = web().await;
    let headers = "Accept: text/html\r\nProxy-Connection: keep-alive\r\nConnection: close, X-Mine\r\nX-Mine: 1\r\n";
    let answer = proxy.ask(&format!("GET http://{target}/a?b HTTP/1.1\r\nHost: elsewhere\r\n{headers}\r\n")).await;
    assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
    assert!(answer.contains("GET /a?b HTTP/1.1\r\n") && answer.contains("Accept: text/html"), "{answer}");
    assert!(answer.to_lowercase().contains(&format!("host: {target}")), "{answer}");
    assert!(!answer.contains("Proxy-Connection") && !answer.contains("X-Mine"), "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_served_without_the_token_of_the_exit_and_the_password_of_the_door() {
    let exit = start_exit("127.0.0.1:0", identity(), &["127.0.0.1"]);
    let target = echo().await;
    let wrong = start_proxy(&exit.url, "another-token-of-somebody", None);
    assert_eq!(wrong.connect(&target).await.unwrap_err(), Reply::Failed as u8);
    drop(wrong);
    let Some(ExitEvent::Left(client)) = exit.running.wait(LONG) else { panic!("nobody has left") };
    assert!(!client.is_known && client.tunnels == 0, "{client:?}");

    let password = Password { name: "user".to_owned(), password: "secret".to_owned() };
    let proxy = start_proxy(&exit.url, SECRET, Some(&password));
    let begin = |mut stream: TcpStream, bytes: &'static [u8]| async move {
        stream.write_all(bytes).await.unwrap();
        let mut answer = vec![0; 2];
        stream.read_exact(&mut answer).await.unwrap();
        (stream, answer)
    };
    let connected = || TcpStream::connect(proxy.socks);
    assert_eq!(begin(connected().await.unwrap(), &[5, 1, 0]).await.1, [5, 0xff]);
    for (shown, accepted) in [(&b"\x01\x04user\x06secret"[..], 0), (b"\x01\x04user\x06secreT", 1), (b"\x01\x00\x00", 1)]
    {
        let (stream, method) = begin(connected().await.unwrap(), &[5, 1, 2]).await;
        assert_eq!(method, [5, 2]);
        assert_eq!(begin(stream, shown).await.1, [1, accepted]);
    }
    let get =
        |header: &str| format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\nConnection: close\r\n{header}\r\n");
    let answer = proxy.ask(&get("")).await;
    assert!(
        answer.starts_with("HTTP/1.1 407 ") && answer.to_lowercase().contains("proxy-authenticate: basic"),
        "{answer}"
    );
    let answer = proxy.ask(&get("Proxy-Authorization: Basic dXNlcjpzZWNyZXQx\r\n")).await;
    assert!(answer.starts_with("HTTP/1.1 407 "), "{answer}");
    let mut stream = TcpStream::connect(proxy.http).await.unwrap();
    stream.write_all(get("Proxy-Authorization: Basic dXNlcjpzZWNyZXQ=\r\n").as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        answer.push(stream.read_u8().await.unwrap());
    }
    assert!(answer.starts_with(b"HTTP/1.1 200 OK"), "{}", String::from_utf8_lossy(&answer));
    round(&mut stream, b"carried").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_door_that_everybody_could_use_is_not_opened() {
    let exit = start_exit("127.0.0.1:0", identity(), &[]);
    let open = start_proxy(&exit.url, SECRET, None);
    let door = Door { kind: Kind::Socks, address: "0.0.0.0:0".parse().unwrap(), password: None };
    let exit = field::exit_at(&exit.url, SECRET, (&[], &[]));
    let taken = Door { address: open.socks, ..door.clone() };
    for (door, is_right) in [
        (door, (|error| matches!(error, ProxyError::Door(DoorError::Open(_)))) as fn(&ProxyError) -> bool),
        (taken, |error| matches!(error, ProxyError::Door(DoorError::Listen { .. }))),
    ] {
        let service = ProxyService { exit: exit.clone(), doors: vec![door], tun: None, watch: None };
        let running = anabranch_live::running::Running::start(|events| proxy(service, events)).unwrap();
        let Some(ProxyEvent::Failed(error)) = running.wait(LONG) else { panic!("it runs") };
        assert!(is_right(&error), "{error}");
    }
}

/// Whether a connection has been reset, or has ended.
async fn is_over(stream: &mut TcpStream) -> bool {
    matches!(timeout(LONG, stream.read(&mut [0; 1])).await.unwrap(), Ok(0) | Err(_))
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_end_with_the_exit_and_new_ones_pass_when_it_is_back() {
    let folder = tempfile::tempdir().unwrap();
    let kept = || Identity::kept(&folder.path().join("exit.pem")).unwrap();
    let exit = start_exit("127.0.0.1:0", kept(), &["127.0.0.1"]);
    let address = format!("127.0.0.1:{}", exit.url.port);
    let proxy: RunningProxy = start_proxy(&exit.url, SECRET, None);
    let target = echo().await;
    let mut before = proxy.connect(&target).await.unwrap();
    round(&mut before, b"before").await;
    drop(exit);
    assert!(is_over(&mut before).await);
    proxy.wait_until(|state| matches!(state, UplinkState::Down(_)));
    let _exit = start_exit(&address, kept(), &["127.0.0.1"]);
    round(&mut proxy.connect(&target).await.unwrap(), b"after").await;
}

/// Asserts that a program sees the reset of its target as a reset, and not as an end.
async fn assert_resets_pass(proxy: &RunningProxy) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut near = proxy.connect(&listener.local_addr().unwrap().to_string()).await.unwrap();
    let (mut far, _) = listener.accept().await.unwrap();
    far.write_all(b"half").await.unwrap();
    let mut came = [0; 4];
    near.read_exact(&mut came).await.unwrap();
    far.set_zero_linger().unwrap();
    drop(far);
    let outcome = timeout(LONG, near.read(&mut came)).await.unwrap();
    assert_eq!(outcome.unwrap_err().kind(), std::io::ErrorKind::ConnectionReset);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_target_that_resets_is_seen_as_a_reset() {
    let exit = start_exit("127.0.0.1:0", identity(), &["127.0.0.1"]);
    assert_resets_pass(&start_proxy(&exit.url, SECRET, None)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_proxy_stays_connected_and_a_wrong_token_is_told() {
    let exit = start_exit("127.0.0.1:0", identity(), &["127.0.0.1"]);
    let proxy = start_proxy(&exit.url, SECRET, None);
    proxy.wait_until(is_up);
    let wrong = start_proxy(&exit.url, "another-token-of-somebody", None);
    let state = wrong.wait_until(|state| matches!(state, UplinkState::Down(_)));
    let UplinkState::Down(reason) = state else { unreachable!() };
    assert_eq!(reason, "the exit does not know the token");
    // The exit waits ten seconds for a token.
    let end = std::time::Instant::now() + Duration::from_secs(12);
    while std::time::Instant::now() < end {
        if let Some(ProxyEvent::Uplink(UplinkState::Down(reason))) = proxy.running.wait(Duration::from_millis(200)) {
            panic!("{reason}");
        }
    }
    round(&mut proxy.connect(&echo().await).await.unwrap(), b"still here").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proxy_hears_that_the_exit_sends_under_another_control() {
    let exit = field::start_exit_under("cubic");
    let proxy = start_proxy(&exit.url, SECRET, None);
    let state = proxy.wait_until(|state| !matches!(state, UplinkState::Up(_)));
    assert!(matches!(state, UplinkState::Sends("CUBIC")), "{state:?}");
    // It hears it once, though there are two lines, and nothing where both are the same.
    let same = field::start_proxy_under("cubic", &exit.url, &["127.0.0.2"]);
    same.wait_until(is_up);
    while let Some(event) = proxy.running.wait(Duration::from_millis(300)).or(same.running.wait(Duration::ZERO)) {
        assert!(matches!(event, ProxyEvent::Uplink(UplinkState::Up(_))), "{event:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_target_that_does_not_read_holds_the_sender_up() {
    let exit = start_exit("127.0.0.1:0", identity(), &["127.0.0.1"]);
    let proxy = start_proxy(&exit.url, SECRET, None);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut near = proxy.connect(&listener.local_addr().unwrap().to_string()).await.unwrap();
    let (mut far, _) = listener.accept().await.unwrap();
    let piece = vec![7; 1 << 20];
    let mut sent = 0;
    // What takes no more for a second is full: sockets take some megabytes, and a stream has two in flight.
    while let Ok(written) = timeout(Duration::from_secs(1), near.write(&piece)).await {
        sent += written.unwrap();
        assert!(sent < 60_000_000, "all is taken");
    }
    // All of it comes when the target reads.
    let mut came = 0;
    let mut buffer = vec![0; 1 << 20];
    while came < sent {
        came += timeout(LONG, far.read(&mut buffer)).await.unwrap().unwrap();
    }
    assert_eq!(came, sent);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plain_answer_that_breaks_off_is_not_taken_for_the_whole() {
    let exit = start_exit("127.0.0.1:0", identity(), &["127.0.0.1"]);
    let proxy = start_proxy(&exit.url, SECRET, None);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let target = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut head = [0; 1024];
        let _ = stream.read(&mut head).await;
        stream.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhalf of it").await.unwrap();
        tokio::time::sleep(Duration::from_millis(300)).await;
        stream.set_zero_linger().unwrap();
    });
    let request = format!("GET http://{target}/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    let mut stream = TcpStream::connect(proxy.http).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    let outcome = timeout(LONG, stream.read_to_end(&mut answer)).await.unwrap();
    let text = String::from_utf8_lossy(&answer).to_lowercase();
    assert!(text.contains("transfer-encoding: chunked") && text.contains("half of it"), "{text}");
    assert!(outcome.is_err() || !text.ends_with("0\r\n\r\n"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn half_closed_connections_end_with_the_connection_to_the_exit() {
    let exit = start_exit("127.0.0.1:0", identity(), &["127.0.0.1"]);
    let proxy = start_proxy(&exit.url, SECRET, None);
    // A line that leaves before it has greeted is told as a client of its own.
    proxy.wait_until(|state| is_open(state) == [true, true]);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut near = proxy.connect(&listener.local_addr().unwrap().to_string()).await.unwrap();
    let (mut far, _) = listener.accept().await.unwrap();
    near.shutdown().await.unwrap();
    assert_eq!(timeout(LONG, far.read(&mut [0; 1])).await.unwrap().unwrap(), 0);
    drop(proxy);
    let Some(ExitEvent::Left(client)) = exit.running.wait(LONG) else { panic!("nobody has left") };
    assert_eq!(client.tunnels, 1);
    // The target sees a reset, since this is not the end of what was to come.
    let _ = far.write_all(b"x").await;
    assert!(is_over(&mut far).await);
}
