//! The HTTP interface of an agent under requests that no browser sends.

use std::fs;
use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use anabranch_daemon::{Change, Config, Control, Daemon, Heard};
use anabranch_live::authority::{Issuer, Name};
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};
use tokio::task::JoinSet;
use tokio::time::timeout;

const NETWORK: &str = r#"
[run]
duration = "1 s"

[[link]]
source = "a"
target = "b"
capacity = "20 Mbit/s"
delay = "2 ms"
two_way = true
"#;

/// Everything here has an end well before this.
const LONG: Duration = Duration::from_mins(1);

/// An agent whose neighbour is away.
struct Alone {
    folder: TempDir,
    control: Control,
    address: SocketAddr,
}

async fn alone(rest: &str) -> Alone {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name);
    let issuer = Issuer::made("test").unwrap();
    let issued = issuer.issue(&Name::Agent("a".to_owned()), 30).unwrap();
    fs::write(path("network.toml"), NETWORK).unwrap();
    fs::write(path("authority.pem"), issuer.certificate()).unwrap();
    fs::write(path("a.pem"), issued.certificate + &issued.key).unwrap();
    let sockets: Vec<_> = (0..3).map(|_| UdpSocket::bind("127.0.0.1:0").unwrap()).collect();
    let [listen, applications, other] = [0, 1, 2].map(|at: usize| sockets[at].local_addr().unwrap());
    drop(sockets);
    let text = format!(
        "node = \"a\"\nnetwork = \"network.toml\"\nlisten = \"{listen}\"\napplications = \"{applications}\"\n\
         http = {{ listen = \"127.0.0.1:0\", hosts = [\"paris.example\"] }}\nstate = \"state\"\n\
         authority = \"authority.pem\"\ncertificate = \"a.pem\"\n{rest}\n[neighbours]\nb = \"{other}\"\n"
    );
    fs::write(path("a.toml"), text).unwrap();
    let daemon = Daemon::bind(Config::read(&path("a.toml")).unwrap()).await.unwrap();
    let daemon = daemon.with_page(Some("<script type=\"module\">go()</script>".into()));
    let control = daemon.control();
    let mut changes = control.watch().changes();
    tokio::spawn(daemon.run());
    loop {
        let Some(Heard::Change(dated)) = timeout(LONG, changes.next()).await.unwrap() else { panic!("changes end") };
        if let Change::Http { address, is_open } = dated.what {
            assert!(!is_open, "it is on a loopback address");
            return Alone { folder, control, address };
        }
    }
}

/// Sends bytes, and gives all that comes until the other end closes.
async fn exchanged(address: SocketAddr, bytes: &[u8]) -> String {
    let told = async {
        let mut stream = TcpStream::connect(address).await.unwrap();
        // The other end may have refused what it has read before all is sent.
        let _ = stream.write_all(bytes).await;
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
        String::from_utf8_lossy(&answer).into_owned()
    };
    timeout(LONG, told).await.expect("a connection ends")
}

/// The status, the headers and the body of what a path gives.
async fn got(address: SocketAddr, path: &str, more: &str) -> (u16, String, String) {
    let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{more}\r\n");
    let answer = exchanged(address, request.as_bytes()).await;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    (head.get(9..12).and_then(|status| status.parse().ok()).unwrap_or(0), head.to_owned(), body.to_owned())
}

async fn json(address: SocketAddr, path: &str) -> Value {
    let (status, head, body) = got(address, path, "").await;
    assert!(status == 200 && head.contains("content-type: application/json"), "{path}: {head}");
    serde_json::from_str(&body).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_no_good_request_gets_an_error_and_ends() {
    let field = alone("").await;
    let good = "host: localhost\r\nconnection: close\r\n";
    let long = "x".repeat(100_000);
    let many = "x: 1\r\n".repeat(200);
    let cases = [
        ("\r\n\r\n\r\n".to_owned(), "400"),
        ("\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}\u{0}".to_owned() + &long, "400"),
        ("GET\r\n\r\n".to_owned(), "400"),
        (format!("GET / HTTP/9.9\r\n{good}\r\n"), "400"),
        (format!("GET /{long} HTTP/1.1\r\n{good}\r\n"), "4"),
        (format!("GET / HTTP/1.1\r\n{good}x: {long}\r\n\r\n"), "431"),
        (format!("GET / HTTP/1.1\r\n{good}{many}\r\n"), "431"),
        (format!("GET / HTTP/1.1\r\n{good}content-length: -1\r\n\r\n"), "400"),
        (format!("GET / HTTP/1.1\r\n{good}content-length: 5\r\ncontent-length: 6\r\n\r\n"), "400"),
        (format!("POST /api/v1/agent HTTP/1.1\r\n{good}content-length: 100000000000\r\n\r\n{{}}"), "405"),
        (format!("GET /api/v1/agent HTTP/1.1\r\n{good}transfer-encoding: chunked\r\n\r\nzzz"), "200"),
        ("GET / HTTP/1.1\r\nconnection: close\r\n\r\n".to_owned(), "400"),
        ("GET / HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\n\r\n".to_owned(), "421"),
        (format!("GET /nothing HTTP/1.1\r\n{good}\r\n"), "404"),
        (format!("GET /api/v1/sessions?limit=0 HTTP/1.1\r\n{good}\r\n"), "400"),
        (format!("GET /api/v1/sessions?%ff=1 HTTP/1.1\r\n{good}\r\n"), "400"),
        (format!("GET /api/v1/sessions/99999999999999999999 HTTP/1.1\r\n{good}\r\n"), "400"),
        (format!("GET /api/v1/paths HTTP/1.1\r\n{good}\r\n"), "400"),
        (format!("GET /api/v1/paths?to=b&from=c HTTP/1.1\r\n{good}\r\n"), "400"),
        (format!("GET /api/v1/paths?to=b&from=a&count=65 HTTP/1.1\r\n{good}\r\n"), "400"),
        (format!("GET /api/v1/paths?to=b&from=a&disjoint=1 HTTP/1.1\r\n{good}\r\n"), "400"),
        (format!("GET /api/v1/items?limit=0 HTTP/1.1\r\n{good}\r\n"), "400"),
        (format!("GET /api/v1/sessions/7 HTTP/1.1\r\n{good}\r\n"), "404"),
        (format!("GET /metrics HTTP/1.1\r\n{good}origin: http://evil.example\r\n\r\n"), "403"),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned(), "400"),
    ];
    for (request, status) in cases {
        let shown: String = request.chars().take(60).collect();
        let answer = exchanged(field.address, request.as_bytes()).await;
        assert!(answer.is_empty() || answer.starts_with(&format!("HTTP/1.1 {status}")), "{shown:?}: {answer:.200}");
        assert!(!answer.is_empty() || status.starts_with('4'), "{shown:?}");
    }
    // Bytes by chance, the same each time: none ends the agent.
    let mut chance = Chance(17);
    for _ in 0..200 {
        let bytes: Vec<u8> = (0..200).map(|_| chance.byte()).chain(*b"\r\n\r\n").collect();
        exchanged(field.address, &bytes).await;
    }
    let (status, head, body) = got(field.address, "/api/v1/sessions?limits=3", "").await;
    let problem: Value = serde_json::from_str(&body).unwrap();
    assert!(head.contains("content-type: application/problem+json"), "{head}");
    assert_eq!((status, &problem["status"], &problem["title"]), (400, &400.into(), &"Bad Request".into()));
    assert!(problem["detail"].as_str().unwrap().contains("did you mean `limit`?"));
    assert_eq!(json(field.address, "/api/v1/agent").await["node"], "a");
}

/// Numbers by chance, the same each time.
struct Chance(u64);

impl Chance {
    fn byte(&mut self) -> u8 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 56) as u8
    }

    fn below(&mut self, most: usize) -> usize {
        (usize::from(self.byte()) << 8 | usize::from(self.byte())) % most
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_good_request_with_bytes_that_are_others_is_never_a_failure_of_the_agent() {
    let field = alone("").await;
    let good = [
        "GET /api/v1/sessions?limit=10&after=3&name=a HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n",
        "GET /metrics?sessions=5 HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\naccept: text/html\r\n\r\n",
        "GET /api/v1/history?since=1&until=2.5 HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n",
        "GET /api/v1/topology HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nlast-event-id: 7\r\n\r\n",
    ];
    let mut chance = Chance(23);
    // Many at a time: those that ask for a connection that stays wait for its end.
    let mut answers = JoinSet::new();
    for round in 0..200 {
        let mut bytes = good[round % good.len()].as_bytes().to_vec();
        let end = bytes.len() - 4;
        for _ in 0..=chance.below(3) {
            let at = chance.below(end);
            bytes[at] = chance.byte();
        }
        let address = field.address;
        answers.spawn(async move { (exchanged(address, &bytes).await, bytes) });
    }
    let mut answered = 0;
    for (answer, bytes) in answers.join_all().await {
        let shown = String::from_utf8_lossy(&bytes).into_owned();
        answered += usize::from(answer.starts_with("HTTP/1.1 "));
        assert!(answer.is_empty() || ["2", "3", "4"].contains(&answer.get(9..10).unwrap_or("")), "{shown:?}: {answer}");
    }
    assert!(answered > 100, "{answered} of 200 had an answer");
    assert_eq!(json(field.address, "/api/v1/agent").await["node"], "a");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_connections_that_say_nothing_hold_nobody_up_for_long() {
    let field = alone("").await;
    let mut silent = Vec::new();
    for _ in 0..1000 {
        match timeout(Duration::from_millis(200), TcpStream::connect(field.address)).await {
            Ok(Ok(stream)) => silent.push(stream),
            // There may be no more than so many files.
            _ => break,
        }
    }
    assert!(silent.len() > 256, "only {} connections", silent.len());
    let (status, ..) = got(field.address, "/metrics", "").await;
    assert_eq!(status, 200);
    assert_eq!(field.control.shown().await.unwrap().node, "a");
    // All are ended, as are those whose request comes too slowly.
    let mut slow = TcpStream::connect(field.address).await.unwrap();
    let start = Instant::now();
    let sent = async {
        for byte in b"GET /metrics HTTP/1.1\r\nhost: localhost\r\nx: ".iter().chain([b'x'; 10_000].iter()) {
            if slow.write_all(&[*byte]).await.is_err() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(LONG, sent).await.expect("a slow request ends");
    assert!(start.elapsed() > Duration::from_secs(4));
    for mut stream in silent {
        let mut rest = Vec::new();
        let ended = timeout(LONG, stream.read_to_end(&mut rest)).await;
        assert!(ended.is_ok(), "a silent connection stays");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_is_kept_for_some_requests_and_ends_when_none_comes() {
    let field = alone("").await;
    let mut stream = TcpStream::connect(field.address).await.unwrap();
    for _ in 0..3 {
        stream.write_all(b"HEAD /api/v1/agent HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n").await.unwrap();
        let mut answer = vec![0; 4096];
        let count = timeout(LONG, stream.read(&mut answer)).await.unwrap().unwrap();
        let head = String::from_utf8_lossy(&answer[..count]).into_owned();
        assert!(head.starts_with("HTTP/1.1 200") && head.ends_with("\r\n\r\n"), "{head}");
        for header in ["x-content-type-options: nosniff", "cross-origin-resource-policy: same-origin", "no-store"] {
            assert!(head.contains(header), "{head}");
        }
    }
    let mut rest = Vec::new();
    timeout(LONG, stream.read_to_end(&mut rest)).await.expect("an idle connection ends").unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_of_events_that_do_not_read_are_ended_and_others_hear_all() {
    let field = alone("[[session]]\nname = \"x\"\nto = \"b\"\npaths = 1\n").await;
    let request = b"GET /api/v1/events HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let mut streams = Vec::new();
    for _ in 0..128 {
        let mut stream = TcpStream::connect(field.address).await.unwrap();
        stream.write_all(request).await.unwrap();
        let mut answer = [0; 1024];
        let count = timeout(LONG, stream.read(&mut answer)).await.unwrap().unwrap();
        assert!(answer[..count].starts_with(b"HTTP/1.1 200"));
        streams.push(stream);
    }
    // One more is refused; what is short is still answered.
    let (status, _, body) = got(field.address, "/api/v1/events", "").await;
    assert_eq!((status, body.contains("/api/v1/changes")), (503, true), "{body}");
    assert_eq!(got(field.address, "/metrics", "").await.0, 200);
    drop(streams);
    let start = Instant::now();
    while got_begin(field.address).await.is_none() {
        assert!(start.elapsed() < LONG, "the turns of streams that ended are not free");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// What a stream of events begins with.
async fn got_begin(address: SocketAddr) -> Option<String> {
    let mut stream = TcpStream::connect(address).await.ok()?;
    stream.write_all(b"GET /api/v1/events HTTP/1.1\r\nhost: localhost\r\nlast-event-id: 5-5\r\n\r\n").await.ok()?;
    let mut text = String::new();
    while !text.contains("event: missed") {
        let mut piece = [0; 1024];
        let count = timeout(LONG, stream.read(&mut piece)).await.ok()?.ok().filter(|&count| count > 0)?;
        text.push_str(&String::from_utf8_lossy(&piece[..count]));
    }
    Some(text)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_is_told_with_why_it_has_no_more() {
    let field = alone("[[session]]\nname = \"x\"\nto = \"b\"\npaths = 1\n").await;
    let start = Instant::now();
    let sessions = loop {
        let sessions = json(field.address, "/api/v1/sessions?name=x").await;
        if sessions["count"] == 1 {
            break sessions;
        }
        assert!(start.elapsed() < LONG, "{sessions}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    let number = &sessions["sessions"][0]["number"];
    let one = json(field.address, &format!("/api/v1/sessions/{number}")).await;
    assert_eq!((&one["session"]["to"], &one["why"]["is_met"]), (&"b".into(), &false.into()));
    assert!(one["why"]["sentence"].as_str().unwrap().len() > 10, "{one}");
    let page = got(field.address, "/", "").await;
    assert!(page.1.contains("script-src 'sha256-") && page.2.contains("go()"), "{page:?}");
    let changes = json(field.address, "/api/v1/changes").await;
    let kinds: Vec<_> = changes["changes"].as_array().unwrap().iter().map(|change| change["event"].clone()).collect();
    assert!(kinds.contains(&"http".into()) && kinds.contains(&"begun".into()), "{changes}");
    let again = json(field.address, &format!("/api/v1/changes?since={}", changes["last"].as_str().unwrap())).await;
    assert_eq!(again["missed"], 0);
    let other = json(field.address, "/api/v1/changes?since=1-1").await;
    assert_eq!((other.get("missed"), other["changes"].as_array().map(Vec::len)), (None, Some(0)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn paths_and_items_are_told_as_by_the_socket() {
    let field = alone("").await;
    let found = json(field.address, "/api/v1/paths?to=b&from=a&count=3&disjoint=true").await;
    let path = &found["paths"][0];
    assert_eq!((&path["links"][0], &path["back"][0], &path["group"]), (&"a-b".into(), &"b-a".into(), &0.into()));
    let (status, _, body) = got(field.address, "/api/v1/paths?to=x&from=a", "").await;
    assert_eq!((status, body.contains("there is no node `x`")), (400, true), "{body}");
    let (_, _, body) = got(field.address, "/api/v1/paths?to=b", "").await;
    assert!(body.contains("give ?from=: A node where paths begin"), "{body}");
    // Three items are published by a program of this machine, and told two at a time.
    let mut held = Vec::new();
    for item in ["c", "a", "b"] {
        let mut stream = UnixStream::connect(field.folder.path().join("state/agent.sock")).await.unwrap();
        let question = format!("publish {{\"item\": \"{item}\", \"node\": \"a\", \"at\": \"x://{item}\"}}\n");
        stream.write_all(question.as_bytes()).await.unwrap();
        let mut answer = [0; 64];
        let count = timeout(LONG, stream.read(&mut answer)).await.unwrap().unwrap();
        assert!(answer[..count].starts_with(b"{\"published\":"));
        held.push(stream);
    }
    let first = json(field.address, "/api/v1/items?limit=2").await;
    let names = |found: &Value| -> Vec<Value> {
        found["items"].as_array().unwrap().iter().map(|item| item["item"].clone()).collect()
    };
    assert_eq!(
        (names(&first), &first["count"], &first["next"]),
        (vec!["a".into(), "b".into()], &3.into(), &"b".into())
    );
    let rest = json(field.address, "/api/v1/items?limit=2&after=b").await;
    assert_eq!(rest["items"][0], serde_json::json!({"item": "c", "sources": [{"node": "a", "at": "x://c"}]}));
    assert_eq!(rest.get("next"), None);
    let document = json(field.address, "/openapi.json").await;
    let parameters = &document["paths"]["/api/v1/paths"]["get"]["parameters"];
    assert_eq!((&parameters[1]["schema"]["type"], &parameters[1]["required"]), (&"array".into(), &true.into()));
}
