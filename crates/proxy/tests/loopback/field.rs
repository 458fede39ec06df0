//! An exit and a proxy on this machine, with two paths between them.

use std::net::SocketAddr;
use std::time::Duration;

use anabranch_live::control::named;
use anabranch_live::running::{Events, Running};
use anabranch_live::security::Identity;
use anabranch_live::url::Url;
use anabranch_proxy::accounts::{Account, Accounts};
use anabranch_proxy::doors::{Door, Kind, Password};
use anabranch_proxy::exit::{Course, ExitEvent, ExitService, exit};
use anabranch_proxy::proxy::{ProxyEvent, ProxyService, proxy};
use anabranch_proxy::rules::Rule;
use anabranch_proxy::socks::Reply;
use anabranch_proxy::token::Token;
use anabranch_proxy::uplink::{Conditions, Counts, Exit, UplinkState};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Everything here has an end well before this.
pub const LONG: Duration = Duration::from_secs(30);

pub const SECRET: &str = "a-token-for-tests-only";

pub fn token(text: &str) -> Token {
    Token::new(text).unwrap()
}

/// An exit that runs.
pub struct RunningExit {
    pub running: Running<ExitEvent>,
    pub url: Url,
}

/// Starts an exit that allows these targets.
pub fn start_exit(address: &str, identity: Identity, rules: &[&str]) -> RunningExit {
    let rules = rules.iter().map(|rule| rule.parse::<Rule>().unwrap()).collect();
    start_exit_with(address, identity, Course::Targets(rules))
}

/// Starts a relay to an exit, over two paths.
pub fn start_relay(url: &Url, secret: &str) -> RunningExit {
    start_relay_at("127.0.0.1:0", Identity::made().unwrap(), url, secret)
}

/// Starts a relay at an address to an exit, over two paths.
pub fn start_relay_at(address: &str, identity: Identity, url: &Url, secret: &str) -> RunningExit {
    let course = Course::Exit(Box::new(exit_at(url, secret, (&["127.0.0.2", "127.0.0.3"], &[]))));
    start_exit_with(address, identity, course)
}

/// Starts an exit without targets that sends to proxies under a control, whatever they name.
pub fn start_exit_under(control: &str) -> RunningExit {
    let service = exit_service("127.0.0.1:0", Identity::made().unwrap(), Course::Targets([].into_iter().collect()));
    start_exit_of(ExitService { always: Some(named(control).unwrap()), ..service })
}

fn start_exit_with(address: &str, identity: Identity, onward: Course) -> RunningExit {
    start_exit_of(exit_service(address, identity, onward))
}

fn exit_service(address: &str, identity: Identity, onward: Course) -> ExitService {
    ExitService {
        addresses: vec![address.parse().unwrap()],
        identity,
        host: None,
        accounts: Accounts::new(vec![Account::of(token(SECRET))]).unwrap(),
        callers: None,
        tun: None,
        onward,
        control: named("lia").unwrap(),
        always: None,
        capacity: None,
        watch: None,
        qlog: None,
    }
}

fn start_exit_of(service: ExitService) -> RunningExit {
    let running = Running::start(|events: Events<ExitEvent>| exit(service, events)).unwrap();
    let Some(ExitEvent::Serving(url)) = running.wait(LONG) else { panic!("the exit does not serve") };
    RunningExit { running, url }
}

/// An exit, as a proxy or a relay reaches it.
pub fn exit_at(url: &Url, secret: &str, (via, backup): (&[&str], &[&str])) -> Exit {
    Exit {
        url: url.clone(),
        authorities: None,
        via: via.iter().map(|&via| via.to_owned()).collect(),
        backup: backup.iter().map(|&via| via.to_owned()).collect(),
        token: Some(token(secret)),
        identity: None,
        qlog: None,
        control: "olia".to_owned(),
        protocol: named("olia").unwrap(),
        capacity: None,
        conditions: Conditions::default().changing().1,
        counts: Counts::default(),
    }
}

/// A proxy that runs, with a door of each kind.
pub struct RunningProxy {
    pub running: Running<ProxyEvent>,
    pub socks: SocketAddr,
    pub http: SocketAddr,
}

/// Starts a proxy to an exit, over two paths.
pub fn start_proxy(url: &Url, secret: &str, password: Option<&Password>) -> RunningProxy {
    start_proxy_over(url, secret, password, &["127.0.0.2", "127.0.0.3"])
}

/// Starts a proxy to an exit, over these paths.
pub fn start_proxy_over(url: &Url, secret: &str, password: Option<&Password>, via: &[&str]) -> RunningProxy {
    start_proxy_with(url, secret, password, (via, &[]))
}

/// Starts a proxy under a control to an exit, over these paths.
pub fn start_proxy_under(control: &str, url: &Url, via: &[&str]) -> RunningProxy {
    let exit = exit_at(url, SECRET, (via, &[]));
    start_proxy_to(Exit { control: control.to_owned(), protocol: named(control).unwrap(), ..exit }, None)
}

/// Starts a proxy to an exit, over these paths, and others for when these do not work.
pub fn start_proxy_with(
    url: &Url,
    secret: &str,
    password: Option<&Password>,
    paths: (&[&str], &[&str]),
) -> RunningProxy {
    start_proxy_to(exit_at(url, secret, paths), password)
}

/// Starts a proxy.
pub fn start_proxy_to(exit: Exit, password: Option<&Password>) -> RunningProxy {
    let door = |kind| Door { kind, address: "127.0.0.1:0".parse().unwrap(), password: password.cloned() };
    let service = ProxyService { exit, doors: vec![door(Kind::Socks), door(Kind::Http)], tun: None, watch: None };
    let running = Running::start(|events: Events<ProxyEvent>| proxy(service, events)).unwrap();
    let at = |wanted| match running.wait(LONG) {
        Some(ProxyEvent::Open(kind, address)) if kind == wanted => address,
        other => panic!("{other:?}"),
    };
    let (socks, http) = (at(Kind::Socks), at(Kind::Http));
    RunningProxy { running, socks, http }
}

impl RunningProxy {
    /// Waits until the connection to the exit is as wanted.
    pub fn wait_until(&self, is_wanted: impl Fn(&UplinkState) -> bool) -> UplinkState {
        let end = std::time::Instant::now() + LONG;
        while std::time::Instant::now() < end {
            match self.running.wait(LONG) {
                Some(ProxyEvent::Uplink(state)) if is_wanted(&state) => return state,
                _ => {}
            }
        }
        panic!("it never comes to this");
    }

    /// Connects to a target by SOCKS; the answer as an error if it is none.
    pub async fn connect(&self, target: &str) -> Result<TcpStream, u8> {
        let mut stream = TcpStream::connect(self.socks).await.unwrap();
        stream.write_all(&[5, 1, 0]).await.unwrap();
        let mut method = [0; 2];
        stream.read_exact(&mut method).await.unwrap();
        assert_eq!(method, [5, 0]);
        let (name, port) = target.rsplit_once(':').unwrap();
        let port: u16 = port.parse().unwrap();
        let request = [&[5, 1, 0, 3, name.len() as u8][..], name.as_bytes(), &port.to_be_bytes()].concat();
        stream.write_all(&request).await.unwrap();
        let mut answer = [0; 10];
        stream.read_exact(&mut answer).await.unwrap();
        if answer[1] == Reply::Succeeded as u8 { Ok(stream) } else { Err(answer[1]) }
    }

    /// Sends a request of HTTP, and gives all that comes until the end.
    pub async fn ask(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(self.http).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.unwrap();
        String::from_utf8_lossy(&answer).into_owned()
    }
}
